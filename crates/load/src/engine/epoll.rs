//! The engine on Linux epoll with non-blocking sockets. Each operation is tried at once, and one
//! that would block waits for an edge-triggered event.
//!
//! With one connection per request, the side that closes first keeps it in TIME_WAIT. We close as
//! any client does, without SO_LINGER tricks. On loopback Linux reuses such ports after a second
//! (`net.ipv4.tcp_tw_reuse` = 2, the default since 4.19). That allows some 28 000 requests/s from
//! one address. Beyond that, further local addresses are used (`socket.rs`). Where there are none,
//! requests fail with `net:no-port`.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use rustix::thread::{ClockId, clock_nanosleep_relative};
use stampede_model::counts::Connections;
use stampede_model::load::Addresses;
use stampede_model::time::Nanos;

use super::arrival::{WallNanos, receive};
use super::clock::{Clock, NAP};
use super::socket::{ConnectProgress, Target, peer_stopped_reading};
use super::timer::{AT_ONCE, TIMER, Timer, timespec, wait_exactly};
use super::{Completion, Engine, Failure, Op, Timestamps, Token};

pub use super::clock::WaitMode;

/// The engine of one load thread.
pub struct Epoll {
    poll: OwnedFd,
    /// Ends waits where epoll's own timeout counts in ms: before Linux 5.11, and where a seccomp
    /// profile refuses the newer call.
    timer: Option<Timer>,
    target: Target,
    clock: Clock,
    slots: Vec<EpollSlot>,
    ready: VecDeque<ReadyOperation>,
    events: Vec<epoll::Event>,
    /// Index of the first event that was not handled yet.
    cursor: usize,
    reading: Option<PendingRead>,
    /// Connections whose send has failed: what they received before must be read.
    unread: VecDeque<PendingRead>,
    buffer: Box<[u8]>,
}

/// How long a poll may block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WaitLimit {
    None,
    Exactly(Timespec),
    Infinite,
}

#[derive(Debug, Default)]
struct EpollSlot {
    socket: Option<OwnedFd>,
    /// Counts connections, so that an event of an earlier one is not taken for this one's.
    generation: u32,
    state: State,
    send: Vec<u8>,
    sent: usize,
    /// Why nothing more can be sent. Reported once nothing more is received.
    broken: Option<Errno>,
    interest: Interest,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    Connecting,
    Open,
    /// Reported as failed, or as closed by the peer; only `Close` follows.
    Finished,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Interest {
    #[default]
    No,
    Readable,
    ReadableAndWritable,
    /// Registered for either, and must be registered again.
    Stale,
}

#[derive(Clone, Copy, Debug)]
struct ReadyOperation {
    token: Token,
    generation: u32,
    kind: ReadyKind,
}

#[derive(Clone, Copy, Debug)]
enum ReadyKind {
    Connected,
    Sent(u64),
    Failed(Errno),
}

#[derive(Clone, Copy, Debug)]
struct PendingRead {
    token: Token,
    generation: u32,
    /// Whether the end of the stream follows the bytes that are there.
    ends: bool,
    /// Number of consecutive reads so far.
    reads: u32,
}

impl Epoll {
    /// An engine for `target`; its clock begins at `epoch`.
    ///
    /// # Errors
    /// No file descriptor is left, or the path of a Unix socket is longer than 107 bytes.
    pub fn new(
        target: &Addresses,
        wait_mode: WaitMode,
        timestamps: Timestamps,
        epoch: Instant,
    ) -> io::Result<Epoll> {
        let target = Target::new(target, timestamps)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut events = Vec::with_capacity(EVENTS);
        let timer = match wait_exactly(&poll, &mut events, timespec(Nanos(1))) {
            Ok(()) | Err(Errno::INTR) => None,
            // `NOSYS` from an old kernel. Seccomp profiles older than the call answer `PERM`.
            Err(_) => Some(Timer::new(&poll)?),
        };
        Ok(Epoll {
            poll,
            timer,
            target,
            clock: Clock::new(wait_mode, epoch),
            slots: Vec::new(),
            ready: VecDeque::with_capacity(EVENTS),
            events,
            cursor: 0,
            reading: None,
            unread: VecDeque::with_capacity(EVENTS),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        })
    }

    fn slot(&mut self, token: Token) -> &mut EpollSlot {
        if token.index() >= self.slots.len() {
            self.slots.resize_with(token.index() + 1, EpollSlot::default);
        }
        &mut self.slots[token.index()]
    }

