//! Tests the driver with an engine that behaves as badly as its contract allows.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::engine::{Arrival, Failure};
use stampede_traffic::answer::{Checked, Quirk};

/// How often something goes wrong, in percent.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    /// Received bytes arrive in two parts.
    split: u8,
    /// Completions are held back until the next wait, before which no time passes.
    hold: u8,
    /// A wait ends early, perhaps at once, as if by a signal.
    wake: u8,
    /// Time passes while completions are held back, and those of different connections change
    /// places.
    delay: u8,
    /// A send begins at a later wait.
    hold_send: u8,
    /// An operation fails.
    fail: u8,
}

/// Passes everything on to another engine, with faults. The server is replaced, if wanted, by one
/// that answers each byte of a request with the same byte.
struct Faulty<E> {
    engine: E,
    faults: Faults,
    random: fastrand::Rng,
    echoes: bool,
    slots: Vec<FaultySlot>,
    /// The connections of held completions, in the order in which these are reported.
    order: VecDeque<Token>,
    /// Whether nothing more is reported before the next wait.
    is_holding: bool,
    /// The bytes that the driver was given last.
    bytes: Vec<u8>,
}

#[derive(Default)]
struct FaultySlot {
    held: VecDeque<Held>,
    /// Sent bytes that were not answered yet.
    asked: VecDeque<u8>,
    is_send_held: bool,
    has_failed: bool,
}

/// A completion that was not reported yet.
enum Held {
    Connected,
    Sent(u64),
    Received(Vec<u8>, Arrival),
    PeerClosed,
    Failed(Failure),
}

impl<E: Engine> Faulty<E> {
    fn new(engine: E, faults: Faults, seed: u64, echoes: bool) -> Faulty<E> {
        let random = fastrand::Rng::with_seed(seed);
        let (slots, order, bytes) = (Vec::new(), VecDeque::new(), Vec::new());
        Faulty { engine, faults, random, echoes, slots, order, is_holding: false, bytes }
    }

    fn slot(&mut self, token: Token) -> &mut FaultySlot {
        if token.index() >= self.slots.len() {
            self.slots.resize_with(token.index() + 1, FaultySlot::default);
        }
        &mut self.slots[token.index()]
    }

    fn happens(&mut self, percent: u8) -> bool {
        self.random.u8(..100) < percent
    }

    fn send(&mut self, token: Token) {
        let bytes = self.engine.send_buffer(token).clone();
        self.slot(token).asked.extend(bytes);
        self.engine.submit(token, Op::Send);
    }

    fn hold(&mut self, token: Token, held: Held) {
        self.slot(token).held.push_back(held);
        self.order.push_back(token);
    }

    fn hold_bytes(&mut self, token: Token, mut bytes: Vec<u8>, came: Arrival) {
        if self.echoes {
            let asked = &mut self.slot(token).asked;
            bytes.iter_mut().for_each(|byte| *byte = asked.pop_front().expect("asked for"));
        }
        while bytes.len() > 1 && self.happens(self.faults.split) {
            let rest = bytes.split_off(self.random.usize(1..bytes.len()));
            self.hold(token, Held::Received(std::mem::replace(&mut bytes, rest), came));
        }
        self.hold(token, Held::Received(bytes, came));
    }

    /// The connection fails. What it received before is still reported.
    fn fail(&mut self, token: Token) {
        if !std::mem::replace(&mut self.slot(token).has_failed, true) {
            self.engine.submit(token, Op::Close);
            self.hold(token, Held::Failed(Failure { errno: libc::ECONNRESET }));
        }
    }

    /// Takes what the other engine has to report.
    fn pull(&mut self) {
        while let Some(completion) = self.engine.next() {
            let (token, held) = match completion {
                Completion::Connected(token) => (token, Held::Connected),
                Completion::Sent(token, bytes) => (token, Held::Sent(bytes)),
                Completion::Received(token, bytes, came) => {
                    (token, Held::Received(bytes.to_vec(), came))
                }
                Completion::PeerClosed(token) => (token, Held::PeerClosed),
                Completion::Failed(token, failure) => (token, Held::Failed(failure)),
            };
            self.slot(token).has_failed |= matches!(held, Held::Failed(_) | Held::PeerClosed);
            match held {
                Held::Received(bytes, came) => self.hold_bytes(token, bytes, came),
                held => self.hold(token, held),
            }
            if self.happens(self.faults.fail) {
                self.fail(token);
            }
        }
    }
}

