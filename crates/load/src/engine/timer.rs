//! Ends waits of epoll to the ns: by `epoll_pwait2`, or by a timer where that call cannot be used.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use stampede_model::time::Nanos;

use super::socket::last_errno;

/// A timer that epoll watches. It costs one more system call per wait.
#[derive(Debug)]
pub(super) struct Timer {
    fd: OwnedFd,
    /// When it is set to expire, on the load's clock; `None` after it has expired.
    pub(super) at: Option<Nanos>,
}

impl Timer {
    pub(super) fn new(poll: &OwnedFd) -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let edge = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(poll, &fd, epoll::EventData::new_u64(TIMER), edge)?;
        Ok(Timer { fd, at: None })
    }

    pub(super) fn set(&mut self, until: Nanos, length: Timespec) {
        if self.at != Some(until) {
            let once = Itimerspec { it_interval: AT_ONCE, it_value: length };
            let set = timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once);
            set.expect("a positive time below an hour is accepted");
            self.at = Some(until);
        }
    }
}

/// Calls `epoll_pwait2`, whose timeout is in ns; the older calls have ms. Not through rustix, which
/// may round it to ms.
///
/// # Errors
/// `ENOSYS` before Linux 5.11, or what a seccomp profile answers instead; `EINTR`.
pub(super) fn wait_exactly(
    poll: &OwnedFd,
    events: &mut Vec<epoll::Event>,
    timeout: Timespec,
) -> Result<(), Errno> {
    events.clear();
    let (at, room) = (events.as_mut_ptr(), events.capacity());
    let (timeout, mask) = (&raw const timeout, std::ptr::null::<libc::sigset_t>());
    let call = libc::SYS_epoll_pwait2;
    // SAFETY: the kernel writes at most `room` events from `at` on and reads the timeout; rustix's
    // types are the kernel's, see below. No signal mask.
    let count = unsafe { libc::syscall(call, poll.as_raw_fd(), at, room, timeout, mask, 0) };
    let Ok(count) = usize::try_from(count) else {
        return Err(last_errno());
    };
    // SAFETY: `count` events were written, and there were none before.
    unsafe { events.set_len(count) };
    Ok(())
}

/// A length in the kernel's form.
pub(super) fn timespec(length: Nanos) -> Timespec {
    let (seconds, nanoseconds) = (length.0 / Nanos::SECOND.0, length.0 % Nanos::SECOND.0);
    Timespec { tv_sec: seconds as i64, tv_nsec: nanoseconds as _ }
}

const _: () = assert!(
    size_of::<epoll::Event>() == size_of::<libc::epoll_event>()
        && align_of::<epoll::Event>() == align_of::<libc::epoll_event>()
        && offset_of!(epoll::Event, data) == offset_of!(libc::epoll_event, u64)
);
// `struct __kernel_timespec`: twice 64 bits, also on a CPU of 32 bits.
const _: () = assert!(size_of::<Timespec>() == 16 && offset_of!(Timespec, tv_nsec) == 8);

pub(super) const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// The timer's token among the events; no slot has this number.
pub(super) const TIMER: u64 = u64::MAX;
