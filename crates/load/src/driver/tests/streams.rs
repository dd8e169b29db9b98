//! Tests a protocol whose connection carries several requests at once: the end of a request is not
//! the end of its connection.

use super::*;
use stampede_traffic::answer::{Checked, Quirk};

/// Up to two requests at once. What arrives is the whole answer to the one that started last.
struct Streams {
    in_flight: Vec<RequestId>,
    /// How each answer ends.
    end: AnswerEnd,
    /// How many requests a connection carries.
    most: usize,
    /// How many the present one has carried.
    carried: usize,
    after_answer: Next,
    /// Whether no byte counts for an answer.
    is_empty: bool,
    /// What tells the server that a request is cancelled.
    cancel: &'static [u8],
}

impl Streams {
    fn new(end: AnswerEnd) -> Streams {
        Streams {
            in_flight: Vec::new(),
            end,
            most: usize::MAX,
            carried: 0,
            after_answer: Next::KeepOpen,
            is_empty: false,
            cancel: CANCEL,
        }
    }
}

const RIGHT: AnswerEnd = AnswerEnd::Whole { status: 200, check: Checked::Right };

impl Protocol for Streams {
    fn room(&self) -> bool {
        self.in_flight.len() < 2 && self.carried < self.most
    }

    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd> {
        assert!(self.room());
        self.in_flight.push(id);
        self.carried += 1;
        out.extend_from_slice(&request.bytes);
        None
    }

    fn cancel(&mut self, id: RequestId, out: &mut Vec<u8>) -> Next {
        self.in_flight.retain(|other| *other != id);
        out.extend_from_slice(self.cancel);
        Next::KeepOpen
    }

    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer)) {
        let Some(id) = self.in_flight.pop() else { return };
        let bytes = if self.is_empty { 0 } else { bytes.len() as u64 };
        let (end, odd) = (self.end, Quirk::default());
        answered(Answer { id, first_byte: came, end, bytes, body_bytes: bytes, odd });
    }

    fn peer_closed(&mut self, _: Nanos, _: &mut dyn FnMut(Answer)) {}

    fn after_answer(&self) -> Next {
        self.after_answer
    }

    fn first_byte(&self, _: RequestId) -> Option<Nanos> {
        None
    }

    fn reset(&mut self) {
        (self.in_flight, self.carried) = (Vec::new(), 0);
    }
}

/// The first request is never answered, and is cancelled after 10 ms. The second shares its
/// connection meanwhile, and the third uses it afterwards.
#[test]
fn a_cancelled_request_leaves_the_others_on_its_connection() {
    use RequestFate::{Answer, Never};
    let mut case = Case { timeout: ms(10), records: true, ..open(vec![ms(0), ms(1), ms(20)], 10) };
    // To the simulated server the message that cancels is one more request.
    case.script.requests = vec![Never, Answer, Never, Answer];
    let (result, reported) = load_result_in_detail_with(&case, || Streams::new(RIGHT));
    assert_eq!((result.counts.ok, result.connections.opened), (2, 1));
    assert_eq!(failed(&result), [("net:timeout", 1)]);
    let done: Vec<Nanos> = reported.requests.iter().map(|request| request.done).collect();
    assert_eq!(done, [ms(2), ms(10), ms(21)]);
    let bytes = 3 * REQUEST.len() + CANCEL.len();
    assert_eq!(result.counts.bytes_sent, bytes as u64);
}

#[test]
fn a_failed_answer_leaves_its_connection_if_the_protocol_says_so() {
    let case = open(every(ms(5), 3), 10);
    let (result, _) = load_result_with(&case, || Streams::new(AnswerEnd::Malformed));
    assert_eq!(failed(&result), [("net:malformed", 3)]);
    assert_eq!(result.connections.opened, 1);
}

/// Were something sent at 10 ms, the simulated server would take it for the request that it answers.
#[test]
fn nothing_is_sent_for_a_request_that_is_cancelled_without_a_word() {
    use RequestFate::{Answer, Never};
    let mut case = Case { timeout: ms(10), ..open(vec![ms(0), ms(20)], 10) };
    case.script.requests = vec![Never, Answer, Never];
    let (result, _) = load_result_with(&case, || Streams { cancel: b"", ..Streams::new(RIGHT) });
    assert_eq!((result.counts.ok, failed(&result)), (1, vec![("net:timeout", 1)]));
}

/// Two requests share each connection. The first one ends 1 ms before the other.
#[test]
fn a_connection_is_closed_only_after_its_last_request() {
    let at_its_end = || Streams { most: 2, ..Streams::new(RIGHT) };
    let told = || Streams { after_answer: Next::Close, ..Streams::new(RIGHT) };
    for (protocol, opened) in [(&at_its_end as &dyn Fn() -> Streams, 3), (&told, 3)] {
        let mut case = open(vec![ms(0), ms(1), ms(20), ms(21), ms(40)], 10);
        case.script.service_time = ms(5);
        let (result, _) = load_result_with(&case, protocol);
        assert_eq!((result.counts.ok, result.connections.opened), (5, opened));
    }
}

/// Two requests share a connection. It is idle until 20 ms; whether the server would have closed it
/// then is not known where the next two share it again.
#[test]
fn a_connection_that_requests_share_is_not_idle() {
    let idle = |due| {
        let mut case = open(due, 10);
        case.script.service_time = ms(5);
        let (result, _) = load_result_with(&case, || Streams::new(RIGHT));
        assert_eq!(result.connections.opened, 1);
        result.connections.kept.answered_idle_max
    };
    assert_eq!(idle(vec![ms(0), ms(1), ms(20)]), Some(ms(14)));
    assert_eq!(idle(vec![ms(0), ms(1), ms(20), ms(21)]), None);
}

/// One at a time, for 100 ms.
#[test]
fn an_end_without_a_byte_is_no_answer_of_its_connection() {
    for (is_empty, expected) in [(true, 1), (false, 0)] {
        let case = closed(1, Until::For(ms(100)));
        let (result, _) =
            load_result_with(&case, || Streams { is_empty, ..Streams::new(AnswerEnd::Malformed) });
        assert_eq!(failed(&result), [("net:malformed", 100)]);
        assert_eq!(result.connections.never_answered, expected);
    }
}

const CANCEL: &[u8] = b"cancel";
