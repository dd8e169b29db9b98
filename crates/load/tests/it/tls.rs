//! Tests HTTPS over real sockets, against a small server built on rustls.

#[path = "certified/mod.rs"]
mod certified;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use certified::config;
use rustls::server::{ServerConfig, ServerConnection};
use rustls::{HandshakeKind, StreamOwned, SupportedProtocolVersion};
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::spec::Wire;
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, ConnectionHabit, Model, Until};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::Request;

const REQUESTS: u64 = 40;
const CONCURRENCY: u32 = 3;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

/// What the server does on a connection once a request was read.
#[derive(Clone, Copy)]
enum ServerAction {
    Answers,
    /// Answers without a length, announces its close, then closes.
    SaysClose,
    /// Answers without a length, and closes without announcing it.
    Closes,
}

#[derive(Default)]
struct ServerCounts {
    connections: AtomicU64,
    resumed: AtomicU64,
    requests: AtomicU64,
    /// The names that the handshakes asked for, `-` where there was none.
    names: Mutex<Vec<String>>,
}

/// A server that lives as long as the process.
fn start(
    version: &'static SupportedProtocolVersion,
    action: ServerAction,
) -> (SocketAddr, Arc<ServerCounts>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (counts, config) = (Arc::new(ServerCounts::default()), config(version));
    let watched = counts.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (config, counts, client) = (config.clone(), watched.clone(), client.unwrap());
            std::thread::spawn(move || serve(client, config, action, &counts));
        }
    });
    (address, counts)
}

/// Serves until the client goes, which it does without a `close_notify`. This is an error here, and
/// does not matter.
fn serve(
    client: TcpStream,
    config: Arc<ServerConfig>,
    action: ServerAction,
    counts: &ServerCounts,
) -> Option<()> {
    counts.connections.fetch_add(1, Ordering::Relaxed);
    client.set_nodelay(true).ok()?;
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, client);
    let mut request = Vec::new();
    let mut read = [0; 4096];
    loop {
        let bytes = stream.read(&mut read).ok().filter(|bytes| *bytes > 0)?;
        request.extend_from_slice(&read[..bytes]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        request.clear();
        let name = stream.conn.server_name().unwrap_or("-").to_owned();
        counts.names.lock().ok()?.push(name);
        if counts.requests.fetch_add(1, Ordering::Relaxed) < REQUESTS
            && stream.conn.handshake_kind() == Some(HandshakeKind::Resumed)
        {
            counts.resumed.fetch_add(1, Ordering::Relaxed);
        }
        match action {
            ServerAction::Answers => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").ok()?;
            }
            ServerAction::SaysClose | ServerAction::Closes => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").ok()?;
                if let ServerAction::SaysClose = action {
                    stream.conn.send_close_notify();
                }
                stream.flush().ok()?;
                return stream.sock.shutdown(std::net::Shutdown::Write).ok();
            }
        }
    }
}

fn load(address: SocketAddr, habit: ConnectionHabit, setup: Setup) -> Load {
    let model = Model::Closed { concurrency: CONCURRENCY, until: Until::Requests(REQUESTS) };
    let mut load = Load::new(Address::Tcp(address), model, []);
    load.habits.connection = habit;
    load.wire = Wire::Tls(setup);
    load.timeout = Nanos::from_secs(20);
    load.traffic = [Request::build("GET", "/", &[], b"", load.habits, None).unwrap()].into();
    load
}

fn load_result(address: SocketAddr, habit: ConnectionHabit, setup: Setup) -> LoadResult {
    let load = load(address, habit, setup);
    let result = InProcess.run(&load, &Stop::default(), &mut NoListener).unwrap();
    assert_eq!(result.counts.planned, REQUESTS);
    assert_eq!(result.counts.ok + result.counts.failed_total(), REQUESTS, "{:?}", result.counts);
    result
}

fn setup(sessions: Sessions) -> Setup {
    Setup::new("localhost", Certificates::Any, sessions).unwrap()
}

fn all(result: &LoadResult) -> Vec<(&str, u64)> {
    result.counts.failed.iter().map(|(kind, count)| (kind.as_str(), *count)).collect()
}

