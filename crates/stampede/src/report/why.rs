//! What held each cell back, in a line.

use super::notes::Weight;
use crate::summary::model::CellSummary;
use crate::summary::why::Why;
use crate::summary::words;

/// A note for each cell that was measured; those of which nothing is known share one.
pub fn about(cells: &[&CellSummary], add: &mut impl FnMut(Weight, String)) {
    let mut unknown = Vec::new();
    for cell in cells.iter().filter(|cell| was_fired_at(cell)) {
        match line(cell) {
            Some(line) => add(Weight::Plain, format!("why {}: {line}", cell.runtime)),
            None => unknown.push(cell.runtime.clone()),
        }
    }
    if !unknown.is_empty() {
        add(Weight::Plain, format!("why {}: not known", words::list(&unknown)));
    }
}

/// The most direct reason, and what else holds; `None`: not known.
pub fn line(cell: &CellSummary) -> Option<String> {
    let (first, others) = cell.why.split_first()?;
    let others: Vec<String> = others.iter().map(|one| said(cell, one)).collect();
    let also =
        if others.is_empty() { String::new() } else { format!("; also {}", others.join("; ")) };
    Some(said(cell, first) + &also)
}

fn said(cell: &CellSummary, why: &Why) -> String {
    let (of, all) = (why.trials.len(), cell.trials.len());
    let trials = if of < all { format!(" (in {of} of {all} trials)") } else { String::new() };
    format!("{}{trials}", why.text)
}

fn was_fired_at(cell: &CellSummary) -> bool {
    cell.trials.iter().any(|trial| trial.counts.planned > 0)
}
