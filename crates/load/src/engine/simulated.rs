//! An engine without a machine: time is a number, and the server is a script. So stalls can be
//! tested by arithmetic, and a million random servers in a second.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Instant;

use stampede_model::time::Nanos;

use super::{Arrival, Completion, Engine, Failure, Op, Timestamps, Token};

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
    pub timestamps: Timestamps,
    /// No send is ever complete: the server answers before it has read the whole request.
    pub unsent: bool,
    /// What has happened by now is reported without a wait, as where operations complete in the call.
    pub prompt: bool,
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
    /// The zero of the load's clock. The script's times count from the start of the engine.
    zero: Nanos,
    script: Script,
    slots: Vec<SimulatedSlot>,
    /// When each worker is free again.
    workers: Vec<Nanos>,
    /// Future events by time, then in the order in which they were caused.
    events: BinaryHeap<Reverse<(Nanos, u64, ServerEvent)>>,
    event_count: u64,
    connects: usize,
    requests: usize,
    ready: VecDeque<ReadyEvent>,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct SimulatedSlot {
    /// Counts connections, so that events of an earlier one are not taken for this one's.
    generation: u64,
    state: SlotState,
    starves: bool,
    send: Vec<u8>,
    send_held: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SlotState {
    #[default]
    Closed,
    Connecting,
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ServerEvent {
    token: Token,
    generation: u64,
    kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Connected,
    /// Bytes of the answer from the first index up to, not including, the second.
    Bytes(usize, usize),
    Closed,
    Failed(i32),
}

#[derive(Clone, Copy, Debug)]
enum ReadyEvent {
    Sent(Token, u64),
    /// Any other event, and when it happened.
    Other(ServerEvent, Nanos),
}

impl Simulated {
    /// An engine at time zero without connections.
    pub fn new(script: Script) -> Simulated {
        let workers = vec![Nanos(0); script.workers.max(1)];
        Simulated {
            now: Nanos(0),
            zero: Nanos(0),
            script,
            slots: Vec::new(),
            workers,
            events: BinaryHeap::new(),
            event_count: 0,
            connects: 0,
            requests: 0,
            ready: VecDeque::new(),
            bytes: Vec::new(),
        }
    }

    fn slot(&mut self, token: Token) -> &mut SimulatedSlot {
        if token.index() >= self.slots.len() {
            self.slots.resize_with(token.index() + 1, SimulatedSlot::default);
        }
        &mut self.slots[token.index()]
    }

    fn schedule_event(&mut self, at: Nanos, token: Token, kind: EventKind) {
        let generation = self.slot(token).generation;
        self.event_count += 1;
        self.events.push(Reverse((at, self.event_count, ServerEvent { token, generation, kind })));
    }

    fn connect(&mut self, token: Token) {
        let fate = nth_or(&self.script.connects, self.connects, ConnectFate::Accept);
        self.connects += 1;
        let slot = self.slot(token);
        slot.generation += 1;
        slot.state = SlotState::Connecting;
        slot.send_held = false;
        slot.starves = fate == ConnectFate::Starve;
        let there = self.now.plus(self.script.connect_time);
        match fate {
            ConnectFate::Accept | ConnectFate::Starve => {
                self.schedule_event(there, token, EventKind::Connected)
            }
            ConnectFate::Refuse => {
                self.schedule_event(there, token, EventKind::Failed(libc::ECONNREFUSED))
            }
            ConnectFate::NoPort => {
                self.schedule_event(self.now, token, EventKind::Failed(libc::EADDRNOTAVAIL))
            }
            ConnectFate::Hang => {}
        }
    }

    fn send(&mut self, token: Token) {
        let slot = self.slot(token);
        match slot.state {
            SlotState::Closed => {}
            SlotState::Connecting => slot.send_held = true,
            SlotState::Open => {
                let bytes = slot.send.len() as u64;
                slot.send.clear();
                let starves = slot.starves;
                self.advance_to(self.now.plus(self.script.send_time));
                self.ready.push_back(ReadyEvent::Sent(token, bytes));
                if !starves {
                    self.serve(token);
                }
            }
        }
    }

    /// A request arrives now. All its future events are scheduled, because nothing later changes
    /// them.
    fn serve(&mut self, token: Token) {
        let fate = nth_or(&self.script.requests, self.requests, RequestFate::Answer);
        self.requests += 1;
        if fate == RequestFate::Never {
            return;
        }
        let worker = self.workers.iter_mut().min().expect("there is at least one worker");
        let done = work_end(&self.script.freezes, self.now.max(*worker), self.script.service_time);
        *worker = done;
        let (all, half) = (self.script.answer.len(), self.script.answer.len() / 2);
        let (next, whole) = (done.plus(MICROSECOND), EventKind::Bytes(0, all));
        match fate {
            RequestFate::Answer => self.schedule_event(done, token, whole),
            RequestFate::Torn => (0..all).for_each(|byte| {
                let at = Nanos(done.0 + byte as u64 * MICROSECOND.0);
                self.schedule_event(at, token, EventKind::Bytes(byte, byte + 1));
            }),
            RequestFate::AnswerThenClose => {
                self.schedule_event(done, token, whole);
                self.schedule_event(done, token, EventKind::Closed);
            }
            RequestFate::AnswerThenReset => {
                self.schedule_event(done, token, whole);
                self.schedule_event(next, token, EventKind::Failed(libc::ECONNRESET));
            }
            RequestFate::CutShort => {
                self.schedule_event(done, token, EventKind::Bytes(0, half));
                self.schedule_event(next, token, EventKind::Closed);
            }
            RequestFate::ResetHalfway => {
                self.schedule_event(done, token, EventKind::Bytes(0, half));
                self.schedule_event(next, token, EventKind::Failed(libc::ECONNRESET));
            }
            RequestFate::CloseUnanswered => self.schedule_event(done, token, EventKind::Closed),
            RequestFate::Never => {}
        }
    }

    /// Advances the load's thread to this moment, or to the end of the stop that contains it.
    fn advance_to(&mut self, at: Nanos) {
        let stop = self.script.stops.iter().find(|stop| stop.from <= at && at < stop.until);
        self.now = self.now.max(stop.map_or(at, |stop| stop.until));
    }

    /// Takes all events of the next moment; does nothing if that is after `until`.
    fn advance(&mut self, until: Nanos) -> bool {
        let Some(Reverse((at, _, event))) = self.events.peek().copied() else { return false };
        if at > until {
            return false;
        }
        self.events.pop();
        self.advance_to(at);
        let slot = self.slot(event.token);
        if slot.generation != event.generation || slot.state == SlotState::Closed {
            return true;
        }
        let held = std::mem::take(&mut slot.send_held);
        match event.kind {
            EventKind::Connected => slot.state = SlotState::Open,
            EventKind::Closed | EventKind::Failed(_) => slot.state = SlotState::Closed,
            EventKind::Bytes(..) => {}
        }
        self.ready.push_back(ReadyEvent::Other(event, at));
        if held && event.kind == EventKind::Connected {
            self.send(event.token);
        }
        true
    }
}

impl Engine for Simulated {
    fn begin(&mut self, _: Instant) {
        self.zero = self.now;
    }

    fn name(&self) -> &'static str {
        "simulated"
    }

    fn now(&self) -> Nanos {
        self.now.since(self.zero)
    }

    fn refresh(&mut self) -> Nanos {
        self.now()
    }

    fn send_buffer(&mut self, token: Token) -> &mut Vec<u8> {
        &mut self.slot(token).send
    }

    fn unsent(&mut self, token: Token) -> bool {
        let is_never_sent = self.script.unsent;
        let slot = self.slot(token);
        is_never_sent || slot.state != SlotState::Closed && !slot.send.is_empty()
    }

    fn submit(&mut self, token: Token, op: Op) {
        match op {
            Op::Connect => self.connect(token),
            Op::Send => self.send(token),
            // The simulated server's bytes arrive whether a receive was submitted or not.
            Op::Receive => {}
            Op::Close => {
                let slot = self.slot(token);
                slot.state = SlotState::Closed;
                slot.generation += 1;
            }
        }
    }

    fn wait(&mut self, until: Nanos, _: u32) {
        let until = until.plus(self.zero).max(self.now);
        while self.ready.is_empty() {
            if !self.advance(until) {
                self.advance_to(until);
                break;
            }
        }
        // Everything that has happened by now belongs to the same batch.
        while self.advance(self.now) {}
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        if self.script.prompt {
            while self.advance(self.now) {}
        }
        loop {
            let (event, at) = match self.ready.pop_front()? {
                ReadyEvent::Sent(token, bytes) => return Some(Completion::Sent(token, bytes)),
                ReadyEvent::Other(event, at) => (event, at),
            };
            let token = event.token;
            if self.slot(token).generation != event.generation {
                continue;
            }
            return Some(match event.kind {
                EventKind::Connected => Completion::Connected(token),
                EventKind::Closed => Completion::PeerClosed(token),
                EventKind::Failed(errno) => Completion::Failed(token, Failure { errno }),
                EventKind::Bytes(from, to) => {
                    self.bytes.clear();
                    self.bytes.extend_from_slice(&self.script.answer[from..to]);
                    let (at, now) = (at.since(self.zero), self.now.since(self.zero));
                    let arrival = match self.script.timestamps {
                        Timestamps::Kernel => Arrival { at, earliest: at },
                        Timestamps::Userspace => Arrival { at: now, earliest: at },
                    };
                    Completion::Received(token, &self.bytes, arrival)
                }
            });
        }
    }

    /// A quarter of the time.
    fn busy(&self) -> Nanos {
        Nanos(self.now().0 / 4)
    }
}

fn nth_or<T: Copy>(list: &[T], index: usize, otherwise: T) -> T {
    if list.is_empty() { otherwise } else { list[index % list.len()] }
}

/// When `work` that begins at `begin` is done; nothing is done during the freezes.
fn work_end(freezes: &[Freeze], begin: Nanos, work: Nanos) -> Nanos {
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
        assert_eq!(work_end(&freezes, ms(0), ms(10)), ms(10));
        assert_eq!(work_end(&freezes, ms(8), ms(5)), ms(23));
        assert_eq!(work_end(&freezes, ms(12), ms(1)), ms(21));
        assert_eq!(work_end(&freezes, ms(15), ms(11)), ms(32));
        assert_eq!(work_end(&freezes, ms(40), ms(1)), ms(41));
    }
}
