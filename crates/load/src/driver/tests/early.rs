//! Tests servers that answer or close before they have read the whole request.

use super::*;

/// One request, of whose answer half arrives: its head, but not all that its head announces. Returns
/// the number of correct answers, the failures, and the status in the request's record.
fn half_answered(
    head: &str,
    fate: RequestFate,
    unsent: bool,
) -> (u64, Vec<(String, u64)>, Option<u16>) {
    let mut case = Case { records: true, ..open(vec![ms(0)], 1) };
    case.script.answer = format!("{head}\r\n\r\n{}", "x".repeat(head.len() + 4)).into_bytes();
    case.script.requests = vec![fate];
    case.script.unsent = unsent;
    let (result, reported) = load_result_in_detail(&case);
    // A quarter of the time, the engine was busy.
    assert_eq!(result.busy_share_max, 0.25);
    let failed = failed(&result).into_iter().map(|(kind, count)| (kind.to_owned(), count));
    (result.counts.ok, failed.collect(), reported.requests[0].status)
}

/// The result of one failure.
fn lost(kind: &str, status: Option<u16>) -> (u64, Vec<(String, u64)>, Option<u16>) {
    (0, vec![(kind.to_owned(), 1)], status)
}

const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\nConnection: close";
const LONG: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1000";
const REFUSED: &str = "HTTP/1.1 413 Too Large\r\nContent-Length: 1000";
const REFUSED_UNTIL_CLOSE: &str = "HTTP/1.1 413 Too Large\r\nConnection: close";

#[test]
fn a_reset_completes_an_answer_only_while_the_request_is_being_sent() {
    let ended = |head, unsent| half_answered(head, RequestFate::ResetHalfway, unsent);
    assert_eq!(ended(UNTIL_CLOSE, true), (1, vec![], Some(200)));
    assert_eq!(ended(UNTIL_CLOSE, false), lost("net:reset", None));
    assert_eq!([ended(LONG, true), ended(LONG, false)], [(); 2].map(|()| lost("net:reset", None)));
}

#[test]
fn a_wrong_status_counts_although_its_answer_is_lost_while_the_request_is_being_sent() {
    for head in [REFUSED, REFUSED_UNTIL_CLOSE] {
        let ended = |unsent| half_answered(head, RequestFate::ResetHalfway, unsent);
        assert_eq!(ended(true), lost("http:413", Some(413)), "{head}");
        assert_eq!(ended(false), lost("net:reset", None), "{head}");
    }
    // An orderly close looks like a reset then.
    let ended = |head, unsent| half_answered(head, RequestFate::CutShort, unsent);
    assert_eq!(ended(REFUSED, true), lost("http:413", Some(413)));
    assert_eq!(ended(LONG, true), lost("net:reset", None));
    assert_eq!(ended(LONG, false), lost("net:cut-short", None));
    assert_eq!(ended(REFUSED, false), lost("net:cut-short", None));
}

#[test]
fn a_request_that_could_not_be_written_to_its_end_is_a_write_error() {
    let errors = |fate, unsent| {
        let mut case = open(vec![ms(0), ms(10)], 1);
        case.script.answer = format!("{LONG}\r\n\r\n{}", "x".repeat(100)).into_bytes();
        case.script.requests = vec![fate; 2];
        case.script.unsent = unsent;
        let (result, _) = load_result(&case);
        (result.counts.ok, result.connections.write_errors)
    };
    assert_eq!(errors(RequestFate::ResetHalfway, true), (0, Some(2)));
    let closed = errors(RequestFate::CutShort, true);
    assert_eq!(closed, (0, Some(2)), "an orderly close is a reset then");
    assert_eq!(errors(RequestFate::ResetHalfway, false), (0, Some(0)));
    assert_eq!(errors(RequestFate::CutShort, false), (0, Some(0)));
}

#[test]
fn a_connection_that_answered_before_the_request_was_sent_is_not_used_again() {
    let opened = |unsent| {
        let mut case = open(every(ms(10), 5), 1);
        case.script.unsent = unsent;
        let (result, _) = load_result(&case);
        (result.counts.ok, result.connections.opened)
    };
    assert_eq!([opened(true), opened(false)], [(5, 5), (5, 1)]);
}
