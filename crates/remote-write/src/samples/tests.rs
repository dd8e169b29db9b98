use proptest::prelude::*;
use stampede_model::counts::{Counts, TimeSet};
use stampede_model::record::{CaseRecord, TrialRecord};
use stampede_model::sample::{DiskSample, NetworkSample, RoleSample};
use stampede_model::time::Nanos;

use super::*;
use crate::metrics::{COMMON_LABELS, Kind, METRICS};
use crate::read_back::{self, ReadSeries};
use crate::wire::write_request;

/// A second in which some requests were answered after 1, 2, 3 … ms.
fn second(index: u32, ok: u64, failed: &[(&str, u64)]) -> Second {
    let mut times = TimeSet::empty();
    (1..=ok).for_each(|ms| times.response_time.record(ms * 1_000_000));
    (1..=ok).for_each(|ms| times.service_time.record(ms * 500_000));
    (1..=ok).for_each(|_| times.schedule_lag.record(20_000));
    let failed: BTreeMap<String, u64> =
        failed.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
    let ended = ok + failed.values().sum::<u64>();
    let counts = Counts {
        planned: ended + 1,
        started: ended,
        ok,
        failed,
        dropped: 1,
        bytes_sent: ended * 10,
        bytes_received: ok * 100,
        ..Counts::default()
    };
    Second { index, counts, times, in_flight_max: 3, busy: Nanos::from_millis(5) }
}

fn reading(at_s: u64) -> ResourceSample {
    let role = |cpu_ns, memory_bytes| RoleSample {
        cpu_ns,
        memory_bytes,
        memory_read: memory_bytes > 0,
        processes: 2,
        disk: (memory_bytes > 0).then_some(DiskSample { read_bytes: 0, written_bytes: 4096 }),
        network: (memory_bytes > 0)
            .then_some(NetworkSample { received_bytes: 1_000, sent_bytes: 3_000 }),
        ..RoleSample::default()
    };
    let roles = [("php", role(600_000_000, 1 << 20)), ("web", role(300_000_000, 0))];
    let mut sample = ResourceSample {
        at_ns: at_s * 1_000_000_000,
        interval_ns: 1_000_000_000,
        roles: roles.into_iter().map(|(name, role)| (name.to_owned(), role)).collect(),
        ..ResourceSample::default()
    };
    sample.host.cpu_busy_ns = 1_500_000_000;
    sample
}

fn case(model: LoadModel) -> CaseRecord {
    CaseRecord {
        runtime: "nginx-fpm".to_owned(),
        app: "hello".to_owned(),
        load: "steady".to_owned(),
        model,
        load_text: "const(4,2s)".to_owned(),
        schedule: None,
        closed: None,
        refused: None,
        sent: None,
    }
}

fn begin(recorder: &mut Recorder, number: u32, model: LoadModel, now_ms: i64) {
    let started = Event::TrialStarted {
        number,
        trials: 2,
        round: 1,
        case: &case(model),
        budget_cpus: CpuCount::whole(2),
        left: stampede_model::event::RemainingTime::default(),
    };
    recorder.event(&started, now_ms);
}

fn phase(recorder: &mut Recorder, phase: Phase, now_ms: i64) {
    recorder.event(&Event::Phase { phase, expected: None }, now_ms);
}

/// A whole trial of the open model: from 1 000 s on, one second of warm-up and two of load.
fn whole_trial() -> Vec<ReadSeries> {
    let mut recorder = Recorder::new(vec![("team".to_owned(), "shop".to_owned())]);
    recorder.set_run("2026-11-27-2100");
    let all = &mut recorder;
    begin(all, 1, LoadModel::Open, 1_000_000);
    phase(all, Phase::Start, 1_000_000);
    phase(all, Phase::WarmUp, 1_002_000);
    all.event(&Event::Second(&second(0, 1, &[])), 1_003_005);
    phase(all, Phase::Measure, 1_003_100);
    all.event(&Event::Second(&second(0, 4, &[])), 1_004_150);
    all.event(&Event::Resources(&reading(1)), 1_004_151);
    all.event(&Event::Second(&second(1, 2, &[("http:502", 2)])), 1_005_130);
    all.event(&Event::Resources(&reading(2)), 1_005_131);
    phase(all, Phase::Drain, 1_005_131);
    // Nothing ended in the third second, which is cut short.
    let mut empty = Second::empty(2);
    empty.in_flight_max = 1;
    all.event(&Event::Second(&empty), 1_005_400);
    phase(all, Phase::Stop, 1_005_500);
    let mut record = TrialRecord::empty(1, 1, 0);
    record.verdict.judged = Validity::Suspect;
    all.event(&Event::TrialEnded { record: &record, case: &case(LoadModel::Open) }, 1_006_000);
    all.event(&Event::RunEnded, 1_006_001);
    read_back::series(&write_request(&recorder.take()))
}

