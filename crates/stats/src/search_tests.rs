//! Runs searches against simulated servers whose capacity can be calculated.

use super::*;

/// M/M/c: Poisson arrivals, `servers` workers, exponential service at a rate of `mu` a second each.
#[derive(Clone, Copy)]
struct Queue {
    servers: u32,
    mu: f64,
}

impl Queue {
    /// Returns the chance that a request takes longer than `seconds`, waiting and service together.
    fn slower(&self, rate: f64, seconds: f64) -> f64 {
        let (c, mu) = (f64::from(self.servers), self.mu);
        let load = rate / mu;
        if load >= c {
            return 1.0;
        }
        // Erlang's B by its recursion, then Erlang's C: the chance of waiting.
        let blocked = (1..=self.servers).fold(1.0, |b, k| load * b / (f64::from(k) + load * b));
        let waits = c * blocked / (c - load * (1.0 - blocked));
        let drain = c * mu - rate;
        let served = (-mu * seconds).exp();
        // The wait is exponential with rate `drain`; waiting plus service has this tail.
        let both = match (drain - mu).abs() < 1e-9 * mu {
            true => (1.0 + mu * seconds) * served,
            false => (drain * served - mu * (-drain * seconds).exp()) / (drain - mu),
        };
        (1.0 - waits) * served + waits * both
    }

    /// Returns the p95 of response time in seconds.
    fn p95(&self, rate: f64) -> f64 {
        if rate >= f64::from(self.servers) * self.mu {
            return f64::INFINITY;
        }
        let (mut low, mut high) = (0.0, 1e6 / self.mu);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.slower(rate, middle) > 0.05 { low = middle } else { high = middle }
        }
        high
    }

    /// Returns the rate at which p95 is `bound`.
    fn capacity(&self, bound: f64) -> f64 {
        let (mut low, mut high) = (0.0, f64::from(self.servers) * self.mu);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.slower(middle, bound) < 0.05 { low = middle } else { high = middle }
        }
        low
    }
}

/// A seeded generator; its numbers are the same on every machine.
struct TestRandom(u64);

impl TestRandom {
    /// Returns a number from 0 to 1 (splitmix64).
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }

    /// Returns a number with mean 0 and standard deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (a, b) = (self.even().max(1e-300), self.even());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// How a measured p95 differs from the true one.
#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation of its logarithm.
    sd: f64,
    /// Share of trials that something else spoils.
    hiccups: f64,
}

fn seen(queue: Queue, bound: f64, noise: Noise, rate: f64, random: &mut TestRandom) -> TrialResult {
    let measured = queue.p95(rate) * (noise.sd * random.normal()).exp();
    let spoilt = random.even() < noise.hiccups;
    if measured < bound && !spoilt { TrialResult::Met } else { TrialResult::Missed }
}

fn goal(first: f64) -> Goal {
    Goal { first, lowest: 0.1, highest: 1e6, precision: 0.1, confirm: true }
}

/// Cost of a longer trial in short ones. It is less than the ratio of lengths, because each starts
/// a runtime once.
const COST: u32 = 3;

/// Runs a search with a budget of short trials; returns its answer and the number of trials.
fn run(budget: u32, first: f64, mut measure: impl FnMut(f64) -> TrialResult) -> (Answer, u32) {
    run_each(budget, first, |rate, _| measure(rate))
}

fn run_each(
    budget: u32,
    first: f64,
    mut measure: impl FnMut(f64, Purpose) -> TrialResult,
) -> (Answer, u32) {
    let mut search = Search::new(goal(first));
    let mut left = budget;
    while let NextTrial::Measure { rate, purpose } =
        search.next(Budget { short: left, longer: left / COST })
    {
        let seen = measure(rate, purpose);
        search.record(Step { rate, purpose, result: seen });
        let cost = if purpose.is_longer() { COST } else { 1 };
        left = left.checked_sub(cost).expect("no more than the budget");
    }
    (search.answer(), budget - left)
}

