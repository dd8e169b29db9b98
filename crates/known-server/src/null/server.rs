//! The event loop of a null server: one thread, epoll, level-triggered.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use stampede_linux::arrival::{enable_timestamps, unsent_bytes};

use super::clock::{WallOffset, monotonic_ns};
use super::connection::{Answers, Arrival, Close, Connection, Request, Sent, Stamping};
use super::{NullServerOptions, RequestTimestamps};
use crate::listen::Listener;
use crate::wire::ShutdownSignal;

pub(super) struct Server {
    epoll: OwnedFd,
    listener: Listener,
    /// Slots; the slot of a closed connection is reused.
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    accepted: u64,
    accepting: Accepting,
    answered: Arc<AtomicU64>,
    /// Buffer for one read of the connection that is being served.
    buffer: Vec<u8>,
    /// The requests of that read.
    requests: Vec<Request>,
    /// Requests whose answers are delayed, in order of time.
    delayed: VecDeque<Delayed>,
    answers: Answers,
    options: NullServerOptions,
    stamps: Vec<RequestTimestamps>,
    wall: WallOffset,
    /// When the first request was read.
    zero_ns: Option<u64>,
}

/// A request that is answered later.
struct Delayed {
    at_ns: u64,
    slot: usize,
    /// The connection may have been closed meanwhile, and its slot reused.
    connection: u64,
    request: Request,
}

/// Whether the listener is polled. It is not while descriptors are short, because it would then
/// wake us for nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepting {
    Yes,
    UntilOneCloses,
}

