//! One request as parts, which the protocol of a connection encodes when it starts.

mod data;
mod plain;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stampede_model::entry::RequestError;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

use crate::answer::{AnswerShape, BodyLengths};
use crate::fields::{ConnectionHeader, elements};
use crate::script::Script;
use crate::tag::Tag;
use data::RequestData;

pub use plain::PlainRequest;

/// Name and value of a header.
pub type Header = (String, String);

/// One request. Its text is in one piece of memory, which is used again for the next request of a
/// file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RequestData", into = "RequestData")]
pub struct Request {
    /// Its text; `form` says what it is.
    pub bytes: Vec<u8>,
    /// What the bytes are.
    pub form: Form,
    /// What is known of the answer's body before its headers.
    pub answer: AnswerShape,
    /// Whether the request itself closes the connection after its answer: with `Connection: close`,
    /// or as HTTP/1.0 without `keep-alive` (RFC 9112 section 9.3).
    pub closes: bool,
    /// Its tag in the load's table of tags.
    pub tag: Tag,
    /// How long the body of its answer usually is. Others are counted, and are no failures.
    pub lengths: BodyLengths,
}

/// What the bytes of a request are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A whole request in the encoding of the connection's protocol. It is sent unchanged.
    #[default]
    Encoded,
    /// The parts of a request, which the protocol encodes.
    Parts(Parts),
}

/// Where the parts of a request end in its bytes. They follow one another: method, path, lines of
/// added headers, lines of given headers, and the body, which is the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    method: usize,
    path: usize,
    added: usize,
    given: usize,
    /// Whether a given header is `Connection`.
    says_connection: bool,
    /// Whether a given header says how long the body is.
    says_length: bool,
    script: Option<Arc<Script>>,
}

/// What a protocol sends for a request.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// These bytes, unchanged.
    Encoded(&'a [u8]),
    /// These parts, encoded.
    Message(Message<'a>),
}

/// A request that a protocol encodes. A line of a header is `Name: value\r\n`.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// As in the request line.
    pub method: &'a [u8],
    /// Path and query, or `*`.
    pub path: &'a [u8],
    /// Lines of the headers that every client sends and that were not given.
    pub added: &'a [u8],
    /// Lines of all other headers.
    pub given: &'a [u8],
    /// The whole body; may be empty.
    pub body: &'a [u8],
    /// Whether a given header is `Connection`.
    pub says_connection: bool,
    /// Whether a given header says how long the body is.
    pub says_length: bool,
    /// The script that answers; only FastCGI needs it.
    pub script: Option<&'a Script>,
}

impl Request {
    /// A request in the encoding of the connection's protocol, which is sent unchanged. It counts as
    /// one that keeps its connection.
    pub fn encoded(bytes: &[u8]) -> Request {
        Request { bytes: bytes.to_vec(), ..Request::default() }
    }

    /// Builds a request for connections with these habits. Adds `Host: localhost`, `Accept: */*`
    /// and `User-Agent: stampede/<version>` where they are not given. What else a protocol needs,
    /// it adds when it encodes the request.
    ///
    /// # Errors
    /// The parts would not make one well-formed request, in particular a header with a line break.
    pub fn build(
        method: &str,
        path: &str,
        headers: &[Header],
        body: &[u8],
        habits: Habits,
        tag: Option<Tag>,
    ) -> Result<Request, RequestError> {
        let mut request = Request { tag: tag.unwrap_or_default(), ..Request::default() };
        let parts = RequestParts { method, path, headers, defaults: &[], body, script: None };
        request.fill(parts, habits)?;
        Ok(request)
    }

    /// Becomes the request of `parts`; keeps its memory and its tag.
    pub fn fill(&mut self, parts: RequestParts<'_>, habits: Habits) -> Result<(), RequestError> {
        parts.check()?;
        self.answer = AnswerShape::of(parts.method.as_bytes());
        // FastCGI says that in a flag of its own.
        self.closes = parts.script.is_none() && parts.closes(habits);
        let added = ADDED.into_iter().filter(|(name, _)| !parts.has_header(name));
        let given = parts.all_headers().map(|(name, value)| (name.as_str(), value.as_str()));
        self.write(parts, added, given);
        Ok(())
    }

