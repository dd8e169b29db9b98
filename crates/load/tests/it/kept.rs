//! Tests servers that end kept connections without saying so, and servers that send more than they
//! announced, over real sockets.

#[path = "ways/mod.rs"]
mod ways;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stampede_load::{Generator as _, InProcess, Listener, Load, LoadResult};
use stampede_model::counts::Second;
use stampede_model::kept::KeptLimit;
use stampede_model::load::{Address, Arrivals, ConnectionHabit, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::Request;
use ways::{LOAD_KINDS, LONG, engine, model};

/// Starts a server that does `part` on each connection, in a thread that ends with the client.
fn start(part: impl Fn(&mut TcpStream) -> io::Result<()> + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, part) = (socket.unwrap(), part.clone());
            // The client may go at any time.
            std::thread::spawn(move || socket.set_nodelay(true).and_then(|()| part(&mut socket)));
        }
    });
    address
}

/// Reads the head of a request.
fn read_request(socket: &mut TcpStream) -> io::Result<()> {
    let (mut all, mut read) = (Vec::new(), [0; 4096]);
    while !all.ends_with(b"\r\n\r\n") {
        match socket.read(&mut read)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => all.extend_from_slice(&read[..bytes]),
        }
    }
    Ok(())
}

/// How a server ends a connection.
#[derive(Clone, Copy, Debug)]
enum EndAction {
    /// What still arrives is read, so that nothing is reset.
    Close,
    Reset,
}

