//! Tests running out of local ports, in a network namespace with ten of them.

use std::process::Command;
use std::time::Duration;

use rustix::thread::UnshareFlags;
use stampede_known_server::{Answer, Behaviour, KnownServer};
use stampede_load::spec::{EngineChoice, Load};
use stampede_load::{Generator as _, InProcess, Listener, LoadError, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Model, Until};
use stampede_model::stop::Stop;
use stampede_traffic::Request;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

/// Gives this thread, and those that it starts, their own network.
fn alone_with_ten_ports() -> bool {
    // SAFETY: only the network namespace is unshared, neither memory nor files.
    let unshared = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) };
    let up = || Command::new("ip").args(["link", "set", "lo", "up"]).status();
    unshared.is_ok()
        && up().is_ok_and(|status| status.success())
        && std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40009").is_ok()
}

fn load_result(concurrency: u32, engine: EngineChoice) -> Option<LoadResult> {
    let work = move || {
        if !alone_with_ten_ports() {
            eprintln!("skipped: no network namespace can be made here");
            return None;
        }
        // Long enough that no connection is free again before every user wanted one.
        let behaviour = Behaviour::answering_after(Duration::from_millis(200), Answer::ok());
        let server = KnownServer::start(behaviour).unwrap();
        let stampede_known_server::Address::Tcp(address) = *server.address() else {
            panic!("{}", server.address())
        };
        let until = Until::Requests(u64::from(concurrency) * 5);
        let load = Load::new(Address::Tcp(address), Model::Closed { concurrency, until }, []);
        let get = Request::build("GET", "/", &[], b"", load.habits, None).unwrap();
        let load = Load { traffic: [get].into(), engine, ..load };
        match InProcess.run(&load, &Stop::default(), &mut NoListener) {
            Ok(result) => Some(result),
            Err(LoadError::Engine(_)) if engine == EngineChoice::IoUring => {
                eprintln!("skipped: io_uring is not allowed here");
                None
            }
            Err(error) => panic!("{error}"),
        }
    };
    std::thread::spawn(work).join().unwrap()
}

#[test]
fn without_free_ports_other_local_addresses_are_used() {
    for engine in [EngineChoice::Epoll, EngineChoice::IoUring] {
        // The server itself uses one of the ten ports, on 127.0.0.1.
        let Some(result) = load_result(25, engine) else { return };
        assert_eq!(
            (result.counts.ok, result.counts.failed_total()),
            (125, 0),
            "{:?}",
            result.counts
        );
        assert_eq!(result.connections.sources, 3, "25 of 10 each");
    }
}

#[test]
fn running_out_of_ports_on_all_addresses_is_an_outcome() {
    let Some(result) = load_result(200, EngineChoice::Epoll) else { return };
    let failed = &result.counts.failed;
    assert!(failed.contains_key("net:no-port"), "{failed:?}");
    assert_eq!(result.connections.sources, 8, "{failed:?}");
    assert!(result.counts.ok > 0);
}
