//! The raw requests, which the tests of the PHP library read too.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The file. A character of its texts is a byte.
#[derive(Deserialize)]
pub struct Corpus {
    /// Entries of php.ini that the requests need.
    pub php_ini: BTreeMap<String, String>,
    /// The requests.
    pub requests: Vec<RawRequest>,
}

/// A request as a client sends it.
#[derive(Deserialize)]
pub struct RawRequest {
    /// A name of its own.
    pub name: String,
    /// The request line and the headers.
    pub head: Vec<String>,
    #[serde(default)]
    body: Vec<Piece>,
    /// Whether it is sent as it is.
    #[serde(default)]
    raw: bool,
    chunks: Option<Vec<Vec<Piece>>>,
}

/// A text, perhaps many times.
#[derive(Deserialize)]
#[serde(untagged)]
enum Piece {
    Once(String),
    Repeated { times: usize, text: String },
}

impl Corpus {
    /// Reads the file.
    pub fn read() -> Corpus {
        let path = super::repository().join("php/tests/conformance/requests.json");
        let text = std::fs::read_to_string(path).expect("the requests");
        serde_json::from_str(&text).expect("requests")
    }
}

impl RawRequest {
    /// The bytes to send. What every client sends is added where it is missing.
    pub fn bytes(&self) -> Vec<u8> {
        let has = |name: &str| {
            let begin = format!("{name}:");
            self.head.iter().any(|line| line.to_ascii_lowercase().starts_with(&begin))
        };
        let mut lines: Vec<Vec<u8>> = self.head.iter().map(|line| bytes(line)).collect();
        if !self.raw && !has("host") {
            lines.insert(1, b"Host: localhost".to_vec());
        }
        if !self.raw && !has("connection") {
            lines.push(b"Connection: close".to_vec());
        }
        let body = joined(&self.body);
        if !self.raw && !body.is_empty() && !has("content-length") {
            lines.push(format!("Content-Length: {}", body.len()).into_bytes());
        }
        let mut all = lines.join(&b"\r\n"[..]);
        all.extend_from_slice(b"\r\n\r\n");
        all.extend_from_slice(&body);
        if let Some(chunks) = &self.chunks {
            for chunk in chunks.iter().map(|chunk| joined(chunk)).filter(|one| !one.is_empty()) {
                all.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                all.extend_from_slice(&chunk);
                all.extend_from_slice(b"\r\n");
            }
            all.extend_from_slice(b"0\r\n\r\n");
        }
        all
    }

    /// The variables of headers that come in several lines.
    pub fn repeated_variables(&self) -> Vec<String> {
        let lines = self.head[1..].iter().filter_map(|line| line.split_once(':'));
        let names: Vec<String> = lines
            .map(|(name, _)| format!("HTTP_{}", name.to_ascii_uppercase().replace('-', "_")))
            .collect();
        let is_repeated = |name: &&String| names.iter().filter(|one| one == name).count() > 1;
        names.iter().filter(is_repeated).cloned().collect()
    }

    /// Whether it is sent as it is, which a server may refuse.
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.head[0].split(' ').next().unwrap_or_default()
    }
}

fn joined(pieces: &[Piece]) -> Vec<u8> {
    let of = |piece: &Piece| match piece {
        Piece::Once(text) => bytes(text),
        Piece::Repeated { times, text } => bytes(text).repeat(*times),
    };
    pieces.iter().flat_map(of).collect()
}

/// Each character is a byte.
fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).expect("a byte")).collect()
}
