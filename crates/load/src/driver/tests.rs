//! Tests the driver against simulated servers: every expected number follows from arithmetic.

use std::sync::{Arc, mpsc};

use stampede_model::counts::{Counts, Second};
use stampede_model::load::{Habits, HttpVersion, Until, WhenFull};
use stampede_model::part::Part;
use stampede_model::schedule::Schedule;
use stampede_stats::histogram::Times;

use super::*;
use crate::collector::collect;
use crate::engine::Timestamps;
use crate::engine::simulated::{ConnectFate, Freeze, RequestFate, Script, Simulated};
use crate::protocol::http1::Http1;
use crate::recorder::{MeasuredTimes, Message, ReturnedBuffer};
use crate::report::{Listener, LoadResult, RequestRecord};
use crate::run::sum;
use stampede_traffic::answer::BodyLengths;
use stampede_traffic::feed::{List, Origin, TrafficEnd};
use stampede_traffic::{AnswerShape, Request, Tag};

mod allocations;
mod detail;
mod early;
mod faulty;
mod kept;
mod random;
mod stamps;
mod starved;
mod streams;
mod transmit;
mod two_loads;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Due times as a list.
struct Listed(std::vec::IntoIter<Nanos>);

impl Schedule for Listed {
    fn next_due(&mut self) -> Option<Nanos> {
        self.0.next()
    }

    fn due_by(&self, until: Nanos) -> u64 {
        self.0.as_slice().partition_point(|due| *due <= until) as u64
    }
}

/// The load of a test, with defaults that fit most tests.
#[derive(Clone, Debug)]
struct Case {
    due: Vec<Nanos>,
    /// `Some`: a closed load, and `due` does not matter.
    closed: Option<Until>,
    /// Most requests in flight, or the concurrency.
    limit: u32,
    when_full: WhenFull,
    timeout: Nanos,
    habit: ConnectionHabit,
    script: Script,
    /// Stop in this turn; 0 is before the first one.
    stop_at: Option<u32>,
    /// The traffic ends after this many requests; `None`: never.
    traffic: Option<u64>,
    /// The requests have this many tags, in turn.
    tags: u16,
    lengths: BodyLengths,
    check: Check,
    records: bool,
}

fn ms(milliseconds: u64) -> Nanos {
    Nanos::from_millis(milliseconds)
}

/// Due times of `count` requests that are `gap` apart.
fn every(gap: Nanos, count: u64) -> Vec<Nanos> {
    (0..count).map(|request| Nanos(request * gap.0)).collect()
}

fn open(due: Vec<Nanos>, limit: u32) -> Case {
    Case {
        due,
        closed: None,
        limit,
        when_full: WhenFull::Queue,
        timeout: Nanos::from_secs(11),
        habit: ConnectionHabit::KeepAlive,
        script: Script {
            connect_time: Nanos(0),
            send_time: Nanos(0),
            service_time: ms(1),
            workers: 1_000,
            freezes: vec![],
            stops: vec![],
            timestamps: Timestamps::Userspace,
            unsent: false,
            prompt: false,
            answer: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec(),
            connects: vec![],
            requests: vec![],
        },
        stop_at: None,
        traffic: None,
        tags: 1,
        lengths: BodyLengths::default(),
        check: Check::default(),
        records: false,
    }
}

fn closed(concurrency: u32, until: Until) -> Case {
    Case { closed: Some(until), ..open(vec![], concurrency) }
}

/// What a listener was told.
#[derive(Default)]
struct ReportedSeconds {
    seconds: Vec<SecondCounts>,
    requests: Vec<RequestRecord>,
    /// How late the end of a request may be seen.
    late: Nanos,
}

/// A second without its times, which are large.
struct SecondCounts {
    index: u32,
    counts: Counts,
}

impl Listener for ReportedSeconds {
    fn second(&mut self, second: &Second) {
        let (index, counts) = (second.index, second.counts.clone());
        self.seconds.push(SecondCounts { index, counts });
    }

