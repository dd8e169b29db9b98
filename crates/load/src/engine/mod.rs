//! An engine moves bytes between connections and the protocol. Its interface is completion-shaped:
//! operations are submitted and their results collected. So it fits both a ring of the kernel
//! (io_uring) and readiness (epoll).

mod arrival;
mod clock;
pub mod epoll;
pub mod simulated;
mod socket;
mod timer;
pub mod uring;

use std::time::Instant;

use stampede_model::counts::Connections;
use stampede_model::time::Nanos;

pub use crate::spec::Timestamps;

/// Token of a connection in an engine: an index from zero. The engine reuses it after the
/// connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

impl Token {
    /// The slot as an index into a vector.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Operations that can be submitted for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Opens a connection; completes with `Connected` or `Failed`.
    Connect,
    /// Sends the whole `send_buffer` of the slot; completes with `Sent` or `Failed`. May follow
    /// `Connect` at once: the engine then holds it until the connection is established.
    Send,
    /// Receives for as long as the connection lasts: any number of `Received`, then `PeerClosed` or
    /// `Failed`. To be submitted once per connection, after its `Connect`.
    Receive,
    /// Closes the connection at once. Afterwards nothing of this connection is reported.
    Close,
}

/// When received bytes arrived, on the load's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// By the kernel's timestamp of the last byte; without one, when we read them. Not after `now`.
    pub at: Nanos,
    /// The earliest moment at which they can have arrived. Equals `at` where the kernel stamped
    /// them, otherwise when we looked before.
    pub earliest: Nanos,
}

/// A result of submitted operations.
#[derive(Debug, PartialEq, Eq)]
pub enum Completion<'a> {
    /// The connection is established.
    Connected(Token),
    /// Number of bytes that were handed to the kernel; the rest follows while `unsent`.
    Sent(Token, u64),
    /// Received bytes, and when the last of them arrived.
    Received(Token, &'a [u8], Arrival),
    /// The peer closed its side in order; nothing more will arrive.
    PeerClosed(Token),
    /// The connection is unusable; only `Close` may follow. Everything that arrived before was
    /// reported before, also when a send failed: a server may answer a request that it does not
    /// read to its end.
    Failed(Token, Failure),
}

/// Why a connection is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kernel's error number, for example `ECONNREFUSED` (111).
    pub errno: i32,
}

/// Moves bytes and reads the clock. There is one engine per load thread.
pub trait Engine {
    /// Sets the zero of the clock and of busy time. To be called on the load thread before the
    /// first request, and again where another load begins on the same connections.
    fn begin(&mut self, epoch: Instant);

    /// Name of the engine in results.
    fn name(&self) -> &'static str;

    /// The addresses of the connections so far, local and remote. The other fields stay zero.
    fn connections(&self) -> Connections {
        Connections { sources: 1, ..Connections::default() }
    }

    /// The time of the current batch of completions, or of a later completion that `next` returned.
    /// Does not read the clock.
    fn now(&self) -> Nanos;

    /// Reads the clock. `now` returns this value until the next reading, which `next` may also do.
    fn refresh(&mut self) -> Nanos;

    /// The send buffer of the slot, which `Op::Send` sends. Bytes appended during a send are sent
    /// after it.
    fn send_buffer(&mut self, token: Token) -> &mut Vec<u8>;

    /// Whether some bytes of this connection are not handed to the kernel yet, or never will be.
    /// Then no further request may follow them.
    fn unsent(&mut self, token: Token) -> bool;

    /// Submits an operation. Never blocks; failures are reported as completions.
    fn submit(&mut self, token: Token, op: Op);

    /// Blocks until something has completed or the clock reaches `until`, whichever is first, then
    /// reads the clock. Returns at once when completions are waiting. Counts from the last reading
    /// of the clock, so the caller refreshes it before. `in_flight` is the number of requests whose
    /// answers are awaited.
    fn wait(&mut self, until: Nanos, in_flight: u32);

    /// The next completion of this batch; `None` when there are no more.
    fn next(&mut self) -> Option<Completion<'_>>;

    /// CPU time that this thread has spent on work so far, without spinning.
    fn busy(&self) -> Nanos;
}
