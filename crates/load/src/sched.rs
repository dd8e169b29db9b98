//! Scheduler hints for load threads: timer slack, EEVDF slice, nice value and a private descriptor
//! table.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Makes timers exact and the time slice short, for the calling thread alone, which keeps its nice
/// value.
///
/// By default the kernel delays timers: threads begin with 50 µs of slack (prctl(2),
/// `PR_SET_TIMERSLACK`). A short slice lets a waking thread preempt another one before that one's
/// slice is over (Linux 6.12, `PREEMPT_SHORT` of EEVDF). No privilege is needed for it.
pub(crate) fn reduce_wakeup_delay() {
    // If this fails, sleeps end a little later, and the clock learns by how much.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    if is_ordinary() {
        let _ = set(current_nice());
    }
}

/// Pins the calling thread.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}

/// Asks for the CPU as soon as possible, where we are permitted to (a nice value below 0). On a CPU
/// of its own, a request must not wait for another program. Not a real-time class: it would lock
/// out the rest of stampede while a closed load keeps this thread busy.
///
/// Where the kernel groups programs by session (`CONFIG_SCHED_AUTOGROUP`, sched(7)), a nice value
/// counts only within our session. The session's own value is not raised: that would also favour a
/// server that was started from the same shell, and would stay so if stampede is killed.
pub(crate) fn raise_priority() {
    if is_ordinary() {
        let _ = set(HIGHEST_PRIORITY);
    }
}

/// Whether the thread has the default scheduling class. If somebody chose another one (`chrt`), we
/// leave it.
fn is_ordinary() -> bool {
    class() == libc::c_long::from(libc::SCHED_OTHER)
}

/// The scheduling class of the thread. Not by musl's function, which only fails.
fn class() -> libc::c_long {
    // SAFETY: reads a number of the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }
}

/// The nice value that we were started with.
fn current_nice() -> i32 {
    // SAFETY: reads a number of the calling thread. -1 may also mean an error, which cannot happen
    // here.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Gives the calling thread its own descriptor table, which contains only standard input, output
/// and error. Where threads share a table, the kernel counts references in each call.
pub(crate) fn unshare_descriptors() {
    // SAFETY: only this thread loses the descriptors that others opened, and it was given none of
    // them. It must drop no descriptor that another thread opened, because in this table the number
    // may belong to another file. Engines are created after this call, and a load thread owns no
    // other descriptor.
    let _ = unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE)
    };
}

fn set(nice: i32) -> io::Result<()> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        nice,
        runtime: SLICE_NS,
        ..Attributes::default()
    };
    // SAFETY: `attributes` is the kernel's `struct sched_attr` of `size` bytes and outlives the
    // call, which only reads it; pid 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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

const _: () = assert!(size_of::<Attributes>() == 48);

/// The highest priority that a nice value can give.
const HIGHEST_PRIORITY: i32 = -20;
/// The shortest slice that the kernel accepts: 0.1 ms. Older kernels ignore it.
const SLICE_NS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_takes_what_we_ask_for() {
        // In its own thread, because the test runner's threads must not change.
        let taken = std::thread::spawn(|| set(current_nice())).join().expect("no panic");
        taken.expect("a slice takes no rights");
    }

    #[test]
    fn the_class_is_that_of_the_calling_thread() {
        let of_thread = |work: fn()| {
            let thread = std::thread::spawn(move || {
                work();
                (is_ordinary(), class())
            });
            thread.join().expect("the thread ends")
        };
        assert_eq!(of_thread(|| ()), (true, libc::SCHED_OTHER.into()));
        let idle = of_thread(become_idle);
        assert_eq!(idle, (false, libc::SCHED_IDLE.into()));
        assert!(is_ordinary(), "another thread keeps its class");
    }

    fn become_idle() {
        // The kernel's `struct sched_param` is one number. musl's function of this name only fails,
        // because POSIX means the whole process.
        let (call, priority) = (libc::SYS_sched_setscheduler, 0_i32);
        // SAFETY: `priority` outlives the call, which only reads it; pid 0 is the calling thread.
        let result = unsafe { libc::syscall(call, 0, libc::SCHED_IDLE, &raw const priority) };
        assert_eq!(result, 0, "every thread may be idle");
    }
}
