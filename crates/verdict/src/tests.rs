use stampede_model::counts::{Connections, TimeSet};
use stampede_model::fact::Mismatch;
use stampede_model::kept::KeptLimit;
use stampede_model::observed::{ObservedRuntime, changed as changed_between};
use stampede_model::record::{ObservedState, RequestedSetup};
use stampede_model::sample::RoleSample;
use stampede_model::stat::Stat;
use stampede_model::time::Nanos;
use stampede_stats::percentile::CutOff;

use super::*;

pub(crate) fn load() -> LoadRecord {
    LoadRecord {
        counts: Counts { planned: 1000, started: 1000, ok: 1000, ..Counts::default() },
        scheduled_ns: 10_000_000_000,
        lasted_ns: 10_000_000_000,
        ok_inside: 1000,
        in_flight_max: 10,
        in_flight_mean: None,
        littles_law_ratio: 1.0,
        connections: Connections {
            opened: 10,
            never_answered: 0,
            sources: 1,
            ..Connections::default()
        },
        busy_share_max: 0.1,
        stretched: 1.0,
        schedule_lag_ns_p99: 100_000,
        lag_marks: vec![],
        clipped: 0,
        timeout_ns: 11_000_000_000,
        keep_alive: true,
        client: "stampede".to_owned(),
        end: End::Complete,
        agents: Vec::new(),
    }
}

pub(crate) fn evidence(load: &LoadRecord, model: ModelKind) -> Evidence<'_> {
    Evidence {
        load,
        model,
        resources: &[],
        changed: &[],
        clock_source: "tsc",
        machine_cpus: 2,
        all_watched: true,
        has_containers: false,
        memory_limit_bytes: 0,
        oom_kills: 0,
        died: &[],
    }
}

fn judged(load: &LoadRecord, model: ModelKind) -> Verdict {
    judge(&evidence(load, model))
}

const OPEN: ModelKind = ModelKind::Open { max_in_flight: 100 };

#[test]
fn odd_headers_are_noted() {
    let odd = [("folded", 1_200), ("no-field", 1)];
    let odd = odd.map(|(kind, count)| (kind.to_owned(), count)).into();
    let note = |kind: &str, answers| Traffic::OddHeaders { kind: kind.into(), answers };
    let notes: Vec<Traffic> = odd_headers(&odd).collect();
    assert_eq!(notes, [note("folded", 1_200), note("no-field", 1)]);
}

#[test]
fn bytes_besides_answers_are_noted_with_the_requests_that_met_them() {
    let notes = |aside, counts: &Counts, kept: &KeptConnections| -> Vec<Traffic> {
        beside_answers(aside, counts, kept).collect()
    };
    let (mut counts, mut kept) = (load().counts, KeptConnections::default());
    assert_eq!(notes(Aside::default(), &counts, &kept), []);
    // Three of five stale requests met a closed connection.
    counts.failed.insert("net:stale".to_owned(), 5);
    (0..3).for_each(|_| kept.closed(Nanos(0), 7));
    let surplus = Aside { surplus_answers: 9, stderr_bytes: 0 };
    let note = Traffic::BytesAfterAnswers { answers: 9, requests: 2 };
    assert_eq!(notes(surplus, &counts, &kept), [note]);
    let errors = Aside { surplus_answers: 0, stderr_bytes: 26 };
    assert_eq!(notes(errors, &counts, &kept), [Traffic::ErrorStream { bytes: 26 }]);
}

#[test]
fn full_memory_and_killed_processes_are_reasons() {
    let reasons = |memory_bytes, oom_kills| {
        let role = RoleSample { memory_bytes, oom_kills, ..RoleSample::default() };
        let roles = [("php".to_owned(), role)].into();
        let resources = [ResourceSample { roles, ..ResourceSample::default() }];
        let load = load();
        let memory_limit_bytes = 1 << 30;
        let evidence =
            Evidence { resources: &resources, memory_limit_bytes, ..evidence(&load, OPEN) };
        let verdict = judge(&evidence);
        (verdict.judged, verdict.reasons)
    };
    let limit_bytes = 1 << 30;
    assert_eq!(reasons(900 << 20, 0), (Validity::Valid, vec![]));
    let full = Machine::MemoryFull { peak_bytes: 1_000 << 20, limit_bytes };
    assert_eq!(reasons(1_000 << 20, 0), (Validity::Suspect, vec![full.into()]));
    let killed = Machine::OutOfMemory { kills: 3, limit_bytes };
    assert_eq!(reasons(1_000 << 20, 3), (Validity::Suspect, vec![killed.into()]));
}

