//! Answers in a table, each with the end that the RFCs demand.

use Next::{Close, KeepOpen};
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_model::time::Nanos;

use super::{HEAD_BYTES_MAX, Head, Http1, INTERIM_MAX, SharedParsing};
use crate::check::Failed;
use crate::protocol::AnswerEnd::{CutShort, HeadTooLarge, Malformed};
use crate::protocol::{Answer, AnswerEnd, Checked, Next, Protocol, Quirk, RequestId};
use crate::spec::Check;
use stampede_traffic::{AnswerShape, Request};

const KEPT: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
const KEPT_10: Habits = Habits { version: HttpVersion::Http10, ..KEPT };
const PER_REQUEST: Habits = Habits { connection: ConnectionHabit::PerRequest, ..KEPT };

fn request(answer: AnswerShape) -> Request {
    let bytes = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    Request { bytes, answer, ..Request::default() }
}

fn asks(body: &[u8]) -> Check {
    Check { body_contains: body.to_vec(), ..Check::default() }
}

/// A connection with request 7 in flight.
fn waiting(check: &Check, habits: Habits, shape: AnswerShape) -> Http1 {
    let mut http = Http1::new(check, habits);
    let mut out = Vec::new();
    http.start(RequestId(7), &request(shape), &mut out);
    assert_eq!(out, request(shape).bytes);
    http
}

/// The one answer to request 7, and what happens to the connection; `None` while it is incomplete.
fn answer(http: &mut Http1, bytes: &[u8]) -> Option<(Answer, Next)> {
    let mut answers = Vec::new();
    http.received(bytes, Nanos(5), &mut |answer| answers.push(answer));
    assert!(answers.len() <= 1);
    answers.pop().map(|answer| (answer, http.after_answer()))
}

fn end_with(habits: Habits, shape: AnswerShape, bytes: &str) -> Option<(AnswerEnd, Next)> {
    let mut http = waiting(&Check::default(), habits, shape);
    answer(&mut http, bytes.as_bytes()).map(|(answer, next)| (answer.end, next))
}

fn end(bytes: &str) -> Option<(AnswerEnd, Next)> {
    end_with(KEPT, AnswerShape::ByHeaders, bytes)
}

fn end_at_close(bytes: &str) -> (AnswerEnd, Next) {
    let mut http = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    assert_eq!(answer(&mut http, bytes.as_bytes()), None, "{bytes:?}");
    let mut answers = Vec::new();
    http.peer_closed(Nanos(6), &mut |answer| answers.push(answer));
    assert_eq!(answers.len(), 1, "{bytes:?}");
    (answers[0].end, http.after_answer())
}

fn whole(status: u16) -> AnswerEnd {
    AnswerEnd::Whole { status, check: Checked::Right }
}

#[test]
fn whole_answers_end_where_their_framing_says() {
    let table = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, KeepOpen),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, KeepOpen),
        ("HTTP/1.1 200\r\ncontent-LENGTH:2\r\n\r\nok", 200, KeepOpen),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, KeepOpen),
        ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno", 502, KeepOpen),
        ("HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n", 999, KeepOpen),
        ("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 302, KeepOpen),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, KeepOpen),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, KeepOpen),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, KeepOpen),
        // Content-Length more than once: equal numbers count as one.
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 02\r\n\r\nok", 200, KeepOpen),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", 200, KeepOpen),
        // Connection.
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 200, Close),
        ("HTTP/1.1 200 OK\r\nConnection: Foo , CLOSE\r\nContent-Length: 0\r\n\r\n", 200, Close),
        (
            "HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\n\
             Content-Length: 0\r\n\r\n",
            200,
            Close,
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, Close),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", 200, KeepOpen),
        // Interim answers.
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 204, KeepOpen),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\r\n\
             HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            200,
            KeepOpen,
        ),
    ];
    for (bytes, status, next) in table {
        assert_eq!(end(bytes), Some((whole(status), next)), "{bytes:?}");
    }
}

