//! Opens connections. All engines use the same calls, so that they fail in the same ways.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, socket_with, sockopt,
};

use super::Stamps;
use super::arrival::{Stamping, ask_for_stamps};
use crate::spec::Address;

/// The address that connections go to, in the kernel's form.
#[derive(Debug)]
pub(super) struct Target {
    place: Place,
    /// Number of local addresses in use: the kernel's choice and the ones after it.
    sources: u32,
    /// The local address in use now; 0 for the kernel's choice.
    source: u32,
    stamps: Stamps,
    _stamping: Option<Stamping>,
}

#[derive(Clone, Debug)]
enum Place {
    Tcp(SocketAddr),
    Unix(SocketAddrUnix),
}

/// Whether a connection is established yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connect {
    Yes,
    /// Not yet: the socket becomes writable once it is established or has failed.
    NotYet,
}

/// Whether a send failed because the peer reads no more. What the peer sent before, and its end of
/// stream, can still be read.
pub(super) fn reads_no_more(errno: Errno) -> bool {
    matches!(errno, Errno::PIPE | Errno::CONNRESET)
}

impl Target {
    /// # Errors
    /// The path of a Unix socket is longer than 107 bytes.
    pub(super) fn new(address: &Address, stamps: Stamps) -> io::Result<Target> {
        let place = match address {
            Address::Tcp(address) => Place::Tcp(*address),
            Address::Unix(path) => Place::Unix(SocketAddrUnix::new(path)?),
        };
        let _stamping = (stamps == Stamps::Kernel).then(Stamping::begin);
        Ok(Target { place, sources: 1, source: 0, stamps, _stamping })
    }

    /// Who takes the timestamp of received bytes.
    pub(super) fn stamps(&self) -> Stamps {
        self.stamps
    }

    /// Number of local addresses used so far, at least 1.
    pub(super) fn sources(&self) -> u32 {
        self.sources
    }

    /// Opens a non-blocking socket and starts to connect it. When the local address has no free
    /// port left, the next address of 127.0.0.0/8 is used, but only for an IPv4 loopback target.
    pub(super) fn open(&mut self) -> Result<(OwnedFd, Connect), Errno> {
        let first = self.source;
        loop {
            let opened = self.open_from(self.source);
            if opened.as_ref().err() != Some(&Errno::ADDRNOTAVAIL) || !self.is_loopback() {
                return opened;
            }
            self.source = (self.source + 1) % SOURCES_MAX;
            if self.source == first {
                return opened;
            }
            self.sources = self.sources.max(self.source + 1);
        }
    }

    fn is_loopback(&self) -> bool {
        matches!(&self.place, Place::Tcp(SocketAddr::V4(to)) if to.ip().is_loopback())
    }

    fn open_from(&self, source: u32) -> Result<(OwnedFd, Connect), Errno> {
        let family = match &self.place {
            Place::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Place::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Place::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        let connected = match &self.place {
            Place::Tcp(address) => {
                // TCP_NODELAY: a request is sent when it is written, whatever is still
                // unacknowledged.
                sockopt::set_tcp_nodelay(&socket, true)?;
                if address.ip().is_loopback() {
                    // On loopback nothing is lost, so congestion control has nothing to do. The
                    // machine's default may pace what is sent (BBR), and costs more. Reno is in
                    // every kernel.
                    let _ = sockopt::set_tcp_congestion(&socket, "reno");
                }
                if self.stamps == Stamps::Kernel {
                    ask_for_stamps(&socket);
                }
                if source > 0 {
                    come_from(&socket, source)?;
                }
                connect(&socket, address)
            }
            Place::Unix(address) => connect(&socket, address),
        };
        match connected {
            Ok(()) => Ok((socket, Connect::Yes)),
            Err(Errno::INPROGRESS) => Ok((socket, Connect::NotYet)),
            Err(errno) => Err(errno),
        }
    }
}

/// Binds to 127.0.0.(1 + source). The port is chosen on connect, so that it need not be free for
/// other targets too.
fn come_from(socket: &OwnedFd, source: u32) -> Result<(), Errno> {
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
