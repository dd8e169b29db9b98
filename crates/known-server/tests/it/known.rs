//! Tests that each behaviour is as described, seen by a plain client.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use stampede_known_server::{
    Accept, Address, Answer, Behaviour, ClockZero, ConnectionAction, Freeze, KnownServer, Listen,
    Reply, Workers, Writing,
};

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const OK: &str = "HTTP/1.1 200 Known\r\nContent-Length: 2\r\n\r\nok";

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn connect(server: &KnownServer) -> TcpStream {
    let Address::Tcp(address) = server.address() else { panic!("not TCP") };
    let stream = TcpStream::connect(address).unwrap();
    // Ends only a test that has failed already.
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn asking(server: &KnownServer, request: &str) -> TcpStream {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Reads exactly what is expected.
fn expect(stream: &mut impl Read, expected: &str) {
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), expected);
}

/// Reads to the end: what was received, and whether it ended in order.
fn to_end(stream: &mut impl Read) -> (String, Option<ErrorKind>) {
    let mut got = Vec::new();
    let error = stream.read_to_end(&mut got).err().map(|error| error.kind());
    (String::from_utf8(got).unwrap(), error)
}

/// Checks that nothing arrives for a while, and that the connection lives.
fn nothing_comes(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(ms(50))).unwrap();
    let error = stream.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
}

fn answering(answer: Answer) -> KnownServer {
    KnownServer::start(Behaviour::answering(answer)).unwrap()
}

#[test]
fn a_connection_carries_many_requests_and_all_is_counted() {
    let server = answering(Answer::ok());
    let mut first = connect(&server);
    for _ in 0..3 {
        first.write_all(GET.as_bytes()).unwrap();
        expect(&mut first, OK);
    }
    let mut second = asking(&server, "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody");
    expect(&mut second, OK);
    let journal = server.journal();
    assert_eq!((journal.requests, journal.connections, journal.connections_open_max), (4, 2, 2));
    assert_eq!((journal.in_flight_max, journal.arrivals_ns.len()), (1, 4));
    assert!(journal.arrivals_ns.is_sorted());
}

#[test]
fn a_unix_socket_serves_and_its_path_goes_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.sock");
    let listen = Listen::Unix(path.clone());
    let server = KnownServer::start_on(&listen, Behaviour::default()).unwrap();
    assert!(KnownServer::start_on(&listen, Behaviour::default()).is_err());
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(GET.as_bytes()).unwrap();
    expect(&mut stream, OK);
    drop(server);
    assert!(!path.exists());
}

#[test]
fn connections_are_kept_or_closed_as_asked() {
    let server = answering(Answer::ok());
    for request in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"] {
        let (got, error) = to_end(&mut asking(&server, request));
        assert_eq!(error, None);
        assert!(got.contains("\r\nConnection: close\r\n"), "{got}");
    }
    let kept = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let mut stream = asking(&server, kept);
    let answer = "HTTP/1.1 200 Known\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok";
    expect(&mut stream, answer);
    stream.write_all(kept.as_bytes()).unwrap();
    expect(&mut stream, answer);
}

#[test]
fn each_connection_action_does_what_its_name_says() {
    let half = &OK[..30];
    for (answer, got, error) in [
        (Answer::ok().then(ConnectionAction::Close), OK, None),
        (Answer::none(ConnectionAction::Close), "", None),
        (Answer::none(ConnectionAction::Reset), "", Some(ErrorKind::ConnectionReset)),
        (Answer::ok().cut_at(30).then(ConnectionAction::Close), half, None),
        (
            Answer::ok().cut_at(30).then(ConnectionAction::Reset),
            half,
            Some(ErrorKind::ConnectionReset),
        ),
        (Answer::raw("garbage").then(ConnectionAction::Close), "garbage", None),
    ] {
        let server = answering(answer.clone());
        let seen = to_end(&mut asking(&server, GET));
        assert_eq!((seen.0.as_str(), seen.1), (got, error), "{answer:?}");
    }
}

#[test]
fn an_announced_close_is_in_the_headers() {
    let server = answering(Answer::ok().then(ConnectionAction::AnnouncedClose));
    let (got, error) = to_end(&mut asking(&server, GET));
    assert_eq!((got.contains("\r\nConnection: close\r\n"), error), (true, None));
}

