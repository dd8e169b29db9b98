//! Tests that ended connections leave no descriptor in a load thread's own table, whichever side
//! ends them. It sends more requests, each on its own connection, than the table has room for. It
//! is alone in its program, because the limit belongs to the process.

#[allow(dead_code, reason = "what its other users need")]
#[path = "it/certified/mod.rs"]
mod certified;
#[allow(dead_code, reason = "what its other users need")]
#[path = "it/played/mod.rs"]
mod played;

use std::io::{self, Write};
use std::net::TcpStream;

use played::{EndAction, Kind, LONG, ScriptedServer, read_until};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustls::server::ServerConnection;
use rustls::{Stream, version::TLS13};
use stampede_load::protocol::fastcgi::{Script, request};
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::spec::Wire;
use stampede_load::{Generator as _, InProcess, Listener, Load};
use stampede_model::counts::Second;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion, Model, Until};
use stampede_model::stop::Stop;
use stampede_traffic::Request;

/// Limit of the process's open files; it includes those of the servers, which are few at once.
const FILES: u64 = 200;
const REQUESTS: u64 = 300;
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// A record of output and a record that ends the request.
const FASTCGI_OK: &[u8] =
    b"\x01\x06\0\x01\0\x0d\0\0A: b\r\n\r\nhello\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0";

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

fn get(connection: ConnectionHabit) -> Request {
    let habits = Habits { version: HttpVersion::Http11, connection };
    Request::build("GET", "/", &[], b"", habits, None).unwrap()
}

/// Plays `part` on each connection; every request must count as `counts_as`.
fn load_result(
    wire: &Wire,
    request: impl Fn(ConnectionHabit) -> Request,
    part: impl Fn(&mut TcpStream) -> io::Result<()> + Clone + Send + 'static,
    counts_as: &str,
) {
    let server = ScriptedServer::start(part);
    let way = (Kind::Closed, ConnectionHabit::PerRequest);
    let model = Model::Closed { concurrency: 3, until: Until::Requests(REQUESTS) };
    let load = Load { model, ..played::load(&server, wire.clone(), request, way, LONG) };
    let result = InProcess.run(&load, &Stop::default(), &mut NoListener).unwrap();
    let counts = result.counts;
    let all = if counts_as == "ok" { counts.ok } else { counts.failed[counts_as] };
    assert_eq!(all, REQUESTS, "{counts_as}: {counts:?}");
}

#[test]
fn an_ended_connection_leaves_no_descriptor_open() {
    setrlimit(Resource::Nofile, Rlimit { current: Some(FILES), maximum: Some(FILES) }).unwrap();
    let script = Script::new("/app/index.php");
    let of_fastcgi = |_| request(&script, "GET", "/", &[], b"").unwrap();
    let tls = Wire::Tls(Setup::new("localhost", Certificates::Any, Sessions::New).unwrap());
    let config = certified::config(&TLS13);
    // Whole, cut short, reset.
    let ends = [
        (0, EndAction::Close, "ok"),
        (2, EndAction::Close, "net:cut-short"),
        (2, EndAction::Reset, "net:reset"),
    ];
    for (missing, then, counts_as) in ends {
        let http = move |socket: &mut TcpStream| {
            read_until(socket, b"\r\n\r\n")?;
            socket.write_all(&OK[..OK.len() - missing])?;
            then.end(socket)
        };
        load_result(&Wire::Http1, get, http, counts_as);
        let fastcgi = move |socket: &mut TcpStream| {
            read_until(socket, &[1, 5, 0, 1, 0, 0, 0, 0])?;
            socket.write_all(&FASTCGI_OK[..FASTCGI_OK.len() - missing])?;
            then.end(socket)
        };
        load_result(&Wire::FastCgi, of_fastcgi, fastcgi, counts_as);
        let config = config.clone();
        let inside = move |socket: &mut TcpStream| {
            let connection = ServerConnection::new(config.clone());
            let mut connection = connection.map_err(io::Error::other)?;
            let mut stream = Stream::new(&mut connection, socket);
            read_until(&mut stream, b"\r\n\r\n")?;
            stream.write_all(&OK[..OK.len() - missing])?;
            stream.flush()?;
            then.end(socket)
        };
        load_result(&tls, get, inside, counts_as);
    }
}
