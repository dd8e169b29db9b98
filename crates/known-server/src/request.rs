//! Parses requests as far as a server must to answer: where a request ends, and whether the
//! connection stays open.

/// One complete request at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParsedRequest {
    /// Bytes of head and body.
    pub(crate) length: usize,
    pub(crate) shape: Shape,
    pub(crate) persistence: Persistence,
}

/// Whether the answer has a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    HeadAndBody,
    /// The method is HEAD.
    HeadOnly,
}

/// What the client demands of the connection (RFC 9112 section 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// HTTP/1.1 without `close`: it is kept, and the answer need not say so.
    Implicit,
    /// HTTP/1.0 with `persistence-alive`: it is kept if the answer says so too.
    Explicit,
    Close,
}

/// The bytes are no request that we can read; the connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadRequest;

impl ParsedRequest {
    /// Parses the request at the start of `bytes`; `None` while it is not complete. Chunked
    /// requests are refused, because none of our clients sends them.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<ParsedRequest>, BadRequest> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut fields);
        let head = match request.parse(bytes) {
            Ok(httparse::Status::Complete(head)) => head,
            Ok(httparse::Status::Partial) if bytes.len() < REQUEST_BYTES_MAX => return Ok(None),
            Ok(httparse::Status::Partial) | Err(_) => return Err(BadRequest),
        };
        let mut body = 0;
        let mut persistence =
            if request.version == Some(1) { Persistence::Implicit } else { Persistence::Close };
        for field in request.headers.iter() {
            if field.name.eq_ignore_ascii_case("content-length") {
                let text = str::from_utf8(field.value).map_err(|_| BadRequest)?;
                body = text.trim().parse::<usize>().map_err(|_| BadRequest)?;
            } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(BadRequest);
            } else if field.name.eq_ignore_ascii_case("connection") {
                persistence = connection(field.value, request.version);
            }
        }
        let length = head.checked_add(body).filter(|length| *length <= REQUEST_BYTES_MAX);
        let length = length.ok_or(BadRequest)?;
        let shape =
            if request.method == Some("HEAD") { Shape::HeadOnly } else { Shape::HeadAndBody };
        Ok((length <= bytes.len()).then_some(ParsedRequest { length, shape, persistence }))
    }
}

fn connection(value: &[u8], version: Option<u8>) -> Persistence {
    let contains_option = |word: &[u8]| {
        value
            .split(|byte| *byte == b',')
            .any(|element| element.trim_ascii().eq_ignore_ascii_case(word))
    };
    match version {
        _ if contains_option(b"close") => Persistence::Close,
        Some(1) => Persistence::Implicit,
        _ if contains_option(b"keep-alive") => Persistence::Explicit,
        _ => Persistence::Close,
    }
}

/// Most bytes of one request, head and body. This is enough for any traffic of a test, and bounds
/// the memory of a connection.
pub(crate) const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Most header fields of one request.
const FIELDS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<ParsedRequest>, BadRequest> {
        ParsedRequest::parse(text.as_bytes())
    }

    #[test]
    fn a_request_ends_after_its_body() {
        let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let parsed = ParsedRequest {
            length: get.len(),
            shape: Shape::HeadAndBody,
            persistence: Persistence::Implicit,
        };
        assert_eq!(parse(get), Ok(Some(parsed)));
        assert_eq!(parse(&format!("{get}GET /")), Ok(Some(parsed)));
        assert_eq!(parse(&get[..get.len() - 1]), Ok(None));
        let post = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(parse(post).unwrap().unwrap().length, post.len());
        assert_eq!(parse(&post[..post.len() - 1]), Ok(None));
    }

    #[test]
    fn version_and_connection_header_decide_whether_a_connection_is_kept() {
        for (head, persistence) in [
            ("GET / HTTP/1.1\r\n\r\n", Persistence::Implicit),
            ("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", Persistence::Implicit),
            ("GET / HTTP/1.1\r\nConnection: TE, Close\r\n\r\n", Persistence::Close),
            ("GET / HTTP/1.0\r\n\r\n", Persistence::Close),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Persistence::Explicit),
        ] {
            assert_eq!(parse(head).unwrap().unwrap().persistence, persistence, "{head:?}");
        }
        assert_eq!(parse("HEAD / HTTP/1.1\r\n\r\n").unwrap().unwrap().shape, Shape::HeadOnly);
    }

    #[test]
    fn unreadable_requests_are_refused() {
        for head in [
            "nonsense\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert_eq!(parse(head), Err(BadRequest), "{head:?}");
        }
    }
}
