//! An engine without a machine: time is a number, and the server is a script. So stalls can be
//! tested by arithmetic, and a million random servers in a second.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Awaited, Completion, Engine, Failure, Op, Slot, Stamps};
use crate::time::Nanos;

/// How the simulated server behaves. Lists are used in turn and repeated from the start. An empty
/// list always means the first variant.
#[derive(Clone, Debug)]
pub struct Script {
    /// Time from the connect call until the connection is established.
    pub connect_time: Nanos,
    /// Time that a send takes on the load's own thread.
    pub send_time: Nanos,
    /// Work per request.
    pub service_time: Nanos,
    /// Requests worked on at once, 1 or more; the others wait in order of arrival.
    pub workers: usize,
    /// Spans in which the server does no work; in order, not overlapping.
    pub freezes: Vec<Freeze>,
    /// Spans in which the load's own thread does not run; in order, not overlapping. What arrives
    /// then is seen afterwards.
    pub stops: Vec<Freeze>,
    /// Who takes the timestamp of received bytes.
    pub stamps: Stamps,
    /// Bytes of a correct answer.
    pub answer: Vec<u8>,
    /// What happens to connect calls.
    pub connects: Vec<ConnectFate>,
    /// What happens to requests, in order of arrival.
    pub requests: Vec<RequestFate>,
}

/// A span in which nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// First moment of the span.
    pub from: Nanos,
    /// First moment after the span.
    pub until: Nanos,
}

/// What happens to a connect call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFate {
    /// It succeeds after `connect_time`.
    Accept,
    /// It succeeds after `connect_time`, but the server never reads from the connection.
    Starve,
    /// It fails with `ECONNREFUSED` after `connect_time`.
    Refuse,
    /// Nothing ever happens.
    Hang,
    /// It fails with `EADDRNOTAVAIL` at once.
    NoPort,
}

/// What happens to a request after it was worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFate {
    /// It is answered; the connection stays open.
    Answer,
    /// It is answered one byte at a time, 1 µs apart.
    Torn,
    /// It is answered, then the connection is closed.
    AnswerThenClose,
    /// It is answered; 1 µs later the idle connection is reset.
    AnswerThenReset,
    /// Half of the answer is sent, then the connection is closed.
    CutShort,
    /// Half of the answer is sent, then the connection is reset.
    ResetHalfway,
    /// The connection is closed without a byte.
    CloseUnanswered,
    /// It is never answered, and occupies no worker.
    Never,
}

