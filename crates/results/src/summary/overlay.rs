//! Overlays several runs: one summary in which each runtime carries the letter of its run.
//!
//! Nothing is compared between runs, because they were measured at different times and in separate
//! rounds. The sentences of each run are kept as they are.

use std::collections::BTreeMap;

use stampede_model::fact::stored::Identity;
use stampede_model::fact::{Fact, Notice};

use super::group;
use super::model::{CaseSummary, FORMAT, Group, Summary};

/// Several runs as one summary.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// The summary of all runs. Groups are merged by app and load, and nothing is compared.
    pub summary: Summary,
    /// Maps a runtime's name in the summary to its original name and the index of its run.
    pub names: BTreeMap<String, (String, usize)>,
    /// For each run and each of its cases: the index of the case in the summary.
    pub cases: Vec<Vec<usize>>,
}

/// A run's letter: `A` for the first.
pub fn label(run: usize) -> String {
    char::from(b'A' + (run % MOST_RUNS) as u8).to_string()
}

/// The most runs: there are no more letters.
pub const MOST_RUNS: usize = 26;

/// Lays runs over each other, in the order given.
pub fn overlay(runs: &[&Summary]) -> Overlay {
    let mut all = OverlayBuilder::default();
    all.notices.push(Notice::BetweenRuns { compared: false }.into());
    for (run, summary) in runs.iter().enumerate() {
        all.notices.push(about(run, summary));
        let of_run = |notice| Notice::of_run(label(run), notice).into();
        all.notices.extend(summary.notices.iter().map(of_run));
        for group in &summary.groups {
            all.add(run, group, summary);
        }
    }
    all.finish(runs)
}

#[derive(Default)]
struct OverlayBuilder {
    notices: Vec<Fact<Notice>>,
    groups: Vec<Group>,
    /// For each group, its cases with their run and their index in that run.
    cases: Vec<Vec<(usize, usize, CaseSummary)>>,
    names: BTreeMap<String, (String, usize)>,
}

impl OverlayBuilder {
    fn add(&mut self, run: usize, group: &Group, summary: &Summary) {
        let place = self.place(run, group);
        let combined = &mut self.groups[place].sentence;
        let before = if combined.is_empty() { "" } else { "\n" };
        combined.push_str(&format!("{before}{}: {}", label(run), group.sentence));
        let load = self.groups[place].load.clone();
        for (index, case) in summary.cases.iter().enumerate() {
            if (&case.app, &case.load) != (&group.app, &group.load) {
                continue;
            }
            let name = format!("{} ({})", case.runtime, label(run));
            self.names.insert(name.clone(), (case.runtime.clone(), run));
            let case = CaseSummary { runtime: name, load: load.clone(), ..case.clone() };
            self.cases[place].push((run, index, case));
        }
    }

    /// The index of the merged group for the same app and load. A load of the same name that
    /// differs, or may differ, gets its run's letter.
    fn place(&mut self, run: usize, group: &Group) -> usize {
        let is_it = |other: &Group| {
            (&other.app, &other.shape, other.model) == (&group.app, &group.shape, group.model)
                && group.shape.is_some()
                && (other.load == group.load || other.load == labelled(&group.load, run))
        };
        if let Some(place) = self.groups.iter().position(is_it) {
            return place;
        }
        let taken =
            self.groups.iter().any(|other| (&other.app, &other.load) == (&group.app, &group.load));
        let load = if taken { labelled(&group.load, run) } else { group.load.clone() };
        self.groups.push(Group {
            load,
            sentence: String::new(),
            baseline: None,
            comparisons: Vec::new(),
            ..group.clone()
        });
        self.cases.push(Vec::new());
        self.groups.len() - 1
    }

    fn finish(mut self, runs: &[&Summary]) -> Overlay {
        let mut places: Vec<Vec<usize>> = runs.iter().map(|run| vec![0; run.cases.len()]).collect();
        let mut cases = Vec::new();
        for (group, own) in self.groups.iter_mut().zip(self.cases) {
            let (order, mut sorted): (Vec<_>, Vec<_>) = own
                .into_iter()
                .map(|(run, index, case)| ((case.runtime.clone(), run, index), case))
                .unzip();
            group::sort(group, &mut sorted);
            for (name, run, index) in order {
                let at = sorted.iter().position(|case| case.runtime == name).unwrap_or(0);
                places[run][index] = cases.len() + at;
            }
            cases.append(&mut sorted);
        }
        let ids: Vec<&str> = runs.iter().map(|run| run.run.as_str()).collect();
        let summary = Summary {
            format: FORMAT,
            run: ids.join(" + "),
            stampede: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: String::new(),
            seed: 0,
            rounds: 0,
            auto: None,
            notices: self.notices,
            groups: self.groups,
            cases,
            // Tables are about one run.
            published: None,
        };
        Overlay { summary, names: self.names, cases: places }
    }
}

fn about(run: usize, summary: &Summary) -> Fact<Notice> {
    let Summary { run: id, started_at, rounds, seed, .. } = summary;
    let (id, started_at) = (id.clone(), started_at.clone());
    let measured = Some(Identity { id, started_at, rounds: *rounds, seed: *seed });
    Notice::OfRun { run: label(run), notice: None, measured }.into()
}

fn labelled(load: &str, run: usize) -> String {
    format!("{load} ({})", label(run))
}
