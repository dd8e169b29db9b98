//! What a server tells of a request: its answer in parts, and what PHP made of the request.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use stampede_load::protocol::http1::{AnswerReader, WholeAnswer};
use stampede_traffic::AnswerShape;

use super::corpus::RawRequest;
use super::differences::fits;

/// What is told, by name: `status`, `header location`, `get`, `server HTTP_HOST`, `body` …; `answer`
/// is there where none came, and says why.
pub type Told = BTreeMap<String, String>;

/// A server, and what is its own in what it tells.
pub struct Server {
    address: String,
    port: String,
    dir: String,
}

/// From the connection to the end of the answer. On a busy machine they take well below 1 s.
const WITHIN: Duration = Duration::from_secs(4);
const BODY_MAX: usize = 8 << 20;
/// Headers that a web server sets for itself, whatever the app said.
const OF_SERVERS: [&str; 11] = [
    "date",
    "server",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "x-powered-by",
    "host",
    "vary",
    "alt-svc",
    "accept-ranges",
];
/// Entries of `$_SERVER` that differ by nature: names of programs, the time, the client's own port,
/// and what the command line's PHP was started with.
const BY_NATURE: [&str; 7] = [
    "SERVER_SOFTWARE",
    "FCGI_ROLE",
    "REQUEST_TIME",
    "REQUEST_TIME_FLOAT",
    "REMOTE_PORT",
    "argv",
    "argc",
];
/// Entries that are no part of a request: `variables_order` puts the environment of PHP's process
/// there, and what the server was started with is in it. An app's own entries are compared.
const OF_THE_PROCESS: [&str; 11] = [
    "GOMAXPROCS",
    "HOST_PROC",
    "LC_ALL",
    "PATH",
    "PHPRC",
    "PHP_*",
    "RR_*",
    "STAMPEDE_*",
    "TMPDIR",
    "USER",
    "UWSGI_*",
];
/// Entries that begin as those of PHP's process, and are of a request.
const OF_PHP: [&str; 2] = ["PHP_SELF", "PHP_AUTH_*"];

impl Server {
    /// The server at this URL, whose copy of the app is below `dir`.
    pub fn new(url: &str, dir: &Path) -> Server {
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let port = address.rsplit(':').next().unwrap_or_default().to_owned();
        Server { address, port, dir: dir.display().to_string() }
    }

    /// Sends a request and reads the answer.
    pub fn ask(&self, request: &RawRequest) -> Told {
        match exchange(&self.address, request) {
            Ok(answer) => self.parts(&answer, request),
            Err(problem) => Told::from([("answer".to_owned(), problem)]),
        }
    }

    fn parts(&self, answer: &WholeAnswer, request: &RawRequest) -> Told {
        let mut told = Told::from([("status".to_owned(), answer.status.to_string())]);
        for (name, value) in &answer.headers {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            if OF_SERVERS.contains(&name.as_str()) {
                continue;
            }
            let value = self.without_own(String::from_utf8_lossy(value).trim().to_owned());
            let all = told.entry(format!("header {name}")).or_default();
            *all = if all.is_empty() { value } else { format!("{all}\n{value}") };
        }
        match serde_json::from_slice::<Value>(&answer.body) {
            Ok(Value::Object(variables)) => {
                // The cookies of several lines are those that the server passes on.
                let is_repeated =
                    request.repeated_variables().iter().any(|one| one == "HTTP_COOKIE");
                let variables =
                    variables.iter().filter(|(name, _)| !is_repeated || *name != "cookie");
                for (name, value) in variables {
                    match (name.as_str(), value) {
                        ("server", Value::Array(entries)) => {
                            told.extend(self.variables(entries, request));
                        }
                        _ => drop(told.insert(name.clone(), value.to_string())),
                    }
                }
            }
            _ if is_servers_own(answer.status, request) => {}
            _ => drop(told.insert("body".to_owned(), body(&answer.body))),
        }
        told
    }

    /// `$_SERVER` without what differs by nature.
    fn variables(&self, entries: &[Value], request: &RawRequest) -> Told {
        // nginx passes on the last of several lines, and from version 1.23 on all of them.
        let repeated = request.repeated_variables();
        let is_compared = |name: &str| {
            !BY_NATURE.contains(&name)
                && !is_of_the_process(name)
                && !repeated.iter().any(|one| one == name)
        };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let pairs = entries.iter().map(|pair| (text(&pair[0]), text(&pair[1])));
        pairs
            .filter(|(name, _)| is_compared(name))
            .map(|(name, value)| (format!("server {name}"), self.without_own(value)))
            .collect()
    }

    /// A text without the port and the directory that another server has others of.
    fn without_own(&self, text: String) -> String {
        if text == self.port { "{port}".to_owned() } else { text.replace(&self.dir, "{dir}") }
    }
}

fn exchange(address: &str, request: &RawRequest) -> Result<WholeAnswer, String> {
    let until = Instant::now() + WITHIN;
    let shown = |error: std::io::Error| error.kind().to_string();
    let mut connection = TcpStream::connect(address).map_err(shown)?;
    connection.set_write_timeout(Some(WITHIN)).map_err(shown)?;
    let mut writing = connection.try_clone().map_err(shown)?;
    let bytes = request.bytes();
    // A server may answer and close before it has read everything.
    let writer = std::thread::spawn(move || drop(writing.write_all(&bytes)));
    let answer = read_until(&mut connection, request, until);
    // It ends the writer too, which has the same connection.
    drop(connection.shutdown(Shutdown::Both));
    writer.join().expect("a writer");
    answer
}

fn read_until(
    connection: &mut TcpStream,
    request: &RawRequest,
    until: Instant,
) -> Result<WholeAnswer, String> {
    let shape = AnswerShape::of(request.method().as_bytes());
    let mut reader = AnswerReader::new(shape, BODY_MAX);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("none in time".to_owned());
        }
        connection.set_read_timeout(Some(left)).map_err(|error| error.kind().to_string())?;
        match connection.read(&mut buffer) {
            Ok(0) => return reader.peer_closed().map_err(|error| error.to_string()),
            Ok(count) => match reader.received(&buffer[..count]) {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                Err(error) => return Err(error.to_string()),
            },
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.kind().to_string()),
        }
    }
}

/// Whether the page is one that each server words in its own way.
fn is_servers_own(status: u16, request: &RawRequest) -> bool {
    status >= 400 && !request.head[0].contains("/answer/")
}

fn is_of_the_process(name: &str) -> bool {
    let any = |patterns: &[&str]| patterns.iter().any(|pattern| fits(pattern, name));
    any(&OF_THE_PROCESS) && !any(&OF_PHP) || std::env::var_os(name).is_some()
}

fn body(bytes: &[u8]) -> String {
    if bytes.len() <= 400 {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, {:x}", bytes.len(), hasher.finish())
}
