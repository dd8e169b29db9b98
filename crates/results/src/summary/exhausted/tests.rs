//! Tests with computed figures: what is exhausted, and where nothing may be claimed.

use std::collections::BTreeMap;

use stampede_model::record::{LoadRecord, ProviderKind, SecondRecord, TrialRecord};
use stampede_model::sample::{ListenerSample, RoleSample, WorkersSample};

use super::*;
use crate::summary::RunData;

const SECOND: u64 = 1_000_000_000;

fn run() -> RunRecord {
    serde_json::from_str(include_str!("../../../tests/runs/format-2/run.json")).expect("a run")
}

fn record() -> TrialRecord {
    let text = include_str!("../../../tests/runs/format-2/trials/003-x/trial.json");
    serde_json::from_str(text).expect("a trial")
}

/// Ten seconds of a closed load with a concurrency of 10, on four workers. PHP uses one of the
/// stack's two CPUs and nginx a fifth of one. Everything was read.
fn trial() -> TrialData {
    let mut record = record();
    record.budget_cpus = CpuCount::whole(2);
    record.runtime.given.workers = 4;
    record.isolation.memory_bytes = 1 << 30;
    record.isolation.cpus_by_role = [("php", vec![0, 1]), ("web", vec![0, 1])]
        .map(|(role, cpus)| (role.to_owned(), cpus))
        .into();
    let load = record.load.as_mut().expect("a load");
    (load.in_flight_max, load.scheduled_ns) = (10, 10 * SECOND);
    let seconds = (0..10).map(|second| SecondRecord {
        second,
        counts: Default::default(),
        in_flight_max: 10,
        busy_ns: 0,
    });
    TrialData {
        record,
        times: None,
        seconds: seconds.collect(),
        answered: vec![],
        service: vec![],
        resources: (1..=10).map(row).collect(),
    }
}

fn row(second: u64) -> ResourceSample {
    let listener = ListenerSample { backlog: 511, ..ListenerSample::default() };
    ResourceSample {
        at_ns: second * SECOND,
        interval_ns: SECOND,
        roles: BTreeMap::from([
            ("php".to_owned(), role(1.0, Some(0.3))),
            ("web".to_owned(), role(0.2, Some(0.1))),
        ]),
        workers: Some(WorkersSample { busy: vec![2; 5], running: vec![1; 5] }),
        listeners: BTreeMap::from([("127.0.0.1:80".to_owned(), listener)]),
        ..ResourceSample::default()
    }
}

/// A role with the CPUs that it used, and the use of its busiest thread.
fn role(cpus: f64, thread: Option<f64>) -> RoleSample {
    RoleSample {
        cpu_ns: (cpus * 1e9) as u64,
        memory_bytes: 100 << 20,
        memory_read: true,
        thread_cpu_ns_max: thread.map(|share| (share * 1e9) as u64),
        ..RoleSample::default()
    }
}

fn found(change: impl Fn(&mut TrialData)) -> Option<Vec<Exhausted>> {
    let mut trial = trial();
    change(&mut trial);
    of_trial(&trial, LoadModel::Closed, &run())
}

fn every(trial: &mut TrialData, change: impl Fn(&mut ResourceSample)) {
    trial.resources.iter_mut().for_each(change);
}

fn set(trial: &mut TrialData, name: &str, one: RoleSample) {
    every(trial, |row| {
        row.roles.insert(name.to_owned(), one.clone());
    });
}

fn load(trial: &mut TrialData) -> &mut LoadRecord {
    trial.record.load.as_mut().expect("a load")
}

#[test]
fn nothing_is_exhausted_if_everything_was_observed_and_had_room() {
    assert_eq!(found(|_| {}), Some(vec![]));
    assert_eq!(
        of_trial(&trial(), LoadModel::Open, &run()),
        None,
        "a load that does not ask for all"
    );
}

