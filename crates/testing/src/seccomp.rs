//! Makes system calls fail, as an older kernel does, or the seccomp profile of a container or a
//! service.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

/// A system call that is refused.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// The call's number.
    pub call: libc::c_long,
    /// Refused only with this second argument; `None`: always.
    pub operation: Option<u32>,
    /// The error number that it ends with.
    pub errno: i32,
}

impl Refused {
    /// The call is refused whatever its arguments are.
    pub fn always(call: libc::c_long, errno: i32) -> Refused {
        Refused { call, operation: None, errno }
    }

    /// The steps of the filter for this call. The call's number is loaded before and after them.
    fn steps(self) -> Vec<sock_filter> {
        let (call, error) = (self.call as u32, libc::SECCOMP_RET_ERRNO | self.errno as u32);
        match self.operation {
            None => vec![step(EQUALS, (0, 1), call), step(RETURN, (0, 0), error)],
            Some(operation) => vec![
                step(EQUALS, (0, 4), call),
                step(LOAD, (0, 0), SECOND_ARGUMENT),
                step(EQUALS, (0, 1), operation),
                step(RETURN, (0, 0), error),
                step(LOAD, (0, 0), CALL),
            ],
        }
    }
}

/// What the kernel of Debian 10 (4.19), and of an older Ubuntu or a NAS, does not have.
pub fn of_old_kernel() -> Vec<Refused> {
    let missing = [
        libc::SYS_epoll_pwait2,
        libc::SYS_clone3,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_pidfd_getfd,
        libc::SYS_openat2,
        libc::SYS_close_range,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ];
    missing.map(|call| Refused::always(call, libc::ENOSYS)).to_vec()
}

/// Does the work in a thread for which, and for all threads and processes that it starts, the call
/// is refused. A filter cannot be removed, so it must not be set in a thread that others use.
///
/// # Panics
/// If the work panics, or the kernel takes no filter.
pub fn with_refused<T: Send>(refused: Refused, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            set(&mut filter(&[refused])).expect("a filter");
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Lets the calls be refused in the program that the command starts, and in all that it starts.
pub fn refuse_in(command: &mut Command, refused: &[Refused]) {
    let mut filter = filter(refused);
    // SAFETY: the child makes two system calls and allocates nothing.
    unsafe { command.pre_exec(move || set(&mut filter)) };
}

fn filter(refused: &[Refused]) -> Vec<sock_filter> {
    let mut steps = vec![step(LOAD, (0, 0), CALL)];
    steps.extend(refused.iter().flat_map(|one| one.steps()));
    steps.push(step(RETURN, (0, 0), libc::SECCOMP_RET_ALLOW));
    steps
}

fn set(steps: &mut [sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the arguments are only numbers.
    let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the kernel copies the filter during the call.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    if (promised, set) == (0, 0) { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn step(code: u32, (jump_true, jump_false): (u8, u8), value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: jump_true, jf: jump_false, k: value }
}

const LOAD: u32 = BPF_LD | BPF_W | BPF_ABS;
const EQUALS: u32 = BPF_JMP | BPF_JEQ | BPF_K;
const RETURN: u32 = BPF_RET | BPF_K;
/// Offsets in `struct seccomp_data`, of little endian.
const CALL: u32 = 0;
const SECOND_ARGUMENT: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn errno(result: libc::c_long) -> i32 {
        if result >= 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(-1) }
    }

    #[test]
    fn a_call_is_refused_and_others_are_not() {
        let refused = [
            Refused::always(libc::SYS_getpid, libc::ENOSYS),
            Refused { call: libc::SYS_kill, operation: Some(0), errno: libc::ENOTSUP },
            Refused::always(libc::SYS_getuid, libc::EPERM),
        ];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                set(&mut filter(&refused)).expect("a filter");
                // SAFETY: the calls have numbers only. Signal 0 and signal 65 end nothing.
                let ends = unsafe {
                    [
                        errno(libc::syscall(libc::SYS_getpid)),
                        errno(libc::syscall(libc::SYS_kill, 0, 0)),
                        errno(libc::syscall(libc::SYS_kill, 0, 65)),
                        errno(libc::syscall(libc::SYS_getuid)),
                        errno(libc::syscall(libc::SYS_getppid)),
                    ]
                };
                assert_eq!(ends, [libc::ENOSYS, libc::ENOTSUP, libc::EINVAL, libc::EPERM, 0]);
            });
        });
    }

    #[test]
    fn a_program_gets_the_filter() {
        let mut command = Command::new("uname");
        refuse_in(&mut command, &[Refused::always(libc::SYS_uname, libc::EPERM)]);
        assert!(!command.output().expect("it starts").status.success());
        assert!(Command::new("uname").output().expect("it starts").status.success());
    }
}
