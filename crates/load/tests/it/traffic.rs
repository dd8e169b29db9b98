//! Tests request files and their notes over real sockets. Counts are exact; nothing here depends on
//! how fast the machine is.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use stampede_known_server::{Behaviour, KnownServer};
use stampede_load::outcome::Outcome;
use stampede_load::report::RequestRecord;
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadError, LoadResult};
use stampede_model::counts::{End, Second};
use stampede_model::load::{Address, Arrivals, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_traffic::{LoadTraffic, Order, Passes, Request, Tags, TrafficFile};

/// What a listener was told, in order.
#[derive(Default)]
struct Reported {
    seconds: Vec<Second>,
    requests: Vec<RequestRecord>,
}

impl Listener for Reported {
    fn second(&mut self, second: &Second) {
        self.seconds.push(second.clone());
    }

    fn requests(&mut self, requests: &[RequestRecord]) {
        self.requests.extend(requests);
    }
}

fn concurrency(concurrency: u32, requests: u64) -> Model {
    Model::Closed { concurrency, until: Until::Requests(requests) }
}

fn open(schedule: &str) -> Model {
    Model::Open {
        schedule: Segments::parse(schedule).unwrap(),
        arrivals: Arrivals::Uniform,
        max_in_flight: 100,
        when_full: WhenFull::Queue,
    }
}

fn load_result(load: &Load) -> (LoadResult, Reported) {
    let mut reported = Reported::default();
    let result = InProcess.run(load, &Stop::default(), &mut reported).unwrap();
    let counts = &result.counts;
    assert_eq!(counts.planned, counts.ok + counts.failed_total() + counts.dropped, "{counts:?}");
    assert_eq!(result.end, End::Complete);
    (result, reported)
}

fn target(server: &KnownServer) -> Address {
    match server.address() {
        stampede_known_server::Address::Tcp(address) => Address::Tcp(*address),
        stampede_known_server::Address::Unix(path) => Address::Unix(path.clone()),
    }
}

fn a_cpu() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap()
}

fn file(directory: &Path, text: &str) -> LoadTraffic {
    let path = directory.join("traffic");
    std::fs::write(&path, text).unwrap();
    LoadTraffic::file(TrafficFile::new(path))
}

/// Ok requests by tag.
fn by_tag(result: &LoadResult) -> BTreeMap<&str, u64> {
    result.tags.iter().map(|(name, figures)| (name.as_str(), figures.ok)).collect()
}

#[test]
fn requests_are_counted_by_tag_and_each_has_a_record() {
    let (server, directory) =
        (KnownServer::start(Behaviour::default()).unwrap(), tempfile::tempdir().unwrap());
    let traffic = file(directory.path(), "/a first\n/b second\n/c first\n/d\n");
    let tags = traffic.tags.clone();
    for (threads, model) in [(1, open("const(400,500ms)")), (3, concurrency(7, 200))] {
        let cpus = vec![a_cpu(); threads];
        let load =
            Load { cpus, records: true, ..Load::new(target(&server), model, traffic.clone()) };
        let is_open = matches!(load.model, Model::Open { .. });
        let (result, reported) = load_result(&load);
        assert_eq!((result.counts.ok, reported.requests.len()), (200, 200));
        let counted = by_tag(&result);
        assert_eq!(counted.values().sum::<u64>(), 200);
        assert_eq!(counted.keys().copied().collect::<Vec<_>>(), ["", "first", "second"]);
        if is_open {
            assert_eq!(counted, BTreeMap::from([("", 50), ("first", 100), ("second", 50)]));
            assert_eq!(result.tags["first"].response_time.len(), 100);
        }
        assert_eq!(result.tags["first"].service_time.len(), counted["first"]);
        let firsts =
            reported.requests.iter().filter(|request| &*tags.name(request.tag) == "first").count();
        assert_eq!(firsts as u64, counted["first"]);
        let connected =
            reported.requests.iter().filter(|request| request.connected.is_some()).count();
        assert_eq!(connected as u64, result.connections.opened);
        let sum = |of: fn(&RequestRecord) -> u64| reported.requests.iter().map(of).sum::<u64>();
        assert_eq!(sum(|request| request.bytes_sent), result.counts.bytes_sent);
        assert_eq!(sum(|request| request.bytes_received), result.counts.bytes_received);
        for request in &reported.requests {
            assert_eq!(request.outcome, Outcome::Ok);
            let first_byte = request.first_byte.unwrap();
            assert!(
                request.due <= request.started && request.started <= request.sent,
                "{request:?}"
            );
            assert!(request.sent <= first_byte && first_byte <= request.done, "{request:?}");
        }
    }
}

