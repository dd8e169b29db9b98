//! Tests that the hot path of FastCGI does not allocate. It is a binary of its own, because the
//! counting allocator serves the whole program.

mod counting;

use counting::allocations_so_far;
use stampede_load::protocol::fastcgi::{FastCgi, Script, request};
use stampede_load::protocol::{AnswerEnd, Checked, Protocol, RequestId};
use stampede_load::spec::Check;
use stampede_model::load::ConnectionHabit;
use stampede_model::time::Nanos;

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[1, kind, 0, 1, 0, content.len() as u8, 0, 0], content].concat()
}

/// A thousand answers, whole and split, after one of each kind has filled the buffers.
#[test]
fn no_answer_allocates_once_the_buffers_exist() {
    let check = Check { body_contains: b"hello".to_vec(), ..Check::default() };
    let habit = ConnectionHabit::KeepAlive;
    let script = Script::new("/a.php").with("APP_ENV", "prod");
    let headers = [("Cookie", "a=b"), ("X-A", "c"), ("cookie", "d=e")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = request(&script, "POST", "/a?b", &headers, b"body").unwrap();
    let answer = [
        record(7, b"PHP Notice"),
        record(6, b"Status: 200 OK\r\nContent-Type: text/html\r\n\r\nhel"),
        record(6, b"lo"),
        record(3, &[0; 8]),
    ]
    .concat();
    let mut fast = FastCgi::new(&check, habit);
    let mut out = Vec::new();
    let mut right = 0;
    let mut fire = |piece: usize| {
        out.clear();
        fast.start(RequestId(1), &request, &mut out);
        for bytes in answer.chunks(piece) {
            fast.received(bytes, Nanos(1), &mut |answer| {
                let expected = AnswerEnd::Whole { status: 200, check: Checked::Right };
                right += u32::from(answer.end == expected);
            });
        }
        fast.reset();
    };
    fire(7);
    let before = allocations_so_far();
    for _ in 0..500 {
        fire(4096);
        fire(7);
    }
    let allocations = allocations_so_far() - before;
    assert_eq!((right, allocations), (1_001, 0));
    drop(vec![0_u8; 1]);
    assert_eq!(allocations_so_far() - before, 1, "the counter counts");
}