    fn requests(&mut self, requests: &[RequestRecord]) {
        let reported_until = Nanos::from_secs(self.seconds.len() as u64);
        assert!(
            requests.iter().all(|request| request.done.plus(self.late) >= reported_until),
            "after its second"
        );
        self.requests.extend(requests);
    }
}

/// Runs the load, and checks what holds for every load.
fn load_result(case: &Case) -> (LoadResult, Vec<SecondCounts>) {
    let habits = Habits { version: HttpVersion::Http11, connection: case.habit };
    load_result_with(case, || Http1::new(&case.check, habits))
}

fn load_result_in_detail(case: &Case) -> (LoadResult, ReportedSeconds) {
    let habits = Habits { version: HttpVersion::Http11, connection: case.habit };
    load_result_in_detail_with(case, || Http1::new(&case.check, habits))
}

/// The same with another protocol.
fn load_result_with<P: Protocol>(
    case: &Case,
    protocol: impl Fn() -> P,
) -> (LoadResult, Vec<SecondCounts>) {
    let (result, reported) = load_result_in_detail_with(case, protocol);
    (result, reported.seconds)
}

fn load_result_in_detail_with<P: Protocol>(
    case: &Case,
    protocol: impl Fn() -> P,
) -> (LoadResult, ReportedSeconds) {
    let stops = case.script.stops.iter().map(|stop| stop.until.since(stop.from).0);
    let sends = u64::from(case.limit) * case.script.send_time.0;
    let late = Nanos(stops.max().unwrap_or_default() + sends);
    run_case(case, Simulated::new(case.script.clone()), protocol, late)
}

/// The same with another engine, which may report an end this much `late`.
fn run_case<P: Protocol>(
    case: &Case,
    engine: impl Engine,
    protocol: impl Fn() -> P,
    late: Nanos,
) -> (LoadResult, ReportedSeconds) {
    let stop = Stop::default();
    let (load, ends) = load_parts(case);
    let mut driver =
        driver(case, random::Bounded::new(engine, stop.clone(), case.stop_at), protocol, load);
    let report = driver.run(&stop);
    reported(case, ends, report, late)
}

/// A load thread that has not begun.
fn driver<P: Protocol, E: Engine, F: Fn() -> P>(
    case: &Case,
    engine: E,
    protocol: F,
    load: LoadParts,
) -> Driver<P, E, F> {
    let LoadParts { pace, recorder, feed } = load;
    Driver::new(DriverParts {
        engine,
        protocol,
        pace,
        recorder,
        feed,
        timeout: case.timeout,
        check: case.check.clone(),
        habit: case.habit,
    })
}

/// Where a load thread sends what it measured, and gets its buffers back.
type Ends = (mpsc::Receiver<Message>, mpsc::Sender<ReturnedBuffer>);

/// What a load thread gets for this load.
fn load_parts(case: &Case) -> (LoadParts, Ends) {
    let (to_us, messages) = mpsc::channel();
    let (back, empty) = mpsc::channel();
    let measured_times = match case.closed {
        None => MeasuredTimes::ResponseTime,
        Some(_) => MeasuredTimes::ServiceTime,
    };
    let schedule_share =
        || ScheduleShare::new(Box::new(Listed(case.due.clone().into_iter())), Part::WHOLE);
    let pace = match case.closed {
        Some(until) => Pace::Closed(Closed::new(case.limit, until)),
        None => Pace::Open(Open::new(OpenParts {
            plan: schedule_share(),
            starts: schedule_share(),
            // These schedules end with their last request.
            length: case.due.last().copied().unwrap_or_default(),
            limit: case.limit,
            when_full: case.when_full,
            traffic: case.traffic.map_or(TrafficEnd::Never, |_| TrafficEnd::Sometime),
            timeout: case.timeout,
        })),
    };
    let answer = AnswerShape::ByHeaders;
    let request = |tag| Request {
        bytes: REQUEST.to_vec(),
        answer,
        tag: Tag(tag),
        lengths: case.lengths,
        ..Request::default()
    };
    let requests: Vec<Request> = (0..case.tags).map(request).collect();
    let recorder = Recorder::new(0, measured_times, to_us, empty);
    let recorder = if case.tags > 1 { recorder.with_tags() } else { recorder };
    let recorder = if case.records { recorder.with_records() } else { recorder };
    let recorder = match case.script.timestamps {
        Timestamps::Kernel => recorder,
        Timestamps::Userspace => recorder.with_lower_bound(),
    };
    let list = List::new(requests.into(), None, case.traffic);
    let feed = Feed::new(&Arc::default(), Origin::List(list));
    (LoadParts { pace, recorder, feed }, (messages, back))
}