#[test]
fn an_unobserved_resource_may_have_been_the_limit() {
    type Change = fn(&mut TrialData);
    let unseen: [(&str, Change); 11] = [
        ("no load", |trial| trial.record.load = None),
        ("nothing was watched", |trial| trial.resources.clear()),
        ("one reading", |trial| trial.resources.truncate(1)),
        ("no look at the workers", |trial| every(trial, |row| row.workers = None)),
        ("workers unknown", |trial| trial.record.runtime.given.workers = 0),
        ("no look at the queues", |trial| every(trial, |row| row.listeners.clear())),
        ("memory not read", |trial| {
            every(trial, |row| row.roles.values_mut().for_each(|role| role.memory_bytes = 0));
        }),
        ("a thread of 1 CPU may be full", |trial| set(trial, "php", role(1.0, None))),
        ("no room was left", |trial| set(trial, "php", role(1.5, Some(0.4)))),
        ("other programs may have had its CPUs", |trial| {
            every(trial, |row| row.host.cpu_busy_ns = 1_700_000_000);
        }),
        ("it was already running", |trial| {
            trial.record.runtime.given.provider = ProviderKind::External;
        }),
    ];
    for (why, change) in unseen {
        assert_eq!(found(change), None, "{why}");
    }
    // The load has a CPU of its own, which does not count.
    let load_alone = |trial: &mut TrialData| {
        every(trial, |row| {
            (row.host.cpu_busy_ns, row.own.cpu_ns) = (2_200_000_000, 1_000_000_000);
        });
    };
    assert_eq!(found(load_alone), Some(vec![]));
    // If a role used less than one CPU, none of its threads used a whole one.
    assert_eq!(found(|trial| set(trial, "php", role(0.7, None))), Some(vec![]));
    let lost = |trial: &mut TrialData| {
        load(trial).counts.failed.insert("http:503".to_owned(), 1);
    };
    assert_eq!(found(lost), None, "somebody was turned away");
}

#[test]
fn a_database_that_nobody_watches_may_have_been_the_limit() {
    let mut run = run();
    run.notices.push(Notice::OwnDatabase { at: "db.test".to_owned() }.into());
    assert_eq!(of_trial(&trial(), LoadModel::Closed, &run), None);
    let mut shared = self::run();
    shared.notices.push(Notice::CpusShared {}.into());
    assert_eq!(of_trial(&trial(), LoadModel::Closed, &shared), None, "the load had its CPUs too");
    // A database that may sync to a disk, while the wait for disks is not known.
    let beside = |trial: &mut TrialData| {
        set(trial, "database", role(0.1, Some(0.1)));
        let cpus = &mut trial.record.isolation.cpus_by_role;
        cpus.insert("database".to_owned(), vec![2]);
    };
    assert_eq!(found(beside), None);
    let with_disk = |waited: u64| {
        found(|trial| {
            beside(trial);
            every(trial, |row| row.host.pressure_some_ns = [("io".to_owned(), waited)].into());
        })
    };
    assert_eq!(with_disk(SECOND / 20), Some(vec![]));
    assert_eq!(with_disk(SECOND / 5), None);
}

#[test]
fn a_full_budget_a_full_role_and_a_full_database() {
    let cpu = |share| Exhausted::Cpu { share, cpus: CpuCount::whole(2) };
    assert_eq!(found(|trial| set(trial, "php", role(1.7, None))), Some(vec![cpu(0.95)]));
    let split = |trial: &mut TrialData| {
        let cpus = &mut trial.record.isolation.cpus_by_role;
        cpus.insert("php".to_owned(), vec![0]);
        cpus.insert("web".to_owned(), vec![1]);
    };
    let of_role =
        Exhausted::RoleCpu { role: "php".to_owned(), share: 1.0, cpus: CpuCount::whole(1) };
    assert_eq!(found(split), Some(vec![of_role]));
    // The database on a CPU of its own.
    let beside = found(|trial| {
        set(trial, "database", role(0.95, None));
        trial.record.isolation.cpus_by_role.insert("database".to_owned(), vec![2]);
    });
    assert_eq!(beside, Some(vec![Exhausted::Database { share: 0.95, cpus: CpuCount::whole(1) }]));
    // The database on the stack's CPUs: it used 1.5 of 2.0 CPUs.
    let shared = |database: f64, php: f64| {
        found(|trial| {
            set(trial, "database", role(database, None));
            set(trial, "php", role(php, None));
            trial.record.isolation.cpus_by_role.insert("database".to_owned(), vec![0, 1]);
        })
    };
    let database = Exhausted::Database { share: 0.75, cpus: CpuCount::whole(2) };
    assert_eq!(shared(1.5, 0.3), Some(vec![database, cpu(1.0)]));
    assert_eq!(shared(0.5, 1.3), Some(vec![cpu(1.0)]), "PHP took most of it");
}