impl<E: Engine> Engine for Faulty<E> {
    fn begin(&mut self, epoch: Instant) {
        self.engine.begin(epoch);
    }

    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn refresh(&mut self) -> Nanos {
        self.engine.refresh()
    }

    fn send_buffer(&mut self, token: Token) -> &mut Vec<u8> {
        self.engine.send_buffer(token)
    }

    fn unsent(&mut self, token: Token) -> bool {
        self.engine.unsent(token)
    }

    fn submit(&mut self, token: Token, op: Op) {
        match op {
            Op::Connect | Op::Close => {
                *self.slot(token) = FaultySlot::default();
                self.order.retain(|other| *other != token);
                self.engine.submit(token, op);
            }
            Op::Send if self.happens(self.faults.hold_send) => self.slot(token).is_send_held = true,
            Op::Send => self.send(token),
            Op::Receive => self.engine.submit(token, op),
        }
        if op != Op::Close && self.happens(self.faults.fail) {
            self.fail(token);
        }
    }

    fn wait(&mut self, until: Nanos, in_flight: u32) {
        self.is_holding = false;
        for token in (0..self.slots.len() as u32).map(Token) {
            if self.slot(token).is_send_held && self.random.bool() {
                self.slot(token).is_send_held = false;
                self.send(token);
            }
        }
        self.pull();
        let has_more = !self.order.is_empty();
        if has_more && !self.happens(self.faults.delay) {
            return;
        }
        let is_short = has_more || self.happens(self.faults.wake);
        let longest = until.since(self.now()).0;
        let length = if is_short { self.random.u64(..=longest) } else { longest };
        self.engine.wait(self.now().plus(Nanos(length)), in_flight);
        self.pull();
        if self.happens(self.faults.delay) {
            self.random.shuffle(self.order.make_contiguous());
        }
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        self.pull();
        self.is_holding |= self.happens(self.faults.hold);
        if self.is_holding {
            return None;
        }
        let token = self.order.pop_front()?;
        Some(match self.slot(token).held.pop_front().expect("one for each in `order`") {
            Held::Connected => Completion::Connected(token),
            Held::Sent(bytes) => Completion::Sent(token, bytes),
            Held::Received(bytes, came) => {
                self.bytes = bytes;
                Completion::Received(token, &self.bytes, came)
            }
            Held::PeerClosed => Completion::PeerClosed(token),
            Held::Failed(failure) => Completion::Failed(token, failure),
        })
    }

    fn busy(&self) -> Nanos {
        self.engine.busy()
    }
}

/// Sends a number per request, and panics if the answer is another one.
struct Numbered {
    last: Rc<Cell<u32>>,
    in_flight: Option<(RequestId, [u8; 4])>,
    received: Vec<u8>,
}

impl Protocol for Numbered {
    fn room(&self) -> bool {
        self.in_flight.is_none()
    }

    fn start(&mut self, id: RequestId, _: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd> {
        self.last.set(self.last.get() + 1);
        let number = self.last.get().to_be_bytes();
        out.extend_from_slice(&number);
        self.in_flight = Some((id, number));
        None
    }

    fn cancel(&mut self, _: RequestId, _: &mut Vec<u8>) -> Next {
        Next::Close
    }

    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer)) {
        self.received.extend_from_slice(bytes);
        let (id, number) = self.in_flight.expect("a request in flight");
        assert!(number.starts_with(&self.received), "{number:?} {:?}", self.received);
        if self.received.len() == number.len() {
            self.in_flight = None;
            self.received.clear();
            let end = AnswerEnd::Whole { status: 200, check: Checked::Right };
            let (bytes, odd) = (number.len() as u64, Quirk::default());
            answered(Answer { id, first_byte: came, end, bytes, body_bytes: bytes, odd });
        }
    }

    fn peer_closed(&mut self, _: Nanos, _: &mut dyn FnMut(Answer)) {}

    fn after_answer(&self) -> Next {
        Next::KeepOpen
    }

    fn first_byte(&self, _: RequestId) -> Option<Nanos> {
        None
    }

    fn reset(&mut self) {
        self.in_flight = None;
        self.received.clear();
    }
}

