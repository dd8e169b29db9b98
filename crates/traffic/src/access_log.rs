//! Reads a web server's log in common or combined format: the first quoted field is the request
//! line.

use std::fmt::Write as _;

use stampede_model::entry::{EntryError, Skip};

use super::input::{Draft, Input, ParseError, ParsedEntry, shown};
use crate::request::is_token;

#[derive(Debug)]
pub(super) struct AccessLog {
    methods: Vec<String>,
    line: Vec<u8>,
    request: Vec<u8>,
}

impl AccessLog {
    pub(super) fn new(methods: &[String]) -> AccessLog {
        AccessLog { methods: methods.to_vec(), line: Vec::new(), request: Vec::new() }
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        loop {
            if !input.line(&mut self.line)? {
                return Ok(ParsedEntry::End);
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        if !unquote(&self.line, &mut self.request) {
            let what = EntryError::NoRequestInQuotes { line: shown(&self.line) };
            return Err(input.broken(what, EXPECTED));
        }
        Ok(self.step(input.line_number(), draft))
    }

    fn step(&self, line: u64, draft: &mut Draft) -> ParsedEntry {
        let Some((method, target)) = parts(&self.request) else {
            return ParsedEntry::Skipped(Skip::NotHttp {});
        };
        if !self.methods.iter().any(|wanted| wanted == method) {
            let method: String = method.chars().take(METHOD_CHARS).collect();
            return ParsedEntry::Skipped(Skip::Method { method });
        }
        draft.begin(line, method);
        // The log of a proxy contains the whole URL.
        let url = String::from_utf8_lossy(target);
        match url.starts_with("http://") || url.starts_with("https://") {
            true => draft.set_url(&url),
            false => encode(target, &mut draft.path),
        }
        draft.host.clear();
        match draft.path.starts_with('/') {
            true => ParsedEntry::Request,
            false => ParsedEntry::Skipped(Skip::NoPath {}),
        }
    }
}

/// Method and target of a request line; the target may contain spaces.
fn parts(request: &[u8]) -> Option<(&str, &[u8])> {
    let first = request.iter().position(|byte| *byte == b' ')?;
    let last = request.iter().rposition(|byte| *byte == b' ')?;
    let method = std::str::from_utf8(&request[..first]).ok().filter(|method| is_token(method))?;
    let is_http = first < last && request[last + 1..].starts_with(b"HTTP/");
    is_http.then(|| (method, &request[first + 1..last]))
}

/// Writes the first quoted field to `out` and undoes the server's escapes. nginx writes `\xHH`;
/// Apache also writes `\"`, `\\` and the letters of C. Returns `false` where there is no valid
/// field.
fn unquote(line: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let Some(open) = line.iter().position(|byte| *byte == b'"') else { return false };
    let mut bytes = line[open + 1..].iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return true,
            b'\\' => match bytes.next() {
                Some(b'x') => {
                    let mut digit = || char::from(bytes.next()?).to_digit(16);
                    let (Some(high), Some(low)) = (digit(), digit()) else { return false };
                    out.push((high * 16 + low) as u8);
                }
                Some(b'n') => out.push(b'\n'),
                Some(b'r') => out.push(b'\r'),
                Some(b't') => out.push(b'\t'),
                Some(other) => out.push(other),
                None => return false,
            },
            other => out.push(other),
        }
    }
    false
}

/// Percent-encodes bytes that a request line must not contain.
fn encode(target: &[u8], out: &mut String) {
    for byte in target {
        match byte {
            0x21..=0x7e => out.push(char::from(*byte)),
            _ => write!(out, "%{byte:02X}").expect("writing into a string does not fail"),
        }
    }
}

const EXPECTED: &str = "a line of the common or combined log, such as: 127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326";
/// Most characters of a method in a reason.
const METHOD_CHARS: usize = 20;