    /// Writes the parts, with these lines of headers.
    fn write<'a, 'b>(
        &mut self,
        RequestParts { method, path, body, script, .. }: RequestParts<'_>,
        added: impl Iterator<Item = (&'a str, &'a str)>,
        given: impl Iterator<Item = (&'b str, &'b str)>,
    ) {
        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.extend_from_slice(method.as_bytes());
        let method = bytes.len();
        bytes.extend_from_slice(path.as_bytes());
        let path = bytes.len();
        added.for_each(|header| write_header(bytes, header));
        let added = bytes.len();
        let (mut says_connection, mut says_length) = (false, false);
        for (name, value) in given {
            says_connection |= name.eq_ignore_ascii_case("connection");
            says_length |= name.eq_ignore_ascii_case("content-length")
                || name.eq_ignore_ascii_case("transfer-encoding");
            write_header(bytes, (name, value));
        }
        let given = bytes.len();
        bytes.extend_from_slice(body);
        let script = script.cloned();
        self.form =
            Form::Parts(Parts { method, path, added, given, says_connection, says_length, script });
    }

    /// What a protocol sends for it.
    #[inline]
    pub fn content(&self) -> Content<'_> {
        match &self.form {
            Form::Encoded => Content::Encoded(&self.bytes),
            Form::Parts(parts) => Content::Message(parts.of(&self.bytes)),
        }
    }
}

impl Parts {
    #[inline]
    fn of<'a>(&'a self, bytes: &'a [u8]) -> Message<'a> {
        Message {
            method: &bytes[..self.method],
            path: &bytes[self.method..self.path],
            added: &bytes[self.path..self.added],
            given: &bytes[self.added..self.given],
            body: &bytes[self.given..],
            says_connection: self.says_connection,
            says_length: self.says_length,
            script: self.script.as_deref(),
        }
    }
}

impl<'a> Message<'a> {
    /// Names and values of all headers, in the order of their lines.
    pub fn headers(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone {
        fields(self.added).chain(fields(self.given))
    }

    /// Names and values of the headers that were given.
    pub fn given(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone {
        fields(self.given)
    }

    /// The value of the first header with this name.
    pub fn header(self, name: &str) -> Option<&'a [u8]> {
        let mut headers = self.headers();
        headers.find(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }

    /// Whether the length of the body has to be sent: also that of an empty body, where the method
    /// makes one likely (RFC 9110 section 8.6).
    pub fn needs_length(self) -> bool {
        !self.body.is_empty() || matches!(self.method, b"POST" | b"PUT" | b"PATCH")
    }
}

/// Names and values of these lines.
fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
    lines.split_inclusive(|byte| *byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((&line[..colon], line.strip_suffix(b"\r\n")?.get(colon + 2..)?))
    })
}

/// Whether the head of `request` closes the connection after the answer. A server need not repeat
/// that in its answer.
pub fn asks_to_close(request: &[u8]) -> bool {
    let mut lines = request.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let is_old = lines.next().is_some_and(|line| line.ends_with(b" HTTP/1.0"));
    let fields = lines.take_while(|line| !line.is_empty());
    let values = fields.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        line[..colon].eq_ignore_ascii_case(b"connection").then(|| &line[colon + 1..])
    });
    closes(values, is_old)
}

/// Whether these values of `Connection` close a connection. `is_old`: the version is HTTP/1.0.
fn closes<'a>(values: impl Iterator<Item = &'a [u8]>, is_old: bool) -> bool {
    match values.flat_map(elements).fold(ConnectionHeader::Absent, ConnectionHeader::merge) {
        ConnectionHeader::Close => true,
        ConnectionHeader::KeepAlive => false,
        ConnectionHeader::Absent => is_old,
    }
}

/// The parts of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    /// A token (RFC 9110 section 5.6.2).
    pub method: &'a str,
    /// Path and query, or `*`.
    pub path: &'a str,
    /// The given headers, in their order.
    pub headers: &'a [Header],
    /// Headers that are sent where `headers` has none of that name.
    pub defaults: &'a [Header],
    /// The whole body; may be empty.
    pub body: &'a [u8],
    /// The script that answers, for FastCGI.
    pub script: Option<&'a Arc<Script>>,
}

