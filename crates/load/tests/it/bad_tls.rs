//! Tests misbehaving TLS servers over real sockets. Each request counts as what it is, none waits
//! for longer than its timeout, and no connection stays.

#[path = "certified/mod.rs"]
mod certified;
#[path = "played/mod.rs"]
mod played;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use certified::config;
use played::{
    EndAction, LOAD_KINDS, LONG, REQUESTS, SHORT, ScriptedServer, counted, each_counts_as, forever,
    load, load_kinds, read_until,
};
use rustls::server::{ServerConfig, ServerConnection};
use rustls::version::{TLS12, TLS13};
use rustls::{Stream, SupportedProtocolVersion};
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::spec::Wire;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_model::time::Nanos;
use stampede_traffic::Request;

const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn wire() -> Wire {
    Wire::Tls(Setup::new("localhost", Certificates::Any, Sessions::New).unwrap())
}

fn get(connection: ConnectionHabit) -> Request {
    let habits = Habits { version: HttpVersion::Http11, connection };
    Request::build("GET", "/", &[], b"", habits, None).unwrap()
}

/// Runs every kind of load; each connection gets the same part.
fn each_case_counts_as_expected(
    name: &str,
    part: impl Fn(&mut TcpStream) -> io::Result<()> + Clone + Send + 'static,
    counts_as: &str,
    timeout: Nanos,
) {
    for way in load_kinds(timeout) {
        let server = ScriptedServer::start(part.clone());
        let load = load(&server, wire(), get, way, timeout);
        each_counts_as(&server, &load, counts_as, &format!("{name}, {way:?}"));
    }
}

/// Writes after the client's first message, repeatedly where `is_endless`.
fn say(socket: &mut TcpStream, bytes: &[u8], is_endless: bool, then: EndAction) -> io::Result<()> {
    let _ = socket.read(&mut [0; 4096])?;
    if is_endless {
        return forever(socket, bytes);
    }
    socket.write_all(bytes)?;
    then.end(socket)
}

#[test]
fn an_invalid_handshake_fails_as_tls() {
    let alert = b"\x15\x03\x03\0\x02\x02\x28";
    let cases: [(&str, &'static [u8]); 8] = [
        ("an alert", alert),
        ("an alert that nobody knows", b"\x15\x03\x03\0\x02\x02\xfa"),
        ("HTTP", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
        ("another protocol", b"SSH-2.0-OpenSSH_9.9\r\n"),
        ("zeros", &[0; 64]),
        ("a record too long", b"\x16\x03\x03\xff\xff\x02"),
        ("an answer before the keys", b"\x17\x03\x03\0\x05hello"),
        ("a message of a client", b"\x16\x03\x03\0\x04\x01\0\0\0"),
    ];
    for (name, bytes) in cases {
        for then in [EndAction::Hold, EndAction::Close] {
            let part = move |socket: &mut TcpStream| say(socket, bytes, false, then);
            each_case_counts_as_expected(&format!("{name}, {then:?}"), part, "net:tls", LONG);
        }
    }
}

/// Without keys anybody can send a close, so it proves nothing.
#[test]
fn a_close_notify_before_the_keys_is_ignored() {
    let goodbye = b"\x15\x03\x03\0\x02\x01\0";
    for (then, counts_as, timeout) in
        [(EndAction::Hold, "net:timeout", SHORT), (EndAction::Close, "net:cut-short", LONG)]
    {
        let part = move |socket: &mut TcpStream| say(socket, goodbye, false, then);
        each_case_counts_as_expected(&format!("{then:?}"), part, counts_as, timeout);
    }
}

/// All of them reach a limit of the library: none is waited for, or kept in memory.
#[test]
fn endless_handshakes_fail_as_tls() {
    let cases: [(&str, &'static [u8]); 5] = [
        ("alerts", b"\x15\x03\x03\0\x02\x02\x28"),
        ("warnings", b"\x15\x03\x03\0\x02\x01\x5a"),
        ("changes of the cipher", b"\x14\x03\x03\0\x01\x01"),
        ("a long message", b"\x16\x03\x03\0\x04\x02\xff\xff\xff"),
        ("HTTP", b"HTTP/1.1 400 Bad Request\r\n"),
    ];
    for (name, bytes) in cases {
        let part = move |socket: &mut TcpStream| say(socket, bytes, true, EndAction::Hold);
        each_case_counts_as_expected(&format!("endless {name}"), part, "net:tls", LONG);
    }
}

/// A server's socket that takes only so many bytes.
struct Short<'a> {
    socket: &'a mut TcpStream,
    left: usize,
    /// Bytes per write.
    piece: usize,
}

impl Read for Short<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.read(into)
    }
}