prop_compose! {
    fn faults()(
        split in 0_u8..60,
        hold in 0_u8..60,
        wake in 0_u8..60,
        delay in 0_u8..60,
        hold_send in 0_u8..60,
        fail in prop_oneof![Just(0_u8), 0_u8..10],
    ) -> Faults {
        Faults { split, hold, wake, delay, hold_send, fail }
    }
}

prop_compose! {
    /// A load in which no request becomes due or times out at the very moment of an answer: those
    /// come whole µs after a start.
    fn case_without_ties()(
        gaps_us in vec(1_u64..3_000, 1..100),
        is_closed in any::<bool>(),
        limit in 1_u32..6,
        connect_us in 0_u64..200,
        service_us in 1_u64..5_000,
        workers in 1_usize..5,
        requests in vec(prop_oneof![
            6 => Just(RequestFate::Answer),
            2 => Just(RequestFate::Torn),
            1 => Just(RequestFate::CutShort),
            1 => Just(RequestFate::ResetHalfway),
            1 => Just(RequestFate::CloseUnanswered),
            1 => Just(RequestFate::Never),
        ], 0..12),
        habit in prop_oneof![Just(ConnectionHabit::KeepAlive), Just(ConnectionHabit::PerRequest)],
    ) -> Case {
        let mut at = 0;
        let due = gaps_us.iter().map(|gap| { at += gap * 1_000 + 1; Nanos(at) }).collect();
        let closed = is_closed.then_some(Until::Requests(gaps_us.len() as u64));
        let timeout = ms(600).plus(Nanos(7));
        let mut case = Case { closed, habit, timeout, records: true, ..open(due, limit) };
        case.script.connect_time = Nanos(connect_us * 1_000);
        case.script.service_time = Nanos(service_us * 1_000);
        // Several users would begin at the same moment, and again after each timeout.
        case.limit = if case.closed.is_some() { 1 } else { case.limit };
        (case.script.workers, case.script.requests) = (workers, requests);
        case
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn split_bytes_and_early_wake_ups_change_no_result(
        case in case_without_ties(),
        seed in any::<u64>(),
    ) {
        let habits = Habits { version: HttpVersion::Http11, connection: case.habit };
        let http = || Http1::new(&Check::default(), habits);
        let faults = Faults { split: 50, hold: 30, wake: 50, ..Faults::default() };
        let engine = Faulty::new(Simulated::new(case.script.clone()), faults, seed, false);
        let (result, reported) = run_case(&case, engine, http, Nanos(0));
        let (expected, plain) = load_result_in_detail(&case);
        prop_assert_eq!(reported.requests, plain.requests);
        prop_assert_eq!(result, expected);
    }

    /// `run_case` checks that each request ends once, as ok, failed or dropped.
    #[test]
    fn however_an_engine_misbehaves_each_request_ends_once_and_with_its_own_answer(
        case in random::case(),
        faults in faults(),
        seed in any::<u64>(),
    ) {
        let mut case = Case { records: true, ..case };
        case.script.answer = vec![0; 4];
        let last = Rc::new(Cell::new(0));
        let numbered = || Numbered { last: Rc::clone(&last), in_flight: None, received: vec![] };
        let engine = Faulty::new(Simulated::new(case.script.clone()), faults, seed, true);
        let (result, _) = run_case(&case, engine, numbered, Nanos(u64::MAX));
        prop_assert_eq!(u64::from(last.get()), result.counts.started);
        prop_assert!(result.in_flight_max <= case.limit);
    }
}
