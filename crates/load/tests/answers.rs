//! Bad answers, fired for real: each counted as what it is, none waited for longer than
//! its timeout, and planned = ok + failed + dropped.
//!
//! Two timeouts: where an answer ends by itself it is so long that reaching it would show
//! as another outcome and as a load that lasted too long; where nothing ends, short.

use stampede_known_server::{
    Accept, Address as Known, Answer, Behaviour, KnownServer, Listen, Reply, Then, Workers, Writing,
};
use stampede_load::ammo::{AnswerShape, Request, Tag};
use stampede_load::report::{End, Second};
use stampede_load::schedule::Segments;
use stampede_load::spec::{
    Address, Arrivals, Check, ConnectionHabit, EngineChoice, Habits, HttpVersion, Model, Until,
    WhenFull,
};
use stampede_load::time::Nanos;
use stampede_load::{Fired, Listener, Load, Stop, fire};

/// Shots of each load.
const SHOTS: u64 = 20;
/// Where every answer ends by itself.
const LONG: Nanos = Nanos::from_secs(20);
/// Where none does.
const SHORT: Nanos = Nanos::from_millis(300);

/// A bad (or odd, and right) answer and what each shot that gets it counts as.
struct Case {
    name: &'static str,
    answer: Answer,
    counts_as: &'static str,
}

fn case(name: &'static str, answer: Answer, counts_as: &'static str) -> Case {
    Case { name, answer, counts_as }
}

/// Answers that are odd, and whole.
fn whole() -> Vec<Case> {
    let body = "hello, here is the body";
    let torn = Writing::Torn { bytes: 1, gap: std::time::Duration::from_micros(20) };
    let trailers: &[(&str, &str)] = &[("X-Sum", "1"), ("X-More", "")];
    vec![
        case("plain", Answer::new(200, body), "ok"),
        case("empty", Answer::new(204, ""), "check"),
        case("another body", Answer::new(200, "an error page"), "check"),
        case("chunked with trailers", Answer::new(200, body).chunked(3, trailers), "ok"),
        case("up to the close", Answer::new(200, body).unframed(), "ok"),
        case("closed, and said so", Answer::new(200, body).then(Then::CloseSaid), "ok"),
        case(
            "after 100 and 103",
            Answer::new(200, body).after_interim(100).after_interim(103),
            "ok",
        ),
        case("byte by byte", Answer::new(200, body).written(torn), "ok"),
        case(
            "chunked byte by byte after 103",
            Answer::new(200, body).chunked(2, trailers).after_interim(103).written(torn),
            "ok",
        ),
        case("large head", Answer::new(200, body).field("X", &"x".repeat(60_000)), "ok"),
        case("longer than announced", Answer::new(200, body).announcing(5), "ok"),
        case("redirect", Answer::new(302, "").field("Location", "/b"), "http:302"),
        case("not found", Answer::new(404, body), "http:404"),
        case("bad gateway", Answer::new(502, body), "http:502"),
        case("unavailable, and closed", Answer::new(503, body).then(Then::CloseSaid), "http:503"),
    ]
}

/// Answers that are not.
fn broken() -> Vec<Case> {
    let ok = || Answer::new(200, "hello, here is the body");
    vec![
        case("reset before the answer", Answer::none(Then::Reset), "net:reset"),
        case("reset in the head", ok().cut_at(20).then(Then::Reset), "net:reset"),
        case("reset in the body", ok().cut_at(50).then(Then::Reset), "net:reset"),
        case("closed before the answer", Answer::none(Then::Close), "net:cut-short"),
        case("closed in the head", ok().cut_at(20).then(Then::Close), "net:cut-short"),
        case("closed in the body", ok().cut_at(50).then(Then::Close), "net:cut-short"),
        case("shorter than announced", ok().announcing(99).then(Then::Close), "net:cut-short"),
        case(
            "closed in a chunk",
            ok().chunked(8, &[]).cut_at(70).then(Then::Close),
            "net:cut-short",
        ),
        case(
            "closed after 103",
            ok().after_interim(103).cut_at(45).then(Then::Close),
            "net:cut-short",
        ),
        case("huge head", ok().field("X", &"x".repeat(200_000)), "net:head-too-large"),
        case(
            "endless head",
            Answer::raw("HTTP/1.1 200 ".to_owned() + &"x".repeat(99_999)),
            "net:head-too-large",
        ),
        case("garbage", Answer::raw("\0\u{1}garbage"), "net:malformed"),
        case("garbage, held", Answer::raw("220 smtp ready\r\n").then(Then::Hold), "net:malformed"),
        case("upgrade unasked", Answer::raw("HTTP/1.1 101 Up\r\n\r\n"), "net:malformed"),
        case("two lengths", ok().field("Content-Length", "5"), "net:malformed"),
        case(
            "negative length",
            Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
            "net:malformed",
        ),
        case(
            "length above 64 bits",
            Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n"),
            "net:malformed",
        ),
        case(
            "bad chunk size",
            Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n"),
            "net:malformed",
        ),
    ]
}

