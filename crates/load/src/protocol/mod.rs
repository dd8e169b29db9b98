//! A protocol as a sans-I/O state machine: bytes in, bytes and answers out. It owns no socket and
//! reads no clock.

pub mod fastcgi;
pub(crate) mod fields;
pub(crate) mod head;
pub mod http1;
pub mod tls;

use stampede_model::time::Nanos;

use crate::check::Failed;
use crate::traffic::Request;
pub use fields::Quirk;

/// The driver's number of a request. It means nothing to the protocol, which returns it with the
/// answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u32);

/// The state of one connection. It is reused through `reset` for the next connection of the slot,
/// so that the hot path does not allocate.
pub trait Protocol {
    /// Whether another request may start on this connection now.
    fn room(&self) -> bool;

    /// Starts a request: appends its bytes to `out`, the send buffer of the connection. Only called
    /// while `room()` is true.
    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>);

    /// Takes bytes that arrived at `came`; reads may end anywhere. Calls `answered` once for each
    /// request that ends here. Bytes that no request waits for, and that the protocol does not
    /// allow there, make `after_answer` return `Close`.
    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer));

    /// The peer closed its side in order. Ends the request in flight: it is complete where the
    /// close delimits the answer, else cut short.
    fn peer_closed(&mut self, now: Nanos, answered: &mut dyn FnMut(Answer));

    /// Whether the answer in progress would be whole if the connection ended now, as `peer_closed`
    /// would decide.
    fn is_whole_at_close(&self) -> bool {
        false
    }

    /// The status of the answer in progress; `None` before its final head was taken.
    fn status(&self) -> Option<u16> {
        None
    }

    /// Appends to `out` what the protocol itself has to send now, for example the next step of a
    /// handshake. Called after each `received`, while earlier bytes may still be unsent. Most
    /// protocols append nothing.
    fn transmit(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// What happens to the connection after the bytes taken so far.
    fn after_answer(&self) -> Next;

    /// When the first response byte of the request in flight arrived; `None` before.
    fn first_byte(&self) -> Option<Nanos>;

    /// What was kept of the answer in progress, or of the last one. It is for the example of a
    /// failure, so it is called once per kind of failure. `failed` is the part of the check that
    /// the answer broke. Called before the next `start` or `reset`; may allocate.
    fn excerpt(&self, failed: Option<Failed>) -> Excerpt {
        let _ = failed;
        Excerpt::default()
    }

    /// Forgets everything: the slot will get a new connection.
    fn reset(&mut self);
}

/// Whether a connection may carry another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It may carry another request.
    KeepOpen,
    /// The answer, or our own habit, demands a close.
    Close,
}

/// One ended request, as the protocol saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request that is answered.
    pub id: RequestId,
    /// When its first bytes arrived, on the load's clock. The time of a read counts for all bytes
    /// of it.
    pub first_byte: Nanos,
    /// How it ended.
    pub end: AnswerEnd,
    /// Bytes of the answer on the wire, interim (1xx) answers included.
    pub bytes: u64,
    /// Bytes of its body, without framing.
    pub body_bytes: u64,
    /// What was odd about its header lines.
    pub odd: Quirk,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The answer is whole.
    Whole {
        /// 200 to 999; interim 1xx answers are skipped (RFC 9110 section 15.2).
        status: u16,
        /// Result of the check, except for its rules about time. `Right` where the status is wrong,
        /// because then nothing is checked.
        check: Checked,
    },
    /// The peer closed before the end that the headers announced.
    CutShort,
    /// The bytes do not follow the protocol, or a length contradicts itself.
    Malformed,
    /// The head is larger than the limit.
    HeadTooLarge,
    /// A FastCGI server refused the request: it is overloaded, or has no responder.
    Rejected,
    /// TLS failed: an alert, an invalid record, or a certificate that was not accepted.
    Tls,
}

/// Result of the check of an answer with the right status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The answer is as expected, or there is no rule.
    Right,
    /// The first part of the check that the answer broke.
    Wrong(Failed),
}

/// The beginning of an answer, as far as it was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Status of its final head; `None` where that did not arrive.
    pub status: Option<u16>,
    /// Its final head, or whatever arrived instead; at most [`EXCERPT_HEAD_BYTES`].
    pub head: Vec<u8>,
    /// Its body, without framing; at most [`EXCERPT_BODY_BYTES`].
    pub body: Vec<u8>,
    /// What was found instead of what the check demands, in words; empty where no check failed.
    pub found: String,
}

/// Most bytes of a head that an example shows.
pub const EXCERPT_HEAD_BYTES: usize = 4 << 10;
/// Most bytes of a body that an example shows: the beginning of an error page.
pub const EXCERPT_BODY_BYTES: usize = 2 << 10;
