//! Reads the runs of a directory and computes their rows, as `report` does for one run.

use std::path::Path;

use stampede_model::machine::MachineFacts;
use stampede_model::record::RunRecord;
use stampede_results::history::{self, Entry, State};
use stampede_results::store::{self, StoreError};
use stampede_results::summary::diff::Measure;
use stampede_results::summary::model::{CaseSummary, Group};
use stampede_results::summary::{self, RunData, Summary};

use super::changed;
use super::model::{CaseOfRun, FigureOfRun, History, ListedRun};
use super::series;

/// A run whose rows cannot be shown.
#[derive(Debug)]
pub struct Unread {
    /// The run's name.
    pub run: String,
    /// Why.
    pub error: StoreError,
}

/// Reads the newest runs, `limit` at most. A run whose trials cannot be read stays in the list
/// without rows, and is returned with the reason.
pub fn read(results: &Path, limit: usize) -> (History, Vec<Unread>) {
    let mut entries = history::of(results);
    entries.truncate(limit);
    let mut unread = Vec::new();
    let mut runs = Vec::with_capacity(entries.len());
    for entry in entries {
        let run = match entry.state {
            State::Ended | State::CutOff => listed(results, &entry).unwrap_or_else(|error| {
                unread.push(Unread { run: entry.name.clone(), error });
                bare(entry)
            }),
            State::UnderWay | State::Unreadable => bare(entry),
        };
        runs.push(run);
    }
    let mut history = History { series: series::of(&runs), runs };
    changed::mark(results, &mut history);
    (history, unread)
}

fn bare(entry: Entry) -> ListedRun {
    let (stampede, machine) = (String::new(), String::new());
    let (commit, changed_files) = (None, None);
    ListedRun { entry, stampede, commit, changed_files, machine, cases: Vec::new() }
}

fn listed(results: &Path, entry: &Entry) -> Result<ListedRun, StoreError> {
    let stored = store::read_run(&results.join(&entry.name))?;
    let data = RunData::read(&stored)?;
    let summary = summary::summarize(&data);
    let (commit, changed_files) = working_tree(&data.record);
    Ok(ListedRun {
        entry: entry.clone(),
        stampede: data.record.stampede.clone(),
        commit,
        changed_files,
        machine: machine(&data.record),
        cases: cases(&summary, &data.record),
    })
}

/// The commit, and how many files differed from it, which only a run with another version knows.
/// Earlier runs also recorded the commit only there.
fn working_tree(record: &RunRecord) -> (Option<String>, Option<u32>) {
    let own = record.working_tree.as_ref().map(|tree| tree.commit.clone());
    let against = record.against.as_ref().filter(|against| !against.head.is_empty());
    let commit = own.or_else(|| against.map(|against| against.head.clone()));
    (commit, against.map(|against| against.changed))
}

fn machine(record: &RunRecord) -> String {
    let facts: MachineFacts = serde_json::from_value(record.machine.clone()).unwrap_or_default();
    match facts.cpus_logical {
        0 => String::new(),
        cpus => format!("{cpus} × {}", facts.cpu_model),
    }
}

fn cases(summary: &Summary, record: &RunRecord) -> Vec<CaseOfRun> {
    let of_group = |group: &Group| -> Vec<CaseOfRun> {
        summary.cases_of(group).map(|case| of_case(summary, record, group, case)).collect()
    };
    summary.groups.iter().flat_map(of_group).collect()
}

fn of_case(summary: &Summary, record: &RunRecord, group: &Group, case: &CaseSummary) -> CaseOfRun {
    let control = changed::control(summary, record, case);
    let figure = |measure: Measure| FigureOfRun {
        figure: measure.name(),
        measure,
        value: measure.in_figures(&case.figures, case.model),
        to_control: control.and_then(|control| changed::ratio(measure, case, control)),
        change: None,
    };
    let sent = record
        .cases
        .iter()
        .find(|one| (&one.runtime, &one.app, &one.load) == (&case.runtime, &case.app, &case.load));
    CaseOfRun {
        runtime: case.runtime.clone(),
        app: case.app.clone(),
        load: case.load.clone(),
        load_text: group.load_text.clone(),
        requests: sent
            .and_then(|one| Some(one.sent.as_ref()?.requests.clone()))
            .unwrap_or_default(),
        model: case.model,
        verdict: case.verdict,
        trials_counted: case.trials_counted,
        is_control: changed::is_control(record, case),
        control: control.map(|control| [control.runtime.clone(), control.app.clone()]),
        figures: match case.trials_counted {
            0 => Vec::new(),
            _ => Measure::SHOWN.map(figure).to_vec(),
        },
    }
}
