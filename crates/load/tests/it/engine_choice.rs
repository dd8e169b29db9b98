//! Tests which engine a load gets.

use std::time::Duration;

use stampede_known_server::{Answer, Behaviour, KnownServer};
use stampede_load::spec::Load;
use stampede_load::{Generator as _, InProcess, Listener, LoadError, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Arrivals, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_traffic::Request;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

fn load_result(change: impl FnOnce(&mut Load)) -> Result<LoadResult, LoadError> {
    let answer = Behaviour::answering_after(Duration::ZERO, Answer::ok());
    let server = KnownServer::start(answer).expect("a known server");
    let stampede_known_server::Address::Tcp(address) = *server.address() else {
        panic!("{}", server.address())
    };
    let mut load = Load::new(Address::Tcp(address), concurrency(8), []);
    change(&mut load);
    let get = Request::build("GET", "/", &[], b"", load.habits, None).expect("a request");
    load.traffic = [get].into();
    InProcess.run(&load, &Stop::default(), &mut NoListener)
}

fn concurrency(concurrency: u32) -> Model {
    Model::Closed { concurrency, until: Until::Requests(200) }
}

fn engine(change: impl FnOnce(&mut Load)) -> String {
    let result = load_result(change).expect("a load");
    assert_eq!(result.counts.failed_total(), 0, "{:?}", result.counts);
    result.engine
}

#[test]
fn every_load_uses_epoll_unless_io_uring_is_requested() {
    assert_eq!(engine(|_| {}), "epoll");
    assert_eq!(engine(|load| load.model = concurrency(1)), "epoll");
    let schedule = Segments::parse("const(100,1s)").expect("a schedule");
    let (arrivals, when_full) = (Arrivals::Uniform, WhenFull::Queue);
    let open = Model::Open { schedule, arrivals, max_in_flight: 1_000, when_full };
    assert_eq!(engine(|load| load.model = open), "epoll");
}
