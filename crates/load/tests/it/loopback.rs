//! Tests the whole generator over real sockets, against servers with a known behaviour. Counts are
//! exact; nothing here depends on how fast the machine is.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stampede_known_server::{
    Accept, Answer, Behaviour, ConnectionAction, Freeze, KnownServer, Listen, NullServer,
    NullServerOptions, Reply, Workers, Writing,
};
use stampede_load::protocol::http1;
use stampede_load::spec::{Check, EngineChoice};
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadError, LoadResult};
use stampede_model::counts::{End, Second};
use stampede_model::load::{
    Address, Arrivals, ConnectionHabit, Habits, HttpVersion, Model, Until, WhenFull,
};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::Request;

struct Seconds(Vec<Second>);

impl Listener for Seconds {
    fn second(&mut self, second: &Second) {
        self.0.push(second.clone());
    }
}

fn target(server: &KnownServer) -> Address {
    match server.address() {
        stampede_known_server::Address::Tcp(address) => Address::Tcp(*address),
        stampede_known_server::Address::Unix(path) => Address::Unix(path.clone()),
    }
}

fn load(target: Address, model: Model) -> Load {
    let (timeout, engine) = (Nanos::from_secs(20), engine());
    with_habits(Load { timeout, engine, ..Load::new(target, model, []) })
}

/// `loopback_uring.rs` runs the same file with the other engine.
fn engine() -> EngineChoice {
    if module_path!().contains("uring") { EngineChoice::IoUring } else { EngineChoice::Epoll }
}

/// Builds the traffic with the habits.
fn with_habits(load: Load) -> Load {
    let request = Request::build("GET", "/", &[], b"", load.habits, None).unwrap();
    Load { traffic: [request].into(), ..load }
}

fn concurrency(concurrency: u32, requests: u64) -> Model {
    Model::Closed { concurrency, until: Until::Requests(requests) }
}

fn open(schedule: &str) -> Model {
    Model::Open {
        schedule: Segments::parse(schedule).unwrap(),
        arrivals: Arrivals::Uniform,
        max_in_flight: 1_000,
        when_full: WhenFull::Queue,
    }
}

/// Runs a load and checks what holds for every load.
fn load_result(load: &Load) -> LoadResult {
    let mut seconds = Seconds(vec![]);
    let result = InProcess.run(load, &Stop::default(), &mut seconds).unwrap();
    always(&result, &seconds.0);
    assert_eq!(result.end, End::Complete);
    let engine = if load.engine == EngineChoice::IoUring { "io_uring" } else { "epoll" };
    assert_eq!(result.engine, engine);
    result
}

fn always(result: &LoadResult, seconds: &[Second]) {
    let counts = &result.counts;
    assert_eq!(counts.planned, counts.ok + counts.failed_total() + counts.dropped, "{counts:?}");
    assert_eq!(counts.started, counts.ok + counts.failed_total(), "{counts:?}");
    assert_eq!(seconds.iter().map(|second| second.counts.ok).sum::<u64>(), counts.ok);
    assert_eq!(seconds.iter().map(|second| second.counts.planned).sum::<u64>(), counts.planned);
    let indices: Vec<u32> = seconds.iter().map(|second| second.index).collect();
    assert_eq!(indices, (0..seconds.len() as u32).collect::<Vec<_>>());
}

/// Sends 12 requests of 3 users to a server that always answers like this. Returns what failed.
fn failures(behaviour: Behaviour, change: impl Fn(Load) -> Load) -> BTreeMap<String, u64> {
    let server = KnownServer::start(behaviour).unwrap();
    let result = load_result(&change(load(target(&server), concurrency(3, 12))));
    assert_eq!((result.counts.planned, result.counts.dropped), (12, 0));
    result.counts.failed
}

fn all(kind: &str) -> BTreeMap<String, u64> {
    BTreeMap::from([(kind.to_string(), 12)])
}

fn short(load: Load) -> Load {
    Load { timeout: Nanos::from_millis(200), ..load }
}

#[test]
fn all_requests_of_a_schedule_are_sent() {
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let result = load_result(&load(target(&server), open("const(400,500ms)")));
    assert_eq!((result.counts.planned, result.counts.ok), (200, 200));
    assert_eq!((result.times.response_time.len(), server.journal().requests), (200, 200));
    // The last of 200 requests is due at 199 × 2.5 ms.
    assert_eq!(result.scheduled, Nanos(500_000_000));
    assert_eq!(result.connections.opened, server.journal().connections);
    assert!(result.counts.bytes_sent > 0 && result.counts.bytes_received > 0);
}

#[test]
fn a_closed_load_keeps_its_connections() {
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let result = load_result(&load(target(&server), concurrency(4, 200)));
    assert_eq!((result.counts.ok, result.connections.opened), (200, 4));
    assert_eq!((server.journal().connections, server.journal().requests), (4, 200));
    assert!(result.times.response_time.is_empty());
}

