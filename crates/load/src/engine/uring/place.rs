//! What is known of one slot's connection.

use std::os::fd::OwnedFd;

use io_uring::types::Fixed;
use rustix::io::Errno;

#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) socket: Option<OwnedFd>,
    /// Counts connections: what an earlier one left behind is not taken for this one's.
    pub(super) connection: u32,
    pub(super) state: State,
    pub(super) file: File,
    /// What the driver appends to.
    pub(super) send: Vec<u8>,
    /// What the kernel reads, while `sending`.
    pub(super) flying: Vec<u8>,
    pub(super) sent: usize,
    pub(super) sending: InFlight,
    /// Why nothing more can be sent. It is told once nothing more comes.
    pub(super) broken: Option<Errno>,
    pub(super) receiving: InFlight,
    pub(super) end: End,
    /// Watched for its end.
    pub(super) watching: InFlight,
    /// Asked for while connecting.
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

/// Whether the peer's end was seen. While a send is under way it is asked for a second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Unseen,
    Seen,
}

/// Whether the kernel knows the socket by a number in its table.
#[derive(Clone, Copy, Debug)]
pub(super) enum File {
    /// Not yet: it has sent so often.
    Sent(u32),
    Known(Fixed),
    /// There was no place for it.
    Unknown,
}

impl Default for File {
    fn default() -> File {
        File::Sent(0)
    }
}
