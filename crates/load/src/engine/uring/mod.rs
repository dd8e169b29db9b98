//! The engine on Linux io_uring. Operations are submitted in batches, in a call that also takes
//! completions and waits if necessary. Needs Linux 6.1 (deferred task run), and a machine or
//! container that allows it.
//!
//! One thread submits and waits (`SINGLE_ISSUER`). The kernel does its share of the work only
//! inside our calls (`DEFER_TASKRUN`), so no request is interrupted by the answer to another one.
//! Each connection has one receive for its whole life (`RECV_MULTISHOT`), into buffers that all
//! share. With kernel timestamps, the kernel writes the timestamp before the bytes. Kernel bug: a
//! multishot receive may miss the end of a connection when it arrives together with bytes. So the
//! end is also polled for (`POLLRDHUP`). Connections are opened by ordinary calls, as with epoll,
//! so that they fail in the same ways.
//!
//! The socket of a kept connection is registered for its sends (see `files`). For a connection that
//! is used once this would cost more than it saves, and a multishot receive looks its socket up
//! only once.

mod buffers;
mod close;
mod files;
mod mark;
mod place;
mod ring;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Instant;

use io_uring::types::Fd;
use io_uring::{cqueue, opcode, squeue};
use rustix::io::Errno;
use rustix::net::sockopt;
use stampede_model::counts::Connections;
use stampede_model::load::Addresses;
use stampede_model::time::Nanos;

use super::clock::{Clock, WaitMode};
use super::socket::{ConnectProgress, Target, peer_stopped_reading};
use super::{Arrival, Completion, Engine, Failure, Op, Timestamps, Token};
use buffers::{Buffers, GROUP, HEADER, ReceivedPart};
use close::silent;
use files::RegisteredFiles;
use mark::{GENERATION_MASK, OpKind, UserData};
use place::{EndPoll, InFlight, PeerEnd, Registration, State, UringSlot};
use ring::Ring;

/// The engine of one load thread. Belongs to the thread that created it.
pub struct Uring {
    /// Dropped before the memory that the kernel reads and writes.
    ring: Ring,
    buffers: Buffers,
    files: RegisteredFiles,
    target: Target,
    clock: Clock,
    slots: Vec<UringSlot>,
    /// Results of ordinary calls.
    ready: VecDeque<(UserData, Result<(), Errno>)>,
    /// The buffer whose bytes the driver was given last.
    lent: Option<u16>,
    /// Bytes of connections that were closed while the kernel was sending them.
    orphans: Vec<(UserData, Vec<u8>)>,
}

impl Uring {
    /// An engine for `target` and usually at most `connections` connections; its clock begins at
    /// `epoch`. To be called on the load thread.
    ///
    /// # Errors
    /// The kernel is too old (`EINVAL`, `ENOSYS`), io_uring is not allowed (`EPERM`), or the path
    /// of a Unix socket is longer than 107 bytes.
    pub fn new(
        target: &Addresses,
        connections: u32,
        wait_mode: WaitMode,
        timestamps: Timestamps,
        epoch: Instant,
    ) -> io::Result<Uring> {
        let target = Target::new(target, timestamps)?;
        let ring = Ring::new()?;
        let buffers = Buffers::register(&ring.submitter(), connections)?;
        let files = RegisteredFiles::register(&ring.submitter(), connections);
        Ok(Uring {
            ring,
            buffers,
            files,
            target,
            clock: Clock::new(wait_mode, epoch),
            slots: Vec::new(),
            ready: VecDeque::with_capacity(READY),
            lent: None,
            orphans: Vec::new(),
        })
    }

    fn slot(&mut self, token: Token) -> &mut UringSlot {
        if token.index() >= self.slots.len() {
            self.slots.resize_with(token.index() + 1, UringSlot::default);
        }
        &mut self.slots[token.index()]
    }

    fn user_data(&mut self, token: Token, kind: OpKind) -> UserData {
        UserData { token, generation: self.slot(token).generation, kind }
    }

    /// Queues an operation of a connection. If the kernel takes none, the connection has failed.
    fn push(&mut self, token: Token, entry: &squeue::Entry) -> InFlight {
        let queued = self.ring.push(entry);
        self.in_flight(token, queued)
    }

    fn in_flight(&mut self, token: Token, queued: Result<(), Errno>) -> InFlight {
        let user_data = self.user_data(token, OpKind::Other);
        let slot = self.slot(token);
        match queued {
            Ok(()) => return InFlight::Yes,
            Err(errno) if matches!(slot.state, State::Connecting | State::Open) => {
                slot.state = State::Finished;
                self.ready.push_back((user_data, Err(errno)));
            }
            // It is closed, or has failed already.
            Err(_) => {}
        }
        InFlight::No
    }