#[test]
fn chunked_answers_end_after_their_trailers() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bodies = [
        "0\r\n\r\n",
        "2\r\nok\r\n0\r\n\r\n",
        "0002\r\nok\r\n000\r\n\r\n",
        "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n",
        "2;name=value;\"quoted\"\r\nok\r\n0;last\r\n\r\n",
        "2 ; spaced\r\nok\r\n0\r\n\r\n",
        "2\r\nok\r\n0\r\nX-Sum: 1\r\nX-Empty:\r\n\r\n",
    ];
    for body in bodies {
        assert_eq!(end(&format!("{head}{body}")), Some((whole(200), KeepOpen)), "{body:?}");
    }
    // Chunked wins over any length, and the connection ends (RFC 9112 section 6.3).
    for length in ["2", "5", "x"] {
        let both = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nTransfer-Encoding: gzip, Chunked\r\n\
             \r\n2\r\nok\r\n0\r\n\r\n"
        );
        assert_eq!(end(&both), Some((whole(200), Close)), "{length}");
    }
    let old = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(end(&format!("{old}0\r\n\r\n")), Some((whole(200), Close)));
}

#[test]
fn bad_chunks_are_malformed() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bodies = [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "+5\r\nhello\r\n",
        "0x2\r\nok\r\n",
        " 2\r\nok\r\n",
        "2\nok\r\n",
        "2 2\r\n",
        "2\r\nokay\r\n",
        "2\r\nok0\r\n\r\n",
        "2\r\nok\r\n\r\n",
        "2;a\nb\r\n",
        "2;\u{1}\r\n",
        "2\rok",
        "10000000000000000\r\n",
        "fffffffffffffffff\r\n",
        "0\r\n\r\r",
        "0\r\nname: va\0lue\r\n",
        "0\r\nno\0colon\r\n",
        "0\r\nname: value\rmore",
    ];
    for body in bodies {
        assert_eq!(end(&format!("{head}{body}")), Some((Malformed, Close)), "{body:?}");
    }
    // The largest size that fits into 64 bits is valid; nothing is added to it.
    assert_eq!(end(&format!("{head}ffffffffffffffff\r\nok")), None);
}

