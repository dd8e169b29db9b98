//! Tests misbehaving FastCGI servers over real sockets. Each request counts as what it is, none
//! waits for longer than its timeout, and no connection stays.

#[path = "played/mod.rs"]
mod played;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use played::{
    EndAction, Kind, LOAD_KINDS, LONG, REQUESTS, SHORT, ScriptedServer, counted, each_counts_as,
    forever, load, load_kinds, read_until,
};
use stampede_load::protocol::fastcgi::{Script, request};
use stampede_load::spec::Wire;
use stampede_model::load::ConnectionHabit;
use stampede_model::time::Nanos;
use stampede_traffic::Request;

const END: u8 = 3;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;

/// What the server sends after each request.
#[derive(Clone, Debug)]
struct Answer {
    bytes: Vec<u8>,
    /// Bytes that are repeated without end after them.
    forever: Vec<u8>,
    /// Bytes per write, and the time until the next write.
    piece: usize,
    gap: Duration,
    /// How the connection ends; `None`: the next request is read.
    then: Option<EndAction>,
}

impl Answer {
    fn then(self, then: EndAction) -> Answer {
        Answer { then: Some(then), ..self }
    }

    fn forever(self, bytes: Vec<u8>) -> Answer {
        Answer { forever: bytes, ..self }
    }

    fn in_pieces(self, piece: usize, gap: Duration) -> Answer {
        Answer { piece, gap, ..self }
    }

    fn cut(mut self, from_end: usize) -> Answer {
        self.bytes.truncate(self.bytes.len() - from_end);
        self
    }

    fn write(&self, socket: &mut TcpStream) -> io::Result<()> {
        for (number, piece) in self.bytes.chunks(self.piece).enumerate() {
            if number > 0 && !self.gap.is_zero() {
                std::thread::sleep(self.gap);
            }
            socket.write_all(piece)?;
        }
        if self.forever.is_empty() { Ok(()) } else { forever(socket, &self.forever) }
    }
}

fn records(records: &[Vec<u8>]) -> Answer {
    let (bytes, forever) = (records.concat(), Vec::new());
    Answer { bytes, forever, piece: usize::MAX, gap: Duration::ZERO, then: None }
}

fn record(kind: u8, content: &[u8], padding: u8) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let mut bytes = vec![1, kind, 0, 1, high, low, padding, 0];
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len() + usize::from(padding), b'!');
    bytes
}

fn out(text: &str) -> Vec<u8> {
    record(STDOUT, text.as_bytes(), 3)
}

fn ended(app: u8, protocol: u8) -> Vec<u8> {
    record(END, &[0, 0, 0, app, protocol, 0, 0, 0], 0)
}

const TEXT: &str = "Status: 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn whole() -> Answer {
    records(&[out(TEXT), record(STDOUT, b"", 0), ended(0, 0)])
}

/// The same answer with one byte of the first record's header changed.
fn with(at: usize, byte: u8) -> Answer {
    let mut answer = whole();
    answer.bytes[at] = byte;
    answer
}

fn play(socket: &mut TcpStream, answer: impl Fn() -> Answer) -> io::Result<()> {
    loop {
        // A request ends with an empty STDIN.
        read_until(socket, &[1, 5, 0, 1, 0, 0, 0, 0])?;
        let answer = answer();
        answer.write(socket)?;
        if let Some(then) = answer.then {
            return then.end(socket);
        }
    }
}

fn get(_: ConnectionHabit) -> Request {
    request(&Script::new("/app/index.php"), "GET", "/", &[], b"").unwrap()
}

type Case = (&'static str, Answer, &'static str);

fn each_case_counts_as_expected(cases: Vec<Case>, timeout: Nanos) {
    for (name, answer, counts_as) in cases {
        for way in load_kinds(timeout) {
            let about = format!("{name}, {way:?}");
            let answer = answer.clone();
            let server = ScriptedServer::start(move |socket| play(socket, || answer.clone()));
            let load = load(&server, Wire::FastCgi, get, way, timeout);
            each_counts_as(&server, &load, counts_as, &about);
        }
    }
}

