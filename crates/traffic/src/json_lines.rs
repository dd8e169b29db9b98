//! Reads JSON Lines: each line is an object that describes a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use stampede_model::entry::EntryError;

use super::Header;
use super::input::{Draft, Input, ParseError, ParsedEntry};
use super::json::line_error;
use super::sized::find_fault;

#[derive(Debug, Default)]
pub(super) struct JsonLines {
    line: Vec<u8>,
}

/// One line: the parts of a request, or all of its bytes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    method: Option<String>,
    #[serde(alias = "uri", alias = "url")]
    path: Option<String>,
    host: Option<String>,
    #[serde(default)]
    headers: Headers,
    body: Option<String>,
    body_base64: Option<String>,
    raw: Option<String>,
    raw_base64: Option<String>,
    tag: Option<String>,
}

/// Headers in the order in which they are written.
#[derive(Debug, Default)]
struct Headers(Vec<Header>);

impl JsonLines {
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        let Some(line) = input.next_text(&mut self.line)? else { return Ok(ParsedEntry::End) };
        let entry: Entry =
            serde_json::from_str(line).map_err(|error| line_error(input, &error, EXPECTED))?;
        let written = entry.write(input.line_number(), draft);
        written.map(|()| ParsedEntry::Request).map_err(|what| input.broken(what, EXPECTED))
    }
}

impl Entry {
    fn write(self, line: u64, draft: &mut Draft) -> Result<(), EntryError> {
        if let Some(bytes) = bytes(self.raw, self.raw_base64)? {
            return write_raw(line, bytes, self.tag, draft);
        }
        let missing = || EntryError::MemberMissing { name: "path".to_owned() };
        let path = self.path.ok_or_else(missing)?;
        let body = bytes(self.body, self.body_base64)?;
        let implied = if body.is_some() { "POST" } else { "GET" };
        draft.begin(line, self.method.as_deref().unwrap_or(implied));
        draft.set_url(&path);
        if let Some(host) = self.host.filter(|host| !host.is_empty()) {
            draft.host = host;
        }
        draft.headers = self.headers.0;
        draft.body.extend_from_slice(&body.unwrap_or_default());
        draft.tag = self.tag.unwrap_or_default();
        Ok(())
    }
}

/// Bytes that are written as text or in base64.
fn bytes(text: Option<String>, base64: Option<String>) -> Result<Option<Vec<u8>>, EntryError> {
    match (text, base64) {
        (None, Some(base64)) => {
            STANDARD.decode(base64).map(Some).map_err(|_| EntryError::NotBase64 {})
        }
        (text, _) => Ok(text.map(String::into_bytes)),
    }
}

/// A whole request, which is sent unchanged.
fn write_raw(
    line: u64,
    bytes: Vec<u8>,
    tag: Option<String>,
    draft: &mut Draft,
) -> Result<(), EntryError> {
    let end = bytes.iter().position(|byte| *byte == b' ').unwrap_or(0);
    let method = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    if let Some(what) = find_fault(method, &bytes) {
        return Err(what);
    }
    draft.begin(line, method);
    draft.is_raw = true;
    draft.tag = tag.unwrap_or_default();
    draft.body = bytes;
    Ok(())
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Headers, D::Error> {
        deserializer.deserialize_any(HeaderVisitor)
    }
}

struct HeaderVisitor;

/// The value of a header, or the values of several headers with that name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Many(Vec<String>),
}

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Headers;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("headers as an object, or as a list of pairs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Headers, A::Error> {
        let mut headers = Vec::new();
        while let Some(header) = list.next_element::<Header>()? {
            headers.push(header);
        }
        Ok(Headers(headers))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
        let mut headers = Vec::new();
        while let Some((name, values)) = map.next_entry::<String, Values>()? {
            match values {
                Values::One(value) => headers.push((name, value)),
                Values::Many(values) => {
                    headers.extend(values.into_iter().map(|value| (name.clone(), value)));
                }
            }
        }
        Ok(Headers(headers))
    }
}

const EXPECTED: &str =
    "an object a line with `path`, and `method`, `headers`, `body`, `tag`, `host` where wanted";