#[test]
fn contradictions_and_garbage_are_malformed() {
    let table = [
        "garbage",
        "\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "\r\ngarbage",
        "HTTP/1.1 200 OK\r\nName: a\0b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno\0colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nName: a\rb\r\n\r\n",
        "HTTP/1.1 20 OK\r\nFolded: a\r\n b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length : 2\r\nContent-Length: 3\r\n\r\nok",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 000 Zero\r\n\r\n",
        "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5.0\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2,\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    ];
    for bytes in table {
        assert_eq!(end(bytes), Some((Malformed, Close)), "{bytes:?}");
    }
}

/// The answer is whole, and this is noted about it.
fn is_noted(bytes: &str, odd: Quirk, next: Next) {
    let mut http = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    let (answer, then) = answer(&mut http, bytes.as_bytes()).expect(bytes);
    assert!(matches!(answer.end, AnswerEnd::Whole { .. }), "{bytes:?}: {answer:?}");
    assert_eq!((answer.odd, then), (odd, next), "{bytes:?}");
    assert_eq!(answer.bytes, bytes.len() as u64, "{bytes:?}");
}

/// Odd lines are read as browsers read them. They may also say where a body ends.
#[test]
fn odd_header_lines_are_accepted_and_noted() {
    for (lines, odd, next) in [
        ("X: a\r\n b\r\nContent-Length: 2\r\n", Quirk::FOLDED, KeepOpen),
        ("X: a\r\n\tb\r\n  c\r\nContent-Length: 2\r\n", Quirk::FOLDED, KeepOpen),
        ("X: a\n b\nContent-Length: 2\n", Quirk::FOLDED.union(Quirk::BARE_LF), KeepOpen),
        ("X: a\nContent-Length: 2\r\n", Quirk::BARE_LF, KeepOpen),
        ("Content-Length:\r\n 2\r\n", Quirk::FOLDED, KeepOpen),
        ("Content-Length : 2\r\n", Quirk::SPACED, KeepOpen),
        ("no colon\r\nContent-Length: 2\r\n", Quirk::IGNORED, KeepOpen),
        ("Content-Length 9\r\nContent-Length: 2\r\n", Quirk::IGNORED, KeepOpen),
        ("A B: c\r\n(: d\r\nContent-Length: 2\r\n", Quirk::IGNORED, KeepOpen),
        ("Connection:\r\n close\r\nContent-Length: 2\r\n", Quirk::FOLDED, Close),
        ("X: \u{fc}\u{1}\r\nContent-Length: 2\r\n", Quirk::default(), KeepOpen),
        ("Transfer-Encoding: identity\r\nContent-Length: 2\r\n", Quirk::IDENTITY, KeepOpen),
        ("Content-Length: 2\r\nContent-Length: 02\r\n", Quirk::REPEATED, KeepOpen),
        ("Content-Length: 2, 2\r\n", Quirk::REPEATED, KeepOpen),
    ] {
        is_noted(&format!("HTTP/1.1 200 OK\r\n{lines}\r\nok"), odd, next);
    }
    let empty_and_more = Quirk::EMPTY.union(Quirk::SPACED).union(Quirk::BARE_LF);
    for (head, odd) in [
        ("\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", Quirk::EMPTY),
        ("\n\r\nHTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\n", empty_and_more),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\n", Quirk::BARE_LF),
        ("HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\n", Quirk::WIDE),
        ("HTTP/1.1   200\r\nContent-Length: 2\r\n\r\n", Quirk::WIDE),
        ("HTTP/1.1 200  OK\r\nContent-Length: 2\r\n\r\n", Quirk::default()),
        (
            "HTTP/1.1 103 Early\r\nLink : a\r\n\r\nHTTP/1.1 200\r\nContent-Length: 2\r\n\r\n",
            Quirk::SPACED,
        ),
    ] {
        is_noted(&format!("{head}ok"), odd, KeepOpen);
    }
}

#[test]
fn odd_lines_around_chunks_are_accepted_and_noted() {
    for (coding, trailers, odd) in [
        (" : chunked", "\r\n", Quirk::SPACED),
        (": gzip,\r\n chunked", "\r\n", Quirk::FOLDED),
        (": chunked", "A: b\r\n c\r\n\r\n", Quirk::FOLDED),
        (": chunked", "A : b\r\n\r\n", Quirk::SPACED),
        (": chunked", "no colon\r\n\r\n", Quirk::IGNORED),
        (": chunked", ": no name\r\n\r\n", Quirk::IGNORED),
        (": chunked", "A: b\n\r\n", Quirk::BARE_LF),
        (": chunked", "A: b\r\n\n", Quirk::BARE_LF),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding{coding}\r\n\r\n");
        is_noted(&format!("{head}2\r\nok\r\n0\r\n{trailers}"), odd, KeepOpen);
    }
}

#[test]
fn quirks_of_one_answer_are_not_reported_for_the_next() {
    let mut http = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    for (bytes, odd) in [
        ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", Quirk::FOLDED),
        ("HTTP/1.1 200 OK\r\nX: a b\r\nContent-Length: 0\r\n\r\n", Quirk::default()),
    ] {
        assert_eq!(answer(&mut http, bytes.as_bytes()).unwrap().0.odd, odd);
        http.start(RequestId(8), &request(AnswerShape::ByHeaders), &mut Vec::new());
    }
}

#[test]
fn heads_with_quirks_have_limits_too() {
    let folds = format!("HTTP/1.1 200 OK\r\nX: a\r\n{}\r\n", " b\r\n".repeat(300));
    let ignored = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a\n".repeat(300));
    for bytes in [folds, ignored] {
        assert_eq!(end(&bytes), Some((HeadTooLarge, Close)), "{bytes:.40}");
    }
}

#[test]
fn garbage_is_rejected_at_its_first_byte_without_a_line_end() {
    for (bytes, told_after) in [("SSH-2.0", 1), ("HTTP/2", 6), ("HTTX", 4)] {
        let mut http = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
        let (answer, next) = answer(&mut http, bytes.as_bytes()).unwrap();
        assert_eq!((answer.end, answer.bytes, next), (Malformed, told_after, Close), "{bytes}");
    }
}

#[test]
fn a_body_without_framing_ends_with_the_connection() {
    let table = [
        ("HTTP/1.1 200 OK\r\n\r\nall up to the close", whole(200)),
        ("HTTP/1.0 200 OK\r\n\r\n", whole(200)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", whole(200)),
        ("", CutShort),
        ("HTTP/1.1 20", CutShort),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", CutShort),
        ("HTTP/1.1 100 Continue\r\n\r\n", CutShort),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", CutShort),
        ("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx", CutShort),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", CutShort),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: b\r\n", CutShort),
    ];
    for (bytes, expected) in table {
        assert_eq!(end_at_close(bytes), (expected, Close), "{bytes:?}");
    }
}

#[test]
fn an_answer_to_head_has_no_body_and_body_rules_do_not_apply() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    assert_eq!(end_with(KEPT, AnswerShape::NoBody, bytes), Some((whole(200), KeepOpen)));
    let bytes = "HTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(end_with(KEPT, AnswerShape::NoBody, bytes), Some((whole(200), KeepOpen)));
    let mut http = waiting(&asks(b"x"), KEPT, AnswerShape::NoBody);
    assert_eq!(answer(&mut http, bytes.as_bytes()).unwrap().0.end, whole(200));
}