    fn report(&mut self, token: Token, kind: ReadyKind) {
        let slot = self.slot(token);
        match kind {
            ReadyKind::Connected => slot.state = State::Open,
            ReadyKind::Failed(_) => slot.state = State::Finished,
            ReadyKind::Sent(_) => {}
        }
        let generation = slot.generation;
        self.ready.push_back(ReadyOperation { token, generation, kind });
    }

    fn connect(&mut self, token: Token) {
        let opened = self.target.open(token);
        let slot = self.slot(token);
        slot.generation = slot.generation.wrapping_add(1);
        (slot.sent, slot.broken) = (0, None);
        (slot.interest, slot.state) = (Interest::No, State::Connecting);
        match opened {
            Ok((socket, there)) => {
                slot.socket = Some(socket);
                if there == ConnectProgress::Established {
                    self.report(token, ReadyKind::Connected);
                }
            }
            Err(errno) => self.report(token, ReadyKind::Failed(errno)),
        }
    }

    /// Writes as much as the kernel takes: an edge-triggered poll reports room only after a write
    /// that would block. Also tries while connecting, because on loopback the handshake is over
    /// when `connect` returns. Polling first would cost a turn.
    fn flush(&mut self, token: Token) {
        loop {
            let slot = self.slot(token);
            let Some(socket) = &slot.socket else { return };
            let connecting = slot.state == State::Connecting;
            let can_send = connecting || slot.state == State::Open && slot.broken.is_none();
            if slot.send.is_empty() || !can_send {
                return;
            }
            match send(socket, &slot.send[slot.sent..], SendFlags::NOSIGNAL) {
                Ok(bytes) => {
                    let slot = &mut self.slots[token.index()];
                    slot.sent += bytes;
                    if slot.sent == slot.send.len() {
                        slot.send.clear();
                        slot.sent = 0;
                    }
                    if connecting {
                        self.report(token, ReadyKind::Connected);
                    }
                    self.report(token, ReadyKind::Sent(bytes as u64));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(Errno::NOTCONN) if connecting => return,
                Err(errno) if !connecting && peer_stopped_reading(errno) => {
                    return self.cannot_send(token, errno);
                }
                Err(errno) => return self.report(token, ReadyKind::Failed(errno)),
            }
        }
    }

    /// The peer reads no more. It may have sent an answer before, which can still be read.
    fn cannot_send(&mut self, token: Token, errno: Errno) {
        let slot = self.slot(token);
        (slot.broken, slot.sent) = (Some(errno), 0);
        slot.send.clear();
        let generation = slot.generation;
        self.unread.push_back(PendingRead { token, generation, ends: true, reads: 0 });
    }

    /// Registers with epoll what this connection waits for. Usually this is one call per
    /// connection.
    fn watch(&mut self, token: Token) {
        let slot = self.slot(token);
        let needed = match slot.state {
            State::Connecting => Interest::ReadableAndWritable,
            State::Open if !slot.send.is_empty() => Interest::ReadableAndWritable,
            State::Open => Interest::Readable,
            State::Closed | State::Finished => return,
        };
        if needed == slot.interest || slot.interest == Interest::ReadableAndWritable {
            return;
        }
        let mut flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        if needed == Interest::ReadableAndWritable {
            flags |= epoll::EventFlags::OUT;
        }
        let data = epoll::EventData::new_u64(u64::from(slot.generation) << 32 | u64::from(token.0));
        let before = std::mem::replace(&mut slot.interest, needed);
        let Some(socket) = &self.slots[token.index()].socket else { return };
        let watched = match before {
            Interest::No => epoll::add(&self.poll, socket, data, flags),
            Interest::Readable | Interest::ReadableAndWritable | Interest::Stale => {
                epoll::modify(&self.poll, socket, data, flags)
            }
        };
        if let Err(errno) = watched {
            self.report(token, ReadyKind::Failed(errno));
        }
    }

    fn take_event(&mut self, event: epoll::Event) {
        let data = event.data.u64();
        let token = Token(data as u32);
        let generation = (data >> 32) as u32;
        if data == TIMER || self.slot(token).generation != generation {
            return;
        }
        let flags = event.flags;
        let broken = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        if flags.intersects(epoll::EventFlags::OUT | broken) {
            if self.slot(token).state == State::Connecting {
                self.connected(token);
            }
            self.flush(token);
        }
        let ends = flags.intersects(epoll::EventFlags::RDHUP | broken);
        if self.slot(token).state == State::Open && (ends || flags.contains(epoll::EventFlags::IN))
        {
            self.reading = Some(PendingRead { token, generation, ends, reads: 0 });
        }
    }

    fn connected(&mut self, token: Token) {
        let Some(socket) = &self.slot(token).socket else { return };
        match sockopt::socket_error(socket) {
            Ok(Ok(())) => self.report(token, ReadyKind::Connected),
            Ok(Err(errno)) | Err(errno) => self.report(token, ReadyKind::Failed(errno)),
        }
    }

    /// Reads once. Edge-triggered, so the next call continues until a read is short. Where the end
    /// is known to follow, it continues until the end.
    fn read(&mut self, reading: PendingRead) -> Option<Received> {
        let slot = &self.slots[reading.token.index()];
        if slot.generation != reading.generation || slot.state != State::Open {
            self.reading = None;
            return None;
        }
        let socket = slot.socket.as_ref()?;
        let read = match self.target.timestamps() {
            Timestamps::Kernel => receive(socket, &mut self.buffer),
            Timestamps::Userspace => {
                let read = recv(socket, &mut *self.buffer, RecvFlags::empty());
                read.map(|(bytes, _)| (bytes, None))
            }
        };
        let received = match read {
            Ok((0, _)) => slot.broken.map_or(Received::End, Received::Failed),
            Ok((bytes, timestamp)) => Received::Bytes(bytes, timestamp),
            Err(Errno::INTR) => return None,
            Err(Errno::AGAIN) => {
                self.reading = None;
                return None;
            }
            Err(errno) => Received::Failed(slot.broken.unwrap_or(errno)),
        };
        let more = match received {
            Received::Bytes(bytes, _) => bytes == self.buffer.len() || reading.ends,
            Received::End | Received::Failed(_) => {
                self.slots[reading.token.index()].state = State::Finished;
                false
            }
        };
        let reads = reading.reads + 1;
        self.reading = (more && reads < READS_MAX).then_some(PendingRead { reads, ..reading });
        if more && reads == READS_MAX {
            self.defer_read(reading.token);
        }
        Some(received)
    }

    /// Makes a peer that sends without end wait for its turn. When it is registered again, epoll
    /// reports it once more, behind the events of the others.
    fn defer_read(&mut self, token: Token) {
        self.slot(token).interest = Interest::Stale;
        self.watch(token);
    }

    fn has_more(&self) -> bool {
        let is_read = self.reading.is_some() || !self.unread.is_empty();
        !self.ready.is_empty() || is_read || self.cursor < self.events.len()
    }

    /// Polls and reads the clock. Afterwards `events` contains no timer event.
    fn poll(&mut self, wait_limit: WaitLimit) {
        self.events.clear();
        self.cursor = 0;
        self.clock.note_look();
        let waited = match wait_limit {
            WaitLimit::Exactly(length) => wait_exactly(&self.poll, &mut self.events, length),
            WaitLimit::None | WaitLimit::Infinite => {
                let timeout = (wait_limit == WaitLimit::None).then_some(&AT_ONCE);
                let space = rustix::buffer::spare_capacity(&mut self.events);
                epoll::wait(&self.poll, space, timeout).map(drop)
            }
        };
        // Interrupted: nothing happened, and the caller reads the clock again. Any other error
        // would be an invalid argument, which is our bug.
        if let Err(errno) = waited {
            assert_eq!(errno, Errno::INTR, "epoll refuses our own arguments");
        }
        if let Some(timer) = &mut self.timer {
            let before = self.events.len();
            self.events.retain(|event| event.data.u64() != TIMER);
            if self.events.len() < before {
                timer.at = None;
            }
        }
        self.clock.refresh();
    }

    fn sleep_until(&mut self, until: Nanos) {
        let length = timespec(until.since(self.clock.now()));
        match &mut self.timer {
            None => self.poll(WaitLimit::Exactly(length)),
            Some(timer) => {
                timer.set(until, length);
                self.poll(WaitLimit::Infinite);
            }
        }
    }

    fn spin_until(&mut self, until: Nanos) {
        while self.events.is_empty() && self.clock.now() < until {
            let from = self.clock.now();
            std::hint::spin_loop();
            self.poll(WaitLimit::None);
            self.clock.count_spin(from);
        }
    }
}

impl Engine for Epoll {
    fn begin(&mut self, epoch: Instant) {
        self.clock.begin(epoch);
        self.target.begin();
    }

