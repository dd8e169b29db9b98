//! Finds free ports before a start, and the processes that listen on a port after it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};

use stampede_model::process_group::{Accounting, ProcessGroup, RoleGroup};
use stampede_monitor::matches_pattern;

use crate::error::RuntimeError;

/// The address of all traffic.
pub const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A free port: the given one, or any. It is free only at this moment: another program may take it
/// before the runtime does. So the listener is checked after the start.
///
/// # Errors
/// The given port is in use. The error names the process if it can be seen.
pub fn free_port(given: Option<u16>) -> Result<u16, RuntimeError> {
    let Some(port) = given else { return another_free_port(&[]) };
    can_bind(port).map_err(|_| {
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
pub fn another_free_port(taken: &[u16]) -> Result<u16, RuntimeError> {
    let below = ephemeral().saturating_sub(LOWEST);
    let candidates = (0..below).map(|_| LOWEST + next_candidate() % below);
    let by_kernel = std::iter::repeat_n(0, 100);
    candidates
        .chain(by_kernel)
        .filter_map(|port| can_bind(port).ok())
        .find(|port| !taken.contains(port))
        .ok_or(RuntimeError::PortTaken { port: 0, by: String::new() })
}

/// The lowest port that is chosen; lower ones belong to well-known services.
const LOWEST: u16 = 20_000;

/// Binds the port to see whether it is free, and returns it; for 0, one that the kernel chooses.
fn can_bind(port: u16) -> io::Result<u16> {
    // std sets SO_REUSEADDR, so a port with connections in TIME_WAIT does not count as taken.
    let listener = TcpListener::bind((HOST, port))?;
    Ok(listener.local_addr()?.port())
}

/// The first port of the range that the kernel gives to outgoing connections.
fn ephemeral() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(LOWEST)
}

/// A new number at each call. The sequence begins elsewhere in each process, so that two processes
/// that start at once do not try the same ports.
fn next_candidate() -> u16 {
    static TURN: AtomicU16 = AtomicU16::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    (std::process::id() as u16).wrapping_mul(1009).wrapping_add(turn)
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
    let inodes = listening_inodes(port);
    if inodes.is_empty() {
        return Vec::new();
    }
    let pids = pids_of(Path::new("/proc"));
    pids.into_iter()
        .filter(|pid| socket_ownership(*pid, &inodes) == SocketOwnership::Yes)
        .map(|pid| Listener { pid, name: comm(pid) })
        .collect()
}

/// Whether a process of the group listens on `port`; `None`: this cannot be seen.
pub fn is_ours(port: u16, group: &ProcessGroup) -> Option<bool> {
    let inodes = listening_inodes(port);
    let held: Vec<SocketOwnership> =
        group.roles.iter().flat_map(pids).map(|pid| socket_ownership(pid, &inodes)).collect();
    match () {
        () if held.contains(&SocketOwnership::Yes) => Some(true),
        () if inodes.is_empty() || held.contains(&SocketOwnership::Hidden) => None,
        () => Some(false),
    }
}

/// Whether any process listens on `port`, without looking for the process.
pub fn is_listening(port: u16) -> bool {
    !listening_inodes(port).is_empty()
}

/// Whether a process has work: it runs, waits for a CPU, or waits for a disk.
pub fn is_busy(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| matches!(stat.state, 'R' | 'D'))
}

/// The CPU time that a process has spent, in clock ticks; 0: the process is gone.
pub fn ticks(pid: u32) -> u64 {
    stat(pid).map_or(0, |stat| stat.ticks)
}

/// The living processes of a role, without zombies: those of its cgroup, or its roots with their
/// descendants.
pub fn pids(role: &RoleGroup) -> Vec<u32> {
    let procs = match &role.accounting {
        Accounting::CgroupV2(directory) => Some(directory.clone()),
        Accounting::CgroupV1 { cpuacct, memory } => cpuacct.clone().or_else(|| memory.clone()),
        Accounting::Proc => None,
    };
    let listed =
        procs.and_then(|directory| fs::read_to_string(directory.join("cgroup.procs")).ok());
    let pids: BTreeSet<u32> = match listed {
        Some(text) => text.lines().filter_map(|line| line.parse().ok()).collect(),
        None => descendants(&role.roots),
    };
    pids.into_iter().filter(|pid| is_alive(*pid)).collect()
}

/// When a process began, in clock ticks since boot; orders processes by age.
pub fn began(pid: u32) -> u64 {
    stat(pid).map_or(0, |stat| stat.began)
}

/// Whether a process exists and is no zombie.
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.state != 'Z')
}

