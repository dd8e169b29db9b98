//! Feeds a connection in pieces, for all targets that read answers.

use stampede_load::protocol::{Answer, Next, Protocol, RequestId};
use stampede_model::time::Nanos;
use stampede_traffic::{AnswerShape, Request};

/// Everything that a driver can see, except the first byte's time.
#[derive(Debug, PartialEq)]
pub struct Parsed {
    /// How the request ended.
    pub ends: Vec<Answer>,
    /// What happens to the connection.
    pub next: Next,
    /// Whether another request may start.
    pub room: bool,
}

/// Sends a request, feeds `bytes` cut into pieces, and closes.
pub fn parse(mut wire: impl Protocol, shape: AnswerShape, bytes: &[u8], cut: Cut) -> Parsed {
    let mut request = request();
    request.answer = shape;
    wire.start(RequestId(3), &request, &mut Vec::new());
    let mut ends = Vec::new();
    let mut rest = bytes;
    let mut place = 0;
    while !rest.is_empty() {
        let piece = match cut {
            Cut::Nowhere => rest.len(),
            Cut::Everywhere => 1,
            Cut::After(lengths) => 1 + usize::from(lengths[place % lengths.len()]),
        };
        let (now, later) = rest.split_at(piece.min(rest.len()));
        wire.received(now, Nanos(1), &mut |answer| ends.push(answer));
        (rest, place) = (later, place + 1);
    }
    let (next, room) = (wire.after_answer(), wire.room());
    wire.peer_closed(Nanos(1), &mut |answer| ends.push(answer));
    assert_eq!(ends.len(), 1, "every request ends once");
    assert!(!wire.room());
    let excerpt = wire.excerpt(RequestId(3), None);
    assert!(excerpt.head.len() <= 4096 && excerpt.body.len() <= 2048);
    Parsed { ends, next, room }
}

/// Where reads end.
#[derive(Clone, Copy)]
pub enum Cut<'a> {
    Nowhere,
    Everywhere,
    /// After these numbers of bytes, and after one byte, in turn.
    After(&'a [u8; 4]),
}

/// Asserts that the result is the same wherever the bytes are cut.
pub fn same<P: Protocol>(make: impl Fn() -> P, shape: AnswerShape, bytes: &[u8], cuts: &[u8; 4]) {
    let whole = parse(make(), shape, bytes, Cut::Nowhere);
    assert_eq!(parse(make(), shape, bytes, Cut::Everywhere), whole);
    assert_eq!(parse(make(), shape, bytes, Cut::After(cuts)), whole);
}

fn request() -> Request {
    Request::encoded(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
}
