//! A protocol as a sans-I/O machine: bytes in, bytes and answers out, no socket, no clock.

pub mod fastcgi;
pub(crate) mod fields;
pub(crate) mod head;
pub mod http1;
pub mod tls;

use crate::check::Failed;
use crate::time::Nanos;
use crate::traffic::Request;
pub use fields::{Odd, plain_head};

/// Which request of the driver; meaningless to the protocol, handed back with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u32);

/// One connection's state. One value a connection; reused (`reset`) when it reconnects,
/// so that the hot path does not allocate.
pub trait Protocol {
    /// Whether another request may start on this connection now.
    fn room(&self) -> bool;

    /// Starts a request: its bytes are appended to `out` (the connection's send buffer).
    /// Only called while `room()` is true.
    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>);

    /// Takes bytes that came at `came`, torn anywhere. Calls `answered` once for each request that
    /// ends here. Bytes for which no request waits, and that the protocol does not allow there,
    /// make `after_answer` say close.
    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer));

    /// The peer closed its side in order. Ends the request under way: complete where the
    /// answer was delimited by the close, else cut short.
    fn peer_closed(&mut self, now: Nanos, answered: &mut dyn FnMut(Answer));

    /// Whether the answer under way is whole if the connection ends now: as `peer_closed` would
    /// say.
    fn is_whole_at_close(&self) -> bool {
        false
    }

    /// The status of the answer under way, once its final head was taken.
    fn status(&self) -> Option<u16> {
        None
    }

    /// Appends to `out` what the protocol itself has to send now (a handshake's next step);
    /// asked for after each `received`, while earlier bytes may still be on their way out.
    /// Nothing, for most.
    fn transmit(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// What becomes of the connection after the bytes taken so far.
    fn after_answer(&self) -> Next;

    /// When the first response byte of the request under way came; `None` before it.
    fn first_byte(&self) -> Option<Nanos>;

    /// What is at hand of the answer under way, or of the last one: for the example of a
    /// failure, so once a kind of failure. `failed`: the part of the check that it broke.
    /// Called before the next `start` or `reset`; may allocate.
    fn excerpt(&self, failed: Option<Failed>) -> Excerpt {
        let _ = failed;
        Excerpt::default()
    }

    /// Forgets everything: the slot is about to be a new connection.
    fn reset(&mut self);
}

/// Whether a connection may carry another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It may.
    KeepOpen,
    /// The answer, or our own habit, says close.
    Close,
}

/// One ended request as the protocol saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request it answers.
    pub id: RequestId,
    /// When its first bytes came, those that were read at once, on the load's clock.
    pub first_byte: Nanos,
    /// How it ended.
    pub end: AnswerEnd,
    /// Bytes of it on the wire, interim (1xx) answers included.
    pub bytes: u64,
    /// Bytes of its body, without what frames them.
    pub body_bytes: u64,
    /// What was odd about its header lines.
    pub odd: Odd,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// Whole, with its status; `check` says whether the answer is the expected one.
    Whole {
        /// 200 … 999; interim 1xx answers are passed over (RFC 9110 section 15.2).
        status: u16,
        /// What the check said, all but its rules about time; nothing is asked where the
        /// status is wrong.
        check: Checked,
    },
    /// The peer closed before the end that the headers announced.
    CutShort,
    /// Not the protocol, or a length that contradicts itself.
    Malformed,
    /// Head larger than the limit.
    HeadTooLarge,
    /// A FastCGI server did not take the request: it is overloaded, or knows no responder.
    Rejected,
    /// TLS failed: an alert, a record that is none, a certificate that was not taken.
    Tls,
}

/// What a check says of an answer with the right status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// As expected, or nothing was asked.
    Right,
    /// This part of the check is broken, the first of all that are.
    Wrong(Failed),
}

/// The beginning of an answer, as far as it was held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Of its final head, where that came.
    pub status: Option<u16>,
    /// Of its final head, else of what came instead; at most [`EXCERPT_HEAD_BYTES`].
    pub head: Vec<u8>,
    /// Of its body, without framing; at most [`EXCERPT_BODY_BYTES`].
    pub body: Vec<u8>,
    /// What there was instead of what the check asks, in words; empty where it was not asked.
    pub found: String,
}

/// Bytes of a head that an example shows.
pub const EXCERPT_HEAD_BYTES: usize = 4 << 10;
/// Bytes of a body that an example shows: the beginning of an error page.
pub const EXCERPT_BODY_BYTES: usize = 2 << 10;
