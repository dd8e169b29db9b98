//! Parts of URLs as people and recorders write them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The URL with blanks, control characters and what is not ASCII percent-encoded.
pub(super) fn encoded(url: &str) -> Cow<'_, str> {
    if url.bytes().all(|byte| matches!(byte, 0x21..=0x7e)) {
        return Cow::Borrowed(url);
    }
    let mut out = String::with_capacity(url.len() + 8);
    for byte in url.bytes() {
        match byte {
            0x21..=0x7e => out.push(char::from(byte)),
            _ => write!(out, "%{byte:02X}").expect("writing into a string does not fail"),
        }
    }
    Cow::Owned(out)
}

/// Whether the word is an absolute URL of HTTP.
pub(super) fn is_http(word: &str) -> bool {
    let has = |scheme: &str| {
        word.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    };
    has("http://") || has("https://")
}

/// The scheme of a URL (RFC 3986 section 3.1); `None` for a path. `localhost:8080` has none: a port
/// follows the colon.
pub(super) fn scheme(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_port = rest.starts_with(|c: char| c.is_ascii_digit());
    (is_scheme && !is_port).then_some(scheme)
}

/// The site that a host belongs to: its name in lower case, without port and without `www.`. Two
/// hosts of one site differ in nothing that makes another server.
pub(super) fn site(host: &str) -> String {
    let host = host.rsplit('@').next().unwrap_or(host);
    let name = match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or(host),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.strip_prefix("www.").filter(|rest| rest.contains('.')).map_or(name.clone(), str::to_owned)
}

/// Whether two hosts, as URLs have them, are one site: case, port and `www.` make no other.
pub fn is_same_site(host: &str, other: &str) -> bool {
    site(host) == site(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_port_and_case_make_no_other_site() {
        for host in ["shop.test", "Shop.TEST", "shop.test:443", "www.shop.test:80", "me@shop.test."]
        {
            assert_eq!(site(host), "shop.test", "{host}");
        }
        assert_eq!(site("[::1]:8080"), "::1");
        assert_eq!(site("www.test"), "www.test", "a name of its own");
        assert_ne!(site("cdn.shop.test"), site("shop.test"));
    }

    #[test]
    fn a_scheme_is_no_port() {
        assert_eq!(scheme("data:image/png,x"), Some("data"));
        assert_eq!(scheme("chrome-extension://a/b"), Some("chrome-extension"));
        assert_eq!([scheme("/a:b"), scheme("localhost:80/a"), scheme("a")], [None; 3]);
        assert!(
            is_http("HTTPS://a") && is_http("http://é") && !is_http("http:/a") && !is_http("é")
        );
    }

    #[test]
    fn what_a_request_line_cannot_have_is_encoded() {
        assert_eq!(encoded("/a b?c=ä\t"), "/a%20b?c=%C3%A4%09");
        assert_eq!(encoded("/a%20b"), "/a%20b");
    }
}