impl Write for Short<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(self.left).min(self.piece)];
        if bytes.is_empty() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let written = self.socket.write(bytes)?;
        self.left -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where the server stops.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Once the connection is established.
    Accepted,
    /// After this many bytes of its first messages.
    Handshake(usize),
    /// Once it has read a request.
    RequestRead,
    /// After this many bytes of the record that is the answer.
    Answer(usize),
    /// After this part of an answer, which is a whole record.
    Sent(&'static [u8]),
}

const PHASES: [Phase; 10] = [
    Phase::Accepted,
    Phase::Handshake(0),
    Phase::Handshake(3),
    Phase::Handshake(40),
    Phase::Handshake(300),
    Phase::RequestRead,
    Phase::Answer(3),
    Phase::Answer(30),
    Phase::Sent(b"HTTP/1.1 200 OK\r\nContent-Le"),
    Phase::Sent(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"),
];

fn stop_at(socket: &mut TcpStream, config: Arc<ServerConfig>, phase: Phase) -> io::Result<()> {
    let limit = match phase {
        Phase::Accepted => return Ok(()),
        Phase::Handshake(limit) => limit,
        Phase::RequestRead | Phase::Answer(_) | Phase::Sent(_) => usize::MAX,
    };
    let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut short = Short { socket, left: limit, piece: usize::MAX };
    let mut stream = Stream::new(&mut connection, &mut short);
    read_until(&mut stream, b"\r\n\r\n")?;
    match phase {
        Phase::Answer(bytes) => {
            stream.sock.left = bytes;
            stream.write_all(OK)?;
        }
        Phase::Sent(bytes) => stream.write_all(bytes)?,
        Phase::Accepted | Phase::Handshake(_) | Phase::RequestRead => {}
    }
    stream.flush()
}

fn stopping(then: EndAction, counts_as: &str, timeout: Nanos) {
    for version in VERSIONS {
        let config = config(version);
        for phase in PHASES {
            let config = config.clone();
            let part = move |socket: &mut TcpStream| {
                // It must run out of bytes, so this error is expected.
                let _ = stop_at(socket, config.clone(), phase);
                then.end(socket)
            };
            let name = format!("{then:?} at {phase:?}, {version:?}");
            each_case_counts_as_expected(&name, part, counts_as, timeout);
        }
    }
}

#[test]
fn a_close_without_close_notify_in_any_phase_is_cut_short() {
    stopping(EndAction::Close, "net:cut-short", LONG);
}

#[test]
fn a_reset_in_any_phase_is_a_reset() {
    stopping(EndAction::Reset, "net:reset", LONG);
}

#[test]
#[ignore = "long: 21 s"]
fn a_server_that_falls_silent_in_any_phase_times_out() {
    stopping(EndAction::Hold, "net:timeout", SHORT);
}

/// What a server does once the keys are there. `piece`: bytes of its records per write.
fn play(
    version: &'static SupportedProtocolVersion,
    piece: usize,
    part: impl Fn(&mut Stream<'_, ServerConnection, Short<'_>>) -> io::Result<()>
    + Clone
    + Send
    + 'static,
) -> impl Fn(&mut TcpStream) -> io::Result<()> + Clone + Send + 'static {
    let config = config(version);
    move |socket| {
        let mut connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        let mut short = Short { socket, left: usize::MAX, piece };
        part(&mut Stream::new(&mut connection, &mut short))?;
        EndAction::Hold.end(socket)
    }
}

#[test]
fn records_that_arrive_byte_by_byte_are_correct() {
    for version in VERSIONS {
        let part = play(version, 1, |stream| {
            loop {
                read_until(stream, b"\r\n\r\n")?;
                OK.chunks(7).try_for_each(|bytes| stream.write_all(bytes))?;
            }
        });
        each_case_counts_as_expected(&format!("{version:?}"), part, "ok", LONG);
    }
}

