//! One connection of a null server: its bytes, and the protocol inside them. It never blocks.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustls::ServerConnection;
use stampede_linux::arrival::{WallNanos, enable_timestamps, receive};

use super::clock::monotonic_ns;
use super::{BODY, NullServerOptions, Protocol};
use crate::fastcgi::{self, FastCgiRequest};
use crate::request::{ParsedRequest, Persistence, REQUEST_BYTES_MAX, Shape};

/// A connection, and what it has received and not sent.
pub(super) struct Connection {
    pub(super) fd: OwnedFd,
    /// Its number; the first one that was accepted is 1.
    pub(super) number: u64,
    tls: Option<Box<ServerConnection>>,
    /// Received bytes of a request that is not complete yet, decrypted.
    received: Vec<u8>,
    /// Bytes for which the client has no room yet.
    unsent: Vec<u8>,
    /// Requests whose answers end in `unsent`, or that were sent and are to be stamped.
    pub(super) unfinished: Vec<Request>,
    stamping: Stamping,
    /// No request is answered after one that demands a close.
    persistence: Persistence,
}

/// A complete request that is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) parsed: ParsedRequest,
    /// The number that is its path; 0 where it is none.
    pub(super) number: u64,
    /// When its last byte arrived; meaningless without stamping.
    pub(super) arrived: Arrival,
}

/// When bytes arrived.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrival {
    /// By the kernel's timestamp.
    Kernel(WallNanos),
    /// Just before they were read, in ns on the monotonic clock.
    Read(u64),
}

/// Whether times are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamping {
    On,
    Off,
}

/// The times of the send call that completed all answers so far, on the monotonic clock in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) before_ns: u64,
    pub(super) after_ns: u64,
}

/// The connection must be dropped.
#[derive(Debug)]
pub(super) struct Close;

impl Connection {
    /// A connection that was just accepted; `None` where TLS cannot begin.
    pub(super) fn new(
        fd: OwnedFd,
        number: u64,
        protocol: &Protocol,
        stamping: Stamping,
    ) -> Option<Connection> {
        if stamping == Stamping::On {
            enable_timestamps(&fd);
        }
        let tls = match protocol {
            Protocol::Http1 | Protocol::FastCgi => None,
            Protocol::Tls(config) => {
                let mut tls = ServerConnection::new(config.clone()).ok()?;
                // What the client has no room for waits in `unsent`, not here.
                tls.set_buffer_limit(None);
                Some(Box::new(tls))
            }
        };
        Some(Connection {
            fd,
            number,
            tls,
            received: Vec::new(),
            unsent: Vec::new(),
            unfinished: Vec::new(),
            stamping,
            persistence: Persistence::Implicit,
        })
    }

    /// Whether bytes wait for room. Nothing is read meanwhile: a client that does not read gets no
    /// more.
    pub(super) fn waits_for_room(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Reads once into `buffer`, and appends the requests that are complete now.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        protocol: &Protocol,
        requests: &mut Vec<Request>,
    ) -> Result<(), Close> {
        let read_ns = self.now_ns();
        let result = match self.stamping {
            Stamping::On => receive(&self.fd, buffer),
            Stamping::Off => rustix::io::read(&self.fd, &mut *buffer).map(|bytes| (bytes, None)),
        };
        let (bytes, arrived) = match result {
            Ok((0, _)) => return Err(Close),
            Ok(read) => read,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(_) => return Err(Close),
        };
        self.decrypt(&buffer[..bytes])?;
        let arrived = arrived.map_or(Arrival::Read(read_ns), Arrival::Kernel);
        let mut used = 0;
        while used < self.received.len() {
            let Some((parsed, number)) = parse(&self.received[used..], protocol)? else { break };
            used += parsed.length;
            requests.push(Request { parsed, number, arrived });
        }
        self.received.drain(..used);
        if self.received.len() > REQUEST_BYTES_MAX { Err(Close) } else { Ok(()) }
    }

    /// Appends received bytes to `received`, and sends what TLS itself has to say.
    fn decrypt(&mut self, mut bytes: &[u8]) -> Result<(), Close> {
        let Some(tls) = &mut self.tls else {
            self.received.extend_from_slice(bytes);
            return Ok(());
        };
        while !bytes.is_empty() {
            if !tls.read_tls(&mut bytes).is_ok_and(|taken| taken > 0) {
                return Err(Close);
            }
            let state = tls.process_new_packets().map_err(|_| Close)?;
            let (begin, more) = (self.received.len(), state.plaintext_bytes_to_read());
            self.received.resize(begin + more, 0);
            tls.reader().read_exact(&mut self.received[begin..]).map_err(|_| Close)?;
        }
        if tls.wants_write() { self.send(&[]).map(drop) } else { Ok(()) }
    }