/// A series as text: its labels and each value with its time in seconds.
fn shown(series: &ReadSeries) -> String {
    let is_own =
        |name: &str| !COMMON_LABELS.contains(&name) && name != "__name__" && name != "team";
    let own = series.labels.iter().filter(|(name, _)| is_own(name));
    let own: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
    let samples: Vec<String> = series
        .samples
        .iter()
        .map(|&(bits, at)| {
            let value = f64::from_bits(bits);
            let value =
                if bits == STALE.to_bits() { "stale".to_owned() } else { value.to_string() };
            format!("{value}@{}", (at - 1_000_000) as f64 / 1e3)
        })
        .collect();
    format!("{} {{{}}} {}", series.label("__name__"), own.join(","), samples.join(" "))
}

#[test]
fn a_trial_becomes_these_samples() {
    let series = whole_trial();
    let expected = [("run", "2026-11-27-2100"), ("runtime", "nginx-fpm"), ("app", "hello")]
        .into_iter()
        .chain([("load", "steady"), ("round", "1"), ("trial", "1"), ("team", "shop")]);
    for (name, value) in expected {
        assert!(series.iter().all(|one| one.label(name) == value), "{name}");
    }
    let lines: Vec<String> = series.iter().map(shown).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_trial_sends_the_metrics_of_the_table_and_their_labels() {
    let series = whole_trial();
    for metric in METRICS {
        let own: Vec<&ReadSeries> =
            series.iter().filter(|one| one.label("__name__") == metric.name).collect();
        assert!(!own.is_empty(), "{} is never sent", metric.name);
        for one in own {
            let is_known = |name: &str| {
                metric.labels.contains(&name)
                    || COMMON_LABELS.contains(&name)
                    || ["__name__", "team"].contains(&name)
            };
            assert!(one.labels.iter().all(|(name, _)| is_known(name)), "{:?}", one.labels);
            let is_there = |name: &&str| *name == "kind" || !one.label(name).is_empty();
            assert!(metric.labels.iter().all(is_there), "{:?}", one.labels);
        }
    }
    let is_known = |one: &ReadSeries| METRICS.iter().any(|own| own.name == one.label("__name__"));
    assert!(series.iter().all(is_known));
}

#[test]
fn a_closed_load_has_no_response_time() {
    let mut recorder = Recorder::new(Vec::new());
    let labels = TrialLabels { load: "8 at a time".to_owned(), ..TrialLabels::default() };
    recorder.begin(&labels, LoadModel::Closed, CpuCount::default(), 0);
    recorder.second(&second(0, 3, &[]), 1_000);
    let series = read_back::series(&write_request(&recorder.take()));
    let count =
        |name: &str| series.iter().filter(|one| one.label("__name__").starts_with(name)).count();
    assert_eq!(count("stampede_response_time"), 0);
    assert_eq!(count("stampede_service_time"), 5 + 2);
    let names: BTreeSet<&str> =
        series.iter().flat_map(|one| &one.labels).map(|(name, _)| name.as_str()).collect();
    let expected = ["__name__", "load", "outcome", "phase", "quantile"];
    assert_eq!(names, expected.into_iter().collect(), "what is not known is no label");
}

#[test]
fn kinds_beyond_the_limit_are_counted_together() {
    let mut recorder = Recorder::new(Vec::new());
    begin(&mut recorder, 1, LoadModel::Open, 0);
    let names: Vec<String> = (0..300).map(|errno| format!("net:errno-{errno:03}")).collect();
    let failed: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 2)).collect();
    recorder.second(&second(0, 1, &failed), 1_000);
    // A kind that has a series keeps it.
    recorder.second(&second(1, 1, &[("net:errno-000", 1), ("new", 1)]), 2_000);
    let series = read_back::series(&write_request(&recorder.take()));
    let last = |one: &ReadSeries| f64::from_bits(one.samples.last().expect("a sample").0);
    let failed: BTreeMap<&str, f64> = series
        .iter()
        .filter(|one| one.label("outcome") == "failed")
        .map(|one| (one.label("kind"), last(one)))
        .collect();
    assert_eq!(failed.len(), KINDS + 1);
    assert_eq!(failed["net:errno-000"], 3.0);
    assert_eq!(failed[OTHER], 2.0 * (300 - KINDS) as f64 + 1.0);
    let long = "x".repeat(5_000);
    recorder.second(&second(2, 0, &[(&long, 1)]), 3_000);
    assert!(recorder.take().len() < 100);
}

