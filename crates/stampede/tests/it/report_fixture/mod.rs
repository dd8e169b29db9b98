//! Builds runs by hand, as they would be on disk.

use std::collections::BTreeMap;

use stampede_model::counts::{Connections, Counts, End, TimeSet};
use stampede_model::fact::Fact;
use stampede_model::record::{
    CaseRecord, Closed, LoadModel, LoadRecord, ObservedState, PhaseRecord, RunRecord,
    RuntimeRecord, TrialRecord, Validity, Verdict,
};
use stampede_model::sample::{ResourceSample, RoleSample};
use stampede_model::schedule::Segments;
use stampede_results::summary::{RunData, TrialData};
use stampede_stats::histogram::Times;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// A trial to be added. Unset fields get unremarkable values.
pub struct Requests {
    /// Response times of the ok requests, in ns; service times in a closed load.
    pub answered_ns: Vec<u64>,
    pub failed: Vec<(&'static str, u64)>,
    pub dropped: u64,
    /// One reading a second: CPU use of php and of web in CPUs, and memory of each in bytes.
    pub spent: Vec<(f64, f64, u64, u64)>,
    pub verdict: (Validity, Vec<&'static str>),
    pub notes: Vec<&'static str>,
    pub scheduled_ns: u64,
    pub ok_inside: Option<u64>,
    pub busy_share_max: f64,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            answered_ns: Vec::new(),
            failed: Vec::new(),
            dropped: 0,
            spent: vec![(0.5, 0.1, 64 << 20, 8 << 20); 10],
            verdict: (Validity::Valid, Vec::new()),
            notes: Vec::new(),
            scheduled_ns: 10 * SECOND,
            ok_inside: None,
            busy_share_max: 0.2,
        }
    }
}

/// `count` times around `middle_ns`: half of them rise to it in even steps. The rest rise to ten
/// times as much, and the longest are the rarest.
pub fn spread(count: u64, middle_ns: u64) -> Vec<u64> {
    (1..=count)
        .map(|i| {
            let share = i as f64 / count as f64;
            let factor = if share <= 0.5 {
                0.8 + 0.4 * share
            } else {
                1.0 + 9.0 * (2.0 * share - 1.0).powi(6)
            };
            (middle_ns as f64 * factor) as u64
        })
        .collect()
}

pub fn times(ns: &[u64]) -> Times {
    let mut times = Times::new();
    ns.iter().for_each(|ns| times.record(*ns));
    times
}

pub fn case(runtime: &str, load: &str, model: &str, load_text: &str) -> CaseRecord {
    CaseRecord {
        runtime: runtime.to_owned(),
        app: "hello".to_owned(),
        load: load.to_owned(),
        model: if model == "closed" { LoadModel::Closed } else { LoadModel::Open },
        load_text: load_text.to_owned(),
        schedule: Segments::parse(load_text).ok(),
        closed: Closed::parse(load_text),
        refused: None,
        sent: None,
    }
}

/// A run with these cases: `rounds` rounds of all cases that are not refused, in the given order.
pub fn run(cases: Vec<CaseRecord>, rounds: u32) -> RunData {
    let round: Vec<usize> = (0..cases.len()).filter(|i| cases[*i].refused.is_none()).collect();
    RunData {
        record: RunRecord {
            plan_text: String::new(),
            flags: Vec::new(),
            seed: 42,
            rounds,
            cases,
            order: (0..rounds).map(|_| round.clone()).collect(),
            expect: Default::default(),
            machine: serde_json::Value::Null,
            notices: Vec::new(),
            ..RunRecord::empty(
                "2026-11-21-0352".to_owned(),
                "0.1.0".to_owned(),
                "2026-11-21T03:52:00+00:00".to_owned(),
            )
        },
        trials: Vec::new(),
    }
}

pub fn observed() -> ObservedState {
    ObservedState {
        php_version: "8.2.29".to_owned(),
        extensions: vec!["json".to_owned()],
        opcache: true,
        isolated: true,
        workers: 4,
        answer_sha256: "abc".to_owned(),
        ..ObservedState::default()
    }
}

/// Adds the next trial of a case.
pub fn add(run: &mut RunData, case: usize, requests: Requests) -> &mut TrialData {
    let closed = run.record.cases[case].model == LoadModel::Closed;
    let number = run.trials.len() as u32 + 1;
    let round = run.trials.iter().filter(|trial| trial.record.case == case).count() as u32 + 1;
    let response_time = if closed { Times::new() } else { times(&requests.answered_ns) };
    let set = TimeSet {
        response_time_without_lag: response_time.clone(),
        response_time,
        lower_bound: Times::new(),
        service_time: times(&requests.answered_ns),
        connection_wait: if closed {
            Times::new()
        } else {
            times(&vec![0; requests.answered_ns.len()])
        },
        schedule_lag: times(&vec![40_000; requests.answered_ns.len()]),
    };
    let record = record(number, round, case, &requests);
    let resources = requests.spent.iter().zip(1..).map(|(spent, second)| sample(second, *spent));
    run.trials.push(TrialData {
        record,
        times: Some(set),
        seconds: Vec::new(),
        answered: Vec::new(),
        service: Vec::new(),
        resources: resources.collect(),
    });
    run.trials.last_mut().expect("one was just pushed")
}

