//! Listening sockets of the servers.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Where to listen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Listen {
    /// A free port on 127.0.0.1.
    #[default]
    Tcp,
    /// A free port on this address, for clients in a network namespace of a test.
    TcpOn(Ipv4Addr),
    /// A Unix socket at this path, which must not exist yet; it is removed at the end.
    Unix(PathBuf),
}

/// Address that a server listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Address and port.
    Tcp(SocketAddr),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "{address}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The kernel refused the socket.
    #[error("cannot listen on `{at}`")]
    Listen {
        /// The address asked for.
        at: String,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The thread, epoll or eventfd could not be created.
    #[error("cannot start the server's thread")]
    Thread {
        /// Error of the kernel.
        source: io::Error,
    },
    /// The CPU does not exist, or this process may not use it.
    #[error("cannot run the server on CPU `{cpu}`")]
    Cpu {
        /// The CPU asked for.
        cpu: usize,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A freeze that repeats before it is over would never end.
    #[error("a freeze of `{lasts_ns}` ns cannot repeat every `{every_ns}` ns")]
    Freeze {
        /// Length of the freeze.
        lasts_ns: u128,
        /// Time from one beginning to the next.
        every_ns: u128,
    },
    /// Without a worker there would be no answer.
    #[error("a server needs `1` worker at least")]
    NoWorkers,
}

/// A non-blocking listening socket; the path of a Unix socket is removed with it.
#[derive(Debug)]
pub(crate) struct Listener {
    fd: OwnedFd,
    address: Address,
}

impl Listener {
    /// Opens a listener. `backlog`: connections that the kernel may hold unaccepted (it adds one).
    pub(crate) fn open(listen: &Listen, backlog: u16) -> Result<Listener, ServerError> {
        let opened = match listen {
            Listen::Tcp => tcp(Ipv4Addr::LOCALHOST, backlog),
            Listen::TcpOn(address) => tcp(*address, backlog),
            Listen::Unix(path) => unix(path, backlog),
        };
        opened.map_err(|source| {
            let at = match listen {
                Listen::Tcp => "127.0.0.1:0".to_owned(),
                Listen::TcpOn(address) => format!("{address}:0"),
                Listen::Unix(path) => Address::Unix(path.clone()).to_string(),
            };
            ServerError::Listen { at, source }
        })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Accepts the next connection: non-blocking and without Nagle's delay, which would join a torn
    /// answer. Fails with `WouldBlock` where there is none.
    pub(crate) fn accept(&self) -> io::Result<OwnedFd> {
        let fd = net::accept_with(&self.fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        if matches!(self.address, Address::Tcp(_)) {
            net::sockopt::set_tcp_nodelay(&fd, true)?;
        }
        Ok(fd)
    }

    /// Begins a connection to this listener. It is established, or waits for room in the backlog.
    pub(crate) fn connect(&self) -> io::Result<OwnedFd> {
        let family = match self.address {
            Address::Tcp(_) => AddressFamily::INET,
            Address::Unix(_) => AddressFamily::UNIX,
        };
        let fd = socket(family)?;
        let connected = match &self.address {
            Address::Tcp(address) => net::connect(&fd, address),
            Address::Unix(path) => net::connect(&fd, &SocketAddrUnix::new(path)?),
        };
        match connected {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(fd),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            // The file may be gone already, together with its directory.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(family, SocketType::STREAM, flags, None)?)
}

fn tcp(address: Ipv4Addr, backlog: u16) -> io::Result<Listener> {
    let fd = socket(AddressFamily::INET)?;
    net::bind(&fd, &SocketAddrV4::new(address, 0))?;
    net::listen(&fd, backlog.into())?;
    let address = SocketAddr::try_from(net::getsockname(&fd)?)?;
    Ok(Listener { fd, address: Address::Tcp(address) })
}

fn unix(path: &Path, backlog: u16) -> io::Result<Listener> {
    let fd = socket(AddressFamily::UNIX)?;
    net::bind(&fd, &SocketAddrUnix::new(path)?)?;
    net::listen(&fd, backlog.into())?;
    Ok(Listener { fd, address: Address::Unix(path.to_owned()) })
}

/// Connections that wait to be accepted, unless a behaviour says otherwise. Every measured runtime
/// gets as many; the kernel may cap it (`net.core.somaxconn`).
pub(crate) const BACKLOG: u16 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_what_was_asked_for() {
        let source = || io::Error::from_raw_os_error(98);
        let errors = [
            ServerError::Listen { at: "unix:/run/known.sock".to_owned(), source: source() },
            ServerError::Thread { source: source() },
            ServerError::Cpu { cpu: 99, source: source() },
            ServerError::Freeze { lasts_ns: 5_000, every_ns: 4_000 },
            ServerError::NoWorkers,
        ];
        insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n"));
    }
}