    /// The socket's file descriptor; `None` where there is no socket.
    fn fd(&mut self, token: Token) -> Option<RawFd> {
        self.slot(token).socket.as_ref().map(AsRawFd::as_raw_fd)
    }

    fn connect(&mut self, token: Token) {
        let opened = self.target.open(token);
        let slot = self.slot(token);
        slot.generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
        (slot.state, slot.broken, slot.end) = (State::Connecting, None, PeerEnd::Unseen);
        let user_data = self.user_data(token, OpKind::Connect);
        match opened {
            Ok((socket, outcome)) => {
                let fd = Fd(socket.as_raw_fd());
                self.slot(token).socket = Some(socket);
                match outcome {
                    ConnectProgress::Established => {
                        self.slot(token).state = State::Open;
                        self.ready.push_back((user_data, Ok(())));
                    }
                    ConnectProgress::InProgress => {
                        let writable = opcode::PollAdd::new(fd, libc::POLLOUT as u32).build();
                        self.push(token, &writable.user_data(user_data.number()));
                    }
                }
            }
            Err(errno) => {
                self.slot(token).state = State::Finished;
                self.ready.push_back((user_data, Err(errno)));
            }
        }
    }

    /// The socket is writable for the first time: the connection is established, or it failed.
    fn connected(&mut self, token: Token) -> Result<(), Errno> {
        let slot = self.slot(token);
        slot.state = State::Finished;
        let Some(socket) = &slot.socket else { return Err(Errno::NOTCONN) };
        sockopt::socket_error(socket)??;
        slot.state = State::Open;
        self.send(token);
        if std::mem::take(&mut self.slot(token).wants_receive) {
            self.receive(token);
        }
        Ok(())
    }

    /// Sends what was appended. If a send is in flight, its completion does it.
    fn send(&mut self, token: Token) {
        let slot = self.slot(token);
        let is_of_use = slot.state == State::Open && slot.broken.is_none();
        if slot.sending == InFlight::Yes || slot.send.is_empty() || !is_of_use {
            return;
        }
        std::mem::swap(&mut slot.send, &mut slot.in_kernel);
        (slot.sent, slot.sending) = (0, InFlight::Yes);
        self.register(token);
        self.send_rest(token);
    }

    /// Registers a socket that has sent often enough. Those sends have completed, so the kernel has
    /// seen everything that was queued before, including that an earlier connection left the place.
    fn register(&mut self, token: Token) {
        let Some(fd) = self.fd(token) else { return };
        let slot = &mut self.slots[token.index()];
        slot.file = match slot.file {
            Registration::AfterSends(SENDS_BEFORE_REGISTRATION) => {
                match self.files.insert(&self.ring.submitter(), token, fd) {
                    Some(file) => Registration::Registered(file),
                    None => Registration::Failed,
                }
            }
            Registration::AfterSends(times) => Registration::AfterSends(times + 1),
            decided => decided,
        };
    }