/// What a listener was told, in order.
#[derive(Default)]
struct Course(Vec<&'static str>, u64);

impl Listener for Course {
    fn warm_up_second(&mut self, second: &Second) {
        self.0.push("warm-up");
        self.1 += second.counts.ok;
    }

    fn before_load(&mut self) -> Option<Instant> {
        self.0.push("before");
        None
    }

    fn began(&mut self, _: Instant) {
        self.0.push("began");
    }

    fn second(&mut self, _: &Second) {
        self.0.push("second");
    }
}

#[test]
fn a_warm_up_keeps_its_connections_and_is_not_counted() {
    for (warm_up, model) in [
        (concurrency(4, 100), concurrency(4, 40)),
        (concurrency(4, 100), open("const(80,500ms)")),
        (open("const(200,500ms)"), concurrency(1, 40)),
    ] {
        let server = KnownServer::start(Behaviour::default()).unwrap();
        let load = Load { warm_up: Some(warm_up), threads: 1, ..load(target(&server), model) };
        let mut course = Course::default();
        let result = InProcess.run(&load, &Stop::default(), &mut course).unwrap();
        assert_eq!((result.counts.planned, result.counts.ok, course.1), (40, 40, 100));
        assert_eq!(course.0, ["warm-up", "before", "began", "second"]);
        assert_eq!(server.journal().requests, 140);
        let connections = (result.connections.opened, result.connections.from_warm_up);
        assert_eq!(connections, (0, server.journal().connections), "they were open already");
        assert!(result.connect_time.is_empty());
        assert!(result.lasted < Nanos::from_secs(20), "its clock begins after the warm-up");
    }
}

#[test]
fn a_stop_in_the_warm_up_ends_both_loads() {
    struct StopEarly(Stop);
    impl Listener for StopEarly {
        fn warm_up_second(&mut self, _: &Second) {
            self.0.ask();
        }
        fn second(&mut self, _: &Second) {}
    }
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let until = Until::For(Nanos::from_secs(3_600));
    let forever = Model::Closed { concurrency: 2, until };
    let load = Load { warm_up: Some(forever.clone()), ..load(target(&server), forever) };
    let stop = Stop::default();
    let result = InProcess.run(&load, &stop, &mut StopEarly(stop.clone())).unwrap();
    assert_eq!((result.counts.planned, result.end), (0, End::Stopped));
}

#[test]
fn a_connection_per_request_in_both_versions() {
    for version in [HttpVersion::Http10, HttpVersion::Http11] {
        let server = KnownServer::start(Behaviour::default()).unwrap();
        let habits = Habits { version, connection: ConnectionHabit::PerRequest };
        let load = with_habits(Load { habits, ..load(target(&server), concurrency(4, 40)) });
        let result = load_result(&load);
        assert_eq!((result.counts.ok, result.connections.opened), (40, 40));
        assert_eq!(server.journal().connections, 40);
    }
}

#[test]
fn http_1_0_keeps_a_connection_where_both_say_so() {
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let habits = Habits { version: HttpVersion::Http10, connection: ConnectionHabit::KeepAlive };
    let result =
        load_result(&with_habits(Load { habits, ..load(target(&server), concurrency(2, 20)) }));
    assert_eq!((result.counts.ok, result.connections.opened), (20, 2));
}

#[test]
fn requests_are_dealt_to_several_threads() {
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap();
    let mut load = Load { cpus: vec![cpu; 3], ..load(target(&server), open("const(200,500ms)")) };
    let sent_open = load_result(&load);
    assert_eq!((sent_open.counts.ok, sent_open.scheduled), (100, Nanos(500_000_000)));
    load.model = concurrency(7, 100);
    let sent_closed = load_result(&load);
    assert_eq!((sent_closed.counts.ok, sent_closed.connections.opened), (100, 7));
    assert_eq!(server.journal().requests, 200);
}

#[test]
fn a_unix_socket_is_an_address() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = path.join(format!("load-{}.sock", std::process::id()));
    let server = KnownServer::start_on(&Listen::Unix(path), Behaviour::default()).unwrap();
    let result = load_result(&load(target(&server), concurrency(4, 50)));
    assert_eq!((result.counts.ok, result.connections.opened), (50, 4));
    // Nothing stamps what arrives, so each time has a lower bound.
    let times = &result.times;
    assert_eq!(times.lower_bound.len(), 50);
    assert!(times.lower_bound.mean() < times.service_time.mean(), "{times:?}");
}

