//! Sends single requests to an address, over TCP or a unix socket alike. It is never used for load.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use stampede_model::load::Address;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error};

use crate::{PlainConnector, client_config};

/// A client that connects to `address`, whatever host the URL names.
pub fn client(address: &Address, timeout: Duration) -> Agent {
    let connect = ConnectTo { address: address.clone(), timeout };
    Agent::with_parts(client_config(timeout), connect.chain(PlainConnector), NoNames)
}

/// Connects and closes, to see whether somebody listens.
///
/// # Errors
/// The system's error.
pub fn connect(address: &Address, timeout: Duration) -> io::Result<()> {
    Stream::connect(address, timeout).map(drop)
}

#[derive(Debug)]
struct ConnectTo {
    address: Address,
    timeout: Duration,
}

impl Connector for ConnectTo {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Connection>, Error> {
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        let stream = Stream::connect(&self.address, self.timeout)?;
        Ok(Some(Connection { stream, buffers }))
    }
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn connect(address: &Address, timeout: Duration) -> io::Result<Stream> {
        match address {
            Address::Tcp(address) => TcpStream::connect_timeout(address, timeout).map(Stream::Tcp),
            Address::Unix(path) => connect_unix(path, timeout).map(Stream::Unix),
        }
    }

    fn read_within(&mut self, time: Option<Duration>, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(time).and_then(|()| stream.read(into)),
            Stream::Unix(stream) => stream.set_read_timeout(time).and_then(|()| stream.read(into)),
        }
    }

    fn write_within(&mut self, time: Option<Duration>, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_write_timeout(time).and_then(|()| stream.write_all(bytes))
            }
            Stream::Unix(stream) => {
                stream.set_write_timeout(time).and_then(|()| stream.write_all(bytes))
            }
        }
    }
}

/// Connects with a timeout. std's `connect` would wait for ever where nobody accepts; the socket's
/// send timeout limits the wait (unix(7)).
fn connect_unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    rustix::net::connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}

#[derive(Debug)]
struct Connection {
    stream: Stream,
    buffers: LazyBuffers,
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let within = timeout.not_zero().map(|time| *time);
        let written = self.stream.write_within(within, &self.buffers.output()[..amount]);
        written.map_err(|error| in_time(error, &timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let within = timeout.not_zero().map(|time| *time);
        let read = self.stream.read_within(within, self.buffers.input_append_buf());
        let amount = read.map_err(|error| in_time(error, &timeout))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// False, so that connections are never kept.
    fn is_open(&mut self) -> bool {
        false
    }
}

/// Turns a socket's timeout into the client's error. The kernel reports it as EAGAIN.
fn in_time(error: io::Error, timeout: &NextTimeout) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => Error::Io(error),
    }
}

/// A resolver that looks nothing up: the address is already known.
#[derive(Debug)]
struct NoNames;

impl Resolver for NoNames {
    fn resolve(
        &self,
        _: &ureq::http::Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let mut none = self.empty();
        none.push(SocketAddr::from(([127, 0, 0, 1], 0)));
        Ok(none)
    }
}
