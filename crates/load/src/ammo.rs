//! What is fired: request bytes, prepared before the trial.

use std::fmt::Write as _;

use crate::spec::{ConnectionHabit, Habits, HttpVersion};

/// One request, complete as it goes onto the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Head and body, ready to send.
    pub bytes: Vec<u8>,
    /// Whether the answer has no body whatever its headers say (HEAD).
    pub answer: AnswerShape,
    /// A short name for tables: the ammo's tag, else the path.
    pub tag: String,
}

/// What the request's method says about the answer's body (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerShape {
    /// Its headers tell.
    #[default]
    ByHeaders,
    /// Never a body: the answer to HEAD.
    NoBody,
}

/// What cannot be made into a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AmmoError {
    /// Not a token (RFC 9110 section 5.6.2).
    #[error("`{0}` is not a request method")]
    Method(String),
    /// Neither `/…` nor `*`, or with a space or a control character in it.
    #[error("`{0}` is not a path to request")]
    Path(String),
    /// Not a token.
    #[error("`{0}` is not a header name")]
    HeaderName(String),
    /// With a CR, LF or NUL, which would end the header and begin another.
    #[error("value of header `{name}` has a line break or NUL in it: `{value}`")]
    HeaderValue {
        /// Of which header.
        name: String,
        /// With the offending characters escaped.
        value: String,
    },
    /// Contradicts the body.
    #[error("header `Content-Length: {given}` with a body of `{body_bytes}` bytes")]
    ContentLength {
        /// As given.
        given: String,
        /// As it is.
        body_bytes: usize,
    },
}

impl AmmoError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            AmmoError::Method(_) => "methods are words such as GET, HEAD or POST",
            AmmoError::Path(_) => {
                "a path begins with / and has spaces and control characters percent-encoded"
            }
            AmmoError::HeaderName(_) => {
                "header names are letters, digits and - such as X-Request-Id"
            }
            AmmoError::HeaderValue { .. } => "write a header a line, each with its own name",
            AmmoError::ContentLength { .. } => "leave it out: it is added where there is a body",
        }
    }
}

