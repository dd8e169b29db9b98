//! Determines whether two runs have the same machine, app and limits, by comparing the
//! circumstances of each run name by name.

use std::collections::BTreeMap;

use stampede_model::machine::MachineFacts;
use stampede_model::record::{
    CaseRecord, ObservedState, SentRecord, Starts, TrialRecord, Validity,
};
use stampede_model::words;

use super::model::Difference;
use crate::summary::RunData;

/// Maps the name of a circumstance to its value, both as people read them.
type Facts = BTreeMap<String, String>;

/// The circumstances in which two runs differ: first those of the machines, then those of the
/// cases, each with the runtimes that it applies to. `cases` are the indices of a case in both
/// runs.
pub fn differences(base: &RunData, other: &RunData, cases: &[(usize, usize)]) -> Vec<Difference> {
    let mut all = unlike(&of_machine(base), &of_machine(other));
    all.extend(unlike(&of_run(base), &of_run(other)));
    let mut of_cases: Vec<Difference> = Vec::new();
    for &(a, b) in cases {
        let runtime = &other.record.cases[b].runtime;
        let [mut of_base, mut of_other] = [of_case(base, a), of_case(other, b)];
        if let (Some(a), Some(b)) = (sent(base, a), sent(other, b)) {
            of_base.extend(a);
            of_other.extend(b);
        }
        for found in unlike(&of_base, &of_other) {
            let same = |one: &&mut Difference| {
                (&one.what, &one.base, &one.other) == (&found.what, &found.base, &found.other)
            };
            match of_cases.iter_mut().find(same) {
                Some(known) if known.of.contains(runtime) => {}
                Some(known) => known.of.push(runtime.clone()),
                None => of_cases.push(Difference { of: vec![runtime.clone()], ..found }),
            }
        }
    }
    all.append(&mut of_cases);
    all
}

/// The runtimes whose app gave another answer than before: its code or its data changed.
pub fn answers_otherwise(base: &RunData, other: &RunData, cases: &[(usize, usize)]) -> Vec<String> {
    let answer = |run, case| shown(run, case).map(|shown| shown.answer_sha256.clone());
    let mut runtimes: Vec<String> = Vec::new();
    for &(a, b) in cases {
        let runtime = &other.record.cases[b].runtime;
        let both = answer(base, a).zip(answer(other, b));
        if both.is_some_and(|(a, b)| a != b) && !runtimes.contains(runtime) {
            runtimes.push(runtime.clone());
        }
    }
    runtimes
}

fn unlike(base: &Facts, other: &Facts) -> Vec<Difference> {
    let names = base.keys().chain(other.keys().filter(|name| !base.contains_key(*name)));
    let of = |facts: &Facts, name: &String| facts.get(name).cloned().unwrap_or_default();
    names
        .map(|name| Difference {
            what: name.clone(),
            of: Vec::new(),
            base: of(base, name),
            other: of(other, name),
        })
        .filter(|one| one.base != one.other)
        .collect()
}

fn of_machine(run: &RunData) -> Facts {
    let facts: MachineFacts =
        serde_json::from_value(run.record.machine.clone()).unwrap_or_default();
    let none = || "none".to_owned();
    named([
        ("CPU", facts.cpu_model),
        ("CPUs of the machine", facts.cpus_logical.to_string()),
        ("memory of the machine", words::bytes(facts.memory_bytes as f64)),
        ("kernel", facts.kernel),
        ("virtual machine", facts.virtual_machine.unwrap_or_else(none)),
        ("container", facts.container.unwrap_or_else(none)),
    ])
}

fn of_run(run: &RunData) -> Facts {
    let starts = match run.record.starts {
        Starts::PerLoad => "one for each load",
        Starts::PerRound => "one for all loads of a round",
    };
    named([("starts of a runtime", starts.to_owned())])
}

/// The circumstances of the first trial that counts, or else of the first trial. All trials of a
/// case are started in the same way.
fn of_case(run: &RunData, case: usize) -> Facts {
    let CaseRecord { app, load_text, .. } = &run.record.cases[case];
    let mut facts = named([("app", app.clone()), ("load", load_text.clone())]);
    let Some(record) = trial(run, case) else { return facts };
    let memory = match record.isolation.memory_bytes {
        0 => "no limit".to_owned(),
        bytes => words::bytes(bytes as f64),
    };
    facts.extend(named([
        ("CPUs of the budget", record.budget_cpus.to_string()),
        ("memory of the budget", memory),
        ("budget", if record.budget_unequal { "unequal" } else { "shared" }.to_owned()),
    ]));
    if let Some(load) = &record.load {
        facts.extend(named([
            ("timeout", words::time(load.timeout_ns as f64)),
            ("connections", if load.keep_alive { "kept" } else { "one a request" }.to_owned()),
            ("client", load.client.clone()),
        ]));
    }
    let runtime = &record.runtime;
    let versions = runtime.versions.iter();
    facts.extend(versions.map(|(program, version)| (program.clone(), version.clone())));
    let settings = runtime.settings.iter();
    facts.extend(settings.map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (format!("setting {name}"), value)
    }));
    if let Some(shown) = shown(run, case) {
        facts.extend(of_php(shown));
    }
    facts
}

/// The app's kind and the requests. `None`: the run's record is too old to contain them.
fn sent(run: &RunData, case: usize) -> Option<Facts> {
    let SentRecord { app_kind, requests, arrivals } = run.record.cases[case].sent.clone()?;
    let arrivals = arrivals.map_or_else(String::new, |spread| spread.to_string());
    Some(named([("app's kind", app_kind), ("requests", requests), ("arrivals", arrivals)]))
}

fn of_php(shown: &ObservedState) -> Facts {
    let on = |on: bool| if on { "on" } else { "off" }.to_owned();
    let mut facts = named([
        ("PHP", shown.php_version.clone()),
        ("OPcache", on(shown.opcache)),
        ("JIT", on(shown.jit)),
        ("thread-safe PHP", on(shown.thread_safe)),
    ]);
    let extensions = shown.extensions.iter();
    facts.extend(extensions.map(|name| (format!("extension {name}"), "loaded".to_owned())));
    let ini = shown.ini.iter();
    facts.extend(ini.map(|(key, value)| (format!("php.ini {key}"), value.clone())));
    facts
}

fn named<const N: usize>(facts: [(&str, String); N]) -> Facts {
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn trial(run: &RunData, case: usize) -> Option<&TrialRecord> {
    let of_case = || run.trials.iter().map(|one| &one.record).filter(|one| one.case == case);
    let counted = of_case().find(|record| record.verdict.judged != Validity::Invalid);
    counted.or_else(|| of_case().next())
}

fn shown(run: &RunData, case: usize) -> Option<&ObservedState> {
    trial(run, case)?.runtime.before.as_ref()
}
