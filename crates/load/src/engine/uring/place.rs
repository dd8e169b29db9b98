//! The state of one slot's connection.

use std::os::fd::OwnedFd;

use io_uring::types::Fixed;
use rustix::io::Errno;

#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) socket: Option<OwnedFd>,
    /// Counts connections, so that completions of an earlier one are not taken for this one's.
    pub(super) connection: u32,
    pub(super) state: State,
    pub(super) file: File,
    /// Bytes that the driver appends to.
    pub(super) send: Vec<u8>,
    /// Bytes that the kernel reads, while `sending`.
    pub(super) flying: Vec<u8>,
    pub(super) sent: usize,
    pub(super) sending: InFlight,
    /// Why nothing more can be sent. Reported once nothing more is received.
    pub(super) broken: Option<Errno>,
    pub(super) receiving: InFlight,
    pub(super) end: End,
    /// Whether a poll for the peer's end is in flight.
    pub(super) watching: InFlight,
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
    Over,
}

/// Whether the kernel has an operation of this connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InFlight {
    #[default]
    No,
    Way,
}

/// Whether the peer's end was seen. While a send is in flight, the end is read a second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Unseen,
    Seen,
}

/// Whether the socket is registered with the kernel under a fixed number.
#[derive(Clone, Copy, Debug)]
pub(super) enum File {
    /// Not yet; the number of its sends so far.
    Sent(u32),
    Known(Fixed),
    /// Registration failed: the table had no place for it, or the kernel no memory.
    Unknown,
}

impl Default for File {
    fn default() -> File {
        File::Sent(0)
    }
}
