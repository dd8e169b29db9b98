//! An engine moves bytes. Completion-shaped: what is wanted is submitted, what became of
//! it is collected, so that a ring of the kernel's fits as well as readiness does.

mod arrival;
mod clock;
pub mod epoll;
pub mod simulated;
mod socket;
pub mod uring;

pub use clock::Naps;

use crate::time::Nanos;

/// One connection's place in an engine: an index from zero, used again after its
/// connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What can be asked of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Opens a connection; ends in `Connected` or `Failed`.
    Connect,
    /// Sends all of the slot's `send_buffer`; ends in `Sent` or `Failed`. May follow
    /// `Connect` at once: it is then held until the connection is there.
    Send,
    /// Receives for as long as the connection lasts: any number of `Received`, then
    /// `PeerClosed` or `Failed`. Once a connection, after its first `Connect`.
    Receive,
    /// Closes at once. Nothing of this connection is reported afterwards.
    Close,
}

/// The requests under way, which a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Each answer is to be seen at once.
    AtOnce(u32),
    /// Answers may be seen some µs late where that saves CPU time.
    Soon(u32),
}

impl Awaited {
    /// How many.
    pub fn requests(self) -> u32 {
        match self {
            Awaited::AtOnce(requests) | Awaited::Soon(requests) => requests,
        }
    }

    /// How many of them may be seen late.
    pub fn crowd(self) -> u32 {
        match self {
            Awaited::AtOnce(_) => 0,
            Awaited::Soon(requests) => requests,
        }
    }
}

/// Who says when bytes came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// The kernel, which took them in: however late we look. Where it does not say (unix sockets),
    /// as with `Ours`.
    Kernel,
    /// We: they came when they were seen.
    Ours,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Completion<'a> {
    /// The connection is there.
    Connected(Slot),
    /// Bytes that were handed to the kernel; the send buffer is empty again.
    Sent(Slot, u64),
    /// Bytes that came, and when the last of them did: not after `now`.
    Received(Slot, &'a [u8], Nanos),
    /// The peer closed its side in order; nothing more will come.
    PeerClosed(Slot),
    /// The connection is of no more use; only `Close` may follow. What came before was told before,
    /// also where it was a send that failed: a server may answer a request that it does not read to
    /// its end.
    Failed(Slot, Failure),
}

/// Why a connection is of no more use: the kernel's error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `ECONNREFUSED` (111) and so on.
    pub errno: i32,
}

/// Moves bytes and tells the time. One engine a load thread.
pub trait Engine {
    /// What it is called in results.
    fn name(&self) -> &'static str;

    /// Local addresses that connections came from so far: more than one where ports ran out.
    fn sources(&self) -> u32 {
        1
    }

    /// The time of the current batch of completions, or of what came since if `next` told of it.
    /// Reads no clock.
    fn now(&self) -> Nanos;

    /// Reads the clock; `now` says the same until the next reading, which `next` may need too.
    fn refresh(&mut self) -> Nanos;

    /// The slot's send buffer: what `Op::Send` sends. What is appended while a send is under
    /// way goes out after it.
    fn send_buffer(&mut self, slot: Slot) -> &mut Vec<u8>;

    /// Whether bytes of this connection were not handed to the kernel, or never will be: no further
    /// request may follow them.
    fn unsent(&mut self, slot: Slot) -> bool;

    /// Asks for something; never blocks, reports failures as completions.
    fn submit(&mut self, slot: Slot, op: Op);

    /// Blocks until something completed or the clock says `until`, whichever is first,
    /// and reads the clock. Returns at once when completions are waiting. Counts from the
    /// last reading of the clock, which is to be a fresh one.
    fn wait(&mut self, until: Nanos, awaited: Awaited);

    /// The next completion of this batch; `None` when all are taken.
    fn next(&mut self) -> Option<Completion<'_>>;

    /// CPU time that this thread spent on work so far, spinning not counted.
    fn busy(&self) -> Nanos;

    /// Short sleeps so far in which answers of a crowd were left to come.
    fn naps(&self) -> Naps {
        Naps::default()
    }
}
