//! Answers in a table, each with the end that the specifications demand.

use stampede_model::load::ConnectionHabit;
use stampede_model::time::Nanos;

use super::FastCgi;
use super::record::Kind::{End, Stderr, Stdout};
use super::record::tests::record;
use crate::check::{Failed, Rule};
use crate::protocol::AnswerEnd::{CutShort, HeadTooLarge, Malformed, Rejected};
use crate::protocol::{Answer, AnswerEnd, Aside, Checked, Excerpt, Next, Protocol, RequestId};
use crate::spec::Check;
use stampede_traffic::{AnswerShape, Request};

pub(super) const KEPT: ConnectionHabit = ConnectionHabit::KeepAlive;
const PER_REQUEST: ConnectionHabit = ConnectionHabit::PerRequest;

pub(super) fn request(answer: AnswerShape) -> Request {
    Request { bytes: b"records".to_vec(), answer, ..Request::default() }
}

pub(super) fn asks(body: &[u8]) -> Check {
    Check { body_contains: body.to_vec(), ..Check::default() }
}

/// The record that ends a request in order.
pub(super) fn end() -> Vec<u8> {
    ended(0, 0)
}

fn ended(app_status: u8, protocol_status: u8) -> Vec<u8> {
    record(End, &[0, 0, 0, app_status, protocol_status, 0, 0, 0], 0)
}

fn out(text: &str) -> Vec<u8> {
    record(Stdout, text.as_bytes(), (8 - text.len() % 8) as u8 % 8)
}

/// A connection with request 7 in flight.
pub(super) fn waiting(check: &Check, habit: ConnectionHabit, shape: AnswerShape) -> FastCgi {
    let mut fast = FastCgi::new(check, habit);
    let mut out = Vec::new();
    fast.start(RequestId(7), &request(shape), &mut out);
    assert_eq!(out, b"records");
    fast
}

fn answer(fast: &mut FastCgi, records: &[Vec<u8>]) -> Option<Answer> {
    let mut answers = Vec::new();
    fast.received(&records.concat(), Nanos(5), &mut |answer| answers.push(answer));
    assert!(answers.len() <= 1);
    answers.pop()
}

fn end_with(shape: AnswerShape, records: &[Vec<u8>]) -> Option<AnswerEnd> {
    let mut fast = waiting(&Check::default(), KEPT, shape);
    let answer = answer(&mut fast, records)?;
    let whole = matches!(answer.end, AnswerEnd::Whole { .. });
    assert_eq!(fast.after_answer(), if whole { Next::KeepOpen } else { Next::Close });
    Some(answer.end)
}

fn end_of(records: &[Vec<u8>]) -> Option<AnswerEnd> {
    end_with(AnswerShape::ByHeaders, records)
}

fn whole(status: u16) -> Option<AnswerEnd> {
    Some(AnswerEnd::Whole { status, check: Checked::Right })
}

#[test]
fn the_status_comes_from_the_cgi_head() {
    let table = [
        ("Content-Type: text/html\r\n\r\nhello", 200),
        ("Status: 404 Not Found\r\nContent-Type: text/html\r\n\r\nno", 404),
        ("Status: 500\r\n\r\n", 500),
        ("status:503\tBusy\n\nbare line feeds", 503),
        ("Location: /elsewhere\r\n\r\n", 302),
        ("Status: 301 Moved\r\nLocation: /elsewhere\r\n\r\n", 301),
        ("Status: 200 OK\r\nStatus: 200 Fine\r\n\r\n", 200),
        ("\r\nno field at all", 200),
        ("Content-Length: 5\r\n\r\nhello", 200),
        ("Content-Length: 5\r\n\r\nhello and more, which is cut off", 200),
        ("Status: 304 Not Modified\r\nContent-Length: 500\r\n\r\n", 304),
        ("Folded: a\r\n b\r\nStatus: 404\r\n\r\n", 404),
        ("Status:\r\n 404\r\n\r\n", 404),
        ("Status : 404 No\r\n\r\n", 404),
        ("PHP Warning  in line 1\nStatus: 404 No\n\n", 404),
    ];
    for (text, status) in table {
        assert_eq!(end_of(&[out(text), end()]), whole(status), "{text:?}");
    }
}

#[test]
fn an_invalid_cgi_head_is_malformed() {
    let table = [
        "garbage\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        "Status: abc\r\n\r\n",
        "Status: 20\r\n\r\n",
        "Status: 2000\r\n\r\n",
        "Status: 103 Early Hints\r\n\r\n",
        "Status: 200 OK\r\nStatus: 500 No\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "Status : abc\r\n\r\n",
        "A: b\r\n c\r\nStatus: abc\r\n\r\n",
        "A: b\0c\r\n\r\n",
    ];
    for text in table {
        assert_eq!(end_of(&[out(text), end()]), Some(Malformed), "{text:?}");
    }
    // A request that ends without a head, and one that ends inside it.
    assert_eq!(end_of(&[end()]), Some(Malformed));
    assert_eq!(end_of(&[out("Status: 200 OK\r\n"), end()]), Some(Malformed));
}