fn record(number: u32, round: u32, case: usize, requests: &Requests) -> TrialRecord {
    TrialRecord {
        format: 1,
        number,
        continues: None,
        round,
        case,
        started_at: "2026-11-21T03:52:00+00:00".to_owned(),
        // Two and a half seconds more than the load.
        phases: vec![PhaseRecord {
            phase: "measure".to_owned(),
            begin_ns: 0,
            end_ns: requests.scheduled_ns + 2_500 * MS,
        }],
        load: Some(load(requests)),
        runtime: RuntimeRecord {
            title: "A runtime".to_owned(),
            mode: "per-request".to_owned(),
            first_answer_ns: 250 * MS,
            before: Some(observed()),
            ..RuntimeRecord::default()
        },
        isolation: stampede_model::isolation::IsolationRecord {
            memory_bytes: 1 << 30,
            ..Default::default()
        },
        budget_cpus: stampede_model::cpus::CpuCount::whole(1),
        budget_unequal: false,
        exits: Vec::new(),
        verdict: Verdict {
            judged: requests.verdict.0,
            reasons: requests.verdict.1.iter().map(|text| Fact::bare(text.to_string())).collect(),
            notes: requests.notes.iter().map(|text| Fact::bare(text.to_string())).collect(),
        },
    }
}

fn load(requests: &Requests) -> LoadRecord {
    let ok = requests.answered_ns.len() as u64;
    let failed: BTreeMap<String, u64> =
        requests.failed.iter().map(|(kind, count)| (kind.to_string(), *count)).collect();
    let started = ok + failed.values().sum::<u64>();
    LoadRecord {
        counts: Counts {
            planned: started + requests.dropped,
            started,
            ok,
            failed,
            dropped: requests.dropped,
            bytes_sent: started * 100,
            bytes_received: ok * 1_024,
            answer_bytes: ok * 1_024,
            body_bytes: ok * 900,
        },
        scheduled_ns: requests.scheduled_ns,
        lasted_ns: requests.scheduled_ns,
        ok_inside: requests.ok_inside.unwrap_or(ok),
        in_flight_max: 4,
        in_flight_mean: Some(2.0),
        littles_law_ratio: 1.0,
        connections: Connections {
            opened: 4,
            never_answered: 0,
            sources: 1,
            ..Connections::default()
        },
        busy_share_max: requests.busy_share_max,
        stretched: 1.0,
        schedule_lag_ns_p99: 40_000,
        lag_marks: Vec::new(),
        clipped: 0,
        timeout_ns: 11 * SECOND,
        keep_alive: true,
        client: "stampede".to_owned(),
        end: End::Complete,
        agents: Vec::new(),
    }
}

fn sample(second: u64, (php, web, php_memory, web_memory): (f64, f64, u64, u64)) -> ResourceSample {
    let role = |share: f64, memory_bytes| RoleSample {
        cpu_ns: (share * 1e9) as u64,
        memory_bytes,
        memory_read: true,
        processes: 4,
        context_switches: 1_000,
        ..RoleSample::default()
    };
    let roles =
        [("php".to_owned(), role(php, php_memory)), ("web".to_owned(), role(web, web_memory))];
    ResourceSample {
        at_ns: second * SECOND,
        interval_ns: SECOND,
        roles: roles.into_iter().collect(),
        ..ResourceSample::default()
    }
}

/// Three runtimes, five rounds, an open load. The second is 24 % slower, the third loses requests.
pub fn open() -> RunData {
    let named = |runtime| case(runtime, "day", "open", "const(200,10s)");
    let mut run = run(vec![named("apache-modphp"), named("nginx-fpm"), named("php-builtin")], 5);
    run.record.baseline = Some("nginx-fpm".to_owned());
    for round in 0..5 {
        let drift = 30_000 * round;
        add(
            &mut run,
            0,
            Requests { answered_ns: spread(2_000, 2_480_000 + 2 * drift), ..Requests::default() },
        );
        add(
            &mut run,
            1,
            Requests { answered_ns: spread(2_000, 2_000_000 + drift), ..Requests::default() },
        );
        let lost = vec![("net:timeout", 12), ("http:502", 3)];
        let answered_ns = spread(1_980, 9_000_000 + 20 * drift);
        add(&mut run, 2, Requests { answered_ns, failed: lost, dropped: 5, ..Requests::default() });
    }
    run
}

