//! The two queues that we share with the kernel, and the one call that serves both.

use std::collections::VecDeque;
use std::io;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Submitter, cqueue, opcode, squeue};

use super::mark::{Mark, What};
use crate::engine::Slot;
use crate::time::Nanos;

pub(super) struct Ring {
    ring: IoUring,
    /// Taken from the completion queue.
    batch: VecDeque<cqueue::Entry>,
    /// Sends that the kernel was not told of yet.
    untold: u32,
    /// The timer that ends waits for several was set, and was not seen to run out.
    is_guarded: bool,
}

impl Ring {
    /// # Errors
    /// The kernel is too old (`EINVAL`, `ENOSYS`), or it is not allowed here (`EPERM`).
    pub(super) fn new() -> io::Result<Ring> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .dontfork()
            .build(SUBMISSIONS)?;
        let batch = VecDeque::with_capacity(2 * BATCH);
        Ok(Ring { ring, batch, untold: 0, is_guarded: false })
    }

    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
    }

    /// Queues an operation, to go with the next call.
    pub(super) fn push(&mut self, entry: &squeue::Entry) {
        for _ in 0..TRIES {
            // SAFETY: entries are made in this directory. All that they point to is static, or the
            // `flying` bytes of a place or an orphan, which stay where they are until the
            // operation's end was seen, or the ring is gone.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return;
            }
            self.tell();
        }
        panic!("the kernel takes no operations");
    }

    /// Queues a send. Some wait for each other, not many.
    pub(super) fn push_send(&mut self, entry: &squeue::Entry) {
        self.push(entry);
        self.untold += 1;
        if self.untold >= UNTOLD_MAX {
            self.tell();
        }
    }

    /// Tells the kernel what was queued and has it do its part of the work, without waiting: also
    /// what came while it sent is there then. No call where neither is needed.
    pub(super) fn tell(&mut self) {
        let queue = self.ring.submission();
        let queued = queue.len() as u32;
        if queued == 0 && !queue.taskrun() && !queue.cq_overflow() {
            return;
        }
        drop(queue);
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: so many are queued, and the call is given nothing else that could be wrong.
        passes(unsafe { self.ring.submitter().enter::<libc::sigset_t>(queued, 0, flags, None) });
        self.untold = 0;
    }

    /// The same, and waits for one end, so long at most.
    pub(super) fn wait(&mut self, length: Nanos) {
        self.wait_until(1, &timespec(length));
    }

    /// The same, and waits for so many ends, for [`GUARD`] at most, as a rule.
    ///
    /// A timeout in each call would cost more than the waiting saves, for on a virtual machine to
    /// set a timer and to take it back are calls to the host. So one timer is set now and then and
    /// left: it ends whatever wait it meets. One that runs out as a wait begins ends none: for that
    /// there is a timeout after all. Behind the other it is nobody's next, and the host is not
    /// asked.
    pub(super) fn wait_for(&mut self, ends: u32) {
        if !self.is_guarded {
            let guard = opcode::Timeout::new(&raw const GUARD_LENGTH).build();
            self.push(&guard.user_data(GUARD_MARK.number()));
            self.is_guarded = true;
        }
        self.wait_until(ends, &BEHIND_GUARD);
    }

    fn wait_until(&mut self, ends: u32, length: &Timespec) {
        let arguments = SubmitArgs::new().timespec(length);
        passes(self.ring.submitter().submit_with_args(ends as usize, &arguments));
        self.untold = 0;
    }

    /// Operations have ended that a call would tell of: read from memory.
    pub(super) fn has_news(&mut self) -> bool {
        self.ring.submission().taskrun()
    }

    /// Takes a batch from the completion queue.
    pub(super) fn take_batch(&mut self) {
        for entry in self.ring.completion().take(BATCH) {
            match Mark::from_number(entry.user_data()).what {
                What::Guard => self.is_guarded = false,
                _ => self.batch.push_back(entry),
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<cqueue::Entry> {
        self.batch.pop_front()
    }

    /// How many of the batch are of bytes that came, or of their end.
    pub(super) fn answers(&self) -> u32 {
        let came = self.batch.iter().filter(|entry| entry.result() >= 0);
        let whats = came.map(|entry| Mark::from_number(entry.user_data()).what);
        whats.filter(|what| *what == What::Receive).count() as u32
    }
}

const fn timespec(length: Nanos) -> Timespec {
    let nanoseconds = (length.0 % Nanos::SECOND.0) as u32;
    Timespec::new().sec(length.0 / Nanos::SECOND.0).nsec(nanoseconds)
}

/// Time is over; interrupted; no memory or no room just now, so ask again: the caller looks at the
/// clock and comes back. Any other error would be a wrong argument: ours.
fn passes(entered: io::Result<usize>) {
    let Err(error) = entered else { return };
    let passing = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY];
    let known = error.raw_os_error().is_some_and(|errno| passing.contains(&errno));
    assert!(known, "io_uring refuses our own arguments: {error}");
}

const GUARD_MARK: Mark = Mark { slot: Slot(0), connection: 0, what: What::Guard };
/// For as long as this answers may be held back by those that do not come. It happens where the
/// server stands still, to fewer answers than then wait for the server.
pub(super) const GUARD: Nanos = Nanos::from_millis(1);
/// Read by the kernel.
static GUARD_LENGTH: Timespec = timespec(GUARD);
/// Later than any guard that was set before.
static BEHIND_GUARD: Timespec = timespec(Nanos::from_millis(2));
/// Operations that the kernel is told of at once; more take a call in between.
const SUBMISSIONS: u32 = 256;
/// Ends that wait for us; more are kept by the kernel, at a cost.
const COMPLETIONS: u32 = 4096;
/// Ends taken at once, or twice in a row: they share one reading of the clock, so they must be
/// short work.
const BATCH: usize = 64;
/// Sends that may wait for others: each takes some 3 µs, and the first of them has been
/// called started already.
const UNTOLD_MAX: u32 = 8;
/// Until a full submission queue is our bug: each try empties it, unless memory is short.
const TRIES: u32 = 1_000;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;

    /// As where the timer runs out between the last look and the kernel's own.
    #[test]
    fn a_wait_ends_though_its_timer_is_gone() {
        let (to_us, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let mut ring = Ring::new().unwrap();
            ring.is_guarded = true;
            let start = Instant::now();
            ring.wait_for(2);
            let _ = to_us.send(start.elapsed());
        });
        let lasted = ended.recv_timeout(Duration::from_secs(10)).expect("it ends");
        assert!(lasted >= Duration::from_millis(2), "{lasted:?}");
    }
}
