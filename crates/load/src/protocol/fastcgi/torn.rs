//! Tests with answers split anywhere, damaged anywhere, and with plain noise.

use proptest::prelude::*;
use stampede_model::time::Nanos;

use super::FastCgi;
use super::record::Kind::{End, Stderr, Stdout};
use super::record::tests::record;
use super::tests::{KEPT, asks, end, request};
use crate::protocol::{Answer, Next, Protocol, RequestId};
use stampede_traffic::answer::AnswerShape;

/// What happened on one connection: everything that a driver can see, except the time of the first
/// byte.
#[derive(Debug, PartialEq)]
struct Parsed {
    ends: Vec<Answer>,
    next: Next,
    room: bool,
}

/// Sends a request, feeds `pieces`, then closes.
fn parse(shape: AnswerShape, pieces: &[&[u8]]) -> Parsed {
    let mut fast = FastCgi::with_head_limit(&asks(b"aab"), KEPT, HEAD_LIMIT);
    fast.start(RequestId(3), &request(shape), &mut Vec::new());
    let mut ends = Vec::new();
    for piece in pieces {
        fast.received(piece, Nanos(1), &mut |answer| ends.push(answer));
    }
    let (next, room) = (fast.after_answer(), fast.room());
    fast.peer_closed(Nanos(1), &mut |answer| ends.push(answer));
    assert_eq!(ends.len(), 1, "every request ends once");
    assert!(!fast.room());
    Parsed { ends, next, room }
}

fn same_however_torn(shape: AnswerShape, bytes: &[u8], cuts: &[u16]) {
    let unbroken = parse(shape, &[bytes]);
    let mut at: Vec<usize> =
        cuts.iter().map(|cut| usize::from(*cut) * (bytes.len() + 1) / 65_536).collect();
    at.sort_unstable();
    at.push(bytes.len());
    let mut from = 0;
    let cut: Vec<&[u8]> =
        at.into_iter().map(|to| &bytes[std::mem::replace(&mut from, to)..to]).collect();
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    for pieces in [cut, single] {
        assert_eq!(parse(shape, &pieces), unbroken, "{:?}", String::from_utf8_lossy(bytes));
    }
}

fn head() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        Just("Status: 404 Not Found\r\n".to_owned()),
        Just("Status: 103 Early Hints\r\n".to_owned()),
        Just("Location: /x\r\n".to_owned()),
        Just("Content-Length: 3\r\n".to_owned()),
        Just("Content-Length: 4\r\n".to_owned()),
        "[A-Za-z-]{1,12}: [ -~]{0,40}\n",
        "X-Huge: [a-z]{400,700}\r\n",
    ];
    proptest::collection::vec(field, 0..4).prop_map(|fields| fields.concat() + "\r\n")
}

/// An answer whose framing is right, most of the time, cut into records anywhere.
fn well_formed() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b')], 0..80);
    let last = prop_oneof![4 => Just(0_u8), 1 => any::<u8>()];
    (head(), body, 1..200_usize, any::<u8>(), any::<bool>(), last, "[a-z]{0,3}").prop_map(
        |(head, body, piece, padding, ends_stream, protocol_status, after)| {
            let content = [head.as_bytes(), &body].concat();
            let mut bytes = Vec::new();
            for (number, content) in content.chunks(piece).enumerate() {
                bytes.extend(record(Stdout, content, padding.wrapping_mul(number as u8)));
                if number % 3 == 1 {
                    bytes.extend(record(Stderr, b"PHP Notice: aab", padding));
                }
            }
            if ends_stream {
                bytes.extend(record(Stdout, b"", 0));
            }
            bytes.extend(record(End, &[0, 0, 0, 0, protocol_status, 0, 0, 0], padding));
            bytes.extend_from_slice(after.as_bytes());
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_is_parsed_the_same_however_reads_split_it(
        shape in prop_oneof![4 => Just(AnswerShape::ByHeaders), 1 => Just(AnswerShape::NoBody)],
        bytes in well_formed(),
        cuts in proptest::collection::vec(any::<u16>(), 0..8),
    ) {
        same_however_torn(shape, &bytes, &cuts);
    }

    #[test]
    fn random_bytes_end_a_request_exactly_once_however_split(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        as_records in any::<bool>(),
        cuts in proptest::collection::vec(any::<u16>(), 0..8),
    ) {
        let bytes = if as_records { record(Stdout, &noise, 1) } else { noise };
        same_however_torn(AnswerShape::ByHeaders, &bytes, &cuts);
    }
}

/// Damages an answer 4 000 times with a fixed generator: bytes are changed, cut out or doubled.
#[test]
fn damaged_answers_end_a_request_exactly_once_however_split() {
    let mut random = fastrand::Rng::with_seed(0x5eed);
    let valid = [
        record(Stderr, b"PHP Warning", 5),
        record(Stdout, b"Status: 200 OK\r\nContent-Le", 0),
        record(Stdout, b"ngth: 5\r\n\r\naabbb", 2),
        end(),
    ]
    .concat();
    for _ in 0..4_000 {
        let mut bytes = valid.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            let to = (at + random.usize(1..12)).min(bytes.len());
            match random.u8(..4) {
                0 => bytes[at] = random.u8(..),
                1 if bytes.len() > 12 => drop(bytes.drain(at..to)),
                2 => {
                    let doubled = bytes[at..to].to_vec();
                    bytes.splice(at..at, doubled);
                }
                _ => bytes[at] ^= 1 << random.u8(..8),
            }
        }
        let cuts: Vec<u16> = (0..random.usize(0..6)).map(|_| random.u16(..)).collect();
        same_however_torn(AnswerShape::ByHeaders, &bytes, &cuts);
    }
}

/// Small, so that the property tests reach it.
const HEAD_LIMIT: usize = 512;
