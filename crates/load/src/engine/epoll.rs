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
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::arrival::{WallNanos, receive};
pub use super::clock::Waiting;
use super::clock::{CROWD, Clock};
use super::socket::{Connect, Target, last_errno, reads_no_more};
use super::{Awaited, Completion, Engine, Failure, Naps, Op, Slot, Stamps};
use crate::spec::Address;
use crate::time::Nanos;

/// The engine of one load thread.
pub struct Epoll {
    poll: OwnedFd,
    /// Ends waits where epoll's own timeout counts in ms: before Linux 5.11.
    timer: Option<Timer>,
    target: Target,
    clock: Clock,
    slots: Vec<Place>,
    ready: VecDeque<Ready>,
    events: Vec<epoll::Event>,
    /// Index of the first event that was not handled yet.
    cursor: usize,
    reading: Option<Reading>,
    /// Connections whose send has failed: what they received before must be read.
    unread: VecDeque<Reading>,
    buffer: Box<[u8]>,
}

/// How long a poll may block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Patience {
    None,
    Exactly(Timespec),
    Endless,
}

/// A timer that epoll watches. It costs one more system call per wait.
#[derive(Debug)]
struct Timer {
    fd: OwnedFd,
    /// When it is set to expire, on the load's clock; `None` after it has expired.
    at: Option<Nanos>,
}

#[derive(Debug, Default)]
struct Place {
    socket: Option<OwnedFd>,
    /// Counts connections, so that an event of an earlier one is not taken for this one's.
    connection: u32,
    state: State,
    send: Vec<u8>,
    sent: usize,
    /// Why nothing more can be sent. Reported once nothing more is received.
    broken: Option<Errno>,
    polled: Polled,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    Connecting,
    Open,
    /// Reported as failed, or as closed by the peer; only `Close` follows.
    Over,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Polled {
    #[default]
    No,
    Readable,
    ReadableAndWritable,
    /// Registered for either, and must be registered again.
    Anew,
}

#[derive(Clone, Copy, Debug)]
struct Ready {
    slot: Slot,
    connection: u32,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Connected,
    Sent(u64),
    Failed(Errno),
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    slot: Slot,
    connection: u32,
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
        target: &Address,
        waiting: Waiting,
        stamps: Stamps,
        epoch: Instant,
    ) -> io::Result<Epoll> {
        let target = Target::new(target, stamps)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut events = Vec::with_capacity(EVENTS);
        let timer = match wait_exactly(&poll, &mut events, timespec(Nanos(1))) {
            Err(Errno::NOSYS) => Some(Timer::new(&poll)?),
            _ => None,
        };
        Ok(Epoll {
            poll,
            timer,
            target,
            clock: Clock::new(waiting, epoch),
            slots: Vec::new(),
            ready: VecDeque::with_capacity(EVENTS),
            events,
            cursor: 0,
            reading: None,
            unread: VecDeque::with_capacity(EVENTS),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        })
    }

    /// Sets the zero of the clock and of busy time. To be called on the load thread before the
    /// first request.
    pub fn begin(&mut self, epoch: Instant) {
        self.clock.begin(epoch);
    }

    fn place(&mut self, slot: Slot) -> &mut Place {
        if slot.index() >= self.slots.len() {
            self.slots.resize_with(slot.index() + 1, Place::default);
        }
        &mut self.slots[slot.index()]
    }

    fn tell(&mut self, slot: Slot, what: What) {
        let place = self.place(slot);
        match what {
            What::Connected => place.state = State::Open,
            What::Failed(_) => place.state = State::Over,
            What::Sent(_) => {}
        }
        let connection = place.connection;
        self.ready.push_back(Ready { slot, connection, what });
    }

    fn connect(&mut self, slot: Slot) {
        let opened = self.target.open();
        let place = self.place(slot);
        place.connection = place.connection.wrapping_add(1);
        (place.sent, place.polled, place.state) = (0, Polled::No, State::Connecting);
        place.broken = None;
        match opened {
            Ok((socket, there)) => {
                place.socket = Some(socket);
                if there == Connect::Yes {
                    self.tell(slot, What::Connected);
                }
            }
            Err(errno) => self.tell(slot, What::Failed(errno)),
        }
    }

