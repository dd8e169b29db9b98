//! Tests that running out of file descriptors is an outcome. It is alone in its program, because
//! the limit belongs to the process.

use rustix::process::{Resource, Rlimit, setrlimit};
use stampede_known_server::{Accept, Behaviour, KnownServer};
use stampede_load::{Generator as _, InProcess, Listener, Load};
use stampede_model::counts::Second;
use stampede_model::load::{Address, ConnectionHabit, Habits, HttpVersion, Model, Until};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::Request;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

#[test]
fn running_out_of_file_descriptors_is_an_outcome() {
    let behaviour = Behaviour { accept: Accept::Never, ..Behaviour::default() };
    let server = KnownServer::start(behaviour).unwrap();
    let stampede_known_server::Address::Tcp(address) = *server.address() else {
        panic!("{}", server.address())
    };
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let habits = Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
    let model = Model::Closed { concurrency: 100, until: Until::Requests(100) };
    let get = Request::build("GET", "/", &[], b"", habits, None).unwrap();
    let timeout = Nanos::from_millis(300);
    let load = Load { timeout, ..Load::new(Address::Tcp(address), model, [get]) };
    let counts = InProcess.run(&load, &Stop::default(), &mut NoListener).unwrap().counts;
    assert_eq!(counts.planned, counts.ok + counts.failed_total() + counts.dropped);
    let kinds: Vec<&str> = counts.failed.keys().map(String::as_str).collect();
    assert_eq!((counts.planned, kinds), (100, vec!["net:no-file", "net:timeout"]));
    assert!(counts.failed["net:no-file"] >= 36, "{counts:?}");
}
