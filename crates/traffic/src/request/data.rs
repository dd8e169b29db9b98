//! A request as data: its parts under their names, so that what is read can be checked like what is
//! built.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stampede_model::entry::RequestError;

use super::{Content, Header, Message, Request, RequestParts};
use crate::answer::{AnswerShape, BodyLengths};
use crate::script::Script;
use crate::tag::Tag;

#[derive(Serialize, Deserialize)]
pub(super) struct RequestData {
    content: ContentData,
    answer: AnswerShape,
    closes: bool,
    tag: Tag,
    #[serde(default)]
    lengths: BodyLengths,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ContentData {
    Encoded(#[serde(with = "crate::base64_bytes")] Vec<u8>),
    Parts(PartsData),
}

#[derive(Serialize, Deserialize)]
struct PartsData {
    method: String,
    path: String,
    added: Vec<Header>,
    given: Vec<Header>,
    #[serde(with = "crate::base64_bytes")]
    body: Vec<u8>,
    script: Option<Script>,
}

impl From<Request> for RequestData {
    fn from(request: Request) -> RequestData {
        let content = match request.content() {
            Content::Encoded(bytes) => ContentData::Encoded(bytes.to_vec()),
            Content::Message(message) => ContentData::Parts(PartsData::from(message)),
        };
        let Request { answer, closes, tag, lengths, .. } = request;
        RequestData { content, answer, closes, tag, lengths }
    }
}

impl From<Message<'_>> for PartsData {
    fn from(message: Message<'_>) -> PartsData {
        let headers = |lines| {
            let fields = super::fields(lines);
            fields.map(|(name, value)| (text(name), text(value))).collect::<Vec<Header>>()
        };
        PartsData {
            method: text(message.method),
            path: text(message.path),
            added: headers(message.added),
            given: headers(message.given),
            body: message.body.to_vec(),
            script: message.script.cloned(),
        }
    }
}

/// What was written from a text is one.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl TryFrom<RequestData> for Request {
    type Error = RequestError;

    fn try_from(data: RequestData) -> Result<Request, RequestError> {
        let RequestData { content, answer, closes, tag, lengths } = data;
        let mut request = Request { answer, closes, tag, lengths, ..Request::default() };
        match content {
            ContentData::Encoded(bytes) => request.bytes = bytes,
            ContentData::Parts(parts) => {
                let PartsData { method, path, added, given, body, script } = &parts;
                let script = script.clone().map(Arc::new);
                let all = [added.as_slice(), given.as_slice()].concat();
                let (defaults, script) = (&[][..], script.as_ref());
                let parts = RequestParts { method, path, headers: &all, defaults, body, script };
                parts.check()?;
                request.write(parts, pairs(added), pairs(given));
            }
        }
        Ok(request)
    }
}

fn pairs(headers: &[Header]) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}
