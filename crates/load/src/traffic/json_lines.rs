//! An object a line, each a request.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::Header;
use super::input::{Draft, Fault, Input, Step};

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

/// In the order in which they are written.
#[derive(Debug, Default)]
struct Headers(Vec<Header>);

impl JsonLines {
    pub(super) fn next(&mut self, input: &mut Input, draft: &mut Draft) -> Result<Step, Fault> {
        loop {
            let Some(line) = input.text(&mut self.line)? else { return Ok(Step::End) };
            if line.trim().is_empty() {
                continue;
            }
            let entry: Entry = match serde_json::from_str(line) {
                Ok(entry) => entry,
                Err(error) => {
                    // It counts lines of its own text, of which there is one.
                    let what = error.to_string().replace(" at line 1 column", " at column");
                    return Err(input.broken(what, EXPECTED));
                }
            };
            entry.write(input.line_number(), draft);
            return Ok(Step::Request);
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

/// A header's value, or the values of several of that name.
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