#[test]
fn odd_but_whole_answers_are_correct() {
    let bytes = TEXT.as_bytes().chunks(1).map(|byte| record(STDOUT, byte, 0));
    let padded = TEXT.as_bytes().chunks(3).map(|bytes| record(STDOUT, bytes, 255));
    let close_to = |records: Vec<Vec<u8>>| [records, vec![ended(0, 0)]].concat();
    let warned = [record(STDERR, b"PHP Warning", 5), out(TEXT), record(STDERR, b"more", 0)];
    let micros = Duration::from_micros;
    let cases = vec![
        ("plain", whole(), "ok"),
        ("a byte a record", records(&close_to(bytes.collect())), "ok"),
        ("huge padding", records(&close_to(padded.collect())), "ok"),
        ("padding of the end", records(&[out(TEXT), record(END, &[0; 8], 255)]), "ok"),
        ("warnings beside it", records(&close_to(warned.into())), "ok"),
        ("byte by byte", whole().in_pieces(1, micros(20)), "ok"),
        ("an exit status", records(&[out(TEXT), ended(255, 0)]), "ok"),
        ("a record of 64 KiB", records(&[out(&large()), ended(0, 0)]), "ok"),
        ("another body", records(&[out("A: b\r\n\r\nan error page"), ended(0, 0)]), "check"),
        ("not found", records(&[out("Status: 404\r\n\r\nhello"), ended(0, 0)]), "http:404"),
    ];
    each_case_counts_as_expected(cases, LONG);
}

fn large() -> String {
    format!("A: b\r\n\r\n{}hello", " ".repeat(65_522))
}

#[test]
fn an_answer_split_at_any_byte_is_correct() {
    let bytes = [record(STDERR, b"PHP", 5), out(TEXT), ended(0, 0)].concat();
    for at in 1..bytes.len() {
        let parts = bytes.split_at(at);
        let parts = [parts.0.to_vec(), parts.1.to_vec()];
        let server = ScriptedServer::start(move |socket| {
            loop {
                read_until(socket, &[1, 5, 0, 1, 0, 0, 0, 0])?;
                socket.write_all(&parts[0])?;
                std::thread::sleep(Duration::from_micros(300));
                socket.write_all(&parts[1])?;
            }
        });
        let way = (Kind::Closed, ConnectionHabit::KeepAlive);
        let load = load(&server, Wire::FastCgi, get, way, LONG);
        each_counts_as(&server, &load, "ok", &format!("torn at {at}"));
    }
}

#[test]
fn broken_answers_count_as_expected() {
    let lone = |record| records(&[record]);
    let cases = vec![
        ("unknown type", with(1, 11), "net:malformed"),
        ("a type that is a client's", with(1, 5), "net:malformed"),
        ("another request's", with(3, 2), "net:malformed"),
        ("a request above 255", with(2, 1), "net:malformed"),
        ("another version", with(0, 2), "net:malformed"),
        ("held behind a wrong byte", with(1, 99).then(EndAction::Hold), "net:malformed"),
        ("one that cannot multiplex", lone(ended(0, 1)), "net:rejected"),
        ("overloaded", lone(ended(0, 2)), "net:rejected"),
        ("overloaded, and closed", lone(ended(0, 2)).then(EndAction::Close), "net:rejected"),
        ("unknown role", lone(ended(0, 3)), "net:rejected"),
        ("overloaded in the body", records(&[out(TEXT), ended(0, 2)]), "net:rejected"),
        ("unknown end", records(&[out(TEXT), ended(0, 4)]), "net:malformed"),
        ("a short end", records(&[out(TEXT), record(END, &[0; 4], 0)]), "net:malformed"),
        ("no answer", lone(ended(0, 0)), "net:malformed"),
        ("an end in the head", records(&[out("A: b\r\n"), ended(0, 0)]), "net:malformed"),
        ("more after the end", records(&[record(STDOUT, b"", 0), out(TEXT)]), "net:malformed"),
        ("HTTP", lone(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), "net:malformed"),
        ("HTTP inside", records(&[out("HTTP/1.1 200 OK\r\n\r\nhello")]), "net:malformed"),
        (
            "shorter than announced",
            records(&[out("Content-Length: 9\r\n\r\nhello"), ended(0, 0)]),
            "net:cut-short",
        ),
        ("no end", records(&[out(TEXT)]).then(EndAction::Close), "net:cut-short"),
        (
            "a record longer than what comes",
            records(&[vec![1, STDOUT, 0, 1, 255, 255, 0, 0], TEXT.into()]).then(EndAction::Close),
            "net:cut-short",
        ),
    ];
    each_case_counts_as_expected(cases, LONG);
}