/// Answers that never end.
fn endless() -> Vec<Case> {
    let ok = || Answer::new(200, "hello, here is the body");
    vec![
        case("never answered", Answer::none(Then::Hold), "net:timeout"),
        case("held in the head", ok().cut_at(20).then(Then::Hold), "net:timeout"),
        case("held in the body", ok().cut_at(50).then(Then::Hold), "net:timeout"),
        case("held after 103", ok().after_interim(103).cut_at(45).then(Then::Hold), "net:timeout"),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Open,
    Closed,
}

/// Every way to fire.
const WAYS: [(Kind, ConnectionHabit); 4] = [
    (Kind::Open, ConnectionHabit::KeepAlive),
    (Kind::Open, ConnectionHabit::PerShot),
    (Kind::Closed, ConnectionHabit::KeepAlive),
    (Kind::Closed, ConnectionHabit::PerShot),
];

/// Four users share the shots; where each shot lasts a whole timeout, all fire at once.
fn model(kind: Kind, timeout: Nanos) -> Model {
    let users = if timeout == SHORT { SHOTS as u32 } else { 4 };
    match kind {
        Kind::Open => Model::Open {
            schedule: Segments::parse("const(400,50ms)").unwrap(),
            arrivals: Arrivals::Uniform,
            max_in_flight: 32,
            when_full: WhenFull::Queue,
        },
        Kind::Closed => Model::Closed { users, until: Until::Requests(SHOTS) },
    }
}

/// `answers_uring.rs` is the same file once more.
fn engine() -> EngineChoice {
    if module_path!().contains("uring") { EngineChoice::IoUring } else { EngineChoice::Epoll }
}

fn load(target: Address, kind: Kind, connection: ConnectionHabit, timeout: Nanos) -> Load {
    let get = Request {
        bytes: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        answer: AnswerShape::ByHeaders,
        tag: Tag::NONE,
    };
    Load {
        habits: Habits { version: HttpVersion::Http11, connection },
        timeout,
        check: Check { statuses: vec![], body_contains: b"hello".to_vec() },
        engine: engine(),
        ..Load::new(target, model(kind, timeout), [get])
    }
}

fn address(server: &KnownServer) -> Address {
    match server.address() {
        Known::Tcp(address) => Address::Tcp(*address),
        Known::Unix(path) => Address::Unix(path.clone()),
    }
}

/// Adds the seconds up again: what is told while it runs must be what is told at the end.
#[derive(Default)]
struct Seconds {
    planned: u64,
    ok: u64,
    failed: u64,
    dropped: u64,
}

impl Listener for Seconds {
    fn second(&mut self, second: &Second) {
        self.planned += second.counts.planned;
        self.ok += second.counts.ok;
        self.failed += second.counts.failed_total();
        self.dropped += second.counts.dropped;
    }
}

/// Fires and checks what holds for every load, whatever it meets.
fn fired(load: &Load, about: &str) -> Fired {
    let mut seconds = Seconds::default();
    let fired = fire(load, &Stop::default(), &mut seconds).unwrap();
    let counts = &fired.counts;
    let failed = counts.failed_total();
    assert_eq!(counts.planned, SHOTS, "{about}");
    assert_eq!(counts.planned, counts.ok + failed + counts.dropped, "{about}");
    assert_eq!(counts.started, counts.ok + failed, "{about}");
    assert_eq!(fired.service_time_all.len(), counts.started, "{about}");
    assert_eq!(fired.times.service_time.len(), counts.ok, "{about}");
    let told = (seconds.planned, seconds.ok, seconds.failed, seconds.dropped);
    assert_eq!(told, (counts.planned, counts.ok, failed, counts.dropped), "{about}");
    assert_eq!(fired.end, End::Complete, "{about}");
    fired
}

/// `expected`: what counts as what, `ok` among it.
fn counted_as(fired: &Fired, expected: &[(&str, u64)], about: &str) {
    let mut counts = fired.counts.failed.clone();
    counts.insert("ok".to_owned(), fired.counts.ok);
    counts.insert("dropped".to_owned(), fired.counts.dropped);
    counts.retain(|_, count| *count > 0);
    let expected = expected.iter().filter(|(_, count)| *count > 0);
    let expected = expected.map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
    assert_eq!(counts, expected, "{about}");
}

/// Every shot gets the answer.
fn each_counts_as_what_it_is(cases: Vec<Case>, timeout: Nanos) {
    for Case { name, answer, counts_as } in cases {
        for (kind, habit) in WAYS {
            let about = format!("{name}, {kind:?}, {habit:?}");
            let server = KnownServer::start(Behaviour::answering(answer.clone())).unwrap();
            let fired = fired(&load(address(&server), kind, habit, timeout), &about);
            counted_as(&fired, &[(counts_as, SHOTS)], &about);
            assert_eq!(server.journal().requests, SHOTS, "{about}");
            assert_eq!(fired.connections.opened, server.journal().connections, "{about}");
            if habit == ConnectionHabit::PerShot || timeout == SHORT {
                assert_eq!(fired.connections.opened, SHOTS, "{about}");
            }
            if timeout == LONG {
                assert!(fired.lasted < LONG, "{about} lasted {:?}", fired.lasted);
            } else {
                assert!(fired.service_time_all.min() >= timeout.0 * 999 / 1000, "{about}");
            }
        }
    }
}

#[test]
fn whole_answers_count_as_what_they_are() {
    each_counts_as_what_it_is(whole(), LONG);
}

/// A server that closes kept connections without a word races with the next shot on them.
/// That shot is lost by the server's doing, and counted; nothing is fired twice.
#[test]
fn a_close_without_a_word_costs_no_more_than_the_shot_it_met() {
    for (kind, habit) in WAYS {
        let about = format!("{kind:?}, {habit:?}");
        let answer = Answer::new(200, "hello").then(Then::Close);
        let server = KnownServer::start(Behaviour::answering(answer)).unwrap();
        let fired = fired(&load(address(&server), kind, habit, LONG), &about);
        let lost = |kind| fired.counts.failed.get(kind).copied().unwrap_or(0);
        let (cut, reset) = (lost("net:cut-short"), lost("net:reset"));
        counted_as(
            &fired,
            &[("ok", SHOTS - cut - reset), ("net:cut-short", cut), ("net:reset", reset)],
            &about,
        );
        // Whoever was read by the server was answered.
        assert_eq!(server.journal().requests, fired.counts.ok, "{about}");
        if habit == ConnectionHabit::PerShot {
            assert_eq!(fired.counts.ok, SHOTS, "{about}");
        }
    }
}

#[test]
fn broken_answers_count_as_what_they_are() {
    each_counts_as_what_it_is(broken(), LONG);
}

#[test]
fn answers_that_never_end_time_out() {
    each_counts_as_what_it_is(endless(), SHORT);
}

/// One in five goes wrong: the other shots do not notice, on whichever connection.
#[test]
fn a_bad_answer_fails_its_own_shot_only() {
    for Case { name, answer, counts_as } in broken() {
        for (kind, habit) in WAYS {
            let about = format!("every fifth {name}, {kind:?}, {habit:?}");
            let bad = Reply { answer: answer.clone(), ..Reply::default() };
            let behaviour = Behaviour {
                exceptions: vec![(5, bad)],
                ..Behaviour::answering(Answer::new(200, "hello"))
            };
            let server = KnownServer::start(behaviour).unwrap();
            let fired = fired(&load(address(&server), kind, habit, LONG), &about);
            counted_as(&fired, &[("ok", SHOTS - 4), (counts_as, 4)], &about);
            assert!(fired.lasted < LONG, "{about}");
        }
    }
}

#[test]
fn a_server_that_accepts_nothing_times_out() {
    for accept in [Accept::Never, Accept::NeverFull] {
        for (kind, habit) in WAYS {
            let about = format!("{accept:?}, {kind:?}, {habit:?}");
            let server = KnownServer::start(Behaviour { accept, ..Behaviour::default() }).unwrap();
            let fired = fired(&load(address(&server), kind, habit, SHORT), &about);
            counted_as(&fired, &[("net:timeout", SHOTS)], &about);
            let opened = if accept == Accept::Never { SHOTS } else { 0 };
            assert_eq!(fired.connections.opened, opened, "{about}");
        }
    }
}

#[test]
fn nobody_there_is_refused() {
    for (kind, habit) in WAYS {
        let about = format!("{kind:?}, {habit:?}");
        let server = KnownServer::start(Behaviour::default()).unwrap();
        let target = address(&server);
        drop(server);
        let fired = fired(&load(target, kind, habit, LONG), &about);
        counted_as(&fired, &[("net:refused", SHOTS)], &about);
        assert_eq!((fired.connections.opened, fired.counts.bytes_sent), (0, 0), "{about}");
    }
}

/// The same over a unix socket, where there is no reset, and a full queue says so at once.
#[test]
fn a_unix_socket_is_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let listen = Listen::Unix(folder.path().join("known.sock"));
    let ok = || Answer::new(200, "hello");
    let full = Behaviour { accept: Accept::NeverFull, ..Behaviour::default() };
    let cases = [
        ("plain", Behaviour::answering(ok()), LONG, "ok"),
        ("chunked", Behaviour::answering(ok().chunked(2, &[("A", "b")])), LONG, "ok"),
        ("closed", Behaviour::answering(Answer::none(Then::Close)), LONG, "net:cut-short"),
        ("garbage", Behaviour::answering(Answer::raw("garbage")), LONG, "net:malformed"),
        ("held", Behaviour::answering(Answer::none(Then::Hold)), SHORT, "net:timeout"),
        ("full", full, LONG, "net:queue-full"),
    ];
    for (name, behaviour, timeout, counts_as) in cases {
        for (kind, habit) in WAYS {
            let about = format!("unix {name}, {kind:?}, {habit:?}");
            let server = KnownServer::start_on(&listen, behaviour.clone()).unwrap();
            let fired = fired(&load(address(&server), kind, habit, timeout), &about);
            counted_as(&fired, &[(counts_as, SHOTS)], &about);
        }
    }
}

