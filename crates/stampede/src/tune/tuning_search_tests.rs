//! Tunes simulated runtimes whose results can be calculated.

use stampede_model::fact::{Fact, FigureUnit, Found, Machine, Reason, Traffic};

use super::*;

/// Workers that sleep 50 ms and need 2 ms of one CPU. Memory is exhausted at `memory_ends` workers.
fn not_met(value: f64) -> Fact<Reason> {
    let found = Some(Found::Value { value, unit: FigureUnit::Ns }.into());
    Traffic::NotMet { expectation: "p95 < 100ms".to_owned(), found }.into()
}

fn measure(at: &[Value], spec: &TrialSpec, memory_ends: u32) -> Point {
    let workers = f64::from(at[0]);
    let capacity = (workers * 20.0).min(500.0);
    let (rate, concurrency) = match spec.level {
        LoadLevel::Concurrency(concurrency) => {
            (f64::from(concurrency).min(workers) * 20.0, Some(concurrency))
        }
        LoadLevel::Rate(rate) => (rate, None),
    };
    let busy = concurrency.is_none() && rate > capacity;
    let killed =
        (at[0] > memory_ends).then(|| Machine::OutOfMemory { kills: 1, limit_bytes: 0 }.into());
    let time_s = if busy { 3.0 } else { 0.052 };
    Point {
        trial: 1,
        purpose: spec.purpose,
        concurrency,
        offered_per_second: concurrency.is_none().then_some(rate),
        length_s: spec.length_s,
        took_s: spec.length_s + 2.0,
        seen: if busy || killed.is_some() { TrialOutcome::Missed } else { TrialOutcome::Met },
        why: if busy { vec![not_met(3e9)] } else { vec![] },
        throughput_per_second: Some(rate.min(capacity)),
        time_ns_mean: Some(time_s * 1e9),
        time_ns_p50: Some(time_s * 1e9),
        time_ns_p95: Some(time_s * 1e9),
        time_ns_p99: None,
        ok_share: Some(1.0),
        cpu_percent: Some(rate.min(capacity) * 0.2),
        cpu_cost_us: Some(2_080.0),
        memory_bytes_max: Some(2e7 + workers * 8e6),
        out_of_memory: killed,
        held_back: None,
        agents: Vec::new(),
    }
}

fn work(rate: Option<f64>, max_time_s: f64, confirm: bool) -> TuningSearch {
    let goal = CapacityGoal {
        expect: vec!["p95 < 100ms".parse().expect("an expectation")],
        precision: 0.1,
        max_time_s,
        trial_s: 2.0,
        warm_up_s: 1.0,
        saturation_concurrency: 32,
        confirm,
    };
    let settings = vec![Setting::read("workers=2..64").expect("a setting")];
    TuningSearch::new(Objective { goal, rate, max_time_s }, settings)
}

fn tuned(rate: Option<f64>, max_time_s: f64, memory_ends: u32) -> TuningSearch {
    let mut work = work(rate, max_time_s, false);
    work.run(|at, spec| Ok::<_, ()>(Some(measure(at, spec, memory_ends))), |_| Ok(()))
        .expect("measured");
    work
}

#[test]
fn the_fewest_workers_that_fill_the_cpu_are_chosen() {
    let work = tuned(None, 900.0, 1_000);
    let (at, point) = work.chosen().expect("a choice");
    assert!((23..=32).contains(&at[0]), "{at:?}");
    assert!(point.low.unwrap() <= 500.0 && point.high.unwrap() >= 450.0, "{point:?}");
    assert!(work.waiting_share().unwrap() > 0.95);
    assert!(work.points.len() <= 9 && !work.out_of_time, "{}", work.points.len());
    assert!(work.spent_s() <= 900.0);
}

#[test]
fn settings_that_do_not_fit_into_memory_fail_with_a_reason() {
    let work = tuned(None, 900.0, 20);
    let (at, _) = work.chosen().expect("a choice");
    assert!((11..=20).contains(&at[0]), "{at:?}");
    let (_, failed) = work.points.iter().find(|(at, _)| at[0] == 64).expect("the end was tried");
    let killed = Machine::OutOfMemory { kills: 1, limit_bytes: 0 }.into();
    assert_eq!(failed.failed, Some(ChoiceFailed::Trials { reasons: vec![killed] }.into()));
    assert_eq!(failed.value, None);
}

#[test]
fn at_one_rate_the_fewest_workers_that_keep_p95_are_chosen() {
    let work = tuned(Some(200.0), 900.0, 1_000);
    let (at, point) = work.chosen().expect("a choice");
    assert!((10..=11).contains(&at[0]), "{at:?}");
    assert_eq!(point.trials.len(), 3);
    assert!((point.value.unwrap() - 52e6).abs() < 1.0);
}

#[test]
fn a_rate_that_no_settings_sustain_is_reported() {
    let work = tuned(Some(5_000.0), 900.0, 1_000);
    assert!(work.chosen().is_none());
    for (_, point) in &work.points {
        let reasons = vec![not_met(3e9)];
        assert_eq!(point.failed, Some(ChoiceFailed::Trials { reasons }.into()));
    }
}

#[test]
fn no_settings_help_if_a_single_user_misses_the_expectations() {
    for rate in [None, Some(200.0)] {
        let mut work = work(rate, 900.0, false);
        let slow = |at: &[Value], spec: &TrialSpec| Point {
            seen: TrialOutcome::Missed,
            why: vec![not_met(2e9)],
            ..measure(at, spec, 1_000)
        };
        work.run(|at, spec| Ok::<_, ()>(Some(slow(at, spec))), |_| Ok(())).expect("measured");
        let reason = work.hopeless.clone().expect("it is said");
        assert_eq!(reason, Limited::NotMetAlone { reasons: vec![not_met(2e9)] }.into());
    }
}

#[test]
fn the_best_is_confirmed_by_longer_trials() {
    let mut work = work(None, 900.0, true);
    work.run(|at, spec| Ok::<_, ()>(Some(measure(at, spec, 1_000))), |_| Ok(())).expect("measured");
    let (_, point) = work.chosen().expect("a choice");
    let longer: Vec<TrialOutcome> =
        point.trials.iter().filter(|one| one.length_s >= 16.0).map(|one| one.seen).collect();
    let met = longer.iter().filter(|seen| **seen == TrialOutcome::Met).count();
    assert!(work.confirmed && met >= 2 && longer.contains(&TrialOutcome::Missed), "{longer:?}");
    assert!(work.spent_s() <= 900.0, "{}", work.spent_s());
}

#[test]
fn the_end_of_the_time_gives_the_best_settings_so_far() {
    let work = tuned(None, 120.0, 1_000);
    assert!(work.out_of_time && work.chosen().is_some());
    assert!(work.spent_s() <= 120.0 + 5.0, "{}", work.spent_s());
}
