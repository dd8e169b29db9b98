//! What a line of a log says of one request, and what else a line can be.

use std::fmt::Write as _;

use crate::request::is_token;

/// A request of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(super) method: String,
    /// Path and query, or a URL; escapes of the log are undone.
    pub(super) target: Vec<u8>,
    /// Host that was asked for, where the log has it.
    pub(super) host: String,
    /// Status of the answer, where the log has it.
    pub(super) status: Option<u16>,
    /// When it was logged, since 1970.
    pub(super) time_ns: Option<u64>,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Request(Record),
    /// Of an access log, and what it has in place of a request line is none.
    NotHttp,
    /// Of an error log.
    Error,
    /// Anything else.
    Other,
}

impl Record {
    /// Takes over a request line: `GET /a HTTP/1.1`, or without a version `GET /a`.
    pub(super) fn of_request_line(text: &[u8]) -> Option<Record> {
        let (method, target) = with_version(text).or_else(|| without_version(text))?;
        Some(Record { method: method.to_owned(), target: target.to_vec(), ..Record::default() })
    }
}

/// Method and target of a request line with a version. The target may contain spaces.
pub(super) fn with_version(text: &[u8]) -> Option<(&str, &[u8])> {
    let first = text.iter().position(|byte| *byte == b' ')?;
    let last = text.iter().rposition(|byte| *byte == b' ')?;
    let method = std::str::from_utf8(&text[..first]).ok().filter(|method| is_token(method))?;
    let version = text[last + 1..].strip_prefix(b"HTTP/").unwrap_or_default();
    let is_http = first < last && version.first().is_some_and(u8::is_ascii_digit);
    is_http.then(|| (method, text[first + 1..last].trim_ascii()))
}

/// Method and target of a request line of HTTP/0.9, or of a log that leaves the version out.
fn without_version(text: &[u8]) -> Option<(&str, &[u8])> {
    let blank = text.iter().position(|byte| *byte == b' ')?;
    let method = std::str::from_utf8(&text[..blank]).ok().filter(|method| is_method(method))?;
    let target = text[blank + 1..].trim_ascii();
    is_target(target).then_some((method, target))
}

/// Whether this is one of the methods that servers meet, where nothing else shows that a word is a
/// method.
pub(super) fn is_method(word: &str) -> bool {
    METHODS.contains(&word)
}

/// Whether this may be what is asked for: a path or a URL.
pub(super) fn is_target(text: &[u8]) -> bool {
    text.starts_with(b"/") || is_url(text)
}

pub(super) fn is_url(text: &[u8]) -> bool {
    text.starts_with(b"http://") || text.starts_with(b"https://")
}

/// A number of three digits that is a status.
pub(super) fn status(word: &[u8]) -> Option<u16> {
    let [b'1'..=b'5', _, _] = word else { return None };
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Undoes the escapes of servers. nginx writes `\xHH`; Apache also writes `\"`, `\\` and the
/// letters of C. Other backslashes are meant as they are.
pub(super) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let [kind, after @ ..] = rest else {
            out.push(b'\\');
            break;
        };
        rest = after;
        match kind {
            b'"' | b'\\' => out.push(*kind),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'b' => out.push(8),
            b'v' => out.push(11),
            b'x' if hex(after).is_some() => {
                out.extend(hex(after));
                rest = &after[2..];
            }
            other => out.extend([b'\\', *other]),
        }
    }
    out
}

/// The byte that two hexadecimal digits stand for.
fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |place: usize| char::from(*digits.get(place)?).to_digit(16);
    Some((digit(0)? * 16 + digit(1)?) as u8)
}

/// Percent-encodes bytes that a request line must not contain.
pub(super) fn encode(target: &[u8], out: &mut String) {
    for byte in target {
        match byte {
            0x21..=0x7e => out.push(char::from(*byte)),
            _ => write!(out, "%{byte:02X}").expect("writing into a string does not fail"),
        }
    }
}

const METHODS: [&str; 12] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "PROPFIND",
    "REPORT", "PURGE",
];
