//! A protocol as a sans-I/O state machine: bytes in, bytes and answers out. It owns no socket and
//! reads no clock.

pub mod fastcgi;
pub(crate) mod head;
pub mod http1;
pub mod tls;

use stampede_model::time::Nanos;

use crate::check::Failed;
pub use stampede_traffic::answer::{
    Answer, AnswerEnd, Aside, Checked, EXCERPT_BODY_BYTES, EXCERPT_HEAD_BYTES, Excerpt, Quirk,
    RequestId,
};
use stampede_traffic::request::Request;

/// The state of one connection. It is reused through `reset` for the next connection of the slot,
/// so that the hot path does not allocate.
///
/// The end of a request and the end of its connection are two things. `answered` and `cancel` end
/// single requests, also those that fail; `after_answer` alone says whether the connection goes on.
/// A protocol whose connection fails as a whole ends each request on it.
pub trait Protocol {
    /// Whether another request may start on this connection now.
    fn room(&self) -> bool;

    /// Starts a request: encodes it, and appends its bytes to `out`, the send buffer of the
    /// connection. Only called while `room()` is true. Allocates only where `out` has to grow.
    /// `Some`: the connection cannot carry it any more, and the request ends like this.
    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd>;

    /// Gives up a request in flight, which is not answered any more. Appends to `out` what the peer
    /// has to know. Returns whether the connection goes on: if not, the driver closes it, and all
    /// requests on it fail for the same reason. What was received for the request stays known until
    /// the next `start` or `reset`.
    ///
    /// HTTP/1 has no message for it, so its connection is closed. So is that of FastCGI: a server
    /// that takes one request at a time, as php-fpm does, reads nothing until it has answered.
    /// `FCGI_ABORT_REQUEST` makes sense only on a connection that multiplexes requests.
    fn cancel(&mut self, id: RequestId, out: &mut Vec<u8>) -> Next;

    /// Takes bytes that arrived at `came`; reads may end anywhere. Calls `answered` once for each
    /// request that ends here. Bytes that no request waits for, and that the protocol does not
    /// allow there, make `after_answer` return `Close`. They never change the answer before, but
    /// count in `take_aside`.
    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer));

    /// The peer closed its side in order. Ends the requests in flight: each is complete where the
    /// close delimits its answer, else cut short.
    fn peer_closed(&mut self, now: Nanos, answered: &mut dyn FnMut(Answer));

    /// Whether the answer to this request, which is in flight, would be whole if the connection
    /// ended now, as `peer_closed` would decide.
    fn is_whole_at_close(&self, id: RequestId) -> bool {
        let _ = id;
        false
    }

    /// The status of the answer to this request, which is in flight; `None` before its final head
    /// was taken.
    fn status(&self, id: RequestId) -> Option<u16> {
        let _ = id;
        None
    }

    /// What the peer sent besides answers since the last call. Called after each `received`.
    fn take_aside(&mut self) -> Aside {
        Aside::default()
    }

    /// Appends to `out` what the protocol itself has to send now, for example the next step of a
    /// handshake. Called after each `received`, while earlier bytes may still be unsent. Most
    /// protocols append nothing.
    fn transmit(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// What happens to the connection after the bytes taken so far. A request that failed does not
    /// end it by itself. Requests that are still in flight on it are waited for.
    fn after_answer(&self) -> Next;

    /// When the first response byte of this request, which is in flight, arrived; `None` before.
    fn first_byte(&self, id: RequestId) -> Option<Nanos>;

    /// What was kept of the answer to this request, which is in flight or was the last to end. It
    /// is for the example of a failure, so it is called once per kind of failure. `failed` is the
    /// part of the check that the answer broke. Called before the next `start` or `reset`; may
    /// allocate.
    fn excerpt(&self, id: RequestId, failed: Option<Failed>) -> Excerpt {
        let _ = (id, failed);
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
