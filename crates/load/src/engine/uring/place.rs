//! The state of one slot's connection.

use std::os::fd::OwnedFd;

use io_uring::types::Fixed;
use rustix::io::Errno;

#[derive(Debug, Default)]
pub(super) struct UringSlot {
    pub(super) socket: Option<OwnedFd>,
    /// Counts connections, so that completions of an earlier one are not taken for this one's.
    pub(super) generation: u32,
    pub(super) state: State,
    pub(super) file: Registration,
    /// Bytes that the driver appends to.
    pub(super) send: Vec<u8>,
    /// Bytes that the kernel reads, while `sending`.
    pub(super) in_kernel: Vec<u8>,
    pub(super) sent: usize,
    pub(super) sending: InFlight,
    /// Why nothing more can be sent. Reported once nothing more is received.
    pub(super) broken: Option<Errno>,
    pub(super) receiving: InFlight,
    pub(super) end: PeerEnd,
    pub(super) watching: EndPoll,
    /// Whether a receive was submitted while connecting.
    pub(super) wants_receive: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Closed,
    Connecting,
    Open,
    /// Reported as failed, or as closed by the peer; only `Close` follows.
    Finished,
}

/// Whether the kernel has an operation of this connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InFlight {
    #[default]
    No,
    Yes,
}

/// The poll for the peer's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EndPoll {
    #[default]
    NotBegun,
    InFlight,
    /// It has found the end, and is not needed again.
    Done,
}

/// Whether the peer's end was seen. While a send is in flight, the end is read a second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PeerEnd {
    #[default]
    Unseen,
    Seen,
}

/// Whether the socket is registered with the kernel under a fixed number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Registration {
    /// Not yet; the number of its sends so far.
    AfterSends(u32),
    Registered(Fixed),
    /// Registration failed: the table had no place for it, or the kernel no memory.
    Failed,
}

impl Default for Registration {
    fn default() -> Registration {
        Registration::AfterSends(0)
    }
}