struct Stat {
    state: char,
    parent: u32,
    began: u64,
    ticks: u64,
}

/// Reads `/proc/PID/stat` (proc_pid_stat(5)). The name in parentheses may itself contain blanks and
/// parentheses.
fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    // Fields 14, 15 and 22; the state is field 3.
    let user: u64 = fields.nth(9)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let began = fields.nth(6)?.parse().ok()?;
    Some(Stat { state, parent, began, ticks: user + system })
}

fn descendants(roots: &[u32]) -> BTreeSet<u32> {
    let parents: Vec<(u32, u32)> = pids_of(Path::new("/proc"))
        .into_iter()
        .filter_map(|pid| Some((pid, stat(pid)?.parent)))
        .collect();
    let mut found: BTreeSet<u32> = roots.iter().copied().collect();
    loop {
        let before = found.len();
        found.extend(
            parents
                .iter()
                .filter(|(_, up)| found.contains(up))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if found.len() == before {
            return found;
        }
    }
}

fn pids_of(proc: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(proc) else { return Vec::new() };
    let mut pids: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// Whether a process was started from `program`. Compares the process's name, which can always be
/// read; the kernel keeps only 15 bytes of it.
pub fn runs(pid: u32, program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().as_encoded_bytes();
    comm(pid).as_bytes() == &name[..name.len().min(15)]
}

/// The number of different thread names of a process that match `name`; `*` stands for digits.
/// Names are counted and not threads, since a new thread first has the name of the thread that
/// started it.
pub fn thread_names(pid: u32, name: &str) -> usize {
    let tasks = format!("/proc/{pid}/task");
    let tids = pids_of(Path::new(&tasks)).into_iter();
    let names = tids.filter_map(|tid| fs::read_to_string(format!("{tasks}/{tid}/comm")).ok());
    names.filter(|text| matches_pattern(text.trim_end(), name)).collect::<BTreeSet<String>>().len()
}

fn comm(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_string()
}

/// The inodes of sockets in state LISTEN (0A) on the port, for IPv4 and IPv6.
fn listening_inodes(port: u16) -> BTreeSet<u64> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .flat_map(|text| {
            text.lines().skip(1).filter_map(|line| inode(line, port)).collect::<Vec<_>>()
        })
        .collect()
}

fn inode(line: &str, port: u16) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let local = u16::from_str_radix(fields.get(1)?.rsplit(':').next()?, 16).ok()?;
    (local == port && *fields.get(3)? == "0A").then(|| fields.get(9)?.parse().ok())?
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SocketOwnership {
    Yes,
    No,
    Hidden,
}

fn socket_ownership(pid: u32, inodes: &BTreeSet<u64>) -> SocketOwnership {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return SocketOwnership::Hidden;
    };
    let held = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| {
        let inode = link.to_str().and_then(|link| link.strip_prefix("socket:["));
        let inode = inode.and_then(|inode| inode.trim_end_matches(']').parse().ok());
        inode.is_some_and(|inode: u64| inodes.contains(&inode))
    });
    if held { SocketOwnership::Yes } else { SocketOwnership::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_about_a_taken_port_names_the_process() {
        let listener = TcpListener::bind((HOST, 0)).expect("bind");
        let port = listener.local_addr().expect("address").port();
        let error = free_port(Some(port)).expect_err("taken").to_string();
        assert!(error.starts_with(&format!("port {port} is taken by process `")), "{error}");
        assert!(error.contains(&format!("(pid {})", std::process::id())), "{error}");
        drop(listener);
        assert_eq!(free_port(Some(port)).expect("free again"), port);
    }

    #[test]
    fn a_free_port_is_outside_the_ephemeral_range_and_differs_each_time() {
        let (first, second) = (free_port(None).expect("a port"), free_port(None).expect("a port"));
        // Where the kernel's range begins at or below `LOWEST`, there are no ports below it.
        let has_below = ephemeral() > LOWEST;
        assert!(!has_below || (LOWEST..ephemeral()).contains(&first), "{first}");
        assert_ne!(first, second);
        assert_ne!(another_free_port(&[second + 1]).expect("a port"), second + 1);
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

    #[test]
    fn the_inode_of_a_listening_socket_is_read_from_its_line() {
        let line =
            "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1";
        assert_eq!(inode(line, 8080), Some(4711));
        assert_eq!(inode(line, 8081), None);
        assert_eq!(inode(&line.replace(" 0A ", " 01 "), 8080), None);
    }
}