    /// Writes as much as the kernel takes: an edge-triggered poll reports room only after a write
    /// that would block. Also tries while connecting, because on loopback the handshake is over
    /// when `connect` returns. Polling first would cost a turn.
    fn flush(&mut self, slot: Slot) {
        loop {
            let place = self.place(slot);
            let Some(socket) = &place.socket else { return };
            let connecting = place.state == State::Connecting;
            let is_of_use = connecting || place.state == State::Open && place.broken.is_none();
            if place.send.is_empty() || !is_of_use {
                return;
            }
            match send(socket, &place.send[place.sent..], SendFlags::NOSIGNAL) {
                Ok(bytes) => {
                    self.clock.sends();
                    let place = &mut self.slots[slot.index()];
                    place.sent += bytes;
                    if place.sent == place.send.len() {
                        place.send.clear();
                        place.sent = 0;
                    }
                    if connecting {
                        self.tell(slot, What::Connected);
                    }
                    self.tell(slot, What::Sent(bytes as u64));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(Errno::NOTCONN) if connecting => return,
                Err(errno) if !connecting && reads_no_more(errno) => {
                    return self.cannot_send(slot, errno);
                }
                Err(errno) => return self.tell(slot, What::Failed(errno)),
            }
        }
    }

    /// The peer reads no more. It may have sent an answer before, which can still be read.
    fn cannot_send(&mut self, slot: Slot, errno: Errno) {
        let place = self.place(slot);
        (place.broken, place.sent) = (Some(errno), 0);
        place.send.clear();
        let connection = place.connection;
        self.unread.push_back(Reading { slot, connection, ends: true, reads: 0 });
    }

    /// Registers with epoll what this connection waits for. Usually this is one call per
    /// connection.
    fn watch(&mut self, slot: Slot) {
        let place = self.place(slot);
        let needed = match place.state {
            State::Connecting => Polled::ReadableAndWritable,
            State::Open if !place.send.is_empty() => Polled::ReadableAndWritable,
            State::Open => Polled::Readable,
            State::Closed | State::Over => return,
        };
        if needed == place.polled || place.polled == Polled::ReadableAndWritable {
            return;
        }
        let mut flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        if needed == Polled::ReadableAndWritable {
            flags |= epoll::EventFlags::OUT;
        }
        let data = epoll::EventData::new_u64(u64::from(place.connection) << 32 | u64::from(slot.0));
        let before = std::mem::replace(&mut place.polled, needed);
        let Some(socket) = &self.slots[slot.index()].socket else { return };
        let watched = match before {
            Polled::No => epoll::add(&self.poll, socket, data, flags),
            Polled::Readable | Polled::ReadableAndWritable | Polled::Anew => {
                epoll::modify(&self.poll, socket, data, flags)
            }
        };
        if let Err(errno) = watched {
            self.tell(slot, What::Failed(errno));
        }
    }

    fn take_event(&mut self, event: epoll::Event) {
        let data = event.data.u64();
        let slot = Slot(data as u32);
        let connection = (data >> 32) as u32;
        if data == TIMER || self.place(slot).connection != connection {
            return;
        }
        let flags = event.flags;
        let broken = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        if flags.intersects(epoll::EventFlags::OUT | broken) {
            if self.place(slot).state == State::Connecting {
                self.connected(slot);
            }
            self.flush(slot);
        }
        let ends = flags.intersects(epoll::EventFlags::RDHUP | broken);
        if self.place(slot).state == State::Open && (ends || flags.contains(epoll::EventFlags::IN))
        {
            self.reading = Some(Reading { slot, connection, ends, reads: 0 });
        }
    }

    fn connected(&mut self, slot: Slot) {
        let Some(socket) = &self.place(slot).socket else { return };
        match sockopt::socket_error(socket) {
            Ok(Ok(())) => self.tell(slot, What::Connected),
            Ok(Err(errno)) | Err(errno) => self.tell(slot, What::Failed(errno)),
        }
    }

    /// Reads once. Edge-triggered, so the next call continues until a read is short. Where the end
    /// is known to follow, it continues until the end.
    fn read(&mut self, reading: Reading) -> Option<Received> {
        let place = &self.slots[reading.slot.index()];
        if place.connection != reading.connection || place.state != State::Open {
            self.reading = None;
            return None;
        }
        let socket = place.socket.as_ref()?;
        let read = match self.target.stamps() {
            Stamps::Kernel => receive(socket, &mut self.buffer),
            Stamps::Ours => {
                let read = recv(socket, &mut *self.buffer, RecvFlags::empty());
                read.map(|(bytes, _)| (bytes, None))
            }
        };
        let received = match read {
            Ok((0, _)) => place.broken.map_or(Received::End, Received::Failed),
            Ok((bytes, stamp)) => Received::Bytes(bytes, stamp),
            Err(Errno::INTR) => return None,
            Err(Errno::AGAIN) => {
                self.reading = None;
                return None;
            }
            Err(errno) => Received::Failed(place.broken.unwrap_or(errno)),
        };
        let more = match received {
            Received::Bytes(bytes, _) => bytes == self.buffer.len() || reading.ends,
            Received::End | Received::Failed(_) => {
                self.slots[reading.slot.index()].state = State::Over;
                false
            }
        };
        let reads = reading.reads + 1;
        self.reading = (more && reads < READS_MAX).then_some(Reading { reads, ..reading });
        if more && reads == READS_MAX {
            self.put_off(reading.slot);
        }
        Some(received)
    }

    /// Makes a peer that sends without end wait for its turn. When it is registered again, epoll
    /// reports it once more, behind the events of the others.
    fn put_off(&mut self, slot: Slot) {
        self.place(slot).polled = Polled::Anew;
        self.watch(slot);
    }

    fn has_more(&self) -> bool {
        let is_read = self.reading.is_some() || !self.unread.is_empty();
        !self.ready.is_empty() || is_read || self.cursor < self.events.len()
    }

    /// Polls and reads the clock. Afterwards `events` contains no timer event.
    fn poll(&mut self, patience: Patience) {
        self.events.clear();
        self.cursor = 0;
        let waited = match patience {
            Patience::Exactly(length) => wait_exactly(&self.poll, &mut self.events, length),
            Patience::None | Patience::Endless => {
                let timeout = (patience == Patience::None).then_some(&AT_ONCE);
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
            None => self.poll(Patience::Exactly(length)),
            Some(timer) => {
                timer.set(until, length);
                self.poll(Patience::Endless);
            }
        }
    }

    fn spin_until(&mut self, until: Nanos) {
        while self.events.is_empty() && self.clock.now() < until {
            let from = self.clock.now();
            std::hint::spin_loop();
            self.poll(Patience::None);
            self.clock.spun_since(from);
        }
    }
}

impl Timer {
    fn new(poll: &OwnedFd) -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let edge = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(poll, &fd, epoll::EventData::new_u64(TIMER), edge)?;
        Ok(Timer { fd, at: None })
    }

    fn set(&mut self, until: Nanos, length: Timespec) {
        if self.at != Some(until) {
            let once = Itimerspec { it_interval: AT_ONCE, it_value: length };
            let set = timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once);
            set.expect("a positive time below an hour is accepted");
            self.at = Some(until);
        }
    }
}