#[test]
fn unanswered_requests_are_counted_and_held() {
    let server = answering(Answer::none(ConnectionAction::Hold));
    let mut stream = asking(&server, GET);
    nothing_comes(&mut stream);
    let journal = server.journal();
    assert_eq!((journal.requests, journal.in_flight_max), (1, 1));
}

#[test]
fn never_accepted_connections_look_open_and_stay_silent() {
    let behaviour = Behaviour { accept: Accept::Never, ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    nothing_comes(&mut asking(&server, GET));
    let journal = server.journal();
    assert_eq!((journal.connections, journal.requests), (0, 0));
}

#[test]
fn with_a_full_backlog_no_connect_completes() {
    let behaviour = Behaviour { accept: Accept::NeverFull, ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    let Address::Tcp(address) = server.address() else { panic!("not TCP") };
    for _ in 0..3 {
        let error = TcpStream::connect_timeout(address, ms(50)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}

#[test]
fn service_time_passes_before_the_first_byte_on_many_connections_at_once() {
    let server = KnownServer::start(Behaviour::answering_after(ms(100), Answer::ok())).unwrap();
    let begin = Instant::now();
    let mut streams: Vec<TcpStream> = (0..20).map(|_| asking(&server, GET)).collect();
    streams.iter_mut().for_each(|stream| expect(stream, OK));
    assert!(begin.elapsed() >= ms(100));
    // One after the other, they would have met one at a time.
    assert!(server.journal().in_flight_max > 1);
}

#[test]
fn hundreds_of_connections_are_open_at_once() {
    // Both ends are ours: well below the usual 1 024 open files.
    const CONNECTIONS: u64 = 300;
    let server = answering(Answer::ok());
    let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| asking(&server, GET)).collect();
    streams.iter_mut().for_each(|stream| expect(stream, OK));
    let journal = server.journal();
    assert_eq!((journal.requests, journal.connections_open_max), (CONNECTIONS, CONNECTIONS));
}

#[test]
fn one_worker_answers_one_request_after_the_other() {
    let behaviour = Behaviour {
        workers: Workers::PerRequest(1),
        ..Behaviour::answering_after(ms(20), Answer::ok())
    };
    let server = KnownServer::start(behaviour).unwrap();
    let begin = Instant::now();
    let mut streams: Vec<TcpStream> = (0..5).map(|_| asking(&server, GET)).collect();
    streams.iter_mut().for_each(|stream| expect(stream, OK));
    assert!(begin.elapsed() >= ms(5 * 20));
    assert_eq!(server.journal().connections, 5);
}

#[test]
fn a_worker_held_by_its_connection_starves_the_others() {
    let behaviour = Behaviour { workers: Workers::PerConnection(1), ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    let mut first = asking(&server, GET);
    expect(&mut first, OK);
    let mut second = asking(&server, GET);
    nothing_comes(&mut second);
    // The first one has its worker whenever it sends a request.
    first.write_all(GET.as_bytes()).unwrap();
    expect(&mut first, OK);
    assert_eq!(server.journal().connections, 1);
    drop(first);
    expect(&mut second, OK);
    assert_eq!(server.journal().connections, 2);
}

#[test]
fn a_freeze_delays_requests_in_progress() {
    let freeze = Some(Freeze { at: ms(0), lasts: ms(80), every: None });
    let behaviour = Behaviour { freeze, zero: ClockZero::FirstRequest, ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    let begin = Instant::now();
    let mut stream = asking(&server, GET);
    expect(&mut stream, OK);
    assert!(begin.elapsed() >= ms(80));
    let arrived = server.journal().arrivals_ns[0];
    assert!(Duration::from_nanos(arrived) < ms(80), "the clock begins with the request");
}

#[test]
fn torn_writes_arrive_in_pieces() {
    let writing = Writing::Torn { bytes: 1, gap: ms(2) };
    let server = answering(Answer::ok().written(writing));
    let mut stream = asking(&server, GET);
    let (mut got, mut reads, mut read) = (Vec::new(), 0, [0; 64]);
    while got.len() < OK.len() {
        let bytes = stream.read(&mut read).unwrap();
        got.extend_from_slice(&read[..bytes]);
        reads += 1;
    }
    assert_eq!(got, OK.as_bytes());
    assert!(reads > 1, "{reads} reads");
}

#[test]
fn every_nth_request_gets_its_own_reply() {
    let teapot = Reply { answer: Answer::new(418, ""), ..Reply::default() };
    let behaviour = Behaviour { exceptions: vec![(3, teapot)], ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    for number in 1..=7 {
        let mut stream = asking(&server, GET);
        let expected = if number % 3 == 0 { "HTTP/1.1 418" } else { "HTTP/1.1 200" };
        expect(&mut stream, expected);
    }
}

#[test]
fn shutdown_wakes_every_thread_wherever_it_waits() {
    let held = answering(Answer::none(ConnectionAction::Hold));
    let slow = KnownServer::start(Behaviour::answering_after(ms(3_600_000), Answer::ok())).unwrap();
    let huge = answering(Answer::new(200, vec![b'x'; 32 << 20]));
    let idle = answering(Answer::ok());
    let queued = KnownServer::start(Behaviour {
        workers: Workers::PerRequest(1),
        ..Behaviour::answering_after(ms(3_600_000), Answer::ok())
    })
    .unwrap();
    let clients: Vec<TcpStream> =
        [&held, &slow, &huge, &queued, &queued].map(|server| asking(server, GET)).into();
    let unasked = connect(&idle);
    for server in [&held, &slow, &huge] {
        let mut tries = 0;
        while server.journal().requests < 1 && tries < 10_000 {
            std::thread::sleep(ms(1));
            tries += 1;
        }
    }
    // Each drop joins its threads: the test is that this ends.
    drop([held, slow, huge, queued, idle]);
    drop((clients, unasked));
}

#[test]
fn an_answer_can_be_split_at_one_byte() {
    let gap = ms(30);
    let server = answering(Answer::ok().written(Writing::Split { at: 5, gap }));
    let mut stream = asking(&server, GET);
    expect(&mut stream, "HTTP/");
    nothing_before(&mut stream, gap);
    expect(&mut stream, &OK[5..]);
}

/// Another byte arrives only when some of the gap is over.
fn nothing_before(stream: &mut TcpStream, gap: Duration) {
    let began = Instant::now();
    stream.peek(&mut [0; 1]).unwrap();
    assert!(began.elapsed() > gap / 3, "{:?}", began.elapsed());
}

#[test]
fn unsolicited_bytes_follow_an_answer_or_precede_it() {
    let server = answering(Answer::ok().later(ms(1), "more"));
    let mut stream = asking(&server, GET);
    expect(&mut stream, OK);
    expect(&mut stream, "more");
    // The connection stays usable.
    stream.write_all(GET.as_bytes()).unwrap();
    expect(&mut stream, OK);

    let behaviour = Behaviour { greeting: b"welcome".to_vec(), ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    let mut stream = connect(&server);
    expect(&mut stream, "welcome");
    stream.write_all(GET.as_bytes()).unwrap();
    expect(&mut stream, OK);
}

#[test]
fn an_endless_answer_ends_with_its_client_or_its_server() {
    let server = answering(Answer::raw("begin ").forever("and on "));
    let mut streams = [asking(&server, GET), asking(&server, GET)];
    for stream in &mut streams {
        expect(stream, &("begin ".to_owned() + &"and on ".repeat(100_000)));
    }
    let [first, mut second] = streams;
    drop(first);
    let ended = std::thread::spawn(move || to_end(&mut second).0.len());
    drop(server);
    ended.join().unwrap();
}

#[test]
fn a_connection_can_be_reset_before_anything_is_read() {
    let behaviour = Behaviour { accept: Accept::ThenReset, ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    let Address::Tcp(address) = server.address() else { panic!("not TCP") };
    // The reset may arrive before `connect` returns.
    let (text, error) = match TcpStream::connect(address) {
        Ok(mut stream) => to_end(&mut stream),
        Err(error) => (String::new(), Some(error.kind())),
    };
    assert_eq!((text.as_str(), error), ("", Some(ErrorKind::ConnectionReset)));
    assert_eq!(server.journal().requests, 0);
}