/// HEAD and POST, HTTP/1.0 kept and not.
#[test]
fn other_requests_are_answered_too() {
    let server = KnownServer::start(Behaviour::answering(Answer::new(200, "hello"))).unwrap();
    let requests = [
        ("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", AnswerShape::NoBody, HttpVersion::Http11, 4),
        (
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
            AnswerShape::ByHeaders,
            HttpVersion::Http11,
            4,
        ),
        ("GET / HTTP/1.0\r\n\r\n", AnswerShape::ByHeaders, HttpVersion::Http10, SHOTS),
        (
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            AnswerShape::ByHeaders,
            HttpVersion::Http10,
            4,
        ),
    ];
    for (bytes, answer, version, connections) in requests {
        let kept = ConnectionHabit::KeepAlive;
        let mut load = load(address(&server), Kind::Closed, kept, LONG);
        load.habits.version = version;
        load.ammo = [Request { bytes: bytes.into(), answer, tag: Tag::NONE }].into();
        let fired = fired(&load, bytes);
        counted_as(&fired, &[("ok", SHOTS)], bytes);
        assert_eq!(fired.counts.bytes_sent, SHOTS * bytes.len() as u64, "{bytes:?}");
        // Four users, a connection each at most; fewer where one was free in time.
        assert!(fired.connections.opened <= connections, "{bytes:?}");
        assert!(connections < SHOTS || fired.connections.opened == SHOTS, "{bytes:?}");
    }
}

/// One worker, held by a connection that is kept: the other user never gets an answer, and
/// the load says that a connection starved.
#[test]
fn starved_connections_are_told() {
    let behaviour = Behaviour {
        workers: Workers::PerConnection(1),
        ..Behaviour::answering(Answer::new(200, "hello"))
    };
    let server = KnownServer::start(behaviour).unwrap();
    let mut load = load(address(&server), Kind::Closed, ConnectionHabit::KeepAlive, SHORT);
    load.model = Model::Closed { users: 2, until: Until::Requests(SHOTS) };
    let fired = fired(&load, "starved");
    // The starved user fires once, unless the machine is so busy that the other does not
    // get through all the rest in one timeout.
    let starved = fired.counts.failed["net:timeout"];
    assert!(starved >= 1);
    counted_as(&fired, &[("ok", SHOTS - starved), ("net:timeout", starved)], "starved");
    assert!(fired.connections.never_answered >= 1, "{:?}", fired.connections);
}
