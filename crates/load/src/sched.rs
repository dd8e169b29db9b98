//! What a load thread asks of the kernel: its CPU back soon, and calls that are cheap.

use std::num::NonZeroU64;
use std::time::Duration;
use std::{fs, thread};

/// Timers on time, and a short slice: for the calling thread alone, which keeps its nice value.
///
/// Timers are late on purpose otherwise: 50 µs of slack is what threads begin with (prctl(2),
/// `PR_SET_TIMERSLACK`). A short slice of its own is what lets a waking thread interrupt another
/// before that one's slice is over (Linux 6.12, `PREEMPT_SHORT` of EEVDF), and anybody may ask
/// for it.
pub(crate) fn soon() {
    // Where that fails, sleeps are a little later, and the clock learns by how much.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    if is_ordinary() {
        let _ = set(current_nice());
    }
}

/// Asks for the CPU as soon as possible, where our rights allow (a nice value below 0): on one of
/// its own a request is not to wait for another program. Not a real-time class: it would shut out
/// the rest of stampede while a closed load keeps this thread busy.
pub(crate) fn at_once() {
    if is_ordinary() {
        let _ = set(FIRST);
    }
}

/// Our session's place before others, for as long as this is held.
///
/// Where the kernel groups programs by sessions (`CONFIG_SCHED_AUTOGROUP`, sched(7); Debian's
/// does), a nice value counts among those of one session only, and this one among sessions.
#[derive(Debug)]
pub(crate) struct SessionFirst {
    before: i32,
}

impl SessionFirst {
    /// `None`: it is there already, our rights do not allow it, or there are no groups.
    pub(crate) fn take() -> Option<SessionFirst> {
        let before = nice_in(&fs::read_to_string(SESSION).ok()?)?;
        let is_behind = before > FIRST;
        (is_behind && fs::write(SESSION, FIRST.to_string()).is_ok())
            .then_some(SessionFirst { before })
    }
}

impl Drop for SessionFirst {
    fn drop(&mut self) {
        // Without all rights it may be set ten times a second at most.
        for _ in 0..3 {
            if fs::write(SESSION, self.before.to_string()).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// `/autogroup-25 nice 0`
fn nice_in(text: &str) -> Option<i32> {
    text.trim().rsplit_once(" nice ")?.1.parse().ok()
}

/// Whether nobody chose a class for us (`chrt`): who does knows why.
fn is_ordinary() -> bool {
    // SAFETY: reads a number of the calling thread.
    unsafe { libc::sched_getscheduler(0) == libc::SCHED_OTHER }
}

/// As we were started, with `nice` or without.
fn current_nice() -> i32 {
    // SAFETY: reads a number of the calling thread; -1 is also an error's, which it cannot have.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Gives the calling thread a table of descriptors of its own, with standard input, output and
/// error in it: where others share it, the kernel counts references at each call.
pub(crate) fn own_descriptors() {
    // SAFETY: only this thread loses what the others opened, and it was handed none of it.
    let _ = unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE)
    };
}

fn set(nice: i32) -> std::io::Result<()> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        nice,
        runtime: SLICE_NS,
        ..Attributes::default()
    };
    // SAFETY: `attributes` is the kernel's `struct sched_attr` of `size` bytes and outlives
    // the call, which only reads it; pid 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// `struct sched_attr` in its first published size of 48 bytes (sched_setattr(2)).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const SESSION: &str = "/proc/self/autogroup";
/// The nicest to ourselves that there is.
const FIRST: i32 = -20;
/// The shortest slice that the kernel takes: 0.1 ms. Older kernels ignore it.
const SLICE_NS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_where_it_was_afterwards() {
        assert_eq!(nice_in("/autogroup-25 nice -20\n"), Some(-20));
        assert_eq!(nice_in(""), None);
        let nice = || fs::read_to_string(SESSION).ok().and_then(|text| nice_in(&text));
        let before = nice();
        if let Some(first) = SessionFirst::take() {
            assert_eq!((nice(), Some(first.before)), (Some(FIRST), before));
        }
        assert_eq!(nice(), before);
    }

    #[test]
    fn the_kernel_takes_what_we_ask_for() {
        // In a thread of its own: the test runner's are not ours to change.
        let taken = std::thread::spawn(|| set(current_nice())).join().expect("no panic");
        taken.expect("a slice takes no rights");
        assert_eq!(size_of::<Attributes>(), 48);
    }
}