/// Runs 2 000 seeds. Returns the share of intervals that contain the capacity, the share of
/// searches that ended as found, and the mean number of trials.
fn many(queue: Queue, bound: f64, noise: Noise, budget: u32) -> (f64, f64, f64) {
    const SEEDS: u64 = 2_000;
    let capacity = queue.capacity(bound);
    let (mut held, mut found, mut trials) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut random = TestRandom(seed);
        // The first guess is off by up to a factor of two on either side.
        let first = capacity * (1.4 * (random.even() - 0.5)).exp();
        let (answer, used) =
            run(budget, first, |rate| seen(queue, bound, noise, rate, &mut random));
        let (low, high) = (answer.lower.unwrap_or(0.0), answer.upper.unwrap_or(f64::INFINITY));
        held += u32::from(low <= capacity && capacity <= high);
        found += u32::from(answer.ending == Ending::Found);
        trials += used;
    }
    let share = |count: u32| f64::from(count) / SEEDS as f64;
    (share(held), share(found), share(trials))
}

#[test]
fn the_capacity_lies_in_the_interval_in_93_of_100_searches() {
    let quiet = Noise { sd: 0.1, hiccups: 0.0 };
    let usual = Noise { sd: 0.3, hiccups: 0.02 };
    let loud = Noise { sd: 0.5, hiccups: 0.05 };
    let cases = [
        ("a hello of 0.5 ms", Queue { servers: 1, mu: 2_000.0 }, 0.1),
        ("four workers of 5 ms", Queue { servers: 4, mu: 200.0 }, 0.1),
        ("sixteen sleepers of 10 ms", Queue { servers: 16, mu: 100.0 }, 0.1),
        ("sixty-four of 5 ms", Queue { servers: 64, mu: 200.0 }, 0.1),
    ];
    for (name, queue, bound) in cases {
        for (machine, noise) in [("quiet", quiet), ("usual", usual), ("loud", loud)] {
            let (held, found, trials) = many(queue, bound, noise, 30);
            println!("{name}, {machine}: held {held}, found {found}, trials {trials}");
            assert!(held >= 0.93, "{name}, {machine}: {held}");
            // These searches take three minutes with trials of six seconds.
            assert!(found >= 0.83, "{name}, {machine}: {found}");
        }
    }
}

/// Every trial meets up to `limit`; there is no noise.
fn exact(limit: f64, first: f64, budget: u32) -> (Answer, u32) {
    run(budget, first, |rate| if rate <= limit { TrialResult::Met } else { TrialResult::Missed })
}

#[test]
fn without_noise_the_limit_is_found_from_any_first_rate() {
    for (limit, first) in [(1_234.0, 1_000.0), (1_234.0, 20.0), (3.3, 500.0), (80_000.0, 1.0)] {
        let (answer, used) = exact(limit, first, 60);
        let (low, high) = (answer.lower.unwrap(), answer.upper.unwrap());
        assert_eq!(answer.ending, Ending::Found, "{limit} from {first}: {answer:?}, {used} trials");
        assert!(low <= limit && limit <= high && high / low < 1.2, "{limit}: {low} to {high}");
    }
}

#[test]
fn a_budget_that_is_too_small_leaves_the_best_so_far() {
    let (answer, used) = exact(1_234.0, 1_000.0, 6);
    assert_eq!((answer.ending, used), (Ending::Wide, 6));
    assert!(answer.lower.unwrap() < 1_234.0 && answer.upper.unwrap() > 1_234.0, "{answer:?}");
    let (answer, _) = exact(1_234.0, 1_000.0, 1);
    assert_eq!((answer.ending, answer.lower, answer.upper), (Ending::Wide, Some(1_000.0), None));
    let (answer, _) = exact(1_234.0, 5_000.0, 2);
    assert_eq!((answer.ending, answer.lower, answer.upper), (Ending::Wide, None, Some(5_000.0)));
    let (answer, _) = exact(1_234.0, 1_000.0, 0);
    assert_eq!((answer.ending, answer.lower, answer.upper), (Ending::Unknown, None, None));
}

