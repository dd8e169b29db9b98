//! The `user_data` of an operation: routes a completion back to its connection.

use crate::engine::Token;

/// Identifies the connection and the kind of an operation; passes through the kernel as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UserData {
    pub(super) token: Token,
    /// Number of the connection in its slot, 28 bits.
    pub(super) generation: u32,
    pub(super) kind: OpKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpKind {
    Connect = 0,
    Send = 1,
    Receive = 2,
    /// The peer sends no more, or the connection is broken.
    HangUp = 3,
    /// An operation whose completion is ignored.
    Other = 4,
}

impl UserData {
    pub(super) fn number(self) -> u64 {
        (self.kind as u64) << 60 | u64::from(self.generation) << 32 | u64::from(self.token.0)
    }

    pub(super) fn from_number(number: u64) -> UserData {
        let kind = match number >> 60 {
            0 => OpKind::Connect,
            1 => OpKind::Send,
            2 => OpKind::Receive,
            3 => OpKind::HangUp,
            _ => OpKind::Other,
        };
        let generation = (number >> 32) as u32 & GENERATION_MASK;
        UserData { token: Token(number as u32), generation, kind }
    }
}

/// Connections are counted in this many bits, and wrap around.
pub(super) const GENERATION_MASK: u32 = (1 << 28) - 1;
