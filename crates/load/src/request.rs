//! One request, whose bytes are prepared before the trial.

use std::io::Write as _;

use serde::{Deserialize, Serialize};
use stampede_model::entry::RequestError;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

use crate::answer::AnswerShape;
use crate::fields::{ConnectionHeader, elements};
use crate::tag::Tag;

/// Name and value of a header.
pub type Header = (String, String);

/// One request, exactly as it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Head and body, ready to send.
    #[serde(with = "crate::base64_bytes")]
    pub bytes: Vec<u8>,
    /// What is known of the answer's body before its headers.
    pub answer: AnswerShape,
    /// Whether the request itself closes the connection after its answer: with `Connection: close`,
    /// or as HTTP/1.0 without `keep-alive` (RFC 9112 section 9.3).
    pub closes: bool,
    /// Its tag in the load's table of tags.
    pub tag: Tag,
}

impl Request {
    /// Builds a request with these habits. Adds `Host: localhost`, `Accept: */*` and `User-Agent:
    /// stampede/<version>` where they are not given. Adds `Content-Length` if there is a body, or
    /// for a POST, PUT or PATCH. Adds `Connection` if the habit is not the default of the version
    /// (RFC 9112 section 9.3).
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
        let draft = RequestParts { method, path, headers, defaults: &[], body };
        request.fill(draft, habits)?;
        Ok(request)
    }

    /// Becomes the request of `parts`; keeps its memory and its tag.
    pub(crate) fn fill(
        &mut self,
        parts: RequestParts<'_>,
        habits: Habits,
    ) -> Result<(), RequestError> {
        parts.check()?;
        self.answer = AnswerShape::of(parts.method.as_bytes());
        self.bytes.clear();
        parts.write(habits, &mut self.bytes);
        self.closes = asks_to_close(&self.bytes);
        Ok(())
    }
}

/// Whether the head of `request` closes the connection after the answer. A server need not repeat
/// that in its answer.
pub(crate) fn asks_to_close(request: &[u8]) -> bool {
    let mut lines = request.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let is_old = lines.next().is_some_and(|line| line.ends_with(b" HTTP/1.0"));
    let fields = lines.take_while(|line| !line.is_empty());
    let values = fields.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        line[..colon].eq_ignore_ascii_case(b"connection").then(|| &line[colon + 1..])
    });
    match values.flat_map(elements).fold(ConnectionHeader::Absent, ConnectionHeader::merge) {
        ConnectionHeader::Close => true,
        ConnectionHeader::KeepAlive => false,
        ConnectionHeader::Absent => is_old,
    }
}

/// Checks what must hold for a request in any protocol that carries HTTP.
pub(crate) fn check(
    method: &str,
    path: &str,
    headers: &[Header],
    body: &[u8],
) -> Result<(), RequestError> {
    RequestParts { method, path, headers, defaults: &[], body }.check()
}

/// The parts of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestParts<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [Header],
    /// Headers that are sent where `headers` has none of that name.
    pub(crate) defaults: &'a [Header],
    pub(crate) body: &'a [u8],
}

impl RequestParts<'_> {
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
    pub(crate) fn all_headers(&self) -> impl Iterator<Item = &Header> {
        let own = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let defaults = self.defaults.iter().filter(move |(name, _)| !own(name));
        defaults.chain(self.headers)
    }

    fn write(&self, habits: Habits, out: &mut Vec<u8>) {
        let version = match habits.version {
            HttpVersion::Http10 => "1.0",
            HttpVersion::Http11 => "1.1",
        };
        for part in [self.method, " ", self.path, " HTTP/", version, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        self.write_added(habits, out);
        for (name, value) in self.all_headers() {
            write_header(out, name, value);
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.body);
    }

    /// Writes the headers that are needed but not given.
    fn write_added(&self, habits: Habits, out: &mut Vec<u8>) {
        let given =
            |wanted: &str| self.all_headers().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let connection = match (habits.version, habits.connection) {
            (HttpVersion::Http11, ConnectionHabit::PerRequest) => Some("close"),
            (HttpVersion::Http10, ConnectionHabit::KeepAlive) => Some("keep-alive"),
            (HttpVersion::Http11, ConnectionHabit::KeepAlive)
            | (HttpVersion::Http10, ConnectionHabit::PerRequest) => None,
        };
        let wanted = [
            ("Host", Some("localhost")),
            ("Accept", Some("*/*")),
            ("User-Agent", Some(concat!("stampede/", env!("CARGO_PKG_VERSION")))),
            ("Connection", connection),
        ];
        for (name, value) in wanted {
            if let Some(value) = value
                && !given(name)
            {
                write_header(out, name, value);
            }
        }
        let has_length = !self.body.is_empty() || matches!(self.method, "POST" | "PUT" | "PATCH");
        if has_length && !given("content-length") && !given("transfer-encoding") {
            write!(out, "Content-Length: {}\r\n", self.body.len())
                .expect("writing into memory does not fail");
        }
    }
}

fn write_header(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Whether the text is a token (RFC 9110 section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
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

    fn text(request: &Request) -> String {
        let version = concat!("stampede/", env!("CARGO_PKG_VERSION"));
        String::from_utf8_lossy(&request.bytes).replace(version, "stampede/VERSION")
    }

    #[test]
    fn a_bare_get_gets_what_every_server_expects() {
        let request = Request::build("GET", "/a?b=c", &[], b"", KEPT, None).unwrap();
        let expected = "GET /a?b=c HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\
                        User-Agent: stampede/VERSION\r\n\r\n";
        assert_eq!(text(&request), expected);
        assert_eq!((request.answer, request.tag), (AnswerShape::ByHeaders, Tag::NONE));
    }

    #[test]
    fn a_given_header_is_not_added_again() {
        let headers = [header("host", "shop.example"), header("user-agent", "me"), header("X", "")];
        let request = Request::build("POST", "/", &headers, b"a=1", KEPT, Some(Tag(7))).unwrap();
        let expected = "POST / HTTP/1.1\r\nAccept: */*\r\nContent-Length: 3\r\n\
                        host: shop.example\r\nuser-agent: me\r\nX: \r\n\r\na=1";
        assert_eq!((text(&request).as_str(), request.tag), (expected, Tag(7)));
    }

    #[test]
    fn the_connection_header_is_sent_unless_it_is_the_default() {
        let said = |version, connection| {
            let habits = Habits { version, connection };
            let request = Request::build("HEAD", "/", &[], b"", habits, None).unwrap();
            assert_eq!(request.answer, AnswerShape::NoBody);
            let text = text(&request);
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
                let end = request.bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                prop_assert_eq!(&request.bytes[end..], &body[..]);
                // httparse is stricter about bytes above 127 in a path, so those paths are not
                // compared.
                if path.is_ascii() && !value.contains(|c: char| c.is_control()) {
                    let head = parsed.parse(&request.bytes).unwrap();
                    prop_assert_eq!(head, httparse::Status::Complete(end));
                    prop_assert_eq!(parsed.method, Some(method.as_str()));
                }
            }
        }
    }
}