/// What a load thread measured, once its load has ended. Checks what holds for every load.
fn reported(
    case: &Case,
    (messages, back): Ends,
    report: ThreadReport,
    late: Nanos,
) -> (LoadResult, ReportedSeconds) {
    let mut reported = ReportedSeconds { late, ..ReportedSeconds::default() };
    let collected = collect(&messages, &[back], &[], &case.check, &mut reported);
    let by_tag = collected.tags.iter().flatten();
    let by_tag = by_tag.map(|figures| figures.ok + figures.failed).sum::<u64>();
    let result = sum(collected, &[report]);
    assert_eq!(by_tag, if case.tags > 1 { result.counts.started } else { 0 });
    assert_eq!(
        reported.requests.len() as u64,
        if case.records { result.counts.started } else { 0 }
    );
    always(&result, &reported.seconds);
    (result, reported)
}

/// What holds for every load.
fn always(result: &LoadResult, seconds: &[SecondCounts]) {
    let counts = &result.counts;
    assert_eq!(counts.planned, counts.ok + counts.failed_total() + counts.dropped, "{counts:?}");
    assert_eq!(counts.started, counts.ok + counts.failed_total(), "{counts:?}");
    assert_eq!(result.times.service_time.len(), counts.ok);
    assert_eq!(result.times.schedule_lag.len(), counts.started);
    assert_eq!(result.service_time_all.len(), counts.started);
    assert_eq!(result.connect_time.len(), result.connections.opened);
    assert!(result.ok_inside <= counts.ok);
    let of = |count: fn(&SecondCounts) -> u64| seconds.iter().map(count).sum::<u64>();
    assert_eq!(of(|second| second.counts.planned), counts.planned);
    assert_eq!(of(|second| second.counts.started), counts.started);
    assert_eq!(of(|second| second.counts.ok), counts.ok);
    assert_eq!(of(|second| second.counts.dropped), counts.dropped);
    assert_eq!(of(|second| second.counts.failed_total()), counts.failed_total());
    let indices: Vec<u32> = seconds.iter().map(|second| second.index).collect();
    assert_eq!(indices, (0..seconds.len() as u32).collect::<Vec<_>>());
    let [with, without] = [&result.times.response_time, &result.times.response_time_without_lag];
    assert_eq!(without.len(), with.len());
    assert!(without.mean() <= with.mean() * 1.001 + 64.0, "{without:?} {with:?}");
    let lower_bound = &result.times.lower_bound;
    if !lower_bound.is_empty() {
        assert_eq!(lower_bound.len(), counts.ok);
        let shown = if with.is_empty() { &result.times.service_time } else { with };
        assert!(lower_bound.mean() <= shown.mean() * 1.001 + 64.0, "{lower_bound:?} {shown:?}");
    }
    // Little's law on our own counts: the gauge and the requests are counted separately. The
    // histogram rounds to 0.1 %, and anything below 64 ns to 32 ns.
    let integral = result.in_flight_integral as f64;
    let from_requests = result.service_time_all.mean() * counts.started as f64;
    let rounding = from_requests * 0.002 + counts.started as f64 * 64.0;
    assert!((integral - from_requests).abs() <= rounding, "{integral} {from_requests}");
}

fn failed(result: &LoadResult) -> Vec<(&str, u64)> {
    result.counts.failed.iter().map(|(key, count)| (key.as_str(), *count)).collect()
}

/// Whether no time is longer than the histogram's first step.
fn all_zero(times: &Times) -> bool {
    !times.is_empty() && times.max() < 64
}

