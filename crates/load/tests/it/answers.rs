//! Tests bad answers over real sockets. Each counts as what it is, none is waited for longer than
//! its timeout, and planned = ok + failed + dropped.
//!
//! There are two timeouts. Where an answer ends by itself, the timeout is long: reaching it would
//! show as another outcome and as a load that lasted too long. Where nothing ends, it is short.

#[path = "bad/mod.rs"]
mod bad;

use std::time::Duration;

use bad::{
    Case, Kind, LOAD_KINDS, LONG, REQUESTS, SHORT, address, broken, endless, load, oversized, whole,
};
use stampede_known_server::{
    Accept, Answer, Behaviour, ConnectionAction, KnownServer, Listen, Reply, Workers, Writing,
};
use stampede_load::spec::{Check, Rule};
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadResult};
use stampede_model::counts::{End, Second};
use stampede_model::load::{ConnectionHabit, HttpVersion, Model, Until};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::answer::BodyLengths;
use stampede_traffic::{AnswerShape, Request};

/// Adds the seconds up: what is reported during a load must be what is reported at its end.
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

/// Runs a load and checks what holds for every load.
fn load_result(load: &Load, about: &str) -> LoadResult {
    let mut seconds = Seconds::default();
    let result = InProcess.run(load, &Stop::default(), &mut seconds).unwrap();
    let counts = &result.counts;
    let failed = counts.failed_total();
    assert_eq!(counts.planned, REQUESTS, "{about}");
    assert_eq!(counts.planned, counts.ok + failed + counts.dropped, "{about}");
    assert_eq!(counts.started, counts.ok + failed, "{about}");
    assert_eq!(result.service_time_all.len(), counts.started, "{about}");
    assert_eq!(result.times.service_time.len(), counts.ok, "{about}");
    let reported = (seconds.planned, seconds.ok, seconds.failed, seconds.dropped);
    assert_eq!(reported, (counts.planned, counts.ok, failed, counts.dropped), "{about}");
    assert_eq!(result.end, End::Complete, "{about}");
    result
}

/// `expected`: how many requests count as what, `ok` included.
fn counted_as(result: &LoadResult, expected: &[(&str, u64)], about: &str) {
    let mut counts = result.counts.failed.clone();
    counts.insert("ok".to_owned(), result.counts.ok);
    counts.insert("dropped".to_owned(), result.counts.dropped);
    counts.retain(|_, count| *count > 0);
    let expected = expected.iter().filter(|(_, count)| *count > 0);
    let expected = expected.map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
    assert_eq!(counts, expected, "{about}");
}

/// Every request gets the answer.
fn each_case_counts_as_expected(cases: Vec<Case>, timeout: Nanos) {
    for Case { name, answer, counts_as } in cases {
        for (kind, habit) in LOAD_KINDS {
            let about = format!("{name}, {kind:?}, {habit:?}");
            let server = KnownServer::start(Behaviour::answering(answer.clone())).unwrap();
            let result = load_result(&load(address(&server), kind, habit, timeout), &about);
            counted_as(&result, &[(counts_as, REQUESTS)], &about);
            assert_eq!(server.journal().requests, REQUESTS, "{about}");
            assert_eq!(result.connections.opened, server.journal().connections, "{about}");
            if habit == ConnectionHabit::PerRequest || timeout == SHORT {
                assert_eq!(result.connections.opened, REQUESTS, "{about}");
            }
            if timeout == LONG {
                assert!(result.lasted < LONG, "{about} lasted {:?}", result.lasted);
            } else {
                let times = &result.service_time_all;
                assert!(times.min() >= timeout.0 * 999 / 1000, "{about}");
                assert!(times.max() < timeout.0 + Nanos::SECOND.0, "{about}: {} ns", times.max());
            }
        }
    }
}

#[test]
fn whole_answers_count_as_expected() {
    each_case_counts_as_expected(whole(), LONG);
}

