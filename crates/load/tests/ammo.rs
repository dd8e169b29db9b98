//! Ammo files and what is told of them, over real sockets. Counts are exact; nothing here
//! depends on how fast the machine is.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use stampede_known_server::{Behaviour, KnownServer};
use stampede_load::ammo::{Ammo, AmmoFile, Order, Passes, Request, Tags};
use stampede_load::outcome::Outcome;
use stampede_load::report::{End, Second, ShotRecord};
use stampede_load::schedule::Segments;
use stampede_load::spec::{Address, Arrivals, Model, Until, WhenFull};
use stampede_load::{Fired, Listener, Load, LoadError, Stop, fire};

/// What a listener was told, in order.
#[derive(Default)]
struct Told {
    seconds: Vec<Second>,
    shots: Vec<ShotRecord>,
}

impl Listener for Told {
    fn second(&mut self, second: &Second) {
        self.seconds.push(second.clone());
    }

    fn shots(&mut self, shots: &[ShotRecord]) {
        self.shots.extend(shots);
    }
}

fn users(users: u32, requests: u64) -> Model {
    Model::Closed { users, until: Until::Requests(requests) }
}

fn open(schedule: &str) -> Model {
    Model::Open {
        schedule: Segments::parse(schedule).unwrap(),
        arrivals: Arrivals::Uniform,
        max_in_flight: 100,
        when_full: WhenFull::Queue,
    }
}

