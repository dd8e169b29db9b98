//! Answers, correct and wrong, as data.

use std::time::Duration;

use crate::request::{ParsedRequest, Persistence, Shape};

/// One answer: its bytes, how they are written, and what happens to the connection.
#[derive(Clone, Debug)]
pub struct Answer {
    text: Content,
    /// Only this many bytes of it are sent.
    cut_at: usize,
    writing: Writing,
    after: ExtraBytes,
    then: ConnectionAction,
}

/// What is sent after an answer, although nobody asked for it.
#[derive(Clone, Debug, Default)]
pub(crate) enum ExtraBytes {
    /// Nothing.
    #[default]
    Nothing,
    /// These bytes, this much later.
    Later(Duration, Vec<u8>),
    /// These bytes repeatedly, until the client closes or the server ends.
    Forever(Vec<u8>),
}

/// How bytes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writing {
    /// In one call.
    #[default]
    AtOnce,
    /// In calls of `bytes` each (0 counts as 1), with a gap between them.
    Torn {
        /// Bytes of one call.
        bytes: usize,
        /// Time from one call to the next.
        gap: Duration,
    },
    /// In two calls.
    Split {
        /// Bytes of the first call (0 counts as 1).
        at: usize,
        /// Time between the two calls.
        gap: Duration,
    },
}

/// What happens to the connection once the answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionAction {
    /// It is kept, or closed with `Connection: close`, as the client demands.
    #[default]
    AsRequested,
    /// It is closed, and the answer says so.
    AnnouncedClose,
    /// It is closed without being announced.
    Close,
    /// It is reset (RST; a Unix socket is closed, because it has no RST).
    Reset,
    /// It stays open, and nothing more is sent until the client closes it. Its worker is held.
    Hold,
}

#[derive(Clone, Debug)]
enum Content {
    /// Sent unchanged.
    Raw(Vec<u8>),
    Http {
        /// Complete interim answers before the answer.
        interim: String,
        status: u16,
        /// Header lines with their line ends, without framing and Connection.
        fields: String,
        framing: Framing,
        body: Vec<u8>,
    },
}

#[derive(Clone, Debug)]
enum Framing {
    /// Content-Length with the length of the body.
    Length,
    /// Content-Length with another value.
    Announced(u64),
    /// Chunks of `bytes` each, then these trailer lines.
    Chunked { bytes: usize, trailers: String },
    /// No framing: the body ends with the connection.
    Unframed,
}

impl Default for Answer {
    fn default() -> Answer {
        Answer::ok()
    }
}

impl Answer {
    /// 200 with the body `ok`.
    pub fn ok() -> Answer {
        Answer::new(200, "ok")
    }

    /// A correct answer with a Content-Length.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Answer {
        Answer::of(Content::Http {
            interim: String::new(),
            status,
            fields: String::new(),
            framing: Framing::Length,
            body: body.into(),
        })
    }

    /// These bytes and no others: garbage, or an answer that this type cannot describe.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Answer {
        Answer::of(Content::Raw(bytes.into()))
    }

    /// No byte at all; `then` says what happens instead.
    pub fn none(then: ConnectionAction) -> Answer {
        Answer::raw(Vec::new()).then(then)
    }

    fn of(text: Content) -> Answer {
        Answer {
            text,
            cut_at: usize::MAX,
            writing: Writing::AtOnce,
            after: ExtraBytes::Nothing,
            then: ConnectionAction::AsRequested,
        }
    }

    /// Adds a header line. Like all methods down to `chunked`, it has no effect on `raw`.
    pub fn field(mut self, name: &str, value: &str) -> Answer {
        if let Content::Http { fields, .. } = &mut self.text {
            fields.push_str(&line(name, value));
        }
        self
    }

    /// Adds an interim answer before it; may be called more than once.
    pub fn after_interim(mut self, status: u16) -> Answer {
        if let Content::Http { interim, .. } = &mut self.text {
            interim.push_str(&status_line(status));
            interim.push_str("X-Interim: yes\r\n\r\n");
        }
        self
    }

    /// Announces another length than the body has. With a larger one, the answer is cut short if
    /// the connection closes; with a smaller one, surplus bytes follow it.
    pub fn announcing(self, length: u64) -> Answer {
        self.framed(Framing::Announced(length))
    }

    /// Has no length: the body ends where the connection does. Closes the connection.
    pub fn unframed(self) -> Answer {
        self.framed(Framing::Unframed).then(ConnectionAction::Close)
    }

    /// Sends the body in chunks of `bytes` each (0 counts as 1), each with an extension, then
    /// trailers.
    pub fn chunked(self, bytes: usize, trailers: &[(&str, &str)]) -> Answer {
        let trailers = trailers.iter().map(|(name, value)| line(name, value)).collect();
        self.framed(Framing::Chunked { bytes: bytes.max(1), trailers })
    }

    fn framed(mut self, new: Framing) -> Answer {
        if let Content::Http { framing, .. } = &mut self.text {
            *framing = new;
        }
        self
    }

    /// Sends only its first `bytes`, of head and body together.
    pub fn cut_at(self, bytes: usize) -> Answer {
        Answer { cut_at: bytes, ..self }
    }

    /// Sends it in this way.
    pub fn written(self, writing: Writing) -> Answer {
        Answer { writing, ..self }
    }

    /// Sends these bytes this long after it, although nobody asked for them.
    pub fn later(self, gap: Duration, bytes: impl Into<Vec<u8>>) -> Answer {
        Answer { after: ExtraBytes::Later(gap, bytes.into()), ..self }
    }

    /// Repeats these bytes (at least one) after it, until the client closes. Its worker is held.
    pub fn forever(self, bytes: impl Into<Vec<u8>>) -> Answer {
        Answer { after: ExtraBytes::Forever(bytes.into()), ..self }
    }

    /// What happens to the connection after it.
    pub fn then(self, then: ConnectionAction) -> Answer {
        Answer { then, ..self }
    }

    pub(crate) fn after(&self) -> &ExtraBytes {
        &self.after
    }

    pub(crate) fn writing(&self) -> Writing {
        self.writing
    }

    /// What really happens to the connection: never `AsRequested`; `None` where it is kept.
    pub(crate) fn ending(&self, request: &ParsedRequest) -> Option<ConnectionAction> {
        match self.then {
            ConnectionAction::AsRequested if request.persistence == Persistence::Close => {
                Some(ConnectionAction::AnnouncedClose)
            }
            ConnectionAction::AsRequested => None,
            then => Some(then),
        }
    }

    /// The bytes of this answer to `request`.
    pub(crate) fn bytes(&self, request: &ParsedRequest) -> Vec<u8> {
        let mut bytes = match &self.text {
            Content::Raw(bytes) => bytes.clone(),
            Content::Http { interim, status, fields, framing, body } => {
                let mut head = format!("{interim}{}{fields}", status_line(*status));
                head.push_str(&framing.line(*status, body.len()));
                head.push_str(match self.ending(request) {
                    Some(ConnectionAction::AnnouncedClose) => "Connection: close\r\n",
                    None if request.persistence == Persistence::Explicit => {
                        "Connection: keep-alive\r\n"
                    }
                    _ => "",
                });
                head.push_str("\r\n");
                let mut bytes = head.into_bytes();
                if request.shape == Shape::HeadAndBody {
                    framing.write(body, &mut bytes);
                }
                bytes
            }
        };
        bytes.truncate(self.cut_at);
        bytes
    }
}