impl EndAction {
    fn end(self, socket: &mut TcpStream) -> io::Result<()> {
        match self {
            EndAction::Close => {
                socket.shutdown(Shutdown::Write)?;
                while socket.read(&mut [0; 4096])? > 0 {}
                Ok(())
            }
            EndAction::Reset => {
                Ok(rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
            }
        }
    }
}

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

fn open(schedule: &str, max_in_flight: u32) -> Model {
    Model::Open {
        schedule: Segments::parse(schedule).unwrap(),
        arrivals: Arrivals::Uniform,
        max_in_flight,
        when_full: WhenFull::Queue,
    }
}

fn closed(concurrency: u32, requests: u64) -> Model {
    Model::Closed { concurrency, until: Until::Requests(requests) }
}

/// Runs a load. All its requests are answered, or meet the end of a kept connection.
fn load_result(server: SocketAddr, model: Model, about: &str) -> LoadResult {
    let result = run(server, model, ConnectionHabit::KeepAlive);
    let stale = stale(&result);
    assert_eq!(result.counts.failed_total(), stale, "{about}: {:?}", result.counts);
    assert_eq!(result.counts.ok + stale, result.counts.planned, "{about}: {:?}", result.counts);
    result
}

fn run(server: SocketAddr, model: Model, connection: ConnectionHabit) -> LoadResult {
    let get = Request::encoded(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut load = Load::new(Address::Tcp(server), model, [get]);
    (load.timeout, load.engine, load.habits.connection) = (LONG, engine(), connection);
    InProcess.run(&load, &Stop::default(), &mut NoListener).unwrap()
}

fn stale(result: &LoadResult) -> u64 {
    result.counts.failed.get("net:stale").copied().unwrap_or(0)
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// How a server ends a connection that carried ten answers.
#[derive(Clone, Copy, Debug)]
enum TenthAnswer {
    /// At once behind the answer, while the next request may be on its way.
    AtOnce(EndAction),
    /// When the next request has come.
    AtNext(EndAction),
}

fn ten_answers(socket: &mut TcpStream, then: TenthAnswer) -> io::Result<()> {
    for _ in 0..10 {
        read_request(socket)?;
        socket.write_all(OK)?;
    }
    match then {
        TenthAnswer::AtOnce(EndAction::Reset) => EndAction::Reset.end(socket),
        // Nothing more is read, so a request that crosses the close is reset.
        TenthAnswer::AtOnce(_) => Ok(()),
        TenthAnswer::AtNext(end) => {
            read_request(socket)?;
            end.end(socket)
        }
    }
}

#[test]
fn a_close_after_every_tenth_answer_is_stale_in_both_models() {
    use TenthAnswer::{AtNext, AtOnce};
    let ends = [EndAction::Close, EndAction::Reset];
    for then in ends.into_iter().flat_map(|end| [AtOnce(end), AtNext(end)]) {
        let server = start(move |socket| ten_answers(socket, then));
        let about = format!("{then:?}, closed");
        let result = load_result(server, closed(1, 55), &about);
        let (met, kept) = (stale(&result), result.connections.kept);
        assert_eq!(kept.stale.map_or(0, |met| met.requests), met, "{about}");
        assert!(kept.stale.is_none_or(|met| (met.answers_min, met.answers_max) == (10, 10)));
        if matches!(then, AtNext(_)) {
            // The 11th request of each connection: 55 are five connections.
            assert_eq!((result.counts.ok, met, result.connections.opened), (50, 5, 5), "{about}");
            let limit = Some(KeptLimit::Answers { answers: 10 });
            assert_eq!(kept.limit(), limit, "{about}");
        }
        for max_in_flight in [1, 4] {
            let about = format!("{then:?}, open, {max_in_flight}");
            let result = load_result(server, open("const(400,250ms)", max_in_flight), &about);
            let kept = result.connections.kept;
            assert_eq!(kept.stale.map_or(0, |met| met.requests), stale(&result), "{about}");
        }
    }
}

/// Closes a connection on which a request comes after 100 ms or more of idle time, as servers do
/// whose close crosses the request. Counts the connections that it closed.
fn idle_limit(socket: &mut TcpStream, closed: &AtomicU64) -> io::Result<()> {
    let mut answered: Option<Instant> = None;
    loop {
        read_request(socket)?;
        if answered.is_some_and(|at| at.elapsed() >= IDLE_MAX) {
            closed.fetch_add(1, Ordering::SeqCst);
            return EndAction::Close.end(socket);
        }
        answered = Some(Instant::now());
        socket.write_all(OK)?;
    }
}

const IDLE_MAX: Duration = Duration::from_millis(100);

#[test]
fn a_close_after_100_ms_of_idle_time_is_stale_with_that_time() {
    let closes = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&closes);
    let server = start(move |socket| idle_limit(socket, &counts));
    // A user's connection is never idle.
    let result = load_result(server, closed(2, 100), "closed");
    assert_eq!(stale(&result), closes.load(Ordering::SeqCst));
    // 50 requests that are 10 ms apart, then 8 that are 250 ms apart.
    closes.store(0, Ordering::SeqCst);
    let result = load_result(server, open("const(100,500ms) const(4,2s)", 1), "open");
    let met = stale(&result);
    assert_eq!(met, closes.load(Ordering::SeqCst));
    assert!(met >= 2, "every second of the slow ones: {:?}", result.counts);
    let kept = result.connections.kept;
    // Our span lies inside the server's, from its answer to the next request.
    assert!(kept.answered_idle_max.is_some_and(|idle| idle.0 < IDLE_MAX.as_nanos() as u64));
    let closed = kept.stale.unwrap();
    assert_eq!(closed.requests, met);
    assert!(closed.idle_min > Nanos::from_millis(50), "{kept:?}");
}

#[test]
fn a_new_connection_is_never_stale() {
    let server = start(|socket| {
        read_request(socket)?;
        EndAction::Close.end(socket)
    });
    for (kind, connection) in LOAD_KINDS {
        let result = run(server, model(kind, LONG, 12, 3), connection);
        assert_eq!(result.counts.failed, [("net:cut-short".to_owned(), 12)].into());
        assert_eq!(result.connections.kept.stale, None, "{kind:?}, {connection:?}");
    }
}

/// The answer announces two bytes of the three that come with it.
#[test]
fn bytes_beyond_an_answers_end_are_counted_and_the_connection_is_replaced() {
    let server = start(|socket| {
        loop {
            read_request(socket)?;
            socket.write_all(&[OK, b"!"].concat())?;
        }
    });
    for model in [closed(3, 30), open("const(200,150ms)", 10)] {
        let result = load_result(server, model, "surplus");
        assert_eq!((result.counts.ok, result.connections.opened), (30, 30));
        assert_eq!(result.aside.surplus_answers, 30);
    }
}

/// They come in a write of their own: with the answer, while the connection is idle, or in place of
/// the next answer. Whatever they meet, they count for the answer that they follow.
#[test]
fn later_bytes_beyond_an_answers_end_never_make_the_next_answer_malformed() {
    let server = start(|socket| {
        loop {
            read_request(socket)?;
            socket.write_all(OK)?;
            std::thread::sleep(Duration::from_millis(2));
            socket.write_all(b"surplus")?;
        }
    });
    let result = load_result(server, closed(3, 30), "closed");
    // A user's next request is on its way before they come, unless this thread is late.
    let surplus = result.aside.surplus_answers;
    assert!(surplus > 0 && surplus >= stale(&result), "{surplus}: {:?}", result.counts);
    assert_eq!(result.connections.kept.stale, None, "the server closed nothing");
    let result = load_result(server, open("const(50,400ms)", 10), "open");
    assert!(result.aside.surplus_answers > 0, "{:?}", result.counts);
}
