//! Finds free ports before a start, and the processes that listen on a port after it.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use stampede_linux::proc::{Proc, socket_inode};
pub use stampede_linux::process::is_alive;
use stampede_linux::{cgroup, process};
use stampede_model::process_group::{Accounting, ProcessGroup, RoleGroup};
use stampede_monitor::matches_pattern;

use crate::error::RuntimeError;

/// A free port of this address: the given one, or any. It is free only at this moment: another program may take it
/// before the runtime does. So the listener is checked after the start.
///
/// # Errors
/// The given port is in use. The error names the process if it can be seen.
pub fn free_port(host: Ipv4Addr, given: Option<u16>) -> Result<u16, RuntimeError> {
    let Some(port) = given else { return another_free_port(host, &[]) };
    can_bind(host, port).map_err(|_| {
        let by = listeners(port).first().map_or(String::new(), |listener| {
            format!(" by process `{}` (pid {})", listener.name, listener.pid)
        });
        RuntimeError::PortTaken { port, by }
    })
}

/// A free port that is none of `taken`; those are free, too, as long as nobody listens.
///
/// The port is chosen below the range that the kernel gives to outgoing connections, if one is free
/// there. Such a port cannot be taken by a connection before the runtime listens.
///
/// # Errors
/// No port is free.
pub fn another_free_port(host: Ipv4Addr, taken: &[u16]) -> Result<u16, RuntimeError> {
    let below = ephemeral().saturating_sub(LOWEST);
    let candidates = (0..below).map(|_| candidate(below));
    let by_kernel = std::iter::repeat_n(0, 100);
    candidates
        .chain(by_kernel)
        .filter_map(|port| can_bind(host, port).ok())
        .find(|port| !taken.contains(port))
        .ok_or(RuntimeError::PortTaken { port: 0, by: String::new() })
}

/// The lowest port that is chosen; lower ones belong to well-known services.
const LOWEST: u16 = 20_000;

/// Binds the port to see whether it is free, and returns it; for 0, one that the kernel chooses.
fn can_bind(host: Ipv4Addr, port: u16) -> io::Result<u16> {
    // std sets SO_REUSEADDR, so a port with connections in TIME_WAIT does not count as taken.
    let listener = TcpListener::bind((host, port))?;
    Ok(listener.local_addr()?.port())
}

/// The first port of the range that the kernel gives to outgoing connections.
fn ephemeral() -> u16 {
    Proc::default().ports().map_or(LOWEST, |(first, _)| first)
}

/// Ports of a range in an order of this process alone: where two processes choose at the same time, one
/// does not go through the ports of the other. No port comes twice before all came.
fn candidate(below: u16) -> u16 {
    static TURN: AtomicU64 = AtomicU64::new(0);
    static OWN: LazyLock<[u64; 2]> = LazyLock::new(|| [random(), random()]);
    let [first, step] = *OWN;
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    LOWEST + nth(u64::from(below), (first, step), turn) as u16
}

/// The `turn`-th number below `count`, of an order that begins at `first` and goes on by `step`.
fn nth(count: u64, (first, step): (u64, u64), turn: u64) -> u64 {
    // With another step some numbers would never come.
    let step = (1 + step % count..).find(|step| gcd(*step, count) == 1).unwrap_or(1);
    (first % count + turn % count * (step % count)) % count
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A process that listens on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The pid as seen from here.
    pub pid: u32,
    /// The process's name (`comm`).
    pub name: String,
}

/// The processes that listen on `port`, sorted by pid. Only those whose descriptors may be read.
pub fn listeners(port: u16) -> Vec<Listener> {
    let proc = Proc::default();
    let inodes = proc.listening_inodes(port);
    if inodes.is_empty() {
        return Vec::new();
    }
    let pids = proc.pids().into_iter();
    pids.filter(|pid| socket_ownership(&proc, *pid, &inodes) == SocketOwnership::Yes)
        .map(|pid| Listener { pid, name: proc.name(pid) })
        .collect()
}

/// Whether a process of the group listens on `port`; `None`: this cannot be seen.
pub fn is_ours(port: u16, group: &ProcessGroup) -> Option<bool> {
    let proc = Proc::default();
    let inodes = proc.listening_inodes(port);
    let pids = group.roles.iter().flat_map(pids);
    let held: Vec<SocketOwnership> =
        pids.map(|pid| socket_ownership(&proc, pid, &inodes)).collect();
    match () {
        () if held.contains(&SocketOwnership::Yes) => Some(true),
        () if inodes.is_empty() || held.contains(&SocketOwnership::Hidden) => None,
        () => Some(false),
    }
}

/// Whether any process listens on `port`, without looking for the process.
pub fn is_listening(port: u16) -> bool {
    !Proc::default().listening_inodes(port).is_empty()
}

/// The living processes of a role, without zombies: those of its cgroup, or its roots with their
/// descendants.
pub fn pids(role: &RoleGroup) -> Vec<u32> {
    let directory = match &role.accounting {
        Accounting::CgroupV2(directory) => Some(directory),
        Accounting::CgroupV1 { cpuacct, memory } => cpuacct.as_ref().or(memory.as_ref()),
        Accounting::Proc | Accounting::Ssh { .. } => None,
    };
    match directory.filter(|directory| directory.is_dir()) {
        Some(directory) => {
            let listed = cgroup::pids_with_below(directory).into_iter();
            listed.filter(|pid| is_alive(*pid)).collect()
        }
        None => process::trees(&role.roots).into_iter().collect(),
    }
}

