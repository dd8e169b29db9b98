//! Wraps the few system calls that neither std nor rustix offers.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::{Pid, Signal};

use super::private_mounts::PrivateMounts;

/// Signal numbers to reset: 1 to 64 on Linux. The kernel returns an error for signals that cannot
/// be reset.
const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;

/// Blocks every signal for this thread. Fork and exec inherit the mask. Only its peers end a
/// keeper: Ctrl-C, or a service manager that signals the whole group, does not.
pub(super) fn block_signals() {
    set_mask(libc::sigfillset);
}

/// Unblocks every signal. Async-signal-safe.
pub(super) fn unblock_signals() {
    set_mask(libc::sigemptyset);
}

fn set_mask(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> i32) {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `fill` initialises the whole set, and the second call only reads it. The old set may
    // be null. Neither call fails with these arguments.
    unsafe {
        fill(set.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Sets every signal to its default action. Async-signal-safe. Otherwise a signal that the parent
/// ignored would stay ignored after exec: `nohup` ignores SIGHUP, and Rust ignores SIGPIPE.
pub(super) fn default_signals() {
    // The kernel's `struct sigaction` has at most 32 bytes. All zero means SIG_DFL without flags.
    let default = [0_u64; 8];
    let mask_bytes = 8_usize;
    for signal in SIGNALS {
        // `signal(3)` cannot be used: glibc reserves 32 and 33 and refuses to reset them, even if a
        // parent ignored them. SAFETY: the kernel only reads the zeroed structure, and no handler
        // is installed. For signals that may not be changed the call only fails.
        unsafe {
            let none = std::ptr::null_mut::<u64>();
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), none, mask_bytes);
        }
    }
}

/// Returns a descriptor that is readable whenever a child has ended. SIGCHLD must be blocked.
pub(super) fn child_signals() -> io::Result<OwnedFd> {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before it is used. -1 asks for a new descriptor,
    // which nobody else owns.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Marks every descriptor from 3 on as close-on-exec. A descriptor that our caller left open, such
/// as make's job server or a log, must not reach the runtime.
pub(super) fn close_on_exec_all() {
    // SAFETY: the call only sets a flag on descriptors. It closes none now.
    let marked =
        unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked != 0 {
        close_on_exec_each();
    }
}

/// The same one by one: before Linux 5.11, or where a seccomp profile is older than the call.
fn close_on_exec_each() {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let descriptors = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    for descriptor in descriptors.filter(|descriptor| *descriptor > 2) {
        // SAFETY: the call only sets a flag. A descriptor that is closed by now is an error.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// How an init is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpawnMode {
    /// With a new PID and IPC namespace, and a mount namespace for directories in memory.
    Namespaces,
    /// With a user namespace too. User and group are the same inside as outside.
    UserNamespaces,
    /// As an ordinary child.
    Plain,
}

impl SpawnMode {
    fn flags(self) -> libc::c_int {
        let namespaces = libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
        match self {
            SpawnMode::Namespaces => namespaces,
            SpawnMode::UserNamespaces => namespaces | libc::CLONE_NEWUSER,
            SpawnMode::Plain => 0,
        }
    }
}

/// Forks into new namespaces and executes our own binary with `args`. The child has `control` as
/// its standard input and no environment. With namespaces it makes `mounts`. The caller must have only
/// one thread.
///
/// A child that fails sends no message: `control` closes.
pub(super) fn spawn_init(
    spawn_mode: SpawnMode,
    mounts: &PrivateMounts,
    args: &[&str],
    control: &OwnedFd,
) -> io::Result<Pid> {
    let args: Vec<CString> = args.iter().map(|arg| CString::new(*arg)).collect::<Result<_, _>>()?;
    let mut argv: Vec<*const libc::c_char> = args.iter().map(|arg| arg.as_ptr()).collect();
    argv.push(std::ptr::null());
    let envp: [*const libc::c_char; 1] = [std::ptr::null()];
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    let maps = Maps { uid: format!("{uid} {uid} 1"), gid: format!("{gid} {gid} 1") };

    // Calls clone(2) as fork does. There is no stack argument, so the child runs on a copy of ours.
    // All arguments but the flags are zero, so their order, which differs by architecture, does not
    // matter. SAFETY: this process is the keeper and has only one thread, so the child finds no
    // lock held. The child makes only system calls until it executes or exits.
    let pid =
        unsafe { libc::syscall(libc::SYS_clone, spawn_mode.flags() | libc::SIGCHLD, 0, 0, 0, 0) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid == 0 {
        become_init(spawn_mode, mounts, &maps, control.as_raw_fd());
        // SAFETY: both arrays end with null and outlive the call. `/proc/self/exe` is this very
        // binary, even if its file was replaced since.
        unsafe {
            libc::execve(c"/proc/self/exe".as_ptr(), argv.as_ptr(), envp.as_ptr());
            libc::_exit(1);
        }
    }
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("clone returned no pid"))
}

struct Maps {
    uid: String,
    gid: String,
}

/// Runs in the child. Maps user and group, ties the child's life to its parent's, makes the mounts,
/// and makes `control` its standard input. The mounts come before exec, which takes an ordinary user's
/// rights away.
fn become_init(spawn_mode: SpawnMode, mounts: &PrivateMounts, maps: &Maps, control: RawFd) {
    let mapped = match spawn_mode {
        SpawnMode::UserNamespaces => {
            // user_namespaces(7): without privilege outside, `setgroups` must be denied before the
            // group map may be written.
            write_file(c"/proc/self/setgroups", "deny")
                && write_file(c"/proc/self/uid_map", &maps.uid)
                && write_file(c"/proc/self/gid_map", &maps.gid)
        }
        SpawnMode::Namespaces | SpawnMode::Plain => true,
    };
    // Done after the maps, because a change of identity clears the parent-death signal. A plain
    // init gets no such signal: it must live on to end the other processes.
    if spawn_mode != SpawnMode::Plain {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    }
    let mounted = spawn_mode == SpawnMode::Plain || mounts.make();
    // SAFETY: dup2 replaces our own standard input, and `_exit` ends only this child.
    unsafe {
        if !mapped || !mounted || libc::dup2(control, 0) < 0 {
            libc::_exit(1);
        }
    }
}

/// Writes a small file. It does not use std's file type, because nothing here may allocate.
fn write_file(path: &std::ffi::CStr, text: &str) -> bool {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| rustix::io::write(&file, text.as_bytes()))
        .is_ok_and(|written| written == text.len())
}

/// Moves our standard input to a descriptor of its own, and puts `/dev/null` in its place.
pub(super) fn take_stdin() -> io::Result<OwnedFd> {
    let taken = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(taken)
}
