//! Asks the kernel's socket diagnosis (sock_diag(7), which `ss -ltm` prints) for listening sockets.
//!
//! `/proc/net/tcp` has them too, and all connections: the kernel goes through a table of all that there
//! could be, which takes milliseconds.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// A listening socket of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListeningSocket {
    /// Its inode, which links of descriptors name.
    pub inode: u32,
    /// Where it listens.
    pub at: ListeningAt,
    /// Connections that wait to be accepted.
    pub queued: u32,
    /// The most connections that may wait.
    pub backlog: u32,
    /// Connections that were dropped so far; 0 for unix sockets, where the kernel does not count them.
    pub drops: u32,
}

/// Where a socket listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListeningAt {
    /// An address and a port.
    Tcp(SocketAddr),
    /// The path of a unix socket as its process named it; `unix`: it has none.
    Unix(String),
}

/// Which listening sockets are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// Unix sockets.
    Unix,
}

/// A connection to the kernel's socket diagnosis.
#[derive(Debug)]
pub struct SockDiag {
    socket: OwnedFd,
    answer: Vec<u8>,
}

impl SockDiag {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel does not have it.
    pub fn open() -> rustix::io::Result<SockDiag> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = Some(netlink::SOCK_DIAG);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
        Ok(SockDiag { socket, answer: vec![0; ANSWER_BYTES] })
    }

    /// The listening sockets of this network namespace. `None`: they are not told, or not wholly. The
    /// connection is of no use then: what comes next may be the rest of this answer.
    pub fn listening(&mut self, kind: SocketKind) -> Option<Vec<ListeningSocket>> {
        let request = match kind {
            SocketKind::Tcp4 => tcp(AddressFamily::INET),
            SocketKind::Tcp6 => tcp(AddressFamily::INET6),
            SocketKind::Unix => unix(),
        };
        let mut found = Vec::new();
        send(&self.socket, &request, SendFlags::empty()).ok()?;
        for _ in 0..ANSWERS_MAX {
            let (read, whole) =
                recv(&self.socket, &mut self.answer[..], RecvFlags::empty()).ok()?;
            if whole > read {
                return None;
            }
            let answer = &self.answer[..read];
            match messages(answer, |kind, body| found.extend(parsed(kind, body))) {
                End::Done => return Some(found),
                End::More => {}
                End::Refused => return None,
            }
        }
        None
    }
}

/// The inodes of the TCP sockets that listen on `port`. `None`: the kernel does not tell.
pub fn listening_inodes(port: u16) -> Option<BTreeSet<u64>> {
    let mut diag = SockDiag::open().ok()?;
    let mut inodes = BTreeSet::new();
    for kind in [SocketKind::Tcp4, SocketKind::Tcp6] {
        let found = diag.listening(kind)?.into_iter();
        let own = found.filter(|one| matches!(&one.at, ListeningAt::Tcp(at) if at.port() == port));
        inodes.extend(own.map(|one| u64::from(one.inode)));
    }
    Some(inodes)
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
        at: ListeningAt::Tcp(SocketAddr::new(address, port)),
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
        at: ListeningAt::Unix(path.to_owned()),
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::io::AsRawFd as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn inode(descriptor: i32) -> u64 {
        std::fs::metadata(format!("/proc/self/fd/{descriptor}")).expect("a descriptor").ino()
    }

    #[test]
    fn listening_sockets_are_told_and_others_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let Some(found) = listening_inodes(port) else {
            println!("SKIPPED: the kernel has no socket diagnosis");
            return;
        };
        assert_eq!(found, BTreeSet::from([inode(listener.as_raw_fd())]));
        let client = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let own = client.local_addr().expect("an address").port();
        assert_eq!(listening_inodes(own), Some(BTreeSet::new()), "a connection does not listen");
        drop(client);
        drop(listener);
        assert_eq!(listening_inodes(port), Some(BTreeSet::new()));
    }

    #[test]
    fn unix_sockets_have_their_path() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("a b.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let Ok(mut diag) = SockDiag::open() else { return };
        let found = diag.listening(SocketKind::Unix).expect("an answer");
        let own = found.iter().find(|one| u64::from(one.inode) == inode(listener.as_raw_fd()));
        let expected = ListeningAt::Unix(path.display().to_string());
        assert_eq!(own.map(|one| &one.at), Some(&expected), "{found:?}");
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