/// Frozen for 1 s at t = 2 s; 100 requests/s, one connection, 1 ms each. Request i of the stall
/// waits 1001 − 9·i ms, so i = 0..=55 take longer than 500 ms. Service time shows only one of them.
#[test]
fn a_stall_is_charged_to_every_request_that_was_due() {
    let mut case = open(every(ms(10), 400), 1);
    case.script.workers = 1;
    case.script.freezes = vec![Freeze { from: ms(2_000), until: ms(3_000) }];
    let (result, seconds) = load_result(&case);
    assert_eq!((result.counts.ok, result.connections.opened), (400, 1));
    let times = &result.times;
    // The stall has no effect once 1001 − 9·i falls to the 1 ms that each takes anyway: i = 112.
    for i in 0..=111 {
        let expected = (1001 - 9 * i) as f64 * 1e6;
        let response_time = times.response_time.at_rank(400 - i) as f64;
        assert!((response_time / expected - 1.0).abs() <= 0.001, "{i}: {response_time}");
    }
    let above_500_ms = |times: &Times| times.histogram().count_between(500_500_000, u64::MAX >> 1);
    assert_eq!(above_500_ms(&times.response_time), 56);
    assert_eq!(times.response_time_without_lag, times.response_time);
    assert_eq!(above_500_ms(&times.service_time), 1);
    // The server caused all of it: connections were busy, and the generator had no schedule lag.
    assert_eq!(above_500_ms(&times.connection_wait), 55);
    assert!(all_zero(&times.schedule_lag));
    // Planned in the second in which they were due, ended in the second in which they ended.
    let planned: Vec<u64> = seconds.iter().map(|second| second.counts.planned).collect();
    let ok: Vec<u64> = seconds.iter().map(|second| second.counts.ok).collect();
    assert_eq!((planned, ok), (vec![100; 4], vec![100, 100, 0, 200]));
}

/// Frozen for 0.5 s at t = 2 s; 2 000 requests/s, 50 connections. Each start takes our thread 10 µs,
/// longer than the server needs for an answer: 950 requests are ready at once, and the last of them
/// starts 9.5 ms later. Request i of the stall is due 0.5·i ms after its begin.
#[test]
fn the_backlog_of_a_stall_is_started_late_by_no_more_than_its_starts_take() {
    let mut case = open(every(Nanos(500_000), 8_000), 50);
    (case.script.send_time, case.script.service_time) = (Nanos(10_000), Nanos(5_000));
    case.script.workers = 50;
    case.script.freezes = vec![Freeze { from: ms(2_000), until: ms(2_500) }];
    let times = load_result(&case).0.times;
    let near = |times: &Times, i: u64, expected: f64| {
        let found = times.at_rank(8_000 - i) as f64;
        assert!((found - expected).abs() < expected * 0.0005 + 1e5, "{i}: {found} {expected}");
    };
    for i in 0..900_u64 {
        let wait = 5e8 - 5e5 * i as f64;
        near(&times.response_time, i, wait + i.saturating_sub(50) as f64 * 1e4);
        near(&times.response_time_without_lag, i, wait);
    }
    let longest = times.schedule_lag.max() as f64;
    assert!((longest - 9.5e6).abs() < 1e5, "{longest}");
}

#[test]
fn below_the_connection_limit_a_stall_opens_connections_and_no_request_waits() {
    let mut case = open(every(ms(10), 400), 1_000);
    case.script.freezes = vec![Freeze { from: ms(2_000), until: ms(3_000) }];
    let (result, _) = load_result(&case);
    assert_eq!(result.counts.ok, 400);
    // Due at 2.00 to 2.99 s: all in flight at once. The one of 3.00 s finds the first one back.
    assert_eq!((result.connections.opened, result.in_flight_max), (101, 101));
    assert!(all_zero(&result.times.connection_wait));
    // 1001 − 10·i ms: i = 0..=50.
    assert_eq!(result.times.service_time.histogram().count_between(500_500_000, u64::MAX >> 1), 51);
}

