//! Opens a connection: the same calls for every engine, so that the same things go wrong.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};

use crate::spec::Address;

/// Where connections go, as the kernel takes it.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Tcp(std::net::SocketAddr),
    Unix(SocketAddrUnix),
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    Yes,
    /// The socket becomes writable once it is, or is not going to be.
    NotYet,
}

impl Target {
    /// # Errors
    /// The path of a unix socket is longer than 107 bytes.
    pub(super) fn new(address: &Address) -> io::Result<Target> {
        Ok(match address {
            Address::Tcp(address) => Target::Tcp(*address),
            Address::Unix(path) => Target::Unix(SocketAddrUnix::new(path)?),
        })
    }

    /// A non-blocking socket on its way there.
    pub(super) fn open(&self) -> Result<(OwnedFd, There), Errno> {
        let family = match self {
            Target::Tcp(address) if address.is_ipv4() => AddressFamily::INET,
            Target::Tcp(_) => AddressFamily::INET6,
            Target::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        let connected = match self {
            Target::Tcp(address) => {
                // A request goes out when it is written, whatever was acknowledged before it.
                sockopt::set_tcp_nodelay(&socket, true)?;
                connect(&socket, address)
            }
            Target::Unix(address) => connect(&socket, address),
        };
        match connected {
            Ok(()) => Ok((socket, There::Yes)),
            Err(Errno::INPROGRESS) => Ok((socket, There::NotYet)),
            Err(errno) => Err(errno),
        }
    }
}
