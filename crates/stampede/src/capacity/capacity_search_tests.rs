//! Searches on simulated runtimes whose capacity can be calculated.

use stampede_model::cpus::CpuCount;
use stampede_model::fact::{Fact, FigureUnit, Found, Traffic};
use stampede_results::capacity::{CapacityReport, FORMAT, LimitingFactor, held_back};
use stampede_results::summary::why::Cause;

use super::*;
use crate::capacity::search;
use crate::capacity::text;

/// Workers that need the same time for each request, and a generator with a limit.
struct Server {
    capacity: f64,
    service_s: f64,
    generator: f64,
}

const HELLO: Server = Server { capacity: 2_000.0, service_s: 0.001, generator: 1e9 };

impl Server {
    /// The p95 is constant until the queue grows; then it is far beyond any limit.
    fn measure(&self, spec: &TrialSpec) -> Point {
        let (rate, concurrency) = match spec.level {
            LoadLevel::Concurrency(concurrency) => {
                (f64::from(concurrency) / self.service_s, Some(concurrency))
            }
            LoadLevel::Rate(rate) => (rate, None),
        };
        let time_s = match concurrency {
            Some(_) => self.service_s,
            None if rate > self.capacity => 2.0,
            None => self.service_s / (1.0 - 0.9 * rate / self.capacity),
        };
        let seen = match () {
            () if concurrency.is_none() && rate > self.generator => TrialOutcome::Generator,
            () if time_s >= 0.1 => TrialOutcome::Missed,
            () => TrialOutcome::Met,
        };
        Point {
            trial: 0,
            purpose: spec.purpose,
            concurrency,
            offered_per_second: concurrency.is_none().then_some(rate),
            length_s: spec.length_s,
            took_s: spec.length_s + 2.0,
            seen,
            why: if seen == TrialOutcome::Met { vec![] } else { vec![not_met(2e9)] },
            throughput_per_second: Some(rate.min(self.capacity)),
            time_ns_mean: Some(time_s * 1e9),
            time_ns_p50: Some(time_s * 1e9),
            time_ns_p95: Some(time_s * 1e9),
            time_ns_p99: None,
            ok_share: Some(1.0),
            cpu_percent: Some(50.0),
            cpu_cost_us: Some(self.service_s * 0.25e6),
            memory_bytes_max: Some(1e7),
            out_of_memory: None,
            held_back: (seen == TrialOutcome::Missed).then(|| {
                factor_with(format!("CPU-bound at {}/s", stampede_model::words::target_rate(rate)))
            }),
            agents: Vec::new(),
        }
    }
}

fn factor_with(text: String) -> LimitingFactor {
    LimitingFactor { cause: Some(Cause::Cpu), found: Fact::bare(text) }
}

fn not_met(value: f64) -> Fact<Reason> {
    let found = Some(Found::Value { value, unit: FigureUnit::Ns }.into());
    Traffic::NotMet { expectation: "p95 < 100ms".to_owned(), found }.into()
}

fn goal(max_time_s: f64) -> CapacityGoal {
    CapacityGoal {
        expect: vec!["p95 < 100ms".parse().expect("an expectation")],
        precision: 0.1,
        max_time_s,
        trial_s: 4.0,
        warm_up_s: 1.0,
        saturation_concurrency: 32,
        confirm: true,
    }
}

fn run(server: &Server, max_time_s: f64) -> Limit {
    let mut searches = [CapacitySearch::new("a".to_owned(), goal(max_time_s))];
    let measure = |_: usize, spec: &TrialSpec| Ok::<_, ()>(Some(server.measure(spec)));
    search(&mut searches, 1, measure, |_| Ok(())).expect("measured");
    searches[0].limit()
}

