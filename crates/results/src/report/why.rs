//! Describes what limited each case, in one line.

use stampede_model::words;

use super::notes::Importance;
use crate::summary::model::CaseSummary;
use crate::summary::why::LimitingCause;

/// Adds a note for each case that was measured. Cases without a known cause share one note.
pub fn about(cases: &[&CaseSummary], add: &mut impl FnMut(Importance, String)) {
    let mut unknown = Vec::new();
    for case in cases.iter().filter(|case| was_sent_to(case)) {
        match line(case) {
            Some(line) => add(Importance::Plain, format!("limit of {}: {line}", case.runtime)),
            None => unknown.push(case.runtime.clone()),
        }
    }
    if !unknown.is_empty() {
        add(Importance::Plain, format!("limit of {}: not known", words::list(&unknown)));
    }
}

/// The most direct cause, followed by the other causes. `None`: not known.
pub fn line(case: &CaseSummary) -> Option<String> {
    let (first, others) = case.why.split_first()?;
    let others: Vec<String> = others.iter().map(|one| cause_text(case, one)).collect();
    let also =
        if others.is_empty() { String::new() } else { format!("; also {}", others.join("; ")) };
    Some(cause_text(case, first) + &also)
}

/// A cause in words. In brackets follow the first evidence that says more than the text, and the
/// number of trials with this cause.
fn cause_text(case: &CaseSummary, why: &LimitingCause) -> String {
    let (of, all) = (why.trials.len(), case.trials.len());
    // The first line is enough to recognise an entry of a log that spans several lines.
    let proof = why
        .proof
        .as_deref()
        .and_then(|one| one.lines().next())
        .map(|one| words::cut(one, MOST_LETTERS));
    let trials = (of < all).then(|| format!("in {of} of {all} trials"));
    let brackets: Vec<String> = proof.into_iter().chain(trials).collect();
    match brackets.as_slice() {
        [] => why.found.to_string(),
        some => format!("{} ({})", why.found, some.join("; ")),
    }
}

/// A log line may have any length. The page shows all of it.
const MOST_LETTERS: usize = 160;

fn was_sent_to(case: &CaseSummary) -> bool {
    case.trials.iter().any(|trial| trial.counts.planned > 0)
}
