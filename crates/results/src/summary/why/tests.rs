//! Tests of each cause with computed figures: where its evidence is present, and where it is not.

mod server;

use std::collections::BTreeMap;

use serde_json::json;
use stampede_model::counts::{Connections, Counts, End, TimeSet};
use stampede_model::cpus::CpuCount;
use stampede_model::fact::LimitFound;
use stampede_model::isolation::IsolationRecord;
use stampede_model::lag::LagMark;
use stampede_model::record::{
    LoadRecord, LogEvidence, LogSignal, ObservedState, OpcacheState, RuntimeRecord, SecondRecord,
    TrialRecord, Validity, Verdict,
};
use stampede_model::sample::{
    ListenerSample, PoolSample, ResourceSample, RoleSample, WorkersSample,
};
use stampede_model::stat::Stat;

use super::facts::SECOND;
use super::{Cause, LimitingCause, of_case, of_trial};
use crate::summary::input::TrialData;
use crate::summary::model::LoadModel;

/// Ten seconds of a closed load with a concurrency of ten, on four workers that leave half of two
/// CPUs idle.
fn trial() -> TrialData {
    let rows = (1..=10).map(|second| row(second, 0.5, 2, 1)).collect();
    let load = LoadRecord {
        counts: Counts { planned: 1000, started: 1000, ok: 1000, ..Counts::default() },
        scheduled_ns: 10 * SECOND,
        lasted_ns: 10 * SECOND,
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
        schedule_lag_ns_p99: 0,
        lag_marks: vec![],
        clipped: 0,
        timeout_ns: 11 * SECOND,
        keep_alive: true,
        client: "stampede".to_owned(),
        end: End::Complete,
        agents: Vec::new(),
    };
    let mut runtime = RuntimeRecord::default();
    runtime.given.workers = 4;
    runtime.before = Some(ObservedState { opcache: true, ..ObservedState::default() });
    let record = TrialRecord {
        format: 1,
        number: 7,
        continues: None,
        round: 1,
        case: 0,
        started_at: String::new(),
        phases: Vec::new(),
        load: Some(load),
        runtime,
        isolation: IsolationRecord::default(),
        budget_cpus: CpuCount::whole(2),
        budget_unequal: false,
        exits: Vec::new(),
        verdict: Verdict { judged: Validity::Valid, reasons: vec![], notes: vec![] },
    };
    TrialData {
        record,
        times: None,
        seconds: seconds(&[10; 10]),
        answered: vec![],
        service: vec![],
        resources: rows,
    }
}

/// One second: PHP's share of two CPUs, and the workers busy and running in each of five samples.
fn row(second: u64, cpu: f64, busy: u32, running: u32) -> ResourceSample {
    let role = RoleSample {
        cpu_ns: (cpu * 2e9) as u64,
        memory_bytes: 100 << 20,
        memory_read: true,
        ..RoleSample::default()
    };
    ResourceSample {
        at_ns: second * SECOND,
        interval_ns: SECOND,
        roles: BTreeMap::from([("php".to_owned(), role)]),
        workers: Some(WorkersSample { busy: vec![busy; 5], running: vec![running; 5] }),
        ..ResourceSample::default()
    }
}

fn seconds(in_flight: &[u32]) -> Vec<SecondRecord> {
    let second = |(second, in_flight_max): (usize, &u32)| SecondRecord {
        second: second as u32,
        counts: Counts::default(),
        in_flight_max: *in_flight_max,
        busy_ns: 0,
    };
    in_flight.iter().enumerate().map(second).collect()
}

fn why(change: impl Fn(&mut TrialData)) -> Vec<LimitingCause> {
    why_of(LoadModel::Closed, change)
}

fn why_of(model: LoadModel, change: impl Fn(&mut TrialData)) -> Vec<LimitingCause> {
    let mut trial = trial();
    change(&mut trial);
    of_trial(&trial, model)
}

fn causes(change: impl Fn(&mut TrialData)) -> Vec<Cause> {
    why(change).into_iter().map(|one| one.cause).collect()
}

fn load(trial: &mut TrialData) -> &mut LoadRecord {
    trial.record.load.as_mut().expect("a load")
}

fn log_entry(means: LogSignal, first: &str) -> LogEvidence {
    LogEvidence { program: "nginx".to_owned(), means, lines: 31, first: first.to_owned() }
}

fn every(trial: &mut TrialData, change: impl Fn(&mut ResourceSample)) {
    trial.resources.iter_mut().for_each(change);
}

