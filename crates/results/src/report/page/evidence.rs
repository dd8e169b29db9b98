//! Collects the evidence for readers who want to check the figures. It shows how each runtime was
//! started, what was observed, and what every verdict is based on.

use std::collections::BTreeMap;

use stampede_model::cpus::CpuCount;
use stampede_model::failure;
use stampede_model::isolation::IsolationRecord;
use stampede_model::machine::MachineFacts;
use stampede_model::record::{
    ContainerLimits, ContainerRecord, LoadRecord, ObservedState, RunRecord, SecondRecord,
    TrialRecord,
};
use stampede_model::sample::ResourceSample;
use stampede_model::words;

use super::super::evidence as words_of;
use super::case_of;
use super::model::{CaseEvidence, Evidence, ObservedEvidence, RuntimeEvidence, TrialEvidence};
use crate::store::{StoredRun, StoredTrial};
use crate::summary::agents::AgentFigures;
use crate::summary::in_flight::InFlight;
use crate::summary::{RunData, Summary, TrialData};

/// The evidence of a run.
pub fn of_run(stored: &StoredRun, data: &RunData, summary: &Summary) -> Evidence {
    let trials = stored.trials.iter().zip(&data.trials);
    Evidence {
        runtimes: runtimes(data),
        cases: cases(summary),
        trials: trials
            .map(|(trial, read)| of_trial(trial, read, &stored.record, summary))
            .collect(),
    }
}

/// The evidence of the cases with a trial that counts.
fn cases(summary: &Summary) -> Vec<CaseEvidence> {
    let measured = summary.cases.iter().enumerate().filter(|(_, case)| case.trials_counted > 0);
    let of = |(case, one)| {
        let figures = words_of::of_case(one).into_iter();
        CaseEvidence {
            case,
            figures: figures.map(|(what, known)| (what.to_owned(), known)).collect(),
        }
    };
    measured.map(of).collect()
}

/// The evidence of each runtime, from its first trial that started. A trial with observations is
/// preferred.
fn runtimes(data: &RunData) -> Vec<RuntimeEvidence> {
    let names = data.record.names_of(|case| &case.runtime);
    let of = |name: &String| {
        let own = || {
            data.trials.iter().map(|trial| &trial.record).filter(|record| {
                let case = data.record.cases.get(record.case);
                case.is_some_and(|case| case.runtime == *name) && !record.runtime.title.is_empty()
            })
        };
        let record =
            own().find(|record| record.runtime.before.is_some()).or_else(|| own().next())?;
        Some(of_runtime(name, record))
    };
    names.iter().filter_map(of).collect()
}

fn of_runtime(name: &str, record: &TrialRecord) -> RuntimeEvidence {
    let runtime = &record.runtime;
    RuntimeEvidence {
        run: 0,
        name: name.to_owned(),
        title: runtime.title.clone(),
        mode: runtime.mode.clone(),
        versions: runtime.versions.clone(),
        settings: runtime.settings.clone(),
        commands: runtime.commands.clone(),
        files: runtime.files.clone().into_iter().collect(),
        observed: runtime.before.as_ref().map(observed),
        isolation: isolation(&record.isolation)
            .into_iter()
            .chain(runtime.containers.iter().map(effective))
            .collect(),
    }
}

fn observed(seen: &ObservedState) -> ObservedEvidence {
    ObservedEvidence {
        php_version: seen.php_version.clone(),
        sapi: seen.sapi.clone(),
        thread_safe: seen.thread_safe,
        opcache: seen.opcache,
        jit: seen.jit,
        workers: seen.workers,
        extensions: seen.extensions.clone(),
        ini: seen.ini.clone(),
        notices: seen.notices.clone(),
    }
}

