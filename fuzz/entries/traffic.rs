//! Checks that a request file gives requests or an error, the same each time. Each request must
//! have exactly one head, whatever the file contains. The first byte chooses format and habits, the
//! rest is the file.

use stampede_load::protocol::fastcgi::Script;
use stampede_load::protocol::http1;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_traffic::{Format, LogFormat, LogSelection, Request, TrafficFile, read_all};

/// One input.
pub fn run(input: &[u8]) {
    let Some((set, bytes)) = input.split_first() else { return };
    let (format, log_format, bytes) = parts(*set, bytes);
    let has_headers = set & 64 != 0;
    let headers = [("X-More", "and more"), ("host", "a.example")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let headers = if has_headers { headers.to_vec() } else { Vec::new() };
    let script = (set & 8 != 0).then(|| Script::new("/app/index.php"));
    let is_fastcgi = script.is_some();
    let log = LogSelection { format: log_format, ..LogSelection::default() };
    let file = TrafficFile { format, headers, script, log, ..TrafficFile::new("fuzz.traffic") };
    let version = if set & 128 == 0 { HttpVersion::Http11 } else { HttpVersion::Http10 };
    let habits = Habits { version, connection: ConnectionHabit::KeepAlive };
    match read_all(bytes, &file, habits) {
        Ok((requests, notes)) => {
            assert!(!requests.is_empty());
            assert_eq!(notes.requests, requests.len() as u64);
            assert_eq!(notes.broken > 0, notes.broken_first.is_some());
            let is_built = notes.format.as_deref() != Some(Format::Request.name());
            if is_built && !is_fastcgi {
                requests.iter().for_each(|request| has_one_head(request, habits));
            }
            let (again, same) = read_all(bytes, &file, habits).unwrap();
            assert!(again == requests && same == notes, "the same file is the same traffic");
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !error.hint().is_empty(), "{error:?}");
        }
    }
}

/// The format, the format of a log's lines, and the file. `0` to `5` are the first formats, `6` and `7`
/// leave it to be detected; with other bits there it is one of the rest, or the first line says how
/// the lines of a log are written.
fn parts(set: u8, bytes: &[u8]) -> (Option<Format>, Option<LogFormat>, &[u8]) {
    let number = usize::from(set & 7);
    match (set >> 4) & 3 {
        0 => (Format::ALL.get(6 + number).copied(), None, bytes),
        1 => (Format::ALL.get(14 + number).copied(), None, bytes),
        2 => {
            let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
            let written = String::from_utf8_lossy(&bytes[..end]);
            (None, written.parse().ok(), &bytes[end..])
        }
        _ => (Format::ALL[..6].get(number).copied(), None, bytes),
    }
}

/// Asserts that all lines of the head end correctly, and that none was injected.
fn has_one_head(request: &Request, habits: Habits) {
    let bytes = http1::text(request, habits);
    let bytes = String::from_utf8_lossy(&bytes);
    let (head, _) = bytes.split_once("\r\n\r\n").expect("a head ends");
    for line in head.split("\r\n") {
        assert!(!line.contains(['\r', '\n']), "{bytes:?}");
    }
    let first = head.split("\r\n").next().unwrap_or_default();
    assert_eq!(first.split(' ').count(), 3, "{bytes:?}");
}
