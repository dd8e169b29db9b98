//! What a server tells of a request: its answer in parts, and what PHP made of the request.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use stampede_load::protocol::http1::{AnswerReader, WholeAnswer};
use stampede_traffic::AnswerShape;

use super::corpus::RawRequest;

/// What is told, by name: `status`, `header location`, `get`, `server HTTP_HOST`, `body` …
pub type Told = BTreeMap<String, String>;

/// No answer of the tests takes longer.
const WITHIN: Duration = Duration::from_secs(10);
const BODY_MAX: usize = 8 << 20;
/// Headers that servers set for themselves.
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
/// Entries of `$_SERVER` that differ by nature.
const BY_NATURE: [&str; 8] = [
    "SERVER_SOFTWARE",
    "FCGI_ROLE",
    "REQUEST_TIME",
    "REQUEST_TIME_FLOAT",
    "REMOTE_PORT",
    "PHP_FCGI_MAX_REQUESTS",
    "argv",
    "argc",
];

/// Sends a request and reads the answer.
pub fn ask(url: &str, request: &RawRequest) -> Told {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    match exchange(address, request) {
        Ok(answer) => parts(&answer, address, request),
        Err(problem) => Told::from([("answer".to_owned(), problem)]),
    }
}

fn exchange(address: &str, request: &RawRequest) -> Result<WholeAnswer, String> {
    let mut connection = TcpStream::connect(address).map_err(|error| error.to_string())?;
    connection.set_read_timeout(Some(WITHIN)).map_err(|error| error.to_string())?;
    connection.set_write_timeout(Some(WITHIN)).map_err(|error| error.to_string())?;
    let mut writing = connection.try_clone().map_err(|error| error.to_string())?;
    let bytes = request.bytes();
    // A server may answer and close before it has read everything.
    let writer = std::thread::spawn(move || drop(writing.write_all(&bytes)));
    let mut reader = AnswerReader::new(AnswerShape::of(request.method().as_bytes()), BODY_MAX);
    let mut buffer = vec![0; 64 << 10];
    let answer = loop {
        match connection.read(&mut buffer) {
            Ok(0) => break reader.peer_closed().map_err(|error| error.to_string()),
            Ok(count) => match reader.received(&buffer[..count]) {
                Ok(Some(answer)) => break Ok(answer),
                Ok(None) => {}
                Err(error) => break Err(error.to_string()),
            },
            Err(error) => break Err(error.to_string()),
        }
    };
    drop(connection);
    writer.join().expect("a writer");
    answer
}

fn parts(answer: &WholeAnswer, address: &str, request: &RawRequest) -> Told {
    let mut told = Told::from([("status".to_owned(), answer.status.to_string())]);
    for (name, value) in &answer.headers {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        if OF_SERVERS.contains(&name.as_str()) {
            continue;
        }
        let value = String::from_utf8_lossy(value).trim().to_owned();
        let all = told.entry(format!("header {name}")).or_default();
        *all = if all.is_empty() { value } else { format!("{all}\n{value}") };
    }
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(Value::Object(variables)) => {
            for (name, value) in &variables {
                match (name.as_str(), value) {
                    ("server", Value::Array(entries)) => told.extend(server(entries, address)),
                    _ => drop(told.insert(name.clone(), value.to_string())),
                }
            }
        }
        _ if is_servers_own(answer.status, request) => {}
        _ => drop(told.insert("body".to_owned(), body(&answer.body))),
    }
    told
}

/// Whether the page is one that each server words in its own way.
fn is_servers_own(status: u16, request: &RawRequest) -> bool {
    status >= 400 && !request.head[0].contains("/answer/")
}

/// `$_SERVER` without what differs by nature.
fn server(entries: &[Value], address: &str) -> Told {
    let port = address.rsplit(':').next().unwrap_or_default().to_owned();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs = entries.iter().map(|pair| (text(&pair[0]), text(&pair[1])));
    let pairs: BTreeMap<String, String> = pairs.collect();
    let docroot = pairs.get("DOCUMENT_ROOT").cloned().unwrap_or_default();
    let shown = |value: String| match value == port {
        true => "{port}".to_owned(),
        false if docroot.len() > 1 => value.replace(&docroot, "{docroot}"),
        false => value,
    };
    pairs
        .into_iter()
        .filter(|(name, _)| !BY_NATURE.contains(&name.as_str()) && !is_of_the_process(name))
        .map(|(name, value)| (format!("server {name}"), shown(value)))
        .collect()
}

/// Whether it is an entry of the process's environment, which `variables_order` puts there.
fn is_of_the_process(name: &str) -> bool {
    std::env::var_os(name).is_some()
        || ["RR_", "STAMPEDE_", "PHP_INI", "PHPRC"].iter().any(|begin| name.starts_with(begin))
}

fn body(bytes: &[u8]) -> String {
    if bytes.len() <= 400 {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, {:x}", bytes.len(), hasher.finish())
}
