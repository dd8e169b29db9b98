//! Bad answers as a table, and the loads that receive them.

#[path = "../ways/mod.rs"]
mod ways;

use std::time::Duration;

use stampede_known_server::{Address as Known, Answer, ConnectionAction, KnownServer, Writing};
use stampede_load::Load;
use stampede_load::spec::Check;
use stampede_model::load::{Address, ConnectionHabit, Habits, HttpVersion};
use stampede_model::time::Nanos;
use stampede_traffic::Request;
pub use ways::{Kind, LOAD_KINDS, LONG, SHORT};
use ways::{engine, model};

/// Requests of each load.
pub const REQUESTS: u64 = 20;
/// A bad answer (or an odd and correct one), and what each request that gets it counts as.
pub struct Case {
    pub name: &'static str,
    pub answer: Answer,
    pub counts_as: &'static str,
}

fn case(name: &'static str, answer: Answer, counts_as: &'static str) -> Case {
    Case { name, answer, counts_as }
}

/// Answers that are odd but whole.
pub fn whole() -> Vec<Case> {
    let body = "hello, here is the body";
    let torn = Writing::Torn { bytes: 1, gap: Duration::from_micros(20) };
    let trailers: &[(&str, &str)] = &[("X-Sum", "1"), ("X-More", "")];
    vec![
        case("plain", Answer::new(200, body), "ok"),
        case("empty", Answer::new(204, ""), "check"),
        case("another body", Answer::new(200, "an error page"), "check"),
        case("chunked with trailers", Answer::new(200, body).chunked(3, trailers), "ok"),
        case("up to the close", Answer::new(200, body).unframed(), "ok"),
        case(
            "HTTP/1.0 without a length",
            Answer::raw("HTTP/1.0 200 OK\r\n\r\nhello").then(ConnectionAction::Close),
            "ok",
        ),
        case(
            "closed, and said so",
            Answer::new(200, body).then(ConnectionAction::AnnouncedClose),
            "ok",
        ),
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
        case(
            "unavailable, and closed",
            Answer::new(503, body).then(ConnectionAction::AnnouncedClose),
            "http:503",
        ),
    ]
}

/// Answers that are not whole.
pub fn broken() -> Vec<Case> {
    let ok = || Answer::new(200, "hello, here is the body");
    vec![
        case("reset before the answer", Answer::none(ConnectionAction::Reset), "net:reset"),
        case("reset in the head", ok().cut_at(20).then(ConnectionAction::Reset), "net:reset"),
        case("reset in the body", ok().cut_at(50).then(ConnectionAction::Reset), "net:reset"),
        case(
            "reset in a chunk",
            ok().chunked(8, &[]).cut_at(70).then(ConnectionAction::Reset),
            "net:reset",
        ),
        case(
            "reset after 103",
            ok().after_interim(103).cut_at(45).then(ConnectionAction::Reset),
            "net:reset",
        ),
        case("closed before the answer", Answer::none(ConnectionAction::Close), "net:cut-short"),
        case("closed in the head", ok().cut_at(20).then(ConnectionAction::Close), "net:cut-short"),
        case("closed in the body", ok().cut_at(50).then(ConnectionAction::Close), "net:cut-short"),
        case(
            "shorter than announced",
            ok().announcing(99).then(ConnectionAction::Close),
            "net:cut-short",
        ),
        case(
            "closed in a chunk",
            ok().chunked(8, &[]).cut_at(70).then(ConnectionAction::Close),
            "net:cut-short",
        ),
        case(
            "closed after 103",
            ok().after_interim(103).cut_at(45).then(ConnectionAction::Close),
            "net:cut-short",
        ),
        case("garbage", Answer::raw("\0\u{1}garbage"), "net:malformed"),
        case(
            "garbage, held",
            Answer::raw("220 smtp ready\r\n").then(ConnectionAction::Hold),
            "net:malformed",
        ),
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

/// Answers whose head, or something like a head, has no end: they fail at the limit of one.
pub fn oversized() -> Vec<Case> {
    let ok = || Answer::new(200, "hello, here is the body");
    vec![
        case("huge head", ok().field("X", &"x".repeat(200_000)), "net:head-too-large"),
        case(
            "endless head",
            Answer::raw("HTTP/1.1 200 ".to_owned() + &"x".repeat(99_999)),
            "net:head-too-large",
        ),
        case(
            "endless headers",
            Answer::raw("HTTP/1.1 200 OK\r\n").forever("X-More: and more\r\n"),
            "net:head-too-large",
        ),
        case(
            "endless header",
            Answer::raw("HTTP/1.1 200 OK\r\nX: ").forever("x"),
            "net:head-too-large",
        ),
        case(
            "endless chunk extension",
            Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;").forever("x"),
            "net:head-too-large",
        ),
        case(
            "endless trailers",
            Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
                .forever("X-More: and more\r\n"),
            "net:head-too-large",
        ),
        case(
            "endless interim answers",
            Answer::raw("").forever("HTTP/1.1 103 E\r\n\r\n"),
            "net:malformed",
        ),
    ]
}

/// Answers that never end.
pub fn endless() -> Vec<Case> {
    let ok = || Answer::new(200, "hello, here is the body");
    let slow = Writing::Torn { bytes: 1, gap: Duration::from_millis(40) };
    vec![
        case("too slow, byte by byte", ok().written(slow), "net:timeout"),
        case(
            "endless body",
            Answer::raw("HTTP/1.1 200 OK\r\n\r\n").forever("hello"),
            "net:timeout",
        ),
        case("endless announced body", ok().announcing(u64::MAX).forever("hello"), "net:timeout"),
        case(
            "endless chunks",
            Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                .forever("5\r\nhello\r\n"),
            "net:timeout",
        ),
        case("never answered", Answer::none(ConnectionAction::Hold), "net:timeout"),
        case("held in the head", ok().cut_at(20).then(ConnectionAction::Hold), "net:timeout"),
        case("held in the body", ok().cut_at(50).then(ConnectionAction::Hold), "net:timeout"),
        case(
            "held after 103",
            ok().after_interim(103).cut_at(45).then(ConnectionAction::Hold),
            "net:timeout",
        ),
    ]
}

pub fn load(target: Address, kind: Kind, connection: ConnectionHabit, timeout: Nanos) -> Load {
    let get = Request::encoded(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    Load {
        habits: Habits { version: HttpVersion::Http11, connection },
        timeout,
        check: Check { body_contains: b"hello".to_vec(), ..Check::default() },
        engine: engine(),
        ..Load::new(target, model(kind, timeout, REQUESTS, 4), [get])
    }
}

pub fn address(server: &KnownServer) -> Address {
    match server.address() {
        Known::Tcp(address) => Address::Tcp(*address),
        Known::Unix(path) => Address::Unix(path.clone()),
    }
}