/// The living processes of a stack as role and pid.
pub fn processes(group: &ProcessGroup) -> Vec<(String, u32)> {
    let of_role = |role: &RoleGroup| {
        let name = role.role.clone();
        pids(role).into_iter().map(move |pid| (name.clone(), pid)).collect::<Vec<_>>()
    };
    group.roles.iter().flat_map(of_role).collect()
}

/// When a process began, in clock ticks since boot; orders processes by age.
pub fn began(pid: u32) -> u64 {
    process::stat(pid).map_or(0, |stat| stat.start_ticks)
}

/// Whether a process was started from `program`. Compares the process's name, which can always be
/// read; the kernel keeps only 15 bytes of it.
pub fn runs(pid: u32, program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().as_encoded_bytes();
    Proc::default().name(pid).as_bytes() == &name[..name.len().min(15)]
}

/// The number of different thread names of a process that match `name`; `*` stands for digits.
/// Names are counted and not threads, since a new thread first has the name of the thread that
/// started it.
pub fn thread_names(pid: u32, name: &str) -> usize {
    let names = Proc::default().thread_names(pid);
    names.iter().filter(|own| matches_pattern(own, name)).count()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SocketOwnership {
    Yes,
    No,
    Hidden,
}

fn socket_ownership(proc: &Proc, pid: u32, inodes: &BTreeSet<u64>) -> SocketOwnership {
    let Some(mut links) = proc.descriptors(pid) else { return SocketOwnership::Hidden };
    let is_held =
        links.any(|link| socket_inode(&link).is_some_and(|inode| inodes.contains(&inode)));
    if is_held { SocketOwnership::Yes } else { SocketOwnership::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

    #[test]
    fn the_error_about_a_taken_port_names_the_process() {
        let listener = TcpListener::bind((HERE, 0)).expect("bind");
        let port = listener.local_addr().expect("address").port();
        let error = free_port(HERE, Some(port)).expect_err("taken").to_string();
        assert!(error.starts_with(&format!("port {port} is taken by process `")), "{error}");
        assert!(error.contains(&format!("(pid {})", std::process::id())), "{error}");
        drop(listener);
        assert_eq!(free_port(HERE, Some(port)).expect("free again"), port);
    }

    #[test]
    fn a_free_port_is_outside_the_ephemeral_range_and_differs_each_time() {
        let (first, second) =
            (free_port(HERE, None).expect("a port"), free_port(HERE, None).expect("a port"));
        // Where the kernel's range begins at or below `LOWEST`, there are no ports below it.
        let has_below = ephemeral() > LOWEST;
        assert!(!has_below || (LOWEST..ephemeral()).contains(&first), "{first}");
        assert_ne!(first, second);
        assert_ne!(another_free_port(HERE, &[second + 1]).expect("a port"), second + 1);
    }

    /// One process went through 20 000, 20 001 …, another through the same from another place on: as soon
    /// as they met, each start found its port taken.
    #[test]
    fn two_processes_that_choose_ports_at_once_do_not_follow_each_other() {
        let count = 12_768;
        let ports = |own: (u64, u64)| (0..count).map(move |turn| nth(count, own, turn));
        let own = (9_000_000_000, 77_777);
        let all: BTreeSet<u64> = ports(own).collect();
        assert_eq!(all.len() as u64, count, "each comes once");
        // They meet once, and not again for a long time.
        let (one, other) = (ports((5, 1_000)), ports((5, 2_000)));
        let meetings = one.zip(other).take(500).filter(|(one, other)| one == other).count();
        assert_eq!(meetings, 1);
    }

    #[test]
    fn a_process_is_recognised_by_the_program_it_was_started_from() {
        let directory = tempfile::tempdir().expect("directory");
        let program = directory.path().join("a-name-of-more-than-15-bytes");
        std::os::unix::fs::symlink("/bin/sleep", &program).expect("link");
        let mut child = std::process::Command::new(&program).arg("60").spawn().expect("starts");
        // The kernel lets the parent continue a moment before it sets the child's name.
        let named = || runs(child.id(), &program);
        (0..500).take_while(|_| !named()).for_each(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
        });
        let seen = [named(), runs(child.id(), Path::new("/bin/sleep"))];
        child.kill().and_then(|()| child.wait()).expect("ends");
        assert_eq!(seen, [true, false]);
    }

    #[test]
    fn threads_are_counted_by_their_names() {
        let (ends, waits) = std::sync::mpsc::channel::<()>();
        let waits = std::sync::Arc::new(std::sync::Mutex::new(waits));
        let started = std::sync::Arc::new(std::sync::Barrier::new(6));
        let begin = |name: &str| {
            let (waits, started) = (waits.clone(), started.clone());
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(move || {
                started.wait();
                drop(waits.lock().map(|waits| waits.recv()));
            })
        };
        let names = ["tc-0", "tc-0", "tc-12", "tc-main", "tc-"];
        let started_all: Vec<_> = names.map(begin).into_iter().collect();
        started.wait();
        let own = std::process::id();
        let counted = ["tc-*", "tc-main", "tc", "none-*"].map(|name| thread_names(own, name));
        drop(ends);
        for thread in started_all {
            thread.expect("starts").join().expect("ends");
        }
        assert_eq!(counted, [2, 1, 0, 0]);
    }
}
