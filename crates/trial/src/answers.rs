//! Judges the answers of a load beyond their counts: which requests failed first, how long the
//! bodies are, and what PHP logged.

use stampede_load::LoadResult;
use stampede_mask::{mask_foreign, mask_secrets};
use stampede_model::counts::Counts;
use stampede_model::fact::{Server, Traffic};
use stampede_model::record::Validity;
use stampede_stack::{PhpLog, PhpMessages};
use stampede_verdict::Judgement;

/// The first failed request of each kind. The kinds with the most failures come first.
pub(super) fn failures(result: &LoadResult) -> impl Iterator<Item = Judgement> {
    let count = |kind: &str| result.counts.failed.get(kind).copied().unwrap_or(0);
    let examples = result.examples.iter().filter(|example| !example.request.is_empty());
    let mut facts: Vec<(u64, Traffic)> = examples
        .map(|example| (count(&example.kind), example))
        .filter(|(requests, _)| *requests > 0)
        .map(|(requests, example)| {
            let first = mask_secrets(&example.request);
            let (kind, found) = (example.kind.clone(), mask_foreign(&example.found));
            (requests, Traffic::Failed { kind, requests, first, found })
        })
        .collect();
    facts.sort_by_key(|(requests, _)| std::cmp::Reverse(*requests));
    facts.into_iter().take(KINDS_SHOWN).map(|(_, fact)| (Validity::Valid, fact.into()))
}

/// Whether many correct answers have a body of another length than before the load: a page may say
/// with status 200 that the app is overloaded.
pub(super) fn lengths(result: &LoadResult) -> Option<Judgement> {
    let (answers, correct) = (result.unusual.answers, result.counts.ok);
    let first = result.unusual.first.as_ref()?;
    let is_much = answers as f64 > correct as f64 * UNUSUAL_SHARE;
    is_much.then(|| {
        let (first, body_bytes) = (mask_secrets(&first.request), first.body_bytes);
        let fact = Traffic::UnusualLengths { answers, correct, first, body_bytes };
        (Validity::Suspect, fact.into())
    })
}

/// Judges what PHP logged while these requests were sent. A fatal error ends one request, which may
/// be answered with status 200 all the same: its headers were sent before.
pub(super) fn php_log(log: PhpLog, counts: &Counts) -> impl Iterator<Item = Judgement> {
    let requests = counts.started.max(1);
    let fatal = log.fatal.map(|PhpMessages { count, first }| {
        let judged = match count as f64 > requests as f64 * FATAL_SHARE {
            true => Validity::Invalid,
            false => Validity::Valid,
        };
        // PHP answers such a request with status 500, unless its headers were sent before. PHP's log does
        // not name requests, so they are matched by their number.
        let failed = counts.failed.get(FAILED_BY_PHP).copied().unwrap_or(0).min(count);
        (judged, Server::PhpErrors { lines: count, failed, first }.into())
    });
    let others = log.others.map(|PhpMessages { count, first }| {
        let per_request = count as f64 / requests as f64;
        (Validity::Valid, Server::PhpMessages { messages: count, per_request, first }.into())
    });
    fatal.into_iter().chain(others)
}

/// The most kinds of failure that are named with a request.
const KINDS_SHOWN: usize = 3;
/// The share of correct answers with another length from which a trial is suspect.
const UNUSUAL_SHARE: f64 = 0.01;
/// The kind of failure of a request that PHP itself answers after a fatal error.
const FAILED_BY_PHP: &str = "http:500";
/// The share of requests that end in a fatal error, from which a trial is invalid.
const FATAL_SHARE: f64 = 0.001;

#[cfg(test)]
mod tests {
    use stampede_model::fact::{Fact, Reason};

    use super::*;

    fn counts(started: u64) -> Counts {
        Counts { started, ..Counts::default() }
    }

    fn messages(count: u64) -> Option<PhpMessages> {
        Some(PhpMessages { count, first: "PHP Fatal error: no f() in a.php:1".to_owned() })
    }

    fn judged(fatal: u64, counts: &Counts) -> Validity {
        let log = PhpLog { fatal: messages(fatal), others: None };
        php_log(log, counts).next().expect("a judgement").0
    }

    #[test]
    fn more_than_a_few_fatal_errors_make_a_trial_invalid() {
        assert_eq!(judged(10, &counts(10_000)), Validity::Valid, "0.1 %");
        assert_eq!(judged(11, &counts(10_000)), Validity::Invalid);
        assert_eq!(judged(1, &counts(10)), Validity::Invalid);
        assert_eq!(php_log(PhpLog::default(), &counts(10)).count(), 0);
    }

    #[test]
    fn errors_of_requests_that_failed_are_told_apart() {
        let failed = |lines, of_500| {
            let failed = [("http:500".to_owned(), of_500), ("http:502".to_owned(), 7)].into();
            let counts = Counts { started: 10_000, failed, ..Counts::default() };
            let log = PhpLog { fatal: messages(lines), others: None };
            match php_log(log, &counts).next().expect("a judgement").1 {
                Fact::Known(Reason::Server(Server::PhpErrors { failed, .. })) => failed,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(failed(10, 8), 8, "two were answered as if they were right");
        assert_eq!(failed(10, 30), 10, "the app answers with 500 itself, too");
        assert_eq!(failed(10, 0), 0);
    }

    #[test]
    fn messages_of_php_are_counted_for_each_request() {
        let log = PhpLog { fatal: None, others: messages(300) };
        let found: Vec<Judgement> = php_log(log, &counts(100)).collect();
        let first = "PHP Fatal error: no f() in a.php:1".to_owned();
        let fact = Server::PhpMessages { messages: 300, per_request: 3.0, first };
        assert_eq!(found, [(Validity::Valid, fact.into())]);
    }
}