/// An address is not sent (RFC 6066 section 3).
#[test]
fn the_server_is_asked_for_the_name_of_the_setup() {
    for (host, expected) in [("shop.test", "shop.test"), ("127.0.0.1", "-"), ("::1", "-")] {
        let (address, counts) = start(&rustls::version::TLS13, ServerAction::Answers);
        let setup = Setup::new(host, Certificates::Any, Sessions::New).unwrap();
        let result = load_result(address, ConnectionHabit::KeepAlive, setup);
        assert_eq!(result.counts.ok, REQUESTS);
        let names = counts.names.lock().unwrap();
        assert_eq!(*names, [expected; REQUESTS as usize], "{host}");
    }
}

#[test]
fn requests_share_a_connection_or_have_their_own() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for (habit, connections) in [
            (ConnectionHabit::KeepAlive, u64::from(CONCURRENCY)),
            (ConnectionHabit::PerRequest, REQUESTS),
        ] {
            let (address, counts) = start(version, ServerAction::Answers);
            let result = load_result(address, habit, setup(Sessions::New));
            assert_eq!((result.counts.ok, result.connections.opened), (REQUESTS, connections));
            assert_eq!(counts.connections.load(Ordering::Relaxed), connections);
            assert_eq!(counts.requests.load(Ordering::Relaxed), REQUESTS);
            assert_eq!(counts.resumed.load(Ordering::Relaxed), 0);
            assert_eq!(result.connections.never_answered, 0);
        }
    }
}

#[test]
fn sessions_are_resumed_if_configured() {
    let (address, counts) = start(&rustls::version::TLS13, ServerAction::Answers);
    let result = load_result(address, ConnectionHabit::PerRequest, setup(Sessions::Resumed));
    assert_eq!(result.counts.ok, REQUESTS);
    // The first connection of each user cannot be resumed; a later one may come before the tickets
    // do.
    let resumed = counts.resumed.load(Ordering::Relaxed);
    assert!((1..=REQUESTS - u64::from(CONCURRENCY)).contains(&resumed), "{resumed} of {REQUESTS}");
}

#[test]
fn connections_and_sessions_of_a_warm_up_are_kept() {
    const HALF: u64 = REQUESTS / 2;
    let half = Model::Closed { concurrency: CONCURRENCY, until: Until::Requests(HALF) };
    let sent = |habit, sessions| {
        let (address, counts) = start(&rustls::version::TLS13, ServerAction::Answers);
        let load = load(address, habit, setup(sessions));
        let load = Load { warm_up: Some(half.clone()), model: half.clone(), ..load };
        let result = InProcess.run(&load, &Stop::default(), &mut NoListener).unwrap();
        assert_eq!(result.counts.ok, HALF);
        (result.connections.opened, counts.resumed.load(Ordering::Relaxed))
    };
    assert_eq!(sent(ConnectionHabit::KeepAlive, Sessions::New), (0, 0));
    let (opened, resumed) = sent(ConnectionHabit::PerRequest, Sessions::Resumed);
    assert_eq!(opened, HALF);
    // The first connections of the warm-up are new, so that it cannot reach this by itself.
    assert!(resumed >= HALF, "{resumed}");
}

#[test]
fn a_close_counts_only_after_close_notify() {
    let kept = ConnectionHabit::KeepAlive;
    let (address, _) = start(&rustls::version::TLS13, ServerAction::SaysClose);
    assert_eq!(load_result(address, kept, setup(Sessions::New)).counts.ok, REQUESTS);
    let (address, _) = start(&rustls::version::TLS13, ServerAction::Closes);
    assert_eq!(
        all(&load_result(address, kept, setup(Sessions::New))),
        [("net:cut-short", REQUESTS)]
    );
}

#[test]
fn bytes_that_are_not_tls_fail_as_tls() {
    let kept = ConnectionHabit::KeepAlive;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let plain = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    assert_eq!(all(&load_result(plain, kept, setup(Sessions::New))), [("net:tls", REQUESTS)]);

    let (address, _) = start(&rustls::version::TLS13, ServerAction::Answers);
    let roots = Arc::new(rustls::RootCertStore::empty());
    let strict = Setup::new("localhost", Certificates::Roots(roots), Sessions::New).unwrap();
    assert_eq!(all(&load_result(address, kept, strict)), [("net:tls", REQUESTS)]);
}