impl<'a> RequestParts<'a> {
    fn check(&self) -> Result<(), RequestError> {
        if !is_token(self.method) {
            return Err(RequestError::Method { method: self.method.escape_debug().to_string() });
        }
        let bad = |byte: u8| byte <= b' ' || byte == 0x7f;
        let begins = self.path.starts_with('/') || self.path == "*";
        if !begins || self.path.bytes().any(bad) {
            return Err(RequestError::Path { path: self.path.escape_debug().to_string() });
        }
        self.all_headers().try_for_each(|header| self.check_header(header))
    }

    fn check_header(&self, (name, value): &Header) -> Result<(), RequestError> {
        if !is_token(name) {
            return Err(RequestError::HeaderName { name: name.escape_debug().to_string() });
        }
        if value.contains(['\r', '\n', '\0']) {
            let (name, value) = (name.clone(), value.escape_debug().to_string());
            return Err(RequestError::HeaderValue { name, value });
        }
        let body_bytes = self.body.len();
        if name.eq_ignore_ascii_case("content-length") && value.trim() != body_bytes.to_string() {
            let (given, body_bytes) = (value.clone(), body_bytes as u64);
            return Err(RequestError::ContentLength { given, body_bytes });
        }
        Ok(())
    }

    /// All headers: first the defaults that apply, then the given ones.
    fn all_headers(self) -> impl Iterator<Item = &'a Header> {
        let own =
            move |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let defaults = self.defaults.iter().filter(move |(name, _)| !own(name));
        defaults.chain(self.headers)
    }

    fn has_header(self, wanted: &str) -> bool {
        self.all_headers().any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    }

    /// Whether the request closes its connection, on connections with these habits.
    fn closes(self, habits: Habits) -> bool {
        let named = |header: &&Header| header.0.eq_ignore_ascii_case("connection");
        let values = self.all_headers().filter(named).map(|(_, value)| value.as_bytes());
        match self.has_header("connection") {
            true => closes(values, habits.version == HttpVersion::Http10),
            false => habits.connection == ConnectionHabit::PerRequest,
        }
    }
}

fn write_header(out: &mut Vec<u8>, (name, value): (&str, &str)) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Headers that every client sends.
const ADDED: [(&str, &str); 3] = [
    ("Host", "localhost"),
    ("Accept", "*/*"),
    ("User-Agent", concat!("stampede/", env!("CARGO_PKG_VERSION"))),
];