impl Request {
    /// Builds a request as `habits` say it: the request line, `Host: localhost`, `Accept: */*`
    /// and `User-Agent: stampede/<version>` where not given, the headers in order,
    /// `Content-Length` where there is a body (or a POST, PUT or PATCH without one), and
    /// `Connection` where the habit is not the version's default (RFC 9112 section 9.3).
    /// `tag`: `None` names it by its path.
    ///
    /// # Errors
    /// What would not be one well-formed request, above all a line break in a header.
    pub fn build(
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
        habits: Habits,
        tag: Option<&str>,
    ) -> Result<Request, AmmoError> {
        check(method, path, headers, body)?;
        let version = match habits.version {
            HttpVersion::Http10 => "1.0",
            HttpVersion::Http11 => "1.1",
        };
        let mut head = format!("{method} {path} HTTP/{version}\r\n");
        for (name, value) in added(method, headers, body, habits) {
            write_header(&mut head, name, &value);
        }
        for (name, value) in headers {
            write_header(&mut head, name, value);
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        let answer = match method {
            "HEAD" => AnswerShape::NoBody,
            _ => AnswerShape::ByHeaders,
        };
        Ok(Request { bytes, answer, tag: tag.unwrap_or(path).to_string() })
    }
}

/// What holds for a request in any protocol that carries HTTP's.
pub(crate) fn check(
    method: &str,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<(), AmmoError> {
    if !is_token(method) {
        return Err(AmmoError::Method(method.escape_debug().to_string()));
    }
    let bad = |byte: u8| byte <= b' ' || byte == 0x7f;
    if !(path.starts_with('/') || path == "*") || path.bytes().any(bad) {
        return Err(AmmoError::Path(path.escape_debug().to_string()));
    }
    for (name, value) in headers {
        if !is_token(name) {
            return Err(AmmoError::HeaderName(name.escape_debug().to_string()));
        }
        if value.contains(['\r', '\n', '\0']) {
            let (name, value) = (name.clone(), value.escape_debug().to_string());
            return Err(AmmoError::HeaderValue { name, value });
        }
        if name.eq_ignore_ascii_case("content-length") && value.trim() != body.len().to_string() {
            let (given, body_bytes) = (value.clone(), body.len());
            return Err(AmmoError::ContentLength { given, body_bytes });
        }
    }
    Ok(())
}

/// Headers that are not given and yet needed, in the order in which they go out.
fn added(
    method: &str,
    headers: &[(String, String)],
    body: &[u8],
    habits: Habits,
) -> Vec<(&'static str, String)> {
    let given = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let has_length = !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH");
    let connection = match (habits.version, habits.connection) {
        (HttpVersion::Http11, ConnectionHabit::PerShot) => Some("close"),
        (HttpVersion::Http10, ConnectionHabit::KeepAlive) => Some("keep-alive"),
        (HttpVersion::Http11, ConnectionHabit::KeepAlive)
        | (HttpVersion::Http10, ConnectionHabit::PerShot) => None,
    };
    let agent = concat!("stampede/", env!("CARGO_PKG_VERSION"));
    let length = has_length && !given("transfer-encoding");
    let wanted = [
        ("Host", Some("localhost".to_string())),
        ("Accept", Some("*/*".to_string())),
        ("User-Agent", Some(agent.to_string())),
        ("Connection", connection.map(str::to_string)),
        ("Content-Length", length.then(|| body.len().to_string())),
    ];
    let needed = wanted.into_iter().filter(|(name, _)| !given(name));
    needed.filter_map(|(name, value)| Some((name, value?))).collect()
}

fn write_header(head: &mut String, name: &str, value: &str) {
    write!(head, "{name}: {value}\r\n").expect("writing into a string does not fail");
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
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
        assert_eq!((request.answer, request.tag.as_str()), (AnswerShape::ByHeaders, "/a?b=c"));
    }

    #[test]
    fn what_is_given_is_not_given_twice() {
        let headers = [header("host", "shop.example"), header("user-agent", "me"), header("X", "")];
        let request = Request::build("POST", "/", &headers, b"a=1", KEPT, Some("buy")).unwrap();
        let expected = "POST / HTTP/1.1\r\nAccept: */*\r\nContent-Length: 3\r\n\
                        host: shop.example\r\nuser-agent: me\r\nX: \r\n\r\na=1";
        assert_eq!((text(&request).as_str(), request.tag.as_str()), (expected, "buy"));
    }

    #[test]
    fn connection_is_said_where_it_is_not_the_default() {
        let said = |version, connection| {
            let habits = Habits { version, connection };
            let request = Request::build("HEAD", "/", &[], b"", habits, None).unwrap();
            assert_eq!(request.answer, AnswerShape::NoBody);
            let text = text(&request);
            text.lines().find_map(|line| Some(line.strip_prefix("Connection: ")?.to_string()))
        };
        use ConnectionHabit::{KeepAlive, PerShot};
        use HttpVersion::{Http10, Http11};
        assert_eq!(said(Http11, KeepAlive), None);
        assert_eq!(said(Http11, PerShot).as_deref(), Some("close"));
        assert_eq!(said(Http10, KeepAlive).as_deref(), Some("keep-alive"));
        assert_eq!(said(Http10, PerShot), None);
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
        fn whatever_is_given_it_is_one_request_or_an_error(
            method in ".{0,8}", path in "/?.{0,12}", name in ".{0,6}", value in ".{0,12}",
            body in proptest::collection::vec(any::<u8>(), 0..8),
        ) {
            let headers = [header(&name, &value)];
            if let Ok(request) = Request::build(&method, &path, &headers, &body, KEPT, None) {
                let mut fields = [httparse::EMPTY_HEADER; 16];
                let mut parsed = httparse::Request::new(&mut fields);
                let end = request.bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                prop_assert_eq!(&request.bytes[end..], &body[..]);
                // httparse is stricter about bytes above 127 in a path; those are not lines.
                if path.is_ascii() && !value.contains(|c: char| c.is_control()) {
                    let head = parsed.parse(&request.bytes).unwrap();
                    prop_assert_eq!(head, httparse::Status::Complete(end));
                    prop_assert_eq!(parsed.method, Some(method.as_str()));
                }
            }
        }
    }
}