/// Where an answer is abandoned: a name, and how many bytes of it are missing.
fn phases() -> [(&'static str, usize); 8] {
    let whole = whole().bytes.len();
    let first = 8 + TEXT.len() + 3;
    [
        ("before the answer", whole),
        ("in the first header", whole - 5),
        ("in the head", whole - 20),
        ("in the body", whole - first + 5),
        ("in the padding", whole - first + 1),
        ("between records", whole - first),
        ("in the last header", 11),
        ("in the end", 2),
    ]
}

fn left(then: EndAction, counts_as: &'static str) -> Vec<Case> {
    phases().map(|(name, missing)| (name, whole().cut(missing).then(then), counts_as)).into()
}

#[test]
fn closes_and_resets_in_each_phase_are_distinguished() {
    each_case_counts_as_expected(left(EndAction::Close, "net:cut-short"), LONG);
    each_case_counts_as_expected(left(EndAction::Reset, "net:reset"), LONG);
}

#[test]
fn a_server_that_falls_silent_in_any_phase_times_out() {
    each_case_counts_as_expected(left(EndAction::Hold, "net:timeout"), SHORT);
}

#[test]
fn endless_heads_hit_a_limit() {
    let cases = vec![
        ("a field", records(&[out("X: ")]).forever(out("xxxxxxx")), "net:head-too-large"),
        ("fields", records(&[]).forever(out("X-More: and more\r\n")), "net:head-too-large"),
        (
            "fields and warnings",
            records(&[]).forever([out("A: b\r\n"), record(STDERR, b"PHP", 255)].concat()),
            "net:head-too-large",
        ),
    ];
    each_case_counts_as_expected(cases, LONG);
}

#[test]
fn answers_that_never_end_time_out() {
    let slow = Duration::from_millis(40);
    let cases = vec![
        ("warnings", records(&[]).forever(record(STDERR, b"PHP Warning", 5)), "net:timeout"),
        ("no warnings", records(&[]).forever(record(STDERR, b"", 0)), "net:timeout"),
        ("a body", records(&[out("A: b\r\n\r\n")]).forever(out("hello")), "net:timeout"),
        ("more than announced", records(&[out(TEXT)]).forever(out("hello")), "net:timeout"),
        ("ends of a body", records(&[]).forever(record(STDOUT, b"", 0)), "net:timeout"),
        ("padding", records(&[out(TEXT)]).forever(record(STDERR, b"", 255)), "net:timeout"),
        ("too slow, byte by byte", whole().in_pieces(1, slow), "net:timeout"),
    ];
    each_case_counts_as_expected(cases, SHORT);
}

/// The answer of a server that refuses at once is accepted, and so is its reset.
#[test]
fn an_end_record_before_the_request_counts_as_its_answer() {
    for way in LOAD_KINDS {
        let server = ScriptedServer::start(|socket| {
            socket.write_all(&ended(0, 2))?;
            EndAction::Hold.end(socket)
        });
        let refused = load(&server, Wire::FastCgi, get, way, LONG);
        each_counts_as(&server, &refused, "net:rejected", &format!("refused, {way:?}"));
        let server = ScriptedServer::start(|socket| EndAction::Reset.end(socket));
        let reset = load(&server, Wire::FastCgi, get, way, LONG);
        each_counts_as(&server, &reset, "net:reset", &format!("reset, {way:?}"));
    }
}

/// The surplus bytes reach an idle connection, which is then replaced, or the request that came
/// first.
#[test]
fn unsolicited_records_fail_at_most_the_request_they_interrupt() {
    for way in LOAD_KINDS {
        let about = format!("{way:?}");
        let server = ScriptedServer::start(|socket| {
            loop {
                read_until(socket, &[1, 5, 0, 1, 0, 0, 0, 0])?;
                whole().write(socket)?;
                std::thread::sleep(Duration::from_millis(2));
                socket.write_all(&with(3, 2).bytes)?;
            }
        });
        let load = load(&server, Wire::FastCgi, get, way, LONG);
        let mut counts = counted(&server, &load, &about);
        let met = counts.remove("net:malformed").unwrap_or(0);
        assert_eq!(counts.into_values().sum::<u64>(), REQUESTS - met, "{about}");
        assert!(way.1 == ConnectionHabit::KeepAlive || met == 0, "{about}");
    }
}

/// One in four goes wrong: the others are not affected, on whichever connection.
#[test]
fn a_bad_answer_fails_its_own_request_only() {
    let reset = whole().cut(20).then(EndAction::Reset);
    let bad = [
        (reset, "net:reset"),
        (whole().cut(20).then(EndAction::Close), "net:cut-short"),
        (with(1, 11).then(EndAction::Hold), "net:malformed"),
        (records(&[ended(0, 2)]), "net:rejected"),
        (records(&[]).forever(out("X-More: and more\r\n")), "net:head-too-large"),
    ];
    for (answer, counts_as) in bad {
        for way in LOAD_KINDS {
            let (asked, answer) = (Arc::new(AtomicU64::new(1)), answer.clone());
            let next = move || match asked.fetch_add(1, Ordering::SeqCst) % 4 {
                0 => answer.clone(),
                _ => whole(),
            };
            let server = ScriptedServer::start(move |socket| play(socket, &next));
            let load = load(&server, Wire::FastCgi, get, way, LONG);
            let about = format!("{counts_as}, {way:?}");
            let counts = counted(&server, &load, &about);
            let bad = REQUESTS / 4;
            let expected = [("ok".to_owned(), REQUESTS - bad), (counts_as.to_owned(), bad)];
            assert_eq!(counts, BTreeMap::from(expected), "{about}");
        }
    }
}