#[test]
fn a_body_larger_than_any_socket_buffer_goes_out_whole() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let load = load(address, concurrency(1, 3));
    let body = vec![b'x'; 8 << 20];
    let request = Request::build("POST", "/", &[], &body, load.habits, None).unwrap();
    let bytes = http1::text(&request, load.habits).len();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut request = vec![0; bytes];
        for _ in 0..3 {
            client.read_exact(&mut request).unwrap();
            client.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        }
    });
    let result = load_result(&Load { traffic: [request].into(), ..load });
    assert_eq!((result.counts.ok, result.counts.bytes_sent), (3, 3 * bytes as u64));
    server.join().unwrap();
}

#[test]
fn without_a_listener_connections_are_refused() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let result = load_result(&load(Address::Tcp(port), concurrency(3, 12)));
    assert_eq!((result.counts.failed, result.connections.opened), (all("net:refused"), 0));
}

#[test]
fn a_server_that_never_answers_times_out() {
    let never = Answer::none(ConnectionAction::Hold);
    assert_eq!(failures(Behaviour::answering(never), short), all("net:timeout"));
}

/// Several answers of a crowd may be waited for at once, but none of them ever arrives.
#[test]
fn a_stall_of_a_fast_server_delays_only_its_requests() {
    let freeze =
        Freeze { at: Duration::from_millis(300), lasts: Duration::from_secs(4), every: None };
    let options = NullServerOptions { freeze: Some(freeze), ..NullServerOptions::default() };
    let server = NullServer::start_with(&Listen::Tcp, options).unwrap();
    let until = Until::For(Nanos::from_millis(600));
    let stampede_known_server::Address::Tcp(address) = server.address() else { panic!("TCP") };
    let load = load(Address::Tcp(*address), Model::Closed { concurrency: 16, until });
    let result = load_result(&Load { timeout: Nanos::from_millis(500), ..load });
    assert!(result.counts.ok > 0, "{:?}", result.counts);
    assert!(result.counts.failed["net:timeout"] >= 16, "{:?}", result.counts);
    assert!(result.lasted < Nanos::from_secs(3), "{:?}", result.lasted);
}

#[test]
fn a_server_that_never_accepts_times_out() {
    for accept in [Accept::Never, Accept::NeverFull] {
        let behaviour = Behaviour { accept, ..Behaviour::default() };
        assert_eq!(failures(behaviour, short), all("net:timeout"), "{accept:?}");
    }
}

#[test]
fn answers_that_end_too_early() {
    let failures = |answer| failures(Behaviour::answering(answer), |load| load);
    assert_eq!(failures(Answer::ok().cut_at(25).then(ConnectionAction::Reset)), all("net:reset"));
    assert_eq!(
        failures(Answer::ok().announcing(100).then(ConnectionAction::Close)),
        all("net:cut-short")
    );
    assert_eq!(failures(Answer::none(ConnectionAction::Close)), all("net:cut-short"));
}

#[test]
fn answers_that_are_not_http_are_malformed() {
    let failures = |answer| failures(Behaviour::answering(answer), |load| load);
    assert_eq!(failures(Answer::raw("SSH-2.0-x\r\n\r\n")), all("net:malformed"));
    let huge = "x".repeat(1 << 20);
    assert_eq!(failures(Answer::ok().field("X-Huge", &huge)), all("net:head-too-large"));
}

#[test]
fn statuses_are_failures_unless_allowed() {
    let failures =
        |answer, change: fn(Load) -> Load| failures(Behaviour::answering(answer), change);
    assert_eq!(failures(Answer::new(502, ""), |load| load), all("http:502"));
    assert_eq!(failures(Answer::new(302, ""), |load| load), all("http:302"));
    let allowed = |load| Load { check: Check { statuses: vec![302], ..Check::default() }, ..load };
    assert_eq!(failures(Answer::new(302, ""), allowed), BTreeMap::new());
    assert_eq!(failures(Answer::ok(), allowed), all("http:200"));
}

#[test]
fn a_wrong_body_is_no_correct_answer() {
    let wants = |load| {
        let check = Check { body_contains: b"hello".to_vec(), ..Check::default() };
        Load { check, ..load }
    };
    assert_eq!(failures(Behaviour::answering(Answer::new(200, "goodbye")), wants), all("check"));
    let torn = Answer::new(200, "oh hello there").chunked(3, &[("X-Sum", "1")]);
    let torn = torn.written(Writing::Torn { bytes: 7, gap: Duration::ZERO }).after_interim(103);
    assert_eq!(failures(Behaviour::answering(torn), wants), BTreeMap::new());
}

#[test]
fn a_close_that_was_announced_is_no_failure() {
    let behaviour = Behaviour::answering(Answer::ok().then(ConnectionAction::AnnouncedClose));
    let server = KnownServer::start(behaviour).unwrap();
    let result = load_result(&load(target(&server), concurrency(3, 12)));
    assert_eq!((result.counts.ok, result.connections.opened), (12, 12));
}