#[test]
fn a_connection_is_kept_only_if_client_and_server_agree() {
    let plain = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let kept = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n";
    for (habits, bytes, next) in [
        (KEPT, plain, KeepOpen),
        (PER_REQUEST, plain, Close),
        (PER_REQUEST, kept, Close),
        (KEPT_10, plain, Close),
        (KEPT_10, kept, KeepOpen),
    ] {
        let ended = end_with(habits, AnswerShape::ByHeaders, bytes);
        assert_eq!(ended, Some((whole(200), next)), "{habits:?} {bytes:?}");
    }
}

/// It does not matter either whether the server repeats it.
#[test]
fn a_request_with_connection_close_is_the_last_on_its_connection() {
    let mut http = Http1::new(&Check::default(), KEPT);
    let bytes = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n";
    let mut ends = |closes| {
        let request = Request { closes, ..request(AnswerShape::ByHeaders) };
        http.start(RequestId(7), &request, &mut Vec::new());
        answer(&mut http, bytes.as_bytes()).unwrap().1
    };
    assert_eq!([ends(false), ends(false), ends(true)], [KeepOpen, KeepOpen, Close]);
    http.reset();
    http.start(RequestId(8), &request(AnswerShape::ByHeaders), &mut Vec::new());
    assert_eq!(answer(&mut http, bytes.as_bytes()).unwrap().1, KeepOpen, "it says nothing again");
}

#[test]
fn only_an_open_connection_accepts_the_next_request() {
    let mut http = Http1::new(&Check::default(), KEPT);
    let mut out = Vec::new();
    for (id, bytes, room) in [
        (1, "HTTP/1.1 204 No Content\r\n\r\n", true),
        (2, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true),
        (3, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false),
    ] {
        assert!(http.room());
        http.start(RequestId(id), &request(AnswerShape::ByHeaders), &mut out);
        assert!(!http.room() && http.first_byte(RequestId(id)).is_none());
        let (answer, _) = answer(&mut http, bytes.as_bytes()).unwrap();
        assert_eq!((answer.id, answer.bytes), (RequestId(id), bytes.len() as u64));
        assert!(matches!(answer.end, AnswerEnd::Whole { .. }));
        assert_eq!(http.room(), room);
    }
    http.reset();
    assert!(http.room());
    assert_eq!(http.after_answer(), KeepOpen);
}

#[test]
fn unsolicited_bytes_end_the_connection_but_not_the_answer() {
    let mut http = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more";
    let (whole_answer, next) = answer(&mut http, bytes).unwrap();
    assert_eq!((whole_answer.end, whole_answer.bytes, next), (whole(200), 40, Close));
    assert!(!http.room());
    assert_eq!([http.take_aside(), http.take_aside()].map(|aside| aside.surplus_answers), [1, 0]);

    let mut idle = Http1::new(&Check::default(), KEPT);
    assert_eq!(answer(&mut idle, b"HTTP/1.1 408 Request Timeout\r\n\r\n"), None);
    assert_eq!((idle.room(), idle.after_answer()), (false, Close));
    idle.reset();
    assert!(idle.room());
}

