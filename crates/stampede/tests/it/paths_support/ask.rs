//! A client that sends a target as it is, and tells what came of it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::reference::{Facts, Request};

/// Sends each request on a connection of its own.
pub struct Client {
    address: String,
}

/// An answer in parts. A header that came several times has its lines joined by line breaks.
struct Answer {
    status: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// No answer of the tests takes longer.
const WITHIN: Duration = Duration::from_secs(10);

impl Client {
    /// A client of the server at this URL.
    pub fn new(url: &str) -> Client {
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Client { address }
    }

    /// The port of the server.
    pub fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap_or_default()
    }

    /// What a request gives.
    pub fn seen(&self, request: &Request) -> Facts {
        let mut headers = request.headers.clone();
        if let Some(length) = request.long_header {
            headers.push(format!("X-Long: {}", "a".repeat(length)));
        }
        if let Some(name) = &request.same {
            let (_, target) = request.parts();
            let earlier = self.answer("GET", target, request.host(), &[], None);
            let from = if name == "If-None-Match" { "etag" } else { "last-modified" };
            let value = earlier.headers.get(from).cloned().unwrap_or_default();
            headers.push(format!("{name}: {value}"));
        }
        let (method, target) = request.parts();
        let body = request.body.as_deref();
        self.answer(method, target, request.host(), &headers, body).facts(request.host())
    }

    /// What a GET gives.
    pub fn get(&self, target: &str) -> Facts {
        self.answer("GET", target, "localhost", &[], None).facts("localhost")
    }

    /// The body that a GET gives.
    pub fn text(&self, target: &str) -> String {
        let answer = self.answer("GET", target, "localhost", &[], None);
        String::from_utf8_lossy(&answer.body).into_owned()
    }

    fn answer(
        &self,
        method: &str,
        target: &str,
        host: &str,
        headers: &[String],
        body: Option<&str>,
    ) -> Answer {
        let mut lines = vec![format!("{method} {target} HTTP/1.1"), format!("Host: {host}")];
        lines.push("Connection: close".into());
        lines.extend_from_slice(headers);
        if let Some(body) = body {
            lines.push("Content-Type: application/x-www-form-urlencoded".into());
            lines.push(format!("Content-Length: {}", body.len()));
        }
        let text = format!("{}\r\n\r\n{}", lines.join("\r\n"), body.unwrap_or_default());
        let mut connection = TcpStream::connect(&self.address).expect("it listens");
        connection.set_read_timeout(Some(WITHIN)).expect("a timeout");
        let mut bytes = Vec::new();
        // A server may answer and close before it has read everything.
        let _ = connection.write_all(text.as_bytes());
        let _ = connection.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, body) = match end {
            Some(end) => (&bytes[..end], &bytes[end + 4..]),
            None => (bytes, &[][..]),
        };
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or_default().split(' ').nth(1).unwrap_or_default().into();
        let mut headers = BTreeMap::<String, String>::new();
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let all = headers.entry(name.to_ascii_lowercase()).or_default();
            if !all.is_empty() {
                all.push('\n');
            }
            all.push_str(value.trim());
        }
        let chunked = headers.get("transfer-encoding").is_some_and(|value| value == "chunked");
        let body = if chunked { joined(body) } else { body.to_vec() };
        Answer { status, headers, body }
    }

    fn facts(&self, host: &str) -> Facts {
        let text = String::from_utf8_lossy(&self.body).into_owned();
        let kind = self.headers.get("content-type");
        let kind = kind.map(|value| value.split(';').next().unwrap_or_default().trim().to_owned());
        let long = self.headers.iter().filter(|(name, _)| name.starts_with("x-long-"));
        let long: usize = long.map(|(_, value)| value.len()).sum();
        let location = self.headers.get("location").map(|value| within(value, host));
        let mut facts = Facts::from([
            ("status".into(), Some(self.status.clone())),
            ("type".into(), kind),
            ("location".into(), location),
            ("long headers of the answer".into(), Some(long.to_string())),
        ]);
        match serde_json::from_str::<Value>(&text) {
            Ok(told) if told.get("server").is_some() => facts.extend(variables(&told)),
            _ => drop(facts.insert("answer".into(), Some(text))),
        }
        facts
    }
}

/// What the script told. Its own paths are given below the document root.
fn variables(told: &Value) -> Facts {
    let server = told["server"].as_object().expect("variables");
    let root = server.get("DOCUMENT_ROOT").and_then(Value::as_str).unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let below = |value: &Value| text(value).replacen(root, "", 1);
    let mut facts = Facts::new();
    for (name, value) in server {
        let value = if name == "SCRIPT_FILENAME" { below(value) } else { text(value) };
        facts.insert(name.clone(), Some(value));
    }
    facts.insert("script".into(), Some(below(&told["file"])));
    facts.insert("working directory".into(), Some(below(&told["cwd"])));
    facts.insert("body".into(), Some(text(&told["body"])));
    facts
}

/// A `Location` without the server's own scheme and host, with escapes in capitals.
fn within(location: &str, host: &str) -> String {
    let own = format!("http://{host}/");
    let path =
        location.strip_prefix(&own).map_or_else(|| location.to_owned(), |rest| format!("/{rest}"));
    let mut parts = path.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        format!("{all}%{}{rest}", digits.to_ascii_uppercase())
    })
}

/// The chunks of a body in one piece.
fn joined(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let digits = String::from_utf8_lossy(&body[..end]).into_owned();
        let digits = digits.split(';').next().unwrap_or_default().trim();
        let Ok(length) = usize::from_str_radix(digits, 16) else { break };
        let chunk = &body[end + 2..];
        if length == 0 || chunk.len() < length + 2 {
            break;
        }
        all.extend_from_slice(&chunk[..length]);
        body = &chunk[length + 2..];
    }
    all
}
