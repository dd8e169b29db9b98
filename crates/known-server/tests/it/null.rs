//! Tests that the null server answers everything, in whatever pieces a request arrives.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use stampede_known_server::{
    Address, Freeze, Listen, NullServer, NullServerOptions, Protocol, ServerError,
};

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn connect(server: &NullServer) -> TcpStream {
    let Address::Tcp(address) = server.address() else { panic!("not TCP") };
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    // Ends only a test that has failed already.
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn ask(stream: &mut (impl Read + Write), request: &str, expected: &str) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), expected);
}

#[test]
fn kept_connections_are_answered_again_and_again() {
    let server = NullServer::start().unwrap();
    let mut streams: Vec<TcpStream> = (0..50).map(|_| connect(&server)).collect();
    for _ in 0..20 {
        streams.iter_mut().for_each(|stream| ask(stream, GET, OK));
    }
    drop(streams);
    // A reused slot serves again.
    ask(&mut connect(&server), GET, OK);
    assert_eq!(server.answered(), 1_001);
}

#[test]
fn http_1_0_connections_are_kept_only_on_request() {
    let server = NullServer::start().unwrap();
    let kept = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok";
    let mut stream = connect(&server);
    ask(&mut stream, kept, answer);
    ask(&mut stream, kept, answer);
    for request in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"] {
        let mut stream = connect(&server);
        stream.write_all(request.as_bytes()).unwrap();
        let mut got = String::new();
        stream.read_to_string(&mut got).unwrap();
        assert_eq!(got, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    }
}

#[test]
fn requests_may_come_in_pieces_or_together() {
    let server = NullServer::start().unwrap();
    let mut stream = connect(&server);
    let post = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody";
    for byte in post[..post.len() - 1].bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    ask(&mut stream, "y", OK);
    ask(&mut stream, &format!("{GET}{post}{GET}"), &format!("{OK}{OK}{OK}"));
    let head = "HEAD / HTTP/1.1\r\n\r\n";
    ask(&mut stream, &format!("{head}{GET}"), &format!("{}{OK}", &OK[..OK.len() - 2]));
}