#[test]
fn beyond_the_generators_limit_the_answer_is_a_lower_bound() {
    let (answer, _) = run(40, 1_000.0, |rate| match rate {
        rate if rate > 50_000.0 => TrialResult::Generator,
        _ => TrialResult::Met,
    });
    assert_eq!((answer.ending, answer.upper), (Ending::AtLeast, None));
    let lower = answer.lower.unwrap();
    assert!((40_000.0..=50_000.0).contains(&lower), "{lower}");
}

#[test]
fn a_generator_failure_below_the_runtimes_limit_is_a_disturbance() {
    let (answer, _) = run(40, 2_000.0, |rate| match rate {
        rate if rate > 1_600.0 => TrialResult::Missed,
        rate if rate > 1_000.0 => TrialResult::Generator,
        _ => TrialResult::Met,
    });
    assert_eq!(answer.ending, Ending::Wide);
    assert!(answer.lower.unwrap() <= 1_000.0 && answer.upper.unwrap() > 1_600.0, "{answer:?}");
}

#[test]
fn a_trial_with_an_occasional_generator_failure_is_repeated() {
    let mut random = TestRandom(3);
    let (answer, _) = run(60, 1_000.0, |rate| match random.even() {
        stray if stray < 0.15 => TrialResult::Generator,
        _ if rate <= 4_321.0 => TrialResult::Met,
        _ => TrialResult::Missed,
    });
    assert_eq!(answer.ending, Ending::Found);
    assert!(answer.lower.unwrap() <= 4_321.0 && answer.upper.unwrap() >= 4_321.0, "{answer:?}");
}

#[test]
fn expectations_that_are_never_met_end_at_the_lowest_rate() {
    let (answer, used) = run(60, 1_000.0, |_| TrialResult::Missed);
    assert_eq!((answer.ending, answer.lower), (Ending::Below, None));
    assert!(used <= 30, "{used}");
}

#[test]
fn longer_trials_that_fail_where_short_ones_met_move_the_answer_down() {
    let (answer, _) = run_each(40, 1_000.0, |rate, purpose| {
        // The backlog grows too slowly to show in a short trial.
        let limit = if purpose.is_longer() { 1_800.0 } else { 2_000.0 };
        if rate <= limit { TrialResult::Met } else { TrialResult::Missed }
    });
    assert!(answer.lower.unwrap() <= 1_800.0 * 1.02, "{answer:?}");
}

/// The machine's throughput varies from start to start, and short trials are more lenient.
#[test]
fn results_on_a_drifting_machine_hold_in_longer_trials() {
    const SEEDS: u64 = 2_000;
    for (wanders, forgives, least) in [(0.02, 1.03, 0.97), (0.05, 1.05, 0.9), (0.08, 1.05, 0.85)] {
        let (mut kept, mut missed, mut found, mut width) = (0, 0, 0, 0.0);
        for seed in 0..SEEDS {
            let mut random = TestRandom(seed);
            let mut limit = |is_longer: bool| {
                let forgives = if is_longer { 1.0 } else { forgives };
                5_000.0 * forgives * (wanders * random.normal()).exp()
            };
            let (answer, _) = run_each(26, 4_000.0, |rate, purpose| {
                if rate <= limit(purpose.is_longer()) {
                    TrialResult::Met
                } else {
                    TrialResult::Missed
                }
            });
            let (low, high) = (answer.lower.expect("a rate"), answer.upper.expect("a rate"));
            kept += u32::from(0.95 * low <= limit(true));
            missed += u32::from(1.2 * low > limit(true));
            found += u32::from(answer.ending == Ending::Found);
            width += (high / low).ln() / SEEDS as f64;
        }
        let share = |count: u32| f64::from(count) / SEEDS as f64;
        let (kept, missed, found) = (share(kept), share(missed), share(found));
        println!("{wanders}: kept {kept}, missed {missed}, found {found}, width {width}");
        assert!(kept >= least && missed >= least, "{wanders}: {kept} and {missed}");
    }
}

#[test]
fn rates_are_short_numbers() {
    assert_eq!(rounded(2_347.8, 0.1), 2_340.0);
    assert_eq!(rounded(0.34567, 0.1), 0.345);
    assert_eq!(rounded(98_765.0, 0.05), 99_000.0);
}
