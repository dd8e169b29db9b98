//! A server that sends exactly what a test says, over TCP or a Unix socket, with a thread per
//! connection.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// One connection.
pub enum ServerConnection {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl ServerConnection {
    /// Reads a request's head to its end. `None`: the connection ended before.
    pub fn head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if self.read(&mut byte).ok()? == 0 {
                return None;
            }
            head.push(byte[0]);
        }
        Some(String::from_utf8_lossy(&head).into_owned())
    }

    /// Writes the bytes. Whether anybody reads them shows later.
    pub fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.write_all(bytes.as_ref());
    }

    /// Waits until the other side has closed, without reading.
    pub fn wait_for_the_end(&self) {
        // Half a minute: far longer than any timeout of these tests.
        for _ in 0..3_000 {
            if self.is_gone() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_gone(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};
        let fd = match self {
            ServerConnection::Tcp(stream) => PollFd::new(stream, PollFlags::RDHUP),
            ServerConnection::Unix(stream) => PollFd::new(stream, PollFlags::RDHUP),
        };
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [fd], Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

impl Read for ServerConnection {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            ServerConnection::Tcp(stream) => stream.read(into),
            ServerConnection::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for ServerConnection {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            ServerConnection::Tcp(stream) => stream.write(bytes),
            ServerConnection::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The server; it ends on drop.
pub struct ScriptedServer {
    address: ListenAddress,
    over: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

enum ListenAddress {
    Tcp(std::net::SocketAddr),
    Unix(PathBuf),
}

impl ScriptedServer {
    /// Listens on a port of the kernel's choice; `talk` gets each connection.
    pub fn tcp(talk: impl Fn(ServerConnection) + Send + Sync + 'static) -> ScriptedServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = ListenAddress::Tcp(listener.local_addr().expect("an address"));
        let accept = move || {
            let (stream, _) = listener.accept()?;
            // Bytes that wait for an acknowledgement of earlier ones would be lost in a reset.
            stream.set_nodelay(true)?;
            Ok(ServerConnection::Tcp(stream))
        };
        ScriptedServer::start(address, accept, talk)
    }

    /// Listens at `path`, which must not exist yet.
    pub fn unix(
        path: &Path,
        talk: impl Fn(ServerConnection) + Send + Sync + 'static,
    ) -> ScriptedServer {
        let listener = UnixListener::bind(path).expect("a socket");
        let address = ListenAddress::Unix(path.to_owned());
        ScriptedServer::start(
            address,
            move || Ok(ServerConnection::Unix(listener.accept()?.0)),
            talk,
        )
    }

    fn start(
        address: ListenAddress,
        accept: impl Fn() -> std::io::Result<ServerConnection> + Send + 'static,
        talk: impl Fn(ServerConnection) + Send + Sync + 'static,
    ) -> ScriptedServer {
        let (over, connections) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (is_over, count, talk) = (Arc::clone(&over), Arc::clone(&connections), Arc::new(talk));
        let thread = std::thread::spawn(move || {
            while let Ok(line) = accept() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                AtomicUsize::fetch_add(&count, 1, Ordering::Relaxed);
                let talk = Arc::clone(&talk);
                std::thread::spawn(move || talk(line));
            }
        });
        ScriptedServer { address, over, connections, thread: Some(thread) }
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The URL of `path` on this server.
    pub fn url(&self, path: &str) -> String {
        match &self.address {
            ListenAddress::Tcp(address) => format!("http://{address}{path}"),
            ListenAddress::Unix(socket) => format!("unix:{}:{path}", socket.display()),
        }
    }

    /// The URL of a script on this server, for FastCGI.
    pub fn fastcgi(&self, script: &str) -> String {
        match &self.address {
            ListenAddress::Tcp(address) => format!("fcgi://{address}{script}"),
            ListenAddress::Unix(socket) => format!("fcgi+unix:{}:{script}", socket.display()),
        }
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The server waits in `accept`: a connection wakes it.
        match &self.address {
            ListenAddress::Tcp(address) => drop(TcpStream::connect(address)),
            ListenAddress::Unix(path) => {
                let _ = UnixStream::connect(path).map(|line| line.shutdown(Shutdown::Both));
            }
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