/// The text of the only cause, with ordinary spaces.
fn line(why: &[LimitingCause]) -> String {
    assert_eq!(why.len(), 1, "{why:#?}");
    why[0].found.sentence().replace(['\u{202f}', '\u{a0}'], " ")
}

#[test]
fn without_evidence_there_is_no_reason() {
    assert_eq!(why(|_| {}), []);
    assert_eq!(why(|trial| trial.record.load = None), []);
    // Nothing was watched.
    assert_eq!(why(|trial| trial.resources.clear()), []);
}

#[test]
fn a_full_budget_is_cpu_bound_and_names_the_roles() {
    let found =
        why(|trial| every(trial, |row| *row = super::tests::row(row.at_ns / SECOND, 0.97, 4, 4)));
    assert_eq!(line(&found), "CPU-bound: the stack used 97 % of its 2 CPUs");
    assert_eq!(found[0].evidence, ["php: 97 % of the budget"]);
    assert_eq!(found[0].proof, None, "one role, so the text says it");
    assert_eq!(found[0].trials, [7]);
    let just_below = causes(|trial| {
        every(trial, |row| *row = super::tests::row(row.at_ns / SECOND, 0.89, 3, 1))
    });
    assert_eq!(just_below, []);
}

#[test]
fn workers_that_wait_for_a_cpu_are_cpu_bound_too() {
    let found =
        why(|trial| every(trial, |row| *row = super::tests::row(row.at_ns / SECOND, 0.6, 4, 2)));
    assert!(line(&found).contains("always waited for a CPU and got only 60 %"), "{found:#?}");
}

#[test]
fn in_a_rising_load_only_the_seconds_under_pressure_count() {
    let rises = |trial: &mut TrialData, full: f64| {
        trial.seconds = seconds(&[1, 1, 2, 2, 3, 3, 4, 10, 10, 10]);
        trial.resources =
            (1..=10).map(|second| row(second, if second > 7 { full } else { 0.2 }, 2, 1)).collect();
    };
    assert_eq!(causes(|trial| rises(trial, 0.98)), [Cause::Cpu]);
    assert_eq!(causes(|trial| rises(trial, 0.5)), []);
}

#[test]
fn all_workers_busy_while_the_cpu_has_time_is_worker_bound() {
    let busy = |trial: &mut TrialData, busy: u32| {
        every(trial, |row| *row = super::tests::row(row.at_ns / SECOND, 0.05, busy, 0))
    };
    let found = why(|trial| {
        busy(trial, 4);
        trial.resources[3].pool =
            Some(PoolSample { active: 4, total: 4, listen_queue: 6, max_children_reached: 2 });
        let waits = ListenerSample { backlog: 4096, queued_max: 6, drops: 0 };
        trial.resources[3].listeners.insert("fpm.sock".to_owned(), waits);
        trial.record.runtime.said =
            vec![log_entry(LogSignal::WorkerLimit, "reached pm.max_children")];
    });
    assert_eq!(
        line(&found),
        "worker-bound: all 4 workers were busy, but the CPU only 5 %: try more workers"
    );
    assert_eq!(
        found[0].evidence,
        [
            "all busy in 100 % of 50 samples; 0.0 of 4 ran, the others waited inside a request",
            "at most 10 requests in flight",
            "PHP-FPM's status page: 4 of 4 processes active, 6 connections waiting",
            "`pm.max_children` was reached 2 times",
            "nginx's log, 31 times: reached pm.max_children",
            "up to 6 connections waited at fpm.sock",
        ]
    );
    assert_eq!(causes(|trial| busy(trial, 3)), [], "one was free");
    let four_users = why(|trial| {
        busy(trial, 4);
        load(trial).in_flight_max = 4;
    });
    assert_eq!(four_users[0].cause, Cause::BelowLimits, "more workers would serve nobody");
}

#[test]
fn without_worker_samples_the_status_page_is_used() {
    let active = |active: u32| {
        causes(move |trial| {
            every(trial, |row| {
                row.workers = None;
                row.pool = Some(PoolSample { active, total: 4, ..PoolSample::default() });
            })
        })
    };
    assert_eq!(active(4), [Cause::Workers]);
    assert_eq!(active(3), []);
}

#[test]
fn a_single_busy_worker_leaves_a_cpu_idle() {
    let found = why(|trial| {
        trial.record.runtime.given.workers = 1;
        every(trial, |row| *row = super::tests::row(row.at_ns / SECOND, 0.5, 1, 1));
    });
    assert_eq!(
        line(&found),
        "worker-bound: its only worker was busy, but the CPU only 50 %: try more workers"
    );
}

