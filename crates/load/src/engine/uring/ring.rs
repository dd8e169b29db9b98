//! The two queues that we share with the kernel, and the one call that serves both.

use std::collections::VecDeque;
use std::io;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Submitter, cqueue, opcode, squeue};
use stampede_model::time::Nanos;

use super::mark::{OpKind, UserData};
use crate::engine::Token;

pub(super) struct Ring {
    ring: IoUring,
    /// Entries taken from the completion queue.
    batch: VecDeque<cqueue::Entry>,
    /// Sends that were not submitted to the kernel yet.
    unsubmitted: u32,
    /// Whether the timer that ends waits for several completions is armed, as far as we have seen.
    is_guarded: bool,
}

impl Ring {
    /// # Errors
    /// The kernel is too old (`EINVAL`, `ENOSYS`), or io_uring is not allowed here (`EPERM`).
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
        Ok(Ring { ring, batch, unsubmitted: 0, is_guarded: false })
    }

    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
    }

    /// Queues an operation; it is submitted with the next call.
    pub(super) fn push(&mut self, entry: &squeue::Entry) {
        for _ in 0..TRIES {
            // SAFETY: entries are made in this directory. What they point to is either static, or
            // the `flying` bytes of a place or an orphan. Those stay where they are until the
            // completion was seen or the ring is gone.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return;
            }
            self.submit();
        }
        panic!("the kernel takes no operations");
    }

    /// Queues a send. A few sends are collected before they are submitted.
    pub(super) fn push_send(&mut self, entry: &squeue::Entry) {
        self.push(entry);
        self.unsubmitted += 1;
        if self.unsubmitted >= UNSUBMITTED_MAX {
            self.submit();
        }
    }

    /// Submits what is queued and lets the kernel do its work, without waiting. Completions of
    /// bytes that arrived during the sends are there afterwards. Makes no call if neither is
    /// needed.
    pub(super) fn submit(&mut self) {
        let queue = self.ring.submission();
        let queued = queue.len() as u32;
        if queued == 0 && !queue.taskrun() && !queue.cq_overflow() {
            return;
        }
        drop(queue);
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: `queued` operations are queued, and the call has no other argument that could be
        // wrong.
        ignore_transient_errors(unsafe {
            self.ring.submitter().enter::<libc::sigset_t>(queued, 0, flags, None)
        });
        self.unsubmitted = 0;
    }

    /// Like `submit`, and waits for one completion, at most for `length`.
    pub(super) fn wait(&mut self, length: Nanos) {
        self.wait_until(1, &timespec(length));
    }

    /// Like `submit`, and waits for `ends` completions, normally at most for [`GUARD`].
    ///
    /// A timeout per call would cost more than the waiting saves: on a virtual machine, setting and
    /// cancelling a timer are calls to the host. So one timer of 1 ms stays armed across waits, and
    /// ends whatever wait it meets. It may expire just before a wait begins, and then does not end
    /// it. So each wait also has a timeout of 2 ms. That one is never the next timer to expire, so
    /// the host is not called for it.
    pub(super) fn wait_for(&mut self, ends: u32) {
        if !self.is_guarded {
            let guard = opcode::Timeout::new(&raw const GUARD_LENGTH).build();
            self.push(&guard.user_data(GUARD_USER_DATA.number()));
            self.is_guarded = true;
        }
        self.wait_until(ends, &FALLBACK_TIMEOUT);
    }

    fn wait_until(&mut self, ends: u32, length: &Timespec) {
        let arguments = SubmitArgs::new().timespec(length);
        ignore_transient_errors(self.ring.submitter().submit_with_args(ends as usize, &arguments));
        self.unsubmitted = 0;
    }

    /// Whether operations have ended whose completions a call would deliver. Read from shared
    /// memory.
    pub(super) fn has_completions(&mut self) -> bool {
        self.ring.submission().taskrun()
    }

    /// Takes a batch from the completion queue.
    pub(super) fn take_batch(&mut self) {
        for entry in self.ring.completion().take(BATCH) {
            match UserData::from_number(entry.user_data()).kind {
                OpKind::Guard => self.is_guarded = false,
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

    /// How many completions of the batch are received bytes, or the end of a connection.
    pub(super) fn answers(&self) -> u32 {
        let came = self.batch.iter().filter(|entry| entry.result() >= 0);
        let kinds = came.map(|entry| UserData::from_number(entry.user_data()).kind);
        kinds.filter(|kind| *kind == OpKind::Receive).count() as u32
    }
}

const fn timespec(length: Nanos) -> Timespec {
    let nanoseconds = (length.0 % Nanos::SECOND.0) as u32;
    Timespec::new().sec(length.0 / Nanos::SECOND.0).nsec(nanoseconds)
}

/// Accepts errors that pass: time over, interrupted, or no memory or room just now. The caller
/// reads the clock and comes back. Any other error is an invalid argument, which is our bug.
fn ignore_transient_errors(entered: io::Result<usize>) {
    let Err(error) = entered else { return };
    let passing = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY];
    let known = error.raw_os_error().is_some_and(|errno| passing.contains(&errno));
    assert!(known, "io_uring refuses our own arguments: {error}");
}

const GUARD_USER_DATA: UserData = UserData { token: Token(0), generation: 0, kind: OpKind::Guard };
/// How long answers may be held back by others that do not arrive. This happens when the server
/// stands still, and delays fewer answers than those that then wait for the server.
pub(super) const GUARD: Nanos = Nanos::from_millis(1);
/// Read by the kernel.
static GUARD_LENGTH: Timespec = timespec(GUARD);
/// Expires after any guard that was armed before.
static FALLBACK_TIMEOUT: Timespec = timespec(Nanos::from_millis(2));
/// Operations submitted at once; more need another call.
const SUBMISSIONS: u32 = 256;
/// Completions that wait for us; the kernel keeps further ones, at a cost.
const COMPLETIONS: u32 = 4096;
/// Completions taken at once; up to two batches may follow each other. A batch shares one reading
/// of the clock, so it must be short work.
const BATCH: usize = 64;
/// Sends that may wait for each other. Each takes some 3 µs, and the first one already counts as
/// started.
const UNSUBMITTED_MAX: u32 = 8;
/// After so many tries, a full submission queue is our bug: each try empties it, unless memory is
/// short.
const TRIES: u32 = 1_000;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;

    /// As if the timer expired between our last look and the kernel's own.
    #[test]
    fn a_wait_ends_even_if_its_timer_has_expired_before() {
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
