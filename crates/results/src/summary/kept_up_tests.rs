//! Tests whether a server kept up: by arithmetic, and with simulated queues.

use stampede_model::lag::LagMark;
use stampede_model::stat::Stat;
use stampede_stats::random::Random;

use super::*;

/// Seconds with 100 requests due each; `ok` gives the requests that ended.
fn rows(ok: &[u64]) -> Vec<SecondRecord> {
    let each: Vec<(u64, u64)> = ok.iter().map(|ok| (100, *ok)).collect();
    seconds(&each)
}

/// Seconds with the numbers of requests that were due and that ended.
fn seconds(each: &[(u64, u64)]) -> Vec<SecondRecord> {
    let row = |(second, (planned, ok)): (usize, &(u64, u64))| SecondRecord {
        second: second as u32,
        counts: Counts { planned: *planned, ok: *ok, ..Counts::default() },
        in_flight_max: 0,
        busy_ns: 0,
    };
    each.iter().enumerate().map(row).collect()
}

fn growth(rows: &[SecondRecord]) -> Growth {
    let (first, second) = rows.split_at(rows.len() / 2);
    Growth::of(first, second)
}

fn growing(in_flight_at_half: u64, in_flight_at_end: u64) -> Growth {
    Growth::Yes(Behind::Growing { in_flight_at_half, in_flight_at_end })
}

#[test]
fn requests_in_flight_that_grow_each_second_are_growth() {
    // 10 more requests remain each second.
    assert_eq!(growth(&rows(&[90; 10])), growing(50, 100));
    // 1 more request remains each second: 5 more in five seconds are no more than chance, 15 in 15
    // are not.
    assert_eq!(growth(&rows(&[99; 10])), Growth::No);
    assert_eq!(growth(&rows(&[99; 30])), growing(15, 30));
    // One request in 300 is less than what counts, however sure it is.
    let slow: Vec<(u64, u64)> = vec![(3_000, 2_990); 60];
    assert_eq!(growth(&seconds(&slow)), Growth::No);
}

#[test]
fn slow_requests_in_flight_are_no_growth() {
    // Each answer takes 2 s, so 200 requests are always in flight.
    assert_eq!(growth(&rows(&[0, 0, 100, 100, 100, 100, 100, 100, 100, 100])), Growth::No);
    // Each answer takes 7 s: until then the load cannot show whether they are too many.
    assert_eq!(growth(&rows(&[0, 0, 0, 0, 0, 0, 0, 100, 100, 100])), Growth::Unknown);
}

#[test]
fn a_pause_that_is_caught_up_is_no_growth() {
    assert_eq!(growth(&rows(&[100, 100, 100, 100, 100, 100, 0, 150, 150, 100])), Growth::No);
    assert_eq!(growth(&rows(&[100, 100, 100, 100, 0, 0, 0, 0, 0, 0])), growing(100, 600));
    // A pause at the end: 20 % more each second on average, and it may be over soon.
    assert_eq!(growth(&rows(&[100, 100, 100, 100, 100, 100, 100, 100, 100, 0])), Growth::Unknown);
}

#[test]
fn a_wrong_answer_is_an_answer_and_a_server_that_turns_away_gives_none() {
    let failed = [("http:404".to_owned(), 3), ("http:503".to_owned(), 5)];
    let counts = Counts { ok: 90, failed: failed.into(), dropped: 2, ..Counts::default() };
    assert_eq!(of_its_own(&counts), 93);
}

/// Returns the trial that `change` makes of ten seconds with 100 requests due in each, all
/// answered.
fn trial(change: impl Fn(&mut TrialData)) -> TrialData {
    let text = include_str!("../../tests/runs/format-2/trials/001-x/trial.json");
    let mut record: stampede_model::record::TrialRecord =
        serde_json::from_str(text).expect("a trial");
    let load = record.load.as_mut().expect("a load");
    load.counts.planned = 1_000;
    let mut trial = TrialData {
        record,
        times: None,
        seconds: rows(&[100; 10]),
        answered: vec![],
        service: vec![],
        resources: vec![],
    };
    change(&mut trial);
    trial
}

/// Judges it as a trial of this schedule.
fn of(schedule: &str, change: impl Fn(&mut TrialData)) -> Option<KeptUp> {
    let run: stampede_model::record::RunRecord =
        serde_json::from_str(include_str!("../../tests/runs/format-2/run.json")).expect("a run");
    let schedule = Segments::parse(schedule).ok();
    let model = LoadModel::Open;
    KeptUp::of(&trial(change), &CaseRecord { schedule, model, ..run.cases[0].clone() })
}

fn load(trial: &mut TrialData) -> &mut LoadRecord {
    trial.record.load.as_mut().expect("a load")
}

fn behind(why: Behind, answered_per_second: f64) -> Option<KeptUp> {
    Some(KeptUp::No { why, answered_per_second, offered_per_second: 100.0 })
}

#[test]
fn only_a_constant_rate_is_judged() {
    let schedule = "const(100,10s)";
    assert_eq!(of(schedule, |_| {}), Some(KeptUp::Yes));
    let growing = Behind::Growing { in_flight_at_half: 100, in_flight_at_end: 200 };
    assert_eq!(of(schedule, |trial| trial.seconds = rows(&[80; 10])), behind(growing, 80.0));
    assert_eq!(of("line(1,200,10s)", |_| {}), None);
    assert_eq!(of(schedule, |trial| load(trial).end = End::Stopped), None);
    assert_eq!(of(schedule, |trial| trial.record.load = None), None);
    assert_eq!(of(schedule, |trial| trial.seconds.clear()), None);
    // The generator did not send these requests in time.
    let late = |trial: &mut TrialData| {
        trial.seconds = rows(&[80; 10]);
        let mark = LagMark::of(Stat::Mean, 5_000_000_000.0, 1_000_000.0);
        load(trial).lag_marks = mark.into_iter().collect();
    };
    assert_eq!(of(schedule, late), None);
}