#[test]
fn a_body_shorter_than_announced_is_cut_short() {
    let short = || [out("Content-Length: 6\r\n\r\nhello"), end()];
    assert_eq!(end_of(&short()), Some(CutShort));
    assert_eq!(end_with(AnswerShape::NoBody, &short()), whole(200));
}

#[test]
fn an_answer_is_assembled_from_records_of_all_kinds() {
    let mut fast = waiting(&asks(b"hello"), KEPT, AnswerShape::ByHeaders);
    let records = [
        record(Stderr, b"PHP Warning: something", 2),
        out("Content-Type: x\r\n\r"),
        record(Stdout, b"\nhe", 255),
        record(Stderr, b"more", 0),
        out("llo"),
        record(Stdout, b"", 0),
        record(Stderr, b"", 0),
        record(End, &[0; 8], 3),
    ];
    let length = records.concat().len() as u64;
    let answer = answer(&mut fast, &records).unwrap();
    assert_eq!((Some(answer.end), answer.id, answer.bytes), (whole(200), RequestId(7), length));
    let aside = Aside { surplus_answers: 0, stderr_bytes: 26 };
    assert_eq!((fast.take_aside(), fast.room()), (aside, true));
    assert_eq!(fast.take_aside(), Aside::default(), "it was taken");
}

#[test]
fn the_servers_end_record_decides_how_the_request_ended() {
    let head = || out("Content-Type: x\r\n\r\n");
    // The exit status of the app is no part of the answer.
    assert_eq!(end_of(&[head(), ended(255, 0)]), whole(200));
    for protocol_status in 1..=3 {
        assert_eq!(end_of(&[ended(0, protocol_status)]), Some(Rejected));
        assert_eq!(end_of(&[head(), ended(0, protocol_status)]), Some(Rejected));
    }
    assert_eq!(end_of(&[head(), ended(0, 4)]), Some(Malformed));
}

#[test]
fn forbidden_records_are_malformed() {
    let ended_stdout = [out("A: b\r\n\r\n"), record(Stdout, b"", 0), out("more"), end()];
    assert_eq!(end_of(&ended_stdout), Some(Malformed));
    for text in ["HTTP/1.1 400 Bad Request\r\n\r\n", "\x01\x0b\0\0\0\x08\0\0"] {
        assert_eq!(end_of(&[text.as_bytes().to_vec()]), Some(Malformed), "{text:?}");
    }
    let none = [out("A: b\r\n\r\n"), record(Stdout, b"", 0), record(Stdout, b"", 0), end()];
    assert_eq!(end_of(&none), whole(200), "an end that is said twice");
}

#[test]
fn a_close_before_the_end_record_is_cut_short() {
    for records in [vec![], vec![out("A: b\r\n")], vec![out("A: b\r\n\r\nbody")]] {
        let mut fast = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
        assert_eq!(answer(&mut fast, &records), None);
        let mut answers = Vec::new();
        fast.peer_closed(Nanos(6), &mut |answer| answers.push(answer.end));
        assert_eq!((answers, fast.after_answer()), (vec![CutShort], Next::Close));
    }
}

#[test]
fn the_check_inspects_only_bodies() {
    let checked = |shape, records: &[Vec<u8>]| {
        let mut fast = waiting(&asks(b"needle"), KEPT, shape);
        match answer(&mut fast, records).unwrap().end {
            AnswerEnd::Whole { check, .. } => check,
            other => panic!("{other:?}"),
        }
    };
    let by_headers = AnswerShape::ByHeaders;
    assert_eq!(
        checked(by_headers, &[out("A: needle\r\n\r\n"), end()]),
        Checked::Wrong(Failed::CONTAINS)
    );
    let torn = [out("A: b\r\n\r\nnee"), out("dle"), end()];
    assert_eq!(checked(by_headers, &torn), Checked::Right);
    let in_stderr = [out("A: b\r\n\r\n"), record(Stderr, b"needle", 0), end()];
    assert_eq!(checked(by_headers, &in_stderr), Checked::Wrong(Failed::CONTAINS));
    let cut_off = [out("Content-Length: 2\r\n\r\nneedle"), end()];
    assert_eq!(checked(by_headers, &cut_off), Checked::Wrong(Failed::CONTAINS));
    assert_eq!(checked(AnswerShape::NoBody, &[out("A: b\r\n\r\n"), end()]), Checked::Right);
}