    fn send_rest(&mut self, token: Token) {
        let Some(fd) = self.fd(token) else { return };
        let user_data = self.user_data(token, OpKind::Send);
        let slot = &self.slots[token.index()];
        let rest = &slot.in_kernel[slot.sent..];
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let send = match slot.file {
            Registration::Registered(file) => opcode::Send::new(file, rest.as_ptr(), length),
            _ => opcode::Send::new(Fd(fd), rest.as_ptr(), length),
        };
        // Without WAITALL a large body completes in pieces; with it, once.
        let send = send.flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL).build();
        let queued = self.ring.push_send(&send.user_data(user_data.number()));
        if self.in_flight(token, queued) == InFlight::No {
            let slot = &mut self.slots[token.index()];
            slot.sending = InFlight::No;
            slot.in_kernel.clear();
        }
    }

    fn receive(&mut self, token: Token) {
        let slot = self.slot(token);
        if slot.state == State::Connecting {
            slot.wants_receive = true;
        }
        if slot.state != State::Open || slot.receiving == InFlight::Yes {
            return;
        }
        let is_watched = slot.watching != EndPoll::NotBegun;
        let Some(fd) = self.fd(token) else { return };
        let user_data = self.user_data(token, OpKind::Receive);
        let receive = match self.target.timestamps() {
            Timestamps::Kernel => {
                opcode::RecvMsgMulti::new(Fd(fd), &raw const HEADER.0, GROUP).build()
            }
            Timestamps::Userspace => opcode::RecvMulti::new(Fd(fd), GROUP).build(),
        };
        self.slots[token.index()].receiving =
            self.push(token, &receive.user_data(user_data.number()));
        if !is_watched {
            let user_data = UserData { kind: OpKind::HangUp, ..user_data };
            let end = opcode::PollAdd::new(Fd(fd), libc::POLLRDHUP as u32).build();
            if self.push(token, &end.user_data(user_data.number())) == InFlight::Yes {
                self.slots[token.index()].watching = EndPoll::InFlight;
            }
        }
    }

    /// The peer's end has arrived. A multishot receive that is woken twice before it runs, for
    /// bytes and for the end, reads the bytes and then waits forever. So it is cancelled and
    /// submitted again, and reads up to the end. A receive that has seen the end is no longer there
    /// to cancel.
    fn hung_up(&mut self, token: Token) {
        self.slot(token).watching = EndPoll::Done;
        if self.slot(token).state == State::Open && self.slot(token).receiving == InFlight::Yes {
            let receive = self.user_data(token, OpKind::Receive);
            let cancel = opcode::AsyncCancel::new(receive.number()).build();
            self.push(token, &silent(cancel, receive));
        }
    }

    /// Translates a completion for the driver; `None` where it means nothing to the driver.
    fn op_result(&mut self, entry: &cqueue::Entry) -> Option<OpResult> {
        let user_data = UserData::from_number(entry.user_data());
        let buffer = cqueue::buffer_select(entry.flags());
        let token = user_data.token;
        if self.slot(token).generation != user_data.generation || user_data.kind == OpKind::Other {
            buffer.into_iter().for_each(|number| self.buffers.give_back(number));
            self.orphans.retain(|(orphan, _)| *orphan != user_data);
            return None;
        }
        let result = match entry.result() {
            error if error < 0 => Err(Errno::from_raw_os_error(-error)),
            bytes => Ok(bytes as usize),
        };
        match user_data.kind {
            OpKind::Connect => {
                let outcome = result.and_then(|_| self.connected(token));
                if outcome.is_err() {
                    self.slot(token).state = State::Finished;
                }
                Some(OpResult::Connect(token, outcome))
            }
            OpKind::Send => self.sent(token, result),
            OpKind::Receive => self.received(token, result, buffer, cqueue::more(entry.flags())),
            OpKind::HangUp => {
                self.hung_up(token);
                None
            }
            OpKind::Other => None,
        }
    }

    fn sent(&mut self, token: Token, result: Result<usize, Errno>) -> Option<OpResult> {
        let slot = self.slot(token);
        match result {
            Ok(bytes) => {
                slot.sent += bytes;
                if slot.sent < slot.in_kernel.len() {
                    self.send_rest(token);
                } else {
                    slot.in_kernel.clear();
                    slot.sending = InFlight::No;
                    self.send(token);
                }
                Some(OpResult::Send(token, bytes as u64))
            }
            Err(Errno::INTR | Errno::AGAIN) => {
                self.send_rest(token);
                None
            }
            Err(errno) => {
                slot.in_kernel.clear();
                slot.sending = InFlight::No;
                if peer_stopped_reading(errno) && slot.state == State::Open {
                    // The receive goes on: what the peer sent before, and its end, may still be
                    // seen.
                    slot.broken = Some(errno);
                    return None;
                }
                self.failed(token, errno)
            }
        }
    }

    fn received(
        &mut self,
        token: Token,
        result: Result<usize, Errno>,
        buffer: Option<u16>,
        more: bool,
    ) -> Option<OpResult> {
        let slot = self.slot(token);
        let state = slot.state;
        if !more {
            slot.receiving = InFlight::No;
        }
        if let Some(number) = buffer {
            let part = self.buffers.part(number, result.unwrap_or(0), self.target.timestamps());
            if !part.is_empty() && state == State::Open {
                if !more {
                    self.receive(token);
                }
                self.lent = Some(number);
                let arrival = self.clock.arrival(part.timestamp);
                return Some(OpResult::Receive(token, part, arrival));
            }
            self.buffers.give_back(number);
        }
        match result {
            Ok(_) if state == State::Open => self.peer_closed(token),
            Ok(_) => None,
            // `NOBUFS`: all buffers are full; those of this batch are free by the next call.
            // `CANCELED`: by us, see `hung_up`.
            Err(Errno::NOBUFS | Errno::INTR | Errno::AGAIN | Errno::CANCELED) => {
                self.receive(token);
                None
            }
            Err(errno) => {
                let errno = self.slot(token).broken.unwrap_or(errno);
                self.failed(token, errno)
            }
        }
    }

    /// Handles the peer's end. It may be in the same batch as bytes that we answer with a send (the
    /// next step of a handshake). That send has not reached the kernel yet, and its result shows
    /// whether the peer still took it. So the end, which stays readable, is read once more behind
    /// the send.
    fn peer_closed(&mut self, token: Token) -> Option<OpResult> {
        let slot = self.slot(token);
        if slot.sending == InFlight::Yes && slot.end == PeerEnd::Unseen {
            slot.end = PeerEnd::Seen;
            self.receive(token);
            return None;
        }
        match slot.broken {
            Some(errno) => self.failed(token, errno),
            None => {
                slot.state = State::Finished;
                Some(OpResult::PeerClosed(token))
            }
        }
    }

    fn failed(&mut self, token: Token, errno: Errno) -> Option<OpResult> {
        let before = std::mem::replace(&mut self.slot(token).state, State::Finished);
        (before == State::Open).then_some(OpResult::Failed(token, errno))
    }

    /// Returns the buffer whose bytes the driver has handled.
    fn give_back(&mut self) {
        if let Some(number) = self.lent.take() {
            self.buffers.give_back(number);
        }
    }

    fn has_more(&self) -> bool {
        !self.ready.is_empty() || !self.ring.is_empty()
    }

    /// Takes completions, if the last batch is used up.
    fn take_batch(&mut self) {
        if self.ring.is_empty() {
            self.ring.take_batch();
        }
    }

    /// Submits what is queued, takes completions, and reads the clock.
    fn poll(&mut self) {
        self.clock.note_look();
        self.ring.submit();
        self.take_batch();
        self.clock.refresh();
    }

    /// Spins. Enters the ring only where a flag in shared memory says that the kernel has work to
    /// do: with deferred task run, completions appear only inside our calls.
    fn spin_until(&mut self, until: Nanos) {
        while !self.has_more() && self.clock.now() < until {
            while !self.ring.has_completions() && self.clock.now() < until {
                let from = self.clock.now();
                std::hint::spin_loop();
                self.clock.refresh();
                self.clock.count_spin(from);
            }
            self.poll();
        }
    }
}

