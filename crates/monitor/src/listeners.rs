//! Reads the listening sockets of a stack: how full their queues are, and how many connections were
//! dropped.
//!
//! `/proc/net/netstat` counts overflows of the whole machine. The kernel's socket diagnosis
//! (sock_diag(7), which `ss -ltm` prints) reports each socket, and unix sockets too.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use stampede_linux::proc::socket_inode;
use stampede_model::sample::ListenerSample;

use super::source::Sources;

/// Reads the sockets repeatedly. Reads nothing if the kernel does not support it.
#[derive(Debug)]
pub struct Listeners {
    /// Inodes of the sockets that processes of the stack have open.
    own: BTreeSet<u32>,
    netlink: Option<OwnedFd>,
    answer: Vec<u8>,
    /// Drops so far, by inode.
    dropped: BTreeMap<u32, u32>,
    seen: BTreeMap<String, ListenerSample>,
}

impl Listeners {
    /// Finds the sockets that these processes have open now. Differences are counted from now.
    pub fn open<'a>(sources: &Sources, pids: impl Iterator<Item = &'a u32>) -> Listeners {
        let own: BTreeSet<u32> =
            pids.take(PROCESSES_MAX).flat_map(|pid| sockets(sources, *pid)).collect();
        let netlink = if own.is_empty() { None } else { ask().ok() };
        let mut listeners = Listeners {
            own,
            netlink,
            answer: vec![0; ANSWER_BYTES],
            dropped: BTreeMap::new(),
            seen: BTreeMap::new(),
        };
        listeners.observe();
        listeners.seen.clear();
        listeners
    }

    /// Reads the state of the sockets once.
    pub fn observe(&mut self) {
        for request in [tcp(AddressFamily::INET), tcp(AddressFamily::INET6), unix()] {
            let mut found = Vec::new();
            if self.ask(&request, &mut found).is_none() {
                // The next call opens a new socket. Otherwise it would read the rest of this answer
                // as its own.
                self.netlink = self.netlink.take().and_then(|_| ask().ok());
                return;
            }
            found.into_iter().for_each(|one| self.note(one));
        }
    }

    /// Returns what was seen since the last call, by socket.
    pub fn take(&mut self) -> BTreeMap<String, ListenerSample> {
        std::mem::take(&mut self.seen)
    }

    fn note(&mut self, found: ListeningSocket) {
        if !self.own.contains(&found.inode) {
            return;
        }
        let before = self.dropped.insert(found.inode, found.drops).unwrap_or(found.drops);
        let seen = self.seen.entry(found.name).or_default();
        seen.backlog = seen.backlog.max(found.backlog);
        seen.queued_max = seen.queued_max.max(found.queued);
        // The kernel's counter has 32 bits and wraps around.
        seen.drops += u64::from(found.drops.wrapping_sub(before));
    }

    fn ask(&mut self, request: &[u8], found: &mut Vec<ListeningSocket>) -> Option<()> {
        let socket = self.netlink.as_ref()?;
        send(socket, request, SendFlags::empty()).ok()?;
        for _ in 0..ANSWERS_MAX {
            let (read, whole) = recv(socket, &mut self.answer[..], RecvFlags::empty()).ok()?;
            if whole > read {
                return None;
            }
            let answer = &self.answer[..read];
            match messages(answer, |kind, body| found.extend(parsed(kind, body))) {
                End::Done => return Some(()),
                End::More => {}
                End::Refused => return None,
            }
        }
        None
    }
}

fn ask() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = Some(netlink::SOCK_DIAG);
    socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)
}

/// Returns the inodes of a process's open sockets.
fn sockets(sources: &Sources, pid: u32) -> impl Iterator<Item = u32> + use<> {
    let links = sources.proc.descriptors(pid).into_iter().flatten().take(DESCRIPTORS_MAX);
    // The socket diagnosis has 32 bits for an inode.
    links.filter_map(|link| u32::try_from(socket_inode(&link)?).ok())
}

/// A listening socket of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ListeningSocket {
    inode: u32,
    name: String,
    queued: u32,
    backlog: u32,
    drops: u32,
}

/// How a part of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Done,
    More,
    Refused,
}