/// 1 500 answers before one is read. Each is a packet of its own on a Unix socket, which has room
/// for a few hundred. The rest can arrive only because the server waits for room.
#[test]
fn a_client_that_reads_late_gets_every_answer() {
    const REQUESTS: u64 = 1_500;
    let directory = tempfile::tempdir().unwrap();
    let listen = Listen::Unix(directory.path().join("null.sock"));
    let server = NullServer::start_on(&listen, None).unwrap();
    let Address::Unix(path) = server.address() else { panic!("not unix") };
    let mut stream = UnixStream::connect(path).unwrap();
    // Ends only a test that has failed already.
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all("GET / HTTP/1.1\r\n\r\n".repeat(REQUESTS as usize).as_bytes()).unwrap();
    for _ in 0..5_000 {
        if server.answered() == REQUESTS {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut got = vec![0; OK.len()];
    for _ in 0..REQUESTS {
        stream.read_exact(&mut got).unwrap();
        assert_eq!(got, OK.as_bytes());
    }
}

#[test]
fn garbage_ends_its_own_connection_only() {
    let server = NullServer::start().unwrap();
    let mut good = connect(&server);
    ask(&mut good, GET, OK);
    let mut bad = connect(&server);
    bad.write_all(b"\0\0\0\r\n\r\n").unwrap();
    assert_eq!(bad.read(&mut [0; 1]).unwrap(), 0);
    ask(&mut good, GET, OK);
}

#[test]
fn it_serves_a_unix_socket_on_its_own_cpu() {
    let directory = tempfile::tempdir().unwrap();
    let listen = Listen::Unix(directory.path().join("null.sock"));
    // The server may use whichever CPU this thread may use.
    let cpu = rustix::thread::sched_getcpu();
    let server = NullServer::start_on(&listen, Some(cpu)).unwrap();
    let Address::Unix(path) = server.address() else { panic!("not unix") };
    ask(&mut UnixStream::connect(path).unwrap(), GET, OK);
    for absent in [1_000, usize::MAX] {
        let error = NullServer::start_on(&Listen::Tcp, Some(absent)).unwrap_err();
        assert!(matches!(error, ServerError::Cpu { cpu, .. } if cpu == absent));
    }
}

#[test]
fn delayed_answers_wait_together() {
    let delay = Duration::from_millis(200);
    let options = NullServerOptions { delay, stamps: 9, ..NullServerOptions::default() };
    let server = NullServer::start_with(&Listen::Tcp, options).unwrap();
    let mut streams = [1, 2].map(|_| connect(&server));
    let mut gone = connect(&server);
    gone.write_all(GET.as_bytes()).unwrap();
    drop(gone);
    streams.iter_mut().for_each(|stream| stream.write_all(GET.as_bytes()).unwrap());
    streams.iter_mut().for_each(|stream| ask(stream, "", OK));
    let stamps = server.finish();
    let of_two = || stamps.iter().filter(|stamp| stamp.connection < 3);
    assert_eq!(of_two().count(), 2);
    for stamp in of_two() {
        assert!(stamp.before_send_ns - stamp.arrived_ns >= 200_000_000, "{stamp:?}");
    }
    // The second arrived before the first was answered.
    let arrived = of_two().map(|stamp| stamp.arrived_ns).max();
    assert!(arrived < of_two().map(|stamp| stamp.before_send_ns).min(), "{stamps:?}");
}

#[test]
fn timestamps_are_in_order_and_a_freeze_delays_answers() {
    let (at, lasts) = (Duration::ZERO, Duration::from_millis(30));
    let options = NullServerOptions {
        stamps: 3,
        freeze: Some(Freeze { at, lasts, every: None }),
        ..NullServerOptions::default()
    };
    let server = NullServer::start_with(&Listen::Tcp, options).unwrap();
    let mut stream = connect(&server);
    let numbered = GET.replace("GET / ", "GET /17 ");
    [GET, &numbered, GET, GET].into_iter().for_each(|request| ask(&mut stream, request, OK));
    assert_eq!(server.answered(), 4);
    let stamps = server.finish();
    let numbers: Vec<(u64, u64)> =
        stamps.iter().map(|stamp| (stamp.connection, stamp.number)).collect();
    assert_eq!(numbers, [(1, 0), (1, 17), (1, 0)], "as many as were asked for");
    for stamp in &stamps {
        let moments = [stamp.arrived_ns, stamp.before_send_ns, stamp.after_send_ns];
        assert!(moments.is_sorted(), "{stamps:?}");
    }
    // An answer arrives, and the next request with it, before the call that sends it returns.
    for two in stamps.windows(2) {
        assert!(two[0].before_send_ns <= two[1].arrived_ns, "{stamps:?}");
    }
    // The first request is the freeze's zero, so it is not in it; the second one is held to its
    // end.
    assert!(stamps[1].before_send_ns - stamps[0].arrived_ns >= 30_000_000, "{stamps:?}");
}

/// The body is larger than the room of a socket whose client does not read, so the last byte is
/// sent by a later call.
#[test]
fn the_stamp_is_of_the_call_that_sends_the_last_byte() {
    const BODY: usize = 16 << 20;
    let options = NullServerOptions { stamps: 1, body_bytes: BODY, ..NullServerOptions::default() };
    let server = NullServer::start_with(&Listen::Tcp, options).unwrap();
    let mut stream = connect(&server);
    stream.write_all(GET.as_bytes()).unwrap();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n");
    ask(&mut stream, "", &head);
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let room_since_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    let mut body = vec![0; BODY];
    stream.read_exact(&mut body).unwrap();
    assert!(body.chunks(2).all(|two| two == b"ok"));
    let [stamp] = server.finish()[..] else { panic!("one request, one stamp") };
    assert!(stamp.before_send_ns >= room_since_ns, "{stamp:?} {room_since_ns}");
}

#[test]
fn it_speaks_tls() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.der().clone(), made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivateKeyDer::try_from(key).unwrap();
    let config = Arc::new(config.with_single_cert(vec![certificate.clone()], key).unwrap());
    let (protocol, body_bytes) = (Protocol::Tls(config), 100_000);
    let options =
        NullServerOptions { protocol, body_bytes, stamps: 2, ..NullServerOptions::default() };
    let server = NullServer::start_with(&Listen::Tcp, options).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let client = ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, connect(&server));
    let body = "ok".repeat(50_000);
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{body}");
    ask(&mut stream, &GET.replace("/ ", "/5 "), &answer);
    ask(&mut stream, &GET.replace("/ ", "/6 "), &answer);
    let numbers: Vec<u64> = server.finish().iter().map(|stamp| stamp.number).collect();
    assert_eq!(numbers, [5, 6]);
}

#[test]
fn it_speaks_fastcgi_on_a_kept_connection() {
    let protocol = Protocol::FastCgi;
    let options = NullServerOptions { protocol, stamps: 2, ..NullServerOptions::default() };
    let server = NullServer::start_with(&Listen::Tcp, options).unwrap();
    let mut stream = connect(&server);
    let begin = "\x01\x01\0\x01\0\x08\0\0\0\x01\x01\0\0\0\0\0";
    let params = "\x01\x04\0\x01\0\x10\0\0\x0b\x03REQUEST_URI/17";
    let ends = "\x01\x04\0\x01\0\0\0\0\x01\x05\0\x01\0\0\0\0";
    let text = "Status: 200 OK\r\nContent-Type: text/plain\r\n\r\nok";
    let answer = format!(
        "\x01\x06\0\x01\0{}\0\0{text}\x01\x06\0\x01\0\0\0\0\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0",
        char::from(u8::try_from(text.len()).unwrap())
    );
    for _ in 0..2 {
        ask(&mut stream, &format!("{begin}{params}{ends}"), &answer);
    }
    let numbers: Vec<u64> = server.finish().iter().map(|stamp| stamp.number).collect();
    assert_eq!(numbers, [17, 17]);
}

/// See `grow_descriptor_table`: without it 50 connections would be accepted as well, and 1 000 late.
#[test]
fn no_connection_waits_for_the_table_of_descriptors_to_grow() {
    let _server = NullServer::start().unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    assert!(size.trim().parse::<u64>().unwrap() >= limit.unwrap_or(u64::MAX).min(16_384));
}
