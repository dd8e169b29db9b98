//! Servers that play a part by hand on real sockets, and the loads that meet them.

#[path = "../ways/mod.rs"]
mod ways;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stampede_load::spec::{Check, Wire};
use stampede_load::{Generator as _, InProcess, Listener, Load};
use stampede_model::counts::{End, Second};
use stampede_model::load::{Address, ConnectionHabit};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::Request;
pub use ways::{Kind, LOAD_KINDS, LONG, SHORT};
use ways::{engine, model};

/// Requests of each load.
pub const REQUESTS: u64 = 12;
/// Ways in which a case is sent: only two of them where every request takes the whole timeout.
pub fn load_kinds(timeout: Nanos) -> Vec<(Kind, ConnectionHabit)> {
    if timeout == SHORT { vec![LOAD_KINDS[0], LOAD_KINDS[3]] } else { LOAD_KINDS.to_vec() }
}

/// How a connection ends on which the server has sent everything.
#[derive(Clone, Copy, Debug)]
pub enum EndAction {
    /// It is closed, but what still arrives is read, so that nothing is reset.
    Close,
    Reset,
    /// The server does not end it.
    Hold,
}

impl EndAction {
    pub fn end(self, socket: &mut TcpStream) -> io::Result<()> {
        match self {
            EndAction::Reset => {
                return Ok(rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO))?);
            }
            EndAction::Close => socket.shutdown(Shutdown::Write)?,
            EndAction::Hold => {}
        }
        while socket.read(&mut [0; 4096])? > 0 {}
        Ok(())
    }
}

/// A server that plays the same part on each connection, each in its own thread. Ends when dropped.
pub struct ScriptedServer {
    pub address: SocketAddr,
    state: Arc<ServerState>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ServerState {
    connections: AtomicU64,
    gone: AtomicU64,
    is_over: AtomicBool,
}

impl ScriptedServer {
    /// Starts the server. `part` may fail, because the client may go at any time.
    pub fn start(
        part: impl Fn(&mut TcpStream) -> io::Result<()> + Clone + Send + 'static,
    ) -> ScriptedServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(ServerState::default());
        let watched = Arc::clone(&state);
        let accepting = std::thread::spawn(move || {
            for socket in listener.incoming() {
                if watched.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (mut socket, part, state) = (socket.unwrap(), part.clone(), watched.clone());
                state.connections.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let _ = socket.set_nodelay(true).and_then(|()| part(&mut socket));
                    state.gone.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        ScriptedServer { address, state, accepting: Some(accepting) }
    }

    /// Number of accepted connections.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Whether this many connections were accepted and every part has ended; each part waits until
    /// its client goes.
    fn all_clients_left(&self, opened: u64) -> bool {
        let begun = Instant::now();
        let is_left = || {
            let gone = self.state.gone.load(Ordering::SeqCst);
            gone >= opened && gone == self.connections()
        };
        while !is_left() {
            if begun.elapsed() > Duration::from_secs(20) {
                return false;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        true
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let ended = self.accepting.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_some_and(|ended| ended.is_ok()));
    }
}

/// Writes until the client goes.
pub fn forever(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let many = bytes.repeat(1 + 4096 / bytes.len());
    loop {
        to.write_all(&many)?;
    }
}

/// Reads until the received bytes end with `end`.
pub fn read_until(from: &mut impl Read, end: &[u8]) -> io::Result<()> {
    let (mut all, mut read) = (Vec::new(), [0; 4096]);
    while !all.ends_with(end) {
        match from.read(&mut read)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => all.extend_from_slice(&read[..bytes]),
        }
    }
    Ok(())
}

pub fn load(
    server: &ScriptedServer,
    wire: Wire,
    request: impl Fn(ConnectionHabit) -> Request,
    (kind, connection): (Kind, ConnectionHabit),
    timeout: Nanos,
) -> Load {
    let target = Address::Tcp(server.address);
    let mut load = Load::new(target, model(kind, timeout, REQUESTS, 3), [request(connection)]);
    load.habits.connection = connection;
    let check = Check { body_contains: b"hello".to_vec(), ..Check::default() };
    Load { wire, timeout, check, engine: engine(), ..load }
}

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

/// Runs a load and checks what holds for every load. Returns how many requests counted as what,
/// `ok` included.
pub fn counted(server: &ScriptedServer, load: &Load, about: &str) -> BTreeMap<String, u64> {
    let result = InProcess.run(load, &Stop::default(), &mut NoListener).unwrap();
    let counts = &result.counts;
    assert_eq!(counts.planned, REQUESTS, "{about}");
    assert_eq!(counts.planned, counts.ok + counts.failed_total() + counts.dropped, "{about}");
    assert_eq!(counts.started, counts.ok + counts.failed_total(), "{about}");
    assert_eq!(result.service_time_all.len(), counts.started, "{about}");
    assert_eq!(result.end, End::Complete, "{about}");
    assert!(load.timeout == SHORT || result.lasted < LONG, "{about} lasted {:?}", result.lasted);
    // A connection that is reset at once may be reset before `connect` returns: it was never open
    // here.
    let opened = result.connections.opened;
    assert!(server.all_clients_left(opened), "{about}: a connection stayed open, or never came");
    let mut all = counts.failed.clone();
    all.insert("ok".to_owned(), counts.ok);
    all.insert("dropped".to_owned(), counts.dropped);
    all.retain(|_, count| *count > 0);
    all
}

/// Like [`counted`]; every request must count as `expected`. With a short timeout, a busy machine
/// may let it pass before a scheduled request was started, which is then dropped.
pub fn each_counts_as(server: &ScriptedServer, load: &Load, expected: &str, about: &str) {
    let mut counts = counted(server, load, about);
    let dropped = match load.timeout {
        SHORT => counts.remove("dropped").unwrap_or(0),
        _ => 0,
    };
    let expected = BTreeMap::from([(expected.to_owned(), REQUESTS - dropped)]);
    assert_eq!(counts, expected, "{about}");
    if load.timeout == SHORT {
        assert_eq!(server.connections(), REQUESTS - dropped, "{about}");
    }
}
