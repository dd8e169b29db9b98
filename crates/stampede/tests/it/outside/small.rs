//! A small HTTP server on any address, which answers each request with the same bytes.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The server; it runs until the test program ends.
pub struct CountingServer {
    address: SocketAddr,
    answered: Arc<AtomicUsize>,
}

impl CountingServer {
    /// Starts it on a free port. `None`: this machine does not have the address.
    pub fn at(ip: &str, answer: &'static str) -> Option<CountingServer> {
        let ip: IpAddr = ip.parse().expect("an address");
        let listener = TcpListener::bind((ip, 0)).ok()?;
        let address = listener.local_addr().expect("its address");
        let answered = Arc::new(AtomicUsize::new(0));
        let count = answered.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let count = count.clone();
                std::thread::spawn(move || talk(connection, answer, &count));
            }
        });
        Some(CountingServer { address, answered })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The number of requests that it answered.
    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }
}

fn talk(mut connection: TcpStream, answer: &str, count: &AtomicUsize) {
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = connection.read(&mut piece) {
        seen.extend_from_slice(&piece[..length]);
        while let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            seen.drain(..end + 4);
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
