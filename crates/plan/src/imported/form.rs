//! Encodes forms, and takes URLs apart.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Fields as `application/x-www-form-urlencoded` (WHATWG URL section 5.2).
pub(super) fn encoded<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = fields.map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A text as it stands in a form or a query.
pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, FORM).to_string().replace("%20", "+")
}

/// A path with what may not stand in a request line percent-encoded. What is encoded already
/// stays.
pub(super) fn path(text: &str) -> String {
    let begin = if text.starts_with('/') { "" } else { "/" };
    let path = text.split('#').next().unwrap_or_default();
    format!("{begin}{}", utf8_percent_encode(path, BLANKS))
}

/// The host of a URL, without the default port, and its path. `None`: it is no URL of HTTP.
pub(super) fn url(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    let (scheme, rest) = text.split_once("://")?;
    let port = match scheme.to_ascii_lowercase().as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let host = host.strip_suffix(port).unwrap_or(&host).to_owned();
    (!host.is_empty()).then(|| (host, self::path(path)))
}

const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_');
const BLANKS: &AsciiSet = &percent_encoding::CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_encoded_once() {
        let fields = [("q", "Tom & Jerry=1"), ("ü", "a b")];
        assert_eq!(encoded(fields.into_iter()), "q=Tom+%26+Jerry%3D1&%C3%BC=a+b");
    }

    #[test]
    fn urls_are_taken_apart() {
        for (text, parts) in [
            ("http://a.test/b?c=1#d", Some(("a.test", "/b?c=1"))),
            ("https://joe:pw@A.test:443", Some(("a.test", "/"))),
            ("https://a.test:8443/x y", Some(("a.test:8443", "/x%20y"))),
            ("http://a.test?q", Some(("a.test", "/?q"))),
            ("ws://a.test/", None),
            ("/path", None),
            ("http:///", None),
        ] {
            let parts = parts.map(|(host, path)| (host.to_owned(), path.to_owned()));
            assert_eq!(url(text), parts, "{text}");
        }
    }
}
