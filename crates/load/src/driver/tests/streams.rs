//! Tests a protocol whose connection carries several requests at once: the end of a request is not
//! the end of its connection.

use super::*;
use stampede_traffic::answer::{Checked, Quirk};

/// Up to two requests at once. What arrives is the whole answer to the one that started last.
struct Streams {
    in_flight: Vec<RequestId>,
    /// How each answer ends.
    end: AnswerEnd,
}

impl Streams {
    fn new(end: AnswerEnd) -> Streams {
        Streams { in_flight: Vec::new(), end }
    }
}

impl Protocol for Streams {
    fn room(&self) -> bool {
        self.in_flight.len() < 2
    }

    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd> {
        self.in_flight.push(id);
        out.extend_from_slice(&request.bytes);
        None
    }

    fn cancel(&mut self, id: RequestId, out: &mut Vec<u8>) -> Next {
        self.in_flight.retain(|other| *other != id);
        out.extend_from_slice(CANCEL);
        Next::KeepOpen
    }

    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer)) {
        let Some(id) = self.in_flight.pop() else { return };
        let (end, bytes, odd) = (self.end, bytes.len() as u64, Quirk::default());
        answered(Answer { id, first_byte: came, end, bytes, body_bytes: bytes, odd });
    }

    fn peer_closed(&mut self, _: Nanos, _: &mut dyn FnMut(Answer)) {}

    fn after_answer(&self) -> Next {
        Next::KeepOpen
    }

    fn first_byte(&self, _: RequestId) -> Option<Nanos> {
        None
    }

    fn reset(&mut self) {
        self.in_flight.clear();
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
    let end = AnswerEnd::Whole { status: 200, check: Checked::Right };
    let (result, reported) = load_result_in_detail_with(&case, || Streams::new(end));
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

const CANCEL: &[u8] = b"cancel";
