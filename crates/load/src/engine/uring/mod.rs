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
mod files;
mod gather;
mod mark;
mod place;
mod ring;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::time::Instant;

use io_uring::types::Fd;
use io_uring::{cqueue, opcode, squeue};
use rustix::io::Errno;
use rustix::net::sockopt;

use super::clock::{CROWD, Clock, Waiting};
use super::socket::{Connect, Target, reads_no_more};
use super::{Awaited, Completion, Engine, Failure, Naps, Op, Slot, Stamps};
use crate::spec::Address;
use crate::time::Nanos;
use buffers::{Buffers, GROUP, HEADER, Part};
use files::Files;
use mark::{CONNECTIONS, Mark, What};
use place::{End, File, InFlight, Place, State};
use ring::Ring;

/// The engine of one load thread. Belongs to the thread that created it.
pub struct Uring {
    /// Dropped before the memory that the kernel reads and writes.
    ring: Ring,
    buffers: Buffers,
    files: Files,
    target: Target,
    clock: Clock,
    slots: Vec<Place>,
    /// Results of ordinary calls.
    ready: VecDeque<(Mark, Result<(), Errno>)>,
    /// The buffer whose bytes the driver was given last.
    lent: Option<u16>,
    /// Bytes of connections that were closed while the kernel was sending them.
    orphans: Vec<(Mark, Vec<u8>)>,
}

