//! Tests that the hot path of HTTP/1 does not allocate. It is a binary of its own, because the
//! counting allocator serves the whole program.

mod counting;

use counting::allocations_so_far;
use stampede_load::protocol::http1::Http1;
use stampede_load::protocol::{AnswerEnd, Checked, Protocol, RequestId};
use stampede_load::spec::{Check, Rule};
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_model::time::Nanos;
use stampede_traffic::Request;

#[test]
fn no_answer_allocates_once_the_buffers_exist() {
    assert_eq!(allocations(&[]), 0);
}

#[test]
fn no_rule_allocates_either() {
    let all = ["header server == x", "body contains \"he", "body ~ /l+o/", "size > 5", "time < 1s"];
    assert_eq!(allocations(&all), 0);
    // JSON values are not built, except for a name with a backslash in it.
    assert_eq!(allocations(&["json $.say == hello", "json $.n == 1"]), 0);
}

/// Allocations for a thousand answers, whole and split, after one of each kind has filled the
/// buffers.
fn allocations(rules: &[&str]) -> u64 {
    let check = Check {
        body_contains: b"hello".to_vec(),
        rules: rules.iter().map(|text| Rule::parse(text).unwrap()).collect(),
        ..Check::default()
    };
    let habits = Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
    let headers = [("X-A".to_owned(), "b".to_owned())];
    let request = Request::build("POST", "/a?b", &headers, b"body", habits, None).unwrap();
    let answers: [&[u8]; 2] = [
        b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 21\r\n\r\n{\"n\":1,\"say\":\"hello\"}",
        b"HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nServer: x\r\nTransfer-Encoding: chunked\r\n\
          \r\n12\r\n{\"n\":1.0,\"say\":\"he\r\n5\r\nllo\"}\r\n0\r\nA: b\r\n\r\n",
    ];
    let mut http = Http1::new(&check, habits);
    let mut out = Vec::new();
    let mut ended = 0;
    let mut fire = |piece: usize, answer: &[u8]| {
        out.clear();
        http.start(RequestId(1), &request, &mut out);
        for bytes in answer.chunks(piece) {
            http.received(bytes, Nanos(1), &mut |answer| {
                let right = AnswerEnd::Whole { status: 200, check: Checked::Right };
                assert_eq!(answer.end, right);
                ended += 1;
            });
        }
        http.reset();
    };
    answers.iter().for_each(|answer| fire(7, answer));
    let before = allocations_so_far();
    for _ in 0..500 {
        fire(4096, answers[0]);
        fire(7, answers[1]);
    }
    let allocations = allocations_so_far() - before;
    assert_eq!(ended, 1_002);
    drop(vec![0_u8; 1]);
    assert_eq!(allocations_so_far() - before, allocations + 1, "the counter counts");
    allocations
}
