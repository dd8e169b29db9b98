//! Reads the listening sockets of a stack: how full their queues are, and how many connections were
//! dropped.
//!
//! `/proc/net/netstat` counts overflows of the whole machine. The kernel's socket diagnosis
//! (sock_diag(7), which `ss -ltm` prints) reports each socket, and unix sockets too.

use std::collections::{BTreeMap, BTreeSet};

use stampede_linux::proc::socket_inode;
use stampede_linux::sock_diag::{ListeningAt, ListeningSocket, SockDiag, SocketKind};
use stampede_model::sample::ListenerSample;

use super::source::Sources;

/// Reads the sockets repeatedly. Reads nothing if the kernel does not support it.
#[derive(Debug)]
pub struct Listeners {
    /// Inodes of the sockets that processes of the stack have open.
    own: BTreeSet<u32>,
    diag: Option<SockDiag>,
    /// Drops so far, by inode.
    dropped: BTreeMap<u32, u32>,
    seen: BTreeMap<String, ListenerSample>,
}

impl Listeners {
    /// Finds the sockets that these processes have open now. Differences are counted from now.
    pub fn open<'a>(sources: &Sources, pids: impl Iterator<Item = &'a u32>) -> Listeners {
        let own: BTreeSet<u32> =
            pids.take(PROCESSES_MAX).flat_map(|pid| sockets(sources, *pid)).collect();
        let diag = if own.is_empty() { None } else { SockDiag::open().ok() };
        let mut listeners =
            Listeners { own, diag, dropped: BTreeMap::new(), seen: BTreeMap::new() };
        listeners.observe();
        listeners.seen.clear();
        listeners
    }

    /// Reads the state of the sockets once.
    pub fn observe(&mut self) {
        for kind in [SocketKind::Tcp4, SocketKind::Tcp6, SocketKind::Unix] {
            let Some(diag) = &mut self.diag else { return };
            match diag.listening(kind) {
                Some(found) => found.into_iter().for_each(|one| self.note(&one)),
                None => {
                    self.diag = SockDiag::open().ok();
                    return;
                }
            }
        }
    }

    /// Returns what was seen since the last call, by socket.
    pub fn take(&mut self) -> BTreeMap<String, ListenerSample> {
        std::mem::take(&mut self.seen)
    }

    fn note(&mut self, found: &ListeningSocket) {
        if !self.own.contains(&found.inode) {
            return;
        }
        let before = self.dropped.insert(found.inode, found.drops).unwrap_or(found.drops);
        let seen = self.seen.entry(name_of(&found.at)).or_default();
        seen.backlog = seen.backlog.max(found.backlog);
        seen.queued_max = seen.queued_max.max(found.queued);
        // The kernel's counter has 32 bits and wraps around.
        seen.drops += u64::from(found.drops.wrapping_sub(before));
    }
}

/// Returns the name of a socket in a record: an address, or the last part of a path.
fn name_of(at: &ListeningAt) -> String {
    match at {
        ListeningAt::Tcp(address) => address.to_string(),
        ListeningAt::Unix(path) => path.rsplit('/').next().unwrap_or(path).to_owned(),
    }
}

/// Returns the inodes of a process's open sockets.
fn sockets(sources: &Sources, pid: u32) -> impl Iterator<Item = u32> + use<> {
    let links = sources.proc.descriptors(pid).into_iter().flatten().take(DESCRIPTORS_MAX);
    // The socket diagnosis has 32 bits for an inode.
    links.filter_map(|link| u32::try_from(socket_inode(&link)?).ok())
}

/// Workers inherit their listener from the first process, so more processes need not be searched.
const PROCESSES_MAX: usize = 64;
const DESCRIPTORS_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use rustix::net::{AddressFamily, SocketType};

    use super::*;

    fn listeners_of_this_process() -> Listeners {
        Listeners::open(&Sources::default(), [std::process::id()].iter())
    }

    #[test]
    fn only_queues_of_our_own_sockets_are_seen() {
        let directory = tempfile::tempdir().expect("directory");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let unix = UnixListener::bind(directory.path().join("own.sock")).expect("a socket");
        let address = tcp.local_addr().expect("an address");
        let mut listeners = listeners_of_this_process();
        if listeners.diag.is_none() {
            println!("SKIPPED: this kernel has no socket diagnosis");
            return;
        }
        let _two = [0, 1].map(|_| TcpStream::connect(address).expect("connects"));
        let _one = UnixStream::connect(directory.path().join("own.sock")).expect("connects");
        listeners.observe();
        let seen = listeners.take();
        let of_tcp = &seen[&address.to_string()];
        assert_eq!((of_tcp.queued_max, of_tcp.drops), (2, 0));
        assert!(of_tcp.backlog >= 128, "{of_tcp:?}");
        assert_eq!(seen["own.sock"].queued_max, 1);
        drop(unix);
        let mut of_nobody = Listeners::open(&Sources::default(), [].iter());
        of_nobody.observe();
        assert_eq!(of_nobody.take(), BTreeMap::new());
    }

    #[test]
    fn what_a_full_queue_drops_is_counted() {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None);
        let socket = socket.expect("a socket");
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        rustix::net::listen(&socket, 0).expect("listens");
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().expect("an address");
        let mut listeners = listeners_of_this_process();
        if listeners.diag.is_none() {
            println!("SKIPPED: this kernel has no socket diagnosis");
            return;
        }
        let within = std::time::Duration::from_millis(50);
        let tried: Vec<_> = (0..4).map(|_| TcpStream::connect_timeout(&address, within)).collect();
        assert!(tried.iter().any(Result::is_err), "one fits into a queue of none");
        listeners.observe();
        let seen = listeners.take().remove(&address.to_string()).expect("it listens");
        assert!(seen.drops > 0 && seen.queued_max > seen.backlog, "{seen:?}");
    }
}
