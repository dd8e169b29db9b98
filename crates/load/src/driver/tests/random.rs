//! Tests random servers with random models: nothing is lost, nothing panics, everything ends.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// An engine that fails the test when the driver turns without end, and stops the load where the
/// test wants it.
pub(super) struct Bounded<E> {
    engine: E,
    waits: u32,
    stop: Stop,
    stop_at: Option<u32>,
}

impl<E> Bounded<E> {
    pub(super) fn new(engine: E, stop: Stop, stop_at: Option<u32>) -> Bounded<E> {
        let bounded = Bounded { engine, waits: 0, stop, stop_at };
        bounded.tell();
        bounded
    }

    fn tell(&self) {
        if self.stop_at == Some(self.waits) {
            self.stop.ask();
        }
    }
}

impl<E: Engine> Engine for Bounded<E> {
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

    fn begin(&mut self, epoch: Instant) {
        self.engine.begin(epoch);
    }

    fn unsent(&mut self, token: Token) -> bool {
        self.engine.unsent(token)
    }

    fn submit(&mut self, token: Token, op: Op) {
        self.engine.submit(token, op);
    }

    fn wait(&mut self, until: Nanos, in_flight: u32) {
        self.waits += 1;
        self.tell();
        assert!(self.waits < 200_000, "turns without end at {:?}", self.engine.now());
        self.engine.wait(until, in_flight);
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        self.engine.next()
    }

    fn busy(&self) -> Nanos {
        self.engine.busy()
    }
}

fn connect_fate() -> impl Strategy<Value = ConnectFate> {
    prop_oneof![
        6 => Just(ConnectFate::Accept),
        1 => Just(ConnectFate::Starve),
        1 => Just(ConnectFate::Refuse),
        1 => Just(ConnectFate::Hang),
        1 => Just(ConnectFate::NoPort),
    ]
}

fn request_fate() -> impl Strategy<Value = RequestFate> {
    use RequestFate::*;
    prop_oneof![
        6 => Just(Answer),
        1 => Just(Torn),
        1 => Just(AnswerThenClose),
        1 => Just(AnswerThenReset),
        1 => Just(CutShort),
        1 => Just(ResetHalfway),
        1 => Just(CloseUnanswered),
        1 => Just(Never),
    ]
}

