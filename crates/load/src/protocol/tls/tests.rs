//! Tests against rustls' own server in memory: without a socket, and with reads that end anywhere.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, ServerConnection};
use rustls::version::{TLS12, TLS13};
use rustls::{HandshakeKind, ProtocolVersion, RootCertStore, SupportedProtocolVersion};
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_model::time::Nanos;

use super::{Certificates, Connector, Sessions, Setup, Tls};
use crate::protocol::AnswerEnd::{self, CutShort};
use crate::protocol::http1::Http1;
use crate::protocol::{Answer, Checked, Next, Protocol, Quirk, RequestId};
use crate::spec::Check;
use stampede_traffic::Request;

const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

/// A key made for this test, and its certificate for `localhost`.
struct Identity {
    certificate: CertificateDer<'static>,
    config: Arc<ServerConfig>,
}

fn identity(version: &'static SupportedProtocolVersion, protocol: &[u8]) -> Identity {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_protocol_versions(&[version]).unwrap();
    let config = config.with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate.clone()], key).unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    Identity { certificate, config: Arc::new(config) }
}

fn server(version: &'static SupportedProtocolVersion) -> ServerConnection {
    ServerConnection::new(identity(version, b"http/1.1").config).unwrap()
}

fn connector(sessions: Sessions) -> Connector {
    Connector::new(&Setup::new("localhost", Certificates::Any, sessions).unwrap())
}

fn client(connector: &Connector) -> Tls<Http1> {
    Tls::new(connector, Http1::new(&Check::default(), HABITS))
}

fn request(bytes: &[u8]) -> Request {
    Request { bytes: bytes.to_vec(), ..Request::default() }
}