#[test]
fn a_quiet_trial_is_valid_without_a_reason() {
    let verdict = judged(&load(), OPEN);
    assert_eq!(verdict, Verdict { judged: Validity::Valid, reasons: vec![], notes: vec![] });
}

/// A load whose figure `stat` is 5 ms, of which 1 ms is schedule lag.
fn late(stats: &[Stat]) -> LoadRecord {
    let mark = |stat: &Stat| LagMark::of(*stat, 5_000_000.0, 4_000_000.0);
    LoadRecord { lag_marks: stats.iter().filter_map(mark).collect(), ..load() }
}

#[test]
fn a_trial_is_judged_by_the_figures_that_lag_changes() {
    let [p75, p95, p999] = [750, 950, 999].map(Stat::Percentile);
    let by_figures = |stats: &[Stat]| judged(&late(stats), OPEN);
    assert_eq!(by_figures(&[Stat::Mean]).judged, Validity::Invalid);
    assert_eq!(by_figures(&[p75, Stat::Max]).judged, Validity::Valid, "only marked");
    let tail = by_figures(&[p999, Stat::Max]);
    assert_eq!(tail.judged, Validity::Suspect);
    let figures = late(&[p999]).lag_marks;
    assert_eq!(tail.reasons, [Generator::Lag { figures }.into()]);
    assert_eq!(generators_fault(&tail), None, "it counts");
    let invalid = by_figures(&[p95, p999]);
    assert_eq!((invalid.judged, invalid.reasons.len()), (Validity::Invalid, 1));
    assert_eq!(generators_fault(&invalid), Some(Fault::Late));
    let closed = judged(&late(&[p95]), ModelKind::Closed);
    assert_eq!(closed.judged, Validity::Valid, "no due times there");
}

/// 2 000 requests/s for 10 s at a server that answers in 60 µs and freezes for 500 ms every 2 s.
/// Each freeze holds up 1 000 requests, whose starts then take 4.3 µs each. Requests start 9 µs late
/// otherwise.
#[test]
fn a_frozen_server_does_not_make_its_own_trial_invalid() {
    let mut times = TimeSet::empty();
    let mut request = |wait_ns: u64, lag_ns: u64| {
        times.response_time.record(wait_ns + lag_ns + 60_000);
        times.response_time_without_lag.record(wait_ns + 60_000);
        times.schedule_lag.record(lag_ns);
    };
    for request_of_freeze in (0..4).flat_map(|_| 0..1_000) {
        request(500_000_000 - 500_000 * request_of_freeze, 4_300 * request_of_freeze);
    }
    (0..16_000).for_each(|_| request(0, 9_000));
    let p90 = times.response_time.at_rank(18_000);
    assert!(p90.abs_diff(252_000_000) < 1_000_000, "{p90}");
    assert!(times.schedule_lag.at_rank(19_800) > 4_000_000, "p99 of lag");
    let lag_marks = LagMark::all(&times, 0, CutOff { requests: 0, after_ns: 0 });
    let verdict = judged(&LoadRecord { lag_marks, ..load() }, OPEN);
    assert_eq!((verdict.judged, verdict.reasons), (Validity::Valid, vec![]));
}

#[test]
fn times_beyond_an_hour_are_a_reason() {
    let verdict = judged(&LoadRecord { clipped: 2, ..load() }, ModelKind::Closed);
    assert_eq!(verdict.judged, Validity::Suspect);
    assert_eq!(verdict.reasons, [Generator::Clipped { requests: 2 }.into()]);
}

#[test]
fn requests_dropped_at_the_in_flight_limit_are_the_runtimes_fault() {
    let mut dropped = load();
    dropped.counts.started = 500;
    assert_eq!(judged(&dropped, OPEN).judged, Validity::Invalid, "there was room for them");
    dropped.in_flight_max = 100;
    assert_eq!(judged(&dropped, OPEN).judged, Validity::Valid);
}