/// Whether the text is a token (RFC 9110 section 5.6.2).
pub fn is_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEPT: Habits =
        Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

    fn header(name: &str, value: &str) -> (String, String) {
        (name.to_string(), value.to_string())
    }

    fn text(request: &Request, habits: Habits) -> String {
        let version = concat!("stampede/", env!("CARGO_PKG_VERSION"));
        let text = String::from_utf8(crate::tests::encoded::text(request, habits)).unwrap();
        text.replace(version, "stampede/VERSION")
    }

    #[test]
    fn a_bare_get_gets_what_every_server_expects() {
        let request = Request::build("GET", "/a?b=c", &[], b"", KEPT, None).unwrap();
        let expected = "GET /a?b=c HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\
                        User-Agent: stampede/VERSION\r\n\r\n";
        assert_eq!(text(&request, KEPT), expected);
        assert_eq!((request.answer, request.tag), (AnswerShape::ByHeaders, Tag::NONE));
    }

    #[test]
    fn a_given_header_is_not_added_again() {
        let headers = [header("host", "shop.example"), header("user-agent", "me"), header("X", "")];
        let request = Request::build("POST", "/", &headers, b"a=1", KEPT, Some(Tag(7))).unwrap();
        let expected = "POST / HTTP/1.1\r\nAccept: */*\r\nContent-Length: 3\r\n\
                        host: shop.example\r\nuser-agent: me\r\nX: \r\n\r\na=1";
        assert_eq!((text(&request, KEPT).as_str(), request.tag), (expected, Tag(7)));
    }

    #[test]
    fn the_connection_header_is_sent_unless_it_is_the_default() {
        let said = |version, connection| {
            let habits = Habits { version, connection };
            let request = Request::build("HEAD", "/", &[], b"", habits, None).unwrap();
            assert_eq!(request.answer, AnswerShape::NoBody);
            let text = text(&request, habits);
            text.lines().find_map(|line| Some(line.strip_prefix("Connection: ")?.to_string()))
        };
        use ConnectionHabit::{KeepAlive, PerRequest};
        use HttpVersion::{Http10, Http11};
        assert_eq!(said(Http11, KeepAlive), None);
        assert_eq!(said(Http11, PerRequest).as_deref(), Some("close"));
        assert_eq!(said(Http10, KeepAlive).as_deref(), Some("keep-alive"));
        assert_eq!(said(Http10, PerRequest), None);
    }

    #[test]
    fn a_request_that_closes_its_connection_is_recognised() {
        let head = |lines: &str| format!("{}\r\n\r\n", lines.replace('\n', "\r\n"));
        for (lines, closes) in [
            ("GET / HTTP/1.1", false),
            ("GET / HTTP/1.1\nConnection: close", true),
            ("GET / HTTP/1.1\nconnection:TE,  Close ", true),
            ("GET / HTTP/1.1\nConnection: keep-alive\nConnection: close", true),
            ("GET / HTTP/1.1\nConnection: keep-alive", false),
            ("GET / HTTP/1.1\nX-Connection: close\nConnection: closed", false),
            ("GET / HTTP/1.0", true),
            ("GET / HTTP/1.0\nConnection: Keep-Alive", false),
        ] {
            assert_eq!(asks_to_close(head(lines).as_bytes()), closes, "{lines}");
        }
        assert!(asks_to_close(b"GET / HTTP/1.1\nConnection: close\n\n"), "line feeds alone do");
        assert!(!asks_to_close(b"POST / HTTP/1.1\r\n\r\nConnection: close"), "that is its body");
        assert!(!asks_to_close(b"") && !asks_to_close(b"\xff\n:\n"));
    }

    #[test]
    fn a_built_request_knows_whether_it_closes_its_connection() {
        let closes = |habits, headers: &[Header]| {
            Request::build("GET", "/", headers, b"", habits, None).unwrap().closes
        };
        let per_request = Habits { connection: ConnectionHabit::PerRequest, ..KEPT };
        let old = Habits { version: HttpVersion::Http10, ..KEPT };
        assert_eq!(
            [KEPT, per_request, old].map(|habits| closes(habits, &[])),
            [false, true, false]
        );
        assert!(closes(KEPT, &[header("connection", "close")]));
        for habits in [KEPT, per_request, old] {
            for value in ["", "close", "Keep-Alive", "upgrade", "keep-alive, close"] {
                let headers = [header("Connection", value)];
                let headers = if value.is_empty() { &[][..] } else { &headers[..] };
                let request = Request::build("GET", "/", headers, b"", habits, None).unwrap();
                let sent = crate::tests::encoded::text(&request, habits);
                assert_eq!(request.closes, asks_to_close(&sent), "{habits:?} {value}");
            }
        }
    }

    #[test]
    fn every_error_says_what_is_wrong_and_what_to_do() {
        let get = |path: &str, headers: &[(String, String)]| {
            Request::build("GET", path, headers, b"", KEPT, None).unwrap_err()
        };
        let errors = [
            Request::build("GE T", "/", &[], b"", KEPT, None).unwrap_err(),
            get("/a b", &[]),
            get("index.php", &[]),
            get("/", &[header("X:", "")]),
            get("/", &[header("X-Name", "a\r\nX-Injected: yes")]),
            get("/", &[header("Content-Length", "5")]),
        ];
        let lines = errors.map(|error| format!("error: {error}\nhint: {}\n", error.hint()));
        insta::assert_snapshot!(lines.join("\n"));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn any_parts_make_one_request_or_an_error(
            method in ".{0,8}", path in "/?.{0,12}", name in ".{0,6}", value in ".{0,12}",
            body in proptest::collection::vec(any::<u8>(), 0..8),
        ) {
            let headers = [header(&name, &value)];
            if let Ok(request) = Request::build(&method, &path, &headers, &body, KEPT, None) {
                let mut fields = [httparse::EMPTY_HEADER; 16];
                let mut parsed = httparse::Request::new(&mut fields);
                let bytes = crate::tests::encoded::text(&request, KEPT);
                let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                prop_assert_eq!(&bytes[end..], &body[..]);
                // httparse is stricter about bytes above 127 in a path, so those paths are not
                // compared.
                if path.is_ascii() && !value.contains(|c: char| c.is_control()) {
                    let head = parsed.parse(&bytes).unwrap();
                    prop_assert_eq!(head, httparse::Status::Complete(end));
                    prop_assert_eq!(parsed.method, Some(method.as_str()));
                }
            }
        }
    }
}