impl Framing {
    fn line(&self, status: u16, body: usize) -> String {
        match self {
            Framing::Length if matches!(status, 204 | 304) => String::new(),
            Framing::Length => line("Content-Length", &body.to_string()),
            Framing::Announced(length) => line("Content-Length", &length.to_string()),
            Framing::Chunked { .. } => line("Transfer-Encoding", "chunked"),
            Framing::Unframed => String::new(),
        }
    }

    fn write(&self, body: &[u8], out: &mut Vec<u8>) {
        let Framing::Chunked { bytes, trailers } = self else {
            return out.extend_from_slice(body);
        };
        for chunk in body.chunks(*bytes) {
            out.extend_from_slice(format!("{:x};name=value\r\n", chunk.len()).as_bytes());
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
    }
}

fn line(name: &str, value: &str) -> String {
    format!("{name}: {value}\r\n")
}

fn status_line(status: u16) -> String {
    format!("HTTP/1.1 {status} Known\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: ParsedRequest =
        ParsedRequest { length: 0, shape: Shape::HeadAndBody, persistence: Persistence::Implicit };

    fn text(answer: &Answer, request: ParsedRequest) -> String {
        String::from_utf8(answer.bytes(&request)).unwrap()
    }

    #[test]
    fn answers_are_written_as_configured() {
        let table = [
            (Answer::ok(), "HTTP/1.1 200 Known\r\nContent-Length: 2\r\n\r\nok"),
            (Answer::new(204, ""), "HTTP/1.1 204 Known\r\n\r\n"),
            (
                Answer::new(302, "").field("Location", "/b"),
                "HTTP/1.1 302 Known\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
            ),
            (Answer::ok().announcing(9), "HTTP/1.1 200 Known\r\nContent-Length: 9\r\n\r\nok"),
            (
                Answer::ok().after_interim(103),
                "HTTP/1.1 103 Known\r\nX-Interim: yes\r\n\r\n\
                 HTTP/1.1 200 Known\r\nContent-Length: 2\r\n\r\nok",
            ),
            (
                Answer::new(200, "abc").chunked(2, &[("A", "b")]),
                "HTTP/1.1 200 Known\r\nTransfer-Encoding: chunked\r\n\r\n\
                 2;name=value\r\nab\r\n1;name=value\r\nc\r\n0\r\nA: b\r\n\r\n",
            ),
            (Answer::ok().unframed(), "HTTP/1.1 200 Known\r\n\r\nok"),
            (Answer::ok().cut_at(8), "HTTP/1.1"),
            (Answer::raw("noise"), "noise"),
            (Answer::none(ConnectionAction::Reset), ""),
        ];
        for (answer, expected) in table {
            assert_eq!(text(&answer, KEPT), expected);
        }
    }

    #[test]
    fn the_request_decides_on_body_and_connection() {
        let head = ParsedRequest { shape: Shape::HeadOnly, ..KEPT };
        let empty = "HTTP/1.1 200 Known\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(text(&Answer::ok(), head), empty);
        let old = ParsedRequest { persistence: Persistence::Explicit, ..KEPT };
        assert!(text(&Answer::ok(), old).contains("\r\nConnection: keep-alive\r\n"));
        let last = ParsedRequest { persistence: Persistence::Close, ..KEPT };
        assert!(text(&Answer::ok(), last).contains("\r\nConnection: close\r\n"));
        assert_eq!(Answer::ok().ending(&last), Some(ConnectionAction::AnnouncedClose));
        assert_eq!(Answer::ok().ending(&old), None);
    }
}