#[test]
fn a_starved_connection_makes_it_invalid() {
    let starved = LoadRecord {
        connections: Connections {
            opened: 16,
            never_answered: 12,
            sources: 1,
            ..Connections::default()
        },
        ..load()
    };
    let verdict = judged(&starved, ModelKind::Closed);
    assert_eq!(verdict.judged, Validity::Invalid);
    let starved = Traffic::Starved { connections: 12, opened: 16, failure: None };
    assert_eq!(verdict.reasons, [starved.into()]);
}

#[test]
fn a_server_that_answers_nobody_starves_nobody() {
    let mut dead = LoadRecord {
        connections: Connections {
            opened: 16,
            never_answered: 12,
            sources: 1,
            ..Connections::default()
        },
        ..load()
    };
    dead.counts.ok = 0;
    dead.counts.failed.insert("net:timeout".to_owned(), 1_000);
    let verdict = judged(&dead, ModelKind::Closed);
    assert_eq!((verdict.judged, verdict.reasons), (Validity::Valid, vec![]));
    let failed = [("net:timeout".to_owned(), 1_000)].into();
    assert_eq!(unanswered(&dead), Some(Traffic::NoAnswer { failed }));
    dead.counts.failed.insert("http:503".to_owned(), 1);
    assert_eq!(judged(&dead, ModelKind::Closed).judged, Validity::Invalid, "somebody was");
    assert_eq!(unanswered(&dead), None);
}

#[test]
fn a_load_that_is_only_redirected_measured_nothing() {
    let mut moved = load();
    assert_eq!(unanswered(&moved), None);
    moved.counts.ok = 0;
    moved.counts.failed.insert("http:302".to_owned(), 60);
    let failed = [("http:302".to_owned(), 60)].into();
    assert_eq!(unanswered(&moved), Some(Traffic::AllRedirected { failed }));
    moved.counts.failed.insert("http:500".to_owned(), 1);
    assert_eq!(unanswered(&moved), None, "it is the app's failure");
}

#[test]
fn connections_that_failed_otherwise_do_not_count_as_starved_by_others() {
    let mut load = LoadRecord {
        connections: Connections {
            opened: 16,
            never_answered: 2,
            sources: 1,
            ..Connections::default()
        },
        ..load()
    };
    load.counts.failed.insert("net:reset".to_owned(), 2_000);
    let failure = Some(Failure { kind: "net:reset".to_owned(), requests: 2_000 });
    let starved = Traffic::Starved { connections: 2, opened: 16, failure };
    assert_eq!(judged(&load, ModelKind::Closed).reasons, [starved.into()]);
}

#[test]
fn kept_connections_that_the_runtime_closes_during_a_request_are_noted() {
    let mut load = load();
    load.counts.failed.insert("net:cut-short".to_owned(), 3);
    assert_eq!(judged(&load, ModelKind::Closed).notes, [], "it had begun to answer");
    (0..3).for_each(|_| load.connections.kept.closed(Nanos(0), 1_000));
    let verdict = judged(&load, ModelKind::Closed);
    assert_eq!(verdict.judged, Validity::Valid);
    let limit = Some(KeptLimit::Answers { answers: 1_000 });
    assert_eq!(verdict.notes, [Traffic::ConnectionsClosed { requests: 3, limit }.into()]);
}

#[test]
fn more_than_one_local_address_is_noted() {
    let mut load = load();
    load.connections.sources = 3;
    let verdict = judged(&load, OPEN);
    assert_eq!(verdict.judged, Validity::Valid);
    assert_eq!(verdict.notes, [Machine::PortsExhausted { addresses: 3 }.into()]);
}

#[test]
fn a_busy_generator_is_a_note_in_the_closed_model_and_a_suspicion_in_the_open_one() {
    let busy = LoadRecord { busy_share_max: 0.97, ..load() };
    assert_eq!(judged(&busy, OPEN).judged, Validity::Suspect);
    let closed = judged(&busy, ModelKind::Closed);
    assert_eq!(closed.judged, Validity::Valid);
    let limit = Generator::Limit { rate_per_s: 100.0, busy_share: 0.97 };
    assert_eq!(closed.notes, [limit.into()]);
    let short = LoadRecord { lasted_ns: 500_000, ..busy };
    assert!(judged(&short, ModelKind::Closed).notes.is_empty(), "busy with beginning");
}