#[test]
fn memory_is_a_kill_or_a_full_limit() {
    fn fill(trial: &mut TrialData) {
        every(trial, |row| row.roles.get_mut("php").expect("a role").memory_bytes = 127 << 20);
    }
    let memory = |change: fn(&mut TrialData)| {
        why(move |trial| {
            trial.record.isolation.memory_bytes = 128 << 20;
            change(trial);
        })
    };
    assert_eq!(memory(|_| {}), []);
    let hits = memory(|trial| trial.resources[0].memory_limit_hits = 9);
    assert_eq!(hits, [], "page cache at the limit costs nobody a wait");
    let killed = memory(|trial| {
        trial.resources[0].memory_limit_hits = 9;
        trial.resources[4].roles.get_mut("php").expect("a role").oom_kills = 2;
    });
    let words = "memory: the kernel killed 2 processes: the stack reached its limit of 128 MiB; \
                 their requests were lost";
    assert_eq!(line(&killed), words);
    assert_eq!(
        killed[0].evidence,
        ["100 MiB of 128 MiB in use at most", "the memory limit was reached 9 times"]
    );
    let full = memory(|trial| {
        fill(trial);
        trial.resources[3].memory_limit_hits = 1;
    });
    let words = "memory: 127 MiB of 128 MiB in use, so the kernel takes pages back";
    assert_eq!(line(&full), words);
    let never_met = memory(fill);
    assert_eq!(line(&never_met), "memory: 127 MiB of 128 MiB in use, almost nothing is left");
    let waits = memory(|trial| {
        trial.resources[0].memory_limit_hits = 9;
        every(trial, |row| {
            row.host.pressure_some_ns.insert("memory".into(), SECOND / 4);
        });
    });
    assert!(line(&waits).ends_with("25 % of the time"), "{waits:#?}");
    let others_wait = memory(|trial| {
        trial.resources[0].memory_limit_hits = 9;
        every(trial, |row| {
            row.host.pressure_some_ns.insert("memory".into(), SECOND / 4);
            row.memory_stalled_ns = Some(SECOND / 100);
        });
    });
    assert_eq!(others_wait, [], "they are of another program's");
    let php = why(|trial| {
        trial.record.runtime.said =
            vec![log_entry(LogSignal::PhpMemory, "Allowed memory size of 1 bytes")];
    });
    assert_eq!(line(&php), "memory: PHP's `memory_limit` was reached 31 times");
}

#[test]
fn throttling_by_a_quota_is_reported_from_one_percent_on() {
    let throttled = |ns: u64| causes(move |trial| trial.resources[0].throttled_ns = ns);
    assert_eq!(throttled(SECOND / 10), [Cause::Throttled]);
    assert_eq!(throttled(SECOND / 11), []);
}

/// Ten seconds on 1.5 CPUs, that is on two CPUs. 100 ms of stops a second on both are 10 %.
#[test]
fn a_used_up_quota_of_the_budget_is_a_limit_with_its_share_of_the_time() {
    let of_budget = |thousandths: u32, ns_a_second: u64| {
        why(move |trial| {
            trial.record.budget_cpus = CpuCount::of_thousandths(thousandths);
            every(trial, |row| row.budget_throttled_ns = ns_a_second);
        })
    };
    let found = of_budget(1_500, SECOND / 5);
    assert_eq!(found[0].cause, Cause::Throttled);
    assert_eq!(
        line(&found),
        "CPU quota used up: the stack was throttled for 10 % of the time by its budget of 1.5 CPUs"
    );
    let causes = |found: Vec<LimitingCause>| found.iter().map(|one| one.cause).collect::<Vec<_>>();
    assert!(!causes(of_budget(1_500, SECOND / 51)).contains(&Cause::Throttled), "below 1 %");
    assert!(!causes(of_budget(2_000, SECOND / 5)).contains(&Cause::Throttled), "no quota");
}

/// The stack uses half a CPU: a quarter of two, and all of a half.
#[test]
fn the_cpu_is_full_when_the_fraction_of_the_budget_is() {
    let half = |thousandths: u32| {
        why(move |trial| {
            trial.record.budget_cpus = CpuCount::of_thousandths(thousandths);
            every(trial, |row| {
                row.roles.clear();
                let role = RoleSample { cpu_ns: SECOND / 2, ..RoleSample::default() };
                row.roles.insert("php".to_owned(), role);
            });
        })
    };
    let full = half(500);
    assert_eq!(full[0].cause, Cause::Cpu);
    assert!(line(&full).starts_with("CPU-bound: the stack used 100 % of its 0.5 CPU"), "{full:?}");
    assert!(half(2_000).iter().all(|one| one.cause != Cause::Cpu));
}