#[test]
fn a_single_tag_gets_the_total_figures() {
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let tags = Tags::new();
    let load = Load::new(target(&server), concurrency(2, 20), []);
    let request = Request::build("GET", "/", &[], b"", load.habits, Some(tags.tag("all"))).unwrap();
    let load = Load { traffic: LoadTraffic::list([request], tags), ..load };
    assert_eq!(by_tag(&load_result(&load).0), BTreeMap::from([("all", 20)]));
}

#[test]
fn a_file_sent_once_ends_the_load() {
    let (server, directory) =
        (KnownServer::start(Behaviour::default()).unwrap(), tempfile::tempdir().unwrap());
    let text: String = (0..31).map(|n| format!("/{n}\n")).collect();
    for (order, passes, requests) in
        [(Order::InTurn, Passes::Times(1), 31), (Order::Random { seed: 3 }, Passes::Times(3), 93)]
    {
        for (threads, model) in
            [(1, open("const(1000,60s)")), (2, open("const(1000,60s)")), (2, concurrency(3, 500))]
        {
            let traffic = LoadTraffic { order, passes, ..file(directory.path(), &text) };
            let cpus = vec![a_cpu(); threads];
            let (result, _) =
                load_result(&Load { cpus, ..Load::new(target(&server), model, traffic) });
            assert_eq!((result.counts.planned, result.counts.ok), (requests, requests));
            assert_eq!(
                (result.traffic.requests, result.traffic.format.as_deref()),
                (31, Some("uri"))
            );
            assert!(result.tags.is_empty());
        }
    }
    // All requests were sent: the server received as many.
    assert_eq!(server.journal().requests, 3 * 31 + 3 * 93);
}

#[test]
fn a_pipe_is_sent_while_it_is_written() {
    let (server, directory) =
        (KnownServer::start(Behaviour::default()).unwrap(), tempfile::tempdir().unwrap());
    let path = directory.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = std::fs::File::create(path).unwrap();
            // Far more than is sent: the end of the load ends it.
            let line = format!("/{} tag\n", "x".repeat(500));
            let mut written = 0_u64;
            while pipe.write_all(line.as_bytes()).is_ok() {
                written += 1;
            }
            written
        }
    });
    let traffic =
        LoadTraffic { passes: Passes::Times(1), ..LoadTraffic::file(TrafficFile::new(&path)) };
    let (result, _) = load_result(&Load::new(target(&server), concurrency(4, 3_000), traffic));
    assert_eq!(by_tag(&result), BTreeMap::from([("tag", 3_000)]));
    let written = writer.join().unwrap();
    assert!((3_000..20_000).contains(&written), "{written}");
}

#[test]
fn invalid_traffic_is_reported_before_the_first_request() {
    let (server, directory) =
        (KnownServer::start(Behaviour::default()).unwrap(), tempfile::tempdir().unwrap());
    let fail = |traffic| {
        let load = Load::new(target(&server), concurrency(1, 1), traffic);
        let error = InProcess.run(&load, &Stop::default(), &mut Reported::default()).err().unwrap();
        (error.to_string(), error.hint(), error)
    };
    let (text, hint, error) = fail(file(directory.path(), "/a\nb\n"));
    let path = directory.path().join("traffic");
    let expected =
        format!("line 2 of request file `{}`: `b` is not a path to request", path.display());
    assert_eq!(text, expected);
    assert!(hint.is_some() && matches!(error, LoadError::LoadTraffic(_)));
    let (text, ..) =
        fail(LoadTraffic { passes: Passes::Times(0), ..file(directory.path(), "/a\n") });
    assert_eq!(text, "`passes` is 0, at least 1 is needed");
    assert_eq!(server.journal().requests, 0);
}