#[test]
fn times_are_those_of_the_load_and_not_of_the_news_about_it() {
    let mut anchor = Anchor::default();
    // The second second is told 40 ms late, and the fourth ends early.
    let times = [(11_010, 1_000), (12_040, 2_000), (13_005, 3_000), (13_400, 4_000)];
    assert_eq!(times.map(|(now, since)| anchor.at(now, since)), [11_010, 12_010, 13_005, 13_400]);
}

/// Something that happens, after a pause in ms.
#[derive(Clone, Debug)]
enum Happening {
    Begin(u32),
    Phase(Phase),
    Second(u32, u64, u8),
    Reading(u64),
    End,
}

fn happening() -> impl Strategy<Value = (i64, Happening)> {
    let phases = [Phase::Start, Phase::WarmUp, Phase::Measure, Phase::Drain, Phase::Stop];
    let what = prop_oneof![
        (1_u32..9).prop_map(Happening::Begin),
        prop::sample::select(phases.to_vec()).prop_map(Happening::Phase),
        (0_u32..5, 0_u64..4, any::<u8>()).prop_map(|(a, b, c)| Happening::Second(a, b, c)),
        (0_u64..5).prop_map(Happening::Reading),
        Just(Happening::End),
    ];
    // The wall clock may be set back.
    (prop_oneof![9 => 0_i64..2_000, 1 => -5_000_i64..0], what)
}

proptest! {
    #[test]
    fn whatever_happens_prometheus_can_take_it(all in prop::collection::vec(happening(), 1..60)) {
        let mut recorder = Recorder::new(Vec::new());
        let (mut now, mut trial) = (1_000_000, 0);
        for (passed, what) in all {
            now += passed;
            match what {
                // A trial's number is its own.
                Happening::Begin(more) => {
                    trial += more;
                    begin(&mut recorder, trial, LoadModel::Open, now);
                }
                Happening::Phase(one) => phase(&mut recorder, one, now),
                Happening::Second(index, ok, kind) => {
                    recorder.second(&second(index, ok, &[(&format!("http:{kind}"), 1)]), now);
                }
                Happening::Reading(at) => recorder.resources(&reading(at), now),
                Happening::End => recorder.end(Some(Validity::Valid), now),
            }
        }
        recorder.end(None, now);
        let series = read_back::series(&write_request(&recorder.take()));
        prop_assert_eq!(series.len(), recorder.series() as usize);
        for one in &series {
            prop_assert!(one.labels.is_sorted_by(|a, b| a.0 < b.0), "{:?}", one.labels);
            prop_assert!(one.samples.is_sorted_by(|a, b| a.1 < b.1), "{}", shown(one));
            let name = one.label("__name__");
            let metric = METRICS.iter().find(|own| own.name == name).expect("a known metric");
            // A phase may come back, and its series with it.
            let values = one.samples.iter().filter(|(bits, _)| *bits != STALE.to_bits());
            let values: Vec<f64> = values.map(|(bits, _)| f64::from_bits(*bits)).collect();
            if metric.kind == Kind::Counter {
                prop_assert_eq!(values[0], 0.0);
                prop_assert!(values.is_sorted(), "{}", shown(one));
            }
            let ended = one.samples.last().is_some_and(|(bits, _)| *bits == STALE.to_bits());
            prop_assert_eq!(ended, name != metrics::VERDICT.name, "{}", shown(one));
        }
    }
}