#[test]
fn a_wrong_ratio_by_littles_law_makes_a_trial_suspect() {
    let off = LoadRecord { littles_law_ratio: 1.06, ..load() };
    assert_eq!(judged(&off, OPEN).judged, Validity::Suspect);
    let told = LoadRecord { in_flight_mean: Some(5.0), littles_law_ratio: 1.25, ..load() };
    let text = judged(&told, OPEN).reasons[0].sentence();
    assert_eq!(
        text,
        "stampede's own counts do not agree: 5.00 requests in flight on average, 4.00 expected by Little's law; this is a bug of stampede: please report it"
    );
    let few = LoadRecord { counts: Counts { started: 99, ..off.counts.clone() }, ..off };
    assert_eq!(judged(&few, ModelKind::Closed).reasons, []);
}

#[test]
fn steal_throttling_and_a_slow_clock_make_it_suspect() {
    let mut sample = ResourceSample { interval_ns: 1_000_000_000, ..Default::default() };
    sample.host.steal_ns = 30_000_000;
    sample.throttled_ns = 5_000_000;
    let load = load();
    let verdict = judge(&Evidence {
        resources: &[sample],
        clock_source: "hpet",
        died: &[Server::ProcessEnded {
            role: "php".into(),
            signal: Some(11),
            exit_code: None,
            is_before_load: false,
        }],
        ..evidence(&load, OPEN)
    });
    assert_eq!(verdict.judged, Validity::Suspect);
    assert_eq!(verdict.reasons.len(), 4, "{:?}", verdict.reasons);
}

/// Stops by the quota of the stack's own budget are what the plan asks for; those by a quota of
/// others are not.
#[test]
fn only_throttling_that_the_plan_does_not_ask_for_makes_it_suspect() {
    let verdict_of = |throttled_ns, budget_throttled_ns| {
        let sample = ResourceSample {
            interval_ns: 1_000_000_000,
            throttled_ns,
            budget_throttled_ns,
            ..ResourceSample::default()
        };
        let load = load();
        judge(&Evidence { resources: &[sample], ..evidence(&load, OPEN) })
    };
    assert_eq!(verdict_of(0, 500_000_000).judged, Validity::Valid);
    let both = verdict_of(5_000_000, 500_000_000);
    assert_eq!(both.judged, Validity::Suspect);
    let reason: Fact<Reason> = Machine::Throttled { throttled_ns: 5_000_000 }.into();
    assert_eq!(both.reasons, [reason]);
}

/// Judges an observed change: from what was observed, through `changed`, to the verdict.
fn after_load(change: impl Fn(&mut ObservedState)) -> Verdict {
    let observed = ObservedState {
        answer_sha256: "a".into(),
        isolated: true,
        workers: 4,
        ..ObservedState::default()
    };
    let given = RequestedSetup { workers: 4, ..RequestedSetup::default() };
    let before = ObservedRuntime { name: "a".into(), given, observed, body_bytes_mean: None };
    let mut after = before.clone();
    change(&mut after.observed);
    let changed = changed_between(&before, &after);
    let changed: Vec<Judgement> =
        changed.into_iter().map(|(judged, reason)| (judged, reason.into())).collect();
    judge(&Evidence { changed: &changed, ..evidence(&load(), OPEN) })
}

#[test]
fn an_answer_that_changed_under_load_is_invalid_and_all_reasons_are_listed() {
    let verdict = after_load(|after| {
        after.answer_sha256 = "b".into();
        after.workers = 3;
    });
    assert_eq!(verdict.judged, Validity::Invalid);
    assert_eq!(verdict.reasons.len(), 2, "{verdict:?}");
}

#[test]
fn what_else_changed_under_load_makes_it_suspect() {
    assert_eq!(after_load(|_| {}).judged, Validity::Valid);
    let verdict = after_load(|after| after.isolated = false);
    assert_eq!(verdict.judged, Validity::Suspect);
    let difference = Mismatch::NotIsolated { leaks: vec![] };
    assert_eq!(verdict.reasons, [Server::Changed { difference }.into()]);
}
