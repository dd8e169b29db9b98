//! What held each case back, in a line.

use super::notes::Weight;
use crate::summary::model::CaseSummary;
use crate::summary::why::Why;
use crate::summary::words;

/// A note for each case that was measured; those of which nothing is known share one.
pub fn about(cases: &[&CaseSummary], add: &mut impl FnMut(Weight, String)) {
    let mut unknown = Vec::new();
    for case in cases.iter().filter(|case| was_sent_to(case)) {
        match line(case) {
            Some(line) => add(Weight::Plain, format!("why {}: {line}", case.runtime)),
            None => unknown.push(case.runtime.clone()),
        }
    }
    if !unknown.is_empty() {
        add(Weight::Plain, format!("why {}: not known", words::list(&unknown)));
    }
}

/// The most direct reason, and what else holds; `None`: not known.
pub fn line(case: &CaseSummary) -> Option<String> {
    let (first, others) = case.why.split_first()?;
    let others: Vec<String> = others.iter().map(|one| said(case, one)).collect();
    let also =
        if others.is_empty() { String::new() } else { format!("; also {}", others.join("; ")) };
    Some(said(case, first) + &also)
}

/// In words, in brackets the first of its evidence that adds to them, and how many trials have it.
fn said(case: &CaseSummary, why: &Why) -> String {
    let (of, all) = (why.trials.len(), case.trials.len());
    // Of what a log says on several lines the first one tells which it is.
    let proof = why
        .proof
        .as_deref()
        .and_then(|one| one.lines().next())
        .map(|one| words::cut(one, MOST_LETTERS));
    let trials = (of < all).then(|| format!("in {of} of {all} trials"));
    let brackets: Vec<String> = proof.into_iter().chain(trials).collect();
    match brackets.as_slice() {
        [] => why.text.clone(),
        some => format!("{} ({})", why.text, some.join("; ")),
    }
}

/// A log's line may be any length; the page has all of it.
const MOST_LETTERS: usize = 160;

fn was_sent_to(case: &CaseSummary) -> bool {
    case.trials.iter().any(|trial| trial.counts.planned > 0)
}
