//! Tests that nothing stays of a load, whatever the server does: no descriptor, no thread, no
//! memory. It is alone in its program, because all three belong to the process.
#![allow(clippy::duplicate_mod, reason = "servers of both kinds share their loads")]

#[path = "it/bad/mod.rs"]
mod bad;
#[allow(dead_code, reason = "what its other users need")]
#[path = "it/certified/mod.rs"]
mod certified;
#[allow(dead_code, reason = "what its other users need")]
#[path = "it/played/mod.rs"]
mod played;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bad::{LOAD_KINDS, LONG, SHORT, address, broken, endless, load, oversized, whole};
use played::{EndAction, ScriptedServer, counted, forever, read_until};
use rustls::server::{ServerConfig, ServerConnection};
use rustls::{StreamOwned, version::TLS13};
use stampede_known_server::{Behaviour, KnownServer};
use stampede_load::protocol::fastcgi::{Script, request};
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::spec::{Rule, Wire};
use stampede_load::{Generator as _, InProcess, Listener};
use stampede_model::counts::Second;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_model::stop::Stop;
use stampede_testing::allocator::{CountingAllocator, live_bytes};
use stampede_traffic::Request;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

/// What this process holds.
#[derive(Debug, PartialEq)]
struct MemoryUse {
    descriptors: usize,
    threads: usize,
}

fn memory_use() -> MemoryUse {
    let count = |directory: &str| std::fs::read_dir(directory).unwrap().count();
    MemoryUse { descriptors: count("/proc/self/fd"), threads: count("/proc/self/task") }
}

/// What is held once the kernel has removed the thread that was joined last, which is listed for a
/// moment longer.
fn settled_memory(expected: &MemoryUse) -> MemoryUse {
    let begun = Instant::now();
    loop {
        let memory_use = memory_use();
        if memory_use == *expected || begun.elapsed() > Duration::from_secs(5) {
            return memory_use;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs all protocols once.
fn all() {
    http();
    fastcgi();
    tls();
}

/// An answer, what follows it over and over, and how it ends.
type ServerScript = (&'static [u8], &'static [u8], EndAction);

/// Every end that an answer of FastCGI can have.
fn fastcgi() {
    const WHOLE: &[u8] =
        b"\x01\x06\0\x01\0\x0d\x05\0A: b\r\n\r\nhello-----\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0";
    const MORE: &[u8] = b"\x01\x06\0\x01\0\x06\0\0A: b\r\n";
    let script = Script::new("/app/index.php");
    let get = |_| request(&script, "GET", "/", &[], b"").unwrap();
    let said: [ServerScript; 7] = [
        (WHOLE, b"", EndAction::Hold),
        (WHOLE, b"", EndAction::Close),
        (&WHOLE[..20], b"", EndAction::Close),
        (&WHOLE[..20], b"", EndAction::Reset),
        (&WHOLE[..20], b"", EndAction::Hold),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", EndAction::Hold),
        (b"", MORE, EndAction::Hold),
    ];
    for said in said {
        let part = move |socket: &mut TcpStream| {
            // A request ends with an empty STDIN.
            read_until(socket, &[1, 5, 0, 1, 0, 0, 0, 0])?;
            say(socket, said)?;
            said.2.end(socket)
        };
        met(part, &Wire::FastCgi, get, said.2);
    }
}

/// The same inside TLS, and bytes that are no TLS.
fn tls() {
    const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let config = certified::config(&TLS13);
    let wire = Wire::Tls(Setup::new("localhost", Certificates::Any, Sessions::New).unwrap());
    let said: [ServerScript; 6] = [
        (WHOLE, b"", EndAction::Hold),
        (WHOLE, b"", EndAction::Close),
        (&WHOLE[..20], b"", EndAction::Close),
        (&WHOLE[..20], b"", EndAction::Reset),
        (&WHOLE[..20], b"", EndAction::Hold),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n", EndAction::Hold),
    ];
    for said in said {
        let config = config.clone();
        let part = move |socket: &mut TcpStream| {
            // It does not matter that the client has gone.
            let _ = say_inside(socket, config.clone(), said);
            said.2.end(socket)
        };
        met(part, &wire, get, said.2);
    }
    let plain = |socket: &mut TcpStream| {
        let _ = socket.read(&mut [0; 4096])?;
        socket.write_all(WHOLE)?;
        EndAction::Hold.end(socket)
    };
    met(plain, &wire, get, EndAction::Close);
}

fn get(connection: ConnectionHabit) -> Request {
    let habits = Habits { version: HttpVersion::Http11, connection };
    Request::build("GET", "/", &[], b"", habits, None).unwrap()
}

fn say(to: &mut impl Write, (bytes, endless, _): ServerScript) -> io::Result<()> {
    to.write_all(bytes)?;
    if endless.is_empty() { to.flush() } else { forever(to, endless) }
}

fn say_inside(socket: &TcpStream, config: Arc<ServerConfig>, said: ServerScript) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket.try_clone()?);
    read_until(&mut stream, b"\r\n\r\n")?;
    say(&mut stream, said)
}

/// Runs a load of each kind against a server that plays this part on each connection.
fn met(
    part: impl Fn(&mut TcpStream) -> io::Result<()> + Clone + Send + 'static,
    wire: &Wire,
    request: impl Fn(ConnectionHabit) -> Request,
    then: EndAction,
) {
    let timeout = if matches!(then, EndAction::Hold) { played::SHORT } else { played::LONG };
    for way in [played::LOAD_KINDS[0], played::LOAD_KINDS[3]] {
        let server = ScriptedServer::start(part.clone());
        let load = played::load(&server, wire.clone(), &request, way, timeout);
        counted(&server, &load, &format!("{way:?}"));
    }
}

/// Every bad answer once, on kept connections and with one connection per request.
fn http() {
    let ways = [LOAD_KINDS[0], LOAD_KINDS[3]];
    let rules =
        ["header x-cache", "body ~ /hello/", "json $.ok"].map(|it| Rule::parse(it).unwrap());
    let lists = [(whole(), LONG), (broken(), LONG), (oversized(), LONG), (endless(), SHORT)];
    for (cases, timeout) in lists {
        for (case, (kind, habit)) in cases.iter().flat_map(|case| ways.map(|way| (case, way))) {
            let server = KnownServer::start(Behaviour::answering(case.answer.clone())).unwrap();
            let mut load = load(address(&server), kind, habit, timeout);
            load.check.rules = rules.to_vec();
            let counts = InProcess.run(&load, &Stop::default(), &mut NoListener).unwrap().counts;
            let ended = counts.ok + counts.failed_total() + counts.dropped;
            assert_eq!(counts.planned, ended, "{}, {}", case.name, case.counts_as);
        }
    }
}

#[test]
#[ignore = "long: 30 s"]
fn a_bad_server_leaks_no_resources() {
    // The first round allocates what a program allocates once.
    all();
    std::thread::sleep(Duration::from_millis(100));
    let (before, bytes_before) = (memory_use(), live_bytes());
    all();
    let grown = live_bytes() - bytes_before;
    assert_eq!(settled_memory(&before), before);
    assert!(grown < GROWN_MAX, "{grown} bytes more than before");
}

/// Less than the buffer of one connection, of which there were thousands.
const GROWN_MAX: i64 = 1024;
