//! A request as method, path, headers and body, for those that build the bytes of a request
//! themselves.

use stampede_model::entry::Skip;

use super::{Content, Header, Message, Request};

/// A request without what depends on the connection that it is sent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainRequest {
    /// `GET`, `POST` …
    pub method: String,
    /// Path and query; begins with `/`.
    pub path: String,
    /// Value of its `Host`. `None`: it has none.
    pub host: Option<String>,
    /// The given headers in their order, without `Host` and without those that say where the
    /// message ends and whether the connection is kept.
    pub headers: Vec<Header>,
    /// The body's bytes; may be empty.
    pub body: Vec<u8>,
}

impl Request {
    /// Its parts.
    ///
    /// # Errors
    /// Why it has no such parts: its bytes are no HTTP request, it has no path, or its body comes
    /// in chunks.
    pub fn plain(&self) -> Result<PlainRequest, Skip> {
        match self.content() {
            Content::Message(message) => of_message(message),
            Content::Encoded(bytes) => of_bytes(bytes),
        }
    }
}

fn of_message(message: Message<'_>) -> Result<PlainRequest, Skip> {
    let given = message.given().map(|(name, value)| (text(name), text(value)));
    plain(&text(message.method), &text(message.path), given, message.body)
}

fn of_bytes(bytes: &[u8]) -> Result<PlainRequest, Skip> {
    let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut fields);
    let Ok(httparse::Status::Complete(end)) = head.parse(bytes) else {
        return Err(Skip::NotHttp {});
    };
    let given = head.headers.iter().map(|field| (field.name.to_owned(), text(field.value)));
    plain(head.method.unwrap_or_default(), head.path.unwrap_or_default(), given, &bytes[end..])
}

fn plain(
    method: &str,
    path: &str,
    given: impl Iterator<Item = Header>,
    body: &[u8],
) -> Result<PlainRequest, Skip> {
    if method == "CONNECT" {
        return Err(Skip::Connect {});
    }
    if !path.starts_with('/') {
        return Err(Skip::NoPath {});
    }
    let (mut host, mut headers) = (None, Vec::new());
    for (name, value) in given {
        match name.to_ascii_lowercase().as_str() {
            "host" => host = Some(value),
            "transfer-encoding" => return Err(Skip::Chunked {}),
            "content-length" | "connection" | "keep-alive" => {}
            _ => headers.push((name, value)),
        }
    }
    let (method, path, body) = (method.to_owned(), path.to_owned(), body.to_vec());
    Ok(PlainRequest { method, path, host, headers, body })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Most headers of a request that is sent unchanged; PHP's servers accept about a hundred.
const HEADERS_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

    use super::*;

    const HABITS: Habits =
        Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

    fn headers(all: &[(&str, &str)]) -> Vec<Header> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_request_is_taken_apart_as_it_was_built() {
        let given = headers(&[
            ("host", "shop.test:8080"),
            ("Cookie", "a=b; c=d"),
            ("Connection", "close"),
            ("Content-Length", "3"),
        ]);
        let request = Request::build("PUT", "/a?b=%20", &given, b"x\0y", HABITS, None).unwrap();
        let plain = request.plain().unwrap();
        let expected = PlainRequest {
            method: "PUT".to_owned(),
            path: "/a?b=%20".to_owned(),
            host: Some("shop.test:8080".to_owned()),
            headers: headers(&[("Cookie", "a=b; c=d")]),
            body: b"x\0y".to_vec(),
        };
        assert_eq!(plain, expected);
        let without = Request::build("GET", "/", &[], b"", HABITS, None).unwrap().plain().unwrap();
        assert_eq!((without.host, without.headers), (None, Vec::new()), "only given headers");
    }

    #[test]
    fn the_bytes_of_a_request_are_read() {
        let plain = |text: &str| Request::encoded(text.as_bytes()).plain();
        let post = plain("POST /a HTTP/1.0\r\nHost: b\r\nX-C: d\r\nContent-Length: 1\r\n\r\nz");
        let post = post.unwrap();
        assert_eq!((post.method.as_str(), post.path.as_str()), ("POST", "/a"));
        assert_eq!((post.headers, post.body), (headers(&[("X-C", "d")]), b"z".to_vec()));
        for (text, why) in [
            ("nonsense", Skip::NotHttp {}),
            ("GET / HTTP/1.1\r\nHost: cut", Skip::NotHttp {}),
            ("OPTIONS * HTTP/1.1\r\n\r\n", Skip::NoPath {}),
            ("CONNECT a.test:443 HTTP/1.1\r\n\r\n", Skip::Connect {}),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Skip::Chunked {}),
        ] {
            assert_eq!(plain(text), Err(why), "{text}");
        }
    }
}
