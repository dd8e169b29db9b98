//! Parts of a load, as agents send them, add up to the whole.

use stampede_known_server::{Answer, Behaviour, KnownServer, Reply};
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadResult};
use stampede_model::counts::{End, Second};
use stampede_model::load::{Address, Arrivals, HttpVersion, Model, Until, WhenFull};
use stampede_model::part::Part;
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::{LoadTraffic, Request, Tags};

struct Quiet;

impl Listener for Quiet {
    fn second(&mut self, _: &Second) {}
}

fn server() -> KnownServer {
    let slow = Reply { answer: Answer::new(503, "no"), ..Reply::default() };
    let behaviour = Behaviour { exceptions: vec![(10, slow)], ..Behaviour::default() };
    KnownServer::start(behaviour).expect("a server")
}

/// A load with two tags.
fn load(server: &KnownServer, model: Model) -> Load {
    let stampede_known_server::Address::Tcp(address) = server.address() else { panic!("TCP") };
    let mut load = Load::new(Address::Tcp(*address), model, []);
    load.habits.version = HttpVersion::Http11;
    let tags = Tags::new();
    let requests = ["a", "b", "b"].map(|name| {
        let tag = tags.tag(name);
        let request = Request::build("GET", "/", &[], b"", load.habits, None).expect("a request");
        Request { tag, ..request }
    });
    load.traffic = LoadTraffic::list(requests.to_vec(), tags);
    load
}

/// Sends all parts at once, and adds their results.
fn sum_of_parts(load: &Load, of: u32) -> LoadResult {
    let mut sum = LoadResult::nothing();
    std::thread::scope(|scope| {
        let parts: Vec<_> = Part::all(of)
            .map(|part| {
                let load = Load { part, ..load.clone() };
                scope.spawn(move || InProcess.run(&load, &Stop::default(), &mut Quiet))
            })
            .collect();
        for part in parts {
            sum.add(&part.join().expect("no panic").expect("a result"));
        }
    });
    sum
}

#[test]
fn parts_of_a_schedule_add_up_to_it() {
    let server = server();
    let model = Model::Open {
        schedule: Segments::parse("const(300,1s)").expect("a schedule"),
        arrivals: Arrivals::Uniform,
        max_in_flight: 8,
        when_full: WhenFull::Queue,
    };
    let sum = sum_of_parts(&load(&server, model), 3);
    assert_eq!((sum.counts.planned, sum.counts.ok), (300, 270));
    assert_eq!(sum.counts.failed["http:503"], 30);
    assert_eq!(sum.times.response_time.len(), 270);
    assert_eq!(sum.service_time_all.len(), 300);
    assert_eq!(
        (sum.end, sum.engine.as_str(), sum.scheduled),
        (End::Complete, "epoll", Nanos::SECOND)
    );
    // One in three has the first tag.
    let of_tag = |tag: &str| sum.tags[tag].ok + sum.tags[tag].failed;
    assert_eq!((of_tag("a"), of_tag("b")), (100, 200));
    assert_eq!(sum.connections.opened, server.journal().connections);
    assert_eq!(sum.examples.len(), 1, "one for each kind: {:?}", sum.examples);
    assert_eq!(server.journal().requests, 300);
}

#[test]
fn parts_of_a_closed_load_share_its_users_and_requests() {
    let server = server();
    let model = Model::Closed { concurrency: 5, until: Until::Requests(101) };
    let sum = sum_of_parts(&load(&server, model), 2);
    assert_eq!((sum.counts.planned, server.journal().requests), (101, 101));
    assert_eq!((sum.connections.opened, sum.in_flight_max), (5, 5));
    assert_eq!(sum.ok_inside, sum.counts.ok);
}