    fn name(&self) -> &'static str {
        "epoll"
    }

    fn connections(&self) -> Connections {
        self.target.connections()
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn refresh(&mut self) -> Nanos {
        self.clock.refresh()
    }

    fn send_buffer(&mut self, token: Token) -> &mut Vec<u8> {
        &mut self.slot(token).send
    }

    fn unsent(&mut self, token: Token) -> bool {
        let slot = self.slot(token);
        !slot.send.is_empty() || slot.broken.is_some()
    }

    fn submit(&mut self, token: Token, op: Op) {
        match op {
            Op::Connect => self.connect(token),
            Op::Send => {
                self.flush(token);
                // A connection that is registered already may have to wait for writability.
                if self.slot(token).interest != Interest::No {
                    self.watch(token);
                }
            }
            Op::Receive => self.watch(token),
            Op::Close => {
                let slot = self.slot(token);
                slot.generation = slot.generation.wrapping_add(1);
                slot.state = State::Closed;
                // Closing the only descriptor also removes it from epoll.
                slot.socket = None;
                slot.send.clear();
            }
        }
    }

    fn wait(&mut self, until: Nanos, in_flight: u32) {
        if self.has_more() {
            self.clock.refresh();
            return;
        }
        let spins = self.clock.spins_for_answers(self.target.timestamps(), in_flight);
        if spins || until <= self.clock.now() {
            self.poll(WaitLimit::None);
            return if spins {
                self.spin_until(until)
            };
        }
        if self.clock.naps(self.target.timestamps(), in_flight, until) {
            // After a long batch, more has arrived meanwhile.
            if self.events.len() > SHORT_BATCH {
                self.poll(WaitLimit::None);
                if !self.events.is_empty() {
                    return;
                }
            }
            nap();
            self.poll(WaitLimit::None);
            if !self.events.is_empty() {
                return;
            }
        }
        self.events.clear();
        while self.events.is_empty() && self.clock.now() < until {
            let Some(end) = self.clock.sleep_end(until) else {
                return self.spin_until(until);
            };
            self.sleep_until(end);
            if self.events.is_empty() {
                self.clock.learn_sleep(end);
            }
        }
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        loop {
            if let Some(ReadyOperation { token, generation, kind }) = self.ready.pop_front() {
                if self.slot(token).generation != generation {
                    continue;
                }
                return Some(match kind {
                    ReadyKind::Connected => self.target.connected(token),
                    ReadyKind::Sent(bytes) => Completion::Sent(token, bytes),
                    ReadyKind::Failed(errno) => {
                        Completion::Failed(token, Failure { errno: errno.raw_os_error() })
                    }
                });
            }
            if let Some(reading) = self.reading {
                let token = reading.token;
                match self.read(reading) {
                    None => continue,
                    Some(Received::Bytes(bytes, timestamp)) => {
                        let arrival = self.clock.arrival(timestamp);
                        return Some(Completion::Received(token, &self.buffer[..bytes], arrival));
                    }
                    Some(Received::End) => return Some(Completion::PeerClosed(token)),
                    Some(Received::Failed(errno)) => {
                        let errno = errno.raw_os_error();
                        return Some(Completion::Failed(token, Failure { errno }));
                    }
                }
            }
            if let Some(unread) = self.unread.pop_front() {
                self.reading = Some(unread);
                continue;
            }
            let event = *self.events.get(self.cursor)?;
            self.cursor += 1;
            self.take_event(event);
        }
    }

    fn busy(&self) -> Nanos {
        self.clock.busy()
    }
}

enum Received {
    Bytes(usize, Option<WallNanos>),
    End,
    Failed(Errno),
}

/// Sleeps for `NAP`, whatever arrives. Interrupted by a signal it is shorter, which harms nothing.
fn nap() {
    let _ = clock_nanosleep_relative(ClockId::Monotonic, &timespec(NAP));
}

/// Events per batch. A batch shares one reading of the clock, so it must be short work: 64 × some 5
/// µs.
const EVENTS: usize = 64;
/// A batch after which a nap may follow at once: another answer may have arrived meanwhile, and waits for
/// the nap's end.
const SHORT_BATCH: usize = 3;
/// Reads of one connection before the others get their turn: 1 MiB, more than a usual answer, and
/// some 0.3 ms.
const READS_MAX: u32 = 16;
/// Size of one read; the buffer is shared by all connections.
const BUFFER_BYTES: usize = 64 * 1024;
