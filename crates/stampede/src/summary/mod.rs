//! Summary: what is on disk, computed. Pure: no clock, no file, the same page a year later.

mod cell;
mod comparable;
mod group;
pub mod input;
pub mod judge;
pub mod model;
mod sentence;
mod trial;
pub mod words;

use crate::plan::model::Expectation;

pub use input::{RunData, TrialData};
pub use model::Summary;

/// Computes a run. Trials that are not there (a run that was ended early) are missing,
/// not wrong.
pub fn summarize(run: &RunData) -> Summary {
    let record = &run.record;
    let mut cells: Vec<_> =
        (0..record.cells.len()).map(|index| cell::summarize(run, index)).collect();
    comparable::mark(&mut cells, run);
    let mut groups = group::of(record);
    let mut sorted = Vec::with_capacity(cells.len());
    for group in &mut groups {
        let mut own: Vec<_> =
            cells.extract_if(.., |cell| cell.app == group.app && cell.load == group.load).collect();
        group::compare(group, &mut own);
        group.sentence = sentence::of(group, &own);
        sorted.append(&mut own);
    }
    Summary {
        format: model::FORMAT,
        run: record.id.clone(),
        stampede: record.stampede.clone(),
        started_at: record.started_at.clone(),
        seed: record.seed,
        rounds: record.rounds,
        notices: record.notices.clone(),
        groups,
        cells: sorted,
    }
}

impl Summary {
    /// Judges expectations for the cells of one load, or of all (`None`), and notes the
    /// outcome in the cells. A cell that was refused or never measured is `Unknown`.
    pub fn expect(&mut self, load: Option<&str>, expectations: &[Expectation]) {
        let cells = self.cells.iter_mut().filter(|cell| load.is_none_or(|load| cell.load == load));
        for cell in cells {
            for expectation in expectations {
                let outcome = judge::judge(cell, expectation);
                let text = expectation.text.clone();
                cell.expectations.push(model::Judged { text, outcome });
            }
        }
    }

    /// Whether an expectation was found not to hold: exit code 1.
    pub fn breaks_an_expectation(&self) -> bool {
        let mut all = self.cells.iter().flat_map(|cell| &cell.expectations);
        all.any(|judged| matches!(judged.outcome, model::Expected::NotMet { .. }))
    }
}
