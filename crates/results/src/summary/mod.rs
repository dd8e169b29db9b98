//! Computes the summary of a run from its files. The computation is pure: it reads no clock and no
//! file, so the same files give the same page a year later.

use stampede_model::fact::{Fact, Notice};
pub mod agents;
pub mod breaking;
mod case;
mod comparable;
mod compared;
pub mod cost;
pub mod diff;
pub mod exhausted;
mod group;
pub(crate) mod headline;
pub mod in_flight;
pub mod input;
pub mod judge;
mod judged;
pub mod kept_up;
pub mod model;
pub mod narrow;
pub mod over_time;
pub mod overlay;
pub mod pages;
pub mod price;
mod published;
pub mod steady;
mod trial;
pub mod why;

pub use input::{RunData, TrialData};
pub use model::Summary;
pub use trial::of_load;

/// Computes a run's summary and judges its expectations. Trials that are not on disk, as in a run
/// that ended early, count as missing, not as an error.
pub fn summarize(run: &RunData) -> Summary {
    let record = &run.record;
    let mut cases: Vec<_> =
        (0..record.cases.len()).map(|index| case::summarize(run, index)).collect();
    let mut groups = group::of(record);
    groups.iter().for_each(|group| comparable::mark(&mut cases, group, run));
    let mut sorted = Vec::with_capacity(cases.len());
    for group in &mut groups {
        let own = cases.extract_if(.., |case| case.app == group.app && case.load == group.load);
        let (mut noise, mut own): (Vec<_>, Vec<_>) = own.partition(|case| case.is_noise);
        group::compare(group, &mut own, record.baseline.as_deref());
        group.sentence = headline::of(group, &own, record.rounds);
        sorted.append(&mut own);
        sorted.append(&mut noise);
    }
    let looks = record.auto.iter().flat_map(|auto| auto.looks.last());
    let auto = looks.map(|look| Notice::RoundsLook { found: look.found.clone() }.into());
    let auto: Vec<Fact<Notice>> = auto.collect();
    let mut summary = Summary {
        format: model::FORMAT,
        run: record.id.clone(),
        stampede: record.stampede.clone(),
        started_at: record.started_at.clone(),
        seed: record.seed,
        rounds: record.rounds,
        notices: [record.notices.clone(), auto].concat(),
        auto: record.auto.clone(),
        groups,
        cases: sorted,
        published: None,
    };
    summary.published = published::beside(&summary, run);
    diff::judge_within(&mut summary, run);
    summary
}

impl Summary {
    /// Adapts the summary to a run that still runs: a case without a trial is still to come, not
    /// left out.
    pub fn mark_pending(&mut self) {
        let is_missing = |case: &model::CaseSummary| case.verdict == model::CaseVerdict::Missing;
        for case in self.cases.iter_mut().filter(|case| is_missing(case)) {
            case.reasons
                .iter_mut()
                .for_each(|one| one.text = "no trial of it has ended yet".into());
        }
        for group in &mut self.groups {
            let own =
                |case: &&model::CaseSummary| (&case.app, &case.load) == (&group.app, &group.load);
            if self.cases.iter().filter(own).all(|case| case.trials.is_empty()) {
                group.sentence = "Nothing is measured yet.".to_owned();
            }
        }
    }

    /// Whether an expectation does not hold, or cannot be shown to hold in a case that was measured
    /// (too few requests for its percentile). If so, the exit code is 1. An expectation about
    /// another run (`worse`) does not count when unknown: one run cannot answer it.
    pub fn breaks_an_expectation(&self) -> bool {
        self.cases.iter().any(|case| {
            let measured = case.trials_counted > 0;
            case.expectations.iter().any(|judged| match judged.outcome {
                model::ExpectedOutcome::Met => false,
                model::ExpectedOutcome::NotMet { .. } => true,
                model::ExpectedOutcome::Unknown { .. } => {
                    measured && !judged.is_about_another_run()
                }
            })
        })
    }
}