/// Ten are due when the load begins. Each takes our thread 25 µs to send, and the server 10 µs.
#[test]
fn a_late_thread_reads_answers_between_sends() {
    let mut case = open(every(Nanos(0), 10), 10);
    case.script.send_time = Nanos(25_000);
    case.script.service_time = Nanos(10_000);
    let (result, _) = load_result(&case);
    assert_eq!(result.counts.ok, 10);
    // The end of each is seen after the next send.
    let longest = result.times.service_time.max();
    assert!((50_000..51_000).contains(&longest), "{longest}");
}

#[test]
fn idle_connections_are_taken_last_in_first_out() {
    // Two at once at first, then one at a time: the second connection is not used again.
    let mut due = vec![ms(0), ms(0)];
    due.extend((1..10).map(|request| ms(10 * request)));
    let (result, _) = load_result(&open(due, 10));
    assert_eq!((result.counts.ok, result.connections.opened), (11, 2));
}

#[test]
fn with_a_connection_per_request_each_request_opens_one() {
    let case = Case { habit: ConnectionHabit::PerRequest, ..open(every(ms(10), 20), 5) };
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, result.connections.opened), (20, 20));
}

#[test]
fn each_connection_that_was_opened_has_its_connect_time() {
    let mut case = Case { habit: ConnectionHabit::PerRequest, ..open(every(ms(10), 20), 5) };
    case.script.connect_time = ms(2);
    case.script.connects = vec![ConnectFate::Accept, ConnectFate::Refuse];
    let (result, _) = load_result(&case);
    let times = &result.connect_time;
    assert_eq!((times.len(), result.connections.opened), (10, 10), "not the refused ones");
    // To two digits.
    assert!(times.min() >= 1_980_000 && times.max() <= 2_020_000, "{times:?}");
}

#[test]
fn at_the_in_flight_limit_requests_are_dropped_if_so_configured() {
    // Each takes 25 ms, due every 10 ms, one at a time: of three that are due, one is started.
    let mut case = Case { when_full: WhenFull::Drop, ..open(every(ms(10), 30), 1) };
    case.script.service_time = ms(25);
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, result.counts.dropped), (10, 20));
}

#[test]
fn tank_stretches_its_schedule() {
    // Ten requests of 25 ms, due every 10 ms, one at a time: each after the first is due when the
    // one before is done. The last one is due at 225 ms instead of 90 ms.
    let mut case = Case { when_full: WhenFull::Stretch, ..open(every(ms(10), 10), 1) };
    case.script.service_time = ms(25);
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, result.counts.dropped), (10, 0));
    assert!((result.stretched - 2.5).abs() < 1e-9, "{}", result.stretched);
    assert_eq!((result.scheduled, result.lasted), (ms(225), ms(250)));
    assert!(all_zero(&result.times.connection_wait));
}

#[test]
fn waiting_requests_are_dropped_one_timeout_after_the_last_due_time() {
    // One connection, never an answer, 1 s timeout, requests due at 0.0 … 1.9 s. They start at 0, 1
    // and 2 s; the next one would start at 3 s, later than 1.9 + 1.
    let mut case = Case { timeout: ms(1_000), ..open(every(ms(100), 20), 1) };
    case.script.requests = vec![RequestFate::Never];
    let (result, _) = load_result(&case);
    assert_eq!(failed(&result), [("net:timeout", 3)]);
    assert_eq!((result.counts.dropped, result.lasted), (17, ms(3_000)));
    assert_eq!((result.scheduled, result.connections.opened), (ms(1_900), 3));
    assert_eq!(result.connections.never_answered, 3);
}

#[test]
fn a_connect_that_hangs_times_out() {
    let mut case = Case { timeout: ms(500), ..open(every(ms(10), 3), 10) };
    case.script.connects = vec![ConnectFate::Accept, ConnectFate::Hang];
    case.script.service_time = ms(50);
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, failed(&result)), (2, vec![("net:timeout", 1)]));
    // A connection that was never established cannot starve.
    assert_eq!(result.connections.never_answered, 0);
}

