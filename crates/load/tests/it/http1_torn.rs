//! Tests HTTP/1.x with answers split anywhere, damaged anywhere, and with plain noise.

use proptest::prelude::*;
use stampede_load::protocol::http1::Http1;
use stampede_load::protocol::{Answer, Next, Protocol, RequestId};
use stampede_load::spec::Check;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_model::time::Nanos;
use stampede_traffic::{AnswerShape, Request};

const KEPT: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
const KEPT_10: Habits = Habits { version: HttpVersion::Http10, ..KEPT };
const PER_REQUEST: Habits = Habits { connection: ConnectionHabit::PerRequest, ..KEPT };

/// What happened on one connection: everything that a driver can see, except the time of the first
/// byte, which depends on the reads.
#[derive(Debug, PartialEq)]
struct Parsed {
    ends: Vec<Answer>,
    next: Next,
    room: bool,
}

/// Sends a request, feeds `pieces`, then closes.
fn parse(habits: Habits, shape: AnswerShape, pieces: &[&[u8]]) -> Parsed {
    let check = Check { body_contains: b"aab".to_vec(), ..Check::default() };
    let mut http = Http1::with_head_limit(&check, habits, HEAD_LIMIT);
    let mut request = Request::encoded(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    request.answer = shape;
    http.start(RequestId(3), &request, &mut Vec::new());
    let mut ends = Vec::new();
    for piece in pieces {
        http.received(piece, Nanos(1), &mut |answer| ends.push(answer));
    }
    let (next, room) = (http.after_answer(), http.room());
    http.peer_closed(Nanos(1), &mut |answer| ends.push(answer));
    assert_eq!(ends.len(), 1, "every request ends once");
    assert!(!http.room());
    Parsed { ends, next, room }
}

/// `bytes` cut at `cuts`; each cut is a share of the length in 1/65 536.
fn cut<'a>(bytes: &'a [u8], cuts: &[u16]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> =
        cuts.iter().map(|cut| usize::from(*cut) * (bytes.len() + 1) / 65_536).collect();
    at.sort_unstable();
    at.push(bytes.len());
    let mut from = 0;
    at.into_iter().map(|to| &bytes[std::mem::replace(&mut from, to)..to]).collect()
}

fn same_however_torn(habits: Habits, shape: AnswerShape, bytes: &[u8], cuts: &[u16]) {
    let unbroken = parse(habits, shape, &[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    for pieces in [cut(bytes, cuts), single] {
        let torn = parse(habits, shape, &pieces);
        assert_eq!(torn, unbroken, "{:?}", String::from_utf8_lossy(bytes));
    }
}

fn habits() -> impl Strategy<Value = Habits> {
    prop_oneof![Just(KEPT), Just(KEPT_10), Just(PER_REQUEST)]
}

fn shape() -> impl Strategy<Value = AnswerShape> {
    prop_oneof![4 => Just(AnswerShape::ByHeaders), 1 => Just(AnswerShape::NoBody)]
}

/// Bodies of few letters, so that they often contain the check's `aab`, or nearly do.
fn body() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), Just(b'\n')], 0..80)
}

fn fields() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        Just("Connection: close\r\n".to_owned()),
        Just("Connection: keep-alive\r\n".to_owned()),
        Just("Content-Length: 3\r\n".to_owned()),
        Just("Transfer-Encoding: gzip\r\n".to_owned()),
        "[A-Za-z-]{1,12}: [ -~]{0,40}\r\n",
        "X-Huge: [a-z]{400,700}\r\n",
        "X: a\r\n[ \t]{1,3}[a-z]{0,5}\r\n",
        Just("Content-Length :\r\n 3\r\n".to_owned()),
        "[A-Za-z ]{1,12}\r?\n",
        Just("X: bare\n".to_owned()),
        Just("Transfer-Encoding: identity\r\n".to_owned()),
        Just("Content-Length: 03, 3\r\n".to_owned()),
    ];
    proptest::collection::vec(field, 0..3).prop_map(|fields| fields.concat())
}