/// One round with everything that can go wrong.
pub fn troubled() -> RunData {
    let named = |runtime| case(runtime, "day", "open", "const(200,10s)");
    let mut cases = vec![
        named("nginx-fpm"),
        named("nginx-fpm-with-a-very-long-name jit=tracing"),
        named("apache-modphp"),
        named("php-builtin"),
        named("roadrunner"),
        named("=cmd|' /C calc'!A0"),
        named("frankenphp-worker"),
    ];
    cases[2].refused = Some(Fact::bare(
        "4 workers are held by 16 connections: use keep_alive: off, or 16 workers".to_owned(),
    ));
    let mut run = run(cases, 1);
    run.record.notices.push(Fact::bare(
        "keep-alive is off for all runtimes: apache-modphp holds a worker per connection"
            .to_owned(),
    ));
    add(&mut run, 0, Requests { answered_ns: spread(2_000, 2_000_000), ..Requests::default() });
    let suspect = (Validity::Suspect, vec!["busiest load thread 85 % busy"]);
    let long = add(
        &mut run,
        1,
        Requests {
            answered_ns: spread(2_000, 2_100_000),
            verdict: suspect,
            spent: vec![],
            ..Requests::default()
        },
    );
    long.record.budget_unequal = true;
    if let Some(before) = &mut long.record.runtime.before {
        before.php_version = "8.4.13".to_owned();
    }
    add(&mut run, 3, Requests { failed: vec![("net:refused", 2_000)], ..Requests::default() });
    let invalid = (Validity::Invalid, vec!["p99 schedule lag 12.3 ms, more than 1 ms"]);
    add(
        &mut run,
        4,
        Requests { answered_ns: spread(2_000, 1_000_000), verdict: invalid, ..Requests::default() },
    );
    let half = vec![("net:timeout", 150)];
    add(
        &mut run,
        5,
        Requests { answered_ns: spread(1_850, 3_000_000), failed: half, ..Requests::default() },
    );
    run
}

/// A closed load with two rounds.
pub fn closed() -> RunData {
    let named =
        |runtime| case(runtime, "4 at a time 10s", "closed", "4 at a time, no pause, for 10 s");
    let mut run = run(vec![named("php-builtin"), named("nginx-fpm")], 2);
    run.record.baseline = Some("nginx-fpm".to_owned());
    for round in 0..2 {
        add(
            &mut run,
            0,
            Requests { answered_ns: spread(8_000 + 100 * round, 4 * MS), ..Requests::default() },
        );
        let fast =
            Requests { answered_ns: spread(20_000 + 300 * round, 2 * MS), ..Requests::default() };
        add(&mut run, 1, fast);
    }
    run
}

/// Five runtimes, three rounds, a fixed rate and the peak: one runtime is far ahead, one slower,
/// one too close to call, one fails.
pub fn steady_and_peak() -> RunData {
    let kinds = [
        ("nginx-fpm", 2_600_000, 4_560),
        ("frankenphp-worker", 930_000, 13_300),
        ("apache-modphp", 2_450_000, 4_620),
        ("caddy-fpm", 3_000_000, 3_880),
        ("roadrunner", 1_200_000, 10_500),
    ];
    let steady = |name: &str| case(name, "steady", "open", "const(200,10s)");
    let peak = |name: &str| case(name, "peak", "closed", "8 at a time, no pause, for 10 s");
    let cases: Vec<CaseRecord> = kinds
        .iter()
        .map(|kind| steady(kind.0))
        .chain(kinds.iter().map(|kind| peak(kind.0)))
        .collect();
    let mut run = run(cases, 3);
    run.record.baseline = Some("nginx-fpm".to_owned());
    for round in 0..3 {
        for (index, (_, ns, answers)) in kinds.iter().enumerate() {
            // Rounds differ by about one per cent, differently for each runtime.
            let moved = 1.0 + [0.0, 0.01, -0.008][(round + index) % 3];
            let at = |value: u64| (value as f64 * moved) as u64;
            add(
                &mut run,
                index,
                Requests { answered_ns: spread(2_000, at(*ns)), ..Requests::default() },
            );
            let failed = if index == 3 { vec![("http:502", answers * 3 / 97)] } else { Vec::new() };
            let answered_ns = spread(at(*answers), 8 * 10 * SECOND / answers);
            let spent = vec![(0.9, 0.08, (30 + index as u64) << 20, 8 << 20); 10];
            let index = kinds.len() + index;
            add(&mut run, index, Requests { answered_ns, failed, spent, ..Requests::default() });
        }
    }
    run
}
