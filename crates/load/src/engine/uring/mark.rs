//! The `user_data` of an operation: routes a completion back to its connection.

use crate::engine::Slot;

/// Identifies the connection and the kind of an operation; passes through the kernel as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) slot: Slot,
    /// Number of the connection in its slot, 28 bits.
    pub(super) connection: u32,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Connect = 0,
    Send = 1,
    Receive = 2,
    /// The peer sends no more, or the connection is broken.
    HangUp = 3,
    /// A timer that belongs to no connection, see `gather`.
    Guard = 4,
    /// An operation whose completion is ignored.
    Other = 5,
}

impl Mark {
    pub(super) fn number(self) -> u64 {
        (self.what as u64) << 60 | u64::from(self.connection) << 32 | u64::from(self.slot.0)
    }

    pub(super) fn from_number(number: u64) -> Mark {
        let what = match number >> 60 {
            0 => What::Connect,
            1 => What::Send,
            2 => What::Receive,
            3 => What::HangUp,
            4 => What::Guard,
            _ => What::Other,
        };
        let connection = (number >> 32) as u32 & CONNECTIONS;
        Mark { slot: Slot(number as u32), connection, what }
    }
}

/// Connections are counted in this many bits, and wrap around.
pub(super) const CONNECTIONS: u32 = (1 << 28) - 1;