#[test]
fn running_out_of_ports_is_an_outcome() {
    let mut case = open(every(ms(10), 4), 10);
    case.script.connects = vec![ConnectFate::NoPort, ConnectFate::Refuse];
    let (result, _) = load_result(&case);
    assert_eq!(failed(&result), [("net:no-port", 2), ("net:refused", 2)]);
}

#[test]
fn an_idle_connection_that_was_closed_is_replaced() {
    let mut case = open(every(ms(10), 6), 1);
    case.script.requests = vec![RequestFate::AnswerThenClose, RequestFate::AnswerThenReset];
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, result.connections.opened), (6, 6));
}

#[test]
fn each_kind_of_lost_request_is_counted_as_such() {
    use RequestFate::*;
    let mut case = open(every(ms(10), 12), 1);
    case.script.requests = vec![Answer, Torn, CutShort, ResetHalfway, CloseUnanswered, Answer];
    let (result, _) = load_result(&case);
    assert_eq!(failed(&result), [("net:cut-short", 4), ("net:reset", 2)]);
    assert_eq!(result.counts.ok, 6);
}

#[test]
fn a_closed_load_sends_the_next_request_after_an_answer() {
    // Concurrency 4, 10 ms each, for 95 ms: started at 0, 10 … 90 ms.
    let mut case = closed(4, Until::For(ms(95)));
    case.script.service_time = ms(10);
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, result.connections.opened), (40, 4));
    assert_eq!((result.scheduled, result.lasted, result.ok_inside), (ms(95), ms(100), 36));
    assert!(result.times.response_time.is_empty() && result.times.connection_wait.is_empty());
    assert_eq!(result.in_flight_integral, u128::from(ms(400).0));
}

#[test]
fn a_closed_load_sends_exactly_the_given_number_of_requests() {
    let mut case = closed(10, Until::Requests(25));
    case.script.service_time = ms(10);
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.planned, result.counts.ok), (25, 25));
    assert_eq!((result.scheduled, result.lasted, result.ok_inside), (ms(30), ms(30), 25));
}

#[test]
fn a_closed_load_pauses_after_a_refused_connection() {
    let mut case = closed(2, Until::For(ms(100)));
    case.script.connects = vec![ConnectFate::Refuse];
    let (result, _) = load_result(&case);
    assert_eq!(failed(&result), [("net:refused", 20)]);
}

#[test]
fn a_stopped_load_accounts_for_every_request() {
    let mut case = Case { stop_at: Some(0), ..open(every(ms(10), 100), 4) };
    let (nothing, _) = load_result(&case);
    assert_eq!((nothing.counts.planned, nothing.counts.dropped), (100, 100));
    assert_eq!((nothing.end, nothing.scheduled), (End::Stopped, Nanos(0)));
    assert_eq!(nothing.not_due, 100);
    // One connection, which is busy with the first request from 0 to 35 ms.
    (case.limit, case.script.service_time, case.stop_at) = (1, ms(35), Some(2));
    let (first, _) = load_result(&case);
    assert_eq!((first.counts.ok, first.counts.dropped, first.lasted), (1, 99, ms(35)));
    assert_eq!(first.not_due, 96, "those of 10, 20 and 30 ms waited for the connection");
    case.stop_at = Some(20);
    let (some, _) = load_result(&case);
    let waited = some.counts.dropped - some.not_due;
    assert_eq!(some.counts.started + waited, some.scheduled.0.div_ceil(ms(10).0));
    assert!(waited > 1, "more are due than one connection takes");
}

/// The load wakes up for the request that is due, sees the stop, and starts no more.
#[test]
fn a_request_due_at_the_moment_of_the_stop_counts_as_not_due() {
    for turn in 1..40 {
        let case = Case { stop_at: Some(turn), ..open(every(ms(100), 20), 4) };
        let (result, _) = load_result(&case);
        assert_eq!(result.counts.dropped, result.not_due, "stopped in turn {turn}");
    }
}

#[test]
fn an_empty_schedule_ends_at_once() {
    let (result, seconds) = load_result(&open(vec![], 4));
    assert_eq!((result.counts.planned, result.lasted, result.end), (0, Nanos(0), End::Complete));
    assert_eq!(seconds.len(), 1);
}
