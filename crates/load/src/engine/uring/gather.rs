//! Waiting for several answers of a crowd in one call.
//!
//! What came while we worked is looked at first, and does if it is enough: to wait for more would
//! leave the server without work, and to be woken costs both sides.
//!
//! The kernel counts for us: it wakes the thread when so many operations have ended. A timeout in each
//! call would cost more than the waiting saves, for on a virtual machine to set a timer
//! and to take it back are calls to the host. So one timer is set now and then and left: it ends
//! whatever wait it meets.

use io_uring::opcode;
use io_uring::types::Timespec;

use super::Uring;
use super::mark::{Mark, What};
use crate::engine::Slot;
use crate::time::Nanos;

impl Uring {
    /// Tells the kernel what was submitted and waits for several answers, where so many of a
    /// `crowd` are to come soon, for [`GUARD`] at most; not at all where [`ENOUGH`] of them are
    /// there. Says whether it did so; where it did there may still be nothing.
    pub(super) fn gathers(&mut self, until: Nanos, crowd: u32) -> bool {
        let is_far = self.clock.now().plus(GUARD) <= until;
        let Some(answers) = self.clock.gathers(crowd).filter(|_| is_far) else { return false };
        self.look();
        if self.ring.answers() >= (answers / ENOUGH).max(1) {
            return true;
        }
        if !self.is_guarded {
            let guard = opcode::Timeout::new(&raw const GUARD_LENGTH).build();
            self.ring.push(&guard.user_data(GUARD_MARK.number()));
            self.is_guarded = true;
        }
        self.ring.wait_for(answers);
        self.ring.take_batch();
        self.clock.gathered();
        true
    }
}

const GUARD_MARK: Mark = Mark { slot: Slot(0), connection: 0, what: What::Guard };
/// The share of the answers that is not waited for, if it is there: one of four, at least one.
const ENOUGH: u32 = 4;
/// For as long as this answers may be held back by those that do not come. It happens where the
/// server stands still, to fewer answers than then wait for the server.
const GUARD: Nanos = Nanos::from_millis(1);
static GUARD_LENGTH: Timespec = Timespec::new().nsec(GUARD.0 as u32);