#[test]
fn a_load_of_few_seconds_is_too_short_to_tell() {
    for whole in 1..=4 {
        let few = |trial: &mut TrialData| trial.seconds = rows(&vec![50; whole]);
        assert_eq!(of("const(100,10s)", few), Some(KeptUp::TooShort), "{whole} s");
    }
    let enough = of("const(100,10s)", |trial| trial.seconds = rows(&[50; 5]));
    assert!(matches!(enough, Some(KeptUp::No { .. })), "{enough:?}");
}

#[test]
fn requests_turned_away_and_a_stretched_schedule_are_behind_too() {
    let lost = |trial: &mut TrialData| {
        trial.seconds = rows(&[98; 10]);
        load(trial).counts.dropped = 20;
    };
    let why = Behind::Lost { requests: 20, planned: 1_000 };
    assert_eq!(of("const(100,10s)", lost), behind(why, 98.0));
    let judged = of("const(100,10s)", |trial| load(trial).stretched = 1.25);
    let Some(KeptUp::No { why, offered_per_second, .. }) = judged else { panic!("{judged:?}") };
    assert_eq!((why, offered_per_second), (Behind::Stretched { factor: 1.25 }, 125.0));
}

#[test]
fn throughput_counts_answers_to_scheduled_requests_unless_the_server_fell_behind() {
    // 100 requests/s for 10 s; each answer takes 1 s, so the last 100 end after the schedule.
    let mut slow = trial(|_| {});
    let load = load(&mut slow);
    (load.counts.ok, load.ok_inside, load.scheduled_ns) = (1_000, 900, 10 * SECOND);
    let of = |model, kept_up| throughput(load, model, kept_up);
    assert_eq!(of(LoadModel::Open, Some(KeptUp::Yes)), Some(100.0));
    assert_eq!(of(LoadModel::Open, Some(KeptUp::TooShort)), Some(100.0));
    assert_eq!(of(LoadModel::Open, None), Some(100.0));
    let growing = Behind::Growing { in_flight_at_half: 50, in_flight_at_end: 100 };
    assert_eq!(of(LoadModel::Open, behind(growing, 90.0)), Some(90.0));
    assert_eq!(of(LoadModel::Closed, None), Some(90.0));
    load.scheduled_ns = 0;
    assert_eq!(throughput(load, LoadModel::Open, None), None);
}

/// How requests arrive, or how long a simulated server takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spread {
    Even,
    Exponential,
}

impl Spread {
    fn draw(self, mean: f64, random: &mut Random) -> f64 {
        match self {
            Spread::Even => mean,
            Spread::Exponential => -mean * random.share().ln(),
        }
    }
}

/// Seconds of a simulated server with one queue: `rate` requests/s, of which it can answer
/// `capacity` a second. Each answer takes `delay_s` longer on its way.
#[derive(Clone, Copy, Debug)]
struct Queue {
    rate: f64,
    capacity: f64,
    delay_s: f64,
    arrivals: Spread,
    service: Spread,
    length_s: usize,
}

impl Queue {
    fn run(self, random: &mut Random) -> Vec<SecondRecord> {
        let mut counts = vec![(0, 0); self.length_s];
        let (mut due, mut idle_at) = (0.0_f64, 0.0_f64);
        while due < self.length_s as f64 {
            counts[due as usize].0 += 1;
            idle_at = due.max(idle_at) + self.service.draw(1.0 / self.capacity, random);
            if let Some(second) = counts.get_mut((idle_at + self.delay_s) as usize) {
                second.1 += 1;
            }
            due += self.arrivals.draw(1.0 / self.rate, random);
        }
        seconds(&counts)
    }

    /// How many of so many loads are called behind.
    fn called_behind(self, loads: usize) -> usize {
        let mut random = Random::with_seed(7);
        let one = |_: &usize| matches!(growth(&self.run(&mut random)), Growth::Yes(_));
        (0..loads).filter(one).count()
    }
}

const STEADY: Queue = Queue {
    rate: 200.0,
    capacity: 250.0,
    delay_s: 0.0,
    arrivals: Spread::Even,
    service: Spread::Exponential,
    length_s: 10,
};

/// Of 400 loads, one in 200 may be called behind by mistake; with chance, up to 6 are.
#[test]
fn steady_noise_is_not_called_behind() {
    for arrivals in [Spread::Even, Spread::Exponential] {
        for (capacity, delay_s, length_s) in
            [(250.0, 0.0, 10), (210.0, 0.0, 10), (210.0, 0.0, 60), (250.0, 2.0, 10), (1e4, 0.5, 5)]
        {
            let queue = Queue { capacity, delay_s, arrivals, length_s, ..STEADY };
            let behind = queue.called_behind(400);
            assert!(behind <= 6, "{behind} of 400: {queue:?}");
        }
    }
}

#[test]
fn a_queue_that_grows_by_one_per_cent_a_second_is_called_behind() {
    let full = Queue { rate: 1_000.0, capacity: 990.0, service: Spread::Even, ..STEADY };
    for length_s in [10, 20, 60] {
        assert_eq!(Queue { length_s, ..full }.called_behind(1), 1, "{length_s} s");
    }
    // With arrivals at random, the queue grows by more than it wanders only after minutes, and at a
    // tenth of the rate at once.
    for (capacity, length_s) in [(990.0, 400), (900.0, 10)] {
        let queue = Queue { arrivals: Spread::Exponential, capacity, length_s, ..full };
        let behind = queue.called_behind(50);
        assert!(behind >= 45, "{behind} of 50: {queue:?}");
    }
}