/// An answer whose framing is right, most of the time.
fn well_formed() -> impl Strategy<Value = Vec<u8>> {
    let interim = proptest::collection::vec(
        prop_oneof![
            Just("HTTP/1.1 100 Continue\r\n\r\n"),
            Just("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
            Just("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        ],
        0..2,
    );
    let status = prop_oneof![6 => Just(200_u16), 1 => Just(204), 1 => Just(304), 2 => 0..999_u16];
    let framing = prop_oneof![Just(Wire::Length), Just(Wire::Chunked), Just(Wire::Close)];
    let begin = (
        prop_oneof![6 => Just(""), 1 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r\n\r\n")],
        prop_oneof![6 => Just(" "), 1 => Just("  "), 1 => Just("   ")],
        prop_oneof![6 => Just(" Reason\r\n"), 1 => Just("\r\n"), 1 => Just(" \n"), 1 => Just("\n")],
    );
    let status = (interim, begin, 0..=1_u8, status);
    (status, fields(), body(), framing, 1..9_usize, "[a-z]{0,9}").prop_map(
        |(status, fields, body, framing, chunk, after)| {
            let (interim, (empty, blanks, reason), minor, status) = status;
            let mut bytes = interim.concat().into_bytes();
            let head = format!("{empty}HTTP/1.{minor}{blanks}{status:03}{reason}{fields}");
            bytes.extend_from_slice(head.as_bytes());
            framing.write(&body, chunk, &mut bytes);
            bytes.extend_from_slice(after.as_bytes());
            bytes
        },
    )
}

#[derive(Clone, Copy, Debug)]
enum Wire {
    Length,
    Chunked,
    Close,
}

impl Wire {
    fn write(self, body: &[u8], chunk: usize, out: &mut Vec<u8>) {
        match self {
            Wire::Length => {
                out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                out.extend_from_slice(body);
            }
            Wire::Chunked => {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for piece in body.chunks(chunk) {
                    out.extend_from_slice(format!("{:x};n=v\r\n", piece.len()).as_bytes());
                    out.extend_from_slice(piece);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\nX-Trailer : aab\r\n aab\r\nno field\r\n\r\n");
            }
            Wire::Close => {
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(body);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_is_parsed_the_same_however_reads_split_it(
        habits in habits(),
        shape in shape(),
        bytes in well_formed(),
        cuts in proptest::collection::vec(any::<u16>(), 0..8),
    ) {
        same_however_torn(habits, shape, &bytes, &cuts);
    }

    #[test]
    fn random_bytes_end_a_request_exactly_once_however_split(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        status_line in prop_oneof![
            Just(""),
            Just("HTTP/1.1 200 OK\r\n"),
            Just("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ],
        cuts in proptest::collection::vec(any::<u16>(), 0..8),
    ) {
        let bytes = [status_line.as_bytes(), &noise].concat();
        same_however_torn(KEPT, AnswerShape::ByHeaders, &bytes, &cuts);
    }
}

/// Damages each of a few answers with a fixed generator, 4 000 times in all. Bytes are changed, cut
/// out, doubled, or replaced by what parsers stumble over.
#[test]
fn damaged_answers_end_a_request_exactly_once_however_split() {
    let mut random = fastrand::Rng::with_seed(0x5eed);
    for round in 0..4_000 {
        let mut bytes = VALID[round % VALID.len()].as_bytes().to_vec();
        for _ in 0..random.usize(1..4) {
            damage(&mut bytes, &mut random);
        }
        let cuts: Vec<u16> = (0..random.usize(0..6)).map(|_| random.u16(..)).collect();
        same_however_torn(KEPT, AnswerShape::ByHeaders, &bytes, &cuts);
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    if bytes.is_empty() {
        return;
    }
    let at = random.usize(..bytes.len());
    let to = (at + random.usize(1..20)).min(bytes.len());
    match random.u8(..5) {
        0 => bytes[at] = random.u8(..),
        1 => drop(bytes.drain(at..to)),
        2 => {
            let doubled = bytes[at..to].to_vec();
            bytes.splice(at..at, doubled);
        }
        3 => bytes.truncate(at),
        _ => {
            let nasty = NASTY[random.usize(..NASTY.len())];
            bytes.splice(at..to, nasty.iter().copied());
        }
    }
}

/// Small, so that the property tests reach it.
const HEAD_LIMIT: usize = 512;

const VALID: &[&str] = &[
    "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\naabbb",
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nbbaab",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\naa\r\n1\r\nb\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
     HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\naab",
    "HTTP/1.1 200 OK\r\n\r\neverything up to the close: aab",
    "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 9\r\n\r\n",
];

const NASTY: &[&[u8]] = &[
    b"\r\n ",
    b"\n\t",
    b" :",
    b"\r\nno colon",
    b"\r",
    b"\n",
    b"\0",
    b"\r\n",
    b"\r\n\r\n",
    b"\n\n",
    b":",
    b"+5",
    b"-1",
    b"0",
    b"ffffffffffffffff",
    b"18446744073709551616",
    b"HTTP/1.1 ",
    b"Content-Length: 1\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\xff\xfe",
];