/// The result of an operation, as far as the driver is told.
enum OpResult {
    Connect(Token, Result<(), Errno>),
    Send(Token, u64),
    /// The bytes, and when they arrived.
    Receive(Token, ReceivedPart, Arrival),
    PeerClosed(Token),
    Failed(Token, Errno),
}

impl Engine for Uring {
    fn begin(&mut self, epoch: Instant) {
        self.clock.begin(epoch);
        self.target.begin();
    }

    fn name(&self) -> &'static str {
        "io_uring"
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
        slot.sending == InFlight::Yes || !slot.send.is_empty() || slot.broken.is_some()
    }

    fn submit(&mut self, token: Token, op: Op) {
        match op {
            Op::Connect => self.connect(token),
            Op::Send => self.send(token),
            Op::Receive => self.receive(token),
            Op::Close => self.close(token),
        }
    }

    fn wait(&mut self, until: Nanos, in_flight: u32) {
        self.give_back();
        self.take_batch();
        let spins = self.clock.spins_for_answers(self.target.timestamps(), in_flight);
        if self.has_more() || spins || until <= self.clock.now() {
            // Submit now: operations must not wait for completions that we look at or wait for.
            self.poll();
            return if spins {
                self.spin_until(until)
            };
        }
        while !self.has_more() && self.clock.now() < until {
            let Some(end) = self.clock.sleep_end(until) else {
                self.poll();
                return self.spin_until(until);
            };
            self.clock.note_look();
            self.ring.wait(end.since(self.clock.now()));
            self.take_batch();
            self.clock.refresh();
            // The ring's own timer, or a signal, may have ended the wait earlier.
            if !self.has_more() && self.clock.now() >= end {
                self.clock.learn_sleep(end);
            }
        }
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        self.give_back();
        while let Some((user_data, outcome)) = self.ready.pop_front() {
            if self.slot(user_data.token).generation == user_data.generation {
                return Some(connected(&mut self.target, user_data.token, outcome));
            }
        }
        while let Some(entry) = self.ring.next() {
            let Some(result) = self.op_result(&entry) else { continue };
            return Some(match result {
                OpResult::Connect(token, outcome) => connected(&mut self.target, token, outcome),
                OpResult::Send(token, bytes) => Completion::Sent(token, bytes),
                OpResult::Receive(token, part, arrival) => {
                    Completion::Received(token, self.buffers.bytes(part), arrival)
                }
                OpResult::PeerClosed(token) => Completion::PeerClosed(token),
                OpResult::Failed(token, errno) => failed(token, errno),
            });
        }
        None
    }

    fn busy(&self) -> Nanos {
        self.clock.busy()
    }
}

fn connected(target: &mut Target, token: Token, outcome: Result<(), Errno>) -> Completion<'static> {
    match outcome {
        Ok(()) => target.connected(token),
        Err(errno) => failed(token, errno),
    }
}

fn failed(token: Token, errno: Errno) -> Completion<'static> {
    Completion::Failed(token, Failure { errno: errno.raw_os_error() })
}

/// Sends of a connection before it is registered: about as many as registering it saves.
const SENDS_BEFORE_REGISTRATION: u32 = 10;
/// Capacity for connections that are established, or have failed, at once.
const READY: usize = 64;