fn fired(load: &Load) -> (Fired, Told) {
    let mut told = Told::default();
    let fired = fire(load, &Stop::default(), &mut told).unwrap();
    let counts = &fired.counts;
    assert_eq!(counts.planned, counts.ok + counts.failed_total() + counts.dropped, "{counts:?}");
    assert_eq!(fired.end, End::Complete);
    (fired, told)
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

fn file(folder: &Path, text: &str) -> Ammo {
    let path = folder.join("ammo");
    std::fs::write(&path, text).unwrap();
    Ammo::file(AmmoFile::new(path))
}

/// Ok shots by tag.
fn by_tag(fired: &Fired) -> BTreeMap<&str, u64> {
    fired.tags.iter().map(|(name, figures)| (name.as_str(), figures.ok)).collect()
}

#[test]
fn shots_are_counted_by_tag_and_each_has_a_record() {
    let (server, folder) =
        (KnownServer::start(Behaviour::default()).unwrap(), tempfile::tempdir().unwrap());
    let ammo = file(folder.path(), "/a first\n/b second\n/c first\n/d\n");
    let tags = ammo.tags.clone();
    for (threads, model) in [(1, open("const(400,500ms)")), (3, users(7, 200))] {
        let cpus = vec![a_cpu(); threads];
        let load = Load { cpus, records: true, ..Load::new(target(&server), model, ammo.clone()) };
        let is_open = matches!(load.model, Model::Open { .. });
        let (fired, told) = fired(&load);
        assert_eq!((fired.counts.ok, told.shots.len()), (200, 200));
        let counted = by_tag(&fired);
        assert_eq!(counted.values().sum::<u64>(), 200);
        assert_eq!(counted.keys().copied().collect::<Vec<_>>(), ["", "first", "second"]);
        if is_open {
            assert_eq!(counted, BTreeMap::from([("", 50), ("first", 100), ("second", 50)]));
            assert_eq!(fired.tags["first"].response_time.len(), 100);
        }
        assert_eq!(fired.tags["first"].service_time.len(), counted["first"]);
        let firsts = told.shots.iter().filter(|shot| &*tags.name(shot.tag) == "first").count();
        assert_eq!(firsts as u64, counted["first"]);
        let connected = told.shots.iter().filter(|shot| shot.connected.is_some()).count();
        assert_eq!(connected as u64, fired.connections.opened);
        let sum = |of: fn(&ShotRecord) -> u64| told.shots.iter().map(of).sum::<u64>();
        assert_eq!(sum(|shot| shot.bytes_sent), fired.counts.bytes_sent);
        assert_eq!(sum(|shot| shot.bytes_received), fired.counts.bytes_received);
        for shot in &told.shots {
            assert_eq!(shot.outcome, Outcome::Ok);
            let first_byte = shot.first_byte.unwrap();
            assert!(shot.due <= shot.started && shot.started <= shot.sent, "{shot:?}");
            assert!(shot.sent <= first_byte && first_byte <= shot.done, "{shot:?}");
        }
    }
}

#[test]
fn one_tag_is_told_from_the_totals() {
    let server = KnownServer::start(Behaviour::default()).unwrap();
    let tags = Tags::new();
    let load = Load::new(target(&server), users(2, 20), []);
    let request = Request::build("GET", "/", &[], b"", load.habits, Some(tags.tag("all"))).unwrap();
    let load = Load { ammo: Ammo::list([request], tags), ..load };
    assert_eq!(by_tag(&fired(&load).0), BTreeMap::from([("all", 20)]));
}

#[test]
fn a_file_fired_once_ends_the_load() {
    let (server, folder) =
        (KnownServer::start(Behaviour::default()).unwrap(), tempfile::tempdir().unwrap());
    let text: String = (0..31).map(|n| format!("/{n}\n")).collect();
    for (order, passes, shots) in
        [(Order::InTurn, Passes::Times(1), 31), (Order::Random { seed: 3 }, Passes::Times(3), 93)]
    {
        for (threads, model) in
            [(1, open("const(1000,60s)")), (2, open("const(1000,60s)")), (2, users(3, 500))]
        {
            let ammo = Ammo { order, passes, ..file(folder.path(), &text) };
            let cpus = vec![a_cpu(); threads];
            let (fired, _) = fired(&Load { cpus, ..Load::new(target(&server), model, ammo) });
            assert_eq!((fired.counts.planned, fired.counts.ok), (shots, shots));
            assert_eq!((fired.ammo.requests, fired.ammo.format.as_deref()), (31, Some("uri")));
            assert!(fired.tags.is_empty());
        }
    }
    // All requests went out: the server saw as many.
    assert_eq!(server.journal().requests, 3 * 31 + 3 * 93);
}

#[test]
fn a_pipe_is_fired_while_it_is_written() {
    let (server, folder) =
        (KnownServer::start(Behaviour::default()).unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = std::fs::File::create(path).unwrap();
            // Far more than is fired: the load's end ends it.
            let line = format!("/{} tag\n", "x".repeat(500));
            let mut written = 0_u64;
            while pipe.write_all(line.as_bytes()).is_ok() {
                written += 1;
            }
            written
        }
    });
    let ammo = Ammo { passes: Passes::Times(1), ..Ammo::file(AmmoFile::new(&path)) };
    let (fired, _) = fired(&Load::new(target(&server), users(4, 3_000), ammo));
    assert_eq!(by_tag(&fired), BTreeMap::from([("tag", 3_000)]));
    let written = writer.join().unwrap();
    assert!((3_000..20_000).contains(&written), "{written}");
}

#[test]
fn what_is_no_ammo_is_said_before_the_first_shot() {
    let (server, folder) =
        (KnownServer::start(Behaviour::default()).unwrap(), tempfile::tempdir().unwrap());
    let fail = |ammo| {
        let load = Load::new(target(&server), users(1, 1), ammo);
        let error = fire(&load, &Stop::default(), &mut Told::default()).err().unwrap();
        (error.to_string(), error.hint(), error)
    };
    let (text, hint, error) = fail(file(folder.path(), "/a\nb\n"));
    let path = folder.path().join("ammo");
    let expected = format!("line 2 of ammo `{}`: `b` is not a path to request", path.display());
    assert_eq!(text, expected);
    assert!(hint.is_some() && matches!(error, LoadError::Ammo(_)));
    let (text, ..) = fail(Ammo { passes: Passes::Times(0), ..file(folder.path(), "/a\n") });
    assert_eq!(text, "`passes` is 0, at least 1 is needed");
    assert_eq!(server.journal().requests, 0);
}