#[test]
fn answers_inside_tls_count_as_expected() {
    type Case = (&'static str, &'static [u8], &'static [u8], &'static str, Nanos);
    let cases: [Case; 5] = [
        ("garbage", b"220 smtp ready\r\n", b"", "net:malformed", LONG),
        ("bad gateway", b"HTTP/1.1 502 B\r\nContent-Length: 0\r\n\r\n", b"", "http:502", LONG),
        ("headers", b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n", "net:head-too-large", LONG),
        ("a body", b"HTTP/1.1 200 OK\r\n\r\n", b"hello", "net:timeout", SHORT),
        ("interim", b"HTTP/1.1 103 E\r\n\r\n", b"", "net:timeout", SHORT),
    ];
    for version in VERSIONS {
        for (name, bytes, endless, counts_as, timeout) in cases {
            let part = play(version, usize::MAX, move |stream| {
                loop {
                    read_until(stream, b"\r\n\r\n")?;
                    stream.write_all(bytes)?;
                    if !endless.is_empty() {
                        forever(stream, endless)?;
                    }
                }
            });
            each_case_counts_as_expected(&format!("{name}, {version:?}"), part, counts_as, timeout);
        }
    }
}

/// The server cannot read what it got: it sends an encrypted alert in the middle of an answer.
#[test]
fn an_alert_in_the_body_fails_as_tls() {
    for version in VERSIONS {
        let part = play(version, usize::MAX, |stream| {
            read_until(stream, b"\r\n\r\n")?;
            stream.write_all(&OK[..OK.len() - 2])?;
            stream
                .conn
                .read_tls(&mut &b"\x17\x03\x03\0\x20garbage that is thirty-two bytes"[..])?;
            assert!(stream.conn.process_new_packets().is_err());
            while stream.conn.wants_write() {
                stream.conn.write_tls(&mut stream.sock)?;
            }
            Ok(())
        });
        each_case_counts_as_expected(&format!("{version:?}"), part, "net:tls", LONG);
    }
}

#[test]
fn a_close_notify_in_the_body_is_cut_short() {
    for version in VERSIONS {
        for bytes in [&OK[..0], &OK[..20], &OK[..OK.len() - 2]] {
            let part = play(version, usize::MAX, move |stream| {
                read_until(stream, b"\r\n\r\n")?;
                stream.write_all(bytes)?;
                stream.conn.send_close_notify();
                stream.flush()
            });
            let name = format!("{} bytes, {version:?}", bytes.len());
            each_case_counts_as_expected(&name, part, "net:cut-short", LONG);
        }
    }
}

/// The answer of a server that answers at once is accepted.
#[test]
fn an_answer_sent_before_the_request_counts_as_its_answer() {
    for version in VERSIONS {
        let part = play(version, usize::MAX, |stream| {
            let busy = b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(busy)?;
            stream.flush()
        });
        each_case_counts_as_expected(&format!("{version:?}"), part, "http:503", LONG);
    }
}

/// Surplus bytes in the record of the answer reach no other request, because the connection is
/// replaced. Later ones may meet the next request, which is then lost.
#[test]
fn unsolicited_bytes_fail_at_most_the_request_they_interrupt() {
    for version in VERSIONS {
        let together = play(version, usize::MAX, |stream| {
            read_until(stream, b"\r\n\r\n")?;
            stream.write_all(&[OK, b"HTTP/1.1 200 OK\r\n"].concat())
        });
        each_case_counts_as_expected(&format!("together, {version:?}"), together, "ok", LONG);
        for (name, is_encrypted, lost) in
            [("inside", true, "net:stale"), ("outside", false, "net:tls")]
        {
            let part = play(version, usize::MAX, move |stream| {
                loop {
                    read_until(stream, b"\r\n\r\n")?;
                    stream.write_all(OK)?;
                    match is_encrypted {
                        true => stream.write_all(b"oops")?,
                        false => stream.sock.write_all(b"oops, this is no record")?,
                    }
                }
            });
            for way in LOAD_KINDS {
                let about = format!("{name}, {version:?}, {way:?}");
                let server = ScriptedServer::start(part.clone());
                let load = load(&server, wire(), get, way, LONG);
                let mut counts = counted(&server, &load, &about);
                let met = counts.remove(lost).unwrap_or(0);
                assert_eq!(counts.remove("ok"), Some(REQUESTS - met), "{about}");
                assert!(counts.is_empty(), "{about}: {counts:?}");
                assert!(way.1 == ConnectionHabit::KeepAlive || met == 0, "{about}");
            }
        }
    }
}