/// PHP uses 1.0 and nginx 0.2 CPUs: all of a quota of 1.25, which stands on two CPUs.
#[test]
fn a_fraction_of_a_cpu_is_full_when_its_quota_is() {
    let (quota, whole) = (CpuCount::of_thousandths(1_250), CpuCount::whole(1));
    let full = found(|trial| trial.record.budget_cpus = quota);
    assert_eq!(full, Some(vec![Exhausted::Cpu { share: 0.96, cpus: quota }]));
    let throttled = found(|trial| {
        trial.record.budget_cpus = quota;
        every(trial, |row| row.budget_throttled_ns = SECOND / 2);
    });
    let of_quota = Exhausted::Quota { share: 0.25 };
    assert_eq!(throttled, Some(vec![of_quota, Exhausted::Cpu { share: 0.96, cpus: quota }]));
    // The quota is not that of a database on a CPU of its own.
    let beside = found(|trial| {
        trial.record.budget_cpus = CpuCount::of_thousandths(1_900);
        set(trial, "database", role(0.95, None));
        trial.record.isolation.cpus_by_role.insert("database".to_owned(), vec![2]);
    });
    assert_eq!(beside, Some(vec![Exhausted::Database { share: 0.95, cpus: whole }]));
}

#[test]
fn an_older_result_does_not_know_the_cpus_of_each_role() {
    let full = |change: fn(&mut TrialData)| {
        found(|trial| {
            trial.record.isolation.cpus_by_role.clear();
            set(trial, "php", role(1.7, None));
            change(trial);
        })
    };
    assert_eq!(full(|_| {}), Some(vec![Exhausted::Cpu { share: 0.95, cpus: CpuCount::whole(2) }]));
    assert_eq!(full(|trial| trial.record.budget_unequal = true), None);
    let beside = |trial: &mut TrialData| {
        set(trial, "database", role(0.1, None));
        trial.record.runtime.settings.insert("database_cpus".to_owned(), "beside".into());
    };
    assert_eq!(full(beside), None);
}

#[test]
fn workers_and_threads() {
    let all_busy = |trial: &mut TrialData| {
        every(trial, |row| {
            row.workers = Some(WorkersSample { busy: vec![4, 4, 4, 4, 3], running: vec![1; 5] });
        });
    };
    assert_eq!(found(all_busy), Some(vec![Exhausted::Workers { workers: 4, share: 0.8 }]));
    // A concurrency as high as the number of workers: more requests would wait.
    let four = found(|trial| {
        all_busy(trial);
        load(trial).in_flight_max = 4;
    });
    assert_eq!(four, Some(vec![Exhausted::Workers { workers: 4, share: 0.8 }]));
    let web = found(|trial| {
        set(trial, "web", role(0.96, Some(0.95)));
        set(trial, "php", role(0.6, Some(0.2)));
    });
    let thread = Exhausted::Thread { role: "web".to_owned(), share: 0.95 };
    assert_eq!(web, Some(vec![thread]));
    // One of four workers is busy: the others have time.
    assert_eq!(found(|trial| set(trial, "php", role(1.0, Some(0.95)))), None);
    let alone = found(|trial| {
        set(trial, "php", role(1.0, Some(0.95)));
        trial.record.runtime.given.workers = 1;
        every(trial, |row| {
            row.workers = Some(WorkersSample { busy: vec![1; 5], running: vec![1; 5] });
        });
    });
    let thread = Exhausted::Thread { role: "php".to_owned(), share: 0.95 };
    assert_eq!(alone, Some(vec![Exhausted::Workers { workers: 1, share: 1.0 }, thread]));
}