fn get() -> Request {
    request(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// A client, a server, and the bytes on their way between them.
struct Pair {
    client: Tls<Http1>,
    server: ServerConnection,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    /// What the server has read.
    asked: Vec<u8>,
    answers: Vec<Answer>,
    requests: u32,
    /// Bytes that the client received so far, and after how many of them a read ends.
    delivered: usize,
    torn_at: usize,
}

impl Pair {
    fn new(client: Tls<Http1>, server: ServerConnection) -> Pair {
        Pair {
            client,
            server,
            to_server: vec![],
            to_client: vec![],
            asked: vec![],
            answers: vec![],
            requests: 0,
            delivered: 0,
            torn_at: 0,
        }
    }

    fn start(&mut self, request: &Request) {
        self.requests += 1;
        self.client.start(RequestId(self.requests), request, &mut self.to_server);
    }

    /// Passes the client's bytes to the server; returns whether the server accepts them as TLS.
    fn serve(&mut self) -> bool {
        let mut bytes = &self.to_server[..];
        let mut right = true;
        while !bytes.is_empty() && right {
            self.server.read_tls(&mut bytes).unwrap();
            right = self.server.process_new_packets().is_ok();
            // Reads until it would block, or the client announced its close.
            let _ = self.server.reader().read_to_end(&mut self.asked);
        }
        self.to_server.clear();
        self.flush();
        right
    }

    /// Takes what the server has to send.
    fn flush(&mut self) {
        while self.server.wants_write() {
            self.server.write_tls(&mut self.to_client).unwrap();
        }
    }

    /// Passes bytes to the client, as the driver does.
    fn deliver(&mut self, bytes: &[u8]) {
        let answers = &mut self.answers;
        self.client.received(bytes, Nanos(5), &mut |answer| answers.push(answer));
        self.client.transmit(&mut self.to_server);
    }

    /// Runs until neither side has anything to send; bytes reach the client `piece` at a time.
    fn settle(&mut self, piece: usize) {
        for _ in 0..10 {
            self.serve();
            let bytes = std::mem::take(&mut self.to_client);
            let tear = self.torn_at.saturating_sub(self.delivered).min(bytes.len());
            self.delivered += bytes.len();
            let (before, after) = bytes.split_at(tear);
            before.chunks(piece).chain(after.chunks(piece)).for_each(|bytes| self.deliver(bytes));
        }
        assert!(self.to_server.is_empty());
    }

    fn answer(&mut self, bytes: &[u8]) {
        self.server.writer().write_all(bytes).unwrap();
        self.flush();
    }

    fn close(&mut self) {
        let answers = &mut self.answers;
        self.client.peer_closed(Nanos(6), &mut |answer| answers.push(answer));
    }

    fn ends(&self) -> Vec<AnswerEnd> {
        self.answers.iter().map(|answer| answer.end).collect()
    }
}

/// A pair whose request has reached the server.
fn asked(version: &'static SupportedProtocolVersion) -> Pair {
    let mut pair = Pair::new(client(&connector(Sessions::New)), server(version));
    pair.start(&get());
    pair.settle(usize::MAX);
    assert_eq!(pair.asked, get().bytes);
    pair.asked.clear();
    pair
}

fn whole() -> AnswerEnd {
    AnswerEnd::Whole { status: 200, check: Checked::Right }
}

#[test]
fn a_connection_carries_requests_in_both_versions() {
    for (version, number) in
        [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)]
    {
        let mut pair = asked(version);
        assert_eq!(pair.server.protocol_version(), Some(number));
        assert_eq!(pair.server.server_name(), Some("localhost"));
        assert_eq!(pair.server.alpn_protocol(), Some(&b"http/1.1"[..]));
        for requests in 1..4 {
            assert!(!pair.client.room());
            pair.answer(OK);
            pair.settle(usize::MAX);
            let (id, first_byte, end) = (RequestId(requests), Nanos(5), whole());
            let expected =
                Answer { id, first_byte, end, bytes: 43, body_bytes: 5, odd: Quirk::default() };
            assert_eq!(pair.answers.pop(), Some(expected));
            assert!(pair.client.room() && pair.client.after_answer() == Next::KeepOpen);
            pair.start(&get());
            pair.settle(usize::MAX);
            assert_eq!(std::mem::take(&mut pair.asked), get().bytes);
        }
    }
}

/// Nothing that a server sends leaves a session like this: its bytes are judged when they arrive.
#[test]
fn a_session_that_cannot_go_on_ends_the_request_that_starts() {
    for version in VERSIONS {
        let mut pair = asked(version);
        pair.answer(OK);
        pair.settle(usize::MAX);
        assert!(pair.client.room());
        pair.client.incoming.extend_from_slice(b"these bytes are no record");
        let mut out = Vec::new();
        assert_eq!(pair.client.start(RequestId(2), &get(), &mut out), Some(AnswerEnd::Tls));
        assert_eq!((pair.client.room(), pair.client.after_answer()), (false, Next::Close));
        pair.close();
        assert_eq!(pair.ends(), [whole()], "it ended once");
    }
}

#[test]
fn splitting_at_every_byte_changes_nothing() {
    for version in VERSIONS {
        let torn = |torn_at, piece| {
            let mut pair = Pair::new(client(&connector(Sessions::New)), server(version));
            pair.torn_at = torn_at;
            pair.start(&get());
            pair.settle(piece);
            assert_eq!(pair.asked, get().bytes, "{torn_at} {piece}");
            pair.answer(OK);
            pair.settle(piece);
            assert_eq!(pair.ends(), [whole()], "{torn_at} {piece}");
            assert!(pair.client.room());
            pair.delivered
        };
        let whole = torn(0, usize::MAX);
        (1..whole).for_each(|at| _ = torn(at, usize::MAX));
        (1..40).for_each(|piece| _ = torn(0, piece));
    }
}

#[test]
fn bodies_of_many_records_go_both_ways() {
    for version in VERSIONS {
        let mut pair = Pair::new(client(&connector(Sessions::New)), server(version));
        let mut post = b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n".to_vec();
        post.resize(post.len() + 100_000, b'x');
        pair.server.set_buffer_limit(None);
        pair.start(&request(&post));
        pair.settle(usize::MAX);
        assert_eq!(pair.asked.len(), post.len());
        assert!(pair.asked == post, "what arrives is what was sent");
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n".to_vec();
        answer.resize(answer.len() + 300_000, b'y');
        pair.answer(&answer);
        pair.settle(60_001);
        assert_eq!(pair.ends(), [whole()]);
        assert_eq!(pair.answers[0].bytes, answer.len() as u64);
        assert!(pair.client.incoming.is_empty());
    }
}

/// An answer that ends with the close is whole only where the server announced the close.
#[test]
fn a_close_counts_only_after_close_notify() {
    let until_close = b"HTTP/1.1 200 OK\r\n\r\nuntil the close";
    for version in VERSIONS {
        let mut pair = asked(version);
        pair.answer(until_close);
        pair.server.send_close_notify();
        pair.settle(usize::MAX);
        assert_eq!((pair.ends(), pair.client.after_answer()), (vec![whole()], Next::Close));
        pair.close();
        assert_eq!(pair.ends(), [whole()], "and no second time");

        for bytes in [&until_close[..], &OK[..40], b""] {
            let mut pair = asked(version);
            pair.answer(bytes);
            pair.settle(usize::MAX);
            assert_eq!(pair.ends(), []);
            pair.close();
            assert_eq!((pair.ends(), pair.client.after_answer()), (vec![CutShort], Next::Close));
        }
        let mut pair = asked(version);
        pair.answer(&OK[..40]);
        pair.server.send_close_notify();
        pair.settle(usize::MAX);
        assert_eq!(pair.ends(), [CutShort]);
    }
}

#[test]
fn a_close_during_the_handshake_is_cut_short() {
    let mut pair = Pair::new(client(&connector(Sessions::New)), server(&TLS13));
    pair.start(&get());
    pair.close();
    assert_eq!((pair.ends(), pair.client.room()), (vec![CutShort], false));
    pair.client.reset();
    assert!(pair.client.room());
}

#[test]
fn bytes_that_are_not_tls_fail_as_tls() {
    let alert = b"\x15\x03\x03\0\x02\x02\x28";
    let no_tls: [&[u8]; 3] = [alert, b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n"];
    for bytes in no_tls {
        let mut pair = Pair::new(client(&connector(Sessions::New)), server(&TLS13));
        pair.start(&get());
        pair.to_server.clear();
        pair.deliver(bytes);
        assert_eq!((pair.ends(), pair.client.after_answer()), (vec![AnswerEnd::Tls], Next::Close));
        pair.deliver(bytes);
        pair.close();
        assert_eq!(pair.answers.len(), 1, "a request ends once");
    }
}

#[test]
fn a_damaged_record_fails_as_tls_and_sends_an_alert() {
    for version in VERSIONS {
        let mut pair = asked(version);
        pair.answer(OK);
        let mut bytes = std::mem::take(&mut pair.to_client);
        *bytes.last_mut().unwrap() ^= 1;
        pair.deliver(&bytes);
        assert_eq!(pair.ends(), [AnswerEnd::Tls]);
        assert!(!pair.to_server.is_empty(), "an alert");
        assert!(!pair.serve(), "the server takes it for an error");
    }
}

#[test]
fn a_server_without_our_protocol_sends_an_alert() {
    let other = ServerConnection::new(identity(&TLS13, b"h2").config).unwrap();
    let mut pair = Pair::new(client(&connector(Sessions::New)), other);
    pair.start(&get());
    pair.settle(usize::MAX);
    assert_eq!(pair.ends(), [AnswerEnd::Tls]);
}

#[test]
fn certificates_are_verified_if_configured() {
    for version in VERSIONS {
        let (own, other) = (identity(version, b"http/1.1"), identity(version, b"http/1.1"));
        let ends = |root: &CertificateDer<'static>, host: &str| {
            let mut roots = RootCertStore::empty();
            roots.add(root.clone()).unwrap();
            let certificates = Certificates::Roots(Arc::new(roots));
            let setup = Setup::new(host, certificates, Sessions::New).unwrap();
            let server = ServerConnection::new(own.config.clone()).unwrap();
            let mut pair = Pair::new(client(&Connector::new(&setup)), server);
            pair.start(&get());
            for _ in 0..4 {
                if !pair.serve() {
                    break;
                }
                let bytes = std::mem::take(&mut pair.to_client);
                pair.deliver(&bytes);
            }
            if pair.ends().is_empty() {
                pair.answer(OK);
                pair.settle(usize::MAX);
            }
            pair.ends()
        };
        assert_eq!(ends(&own.certificate, "localhost"), [whole()]);
        assert_eq!(ends(&other.certificate, "localhost"), [AnswerEnd::Tls]);
        assert_eq!(ends(&own.certificate, "shop.example"), [AnswerEnd::Tls]);
        assert_eq!(ends(&own.certificate, "127.0.0.1"), [AnswerEnd::Tls]);
    }
}

#[test]
fn sessions_are_resumed_if_configured() {
    for version in VERSIONS {
        for (sessions, kind) in
            [(Sessions::New, HandshakeKind::Full), (Sessions::Resumed, HandshakeKind::Resumed)]
        {
            let config = identity(version, b"http/1.1").config;
            let connection = || ServerConnection::new(config.clone()).unwrap();
            let mut pair = Pair::new(client(&connector(sessions)), connection());
            for expected in [HandshakeKind::Full, kind] {
                pair.start(&get());
                pair.settle(usize::MAX);
                pair.answer(OK);
                pair.settle(usize::MAX);
                assert_eq!(pair.answers.pop().map(|answer| answer.end), Some(whole()));
                assert_eq!(pair.server.handshake_kind(), Some(expected), "{sessions:?}");
                pair.client.reset();
                pair.server = connection();
            }
        }
    }
}

/// New keys are requested while no request is in flight; that ends nothing.
#[test]
fn messages_of_a_server_between_requests_are_no_error() {
    let mut pair = asked(&TLS13);
    pair.answer(OK);
    pair.settle(usize::MAX);
    pair.server.refresh_traffic_keys().unwrap();
    pair.settle(usize::MAX);
    assert!(pair.client.room() && pair.client.after_answer() == Next::KeepOpen);
    pair.start(&get());
    pair.settle(usize::MAX);
    pair.answer(OK);
    pair.settle(usize::MAX);
    assert_eq!(pair.ends(), [whole(), whole()]);
    // But a close ends it, and so does an answer that nobody asked for.
    for close in [true, false] {
        let mut pair = asked(&TLS13);
        pair.answer(OK);
        pair.settle(usize::MAX);
        if close {
            pair.server.send_close_notify()
        } else {
            pair.answer(OK)
        }
        pair.settle(usize::MAX);
        assert_eq!((pair.client.room(), pair.client.after_answer()), (false, Next::Close));
    }
}

#[test]
fn a_cancelled_request_ends_its_connection() {
    let mut pair = asked(&TLS13);
    let mut out = Vec::new();
    assert_eq!((pair.client.cancel(RequestId(0), &mut out), out.len()), (Next::Close, 0));
    assert_eq!((pair.client.room(), pair.client.after_answer()), (false, Next::Close));
}

#[test]
fn an_invalid_setup_reports_the_reason() {
    let error = Setup::new("not a name", Certificates::Any, Sessions::New).unwrap_err();
    assert_eq!(error.to_string(), "`not a name` is not a name that a certificate can have");
    for host in ["127.0.0.1", "::1", "shop.example"] {
        assert!(Setup::new(host, Certificates::Any, Sessions::New).is_ok(), "{host}");
    }
}

/// Damages handshakes and answers with a fixed generator: bytes are changed, cut out or doubled.
#[test]
fn a_request_ends_exactly_once_whatever_arrives() {
    let mut random = fastrand::Rng::with_seed(0x5eed);
    for version in VERSIONS {
        let config = identity(version, b"http/1.1").config;
        for round in 0..400 {
            let connection = ServerConnection::new(config.clone()).unwrap();
            let mut pair = Pair::new(client(&connector(Sessions::New)), connection);
            pair.start(&get());
            if round % 2 == 1 {
                pair.settle(usize::MAX);
                pair.answer(OK);
            }
            pair.serve();
            let mut bytes = std::mem::take(&mut pair.to_client);
            damage(&mut bytes, &mut random);
            bytes.chunks(random.usize(1..2_000)).for_each(|bytes| pair.deliver(bytes));
            pair.close();
            assert_eq!((pair.answers.len(), pair.client.room()), (1, false), "{round}");
        }
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let at = random.usize(..bytes.len());
    let to = (at + random.usize(1..20)).min(bytes.len());
    match random.u8(..4) {
        0 => bytes[at] ^= 1 << random.u8(..8),
        1 => drop(bytes.drain(at..to)),
        2 => bytes.splice(at..at, b"\x16\x03\x03\0\x04".iter().copied()).for_each(drop),
        _ => {
            let doubled = bytes[at..to].to_vec();
            bytes.splice(at..at, doubled);
        }
    }
}
