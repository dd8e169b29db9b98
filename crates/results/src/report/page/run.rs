//! Describes a run: its plan, its machine, the command that repeats it, and its progress.

use std::collections::BTreeMap;

use stampede_model::fact::Notice;
use stampede_model::fact::stored::MachinePart;
use stampede_model::machine::MachineFacts;
use stampede_model::record::RunRecord;
use stampede_model::words;

use super::model::{CurrentTrial, Progress, Run, Series};
use crate::store::{RunState, StoredRun};

/// The description of a single run.
pub fn of(stored: &StoredRun) -> Run {
    let record = &stored.record;
    Run {
        label: String::new(),
        run: record.id.clone(),
        started_at: record.started_at.clone(),
        stampede: record.stampede.clone(),
        seed: record.seed,
        rounds: record.rounds,
        state: stored.state,
        runtimes: record.names_of(|case| &case.runtime),
        plan_text: record.plan_text.clone(),
        flags: record.flags.clone(),
        command: command(record),
        machine: machine(&record.machine),
    }
}

/// A notice about differences between the machines of several runs. `None`: the parts that change
/// figures are the same.
pub fn machines_differ(runs: &[&RunRecord]) -> Option<Notice> {
    let machines: Vec<BTreeMap<String, String>> =
        runs.iter().map(|run| machine(&run.machine).into_iter().collect()).collect();
    let value = |one: &BTreeMap<String, String>, part: MachinePart| one.get(part.label()).cloned();
    let differs = |part: &MachinePart| {
        machines.iter().any(|one| value(one, *part) != value(&machines[0], *part))
    };
    let what: Vec<MachinePart> = MachinePart::ALL.into_iter().filter(differs).collect();
    (!what.is_empty()).then_some(Notice::MachinesDiffer { what })
}

/// The progress of a run. `None`: it has ended. `now` is the current trial.
pub fn progress(stored: &StoredRun, now: Option<&Series>) -> Option<Progress> {
    (stored.state == RunState::UnderWay).then(|| Progress {
        ended: stored.trials.len(),
        planned: stored.record.trials(),
        under_way: now.filter(|series| series.unfinished).map(|series| CurrentTrial {
            trial: series.trial,
            case: series.case,
            seconds: (series.ok.len() as f64 * series.step) as u32,
        }),
    })
}

/// The command that repeats a run. It includes the seed, which determines the order of trials, even
/// if it was drawn at random.
fn command(record: &RunRecord) -> String {
    if !record.command.is_empty() {
        return record.command.clone();
    }
    let mut words = vec!["stampede compare".to_owned()];
    if !record.plan_text.is_empty() {
        words.push("plan.yaml".to_owned());
    }
    words.extend(record.flags.iter().cloned());
    if !record.has_flag("seed") {
        words.push(format!("--seed {}", record.seed));
    }
    words.join(" ")
}

fn machine(value: &serde_json::Value) -> Vec<(String, String)> {
    let facts: MachineFacts = serde_json::from_value(value.clone()).unwrap_or_default();
    let list = |all: Vec<String>| all.join(", ");
    let known = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows = [
        (MachinePart::Cpu.label(), facts.cpu_model.clone()),
        (
            MachinePart::Cpus.label(),
            format!("{} ({} cores)", facts.cpus_logical, facts.cpus_physical),
        ),
        (MachinePart::Memory.label(), words::bytes(facts.memory_bytes as f64)),
        ("system", facts.os.clone()),
        (MachinePart::Kernel.label(), facts.kernel.clone()),
        (MachinePart::VirtualMachine.label(), known(&facts.virtual_machine)),
        (MachinePart::Container.label(), known(&facts.container)),
        ("governor", list(facts.governors.iter().cloned().collect())),
        ("clock source", facts.clock_source.clone()),
        ("cgroup v2", list(facts.cgroup_v2_controllers.clone())),
        ("cgroup v1", list(facts.cgroup_v1_controllers.clone())),
        ("huge pages", facts.transparent_huge_pages.clone()),
        ("mitigations", list(facts.mitigations.keys().cloned().collect())),
        ("load average before", format!("{:.2}", facts.load_average_1min)),
        ("steal before", words::percent(facts.steal_share * 100.0)),
    ];
    let there = rows.into_iter().filter(|(_, value)| !value.is_empty());
    there.map(|(label, value)| (label.to_owned(), value)).collect()
}
