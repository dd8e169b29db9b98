//! Writes requests as JSON lines, which read back to the same requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::request::{Content, Message, Request};

/// The line of a request with this tag, without its end. Headers that every client sends are left
/// out, since they are added when the line is read.
pub fn json_line(request: &Request, tag: &str) -> String {
    let mut line = Map::new();
    match request.content() {
        Content::Encoded(bytes) => insert_bytes(&mut line, "raw", bytes),
        Content::Message(message) => describe(message, &mut line),
    }
    if !tag.is_empty() {
        line.insert("tag".to_owned(), tag.into());
    }
    Value::Object(line).to_string()
}

fn describe(message: Message<'_>, line: &mut Map<String, Value>) {
    line.insert("method".to_owned(), text(message.method).into());
    line.insert("path".to_owned(), text(message.path).into());
    let headers: Vec<(String, String)> =
        message.given().map(|(name, value)| (text(name), text(value))).collect();
    if !headers.is_empty() {
        line.insert("headers".to_owned(), of_headers(&headers));
    }
    if !message.body.is_empty() {
        insert_bytes(line, "body", message.body);
    }
}

/// An object where each name occurs once; otherwise a list of pairs, which keeps their order.
fn of_headers(headers: &[(String, String)]) -> Value {
    let mut object = Map::new();
    for (name, value) in headers {
        object.insert(name.clone(), value.as_str().into());
    }
    if object.len() == headers.len() {
        return Value::Object(object);
    }
    let pair = |(name, value): &(String, String)| Value::from(vec![name.as_str(), value.as_str()]);
    headers.iter().map(pair).collect()
}

/// Adds the bytes as text, or in base64 under a name that says so.
fn insert_bytes(line: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => line.insert(name.to_owned(), text.into()),
        Err(_) => line.insert(format!("{name}_base64"), STANDARD.encode(bytes).into()),
    };
}

/// The text of a part that was made of text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