impl Server {
    pub(super) fn new(
        listener: Listener,
        shutdown: &ShutdownSignal,
        answered: Arc<AtomicU64>,
        options: NullServerOptions,
    ) -> io::Result<Server> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, shutdown, EventData::new_u64(ENDING), EventFlags::IN)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        if options.stamps > 0 {
            // The kernel takes a moment to begin, so it is asked before the first connection.
            enable_timestamps(&listener);
        }
        Ok(Server {
            epoll,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            accepted: 0,
            accepting: Accepting::Yes,
            answered,
            buffer: vec![0; READ_BYTES],
            requests: Vec::new(),
            delayed: VecDeque::new(),
            answers: Answers::new(&options),
            stamps: Vec::with_capacity(options.stamps),
            options,
            wall: WallOffset::measure(),
            zero_ns: None,
        })
    }

    /// Serves until the end is announced.
    pub(super) fn serve(mut self) -> Vec<RequestTimestamps> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            let space = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, space, self.until_next_answer().as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                // The descriptor and the buffer are ours, so this is a bug.
                Err(errno) => panic!("epoll_wait: {errno}"),
            }
            // A slot may be closed and reused within this loop. An event of the old connection then
            // looks at the new one, which finds nothing: all reads and sends are non-blocking.
            for event in &events {
                match event.data.u64() {
                    ENDING => return self.stamps,
                    LISTENER => self.accept(),
                    slot => self.serve_slot(slot as usize),
                }
            }
            self.answer_delayed();
        }
    }

    fn stamping(&self) -> Stamping {
        if self.options.stamps > 0 { Stamping::On } else { Stamping::Off }
    }

    /// Time until the first delayed answer; `None`: there is none.
    fn until_next_answer(&self) -> Option<Timespec> {
        let ns = self.delayed.front()?.at_ns.saturating_sub(monotonic_ns());
        let (seconds, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
        Some(Timespec { tv_sec: seconds as i64, tv_nsec: ns as i64 })
    }

    fn answer_delayed(&mut self) {
        let is_due = |next: &Delayed| next.at_ns <= monotonic_ns();
        while self.delayed.front().is_some_and(is_due) {
            let Some(next) = self.delayed.pop_front() else { return };
            let is_there = |there: &Connection| there.number == next.connection;
            if self.connections[next.slot].as_ref().is_some_and(is_there) {
                self.answer(next.slot, next.request);
            }
        }
    }

    /// Waits for the end of the freeze, if one is in progress.
    fn wait_out_freeze(&self) {
        let (Some(freeze), Some(zero_ns)) = (self.options.freeze, self.zero_ns) else { return };
        let now = Duration::from_nanos(monotonic_ns() - zero_ns);
        thread::sleep(freeze.after_freeze(now).saturating_sub(now));
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(fd) => self.add(fd),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.accepting = Accepting::UntilOneCloses;
                    let _ = epoll::delete(&self.epoll, &self.listener);
                    return;
                }
            }
        }
    }

    fn add(&mut self, fd: OwnedFd) {
        self.accepted += 1;
        let (protocol, stamping) = (&self.options.protocol, self.stamping());
        let Some(connection) = Connection::new(fd, self.accepted, protocol, stamping) else {
            return;
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let data = EventData::new_u64(slot as u64);
        if epoll::add(&self.epoll, &connection.fd, data, EventFlags::IN).is_err() {
            self.free.push(slot);
            return;
        }
        self.connections[slot] = Some(connection);
    }

    /// Does what is possible now: sends what waits, otherwise reads once.
    fn serve_slot(&mut self, slot: usize) {
        self.wait_out_freeze();
        let Some(connection) = &mut self.connections[slot] else { return };
        if connection.waits_for_room() {
            let sent = connection.send_rest();
            return self.finish(slot, sent, Waited::Yes);
        }
        let (protocol, requests) = (&self.options.protocol, &mut self.requests);
        let read = connection.read(&mut self.buffer, protocol, requests);
        if connection.waits_for_room() {
            // A step of a handshake.
            self.finish(slot, Ok(None), Waited::No);
        }
        // Requests before one that cannot be read are answered.
        self.take_requests(slot);
        if read.is_err() {
            self.drop_slot(slot);
        }
    }

    /// Answers the requests of one read, or notes when they are to be answered.
    fn take_requests(&mut self, slot: usize) {
        if self.requests.is_empty() {
            return;
        }
        if self.options.freeze.is_some() {
            self.zero_ns.get_or_insert_with(monotonic_ns);
        }
        let mut requests = std::mem::take(&mut self.requests);
        let number = self.connections[slot].as_ref().map_or(0, |connection| connection.number);
        let delay_ns = self.options.delay.as_nanos() as u64;
        for request in requests.drain(..) {
            if delay_ns == 0 {
                self.answer(slot, request);
            } else {
                let at_ns = monotonic_ns() + delay_ns;
                self.delayed.push_back(Delayed { at_ns, slot, connection: number, request });
            }
        }
        self.requests = requests;
    }

    fn answer(&mut self, slot: usize, request: Request) {
        let Some(connection) = &mut self.connections[slot] else { return };
        let waited = if connection.waits_for_room() { Waited::Yes } else { Waited::No };
        // Counted before the client can see the answer. There is only one writer, so no atomic
        // read-modify-write is needed.
        self.answered.store(self.answered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let sent = connection.answer(request, &self.answers);
        self.finish(slot, sent, waited);
    }

    /// After a send call: stamps what it completed, and waits for room or for requests.
    fn finish(&mut self, slot: usize, sent: Result<Option<Sent>, Close>, waited: Waited) {
        let Ok(sent) = sent else { return self.drop_slot(slot) };
        if let Some(sent) = sent {
            self.stamp(slot, sent);
        }
        let Some(connection) = &self.connections[slot] else { return };
        if connection.is_over() {
            return self.drop_slot(slot);
        }
        let waits = connection.waits_for_room();
        if waits != (waited == Waited::Yes) {
            let flags = if waits { EventFlags::OUT } else { EventFlags::IN };
            let data = EventData::new_u64(slot as u64);
            if epoll::modify(&self.epoll, &connection.fd, data, flags).is_err() {
                self.drop_slot(slot);
            }
        }
    }

    /// Stamps the answers of a connection that a send call has completed.
    fn stamp(&mut self, slot: usize, sent: Sent) {
        let Some(connection) = &mut self.connections[slot] else { return };
        let (room, wall) = (self.options.stamps - self.stamps.len(), self.wall);
        let after_send_ns = match self.options.body_bytes {
            ..LARGE => sent.after_ns,
            // The client may have made room after the call.
            _ if unsent_bytes(&connection.fd) == 0 => monotonic_ns(),
            _ => u64::MAX,
        };
        let number = connection.number;
        let finished = connection.unfinished.drain(..);
        self.stamps.extend(finished.take(room).map(|request| RequestTimestamps {
            number: request.number,
            connection: number,
            arrived_ns: match request.arrived {
                Arrival::Kernel(at) => wall.monotonic_ns(at).min(sent.before_ns),
                Arrival::Read(at_ns) => at_ns,
            },
            before_send_ns: sent.before_ns,
            after_send_ns,
        }));
    }

    fn drop_slot(&mut self, slot: usize) {
        // Closing the descriptor removes it from the epoll set.
        if self.connections[slot].take().is_none() {
            return;
        }
        self.free.push(slot);
        if self.accepting == Accepting::UntilOneCloses {
            let data = EventData::new_u64(LISTENER);
            if epoll::add(&self.epoll, &self.listener, data, EventFlags::IN).is_ok() {
                self.accepting = Accepting::Yes;
            }
        }
    }
}

/// A client has room for smaller answers before it reads.
const LARGE: usize = 32 << 10;

/// Whether a connection waited for room before something was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waited {
    Yes,
    No,
}

/// Tokens of the two descriptors that are no connection; no slot has such a number.
const ENDING: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

/// Events of one wait and bytes of one read; larger values would make no measurable difference.
const EVENTS: usize = 256;
const READ_BYTES: usize = 64 * 1024;