impl Uring {
    /// An engine for `target` and usually at most `connections` connections; its clock begins at
    /// `epoch`. To be called on the load thread.
    ///
    /// # Errors
    /// The kernel is too old (`EINVAL`, `ENOSYS`), io_uring is not allowed (`EPERM`), or the path
    /// of a Unix socket is longer than 107 bytes.
    pub fn new(
        target: &Address,
        connections: u32,
        waiting: Waiting,
        stamps: Stamps,
        epoch: Instant,
    ) -> io::Result<Uring> {
        let target = Target::new(target, stamps)?;
        let ring = Ring::new()?;
        let buffers = Buffers::register(&ring.submitter(), connections)?;
        let files = Files::register(&ring.submitter(), connections);
        Ok(Uring {
            ring,
            buffers,
            files,
            target,
            clock: Clock::new(waiting, epoch),
            slots: Vec::new(),
            ready: VecDeque::with_capacity(READY),
            lent: None,
            orphans: Vec::new(),
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

    fn mark(&mut self, slot: Slot, what: What) -> Mark {
        Mark { slot, connection: self.place(slot).connection, what }
    }

    /// The socket's file descriptor; `None` where there is no socket.
    fn fd(&mut self, slot: Slot) -> Option<RawFd> {
        self.place(slot).socket.as_ref().map(AsRawFd::as_raw_fd)
    }

    fn connect(&mut self, slot: Slot) {
        let opened = self.target.open();
        let place = self.place(slot);
        place.connection = place.connection.wrapping_add(1) & CONNECTIONS;
        (place.state, place.broken, place.end) = (State::Connecting, None, End::Unseen);
        let mark = self.mark(slot, What::Connect);
        match opened {
            Ok((socket, there)) => {
                let fd = Fd(socket.as_raw_fd());
                self.place(slot).socket = Some(socket);
                match there {
                    Connect::Yes => {
                        self.place(slot).state = State::Open;
                        self.ready.push_back((mark, Ok(())));
                    }
                    Connect::NotYet => {
                        let writable = opcode::PollAdd::new(fd, libc::POLLOUT as u32).build();
                        self.ring.push(&writable.user_data(mark.number()));
                    }
                }
            }
            Err(errno) => {
                self.place(slot).state = State::Over;
                self.ready.push_back((mark, Err(errno)));
            }
        }
    }

    /// The socket is writable for the first time: the connection is established, or it failed.
    fn connected(&mut self, slot: Slot) -> Result<(), Errno> {
        let place = self.place(slot);
        place.state = State::Over;
        let Some(socket) = &place.socket else { return Err(Errno::NOTCONN) };
        sockopt::socket_error(socket)??;
        place.state = State::Open;
        self.send(slot);
        if std::mem::take(&mut self.place(slot).wants_receive) {
            self.receive(slot);
        }
        Ok(())
    }

    /// Sends what was appended. If a send is in flight, its completion does it.
    fn send(&mut self, slot: Slot) {
        let place = self.place(slot);
        let is_of_use = place.state == State::Open && place.broken.is_none();
        if place.sending == InFlight::Way || place.send.is_empty() || !is_of_use {
            return;
        }
        std::mem::swap(&mut place.send, &mut place.flying);
        (place.sent, place.sending) = (0, InFlight::Way);
        self.clock.sends();
        self.register(slot);
        self.send_rest(slot);
    }

    /// Registers a socket that has sent often enough. Those sends have completed, so the kernel has
    /// seen everything that was queued before, including that an earlier connection left the place.
    fn register(&mut self, slot: Slot) {
        let Some(fd) = self.fd(slot) else { return };
        let place = &mut self.slots[slot.index()];
        place.file = match place.file {
            File::Sent(OFTEN) => match self.files.enter(&self.ring.submitter(), slot, fd) {
                Some(file) => File::Known(file),
                None => File::Unknown,
            },
            File::Sent(times) => File::Sent(times + 1),
            known => known,
        };
    }

    fn send_rest(&mut self, slot: Slot) {
        let Some(fd) = self.fd(slot) else { return };
        let mark = self.mark(slot, What::Send);
        let place = &self.slots[slot.index()];
        let rest = &place.flying[place.sent..];
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let send = match place.file {
            File::Known(file) => opcode::Send::new(file, rest.as_ptr(), length),
            _ => opcode::Send::new(Fd(fd), rest.as_ptr(), length),
        };
        // Without WAITALL a large body completes in pieces; with it, once.
        let send = send.flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL).build();
        self.ring.push_send(&send.user_data(mark.number()));
    }

    fn receive(&mut self, slot: Slot) {
        let place = self.place(slot);
        if place.state == State::Connecting {
            place.wants_receive = true;
        }
        if place.state != State::Open || place.receiving == InFlight::Way {
            return;
        }
        place.receiving = InFlight::Way;
        let is_watched = std::mem::replace(&mut place.watching, InFlight::Way) == InFlight::Way;
        let Some(fd) = self.fd(slot) else { return };
        let mark = self.mark(slot, What::Receive);
        let receive = match self.target.stamps() {
            Stamps::Kernel => opcode::RecvMsgMulti::new(Fd(fd), &raw const HEADER.0, GROUP).build(),
            Stamps::Ours => opcode::RecvMulti::new(Fd(fd), GROUP).build(),
        };
        self.ring.push(&receive.user_data(mark.number()));
        if !is_watched {
            let mark = Mark { what: What::HangUp, ..mark };
            let end = opcode::PollAdd::new(Fd(fd), libc::POLLRDHUP as u32).build();
            self.ring.push(&end.user_data(mark.number()));
        }
    }

    /// The peer's end has arrived. A multishot receive that is woken twice before it runs, for
    /// bytes and for the end, reads the bytes and then waits forever. So it is cancelled and
    /// submitted again, and reads up to the end. A receive that has seen the end is no longer there
    /// to cancel.
    fn hung_up(&mut self, slot: Slot) {
        if self.place(slot).state == State::Open && self.place(slot).receiving == InFlight::Way {
            let receive = self.mark(slot, What::Receive);
            self.ring.push(&silent(opcode::AsyncCancel::new(receive.number()).build(), receive));
        }
    }

    /// Cancels the operations in flight, then closes. The order matters: an operation keeps its
    /// socket open.
    fn close(&mut self, slot: Slot) {
        let marks = [What::Connect, What::Send, What::Receive, What::HangUp]
            .map(|what| self.mark(slot, what));
        let place = self.place(slot);
        let under_way = [
            place.state == State::Connecting,
            place.sending == InFlight::Way,
            place.receiving == InFlight::Way,
            place.watching == InFlight::Way,
        ];
        let socket = place.socket.take();
        let file = std::mem::take(&mut place.file);
        let flying = match place.sending {
            InFlight::Way => Some(std::mem::take(&mut place.flying)),
            InFlight::No => None,
        };
        place.connection = place.connection.wrapping_add(1) & CONNECTIONS;
        place.state = State::Closed;
        (place.sending, place.receiving, place.watching) =
            (InFlight::No, InFlight::No, InFlight::No);
        place.wants_receive = false;
        place.send.clear();
        self.orphans.extend(flying.map(|flying| (marks[1], flying)));
        let Some(socket) = socket else { return };
        for (mark, under_way) in marks.into_iter().zip(under_way) {
            if under_way {
                let cancel = opcode::AsyncCancel::new(mark.number()).build();
                self.ring.push(&silent(cancel, mark));
            }
        }
        if let File::Known(file) = file {
            self.ring.push(&silent(files::leave(file), marks[0]));
        }
        let close = opcode::Close::new(Fd(socket.into_raw_fd())).build();
        self.ring.push(&silent(close, marks[0]));
    }

    /// Translates a completion for the driver; `None` where it means nothing to the driver.
    fn ended(&mut self, entry: &cqueue::Entry) -> Option<Ended> {
        let mark = Mark::from_number(entry.user_data());
        let buffer = cqueue::buffer_select(entry.flags());
        let slot = mark.slot;
        if self.place(slot).connection != mark.connection || mark.what == What::Other {
            buffer.into_iter().for_each(|number| self.buffers.give_back(number));
            self.orphans.retain(|(orphan, _)| *orphan != mark);
            return None;
        }
        let result = match entry.result() {
            error if error < 0 => Err(Errno::from_raw_os_error(-error)),
            bytes => Ok(bytes as usize),
        };
        match mark.what {
            What::Connect => {
                let there = result.and_then(|_| self.connected(slot));
                if there.is_err() {
                    self.place(slot).state = State::Over;
                }
                Some(Ended::Connect(slot, there))
            }
            What::Send => self.sent(slot, result),
            What::Receive => self.received(slot, result, buffer, cqueue::more(entry.flags())),
            What::HangUp => {
                self.hung_up(slot);
                None
            }
            What::Guard | What::Other => None,
        }
    }

    fn sent(&mut self, slot: Slot, result: Result<usize, Errno>) -> Option<Ended> {
        let place = self.place(slot);
        match result {
            Ok(bytes) => {
                place.sent += bytes;
                if place.sent < place.flying.len() {
                    self.send_rest(slot);
                } else {
                    place.flying.clear();
                    place.sending = InFlight::No;
                    self.send(slot);
                }
                Some(Ended::Send(slot, bytes as u64))
            }
            Err(Errno::INTR | Errno::AGAIN) => {
                self.send_rest(slot);
                None
            }
            Err(errno) => {
                place.flying.clear();
                place.sending = InFlight::No;
                if reads_no_more(errno) && place.state == State::Open {
                    // The receive goes on: what the peer sent before, and its end, may still be
                    // seen.
                    place.broken = Some(errno);
                    return None;
                }
                self.failed(slot, errno)
            }
        }
    }

    fn received(
        &mut self,
        slot: Slot,
        result: Result<usize, Errno>,
        buffer: Option<u16>,
        more: bool,
    ) -> Option<Ended> {
        let place = self.place(slot);
        let state = place.state;
        if !more {
            place.receiving = InFlight::No;
        }
        if let Some(number) = buffer {
            let part = self.buffers.part(number, result.unwrap_or(0), self.target.stamps());
            if !part.is_empty() && state == State::Open {
                if !more {
                    self.receive(slot);
                }
                self.lent = Some(number);
                self.clock.comes();
                return Some(Ended::Receive(slot, part, self.clock.came(part.stamp)));
            }
            self.buffers.give_back(number);
        }
        match result {
            Ok(_) if state == State::Open => self.peer_closed(slot),
            Ok(_) => None,
            // `NOBUFS`: all buffers are full; those of this batch are free by the next call.
            // `CANCELED`: by us, see `hung_up`.
            Err(Errno::NOBUFS | Errno::INTR | Errno::AGAIN | Errno::CANCELED) => {
                self.receive(slot);
                None
            }
            Err(errno) => {
                let errno = self.place(slot).broken.unwrap_or(errno);
                self.failed(slot, errno)
            }
        }
    }

    /// Handles the peer's end. It may be in the same batch as bytes that we answer with a send (the
    /// next step of a handshake). That send has not reached the kernel yet, and its result shows
    /// whether the peer still took it. So the end, which stays readable, is read once more behind
    /// the send.
    fn peer_closed(&mut self, slot: Slot) -> Option<Ended> {
        let place = self.place(slot);
        if place.sending == InFlight::Way && place.end == End::Unseen {
            place.end = End::Seen;
            self.receive(slot);
            return None;
        }
        match place.broken {
            Some(errno) => self.failed(slot, errno),
            None => {
                place.state = State::Over;
                Some(Ended::PeerClosed(slot))
            }
        }
    }

    fn failed(&mut self, slot: Slot, errno: Errno) -> Option<Ended> {
        let before = std::mem::replace(&mut self.place(slot).state, State::Over);
        (before == State::Open).then_some(Ended::Failed(slot, errno))
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
    fn look(&mut self) {
        self.ring.tell();
        self.take_batch();
        self.clock.refresh();
    }

    /// Spins. Enters the ring only where a flag in shared memory says that the kernel has work to
    /// do: with deferred task run, completions appear only inside our calls.
    fn spin_until(&mut self, until: Nanos) {
        while !self.has_more() && self.clock.now() < until {
            while !self.ring.has_news() && self.clock.now() < until {
                let from = self.clock.now();
                std::hint::spin_loop();
                self.clock.refresh();
                self.clock.spun_since(from);
            }
            self.look();
        }
    }
}

/// The result of an operation, as far as the driver is told.
enum Ended {
    Connect(Slot, Result<(), Errno>),
    Send(Slot, u64),
    /// The bytes, and when they arrived.
    Receive(Slot, Part, Nanos),
    PeerClosed(Slot),
    Failed(Slot, Errno),
}

impl Engine for Uring {
    fn name(&self) -> &'static str {
        "io_uring"
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
        place.sending == InFlight::Way || !place.send.is_empty() || place.broken.is_some()
    }

    fn submit(&mut self, slot: Slot, op: Op) {
        match op {
            Op::Connect => self.connect(slot),
            Op::Send => self.send(slot),
            Op::Receive => self.receive(slot),
            Op::Close => self.close(slot),
        }
    }

    fn wait(&mut self, until: Nanos, awaited: Awaited) {
        let crowd = awaited.crowd();
        self.give_back();
        self.take_batch();
        if crowd >= CROWD && !self.has_more() && self.gathers(until, crowd) {
            return;
        }
        let lingers = self.clock.lingers_until(until, awaited);
        if self.has_more() || lingers > self.clock.now() || until <= self.clock.now() {
            // Submit now: operations must not wait for completions that we look at or wait for.
            self.look();
            self.spin_until(lingers);
        }
        while !self.has_more() && self.clock.now() < until {
            let Some(end) = self.clock.sleeps_until(until) else {
                self.look();
                return self.spin_until(until);
            };
            self.ring.wait(end.since(self.clock.now()));
            self.take_batch();
            self.clock.refresh();
            // The ring's own timer, or a signal, may have ended the wait earlier.
            if !self.has_more() && self.clock.now() >= end {
                self.clock.slept_until(end);
            }
        }
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        self.give_back();
        while let Some((mark, there)) = self.ready.pop_front() {
            if self.place(mark.slot).connection == mark.connection {
                return Some(connected(mark.slot, there));
            }
        }
        while let Some(entry) = self.ring.next() {
            let Some(ended) = self.ended(&entry) else { continue };
            return Some(match ended {
                Ended::Connect(slot, there) => connected(slot, there),
                Ended::Send(slot, bytes) => Completion::Sent(slot, bytes),
                Ended::Receive(slot, part, came) => {
                    Completion::Received(slot, self.buffers.bytes(part), came)
                }
                Ended::PeerClosed(slot) => Completion::PeerClosed(slot),
                Ended::Failed(slot, errno) => failed(slot, errno),
            });
        }
        None
    }

    fn busy(&self) -> Nanos {
        self.clock.busy()
    }

    fn naps(&self) -> Naps {
        self.clock.taken_naps()
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // Operations in flight read and write our memory, so they are cancelled one by one.
        // Cancelling all at once takes the kernel a second for 10 000 connections, because its time
        // grows with their square. What is left then is cancelled when the ring is dropped.
        (0..self.slots.len()).for_each(|slot| self.close(Slot(slot as u32)));
        self.ring.tell();
    }
}

/// Makes an operation report only failures, and those are ignored.
fn silent(entry: squeue::Entry, of: Mark) -> squeue::Entry {
    let mark = Mark { what: What::Other, ..of };
    entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(mark.number())
}

fn connected(slot: Slot, there: Result<(), Errno>) -> Completion<'static> {
    match there {
        Ok(()) => Completion::Connected(slot),
        Err(errno) => failed(slot, errno),
    }
}

fn failed(slot: Slot, errno: Errno) -> Completion<'static> {
    Completion::Failed(slot, Failure { errno: errno.raw_os_error() })
}

/// Sends of a connection before it is registered: about as many as registering it saves.
const OFTEN: u32 = 10;
/// Capacity for connections that are established, or have failed, at once.
const READY: usize = 64;