/// The server's close and the next request may cross on the way, which nobody can predict. But
/// nothing is lost, and nothing is counted as what it was not.
#[test]
fn an_unannounced_close_is_a_race_and_every_request_is_counted() {
    let server =
        KnownServer::start(Behaviour::answering(Answer::ok().then(ConnectionAction::Close)))
            .unwrap();
    let result = load_result(&load(target(&server), concurrency(3, 60)));
    assert!(result.counts.ok > 0 && result.counts.planned == 60, "{:?}", result.counts);
    assert!(result.counts.failed.keys().all(|key| key == "net:stale"), "{:?}", result.counts);
}

#[test]
fn only_every_third_request_fails() {
    let reply = Reply { service_time: Duration::ZERO, answer: Answer::new(503, "") };
    let behaviour = Behaviour { exceptions: vec![(3, reply)], ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    let result = load_result(&load(target(&server), open("const(300,300ms)")));
    assert_eq!((result.counts.ok, result.counts.failed.get("http:503")), (60, Some(&30)));
}

#[test]
fn connections_that_starve_behind_pinned_workers_are_found() {
    let workers = Workers::PerConnection(2);
    let server = KnownServer::start(Behaviour {
        workers,
        ..Behaviour::answering_after(Duration::from_millis(5), Answer::ok())
    })
    .unwrap();
    let until = Until::For(Nanos::from_millis(500));
    let model = Model::Closed { concurrency: 5, until };
    let load = Load { timeout: Nanos::from_secs(3), ..load(target(&server), model) };
    let result = load_result(&load);
    assert_eq!(result.counts.failed, BTreeMap::from([("net:timeout".to_string(), 3)]));
    assert_eq!(result.connections.never_answered, 3);
}

#[test]
fn a_stopped_load_accounts_for_every_request() {
    struct StopAtOnce(Stop, Vec<Second>);
    impl Listener for StopAtOnce {
        fn second(&mut self, second: &Second) {
            self.0.ask();
            self.1.push(second.clone());
        }
    }
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let load = load(target(&server), open("const(100,60s)"));
    let mut listener = StopAtOnce(Stop::default(), vec![]);
    let result = InProcess.run(&load, &listener.0.clone(), &mut listener).unwrap();
    always(&result, &listener.1);
    assert_eq!((result.end, result.counts.planned), (End::Stopped, 6_000));
    assert!(result.counts.dropped > 0 && result.counts.ok > 0);
}

#[test]
fn nothing_is_sent_after_a_panic_of_the_listener() {
    struct Panics;
    impl Listener for Panics {
        fn second(&mut self, _: &Second) {
            panic!("injected");
        }
    }
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let load = load(target(&server), open("const(200,60s)"));
    let run = || InProcess.run(&load, &Stop::default(), &mut Panics);
    catch_unwind(AssertUnwindSafe(run)).expect_err("its panic");
    let sent = server.journal().requests;
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.journal().requests, sent);
    assert!(sent > 0);
}

/// The load threads have some ms to wake up, but they do not begin early.
#[test]
fn no_connection_is_opened_before_the_zero_of_the_clock() {
    struct Began(Option<Instant>);
    impl Listener for Began {
        fn began(&mut self, at: Instant) {
            self.0 = Some(at);
        }
        fn second(&mut self, _: &Second) {}
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let accepting = std::thread::spawn(move || {
        let accepted = listener.accept().unwrap();
        (Instant::now(), accepted)
    });
    let load = load(address, concurrency(1, 1));
    let load = Load { timeout: Nanos::from_millis(100), ..load };
    let mut began = Began(None);
    let result = InProcess.run(&load, &Stop::default(), &mut began).unwrap();
    assert_eq!(result.counts.failed["net:timeout"], 1);
    let (accepted, _) = accepting.join().unwrap();
    assert!(accepted >= began.0.unwrap());
}

#[test]
fn what_cannot_begin_says_why() {
    let nobody = Address::Tcp((Ipv4Addr::LOCALHOST, 1).into());
    let begin = |load: Load| match InProcess.run(&load, &Stop::default(), &mut Seconds(vec![])) {
        Ok(result) => panic!("sent {:?}", result.counts),
        Err(error) => error,
    };
    let cpu = Load { cpus: vec![1_000_000], ..load(nobody.clone(), concurrency(1, 1)) };
    let path = Address::Unix(PathBuf::from("/".repeat(200)));
    let errors = [
        begin(Load { traffic: [].into(), ..load(nobody.clone(), concurrency(1, 1)) }),
        begin(load(nobody.clone(), concurrency(0, 1))),
        begin(cpu),
        begin(load(path, concurrency(1, 1))),
    ];
    assert!(matches!(errors[2], LoadError::Pin { cpu: 1_000_000, .. }));
    insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n"));
}
