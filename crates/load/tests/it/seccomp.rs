//! Makes a system call fail, as the seccomp profiles of containers and services do.

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W};

/// A system call that is refused.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    pub call: libc::c_long,
    /// Refused only with this second argument; `None`: always.
    pub operation: Option<u32>,
    pub errno: i32,
}

impl Refused {
    pub fn always(call: libc::c_long, errno: i32) -> Refused {
        Refused { call, operation: None, errno }
    }
}

/// Does the work in a thread for which, and for all threads that it starts, the call is refused. A
/// filter cannot be removed, so it must not be set in a thread that others use.
pub fn with_refused<T: Send>(refused: Refused, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            refuse(refused);
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn refuse(Refused { call, operation, errno }: Refused) {
    let step = |code: u32, (jump_true, jump_false), value| libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k: value,
    };
    let (load, equals) = (BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K);
    // Offsets in `struct seccomp_data`, of little endian.
    let (offset, value) = operation.map_or((CALL, call as u32), |value| (SECOND_ARGUMENT, value));
    let mut steps = [
        step(load, (0, 0), CALL),
        step(equals, (0, 2), call as u32),
        step(load, (0, 0), offset),
        step(equals, (1, 0), value),
        step(BPF_RET | BPF_K, (0, 0), libc::SECCOMP_RET_ALLOW),
        step(BPF_RET | BPF_K, (0, 0), libc::SECCOMP_RET_ERRNO | errno as u32),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the arguments are only numbers.
    let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the kernel copies the filter during the call.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    assert_eq!((promised, set), (0, 0), "{}", std::io::Error::last_os_error());
}

const CALL: u32 = 0;
const SECOND_ARGUMENT: u32 = 24;