/// Calls `give` with the type and body of each message (netlink(7)).
fn messages(mut bytes: &[u8], mut give: impl FnMut(u16, &[u8])) -> End {
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = length as usize;
        let Some(body) = bytes.get(HEADER..length) else { return End::Refused };
        match kind {
            NLMSG_DONE => return End::Done,
            NLMSG_ERROR => return End::Refused,
            _ => give(kind, body),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    End::More
}

fn parsed(kind: u16, body: &[u8]) -> Option<ListeningSocket> {
    if kind != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    match i32::from(*body.first()?) {
        libc::AF_UNIX => parsed_unix(body),
        _ => parsed_tcp(body),
    }
}

/// Parses `struct inet_diag_msg` and its attributes (`linux/inet_diag.h`).
fn parsed_tcp(body: &[u8]) -> Option<ListeningSocket> {
    let port = u16::from_be_bytes(body.get(4..6)?.try_into().ok()?);
    let address: IpAddr = match i32::from(*body.first()?) {
        libc::AF_INET => Ipv4Addr::from(<[u8; 4]>::try_from(body.get(8..12)?).ok()?).into(),
        _ => Ipv6Addr::from(<[u8; 16]>::try_from(body.get(8..24)?).ok()?).into(),
    };
    let memory = attribute(body.get(72..)?, INET_DIAG_SKMEMINFO);
    Some(ListeningSocket {
        inode: u32_at(body, 68)?,
        name: SocketAddr::new(address, port).to_string(),
        queued: u32_at(body, 56)?,
        backlog: u32_at(body, 60)?,
        drops: memory.and_then(|memory| u32_at(memory, 4 * SK_MEMINFO_DROPS)).unwrap_or(0),
    })
}

/// Parses `struct unix_diag_msg` and its attributes (`linux/unix_diag.h`).
fn parsed_unix(body: &[u8]) -> Option<ListeningSocket> {
    let attributes = body.get(16..)?;
    let path = attribute(attributes, UNIX_DIAG_NAME).unwrap_or(b"unix");
    let path = String::from_utf8_lossy(path);
    let path = path.trim_matches('\0');
    let queue = attribute(attributes, UNIX_DIAG_RQLEN)?;
    Some(ListeningSocket {
        inode: u32_at(body, 4)?,
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        queued: u32_at(queue, 0)?,
        backlog: u32_at(queue, 4)?,
        drops: 0,
    })
}

fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let (Some(length), Some(kind)) = (u16_at(bytes, 0), u16_at(bytes, 2)) {
        let length = usize::from(length);
        let content = bytes.get(4..length)?;
        if kind == wanted {
            return Some(content);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Builds a request for all matching sockets: `struct nlmsghdr` and the body.
fn request(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).unwrap_or(0);
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    bytes.extend([0; 8]); // sequence and port: there is one request at a time, to the kernel
    bytes.extend(body);
    bytes
}

/// Asks for listening TCP sockets and their drops: `struct inet_diag_req_v2`.
fn tcp(family: AddressFamily) -> Vec<u8> {
    let mut body = [0; 56];
    body[0] = family.as_raw() as u8;
    body[1] = libc::IPPROTO_TCP as u8;
    body[2] = 1 << (INET_DIAG_SKMEMINFO - 1);
    body[4..8].copy_from_slice(&LISTENING.to_ne_bytes());
    request(&body)
}

/// Asks for listening unix sockets with name and queue: `struct unix_diag_req`.
fn unix() -> Vec<u8> {
    let mut body = [0; 24];
    body[0] = libc::AF_UNIX as u8;
    body[4..8].copy_from_slice(&LISTENING.to_ne_bytes());
    body[12..16].copy_from_slice(&SHOW_NAME_AND_QUEUE.to_ne_bytes());
    request(&body)
}

/// Size of a netlink header in bytes.
const HEADER: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// The state `TCP_LISTEN`, which unix sockets use too, as a bit.
const LISTENING: u32 = 1 << 10;
const INET_DIAG_SKMEMINFO: u16 = 7;
const SK_MEMINFO_DROPS: usize = 8;
const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_RQLEN: u16 = 4;
const SHOW_NAME_AND_QUEUE: u32 = 0x01 | 0x10;
/// The kernel answers in pieces of at most 32 KiB (`netlink_dump`).
const ANSWER_BYTES: usize = 32 << 10;
/// More parts than the answer of any machine has that is fit for measuring.
const ANSWERS_MAX: usize = 64;
/// Workers inherit their listener from the first process, so more processes need not be searched.
const PROCESSES_MAX: usize = 64;
const DESCRIPTORS_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

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
        if listeners.netlink.is_none() {
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
        if listeners.netlink.is_none() {
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

    #[test]
    fn truncated_answers_give_no_sockets() {
        let whole = request(&[libc::AF_UNIX as u8; 24]);
        for cut in 0..whole.len() {
            let mut given = 0;
            messages(&whole[..cut], |kind, body| {
                given += usize::from(parsed(kind, body).is_some())
            });
            assert_eq!(given, 0);
        }
    }
}