/// A server that closes kept connections without announcing it races with the next request on them.
/// The server loses that request, and it is counted; nothing is sent twice.
#[test]
fn an_unannounced_close_fails_at_most_the_request_it_interrupts() {
    let ways = LOAD_KINDS
        .into_iter()
        .flat_map(|way| [(way, ConnectionAction::Close), (way, ConnectionAction::Reset)]);
    for ((kind, habit), then) in ways {
        let about = format!("{kind:?}, {habit:?}, {then:?}");
        let answer = Answer::new(200, "hello").then(then);
        let server = KnownServer::start(Behaviour::answering(answer)).unwrap();
        let result = load_result(&load(address(&server), kind, habit, LONG), &about);
        let lost = result.counts.failed.get("net:stale").copied().unwrap_or(0);
        counted_as(&result, &[("ok", REQUESTS - lost), ("net:stale", lost)], &about);
        // Every request that the server read was answered.
        assert_eq!(server.journal().requests, result.counts.ok, "{about}");
        if habit == ConnectionHabit::PerRequest {
            assert_eq!(result.counts.ok, REQUESTS, "{about}");
        }
    }
}

#[test]
fn broken_answers_count_as_expected() {
    each_case_counts_as_expected(broken(), LONG);
}

#[test]
fn endless_heads_hit_a_limit() {
    each_case_counts_as_expected(oversized(), LONG);
}

#[test]
fn answers_that_never_end_time_out() {
    each_case_counts_as_expected(endless(), SHORT);
}

/// Cases without a byte of an answer.
const UNBEGUN: [&str; 4] =
    ["reset before the answer", "closed before the answer", "garbage", "garbage, held"];

/// One in five goes wrong: the other requests are not affected, on whichever connection.
#[test]
fn a_bad_answer_fails_its_own_request_only() {
    for Case { name, answer, counts_as } in broken().into_iter().chain(oversized()) {
        for (kind, habit) in LOAD_KINDS {
            let about = format!("every fifth {name}, {kind:?}, {habit:?}");
            let bad = Reply { answer: answer.clone(), ..Reply::default() };
            let behaviour = Behaviour {
                exceptions: vec![(5, bad)],
                ..Behaviour::answering(Answer::new(200, "hello"))
            };
            let server = KnownServer::start(behaviour).unwrap();
            let result = load_result(&load(address(&server), kind, habit, LONG), &about);
            // On a connection that answered before, no answer at all has another name.
            let stale = result.counts.failed.get("net:stale").copied().unwrap_or(0);
            let expected = [("ok", REQUESTS - 4), (counts_as, 4 - stale), ("net:stale", stale)];
            counted_as(&result, &expected, &about);
            let may_be = habit == ConnectionHabit::KeepAlive && UNBEGUN.contains(&name);
            assert!(stale == 0 || may_be, "{about}: {stale}");
            assert!(result.lasted < LONG, "{about}");
        }
    }
}

#[test]
fn a_server_that_accepts_nothing_times_out() {
    for accept in [Accept::Never, Accept::NeverFull] {
        for (kind, habit) in LOAD_KINDS {
            let about = format!("{accept:?}, {kind:?}, {habit:?}");
            let server = KnownServer::start(Behaviour { accept, ..Behaviour::default() }).unwrap();
            let result = load_result(&load(address(&server), kind, habit, SHORT), &about);
            counted_as(&result, &[("net:timeout", REQUESTS)], &about);
            let opened = if accept == Accept::Never { REQUESTS } else { 0 };
            assert_eq!(result.connections.opened, opened, "{about}");
        }
    }
}

#[test]
fn a_connection_without_a_listener_is_refused() {
    for (kind, habit) in LOAD_KINDS {
        let about = format!("{kind:?}, {habit:?}");
        let server = KnownServer::start(Behaviour::default()).unwrap();
        let target = address(&server);
        drop(server);
        let result = load_result(&load(target, kind, habit, LONG), &about);
        counted_as(&result, &[("net:refused", REQUESTS)], &about);
        assert_eq!((result.connections.opened, result.counts.bytes_sent), (0, 0), "{about}");
    }
}

