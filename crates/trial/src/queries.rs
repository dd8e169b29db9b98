//! Checks that the queries which the app's answers stand for reached the database. An answer from a
//! cache would be fast, and the trial would measure something else.

use std::ops::RangeInclusive;
use std::time::Duration;

use stampede_model::counts::Counts;
use stampede_model::fact::{Queries, Traffic};
use stampede_model::record::Validity;
use stampede_plan::model::RequestSpec;
use stampede_stack::{App, CountError, Stack};
use stampede_verdict::Judgement;

use super::Subject;
use crate::causes::cause;

/// The number of queries that the database has answered so far, or why it could not be read.
/// `None`: there is no database that can be asked.
pub(super) type Count = Option<Result<u64, CountError>>;

/// Compares the growth of the database's own query count during the load with the expected number.
/// `None`: nothing can be said.
pub(super) fn judge_count(
    subject: &Subject<'_>,
    counts: &Counts,
    (before, after): (Count, Count),
    shown: Option<Vec<u64>>,
) -> Option<Judgement> {
    let expected = match shown {
        Some(each) => Some(total_queries(&each, counts)),
        None => expected(subject.app, &subject.load.requests, counts),
    }?;
    let (before, after) = match (before, after) {
        (Some(Ok(before)), Some(Ok(after))) => (before, after),
        // Nobody told stampede where the database of an external runtime is.
        (None, _) | (_, None) => return None,
        (Some(Err(error)), _) | (_, Some(Err(error))) => {
            let cause = cause(&error);
            return Some((Validity::Invalid, Traffic::QueriesUnknown { cause }.into()));
        }
    };
    let (judged, queries) = compared(&expected, after.saturating_sub(before));
    let is_none = queries.reached == 0 && judged == Validity::Invalid;
    let may_be_uncounted = is_none && may_be_sqlite(subject.app);
    Some((judged, Traffic::Queries(Queries { may_be_uncounted, ..queries }).into()))
}

/// Whether SQLite may run within the app. Then only the app itself can report that it counts
/// queries.
fn may_be_sqlite(app: &App) -> bool {
    app.manifest.database.as_ref().is_some_and(|one| one.any_of.iter().any(|it| it == "sqlite"))
}

/// Asks each request of the load once before the load, and returns the number of queries of each.
/// Used where the app states only a lower bound. `None`: the app states the number itself, or the
/// number cannot be counted beforehand.
pub(super) fn per_request(
    subject: &Subject<'_>,
    requests: &[RequestSpec],
    measured: &dyn Stack,
) -> Option<Vec<u64>> {
    let app = subject.app;
    let queries = &app.manifest.database.as_ref()?.queries;
    let is_open = |one: &RequestSpec| one.method == "GET" && queries.may_be_more(&one.path);
    if requests.len() > SHOWN_MAX || !requests.iter().all(is_open) {
        return None;
    }
    let count = |request: &RequestSpec| {
        let before = measured.queries()?.ok()?;
        measured.request_path(&request.path, &request.headers, WITHIN).ok()?;
        let asked = measured.queries()?.ok()?.saturating_sub(before);
        (asked >= queries.of(&request.path)).then_some(asked)
    };
    requests.iter().map(count).collect()
}

/// With a longer list, asking each request once would take too long.
const SHOWN_MAX: usize = 20;
/// The timeout of one answer.
const WITHIN: Duration = Duration::from_secs(30);

fn total_queries(each: &[u64], counts: &Counts) -> RangeInclusive<u64> {
    queries_in_turn(each, counts.started, counts.started.saturating_sub(counts.ok))
}

/// The expected number of queries: at least those of the correct answers, at most those of all
/// requests. A request that failed may have asked the database.
fn expected(app: &App, requests: &[RequestSpec], counts: &Counts) -> Option<RangeInclusive<u64>> {
    let queries = &app.manifest.database.as_ref()?.queries;
    let own = app.manifest.request.path.as_deref().unwrap_or("/");
    let targets: Vec<&str> = match requests.is_empty() {
        true => vec![own],
        false => requests.iter().map(|request| request.path.as_str()).collect(),
    };
    let each: Vec<u64> = targets.iter().map(|target| queries.of(target)).collect();
    let range = total_queries(&each, counts);
    let is_open = targets.iter().any(|target| queries.may_be_more(target));
    Some(if is_open { *range.start()..=u64::MAX } else { range })
}

/// The queries of `started` requests that ask `each` in turn, of which `failed` failed. Where there
/// are several requests, the load threads may be a round apart.
fn queries_in_turn(each: &[u64], started: u64, failed: u64) -> RangeInclusive<u64> {
    let round: u64 = each.iter().sum();
    let (rounds, rest) = (started / each.len() as u64, started % each.len() as u64);
    let rest: u64 = each.iter().take(rest as usize).sum();
    let all = rounds.saturating_mul(round).saturating_add(rest);
    let most = each.iter().max().copied().unwrap_or_default();
    let slack = if each.len() > 1 { round } else { 0 };
    let least = all.saturating_sub(failed.saturating_mul(most)).saturating_sub(slack);
    least..=all.saturating_add(slack)
}

fn compared(expected: &RangeInclusive<u64>, reached: u64) -> (Validity, Queries) {
    let expected_max = Some(*expected.end()).filter(|most| *most != u64::MAX);
    let queries =
        Queries { reached, expected_min: *expected.start(), expected_max, may_be_uncounted: false };
    (if queries.fits() { Validity::Valid } else { Validity::Invalid }, queries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_requests_in_turn_are_added_up() {
        assert_eq!(queries_in_turn(&[2], 100, 0), 200..=200);
        assert_eq!(queries_in_turn(&[2], 100, 3), 194..=200, "those that failed may have asked");
        assert_eq!(queries_in_turn(&[1, 20], 101, 0), 1030..=1072, "give or take a round");
    }

    #[test]
    fn a_wrong_number_of_queries_makes_a_trial_invalid() {
        let judgement_of = |range, seen| compared(&range, seen);
        assert_eq!(judgement_of(200..=200, 200).0, Validity::Valid);
        assert_eq!(
            judgement_of(200..=220, 211).0,
            Validity::Valid,
            "some failed, and some of these asked"
        );
        let (judged, text) = judgement_of(20_000..=20_000, 40);
        assert_eq!(judged, Validity::Invalid);
        insta::assert_snapshot!(text.to_string(), @"the database got 40 queries; expected 20 000");
        let open = |seen| judgement_of(200..=u64::MAX, seen);
        assert_eq!([open(199).0, open(200).0], [Validity::Invalid, Validity::Valid]);
        insta::assert_snapshot!(open(199).1, @"the database got 199 queries; expected 200 or more");
        insta::assert_snapshot!(open(340).1, @"the database got 340 queries; expected 200 or more");
        assert_eq!(
            judgement_of(200..=200, 201).0,
            Validity::Invalid,
            "somebody else asked, or it asks twice"
        );
    }
}
