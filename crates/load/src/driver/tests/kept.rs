//! Tests kept connections that the server ends, and bytes that it sends after an answer.

use stampede_model::kept::{KeptLimit, StaleConnections};

use super::*;
use RequestFate::{AnswerThenReset, CloseUnanswered, Torn};

/// The number of requests that met a closed connection, when the server closes, and the longest
/// idle time after which a connection still answered.
fn kept(result: &LoadResult) -> (u64, Option<KeptLimit>, Option<Nanos>) {
    let kept = result.connections.kept;
    (kept.stale.map_or(0, |stale| stale.requests), kept.limit(), kept.answered_idle_max)
}

/// Answers ten requests of each connection, and closes it when the next one comes.
#[test]
fn a_limit_of_answers_shows_in_both_models() {
    for mut case in [open(every(ms(20), 33), 1), closed(1, Until::Requests(33))] {
        case.script.requests = [[RequestFate::Answer; 10].as_slice(), &[CloseUnanswered]].concat();
        let (result, _) = load_result(&case);
        assert_eq!(failed(&result), [("net:stale", 3)]);
        assert_eq!((result.counts.ok, result.connections.opened), (30, 3));
        let idle = if case.closed.is_some() { ms(0) } else { ms(19) };
        let limit = Some(KeptLimit::Answers { answers: 10 });
        assert_eq!(kept(&result), (3, limit, Some(idle)));
    }
}

/// Idle for up to 4 s a connection answers, and after 5 s it does not.
#[test]
fn a_limit_of_idle_time_shows_in_the_open_model() {
    let due = [0, 4_000, 4_100, 9_100, 9_200, 9_300, 14_300, 14_400].map(ms);
    let mut case = open(due.into(), 1);
    let answer = RequestFate::Answer;
    case.script.requests = vec![answer, answer, answer, CloseUnanswered, answer, answer];
    case.script.requests.push(CloseUnanswered);
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, failed(&result)), (6, vec![("net:stale", 2)]));
    // Each request takes 1 ms.
    let (answered_ns, closed_ns) = (ms(3_999).0, ms(4_999).0);
    let limit = Some(KeptLimit::Idle { answered_ns, closed_ns });
    assert_eq!(kept(&result), (2, limit, Some(ms(3_999))));
    let stale = result.connections.kept.stale.unwrap();
    assert_eq!((stale.answers_min, stale.answers_max), (2, 3));
}

/// The user's next request starts at once, and meets the reset 1 µs later.
#[test]
fn a_reset_before_any_byte_of_a_kept_connection_is_the_same() {
    let mut case = closed(1, Until::Requests(6));
    case.script.requests = vec![AnswerThenReset];
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, failed(&result)), (3, vec![("net:stale", 3)]));
    let (requests, idle_min, answers) = (3, Nanos(0), 1);
    let stale = StaleConnections { requests, idle_min, answers_min: answers, answers_max: answers };
    assert_eq!(result.connections.kept.stale, Some(stale));
}

#[test]
fn a_timeout_after_an_idle_time_is_no_answer() {
    let mut case = Case { timeout: ms(20), ..open(vec![ms(0), ms(50)], 1) };
    case.script.requests = vec![RequestFate::Answer, RequestFate::Never];
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, failed(&result)), (1, vec![("net:timeout", 1)]));
    assert_eq!(kept(&result), (0, None, None));
}

/// The gap until the next request, on another connection, is no idle time.
#[test]
fn a_new_connection_was_not_idle() {
    let mut case = open(every(ms(50), 4), 1);
    case.script.requests = vec![RequestFate::AnswerThenClose];
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, result.connections.opened), (4, 4));
    assert_eq!(kept(&result), (0, None, None));
}

#[test]
fn bytes_after_an_answer_count_for_it_and_end_its_connection() {
    let surplus = |mut case: Case, fate| {
        case.script.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nlonger".to_vec();
        case.script.requests = vec![fate];
        let (result, _) = load_result(&case);
        assert_eq!(kept(&result).0, 0, "the server closed nothing");
        let stale = result.counts.failed.get("net:stale").copied();
        (result.counts.ok, stale, result.aside.surplus_answers, result.connections.opened)
    };
    // In the same read, and in a later one while the connection is idle.
    assert_eq!(surplus(open(every(ms(10), 6), 1), RequestFate::Answer), (6, None, 6, 6));
    assert_eq!(surplus(closed(1, Until::Requests(6)), RequestFate::Answer), (6, None, 6, 6));
    // The load ends with its last answer, before the bytes behind it come.
    assert_eq!(surplus(open(every(ms(10), 6), 1), Torn), (6, None, 5, 6));
    // The next request of a user is sent at once, and gets them in place of its answer.
    assert_eq!(surplus(closed(1, Until::Requests(6)), Torn), (3, Some(3), 3, 3));
}

#[test]
fn a_close_on_a_new_connection_is_cut_short() {
    let mut case = open(every(ms(10), 4), 1);
    case.script.requests = vec![CloseUnanswered];
    let (result, _) = load_result(&case);
    assert_eq!((failed(&result), kept(&result)), (vec![("net:cut-short", 4)], (0, None, None)));
}

/// A protocol whose session cannot carry a second request.
struct OneRequest(Http1, bool);

impl Protocol for OneRequest {
    fn room(&self) -> bool {
        self.0.room()
    }

    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd> {
        self.0.start(id, request, out);
        std::mem::replace(&mut self.1, true).then_some(AnswerEnd::Tls)
    }

    fn cancel(&mut self, id: RequestId, out: &mut Vec<u8>) -> Next {
        self.0.cancel(id, out)
    }

    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer)) {
        self.0.received(bytes, came, answered);
    }

    fn peer_closed(&mut self, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        self.0.peer_closed(now, answered);
    }

    fn after_answer(&self) -> Next {
        self.0.after_answer()
    }

    fn first_byte(&self, id: RequestId) -> Option<Nanos> {
        self.0.first_byte(id)
    }

    fn reset(&mut self) {
        self.0.reset();
        self.1 = false;
    }
}

#[test]
fn a_request_that_cannot_start_fails_at_once_and_the_next_one_gets_a_new_connection() {
    for case in [open(every(ms(10), 6), 1), closed(1, Until::Requests(6))] {
        let case = Case { records: true, ..case };
        let habits = Habits { version: HttpVersion::Http11, connection: case.habit };
        let (result, _) =
            load_result_with(&case, || OneRequest(Http1::new(&Check::default(), habits), false));
        assert_eq!((result.counts.ok, failed(&result)), (3, vec![("net:tls", 3)]));
        assert_eq!(result.connections.opened, 3);
        assert_eq!(result.in_flight_integral, u128::from(ms(3).0), "1 ms each, and nothing");
    }
}