/// The same over a Unix socket, where there is no reset, and a full queue is reported at once.
#[test]
fn a_unix_socket_is_an_address() {
    let directory = tempfile::tempdir().unwrap();
    let listen = Listen::Unix(directory.path().join("known.sock"));
    let ok = || Answer::new(200, "hello");
    let full = Behaviour { accept: Accept::NeverFull, ..Behaviour::default() };
    let cases = [
        ("plain", Behaviour::answering(ok()), LONG, "ok"),
        ("chunked", Behaviour::answering(ok().chunked(2, &[("A", "b")])), LONG, "ok"),
        (
            "closed",
            Behaviour::answering(Answer::none(ConnectionAction::Close)),
            LONG,
            "net:cut-short",
        ),
        ("garbage", Behaviour::answering(Answer::raw("garbage")), LONG, "net:malformed"),
        ("held", Behaviour::answering(Answer::none(ConnectionAction::Hold)), SHORT, "net:timeout"),
        ("full", full, LONG, "net:queue-full"),
    ];
    for (name, behaviour, timeout, counts_as) in cases {
        for (kind, habit) in LOAD_KINDS {
            let about = format!("unix {name}, {kind:?}, {habit:?}");
            let server = KnownServer::start_on(&listen, behaviour.clone()).unwrap();
            let result = load_result(&load(address(&server), kind, habit, timeout), &about);
            counted_as(&result, &[(counts_as, REQUESTS)], &about);
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
        ("GET / HTTP/1.0\r\n\r\n", AnswerShape::ByHeaders, HttpVersion::Http10, REQUESTS),
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
        let mut request = Request::encoded(bytes.as_ref());
        request.answer = answer;
        load.traffic = [request].into();
        let result = load_result(&load, bytes);
        counted_as(&result, &[("ok", REQUESTS)], bytes);
        assert_eq!(result.counts.bytes_sent, REQUESTS * bytes.len() as u64, "{bytes:?}");
        // Concurrency 4, so at most one connection each; fewer where one was free in time.
        assert!(result.connections.opened <= connections, "{bytes:?}");
        assert!(connections < REQUESTS || result.connections.opened == REQUESTS, "{bytes:?}");
    }
}

/// One worker, held by a kept connection: the other user never gets an answer, and the load reports
/// that a connection starved.
#[test]
fn starved_connections_are_reported() {
    let behaviour = Behaviour {
        workers: Workers::PerConnection(1),
        // So that the time in which one user is answered is long beside the start of the other.
        ..Behaviour::answering_after(Duration::from_millis(10), Answer::new(200, "hello"))
    };
    let server = KnownServer::start(behaviour).unwrap();
    // Long enough that the other user finishes all the rest, even on a busy machine. A connection
    // that waited for less than half of the load has not starved.
    let timeout = Nanos::from_secs(5);
    let mut load = load(address(&server), Kind::Closed, ConnectionHabit::KeepAlive, timeout);
    load.model = Model::Closed { concurrency: 2, until: Until::Requests(REQUESTS) };
    let result = load_result(&load, "starved");
    // The starved user sends once, unless the machine stands still for a whole timeout.
    let starved = result.counts.failed["net:timeout"];
    assert!(starved >= 1);
    counted_as(&result, &[("ok", REQUESTS - starved), ("net:timeout", starved)], "starved");
    assert!(result.connections.never_answered >= 1, "{:?}", result.connections);
}

/// The first byte, the first two bytes … in a read of their own, or the rest byte by byte.
#[test]
fn an_answer_split_at_any_byte_is_correct() {
    let bytes = "HTTP/1.1 103 E\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 2;a=b\r\nhe\r\n03\r\nllo\r\n0\r\nA: b\r\n\r\n";
    for at in 1..bytes.len() {
        let about = format!("torn at {at}");
        let split = Writing::Split { at, gap: Duration::from_micros(300) };
        let behaviour = Behaviour::answering(Answer::raw(bytes).written(split));
        let server = KnownServer::start(behaviour).unwrap();
        let mut load = load(address(&server), Kind::Closed, ConnectionHabit::KeepAlive, LONG);
        load.check.rules = rules(&["body ~ /^hello$/"]);
        let result = load_result(&load, &about);
        counted_as(&result, &[("ok", REQUESTS)], &about);
        assert!(result.lasted < LONG, "{about}");
    }
}

#[test]
fn a_reset_before_the_request_is_read_is_a_reset() {
    for (kind, habit) in LOAD_KINDS {
        let about = format!("{kind:?}, {habit:?}");
        let behaviour = Behaviour { accept: Accept::ThenReset, ..Behaviour::default() };
        let server = KnownServer::start(behaviour).unwrap();
        let result = load_result(&load(address(&server), kind, habit, LONG), &about);
        counted_as(&result, &[("net:reset", REQUESTS)], &about);
        assert_eq!(server.journal().requests, 0, "{about}");
    }
}

/// The answer of a server that answers at once and closes is accepted.
#[test]
fn an_answer_sent_before_the_request_counts_as_its_answer() {
    let greeting =
        b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    for (kind, habit) in LOAD_KINDS {
        let about = format!("{kind:?}, {habit:?}");
        let behaviour = Behaviour { greeting: greeting.to_vec(), ..Behaviour::default() };
        let server = KnownServer::start(behaviour).unwrap();
        let result = load_result(&load(address(&server), kind, habit, LONG), &about);
        counted_as(&result, &[("http:408", REQUESTS)], &about);
        assert_eq!(result.connections.opened, REQUESTS, "{about}");
    }
}

/// The surplus bytes reach an idle connection, which is then replaced, or the request that came
/// first.
#[test]
fn unsolicited_bytes_fail_at_most_the_request_they_interrupt() {
    for (kind, habit) in LOAD_KINDS {
        let about = format!("{kind:?}, {habit:?}");
        let answer = Answer::new(200, "hello").later(Duration::from_millis(2), "oops");
        let server = KnownServer::start(Behaviour::answering(answer)).unwrap();
        let result = load_result(&load(address(&server), kind, habit, LONG), &about);
        let met = result.counts.failed.get("net:stale").copied().unwrap_or(0);
        counted_as(&result, &[("ok", REQUESTS - met), ("net:stale", met)], &about);
        assert!(result.aside.surplus_answers >= met, "{about}");
        assert!(habit == ConnectionHabit::KeepAlive || met == 0, "{about}");
    }
}

/// A server that sends without end gets its turn like others: their answers are read meanwhile.
#[test]
fn an_endless_answer_delays_no_other() {
    let endless = Answer::raw("HTTP/1.1 200 OK\r\n\r\n").forever("x".repeat(60_000));
    let behaviour = Behaviour {
        exceptions: vec![(7, Reply { answer: endless, ..Reply::default() })],
        ..Behaviour::answering(Answer::new(200, "hello"))
    };
    let server = KnownServer::start(behaviour).unwrap();
    let timeout = Nanos::from_secs(2);
    let load = load(address(&server), Kind::Closed, ConnectionHabit::KeepAlive, timeout);
    let result = load_result(&load, "endless");
    counted_as(&result, &[("ok", REQUESTS - 2), ("net:timeout", 2)], "endless");
}

fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| Rule::parse(text).unwrap()).collect()
}