#[test]
fn generator_memory_and_queue() {
    let generator = found(|trial| {
        load(trial).busy_share_max = 0.97;
        load(trial).lasted_ns = 10 * SECOND;
    });
    assert_eq!(generator, Some(vec![Exhausted::Generator { busy_share: 0.97 }]));
    let memory = found(|trial| {
        trial.record.isolation.memory_bytes = 200 << 20;
    });
    let (used_bytes, limit_bytes) = (200 << 20, 200 << 20);
    assert_eq!(memory, Some(vec![Exhausted::Memory { used_bytes, limit_bytes, kills: 0 }]));
    let queue = found(|trial| {
        every(trial, |row| {
            row.listeners.values_mut().for_each(|one| one.queued_max = 512);
        });
    });
    let listener = "127.0.0.1:80".to_owned();
    assert_eq!(queue, Some(vec![Exhausted::ListenQueue { listener, backlog: 511, drops: 0 }]));
}

/// Trials that count, each with the resources that were exhausted in it.
fn summaries(all: &[Option<Vec<Exhausted>>]) -> Vec<TrialSummary> {
    let data = RunData { record: run(), trials: vec![trial()] };
    let record = &data.record.cases[2];
    let one = super::super::trial::summarize(&data.trials[0], (&data.record, record), None);
    all.iter()
        .map(|exhausted| TrialSummary { exhausted: exhausted.clone(), ..one.clone() })
        .collect()
}

#[test]
fn the_majority_of_trials_decides() {
    let cpu = |share| Exhausted::Cpu { share, cpus: CpuCount::whole(1) };
    let of = |all: &[Option<Vec<Exhausted>>]| over(&summaries(all));
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[Some(vec![]), Some(vec![])]), Some(vec![]));
    assert_eq!(of(&[Some(vec![]), None]), None, "one is not known");
    let most = [Some(vec![cpu(0.98)]), Some(vec![cpu(0.96)]), Some(vec![])];
    assert_eq!(of(&most), Some(vec![cpu(0.96)]), "the least of them");
    assert_eq!(of(&[Some(vec![cpu(0.98)]), Some(vec![]), Some(vec![])]), None);
}

#[test]
fn a_group_with_exhausted_resources_is_described() {
    let case = |exhausted: Option<Vec<Exhausted>>| {
        let data = RunData { record: run(), trials: vec![] };
        CaseSummary { exhausted, ..super::super::case::summarize(&data, 2) }
    };
    let cpu = |share| case(Some(vec![Exhausted::Cpu { share, cpus: CpuCount::whole(1) }]));
    let database = Exhausted::Database { share: 0.95, cpus: CpuCount::whole(1) };
    let waits = case(Some(vec![database, Exhausted::Cpu { share: 1.0, cpus: CpuCount::whole(1) }]));
    let (full, fuller) = (cpu(0.97), cpu(0.99));
    assert_eq!(least_cpu_share([&full, &fuller]), Some(0.97));
    assert_eq!(least_cpu_share([&full, &waits]), None, "one waits for its database");
    assert_eq!(least_cpu_share([&full, &case(None)]), None);
    assert_eq!(least_cpu_share([]), None);
    assert!(all_wait_for_database([&waits, &waits]));
    assert!(!all_wait_for_database([&waits, &full]));
    assert!(!all_wait_for_database([]));
    assert!(is_lower_bound(&case(Some(vec![]))));
    assert!(!is_lower_bound(&case(None)) && !is_lower_bound(&full));
    let generator = case(Some(vec![Exhausted::Generator { busy_share: 0.97 }]));
    assert_eq!(lower_bound(&generator), Some(LowerBound::Generator));
}
