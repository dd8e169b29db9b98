//! Method and path of a request, kept beside it for the message about its failure.

use super::request::{Content, Request};

/// Method and path of a request, as far as they fit. It is kept for each request in flight, because
/// the memory of the request itself is used again; so it has a fixed size.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine {
    bytes: [u8; LINE_BYTES],
    /// Bytes that are used.
    length: u8,
    /// Bytes of the method; `None`: the bytes are those of a whole request.
    method: Option<u8>,
    is_cut: bool,
}

impl RequestLine {
    /// The method and path of this request.
    #[inline]
    pub fn of(request: &Request) -> RequestLine {
        let (method, end) = match request.content() {
            Content::Encoded(bytes) => (None, bytes.len()),
            Content::Message(message) => {
                (u8::try_from(message.method.len()).ok(), message.method.len() + message.path.len())
            }
        };
        let length = end.min(LINE_BYTES);
        let mut line = RequestLine {
            bytes: [0; LINE_BYTES],
            length: length as u8,
            method,
            is_cut: end > LINE_BYTES,
        };
        line.bytes[..length].copy_from_slice(&request.bytes[..length]);
        line
    }

    /// The method and the path, such as `GET /shop?page=2`; `…` at its end: it is longer. Control
    /// characters are escaped.
    pub fn text(&self) -> String {
        let bytes = &self.bytes[..usize::from(self.length)];
        let (line, is_cut) = match self.method {
            Some(method) => {
                let (method, path) = bytes.split_at(usize::from(method).min(bytes.len()));
                ([method, b" ", path].concat(), self.is_cut)
            }
            None => first_words(bytes, self.is_cut),
        };
        let text = String::from_utf8_lossy(&line);
        let mut text: String = text
            .chars()
            .flat_map(|letter| match letter.is_control() {
                true => letter.escape_default().collect::<Vec<char>>(),
                false => vec![letter],
            })
            .collect();
        if is_cut {
            text.push('…');
        }
        text
    }
}

/// Method and path of a whole request, and whether the rest of them is missing. FastCGI's records
/// have no such line; all of their bytes that are shown would say nothing.
fn first_words(bytes: &[u8], is_cut: bool) -> (Vec<u8>, bool) {
    let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
    let line = &bytes[..end.unwrap_or(bytes.len())];
    let is_version = |word: &[u8]| word.starts_with(b"HTTP/");
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    match words.split_last() {
        Some((last, before)) if is_version(last) => (before.join(&b' '), false),
        _ => (line.to_vec(), is_cut && end.is_none()),
    }
}

/// Bytes that are kept: most paths are shorter, and copying them costs a few ns.
const LINE_BYTES: usize = 120;

#[cfg(test)]
mod tests {
    use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

    use super::*;

    const KEPT: Habits =
        Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

    fn built(method: &str, path: &str) -> String {
        let request = Request::build(method, path, &[], b"body", KEPT, None).unwrap();
        RequestLine::of(&request).text()
    }

    #[test]
    fn a_request_is_named_by_method_and_path() {
        assert_eq!(built("GET", "/"), "GET /");
        assert_eq!(built("POST", "/shop?a=ü&b=%20"), "POST /shop?a=ü&b=%20");
        let long = format!("/{}", "x".repeat(300));
        let shown = built("GET", &long);
        assert_eq!(shown, format!("GET /{}…", "x".repeat(LINE_BYTES - 4)));
        let fits = format!("/{}", "x".repeat(LINE_BYTES - 4));
        assert_eq!(built("GET", &fits), format!("GET {fits}"));
    }

    #[test]
    fn a_whole_request_is_named_by_its_first_line() {
        let text = |bytes: &[u8]| RequestLine::of(&Request::encoded(bytes)).text();
        assert_eq!(text(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"), "GET /a");
        assert_eq!(text(b"GET /a b HTTP/1.0\nHost: x\n\n"), "GET /a b");
        assert_eq!(text(b"GET /\x1b[2J HTTP/1.1\r\n\r\n"), "GET /\\u{1b}[2J");
        assert_eq!(text(b"GET /no-version\r\n\r\n"), "GET /no-version");
        assert_eq!(text(b""), "");
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(200));
        assert_eq!(text(long.as_bytes()), format!("GET /{}…", "x".repeat(LINE_BYTES - 5)));
    }

    #[test]
    fn a_path_that_is_cut_within_a_letter_is_shown() {
        let path = format!("/{}ü", "x".repeat(LINE_BYTES - 5));
        assert!(built("GET", &path).ends_with("x\u{fffd}…"));
    }
}
