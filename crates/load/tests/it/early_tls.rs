//! Tests a server that answers inside TLS before it has read the request, and does not read the
//! rest.

#[path = "certified/mod.rs"]
mod certified;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use certified::config;
use rustls::server::{ServerConfig, ServerConnection};
use rustls::{StreamOwned, SupportedProtocolVersion};
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::spec::{EngineChoice, Wire};
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Model, Until};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::Request;

const REQUESTS: u64 = 12;
/// More than the buffers of a connection hold.
const BODY_BYTES: usize = 16 << 20;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

/// What the server does after its answer.
#[derive(Clone, Copy, Debug)]
enum ServerAction {
    /// Closes with the rest unread, which causes a reset.
    Closes,
    /// Keeps the connection open and reads nothing.
    Holds,
}

/// A server that lives as long as the process, and the number of its connections.
fn start(
    version: &'static SupportedProtocolVersion,
    action: ServerAction,
) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (connections, config) = (Arc::new(AtomicU64::new(0)), config(version));
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            let (config, client) = (config.clone(), client.unwrap());
            std::thread::spawn(move || serve(client, config, action));
        }
    });
    (address, connections)
}

fn serve(client: TcpStream, config: Arc<ServerConfig>, action: ServerAction) -> Option<()> {
    client.set_nodelay(true).ok()?;
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, client);
    stream.read(&mut [0; 1024]).ok().filter(|bytes| *bytes > 0)?;
    stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig").ok()?;
    if let ServerAction::Holds = action {
        // Until long after the load.
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    Some(())
}

fn load_result(address: SocketAddr, engine: EngineChoice) -> LoadResult {
    let model = Model::Closed { concurrency: 2, until: Until::Requests(REQUESTS) };
    let mut load = Load::new(Address::Tcp(address), model, []);
    let setup = Setup::new("localhost", Certificates::Any, Sessions::New).unwrap();
    (load.wire, load.engine) = (Wire::Tls(setup), engine);
    load.timeout = Nanos::from_secs(20);
    let body = vec![b'x'; BODY_BYTES];
    load.traffic = [Request::build("POST", "/", &[], &body, load.habits, None).unwrap()].into();
    InProcess.run(&load, &Stop::default(), &mut NoListener).unwrap()
}

#[test]
fn an_early_answer_counts_and_ends_its_connection() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for action in [ServerAction::Closes, ServerAction::Holds] {
            for engine in [EngineChoice::Epoll, EngineChoice::IoUring] {
                let (address, connections) = start(version, action);
                let result = load_result(address, engine);
                let about = format!("{:?} {action:?} {engine:?}", version.version);
                assert_eq!(
                    result.counts.failed,
                    [("http:413".to_owned(), REQUESTS)].into(),
                    "{about}"
                );
                assert_eq!(connections.load(Ordering::Relaxed), REQUESTS, "{about}");
            }
        }
    }
}
