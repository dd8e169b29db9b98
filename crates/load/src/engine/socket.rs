//! Opens connections. All engines use the same calls, so that they fail in the same ways.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, socket_with, sockopt,
};
use stampede_model::counts::{AddressConnections, Connections};
use stampede_model::load::{Address, Addresses};

use super::arrival::{TimestampingGuard, enable_timestamps};
use super::{Completion, Timestamps, Token};

/// The addresses that connections go to in turn, in the kernel's form.
#[derive(Debug)]
pub(super) struct Target {
    peers: Vec<Peer>,
    /// Index of the peer that the next connection goes to.
    next: usize,
    /// Index of the peer of each slot's last connection.
    peer_of: Vec<u32>,
    /// Number of local addresses in use: the kernel's choice and the ones after it.
    sources: u32,
    /// The local address in use now; 0 for the kernel's choice.
    source: u32,
    timestamps: Timestamps,
    _stamping: Option<TimestampingGuard>,
}

/// One address, and the connections to it so far.
#[derive(Debug)]
struct Peer {
    /// The address as results name it.
    name: String,
    address: KernelAddress,
    tried: u64,
    opened: u64,
}

#[derive(Clone, Debug)]
enum KernelAddress {
    Tcp(SocketAddr),
    Unix(SocketAddrUnix),
}

/// Whether a connection is established yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectProgress {
    Established,
    /// Not yet: the socket becomes writable once it is established or has failed.
    InProgress,
}

/// Whether a send failed because the peer reads no more. What the peer sent before, and its end of
/// stream, can still be read.
pub(super) fn peer_stopped_reading(errno: Errno) -> bool {
    matches!(errno, Errno::PIPE | Errno::CONNRESET)
}

impl Target {
    /// # Errors
    /// The path of a Unix socket is longer than 107 bytes.
    pub(super) fn new(addresses: &Addresses, timestamps: Timestamps) -> io::Result<Target> {
        let peers: Vec<Peer> = addresses.iter().map(Peer::new).collect::<io::Result<_>>()?;
        let timestamps = timestamps.on(addresses);
        let _stamping = (timestamps == Timestamps::Kernel).then(TimestampingGuard::begin);
        let (next, peer_of) = (0, Vec::new());
        Ok(Target { peers, next, peer_of, sources: 1, source: 0, timestamps, _stamping })
    }

    /// Who takes the timestamp of received bytes.
    pub(super) fn timestamps(&self) -> Timestamps {
        self.timestamps
    }

    /// The addresses of the connections so far: the number of local ones, at least 1, and all
    /// remote ones.
    pub(super) fn connections(&self) -> Connections {
        let addresses = self.peers.iter().map(|peer| AddressConnections {
            address: peer.name.clone(),
            opened: peer.opened,
            failed: peer.tried - peer.opened,
        });
        let addresses = addresses.collect();
        Connections { sources: self.sources, addresses, ..Connections::default() }
    }

    /// Counts the connections anew, for another load.
    pub(super) fn begin(&mut self) {
        self.peers.iter_mut().for_each(|peer| (peer.opened, peer.tried) = (0, 0));
    }

    /// Counts a connection as opened, and reports it.
    pub(super) fn connected(&mut self, token: Token) -> Completion<'static> {
        self.peers[self.peer_of[token.index()] as usize].opened += 1;
        Completion::Connected(token)
    }

    /// Opens a non-blocking socket for the slot and starts to connect it to the next peer. When the
    /// local address has no free port left, the next address of 127.0.0.0/8 is used, but only for
    /// an IPv4 loopback target.
    pub(super) fn open(&mut self, token: Token) -> Result<(OwnedFd, ConnectProgress), Errno> {
        let number = self.next;
        self.next = (number + 1) % self.peers.len();
        if token.index() >= self.peer_of.len() {
            self.peer_of.resize(token.index() + 1, 0);
        }
        self.peer_of[token.index()] = number as u32;
        self.peers[number].tried += 1;
        let first = self.source;
        loop {
            let peer = &self.peers[number].address;
            let opened = peer.open_from(self.source, self.timestamps);
            if opened.as_ref().err() != Some(&Errno::ADDRNOTAVAIL) || !peer.is_loopback() {
                return opened;
            }
            self.source = (self.source + 1) % SOURCES_MAX;
            if self.source == first {
                return opened;
            }
            self.sources = self.sources.max(self.source + 1);
        }
    }
}

impl Peer {
    fn new(address: &Address) -> io::Result<Peer> {
        let name = address.to_string();
        let address = match address {
            Address::Tcp(address) => KernelAddress::Tcp(*address),
            Address::Unix(path) => KernelAddress::Unix(SocketAddrUnix::new(path)?),
        };
        Ok(Peer { name, address, tried: 0, opened: 0 })
    }
}

impl KernelAddress {
    fn is_loopback(&self) -> bool {
        matches!(self, KernelAddress::Tcp(SocketAddr::V4(to)) if to.ip().is_loopback())
    }

    fn open_from(
        &self,
        source: u32,
        timestamps: Timestamps,
    ) -> Result<(OwnedFd, ConnectProgress), Errno> {
        let family = match self {
            KernelAddress::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            KernelAddress::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            KernelAddress::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        let connected = match self {
            KernelAddress::Tcp(address) => {
                // TCP_NODELAY: a request is sent when it is written, whatever is still
                // unacknowledged.
                sockopt::set_tcp_nodelay(&socket, true)?;
                if address.ip().is_loopback() {
                    // On loopback nothing is lost, so congestion control has nothing to do. The
                    // machine's default may pace what is sent (BBR), and costs more. Reno is in
                    // every kernel.
                    let _ = sockopt::set_tcp_congestion(&socket, "reno");
                }
                if timestamps == Timestamps::Kernel {
                    enable_timestamps(&socket);
                }
                if source > 0 {
                    bind_to_source(&socket, source)?;
                }
                connect(&socket, address)
            }
            KernelAddress::Unix(address) => connect(&socket, address),
        };
        match connected {
            Ok(()) => Ok((socket, ConnectProgress::Established)),
            Err(Errno::INPROGRESS) => Ok((socket, ConnectProgress::InProgress)),
            Err(errno) => Err(errno),
        }
    }
}

/// Binds to 127.0.0.(1 + source). The port is chosen on connect, so that it need not be free for
/// other targets too.
fn bind_to_source(socket: &OwnedFd, source: u32) -> Result<(), Errno> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    let address = Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + source);
    bind(socket, &SocketAddrV4::new(address, 0))
}

/// Sets a socket option that rustix does not know.
pub(super) fn set_option(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> Result<(), Errno> {
    let length = size_of_val(&value) as libc::socklen_t;
    let at = (&raw const value).cast();
    // SAFETY: the descriptor is open, and the kernel reads one `int` from an address that has one.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, length) };
    match set {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

/// The error number of a failed call that was not made through rustix.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Local addresses used at most, from 127.0.0.1 on; each has some 28 000 ports.
const SOURCES_MAX: u32 = 8;
