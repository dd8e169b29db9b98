//! Selects the headers of an answer that are compared: those of the app, not those of a web server.

use percent_encoding::percent_decode_str;

/// Returns the compared headers by lower-case name, in order. Values are normalized: lists are
/// sorted, and addresses of this machine are removed. What varies in them, such as a cookie's
/// value, is left to [`super::nondeterminism`].
pub fn compared_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut compared_headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        // A header without a value has no meaning, and FrankenPHP does not pass it on.
        .filter(|(name, value)| is_compared(name) && !value.is_empty())
        .filter_map(|(name, value)| value_of(&name, value).map(|value| (name, value)))
        .collect();
    compared_headers.sort();
    compared_headers
}

/// Returns the same headers as text, one on each line.
pub fn lines(headers: &[(String, String)]) -> String {
    compared_headers(headers).iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

fn is_compared(name: &str) -> bool {
    !SERVERS.contains(&name) && !name.starts_with("x-accel-") && !name.starts_with("proxy-")
}

/// Headers that web servers add, each in its own way, or consume themselves.
const SERVERS: [&str; 20] = [
    "accept-ranges",
    "age",
    "alt-svc",
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "keep-alive",
    // Repeats `Cache-Control` for HTTP/1.0.
    "pragma",
    "server",
    "server-timing",
    "status",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-lighttpd-send-file",
    "x-powered-by",
    "x-sendfile",
];

/// Returns the normalized value; `None` if it has no meaning.
fn value_of(name: &str, value: &str) -> Option<String> {
    match name {
        "content-type" => Some(content_type(value)),
        "cache-control" | "allow" => Some(list(value, |_| true)),
        // A server that can compress adds it, whatever the app does.
        "vary" => {
            Some(list(value, |part| part != "accept-encoding")).filter(|list| !list.is_empty())
        }
        "location" | "content-location" | "refresh" | "link" => Some(without_own_address(value)),
        // Their values change with the body or with time.
        "etag" | "expires" | "last-modified" => Some("given".into()),
        "set-cookie" => Some(cookie(value)),
        _ => Some(value.into()),
    }
}

/// Normalizes `text/html` or `application/json;charset=utf-8`. PHP adds its `default_charset` if
/// the app names none. If a worker sends the app's own answer, nobody adds it.
fn content_type(value: &str) -> String {
    let parts = value.split(';').map(|part| part.trim().to_ascii_lowercase().replace('"', ""));
    let mut parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    if parts.first().is_some_and(|kind| kind.starts_with("text/")) {
        parts.retain(|part| part != "charset=utf-8");
    }
    parts.join(";")
}

/// Normalizes a list whose order has no meaning.
fn list(value: &str, keep: impl Fn(&str) -> bool) -> String {
    let parts = value.split(',').map(|part| part.trim().to_ascii_lowercase());
    let mut parts: Vec<String> = parts.filter(|part| !part.is_empty() && keep(part)).collect();
    parts.sort();
    parts.dedup();
    parts.join(", ")
}

/// Removes scheme, host and port of this machine from URLs, because each start has another port.
fn without_own_address(value: &str) -> String {
    let mut left = value.to_owned();
    for here in ["http://127.0.0.1", "http://localhost", "http://[::1]", "https://127.0.0.1"] {
        let mut from = 0;
        while let Some(at) = left[from..].find(here).map(|at| at + from) {
            let mut end = at + here.len();
            if let Some(port) = left[end..].strip_prefix(':') {
                end += 1 + port.bytes().take_while(u8::is_ascii_digit).count();
            }
            let is_host = !left[end..].starts_with(|c: char| c.is_alphanumeric() || c == '.');
            from = if is_host { at } else { end };
            if is_host {
                let root = if left[end..].starts_with('/') { "" } else { "/" };
                left.replace_range(at..end, root);
            }
        }
    }
    left
}

/// Normalizes `name=value` with its attributes, which are sorted. Of a lifetime, only whether it is
/// over is kept.
fn cookie(value: &str) -> String {
    let mut parts = value.split(';').map(str::trim).filter(|part| !part.is_empty());
    let (name, value) = parts.next().unwrap_or_default().split_once('=').unwrap_or_default();
    let value = percent_decode_str(value.trim_matches('"')).decode_utf8_lossy().into_owned();
    let mut normalized: Vec<String> = parts.map(attribute).collect();
    // An app may set one of `Max-Age` and `Expires`, or both.
    normalized.sort();
    normalized.dedup();
    if normalized.iter().any(|part| part == DELETED) {
        normalized.retain(|part| part != EXPIRES);
        return format!("{name}; {}", normalized.join("; "));
    }
    [format!("{name}={value}")].into_iter().chain(normalized).collect::<Vec<_>>().join("; ")
}

const DELETED: &str = "deleted";
const EXPIRES: &str = "expires";

fn attribute(part: &str) -> String {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"'));
    match &name[..] {
        // PHP and Symfony delete a cookie with a time in 1970 or with a `Max-Age` of 0.
        "max-age" if value.parse::<i64>().is_ok_and(|seconds| seconds <= 0) => DELETED.into(),
        "expires" if value.contains("1970") => DELETED.into(),
        "max-age" | "expires" => EXPIRES.into(),
        "path" => format!("path={value}"),
        _ if value.is_empty() => name,
        _ => format!("{name}={}", value.to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(headers: &[(&str, &str)]) -> String {
        let owned: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        lines(&owned)
    }

    #[test]
    fn headers_of_the_server_are_not_compared() {
        let fpm = normalized(&[
            ("Server", "nginx/1.22.1"),
            ("Date", "Sun, 22 Nov 2026 16:35:34 GMT"),
            ("Content-Type", "text/html; charset=UTF-8"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "keep-alive"),
            ("Vary", "Accept-Encoding"),
            ("X-Powered-By", "PHP/8.2.7"),
        ]);
        let frankenphp = normalized(&[
            ("content-type", "text/html;charset=utf-8"),
            ("Content-Length", "12"),
            ("Alt-Svc", "h3=\":443\"; ma=2592000"),
            ("Server", "Caddy"),
        ]);
        assert_eq!(fpm, "content-type: text/html\n");
        assert_eq!(fpm, frankenphp);
    }

    #[test]
    fn a_header_without_a_value_is_not_compared() {
        let fpm = normalized(&[("Access-Control-Allow-Origin", " "), ("X-Some", "1")]);
        assert_eq!(fpm, normalized(&[("X-Some", "1")]));
    }

    #[test]
    fn headers_of_the_app_are_compared() {
        assert_eq!(
            normalized(&[
                ("X-User", "anna"),
                ("Cache-Control", "private, max-age=0,must-revalidate"),
                ("Vary", "Cookie, Accept-Encoding, Accept-Language"),
                ("ETag", "\"abc\""),
                ("Content-Security-Policy", "default-src 'self'"),
                ("Turbo-Location", "/Here"),
                ("X-Accel-Buffering", "no"),
            ]),
            "cache-control: max-age=0, must-revalidate, private\n\
             content-security-policy: default-src 'self'\n\
             etag: given\n\
             turbo-location: /Here\n\
             vary: accept-language, cookie\n\
             x-user: anna\n"
        );
    }

    #[test]
    fn a_charset_is_compared_where_php_adds_none() {
        let kind = |value| normalized(&[("Content-Type", value)]);
        assert_eq!(kind("text/plain"), kind("text/plain;charset=UTF-8"));
        assert_eq!(kind("text/plain; charset=latin1"), "content-type: text/plain;charset=latin1\n");
        assert_ne!(kind("application/json"), kind("application/json; charset=\"utf-8\""));
    }

    #[test]
    fn an_address_of_this_machine_has_no_port() {
        for (value, expected) in [
            ("http://127.0.0.1:45123/login?a=1", "/login?a=1"),
            ("http://localhost:8080", "/"),
            ("/login", "/login"),
            ("http://127.0.0.1.example/login", "http://127.0.0.1.example/login"),
            ("https://example.com/", "https://example.com/"),
            ("0;url='http://localhost:1/x'", "0;url='/x'"),
        ] {
            assert_eq!(normalized(&[("Location", value)]), format!("location: {expected}\n"));
        }
    }

    #[test]
    fn the_attributes_of_a_cookie_are_compared() {
        let php = "PHPSESSID=abc%3D; expires=Sun, 22 Nov 2026 18:35:34 GMT; Max-Age=7200; path=/Shop; HttpOnly; SameSite=Lax";
        let other = "PHPSESSID=abc=; Path=/Shop; samesite=lax; httponly; max-age=7199";
        let expected = "set-cookie: PHPSESSID=abc=; expires; httponly; path=/Shop; samesite=lax\n";
        assert_eq!(normalized(&[("Set-Cookie", php)]), expected);
        assert_eq!(normalized(&[("Set-Cookie", other)]), expected);
        let deleted = normalized(&[(
            "Set-Cookie",
            "a=deleted; expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=0; path=/",
        )]);
        assert_eq!(deleted, "set-cookie: a; deleted; path=/\n");
        assert_ne!(
            normalized(&[("Set-Cookie", "a=1; secure")]),
            normalized(&[("Set-Cookie", "a=1")])
        );
        assert_eq!(normalized(&[("Set-Cookie", "")]), "");
        let two = normalized(&[("Set-Cookie", "b=2"), ("Set-Cookie", "a=1")]);
        assert_eq!(two, "set-cookie: a=1\nset-cookie: b=2\n");
    }
}
