//! Tests a load whose connections go to several addresses in turn, with both engines.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stampede_load::spec::{EngineChoice, Load};
use stampede_load::{Generator as _, InProcess, Listener, LoadError, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Addresses, ConnectionHabit, Model, Until};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::Request;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

/// A server that lives as long as the process, and the number of its connections so far.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicU64>,
}

impl Server {
    fn at(ip: [u8; 4]) -> Server {
        let listener = TcpListener::bind(SocketAddr::from((ip, 0))).unwrap();
        let (address, connections) = (listener.local_addr().unwrap(), Arc::default());
        let count = Arc::clone(&connections);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                AtomicU64::fetch_add(&count, 1, Ordering::Relaxed);
                std::thread::spawn(move || answer(client));
            }
        });
        Server { address, connections }
    }

    fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

fn answer(mut client: TcpStream) -> Option<()> {
    let (mut request, mut read) = (Vec::new(), [0; 1024]);
    loop {
        let bytes = client.read(&mut read).ok().filter(|bytes| *bytes > 0)?;
        request.extend_from_slice(&read[..bytes]);
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
        }
    }
}

/// An address on which nothing listens.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.4:0").unwrap().local_addr().unwrap()
}

const ENGINES: [EngineChoice; 2] = [EngineChoice::Epoll, EngineChoice::IoUring];

/// Sends `requests` by `concurrency` users; `None`: the engine is not allowed here.
fn load_result(
    addresses: &[SocketAddr],
    engine: EngineChoice,
    (concurrency, requests): (u32, u64),
    change: impl FnOnce(&mut Load),
) -> Option<LoadResult> {
    let target: Vec<Address> = addresses.iter().copied().map(Address::Tcp).collect();
    let target = Addresses::try_from(target).unwrap();
    let until = Until::Requests(requests);
    let mut load = Load::new(target, Model::Closed { concurrency, until }, []);
    (load.engine, load.timeout) = (engine, Nanos::from_secs(20));
    change(&mut load);
    load.traffic = [Request::build("GET", "/", &[], b"", load.habits, None).unwrap()].into();
    match InProcess.run(&load, &Stop::default(), &mut NoListener) {
        Ok(result) => Some(result),
        Err(LoadError::Engine(_)) if engine == EngineChoice::IoUring => {
            eprintln!("skipped: io_uring is not allowed here");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Connections that were opened and that failed, by address.
fn dealt(result: &LoadResult) -> Vec<(String, u64, u64)> {
    let addresses = &result.connections.addresses;
    addresses.iter().map(|one| (one.address.clone(), one.opened, one.failed)).collect()
}

#[test]
fn kept_connections_are_dealt_in_turn() {
    for engine in ENGINES {
        let (one, other) = (Server::at([127, 0, 0, 2]), Server::at([127, 0, 0, 3]));
        let addresses = [one.address, other.address];
        let Some(result) = load_result(&addresses, engine, (6, 60), |_| {}) else { return };
        assert_eq!((result.counts.ok, result.connections.opened), (60, 6));
        assert_eq!(dealt(&result), addresses.map(|address| (address.to_string(), 3, 0)));
        assert_eq!((one.connections(), other.connections()), (3, 3));
    }
}

/// Each thread begins with another address, so that few connections a thread are dealt evenly too.
#[test]
fn load_threads_begin_with_different_addresses() {
    let (one, other) = (Server::at([127, 0, 0, 2]), Server::at([127, 0, 0, 3]));
    let addresses = [one.address, other.address];
    let result = load_result(&addresses, EngineChoice::Epoll, (4, 40), |load| load.threads = 4);
    let result = result.expect("epoll works everywhere");
    assert_eq!(dealt(&result), addresses.map(|address| (address.to_string(), 2, 0)));
    assert_eq!((one.connections(), other.connections()), (2, 2));
}

#[test]
fn an_address_that_is_dead_during_the_load_fails_its_share() {
    for engine in ENGINES {
        let (one, other) = (Server::at([127, 0, 0, 2]), Server::at([127, 0, 0, 3]));
        let addresses = [one.address, nobody(), other.address];
        let Some(result) = load_result(&addresses, engine, (1, 21), |load| {
            load.habits.connection = ConnectionHabit::PerRequest;
        }) else {
            return;
        };
        assert_eq!(result.counts.failed, [("net:refused".to_owned(), 7)].into());
        let [one_text, dead, other_text] = addresses.map(|address| address.to_string());
        assert_eq!(dealt(&result), [(one_text, 7, 0), (dead, 0, 7), (other_text, 7, 0)]);
        assert_eq!((one.connections(), other.connections()), (7, 7));
    }
}
