//! Servers that already run: a small shop in the test's own process, and `php -S`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The expected answer of the app `hello`.
const BODY: &str = include_str!("../../../../../apps/hello/expected.json");

/// A server that answers like the app `hello` and records its requests. Its threads end with the
/// test's process.
pub struct RecordingServer {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
    _directory: Option<tempfile::TempDir>,
}

impl RecordingServer {
    pub fn tcp() -> RecordingServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let heads = noting(move || listener.accept().map(|(connection, _)| connection));
        RecordingServer { url, heads, _directory: None }
    }

    pub fn unix() -> RecordingServer {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("shop.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let heads = noting(move || listener.accept().map(|(connection, _)| connection));
        RecordingServer {
            url: format!("unix:{}", path.display()),
            heads,
            _directory: Some(directory),
        }
    }

    /// The URL without a path.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }

    /// The paths of all requests.
    pub fn paths(&self) -> Vec<String> {
        let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.heads().iter().map(path).collect()
    }

    /// The `Host` headers of all requests.
    pub fn hosts(&self) -> Vec<String> {
        let host = |head: &String| {
            let lines = head.lines().filter_map(|line| line.split_once(':'));
            let mut found = lines.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
            found.next().map_or(String::new(), |(_, value)| value.trim().to_owned())
        };
        self.heads().iter().map(host).collect()
    }

    /// Asserts that the server still listens.
    pub fn answers_still(&self) {
        let address = self.url.replace("http://", "");
        std::net::TcpStream::connect(address).expect("it listens");
    }
}

/// Serves each connection in a thread of its own; returns the heads of all requests.
fn noting<S: Read + Write + Send + 'static>(
    mut accept: impl FnMut() -> std::io::Result<S> + Send + 'static,
) -> Arc<Mutex<Vec<String>>> {
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&heads);
    std::thread::spawn(move || {
        while let Ok(connection) = accept() {
            let noted = Arc::clone(&noted);
            std::thread::spawn(move || serve(connection, &noted));
        }
    });
    heads
}

/// Answers one request after another. A connection ends when its client closes it.
fn serve(mut connection: impl Read + Write, heads: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0_u8; 1];
    while let Ok(1) = connection.read(&mut byte) {
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        head.clear();
        let close = text.to_ascii_lowercase().contains("connection: close");
        heads.lock().expect("no panic").push(text);
        // The check of every request looks for the message in the form that PHP writes.
        let body = BODY.replace(": ", ":");
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if connection.write_all(answer.as_bytes()).is_err() || close {
            return;
        }
    }
}

/// A process that is ended when it is dropped.
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A `php -S` process with the app `hello`.
pub struct PhpServer {
    pub child: KillOnDrop,
    pub url: String,
    log: tempfile::NamedTempFile,
}

impl PhpServer {
    /// The number of requests in its log so far.
    pub fn answered(&self) -> usize {
        let text = std::fs::read_to_string(self.log.path()).unwrap_or_default();
        text.matches("Accepted").count()
    }
}

/// Starts `php -S` on a free port and waits until it listens.
pub fn php() -> PhpServer {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("its address").to_string();
    drop(free);
    let app = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/hello/public");
    let log = tempfile::NamedTempFile::new().expect("a file");
    let child = Command::new("php")
        .args(["-S", &address, "-t", app, &format!("{app}/index.php")])
        .env("APP_ENV", "prod")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.reopen().expect("the same file"))
        .spawn()
        .expect("php starts");
    let begun = Instant::now();
    while std::net::TcpStream::connect(&address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "php -S does not listen");
        std::thread::sleep(Duration::from_millis(10));
    }
    PhpServer { child: KillOnDrop(child), url: format!("http://{address}"), log }
}

/// The only child of a process, as soon as it has one. `None`: none came within 2 s.
pub fn only_child(pid: u32) -> Option<u32> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        let path = format!("/proc/{pid}/task/{pid}/children");
        let text = std::fs::read_to_string(path).ok()?;
        if let Some(child) = text.split_whitespace().next() {
            return child.parse().ok();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}
