//! A small HTTP server on any address, which answers each request with the same bytes.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The server; it runs until the test program ends.
pub struct CountingServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    answered: Arc<AtomicUsize>,
    last_head: Arc<Mutex<String>>,
}

impl CountingServer {
    /// Starts it on a free port. `None`: this machine does not have the address.
    pub fn at(ip: &str, answer: &'static str) -> Option<CountingServer> {
        CountingServer::at_port(ip, 0, answer)
    }

    /// Starts it on this port. `None`: this machine does not have the address, or the port is in
    /// use there.
    pub fn at_port(ip: &str, port: u16, answer: &'static str) -> Option<CountingServer> {
        let ip: IpAddr = ip.parse().expect("an address");
        let listener = TcpListener::bind((ip, port)).ok()?;
        let address = listener.local_addr().expect("its address");
        let (connections, answered) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (opened, count) = (connections.clone(), answered.clone());
        let last_head: Arc<Mutex<String>> = Arc::default();
        let head = last_head.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                opened.fetch_add(1, Ordering::Relaxed);
                let (count, head) = (count.clone(), head.clone());
                std::thread::spawn(move || talk(connection, answer, &count, &head));
            }
        });
        Some(CountingServer { address, connections, answered, last_head })
    }

    /// The number of connections that it accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The head of the request that it answered last.
    pub fn last_head(&self) -> String {
        self.last_head.lock().expect("no panic").clone()
    }

    /// The number of requests that it answered.
    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }
}

fn talk(mut connection: TcpStream, answer: &str, count: &AtomicUsize, last: &Mutex<String>) {
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = connection.read(&mut piece) {
        seen.extend_from_slice(&piece[..length]);
        while let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = seen.drain(..end + 4).collect();
            *last.lock().expect("no panic") = String::from_utf8_lossy(&head).into_owned();
            // Before the answer: a client that has it may ask for the count at once.
            count.fetch_add(1, Ordering::Relaxed);
            if connection.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// A correct answer.
pub const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