fn answer() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => Just(&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..]),
        1 => Just(&b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"[..]),
        1 => Just(&b"HTTP/1.0 200 OK\r\n\r\nuntil the close"[..]),
        1 => Just(&b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"[..]),
        1 => Just(&b"no HTTP at all\r\n\r\n"[..]),
        // More than the announced length.
        1 => Just(&b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nlonger"[..]),
    ]
    .prop_map(<[u8]>::to_vec)
}

prop_compose! {
    fn script()(
        connect_us in 0_u64..3_000,
        send_us in prop_oneof![Just(0_u64), 0_u64..100],
        service_us in 0_u64..60_000,
        workers in 1_usize..5,
        freeze_ms in 0_u64..2_000,
        frozen_ms in 0_u64..1_500,
        stop_ms in 0_u64..2_000,
        stopped_ms in 0_u64..200,
        timestamps in prop_oneof![Just(Timestamps::Kernel), Just(Timestamps::Userspace)],
        answer in answer(),
        connects in vec(connect_fate(), 0..6),
        requests in vec(request_fate(), 0..12),
    ) -> Script {
        Script {
            connect_time: Nanos(connect_us * 1_000),
            send_time: Nanos(send_us * 1_000),
            service_time: Nanos(service_us * 1_000),
            workers,
            freezes: vec![Freeze { from: ms(freeze_ms), until: ms(freeze_ms + frozen_ms) }],
            stops: vec![Freeze { from: ms(stop_ms), until: ms(stop_ms + stopped_ms) }],
            timestamps,
            unsent: false,
            prompt: false,
            answer,
            connects,
            requests,
        }
    }
}

fn until() -> impl Strategy<Value = Option<Until>> {
    prop_oneof![
        3 => Just(None),
        1 => (0_u64..1_500).prop_map(|length| Some(Until::For(ms(length)))),
        1 => (0_u64..60).prop_map(|requests| Some(Until::Requests(requests))),
    ]
}

prop_compose! {
    pub(super) fn case()(
        script in script(),
        closed in until(),
        gaps_us in vec(0_u64..30_000, 0..120),
        limit in 1_u32..6,
        when_full in prop_oneof![
            Just(WhenFull::Queue), Just(WhenFull::Drop), Just(WhenFull::Stretch)
        ],
        timeout_ms in 1_u64..400,
        habit in prop_oneof![Just(ConnectionHabit::KeepAlive), Just(ConnectionHabit::PerRequest)],
        stop_at in prop_oneof![4 => Just(None), 1 => (0_u32..100).prop_map(Some)],
        traffic in prop_oneof![2 => Just(None), 1 => (0_u64..150).prop_map(Some)],
        tags in 1_u16..4,
        records in any::<bool>(),
    ) -> Case {
        let mut at = 0;
        let due = gaps_us.into_iter().map(|gap| { at += gap * 1_000; Nanos(at) }).collect();
        let timeout = ms(timeout_ms);
        Case {
            due, closed, limit, when_full, timeout, habit, script, stop_at, traffic, tags, records,
            lengths: BodyLengths::default(), check: Check::default(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_everything_ends(case in case()) {
        let (result, reported) = load_result_in_detail(&case);
        let counts = &result.counts;
        let enough = case.traffic.is_none_or(|traffic| counts.started < traffic);
        prop_assert!(case.traffic.is_none_or(|traffic| counts.started <= traffic), "{counts:?}");
        for request in &reported.requests {
            prop_assert!(request.due <= request.started && request.started <= request.sent, "{request:?}");
            prop_assert!(request.sent <= request.done, "{request:?}");
            prop_assert!(request.connected.is_none_or(|at| at <= request.done), "{request:?}");
            prop_assert!(request.first_byte.is_none_or(|at| at <= request.done), "{request:?}");
        }
        let sum = |of: fn(&RequestRecord) -> u64| reported.requests.iter().map(of).sum::<u64>();
        if case.records {
            // Little's law, exact to the nanosecond.
            let in_flight = |request: &RequestRecord| u128::from(request.done.since(request.started).0);
            let integral = reported.requests.iter().map(in_flight).sum::<u128>();
            prop_assert_eq!(result.in_flight_integral, integral);
            prop_assert!(sum(|request| request.bytes_sent) <= counts.bytes_sent);
            prop_assert!(sum(|request| request.bytes_received) <= counts.bytes_received);
        }
        let stopped = case.script.stops.iter().map(|stop| stop.until.since(stop.from).0);
        let timeouts = 2 * case.timeout.0 + stopped.sum::<u64>();
        match case.closed {
            None => {
                let whole = result.counts.planned == case.due.len() as u64;
                prop_assert!(whole || case.traffic.is_some(), "{counts:?}");
                prop_assert!(whole || !enough || result.end == End::Stopped, "{counts:?}");
                let last = case.due.last().copied().unwrap_or_default();
                if case.when_full != WhenFull::Stretch {
                    prop_assert!(result.lasted.0 <= last.0 + timeouts, "{:?}", result.lasted);
                    let whole = result.scheduled == last || result.end == End::Stopped;
                    prop_assert!(whole || !enough, "{:?}", result.scheduled);
                    prop_assert!(result.scheduled <= last);
                }
            }
            Some(Until::For(length)) => {
                prop_assert!(result.lasted.0 <= length.0 + timeouts, "{:?}", result.lasted);
            }
            Some(Until::Requests(requests)) => {
                let all = result.counts.planned == requests;
                prop_assert!(all || result.end == End::Stopped || !enough, "{:?}", result.counts);
            }
        }
        prop_assert!(result.in_flight_max <= case.limit);
    }
}