/// Every fourth answer breaks one rule, in turn; the first of each kind is kept.
#[test]
fn of_each_kind_of_failure_the_first_is_kept() {
    let good = || Answer::new(200, "hello").field("X-Cache", "HIT");
    let bad = |answer: Answer| Reply { answer, ..Reply::default() };
    let slow = Reply { service_time: Duration::from_millis(1_200), answer: good() };
    let torn = Writing::Torn { bytes: 7, gap: Duration::from_micros(100) };
    let behaviour = Behaviour {
        exceptions: vec![
            // On a new connection: on a kept one these bytes might belong to the answer before.
            (17, bad(Answer::raw("220 smtp ready\r\n"))),
            (16, bad(good().cut_at(58).then(ConnectionAction::Close))),
            (12, slow),
            (8, bad(Answer::new(200, "hello").field("X-Cache", "MISS").written(torn))),
            (4, bad(Answer::new(500, "sorry").field("X-Cache", "MISS"))),
        ],
        ..Behaviour::answering(good())
    };
    let server = KnownServer::start(behaviour).unwrap();
    let mut load = load(address(&server), Kind::Closed, ConnectionHabit::KeepAlive, LONG);
    load.model = Model::Closed { concurrency: 1, until: Until::Requests(REQUESTS) };
    load.check.rules = rules(&["header x-cache == HIT", "time < 1s"]);
    let result = load_result(&load, "examples");
    let (header, time) = ("check:header x-cache == HIT", "check:time < 1s");
    let expected = [
        ("ok", 14),
        ("http:500", 2),
        (header, 1),
        (time, 1),
        ("net:cut-short", 1),
        ("net:malformed", 1),
    ];
    counted_as(&result, &expected, "examples");
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "|");
    let lines = result.examples.iter().map(|example| {
        let found = example.found.split_inclusive("took ").next().unwrap_or_default();
        let (head, body) = (shown(&example.head), shown(&example.body));
        format!("{}: {found}\n  {:?} {head}{body}\n", example.kind, example.status)
    });
    insta::assert_snapshot!(lines.collect::<String>());
    assert!(result.examples.iter().all(|example| example.at <= result.lasted));
    assert!(result.examples.iter().all(|example| example.request == "GET /"));
    assert!(result.examples[2].service_time >= Nanos::from_millis(1_000));
}