#[test]
fn the_connection_habit_decides_whether_the_connection_is_kept() {
    let records = || [out("A: b\r\n\r\n"), end()];
    for (habit, next) in [(KEPT, Next::KeepOpen), (PER_REQUEST, Next::Close)] {
        let mut fast = waiting(&Check::default(), habit, AnswerShape::ByHeaders);
        assert!(!fast.room() && fast.first_byte(RequestId(7)).is_none());
        assert_eq!(answer(&mut fast, &records()).map(|answer| answer.end), whole(200));
        assert_eq!((fast.after_answer(), fast.room()), (next, next == Next::KeepOpen));
        fast.reset();
        assert!(fast.room());
    }
    // Bytes that no request waits for.
    let mut fast = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    let more = [out("A: b\r\n\r\n"), end(), vec![1]];
    assert_eq!(answer(&mut fast, &more).map(|answer| answer.end), whole(200));
    assert_eq!((fast.after_answer(), fast.room()), (Next::Close, false));
    assert_eq!(fast.take_aside().surplus_answers, 1);
    // They may also come later.
    let mut fast = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    assert_eq!(answer(&mut fast, &records()).map(|answer| answer.end), whole(200));
    assert_eq!(fast.take_aside().surplus_answers, 0);
    assert_eq!(answer(&mut fast, &[vec![1]]), None);
    assert_eq!((fast.take_aside().surplus_answers, fast.after_answer()), (1, Next::Close));
}

#[test]
fn an_endless_head_hits_a_limit() {
    let huge = format!("X: {}\r\n\r\n", "x".repeat(65_000));
    let records = [record(Stdout, huge.as_bytes(), 0), record(Stdout, huge.as_bytes(), 0)];
    assert_eq!(end_of(&[records[0].clone(), end()]), whole(200));
    let endless = [format!("X: {}", "x".repeat(60_000)), "x".repeat(60_000)];
    let endless = endless.map(|text| record(Stdout, text.as_bytes(), 0));
    assert_eq!(end_of(&endless), Some(HeadTooLarge));
    let many = out(&"A: b\r\n".repeat(300));
    assert_eq!(end_of(&[many]), Some(HeadTooLarge));
}

#[test]
fn rules_apply_to_a_cgi_answer_too() {
    let rules = ["header x-cache == HIT", "json $.ok == true", "size > 99"];
    let rules = rules.iter().map(|text| Rule::parse(text).unwrap()).collect();
    let check = Check { rules, ..Check::default() };
    let records = [
        out("X-Cache: HIT\r\nA: b\r\n\r\n{\"ok\":"),
        record(Stderr, b"PHP Warning", 5),
        out("false}"),
        end(),
    ];
    let mut fast = waiting(&check, KEPT, AnswerShape::ByHeaders);
    let failed = Failed(2);
    let whole = AnswerEnd::Whole { status: 200, check: Checked::Wrong(failed) };
    assert_eq!(answer(&mut fast, &records).unwrap().end, whole);
    let expected = Excerpt {
        status: Some(200),
        head: b"X-Cache: HIT\r\nA: b\r\n\r\n".to_vec(),
        body: b"{\"ok\":false}".to_vec(),
        found: "`$.ok` is `false`, not `true`".to_owned(),
    };
    assert_eq!(fast.excerpt(RequestId(7), Some(failed)), expected);
    for piece in [1, 7, 30] {
        let mut torn = waiting(&check, KEPT, AnswerShape::ByHeaders);
        let bytes = records.concat();
        bytes.chunks(piece).for_each(|bytes| torn.received(bytes, Nanos(1), &mut |_| {}));
        assert_eq!(torn.excerpt(RequestId(7), Some(failed)), expected, "{piece}");
    }
    // A missing header, and the first line is one, too.
    let mut fast = waiting(&check, KEPT, AnswerShape::ByHeaders);
    let without = [out("X-Cached: HIT\r\n\r\n{\"ok\":true}"), end()];
    let whole = AnswerEnd::Whole { status: 200, check: Checked::Wrong(Failed(1)) };
    assert_eq!(answer(&mut fast, &without).unwrap().end, whole);
}

#[test]
fn a_cancelled_request_ends_its_connection() {
    let mut fast = waiting(&Check::default(), KEPT, AnswerShape::ByHeaders);
    assert_eq!(answer(&mut fast, &[out("Status: 200\r\n\r\nhel")]), None);
    let mut sent = Vec::new();
    assert_eq!((fast.cancel(RequestId(7), &mut sent), sent.len()), (Next::Close, 0));
    assert_eq!(answer(&mut fast, &[out("lo"), end()]), None, "nobody waits for it");
    assert_eq!((fast.room(), fast.after_answer()), (false, Next::Close));
}