impl Engine for Epoll {
    fn name(&self) -> &'static str {
        "epoll"
    }

    fn sources(&self) -> u32 {
        self.target.sources()
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn refresh(&mut self) -> Nanos {
        self.clock.refresh()
    }

    fn send_buffer(&mut self, slot: Slot) -> &mut Vec<u8> {
        &mut self.place(slot).send
    }

    fn unsent(&mut self, slot: Slot) -> bool {
        let place = self.place(slot);
        !place.send.is_empty() || place.broken.is_some()
    }

    fn submit(&mut self, slot: Slot, op: Op) {
        match op {
            Op::Connect => self.connect(slot),
            Op::Send => {
                self.flush(slot);
                // A connection that is registered already may have to wait for writability.
                if self.place(slot).polled != Polled::No {
                    self.watch(slot);
                }
            }
            Op::Receive => self.watch(slot),
            Op::Close => {
                let place = self.place(slot);
                place.connection = place.connection.wrapping_add(1);
                place.state = State::Closed;
                // Closing the only descriptor also removes it from epoll.
                place.socket = None;
                place.send.clear();
            }
        }
    }

    fn wait(&mut self, until: Nanos, awaited: Awaited) {
        let crowd = awaited.crowd();
        if self.has_more() {
            self.clock.refresh();
            return;
        }
        if crowd >= CROWD {
            self.poll(Patience::None);
            if !self.has_more() && self.clock.naps(until, crowd) {
                self.poll(Patience::None);
            }
            if self.has_more() {
                return;
            }
        }
        let lingers = self.clock.lingers_until(until, awaited);
        let is_at_once = lingers > self.clock.now() || until <= self.clock.now();
        match crowd {
            // It was polled just now.
            CROWD.. => {}
            _ if is_at_once => self.poll(Patience::None),
            _ => self.events.clear(),
        }
        self.spin_until(lingers);
        while self.events.is_empty() && self.clock.now() < until {
            let Some(end) = self.clock.sleeps_until(until) else {
                return self.spin_until(until);
            };
            self.sleep_until(end);
            if self.events.is_empty() {
                self.clock.slept_until(end);
            }
        }
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        loop {
            if let Some(Ready { slot, connection, what }) = self.ready.pop_front() {
                if self.place(slot).connection != connection {
                    continue;
                }
                return Some(match what {
                    What::Connected => Completion::Connected(slot),
                    What::Sent(bytes) => Completion::Sent(slot, bytes),
                    What::Failed(errno) => {
                        Completion::Failed(slot, Failure { errno: errno.raw_os_error() })
                    }
                });
            }
            if let Some(reading) = self.reading {
                let slot = reading.slot;
                match self.read(reading) {
                    None => continue,
                    Some(Received::Bytes(bytes, stamp)) => {
                        self.clock.comes();
                        let came = self.clock.came(stamp);
                        return Some(Completion::Received(slot, &self.buffer[..bytes], came));
                    }
                    Some(Received::End) => return Some(Completion::PeerClosed(slot)),
                    Some(Received::Failed(errno)) => {
                        let errno = errno.raw_os_error();
                        return Some(Completion::Failed(slot, Failure { errno }));
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

    fn naps(&self) -> Naps {
        self.clock.taken_naps()
    }
}

/// Calls `epoll_pwait2`, whose timeout is in ns; the older calls have ms. Not through rustix, which
/// may round it to ms. Fails with `ENOSYS` before Linux 5.11.
fn wait_exactly(
    poll: &OwnedFd,
    events: &mut Vec<epoll::Event>,
    timeout: Timespec,
) -> Result<(), Errno> {
    events.clear();
    let (at, room) = (events.as_mut_ptr(), events.capacity());
    let (timeout, mask) = (&raw const timeout, std::ptr::null::<libc::sigset_t>());
    let call = libc::SYS_epoll_pwait2;
    // SAFETY: the kernel writes at most `room` events from `at` on and reads the timeout; rustix's
    // types are the kernel's. No signal mask.
    let count = unsafe { libc::syscall(call, poll.as_raw_fd(), at, room, timeout, mask, 0) };
    let Ok(count) = usize::try_from(count) else {
        return Err(last_errno());
    };
    // SAFETY: `count` events were written, and there were none before.
    unsafe { events.set_len(count) };
    Ok(())
}

/// A length in the kernel's form.
fn timespec(length: Nanos) -> Timespec {
    let (seconds, nanoseconds) = (length.0 / Nanos::SECOND.0, length.0 % Nanos::SECOND.0);
    Timespec { tv_sec: seconds as i64, tv_nsec: nanoseconds as _ }
}

enum Received {
    Bytes(usize, Option<WallNanos>),
    End,
    Failed(Errno),
}

/// Events per batch. A batch shares one reading of the clock, so it must be short work: 64 × some 5
/// µs.
const EVENTS: usize = 64;
/// Reads of one connection before the others get their turn: 1 MiB, more than a usual answer, and
/// some 0.3 ms.
const READS_MAX: u32 = 16;
/// Size of one read; the buffer is shared by all connections.
const BUFFER_BYTES: usize = 64 * 1024;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// The timer's token among the events; no slot has this number.
const TIMER: u64 = u64::MAX;
