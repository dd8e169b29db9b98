//! Reads JSON Lines: each line is an object that describes a request.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use stampede_model::entry::EntryError;

use super::Header;
use super::input::{Draft, Input, ParseError, ParsedEntry};

#[derive(Debug, Default)]
pub(super) struct JsonLines {
    line: Vec<u8>,
}

/// One line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    method: Option<String>,
    #[serde(alias = "uri", alias = "url")]
    path: String,
    host: Option<String>,
    #[serde(default)]
    headers: Headers,
    body: Option<String>,
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
        loop {
            let Some(line) = input.text(&mut self.line)? else { return Ok(ParsedEntry::End) };
            if line.trim().is_empty() {
                continue;
            }
            let entry: Entry = match serde_json::from_str(line) {
                Ok(entry) => entry,
                Err(error) => {
                    // The library counts the lines of its own text, which is always one.
                    let said = error.to_string();
                    let json_error = said.split(" at line ").next().unwrap_or_default().to_owned();
                    let column = Some(error.column() as u64);
                    return Err(input.broken(EntryError::Json { json_error, column }, EXPECTED));
                }
            };
            entry.write(input.line_number(), draft);
            return Ok(ParsedEntry::Request);
        }
    }
}

impl Entry {
    fn write(self, line: u64, draft: &mut Draft) {
        let implied = if self.body.is_some() { "POST" } else { "GET" };
        draft.begin(line, self.method.as_deref().unwrap_or(implied));
        draft.set_url(&self.path);
        if let Some(host) = self.host.filter(|host| !host.is_empty()) {
            draft.host = host;
        }
        draft.headers = self.headers.0;
        draft.body.extend_from_slice(self.body.unwrap_or_default().as_bytes());
        draft.tag = self.tag.unwrap_or_default();
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Headers, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
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
        f.write_str("headers as an object")
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