/// Bytes beyond an answer's end, in reads of their own: while the connection is idle, and in place
/// of the next answer.
#[test]
fn surplus_bytes_belong_to_the_answer_before_however_late_they_come() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let answered = || {
        let mut http = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
        assert_eq!(answer(&mut http, ok.as_bytes()).unwrap().0.end, whole(200));
        http
    };
    // A head that nobody asked for says why the server will close.
    for (bytes, surplus) in [("more", 1), ("\r\n", 1), ("HTTP/1.1 408 R\r\n\r\n", 0), ("HT", 0)] {
        let mut http = answered();
        assert_eq!(answer(&mut http, bytes.as_bytes()), None);
        assert_eq!((http.take_aside().surplus_answers, http.after_answer()), (surplus, Close));
    }
    for (bytes, end, surplus) in [
        ("more", AnswerEnd::Displaced, 1),
        ("\r\nmore", AnswerEnd::Displaced, 1),
        ("HTTP/2", AnswerEnd::Displaced, 1),
        ("HTTP/1.1 abc\r\n\r\n", Malformed, 0),
        ("HTTP/1.1 100 C\r\n\r\nmore", Malformed, 0),
    ] {
        for piece in [1, 3, 100] {
            let mut http = answered();
            http.start(RequestId(8), &request(AnswerShape::ByHeaders), &mut Vec::new());
            let pieces = bytes.as_bytes().chunks(piece);
            let ended: Vec<Answer> =
                pieces.filter_map(|piece| answer(&mut http, piece)).map(|(it, _)| it).collect();
            let [answer] = ended[..] else { panic!("{ended:?}") };
            assert_eq!((answer.id, answer.end), (RequestId(8), end), "{bytes:?} by {piece}");
            assert_eq!(answer.bytes == 0, end == AnswerEnd::Displaced, "{bytes:?} by {piece}");
            assert_eq!(http.take_aside().surplus_answers, surplus, "{bytes:?} by {piece}");
            assert_eq!(http.after_answer(), Close);
        }
    }
    // On a new connection the same bytes are no answer at all.
    let mut http = answered();
    http.reset();
    http.start(RequestId(8), &request(AnswerShape::ByHeaders), &mut Vec::new());
    assert_eq!(answer(&mut http, b"more").unwrap().0.end, Malformed);
    assert_eq!(http.take_aside().surplus_answers, 0);
}

#[test]
fn a_close_between_answers_fails_no_request() {
    let mut http = Http1::new(&Check::default(), KEPT);
    http.peer_closed(Nanos(1), &mut |answer| panic!("no request was under way: {answer:?}"));
    assert_eq!((http.room(), http.after_answer()), (false, Close));
}

#[test]
fn first_byte_is_that_of_the_first_interim_answer() {
    let mut http = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    let mut answers = Vec::new();
    http.received(b"", Nanos(1), &mut |answer| answers.push(answer));
    assert_eq!(http.first_byte(RequestId(7)), None);
    http.received(b"HTTP/1.1 100 C", Nanos(2), &mut |answer| answers.push(answer));
    assert_eq!(http.first_byte(RequestId(7)), Some(Nanos(2)));
    http.received(b"ontinue\r\n\r\n", Nanos(3), &mut |answer| answers.push(answer));
    http.received(b"HTTP/1.1 204 N\r\n\r\n", Nanos(4), &mut |answer| answers.push(answer));
    let (id, first_byte, end) = (RequestId(7), Nanos(2), whole(204));
    let expected = Answer { id, first_byte, end, bytes: 43, body_bytes: 0, odd: Quirk::default() };
    assert_eq!(answers, [expected]);
}

#[test]
fn the_check_inspects_only_bodies() {
    let ends = |check: &[u8], bytes: &str| {
        let mut http = waiting(&asks(check), KEPT, AnswerShape::ByHeaders);
        match answer(&mut http, bytes.as_bytes()).unwrap().0.end {
            AnswerEnd::Whole { check, .. } => check,
            other => panic!("{other:?}"),
        }
    };
    let plain = "HTTP/1.1 200 needle\r\nX: needle\r\nContent-Length: 6\r\n\r\nneedle";
    assert_eq!(ends(b"needle", plain), Checked::Right);
    assert_eq!(ends(b"needles", plain), Checked::Wrong(Failed::CONTAINS));
    let torn = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                3;x\r\nnee\r\n3\r\ndle\r\n0\r\nX: y\r\n\r\n";
    assert_eq!(ends(b"needle", torn), Checked::Right);
    assert_eq!(ends(b"3", torn), Checked::Wrong(Failed::CONTAINS));
    assert_eq!(ends(b"y", torn), Checked::Wrong(Failed::CONTAINS));
    assert_eq!(ends(b"needle", "HTTP/1.1 204 needle\r\n\r\n"), Checked::Wrong(Failed::CONTAINS));
}

