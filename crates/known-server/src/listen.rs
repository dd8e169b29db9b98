//! Where a server listens.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Where to listen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Listen {
    /// 127.0.0.1, a free port.
    #[default]
    Tcp,
    /// A unix socket at this path, where nothing may be yet; removed at the end.
    Unix(PathBuf),
}

/// Where a server does listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// On 127.0.0.1.
    Tcp(SocketAddr),
    /// A path in the file system.
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
        /// What the kernel said.
        source: io::Error,
    },
    /// No thread, no epoll, no eventfd.
    #[error("cannot start the server's thread")]
    Thread {
        /// What the kernel said.
        source: io::Error,
    },
    /// The CPU does not exist or is not ours.
    #[error("cannot run the server on CPU `{cpu}`")]
    Cpu {
        /// The CPU asked for.
        cpu: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// A freeze that comes again before it is over never ends.
    #[error("a freeze of `{lasts_ns}` ns cannot repeat every `{every_ns}` ns")]
    Freeze {
        /// Its length.
        lasts_ns: u128,
        /// From one beginning to the next.
        every_ns: u128,
    },
    /// No worker, no answer.
    #[error("a server needs `1` worker at least")]
    NoWorkers,
}

/// A listening socket, not blocking; a unix socket's path goes with it.
#[derive(Debug)]
pub(crate) struct Listener {
    fd: OwnedFd,
    address: Address,
}

impl Listener {
    /// `backlog`: connections that the kernel may hold unaccepted (it adds one).
    pub(crate) fn open(listen: &Listen, backlog: u16) -> Result<Listener, ServerError> {
        let opened = match listen {
            Listen::Tcp => tcp(backlog),
            Listen::Unix(path) => unix(path, backlog),
        };
        opened.map_err(|source| {
            let at = match listen {
                Listen::Tcp => "127.0.0.1:0".to_owned(),
                Listen::Unix(path) => Address::Unix(path.clone()).to_string(),
            };
            ServerError::Listen { at, source }
        })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The next connection, not blocking and without Nagle's delay (a torn answer would be
    /// fixed by it); `WouldBlock` where there is none.
    pub(crate) fn accept(&self) -> io::Result<OwnedFd> {
        let fd = net::accept_with(&self.fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        if matches!(self.address, Address::Tcp(_)) {
            net::sockopt::set_tcp_nodelay(&fd, true)?;
        }
        Ok(fd)
    }

    /// A connection to ourselves that is under way: it is complete or waits for room in the
    /// backlog.
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
            // It may be gone with its directory already.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(family, SocketType::STREAM, flags, None)?)
}

fn tcp(backlog: u16) -> io::Result<Listener> {
    let fd = socket(AddressFamily::INET)?;
    net::bind(&fd, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
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

/// Connections that wait to be accepted, unless a behaviour says otherwise: as many
/// as every measured runtime gets; the kernel may cap it (`net.core.somaxconn`).
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