#[test]
fn answers_that_cluster_at_40_ms_on_an_idle_stack_are_nagle() {
    let at = |ms: u64, delayed: u64, (busy, running): (u32, u32), cpu: f64| {
        causes(move |trial| {
            let mut times = TimeSet::empty();
            (0..1000).for_each(|_| times.service_time.record(ms * 1_000_000));
            trial.times = Some(times);
            trial.resources = (1..=10).map(|second| row(second, cpu, busy, running)).collect();
            every(trial, |row| row.host.delayed_acks = delayed / 10);
        })
    };
    assert_eq!(at(41, 1000, (0, 0), 0.02), [Cause::Nagle]);
    assert_eq!(at(61, 1000, (0, 0), 0.02), [Cause::Nagle], "a clock that ticks rarely");
    assert_eq!(at(30, 1000, (0, 0), 0.02), [], "no timer of the kernel");
    assert_eq!(at(41, 100, (0, 0), 0.02), [], "nothing was acknowledged late");
    // 1000 answers of 41 ms in 10 s: 4.1 requests in flight.
    assert_eq!(at(41, 1000, (3, 0), 0.02), [], "workers were in it: the app takes that long");
    let taken = [Cause::Nagle, Cause::Cpu];
    assert_eq!(at(41, 1000, (3, 3), 0.02), taken, "another program took the CPU, none computed");
    assert_eq!(at(41, 1000, (0, 0), 0.6), [], "something works");
}

fn shown(change: impl Fn(&mut ObservedState)) -> Vec<LimitingCause> {
    why(|trial| {
        let on = |key: &str| (key.to_owned(), "1".to_owned());
        let mut observed = ObservedState {
            php_version: "8.2.1".to_owned(),
            sapi: "fpm-fcgi".to_owned(),
            opcache: true,
            ini: BTreeMap::from([on("opcache.enable")]),
            ..ObservedState::default()
        };
        change(&mut observed);
        trial.record.runtime.before = Some(observed);
    })
}

#[test]
fn opcache_off_full_or_revalidating() {
    let ini = |observed: &mut ObservedState, key: &str, value: &str| {
        observed.ini.insert(key.to_owned(), value.to_owned());
    };
    assert_eq!(shown(|_| {}), []);
    let off = |observed: &mut ObservedState| {
        observed.opcache = false;
        ini(observed, "opcache.enable", "0");
    };
    let found = shown(off);
    assert_eq!(
        line(&found),
        "OPcache is off: every request compiles its files anew; set `opcache.enable=1`"
    );
    assert_eq!(found[0].evidence, ["opcache.enable=0"]);
    assert_eq!(found[0].proof.as_deref(), Some("opcache.enable=0"));
    assert_eq!(shown(|observed| observed.opcache = false), [], "it may not say (restrict_api)");
    let cli = shown(|observed| {
        observed.opcache = false;
        observed.sapi = "cli-server".to_owned();
    });
    assert_eq!(cli.len(), 1, "without enable_cli");
    let worker_samples = |freq: &'static str| {
        shown(move |observed| {
            ini(observed, "opcache.validate_timestamps", "1");
            ini(observed, "opcache.revalidate_freq", freq);
        })
    };
    assert!(line(&worker_samples("0")).starts_with("OPcache looks at every file again"));
    assert_eq!(worker_samples("2"), [], "once in two seconds costs nothing");
    let state = |full, restarts| {
        let state = OpcacheState {
            full,
            used_bytes: 8 << 20,
            memory_bytes: 8 << 20,
            files: 120,
            files_max: 223,
            misses: 40,
            restarts,
        };
        shown(move |observed| observed.opcache_state = Some(state.clone()))
    };
    let words =
        "OPcache is full: 8.00 MiB of 8.00 MiB, 120 of 223 files, 0 files compiled anew under load";
    assert_eq!(line(&state(true, 3)), words);
    assert_eq!(state(false, 3), [], "what was emptied before the load has room again");
    let stays = why(|trial| {
        trial.record.runtime.given.keeps_memory = true;
        trial.record.runtime.before.as_mut().expect("shown").php_version = "8.2.1".to_owned();
        off(trial.record.runtime.before.as_mut().expect("shown"));
    });
    assert_eq!(stays, [], "a worker compiles once");
}