/// Correct answers of another length are counted, and stay correct.
#[test]
fn answers_of_an_unusual_length_are_counted() {
    let reply = |body: &str| Reply { answer: Answer::new(200, body), ..Reply::default() };
    let long = "x".repeat(900);
    let behaviour = Behaviour {
        exceptions: vec![(5, reply("short")), (4, reply(long.as_str()))],
        ..Behaviour::answering(Answer::new(200, "x".repeat(400)))
    };
    let server = KnownServer::start(behaviour).unwrap();
    let mut load = load(address(&server), Kind::Closed, ConnectionHabit::KeepAlive, LONG);
    load.model = Model::Closed { concurrency: 1, until: Until::Requests(REQUESTS) };
    load.check = Check::default();
    let request = Request::build("GET", "/page?a=1", &[], b"", load.habits, None).unwrap();
    load.traffic = [Request { lengths: BodyLengths { least: 200, most: 800 }, ..request }].into();
    let result = load_result(&load, "lengths");
    counted_as(&result, &[("ok", REQUESTS)], "lengths");
    assert_eq!(result.unusual.answers, 8, "4 of {REQUESTS} are long, 4 are short");
    let first = result.unusual.first.expect("an example");
    assert_eq!((first.request.as_str(), first.body_bytes), ("GET /page?a=1", 900));
    assert!(first.at <= result.lasted);
}

/// Rules are counted separately, and a load with more rules than can be counted is refused.
#[test]
fn more_rules_than_can_be_counted_are_refused() {
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let mut load = load(address(&server), Kind::Closed, ConnectionHabit::KeepAlive, LONG);
    load.check = Check { rules: rules(&["size > 0"; 33]), ..Check::default() };
    let error = InProcess.run(&load, &Stop::default(), &mut Seconds::default()).unwrap_err();
    assert_eq!(error.to_string(), "33 checks, 32 is the most");
}
