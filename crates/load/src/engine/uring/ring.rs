//! The two queues that we share with the kernel, and the one call that serves both.

use std::collections::VecDeque;
use std::io;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Submitter, cqueue, squeue};
use rustix::io::Errno;
use stampede_model::time::Nanos;

pub(super) struct Ring {
    ring: IoUring,
    /// Entries taken from the completion queue.
    batch: VecDeque<cqueue::Entry>,
    /// Sends that were not submitted to the kernel yet.
    unsubmitted: u32,
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
        let batch = VecDeque::with_capacity(BATCH);
        Ok(Ring { ring, batch, unsubmitted: 0 })
    }

    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
    }

    /// Queues an operation; it is submitted with the next call.
    ///
    /// # Errors
    /// `ENOMEM`: the queue is full, and the kernel has no memory to take anything from it.
    pub(super) fn push(&mut self, entry: &squeue::Entry) -> Result<(), Errno> {
        for _ in 0..TRIES {
            // SAFETY: entries are made in this directory. What they point to is either static, or
            // the `in_kernel` bytes of a slot or an orphan. Those stay where they are until the
            // completion was seen or the ring is gone. Closing a ring does not wait for its
            // operations. But with `DEFER_TASKRUN` the kernel continues an operation only inside
            // our own `enter`. After the last one, what is left is cancelled and touches no memory.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit();
        }
        Err(Errno::NOMEM)
    }

    /// Queues a send. A few sends are collected before they are submitted.
    ///
    /// # Errors
    /// See `push`.
    pub(super) fn push_send(&mut self, entry: &squeue::Entry) -> Result<(), Errno> {
        self.push(entry)?;
        self.unsubmitted += 1;
        if self.unsubmitted >= UNSUBMITTED_MAX {
            self.submit();
        }
        Ok(())
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
        let length = timespec(length);
        let arguments = SubmitArgs::new().timespec(&length);
        ignore_transient_errors(self.ring.submitter().submit_with_args(1, &arguments));
        self.unsubmitted = 0;
    }

    /// Whether operations have ended whose completions a call would deliver. Read from shared
    /// memory.
    pub(super) fn has_completions(&mut self) -> bool {
        self.ring.submission().taskrun()
    }

    /// Takes a batch from the completion queue.
    pub(super) fn take_batch(&mut self) {
        self.batch.extend(self.ring.completion().take(BATCH));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<cqueue::Entry> {
        self.batch.pop_front()
    }
}

fn timespec(length: Nanos) -> Timespec {
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

/// Operations submitted at once; more need another call.
const SUBMISSIONS: u32 = 256;
/// Completions that wait for us; the kernel keeps further ones, at a cost.
const COMPLETIONS: u32 = 4096;
/// Completions taken at once. A batch shares one reading
/// of the clock, so it must be short work.
const BATCH: usize = 64;
/// Sends that may wait for each other. Each takes some 3 µs, and the first one already counts as
/// started.
const UNSUBMITTED_MAX: u32 = 8;
/// Each try empties a full submission queue, unless the kernel's memory is short. A few µs later
/// that rarely has changed.
const TRIES: u32 = 16;