fn isolation(record: &IsolationRecord) -> Vec<(String, String)> {
    let cpus: Vec<String> = record.cpus.iter().map(ToString::to_string).collect();
    let memory = match record.memory_bytes {
        0 => String::new(),
        bytes => format!(", {}", words::bytes(bytes as f64)),
    };
    let cpus = if cpus.is_empty() { String::new() } else { format!(", CPU {}", cpus.join(", ")) };
    [
        ("CPU set", format!("{}{cpus}", record.cpu_set)),
        ("memory limit", format!("{}{memory}", record.memory_limit)),
        ("ended by", record.process_group.clone()),
        ("CPU and memory read from", record.accounting.clone()),
    ]
    .map(|(label, value)| (label.to_owned(), value))
    .into()
}

/// How what programs inside a container find differs from what is in force; empty: it does not.
fn seen_inside(container: &ContainerRecord, inside: ContainerLimits) -> String {
    let quota = inside.cpu_quota_thousandths.map(CpuCount::of_thousandths);
    let quota = quota.map_or("no CPU quota".to_owned(), CpuCount::in_words);
    let memory = match inside.memory_bytes {
        0 => "no memory limit".to_owned(),
        bytes => words::bytes(bytes as f64),
    };
    let others = [
        (inside.cpu_quota_thousandths != container.cpu_quota_thousandths).then_some(quota),
        (inside.memory_bytes != container.memory_limit_bytes).then_some(memory),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    if others.is_empty() { String::new() } else { format!(" (seen inside: {})", others.join(", ")) }
}

/// What a container may really use, as the kernel shows it for its main process.
fn effective(container: &ContainerRecord) -> (String, String) {
    let quota = container.cpu_quota_thousandths.map(CpuCount::of_thousandths);
    let parts = [
        Some(format!("CPU {}", container.cpus_allowed)).filter(|text| text != "CPU "),
        quota.map(CpuCount::in_words),
        (container.memory_limit_bytes > 0)
            .then(|| words::bytes(container.memory_limit_bytes as f64)),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    let known = if known.is_empty() { "not known".to_owned() } else { known.join(", ") };
    let inside = container.inside.map(|inside| seen_inside(container, inside)).unwrap_or_default();
    let known = known + &inside;
    (format!("limits of service {}", container.service), known)
}

fn of_trial(
    trial: &StoredTrial,
    read: &TrialData,
    run: &RunRecord,
    summary: &Summary,
) -> TrialEvidence {
    let record = &read.record;
    let ms = |ns: u64| (ns as f64 / 1e5).round() / 10.0;
    let phases = record.phases.iter();
    TrialEvidence {
        run: 0,
        number: record.number,
        round: record.round,
        case: case_of(summary, run, record).map_or(-1, |index| index as i64),
        verdict: record.verdict.judged,
        reasons: record.verdict.reasons.clone(),
        notes: record.verdict.notes.clone(),
        phases: phases
            .map(|phase| (phase.phase.clone(), ms(phase.begin_ns), ms(phase.end_ns)))
            .collect(),
        figures: record.load.as_ref().map(|load| figures(load, read, run)).unwrap_or_default(),
        errors: errors(&read.seconds),
        log_lines: trial.error_lines(),
    }
}

/// The figures that a verdict is based on, in words.
fn figures(load: &LoadRecord, read: &TrialData, run: &RunRecord) -> Vec<(String, String)> {
    let sent = load.counts.started as f64 / load.counts.planned.max(1) as f64;
    let ratio =
        |value: f64| if value.is_finite() { format!("{value:.3}") } else { "—".to_owned() };
    let agents = AgentFigures::of(Some(load));
    let agents = (!agents.is_empty()).then(|| ("agents".to_owned(), words_of::agents(&agents)));
    let figures = [
        ("schedule lag p99", words::time(load.schedule_lag_ns_p99 as f64)),
        ("requests sent", words::share(sent)),
        ("busiest load thread", words::percent(load.busy_share_max * 100.0)),
        ("Little's law", ratio(load.littles_law_ratio)),
        ("in flight", InFlight::of(read).map_or_else(|| "—".to_owned(), words_of::in_flight)),
        ("in flight at most", words::count(load.in_flight_max.into())),
        ("connections opened", words::count(load.connections.opened)),
        ("connections kept from the warm-up", words::count(load.connections.from_warm_up)),
        ("connections never answered", words::count(load.connections.never_answered)),
        ("length ÷ planned", ratio(load.stretched)),
        ("CPU taken by the host (steal)", words::share(steal(&read.resources, run))),
        ("CPU used by other processes", others(&read.resources)),
        ("throttled", words::time(throttled(&read.resources) as f64)),
        ("connections", if load.keep_alive { "kept" } else { "one a request" }.to_owned()),
        ("client", load.client.clone()),
    ]
    .map(|(label, value)| (label.to_owned(), value));
    figures.into_iter().chain(agents).collect()
}

/// The share of the allowed CPUs' time that neither the stack nor stampede used, in words.
fn others(samples: &[ResourceSample]) -> String {
    let cpus = |one: &ResourceSample| one.host.allowed.map_or(0, |allowed| u64::from(allowed.cpus));
    let time: u64 = samples.iter().map(|one| one.interval_ns * cpus(one)).sum();
    let used: u64 = samples.iter().map(ResourceSample::others_cpu_ns).sum();
    if time > 0 { words::share(used as f64 / time as f64) } else { "—".to_owned() }
}

/// The share of the machine's CPU time that its host took away.
fn steal(samples: &[ResourceSample], run: &RunRecord) -> f64 {
    let facts: MachineFacts = serde_json::from_value(run.machine.clone()).unwrap_or_default();
    let cpus = f64::from(facts.cpus_logical.max(1));
    let taken: u64 = samples.iter().map(|sample| sample.host.steal_ns).sum();
    let time: u64 = samples.iter().map(|sample| sample.interval_ns).sum();
    taken as f64 / (time.max(1) as f64 * cpus)
}

/// The time in ns for which CPU quotas stopped the stack's processes, the budget's own among them.
fn throttled(samples: &[ResourceSample]) -> u64 {
    samples.iter().map(|sample| sample.throttled_ns + sample.budget_throttled_ns).sum()
}

/// The kinds of failure, each with its meaning, its count and its seconds.
fn errors(seconds: &[SecondRecord]) -> Vec<(String, String)> {
    let mut kinds: BTreeMap<&str, (u64, u32, u32)> = BTreeMap::new();
    for second in seconds {
        for (kind, count) in second.counts.failed.iter().filter(|(_, count)| **count > 0) {
            let entry = kinds.entry(kind).or_insert((0, second.second, second.second));
            entry.0 += count;
            entry.2 = second.second;
        }
    }
    let lines = kinds.into_iter().map(|(kind, (count, first, last))| {
        let when = if first == last {
            format!("in second {first}")
        } else {
            format!("in seconds {first} to {last}")
        };
        let meaning =
            failure::meaning(kind).map_or(String::new(), |meaning| format!("{meaning}; "));
        (kind.to_owned(), format!("{meaning}{} {when}", words::count(count)))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_container_sees_is_named_where_it_is_not_what_is_in_force() {
        let (quota, memory) = (Some(500), 512 << 20);
        let inside = |cpu_quota_thousandths, memory_bytes| {
            let container = ContainerRecord {
                service: "web".to_owned(),
                cpus_allowed: "0-1".to_owned(),
                cpu_quota_thousandths: quota,
                memory_limit_bytes: memory,
                inside: Some(ContainerLimits { cpu_quota_thousandths, memory_bytes }),
                ..ContainerRecord::default()
            };
            effective(&container).1
        };
        let in_force = inside(quota, memory);
        assert!(in_force.ends_with("512 MiB"), "{in_force}");
        assert_eq!(inside(quota, 0), format!("{in_force} (seen inside: no memory limit)"));
        let none = inside(None, 0);
        assert_eq!(none, format!("{in_force} (seen inside: no CPU quota, no memory limit)"));
        let less = inside(Some(250), memory);
        assert!(less.starts_with(&in_force) && less.contains("0.25"), "{less}");
    }
}