/// The simulated engine.
#[derive(Debug)]
pub struct Simulated {
    now: Nanos,
    script: Script,
    slots: Vec<Place>,
    /// When each worker is free again.
    workers: Vec<Nanos>,
    /// Future events by time, then in the order in which they were caused.
    coming: BinaryHeap<Reverse<(Nanos, u64, Happening)>>,
    caused: u64,
    connects: usize,
    requests: usize,
    ready: VecDeque<Ready>,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Place {
    /// Counts connections, so that events of an earlier one are not taken for this one's.
    connection: u64,
    state: PlaceState,
    starves: bool,
    send: Vec<u8>,
    send_held: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PlaceState {
    #[default]
    Closed,
    Connecting,
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Happening {
    slot: Slot,
    connection: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Connected,
    /// Bytes of the answer from the first index up to, not including, the second.
    Bytes(usize, usize),
    Closed,
    Failed(i32),
}

#[derive(Clone, Copy, Debug)]
enum Ready {
    Sent(Slot, u64),
    /// Any other event, and when it happened.
    Other(Happening, Nanos),
}

impl Simulated {
    /// An engine at time zero without connections.
    pub fn new(script: Script) -> Simulated {
        let workers = vec![Nanos(0); script.workers.max(1)];
        Simulated {
            now: Nanos(0),
            script,
            slots: Vec::new(),
            workers,
            coming: BinaryHeap::new(),
            caused: 0,
            connects: 0,
            requests: 0,
            ready: VecDeque::new(),
            bytes: Vec::new(),
        }
    }

    fn place(&mut self, slot: Slot) -> &mut Place {
        if slot.index() >= self.slots.len() {
            self.slots.resize_with(slot.index() + 1, Place::default);
        }
        &mut self.slots[slot.index()]
    }

    fn cause(&mut self, at: Nanos, slot: Slot, what: What) {
        let connection = self.place(slot).connection;
        self.caused += 1;
        self.coming.push(Reverse((at, self.caused, Happening { slot, connection, what })));
    }

    fn connect(&mut self, slot: Slot) {
        let fate = in_turn(&self.script.connects, self.connects, ConnectFate::Accept);
        self.connects += 1;
        let place = self.place(slot);
        place.connection += 1;
        place.state = PlaceState::Connecting;
        place.send_held = false;
        place.starves = fate == ConnectFate::Starve;
        let there = self.now.plus(self.script.connect_time);
        match fate {
            ConnectFate::Accept | ConnectFate::Starve => self.cause(there, slot, What::Connected),
            ConnectFate::Refuse => self.cause(there, slot, What::Failed(libc::ECONNREFUSED)),
            ConnectFate::NoPort => self.cause(self.now, slot, What::Failed(libc::EADDRNOTAVAIL)),
            ConnectFate::Hang => {}
        }
    }

    fn send(&mut self, slot: Slot) {
        let place = self.place(slot);
        match place.state {
            PlaceState::Closed => {}
            PlaceState::Connecting => place.send_held = true,
            PlaceState::Open => {
                let bytes = place.send.len() as u64;
                place.send.clear();
                let starves = place.starves;
                self.go_on(self.now.plus(self.script.send_time));
                self.ready.push_back(Ready::Sent(slot, bytes));
                if !starves {
                    self.serve(slot);
                }
            }
        }
    }

    /// A request arrives now. All its future events are scheduled, because nothing later changes
    /// them.
    fn serve(&mut self, slot: Slot) {
        let fate = in_turn(&self.script.requests, self.requests, RequestFate::Answer);
        self.requests += 1;
        if fate == RequestFate::Never {
            return;
        }
        let worker = self.workers.iter_mut().min().expect("there is at least one worker");
        let done = worked(&self.script.freezes, self.now.max(*worker), self.script.service_time);
        *worker = done;
        let (all, half) = (self.script.answer.len(), self.script.answer.len() / 2);
        let (next, whole) = (done.plus(MICROSECOND), What::Bytes(0, all));
        match fate {
            RequestFate::Answer => self.cause(done, slot, whole),
            RequestFate::Torn => (0..all).for_each(|byte| {
                let at = Nanos(done.0 + byte as u64 * MICROSECOND.0);
                self.cause(at, slot, What::Bytes(byte, byte + 1));
            }),
            RequestFate::AnswerThenClose => {
                self.cause(done, slot, whole);
                self.cause(done, slot, What::Closed);
            }
            RequestFate::AnswerThenReset => {
                self.cause(done, slot, whole);
                self.cause(next, slot, What::Failed(libc::ECONNRESET));
            }
            RequestFate::CutShort => {
                self.cause(done, slot, What::Bytes(0, half));
                self.cause(next, slot, What::Closed);
            }
            RequestFate::ResetHalfway => {
                self.cause(done, slot, What::Bytes(0, half));
                self.cause(next, slot, What::Failed(libc::ECONNRESET));
            }
            RequestFate::CloseUnanswered => self.cause(done, slot, What::Closed),
            RequestFate::Never => {}
        }
    }

    /// Advances the load's thread to this moment, or to the end of the stop that contains it.
    fn go_on(&mut self, at: Nanos) {
        let stop = self.script.stops.iter().find(|stop| stop.from <= at && at < stop.until);
        self.now = self.now.max(stop.map_or(at, |stop| stop.until));
    }

    /// Takes all events of the next moment; does nothing if that is after `until`.
    fn advance(&mut self, until: Nanos) -> bool {
        let Some(Reverse((at, _, happening))) = self.coming.peek().copied() else { return false };
        if at > until {
            return false;
        }
        self.coming.pop();
        self.go_on(at);
        let place = self.place(happening.slot);
        if place.connection != happening.connection || place.state == PlaceState::Closed {
            return true;
        }
        let held = std::mem::take(&mut place.send_held);
        match happening.what {
            What::Connected => place.state = PlaceState::Open,
            What::Closed | What::Failed(_) => place.state = PlaceState::Closed,
            What::Bytes(..) => {}
        }
        self.ready.push_back(Ready::Other(happening, at));
        if held && happening.what == What::Connected {
            self.send(happening.slot);
        }
        true
    }
}

impl Engine for Simulated {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn refresh(&mut self) -> Nanos {
        self.now
    }

    fn send_buffer(&mut self, slot: Slot) -> &mut Vec<u8> {
        &mut self.place(slot).send
    }

    fn unsent(&mut self, slot: Slot) -> bool {
        let place = self.place(slot);
        place.state != PlaceState::Closed && !place.send.is_empty()
    }

    fn submit(&mut self, slot: Slot, op: Op) {
        match op {
            Op::Connect => self.connect(slot),
            Op::Send => self.send(slot),
            // The simulated server's bytes arrive whether a receive was submitted or not.
            Op::Receive => {}
            Op::Close => {
                let place = self.place(slot);
                place.state = PlaceState::Closed;
                place.connection += 1;
            }
        }
    }

    fn wait(&mut self, until: Nanos, _: Awaited) {
        let until = until.max(self.now);
        while self.ready.is_empty() {
            if !self.advance(until) {
                self.go_on(until);
                break;
            }
        }
        // Everything that has happened by now belongs to the same batch.
        while self.advance(self.now) {}
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        loop {
            let (happening, at) = match self.ready.pop_front()? {
                Ready::Sent(slot, bytes) => return Some(Completion::Sent(slot, bytes)),
                Ready::Other(happening, at) => (happening, at),
            };
            let slot = happening.slot;
            if self.place(slot).connection != happening.connection {
                continue;
            }
            return Some(match happening.what {
                What::Connected => Completion::Connected(slot),
                What::Closed => Completion::PeerClosed(slot),
                What::Failed(errno) => Completion::Failed(slot, Failure { errno }),
                What::Bytes(from, to) => {
                    self.bytes.clear();
                    self.bytes.extend_from_slice(&self.script.answer[from..to]);
                    let came = match self.script.stamps {
                        Stamps::Kernel => at,
                        Stamps::Ours => self.now,
                    };
                    Completion::Received(slot, &self.bytes, came)
                }
            });
        }
    }

    fn busy(&self) -> Nanos {
        Nanos(0)
    }
}

fn in_turn<T: Copy>(list: &[T], index: usize, otherwise: T) -> T {
    if list.is_empty() { otherwise } else { list[index % list.len()] }
}

/// When `work` that begins at `begin` is done; nothing is done during the freezes.
fn worked(freezes: &[Freeze], begin: Nanos, work: Nanos) -> Nanos {
    let (mut at, mut left) = (begin, work);
    for freeze in freezes {
        if at.plus(left) <= freeze.from {
            break;
        }
        if at < freeze.until {
            left = left.since(freeze.from.since(at));
            at = freeze.until;
        }
    }
    at.plus(left)
}

const MICROSECOND: Nanos = Nanos(1_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stops_in_a_freeze() {
        let ms = Nanos::from_millis;
        let freezes =
            [Freeze { from: ms(10), until: ms(20) }, Freeze { from: ms(30), until: ms(31) }];
        assert_eq!(worked(&freezes, ms(0), ms(10)), ms(10));
        assert_eq!(worked(&freezes, ms(8), ms(5)), ms(23));
        assert_eq!(worked(&freezes, ms(12), ms(1)), ms(21));
        assert_eq!(worked(&freezes, ms(15), ms(11)), ms(32));
        assert_eq!(worked(&freezes, ms(40), ms(1)), ms(41));
    }
}
