//! What held each case back, in a line.

use std::collections::BTreeSet;

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
    let proof = why.evidence.iter().find(|one| adds(one, &why.text));
    // Of what a log says on several lines the first one tells which it is.
    let proof = proof.and_then(|one| one.lines().next()).map(|one| words::cut(one, MOST_LETTERS));
    let trials = (of < all).then(|| format!("in {of} of {all} trials"));
    let brackets: Vec<String> = proof.into_iter().chain(trials).collect();
    match brackets.as_slice() {
        [] => why.text.clone(),
        some => format!("{} ({})", why.text, some.join("; ")),
    }
}

/// Whether it has a number, or else words, that the reason has not. A log's line that the reason
/// quotes adds nothing by how often it is there.
fn adds(evidence: &str, reason: &str) -> bool {
    let is_quoted = evidence.split_once(": ").is_some_and(|(_, line)| reason.contains(line));
    let numbers = |text: &str| -> BTreeSet<String> {
        let parts = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let parts = parts.map(|part| part.trim_matches('.').to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    };
    let (new, old) = (numbers(evidence), numbers(reason));
    !is_quoted
        && match new.is_empty() {
            true => !reason.contains(evidence),
            false => !new.is_subset(&old),
        }
}

/// A log's line may be any length; the page has all of it.
const MOST_LETTERS: usize = 160;

fn was_sent_to(case: &CaseSummary) -> bool {
    case.trials.iter().any(|trial| trial.counts.planned > 0)
}

#[cfg(test)]
mod tests {
    use super::adds;

    #[test]
    fn evidence_is_repeated_only_where_it_adds_to_the_reason() {
        let cases = [
            ("php: 97 % of the budget", "CPU-bound: the stack used 98 % of its CPU", true),
            ("busiest load thread: 96 % of its CPU", "the generator: … was 96 % busy", false),
            ("63.1 MiB of 64.0 MiB in use at most", "memory: … its limit of 64.0 MiB", true),
            (
                "nginx's log, 38 times: 111: refused",
                "502 40 times: nginx said: 111: refused",
                false,
            ),
            ("nginx's log, 38 times: no live upstreams", "502 40 times: nginx said: 111", true),
            ("opcache.enable=0", "OPcache is off: every request compiles its files anew", true),
            ("its queue was full", "backlog: its queue was full", false),
        ];
        for (evidence, reason, more) in cases {
            assert_eq!(adds(evidence, reason), more, "{evidence} | {reason}");
        }
    }
}