#[test]
fn a_match_in_one_answer_does_not_help_the_next() {
    let mut http = waiting(&asks(b"ok"), KEPT, AnswerShape::ByHeaders);
    let right = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    assert_eq!(answer(&mut http, right.as_bytes()).unwrap().0.end, whole(200));
    http.start(RequestId(8), &request(AnswerShape::ByHeaders), &mut Vec::new());
    let wrong = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno";
    let expected = AnswerEnd::Whole { status: 200, check: Checked::Wrong(Failed::CONTAINS) };
    assert_eq!(answer(&mut http, wrong.as_bytes()).unwrap().0.end, expected);
}

#[test]
fn endless_heads_and_chunks_hit_a_limit() {
    let filler = "x".repeat(HEAD_BYTES_MAX);
    let many = "A: b\r\n".repeat(300);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for bytes in [
        format!("HTTP/1.1 200 {filler}"),
        format!("HTTP/1.1 200 OK\r\nX: {filler}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n{many}\r\n"),
        format!("{chunked}2;{filler}"),
        format!("{chunked}{}", "0".repeat(HEAD_BYTES_MAX + 1)),
        format!("{chunked}0\r\n{}", "Name: value\r\n".repeat(HEAD_BYTES_MAX / 10)),
    ] {
        assert_eq!(end(&bytes), Some((HeadTooLarge, Close)), "{:.80}", bytes);
    }
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let last = "HTTP/1.1 204 No Content\r\n\r\n";
    let allowed = interim.repeat(INTERIM_MAX as usize);
    assert_eq!(end(&format!("{allowed}{last}")), Some((whole(204), KeepOpen)));
    assert_eq!(end(&format!("{allowed}{interim}")), Some((Malformed, Close)));
}

#[test]
fn a_head_of_exactly_the_limit_is_accepted() {
    let frame = "HTTP/1.1 204 No Content\r\nX: \r\n\r\n".len();
    for (bytes, expected) in [(HEAD_BYTES_MAX, whole(204)), (HEAD_BYTES_MAX + 1, HeadTooLarge)] {
        let filler = "x".repeat(bytes - frame);
        let head = format!("HTTP/1.1 204 No Content\r\nX: {filler}\r\n\r\n");
        assert_eq!(head.len(), bytes);
        assert_eq!(end(&head).unwrap().0, expected);
    }
}

/// A head that begins with the same bytes as the last one is not parsed again: results must not
/// differ.
#[test]
fn an_answer_does_not_depend_on_the_one_before() {
    let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno, more",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok!",
        "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
        "HTTP/1.1 200 OK\n\nuntil the end",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/2 is another",
    ];
    let took = |common: &SharedParsing<Head>, bytes: &str, limit| {
        let mut http = Http1::with_shared(common, KEPT, limit);
        http.start(RequestId(7), &request(AnswerShape::ByHeaders), &mut Vec::new());
        answer(&mut http, bytes.as_bytes())
    };
    for (before, after) in answers.iter().flat_map(|one| answers.map(|other| (one, other))) {
        for limit in [HEAD_BYTES_MAX, 64] {
            let common = SharedParsing::new(&Check::default());
            took(&common, before, HEAD_BYTES_MAX);
            let alone = took(&SharedParsing::new(&Check::default()), after, limit);
            assert_eq!(took(&common, after, limit), alone, "{before:?}, then {after:?}");
        }
    }
}

#[test]
fn a_cancelled_request_ends_its_connection_and_what_came_is_still_known() {
    let mut http = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    assert_eq!(answer(&mut http, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel"), None);
    let mut out = Vec::new();
    assert_eq!((http.cancel(RequestId(7), &mut out), out.len()), (Close, 0));
    assert_eq!(answer(&mut http, b"lo"), None, "nobody waits for it");
    assert_eq!((http.room(), http.after_answer()), (false, Close));
    assert_eq!(http.first_byte(RequestId(7)), Some(Nanos(5)));
    assert_eq!(http.excerpt(RequestId(7), None).body, b"hel");
    http.reset();
    assert!(http.room() && http.first_byte(RequestId(7)).is_none());
}
