//! Tests a protocol that greets before it sends a request. What it sends by itself goes out after
//! what it received, and a request takes both turns.

use super::*;

/// Sends a greeting, and its request once the greeting was answered. Both answers are HTTP, because
/// the simulated server sends nothing else.
struct Greeting {
    inside: Http1,
    greets: Http1,
    held: Vec<u8>,
    out: Vec<u8>,
    greeted: bool,
}

impl Protocol for Greeting {
    fn room(&self) -> bool {
        self.inside.room()
    }

    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd> {
        if self.greeted {
            return self.inside.start(id, request, out);
        }
        self.greets.start(id, request, out);
        self.inside.start(id, request, &mut self.held)
    }

    fn cancel(&mut self, id: RequestId, out: &mut Vec<u8>) -> Next {
        self.inside.cancel(id, out)
    }

    fn received(&mut self, bytes: &[u8], now: Nanos, answered: &mut dyn FnMut(Answer)) {
        if self.greeted {
            return self.inside.received(bytes, now, answered);
        }
        let greeted = &mut self.greeted;
        self.greets.received(bytes, now, &mut |_| *greeted = true);
        if self.greeted {
            self.out.append(&mut self.held);
        }
    }

    fn peer_closed(&mut self, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        self.inside.peer_closed(now, answered);
    }

    fn transmit(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn after_answer(&self) -> Next {
        self.inside.after_answer()
    }

    fn first_byte(&self, id: RequestId) -> Option<Nanos> {
        self.inside.first_byte(id)
    }

    fn reset(&mut self) {
        self.inside.reset();
        self.greets.reset();
        self.held.clear();
        self.greeted = false;
    }
}

/// 10 requests, 50 ms apart, 10 ms a turn. On a kept connection the first takes two turns and
/// the others one; with a connection per request each takes two.
#[test]
fn bytes_that_a_protocol_sends_by_itself_count_for_the_request() {
    for (habit, total) in
        [(ConnectionHabit::KeepAlive, ms(110)), (ConnectionHabit::PerRequest, ms(200))]
    {
        let mut case = Case { habit, ..open(every(ms(50), 10), 1) };
        case.script.service_time = ms(10);
        let habits = Habits { version: HttpVersion::Http11, connection: habit };
        let http = || Http1::new(&Check::default(), habits);
        let (result, _) = load_result_with(&case, || Greeting {
            inside: http(),
            greets: http(),
            held: vec![],
            out: vec![],
            greeted: false,
        });
        assert_eq!(result.counts.ok, 10, "{:?}", result.counts);
        assert_eq!(result.in_flight_integral, u128::from(total.0));
        // The bytes of one request per turn.
        let request = REQUEST.len() as u64;
        assert_eq!(result.counts.bytes_sent, total.0 / ms(10).0 * request);
    }
}