#[test]
fn xdebug_is_reported_unless_its_mode_is_off() {
    let mode = |mode: Option<&'static str>| {
        shown(move |observed| {
            observed.extensions = vec!["xdebug".to_owned()];
            let mode = mode.map(|mode| ("xdebug.mode".to_owned(), mode.to_owned()));
            observed.ini.extend(mode);
        })
    };
    let words = "Xdebug is loaded (`xdebug.mode=develop`) and slows every call down: unload it, or set \
                 `xdebug.mode=off`";
    assert_eq!(line(&mode(Some("develop"))), words);
    assert_eq!([mode(Some("off")), mode(Some(""))], [[], []]);
    let words = "Xdebug is loaded and slows every call down: unload it, or set `xdebug.mode=off`";
    assert_eq!(line(&mode(None)), words);
}

#[test]
fn the_generator_is_reported_for_both_models() {
    let busy = |model, share: f64| why_of(model, move |trial| load(trial).busy_share_max = share);
    assert!(
        line(&busy(LoadModel::Closed, 0.96)).starts_with("the generator: a load thread was 96 %")
    );
    assert_eq!(busy(LoadModel::Closed, 0.95), []);
    let late = why_of(LoadModel::Open, |trial| {
        load(trial).lag_marks = vec![marked(Stat::Percentile(990))];
        load(trial).schedule_lag_ns_p99 = 1_500_000;
    });
    assert_eq!(line(&late), "the generator: it was late itself, by 1.50 ms at p99");
    let of_one = why_of(LoadModel::Open, |trial| {
        load(trial).lag_marks = vec![marked(Stat::Max), marked(Stat::Percentile(999))];
    });
    assert!(of_one.iter().all(|one| one.cause != Cause::Generator), "{of_one:?}");
    let earlier = why_of(LoadModel::Open, |trial| {
        let reason = json!({"code": "generator_late", "p99_lag_ns": 1_500_000, "text": "late"});
        let reason = serde_json::from_value(reason).expect("a reason");
        trial.record.verdict.reasons.push(reason);
    });
    assert_eq!(earlier[0].cause, Cause::Generator);
}

fn marked(figure: Stat) -> LagMark {
    LagMark { figure, time_ns: 5_000_000, without_lag_ns: 3_500_000, may: false }
}

#[test]
fn an_open_load_below_all_limits_shows_its_distance_from_them() {
    let low = |change: fn(&mut TrialData)| {
        why_of(LoadModel::Open, move |trial| {
            trial.resources = (1..=10).map(|second| row(second, 0.12, 1, 1)).collect();
            change(trial);
        })
    };
    let words = "no limit was reached: CPU 12 %, 1.0 of 4 workers busy on average";
    assert_eq!(line(&low(|_| {})), words);
    let failed = low(|trial| {
        load(trial).counts.failed.insert("http:500".to_owned(), 1);
    });
    assert_eq!(failed[0].cause, Cause::App, "something was wrong with it");
}

#[test]
fn the_most_direct_cause_comes_first() {
    let found = causes(|trial| {
        every(trial, |row| *row = super::tests::row(row.at_ns / SECOND, 0.97, 4, 4));
        let before = trial.record.runtime.before.as_mut().expect("shown");
        (before.opcache, before.php_version) = (false, "8.2.1".to_owned());
        before.ini.insert("opcache.enable".to_owned(), "0".to_owned());
        load(trial).counts.failed.insert("http:502".to_owned(), 12);
        trial.record.runtime.said = vec![log_entry(LogSignal::UpstreamGone, "gone")];
    });
    assert_eq!(found, [Cause::Upstream, Cause::Opcache, Cause::Cpu]);
}

#[test]
fn causes_of_most_trials_come_first() {
    let one = |cause, number| LimitingCause {
        cause,
        trials: vec![number],
        found: LimitFound::QueueMet { requests: number.into() }.into(),
        evidence: vec![],
        proof: None,
    };
    let trials = [
        vec![one(Cause::Cpu, 1)],
        vec![one(Cause::Backlog, 2), one(Cause::Cpu, 2)],
        vec![one(Cause::Cpu, 3)],
    ];
    let case = of_case(trials.iter());
    let shown: Vec<_> =
        case.iter().map(|one| (one.cause, &one.trials[..], one.found.clone())).collect();
    let of = |number: u32| one(Cause::Cpu, number).found;
    assert_eq!(shown, [(Cause::Cpu, &[1, 2, 3][..], of(1)), (Cause::Backlog, &[2], of(2))]);
    let below = [vec![one(Cause::BelowLimits, 1)], vec![one(Cause::Cpu, 2)]];
    assert_eq!(of_case(below.iter()).len(), 1);
    assert_eq!(of_case([vec![], vec![]].iter()), []);
}
