//! HTTPS over real sockets, against a small server of rustls' own.

mod certified;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use certified::config;
use rustls::server::{ServerConfig, ServerConnection};
use rustls::{HandshakeKind, StreamOwned, SupportedProtocolVersion};
use stampede_load::ammo::Request;
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::report::Second;
use stampede_load::spec::{Address, ConnectionHabit, Model, Until, Wire};
use stampede_load::time::Nanos;
use stampede_load::{Fired, Listener, Load, Stop, fire};

const SHOTS: u64 = 40;
const USERS: u32 = 3;

struct Nobody;

impl Listener for Nobody {
    fn second(&mut self, _: &Second) {}
}

/// What a connection of the server does once a request was read.
#[derive(Clone, Copy)]
enum Then {
    Answers,
    /// Answers without a length, says that it closes, closes.
    SaysClose,
    /// Answers without a length and closes without a word.
    Closes,
}

#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    resumed: AtomicU64,
    requests: AtomicU64,
}

/// A server that lives as long as the process.
fn start(version: &'static SupportedProtocolVersion, then: Then) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, config) = (Arc::new(Seen::default()), config(version));
    let watched = seen.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (config, seen, client) = (config.clone(), watched.clone(), client.unwrap());
            std::thread::spawn(move || serve(client, config, then, &seen));
        }
    });
    (address, seen)
}

/// Until the client goes; it does so without a word, which is an error here and no matter.
fn serve(client: TcpStream, config: Arc<ServerConfig>, then: Then, seen: &Seen) -> Option<()> {
    seen.connections.fetch_add(1, Ordering::Relaxed);
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
        if seen.requests.fetch_add(1, Ordering::Relaxed) < SHOTS
            && stream.conn.handshake_kind() == Some(HandshakeKind::Resumed)
        {
            seen.resumed.fetch_add(1, Ordering::Relaxed);
        }
        match then {
            Then::Answers => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").ok()?;
            }
            Then::SaysClose | Then::Closes => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").ok()?;
                if let Then::SaysClose = then {
                    stream.conn.send_close_notify();
                }
                stream.flush().ok()?;
                return stream.sock.shutdown(std::net::Shutdown::Write).ok();
            }
        }
    }
}

fn fired(address: SocketAddr, habit: ConnectionHabit, setup: Setup) -> Fired {
    let model = Model::Closed { users: USERS, until: Until::Requests(SHOTS) };
    let mut load = Load::new(Address::Tcp(address), model, []);
    load.habits.connection = habit;
    load.wire = Wire::Tls(setup);
    load.timeout = Nanos::from_secs(20);
    load.ammo = [Request::build("GET", "/", &[], b"", load.habits, None).unwrap()].into();
    let fired = fire(&load, &Stop::default(), &mut Nobody).unwrap();
    assert_eq!(fired.counts.planned, SHOTS);
    assert_eq!(fired.counts.ok + fired.counts.failed_total(), SHOTS, "{:?}", fired.counts);
    fired
}

fn setup(sessions: Sessions) -> Setup {
    Setup::new("localhost", Certificates::Any, sessions).unwrap()
}

fn all(fired: &Fired) -> Vec<(&str, u64)> {
    fired.counts.failed.iter().map(|(kind, count)| (kind.as_str(), *count)).collect()
}

#[test]
fn shots_share_a_connection_or_have_their_own() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for (habit, connections) in
            [(ConnectionHabit::KeepAlive, u64::from(USERS)), (ConnectionHabit::PerShot, SHOTS)]
        {
            let (address, seen) = start(version, Then::Answers);
            let fired = fired(address, habit, setup(Sessions::New));
            assert_eq!((fired.counts.ok, fired.connections.opened), (SHOTS, connections));
            assert_eq!(seen.connections.load(Ordering::Relaxed), connections);
            assert_eq!(seen.requests.load(Ordering::Relaxed), SHOTS);
            assert_eq!(seen.resumed.load(Ordering::Relaxed), 0);
            assert_eq!(fired.connections.never_answered, 0);
        }
    }
}

#[test]
fn sessions_are_resumed_where_that_is_asked_for() {
    let (address, seen) = start(&rustls::version::TLS13, Then::Answers);
    let fired = fired(address, ConnectionHabit::PerShot, setup(Sessions::Resumed));
    assert_eq!(fired.counts.ok, SHOTS);
    // The first of each user cannot be; a later one may come before the tickets do.
    let resumed = seen.resumed.load(Ordering::Relaxed);
    assert!((1..=SHOTS - u64::from(USERS)).contains(&resumed), "{resumed} of {SHOTS}");
}

#[test]
fn a_close_counts_where_the_server_said_so() {
    let kept = ConnectionHabit::KeepAlive;
    let (address, _) = start(&rustls::version::TLS13, Then::SaysClose);
    assert_eq!(fired(address, kept, setup(Sessions::New)).counts.ok, SHOTS);
    let (address, _) = start(&rustls::version::TLS13, Then::Closes);
    assert_eq!(all(&fired(address, kept, setup(Sessions::New))), [("net:cut-short", SHOTS)]);
}

#[test]
fn what_is_not_tls_fails_as_tls() {
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
    assert_eq!(all(&fired(plain, kept, setup(Sessions::New))), [("net:tls", SHOTS)]);

    let (address, _) = start(&rustls::version::TLS13, Then::Answers);
    let roots = Arc::new(rustls::RootCertStore::empty());
    let strict = Setup::new("localhost", Certificates::Of(roots), Sessions::New).unwrap();
    assert_eq!(all(&fired(address, kept, strict)), [("net:tls", SHOTS)]);
}