#[test]
fn a_capacity_is_found_and_confirmed() {
    let limit = run(&HELLO, 180.0);
    assert_eq!(limit.ending, Ending::Found, "{}", limit.said);
    let (low, high) = (limit.capacity_per_second.unwrap(), limit.upper_per_second.unwrap());
    assert!(low <= 2_000.0 && high >= 2_000.0 && high / low < 1.15, "{low} to {high}");
    assert!(limit.spent_s <= 180.0, "{}", limit.spent_s);
    let purposes: Vec<Purpose> = limit.points.iter().map(|point| point.purpose).collect();
    assert_eq!(purposes[..3], [Purpose::Alone, Purpose::Crowd, Purpose::Probe]);
    let longer = |point: &&Point| point.length_s == 16.0;
    let of_longer = |seen| limit.points.iter().filter(longer).filter(|p| p.seen == seen).count();
    assert!(
        of_longer(TrialOutcome::Met) >= 2 && of_longer(TrialOutcome::Missed) >= 1,
        "{:?}",
        limit.points
    );
    assert_eq!(limit.waiting_share, Some(0.75));
    assert!(limit.knee_per_second.is_some());
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn a_search_is_told_in_words_with_what_held_the_runtime_back() {
    let report = CapacityReport {
        format: FORMAT,
        stampede: String::new(),
        run: String::new(),
        started_at: String::new(),
        app: "hello".to_owned(),
        expect: vec!["p95 < 100ms".to_owned()],
        budget_cpus: CpuCount::whole(1),
        budget_memory_bytes: 512 << 20,
        precision: 0.1,
        max_time_s: 180.0,
        interrupted: false,
        runtimes: vec![run(&HELLO, 180.0), run(&Server { generator: 1_500.0, ..HELLO }, 240.0)],
    };
    insta::assert_snapshot!(text::text(&report));
}

#[test]
fn a_single_miss_below_the_capacity_gives_no_limiting_factor() {
    let missed = |rate: f64| {
        let spec = TrialSpec {
            level: LoadLevel::Rate(rate),
            length_s: 2.0,
            purpose: Purpose::Probe,
            left_s: 0.0,
        };
        let why = Some(factor_with(format!("at {rate}")));
        Point { seen: TrialOutcome::Missed, held_back: why, ..HELLO.measure(&spec) }
    };
    let points = [missed(3_000.0), missed(2_100.0), missed(1_500.0)];
    let factor = |sustained| held_back(&points, sustained).map(|why| why.found.sentence());
    assert_eq!(factor(Some(2_000.0)), Some("at 2100".to_owned()));
    assert_eq!(factor(None), Some("at 1500".to_owned()), "where no capacity is known");
    assert_eq!(factor(Some(4_000.0)), None);
}

#[test]
fn the_time_limit_is_kept_and_the_result_so_far_is_reported() {
    for max_time_s in [20.0, 40.0, 60.0, 90.0, 120.0] {
        let limit = run(&HELLO, max_time_s);
        assert!(limit.spent_s <= max_time_s, "{} of {max_time_s}", limit.spent_s);
    }
    let limit = run(&HELLO, 10.0);
    assert_eq!(limit.ending, Ending::Unknown);
    let alone = Limited::MetAlone { throughput_per_second: Some(1_000.0) };
    assert_eq!(limit.said.known(), Some(&alone));
    let limit = run(&HELLO, 45.0);
    assert_eq!(limit.ending, Ending::Wide);
    let is_wide = |one: &Limited| matches!(one, Limited::Wide { precision: 0.1, .. });
    assert!(limit.said.known().is_some_and(is_wide), "{}", limit.said);
}

#[test]
fn an_unmet_expectation_with_a_single_user_ends_the_search() {
    let slow = Server { service_s: 2.0, ..HELLO };
    let limit = run(&slow, 180.0);
    assert_eq!((limit.ending, limit.points.len()), (Ending::NotMetAlone, 2));
    assert_eq!(limit.said.known(), Some(&Limited::NotMetAlone { reasons: vec![not_met(2e9)] }));
    let text = "one request at a time does not meet the expectations: p95 < 100ms: 2.00 s";
    if cfg!(not(feature = "codes-for-text")) {
        assert_eq!(limit.said.to_string(), text);
    }
}

#[test]
fn a_limit_of_the_generator_is_not_a_limit_of_the_runtime() {
    let limit = run(&Server { generator: 1_500.0, ..HELLO }, 240.0);
    assert_eq!(limit.ending, Ending::AtLeast, "{}", limit.said);
    assert_eq!(limit.said.code(), "at_least");
    assert!(limit.capacity_per_second.unwrap() <= 1_500.0);
}

#[test]
fn runtimes_take_turns_and_each_has_its_own_limit() {
    let servers = [HELLO, Server { capacity: 500.0, ..HELLO }];
    let mut searches = ["a", "b"].map(|name| CapacitySearch::new(name.to_owned(), goal(180.0)));
    let mut order = Vec::new();
    let measure = |index: usize, spec: &TrialSpec| {
        order.push(index);
        Ok::<_, ()>(Some(servers[index].measure(spec)))
    };
    search(&mut searches, 7, measure, |_| Ok(())).expect("measured");
    // While both are searched, neither is ahead by more than one trial.
    let of = |index: usize| searches[index].points().len();
    let both = 2 * of(0).min(of(1));
    for end in 0..both {
        let first = order[..end].iter().filter(|index| **index == 0).count();
        assert!(first.abs_diff(end - first) <= 1, "{order:?}");
    }
    let limits =
        searches.map(|capacity_search| capacity_search.limit().capacity_per_second.unwrap());
    assert!(limits[0] > 1_700.0 && limits[1] <= 500.0 && limits[1] > 425.0, "{limits:?}");
}

#[test]
fn an_interrupted_search_keeps_its_interval() {
    let mut searches = [CapacitySearch::new("a".to_owned(), goal(180.0))];
    let mut left = 6;
    let measure = |_: usize, spec: &TrialSpec| {
        left -= 1;
        Ok::<_, ()>((left >= 0).then(|| HELLO.measure(spec)))
    };
    search(&mut searches, 1, measure, |_| Ok(())).expect("measured");
    let limit = searches[0].limit();
    assert_eq!((limit.points.len(), limit.ending), (6, Ending::Wide));
    assert!(limit.capacity_per_second.unwrap() < 2_000.0, "{limit:?}");
}

#[test]
fn a_slow_app_gets_trials_long_enough_for_its_percentile() {
    let goal = goal(180.0);
    assert_eq!(goal.length_s(10_000.0), 4.0);
    assert_eq!(goal.length_s(20.0), 11.0, "220 requests: ten beyond p95 and some more");
    assert_eq!(goal.length_s(1.0), 30.0);
}