    /// Sends the answer to `request`, as far as there is room.
    pub(super) fn answer(
        &mut self,
        request: Request,
        answers: &Answers,
    ) -> Result<Option<Sent>, Close> {
        self.persistence = request.parsed.persistence;
        if self.stamping == Stamping::On {
            self.unfinished.push(request);
        }
        self.send(answers.to(&request.parsed))
    }

    /// Sends what had no room before.
    pub(super) fn send_rest(&mut self) -> Result<Option<Sent>, Close> {
        self.flush()
    }

    /// Sends bytes, and keeps those for which the client has no room.
    fn send(&mut self, bytes: &[u8]) -> Result<Option<Sent>, Close> {
        match &mut self.tls {
            None => self.unsent.extend_from_slice(bytes),
            Some(tls) => {
                tls.writer().write_all(bytes).map_err(|_| Close)?;
                while tls.wants_write() {
                    tls.write_tls(&mut self.unsent).map_err(|_| Close)?;
                }
            }
        }
        self.flush()
    }

    /// Sends `unsent`. Returns when its last byte was sent, where an answer ends with it that is to
    /// be stamped.
    fn flush(&mut self) -> Result<Option<Sent>, Close> {
        let mut sent = 0;
        let (mut before_ns, mut after_ns) = (0, 0);
        while sent < self.unsent.len() {
            before_ns = self.now_ns();
            match rustix::net::send(
                &self.fd,
                &self.unsent[sent..],
                rustix::net::SendFlags::NOSIGNAL,
            ) {
                Ok(bytes) => sent += bytes,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Close),
            }
            after_ns = self.now_ns();
        }
        self.unsent.drain(..sent);
        let is_done = self.unsent.is_empty() && !self.unfinished.is_empty();
        Ok(is_done.then_some(Sent { before_ns, after_ns }))
    }

    /// The time, where it is needed.
    fn now_ns(&self) -> u64 {
        if self.stamping == Stamping::On { monotonic_ns() } else { 0 }
    }

    /// Whether everything was sent, and the last answer demands a close.
    pub(super) fn is_over(&self) -> bool {
        self.persistence == Persistence::Close && self.unsent.is_empty()
    }
}

/// The request at the start of `bytes` with its number; `None` while it is not complete.
fn parse(bytes: &[u8], protocol: &Protocol) -> Result<Option<(ParsedRequest, u64)>, Close> {
    match protocol {
        Protocol::FastCgi => {
            let request = FastCgiRequest::parse(bytes).map_err(|_| Close)?;
            Ok(request.map(|request| (request.parsed, number_of(&request.uri))))
        }
        Protocol::Http1 | Protocol::Tls(_) => {
            let parsed = ParsedRequest::parse(bytes).map_err(|_| Close)?;
            let path = bytes.strip_prefix(b"GET ").unwrap_or_default();
            Ok(parsed.map(|parsed| (parsed, number_of(path))))
        }
    }
}

/// The number of a path that begins with `/17`.
fn number_of(path: &[u8]) -> u64 {
    let digits = path.strip_prefix(b"/").unwrap_or_default();
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, byte| {
        number.saturating_mul(10).saturating_add(u64::from(byte - b'0'))
    })
}

/// The fixed answers.
pub(super) struct Answers {
    /// To a request whose connection is kept.
    kept: Vec<u8>,
    /// To HTTP/1.0 with `Connection: keep-alive`.
    explicit: Vec<u8>,
    /// Before a close.
    last: Vec<u8>,
    /// Bytes at the end of each that are its body.
    body_bytes: usize,
}

impl Answers {
    pub(super) fn new(options: &NullServerOptions) -> Answers {
        let body: Vec<u8> = BODY.iter().copied().cycle().take(options.body_bytes).collect();
        let http = |connection: &str| {
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\n{connection}Content-Length: {length}\r\n\r\n");
            [head.as_bytes(), &body[..]].concat()
        };
        let body_bytes = body.len();
        let [kept, explicit, last] = match options.protocol {
            Protocol::FastCgi => [(); 3].map(|()| fastcgi::answer(&body)),
            Protocol::Http1 | Protocol::Tls(_) => {
                ["", "Connection: keep-alive\r\n", "Connection: close\r\n"].map(http)
            }
        };
        Answers { kept, explicit, last, body_bytes }
    }

    fn to(&self, request: &ParsedRequest) -> &[u8] {
        let whole = match request.persistence {
            Persistence::Implicit => &self.kept,
            Persistence::Explicit => &self.explicit,
            Persistence::Close => &self.last,
        };
        match request.shape {
            Shape::HeadAndBody => whole,
            Shape::HeadOnly => &whole[..whole.len() - self.body_bytes],
        }
    }
}
