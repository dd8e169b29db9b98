//! One connection. It blocks its thread, but wakes up at once when the server ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

/// Announces the end of the server once, to all of its threads.
#[derive(Clone, Debug)]
pub(crate) struct ShutdownSignal(Arc<OwnedFd>);

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// The descriptor is ready, or the time has come.
    Ready,
    /// The server ends.
    Shutdown,
}

impl ShutdownSignal {
    pub(crate) fn new() -> io::Result<ShutdownSignal> {
        Ok(ShutdownSignal(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Announces the end. The eventfd is never read, so it stays readable for all threads.
    pub(crate) fn announce(&self) {
        // Fails only if the counter is full, which means that the end was announced already.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Whether the end was announced.
    pub(crate) fn is_announced(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&*self.0, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut fds, Some(&at_once)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits until `fd` is ready for `events`, or the server ends.
    pub(crate) fn wait_ready(&self, fd: impl AsFd, events: PollFlags) -> io::Result<WaitResult> {
        let mut fds = [PollFd::new(&*self.0, PollFlags::IN), PollFd::new(&fd, events)];
        loop {
            match poll(&mut fds, None) {
                Ok(_) if !fds[0].revents().is_empty() => return Ok(WaitResult::Shutdown),
                Ok(_) if !fds[1].revents().is_empty() => return Ok(WaitResult::Ready),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Waits until `moment`, as exactly as the kernel can, or until the server ends.
    pub(crate) fn wait_until(&self, moment: Instant) -> io::Result<WaitResult> {
        let mut fds = [PollFd::new(&*self.0, PollFlags::IN)];
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(WaitResult::Ready);
            }
            let left = Timespec::try_from(left.min(LONGEST_WAIT)).map_err(io::Error::other)?;
            match poll(&mut fds, Some(&left)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(WaitResult::Shutdown),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl AsFd for ShutdownSignal {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The bytes of a connection.
#[derive(Debug)]
pub(crate) struct Wire {
    fd: OwnedFd,
    shutdown: ShutdownSignal,
}

/// No more bytes can be read or written; every reason ends the connection's thread.
#[derive(Debug)]
pub(crate) struct ConnectionEnded;

impl From<io::Error> for ConnectionEnded {
    fn from(_: io::Error) -> ConnectionEnded {
        ConnectionEnded
    }
}

impl From<Errno> for ConnectionEnded {
    fn from(_: Errno) -> ConnectionEnded {
        ConnectionEnded
    }
}

impl Wire {
    /// A connection on `fd`, which must be non-blocking.
    pub(crate) fn new(fd: OwnedFd, shutdown: ShutdownSignal) -> Wire {
        Wire { fd, shutdown }
    }

    /// Appends the bytes of one read to `bytes`, at least one.
    pub(crate) fn read(&mut self, bytes: &mut Vec<u8>) -> Result<(), ConnectionEnded> {
        loop {
            self.ready(PollFlags::IN)?;
            bytes.reserve(READ_BYTES);
            match rustix::io::read(&self.fd, rustix::buffer::spare_capacity(bytes)) {
                Ok(0) => return Err(ConnectionEnded),
                Ok(_) => return Ok(()),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => return Err(ConnectionEnded),
            }
        }
    }

    /// Writes all of `bytes`.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), ConnectionEnded> {
        while !bytes.is_empty() {
            // MSG_NOSIGNAL: a peer that has gone must not end the whole program.
            match rustix::net::send(&self.fd, bytes, rustix::net::SendFlags::NOSIGNAL) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::AGAIN) => self.ready(PollFlags::OUT)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(ConnectionEnded),
            }
        }
        Ok(())
    }

    /// Writes `bytes` again and again until the peer closes or the server ends.
    pub(crate) fn repeat(&mut self, bytes: &[u8]) -> Result<(), ConnectionEnded> {
        let many = bytes.repeat(READ_BYTES.div_ceil(bytes.len().max(1)));
        while !many.is_empty() && !self.shutdown.is_announced()? {
            self.write(&many)?;
        }
        Err(ConnectionEnded)
    }

    /// Waits until `moment`; fails if the server ends.
    pub(crate) fn wait(&self, moment: Instant) -> Result<(), ConnectionEnded> {
        match self.shutdown.wait_until(moment)? {
            WaitResult::Ready => Ok(()),
            WaitResult::Shutdown => Err(ConnectionEnded),
        }
    }

    /// Reads and discards until the peer closes or the server ends.
    pub(crate) fn hold(&mut self) {
        let mut forgotten = Vec::new();
        while self.read(&mut forgotten).is_ok() {
            forgotten.clear();
        }
    }

    /// Ends the connection with a RST (TCP; a Unix socket has no RST and is only closed).
    pub(crate) fn reset(self) {
        // Fails on a Unix socket, where nothing can be done about it.
        let _ = rustix::net::sockopt::set_socket_linger(&self.fd, Some(Duration::ZERO));
    }

    fn ready(&self, events: PollFlags) -> Result<(), ConnectionEnded> {
        match self.shutdown.wait_ready(&self.fd, events)? {
            WaitResult::Ready => Ok(()),
            WaitResult::Shutdown => Err(ConnectionEnded),
        }
    }
}

/// Room for one read; a usual request arrives in one.
const READ_BYTES: usize = 16 * 1024;

/// Longest wait in one call, because the kernel refuses times that do not fit its clock.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
