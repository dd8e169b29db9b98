//! Encodes a request to a FastCGI responder, with the parameters that a web server would send.

use std::io::Write as _;
use std::sync::Arc;

use stampede_model::entry::RequestError;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

use super::record::{
    KeepConnection, end_params, write_begin, write_lengths, write_param, write_stdin,
};
use stampede_traffic::request::{Message, Request, RequestParts};
use stampede_traffic::script::Script;

/// Builds a request for `script`. `uri` is path and query as the app sees them. `Host: localhost`,
/// `Accept: */*` and `User-Agent: stampede/<version>` are added where not given.
///
/// # Errors
/// As [`Request::build`].
pub fn request(
    script: &Script,
    method: &str,
    uri: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<Request, RequestError> {
    let script = Arc::new(script.clone());
    let parts =
        RequestParts { method, path: uri, headers, defaults: &[], body, script: Some(&script) };
    let mut request = Request::default();
    request.fill(parts, HABITS)?;
    Ok(request)
}

/// Appends the records of a request. Headers become `HTTP_…` parameters, except that `Content-Type`
/// and `Content-Length` have parameters of their own. The parameters are those of nginx's
/// `fastcgi_params`, without the client's port. Allocates only where `out` has to grow.
pub(super) fn encode(message: Message<'_>, keep: KeepConnection, out: &mut Vec<u8>) {
    write_begin(out, keep);
    let begin = out.len();
    let none = Script::default();
    let mut params = ParamWriter { script: message.script.unwrap_or(&none), out };
    params.put_site(message);
    params.put_body(message);
    params.put_headers(message);
    params.put_own();
    end_params(out, begin);
    write_stdin(out, message.body);
}

/// Writes parameters, except those that the script overrides.
struct ParamWriter<'a> {
    script: &'a Script,
    out: &'a mut Vec<u8>,
}

impl ParamWriter<'_> {
    fn put(&mut self, name: &str, value: &[u8]) {
        if !self.script.params().iter().any(|(own, _)| own == name) {
            write_param(self.out, name, value);
        }
    }

    /// The parameters in the order of nginx's `fastcgi_params`.
    fn put_site(&mut self, message: Message<'_>) {
        let script = self.script;
        let query = split_once(message.path, b'?').map_or(&b""[..], |(_, query)| query);
        self.put("SCRIPT_FILENAME", script.filename().as_bytes());
        self.put("QUERY_STRING", query);
        self.put("REQUEST_METHOD", message.method);
        self.put("SCRIPT_NAME", script.name().as_bytes());
        self.put("REQUEST_URI", message.path);
        self.put("DOCUMENT_URI", script.name().as_bytes());
        self.put("DOCUMENT_ROOT", script.root().as_bytes());
        self.put("SERVER_PROTOCOL", b"HTTP/1.1");
        self.put("REQUEST_SCHEME", b"http");
        self.put("GATEWAY_INTERFACE", b"CGI/1.1");
        self.put("SERVER_SOFTWARE", concat!("stampede/", env!("CARGO_PKG_VERSION")).as_bytes());
        self.put("REMOTE_ADDR", b"127.0.0.1");
        self.put("SERVER_ADDR", b"127.0.0.1");
        // php-cgi demands it (`cgi.force_redirect`).
        self.put("REDIRECT_STATUS", b"200");
    }

    /// Type and length of the body, empty where there is none, as nginx sends them. Then the
    /// server's name and port.
    fn put_body(&mut self, message: Message<'_>) {
        let mut digits = [0_u8; DIGITS_MAX];
        let mut rest = &mut digits[..];
        if message.needs_length() {
            write!(rest, "{}", message.body.len()).expect("any length has fewer digits");
        }
        let used = DIGITS_MAX - rest.len();
        self.put("CONTENT_TYPE", message.header("content-type").unwrap_or_default());
        self.put("CONTENT_LENGTH", &digits[..used]);
        let (name, port) = split_host(message.header("host").unwrap_or_default());
        self.put("SERVER_NAME", name);
        self.put("SERVER_PORT", port);
    }

    /// The headers. Several lines of one name become one parameter (RFC 3875 section 4.1.18).
    fn put_headers(&mut self, message: Message<'_>) {
        for (at, (name, _)) in message.headers().enumerate() {
            let is_name = |other: &[u8]| param_name(other).eq(param_name(name));
            // Apps would read `HTTP_PROXY` as the environment variable (CVE-2016-5385).
            let elsewhere: [&[u8]; 3] = [b"content-type", b"content-length", b"proxy"];
            let is_before = message.headers().take(at).any(|(before, _)| is_name(before));
            if is_before || elsewhere.into_iter().any(is_name) || self.overrides_header(name) {
                continue;
            }
            let lines = message.headers().skip(at).filter(|(other, _)| is_name(other));
            let separator: &[u8] = if is_name(b"cookie") { b"; " } else { b", " };
            let length =
                lines.clone().map(|(_, value)| value.len() + separator.len()).sum::<usize>();
            write_lengths(self.out, HTTP.len() + name.len(), length - separator.len());
            self.out.extend_from_slice(HTTP);
            self.out.extend(param_name(name));
            for (number, (_, value)) in lines.enumerate() {
                if number > 0 {
                    self.out.extend_from_slice(separator);
                }
                self.out.extend_from_slice(value);
            }
        }
    }

    fn overrides_header(&self, name: &[u8]) -> bool {
        let own = self.script.params().iter();
        let mut own = own.filter_map(|(own, _)| own.as_bytes().strip_prefix(HTTP));
        own.any(|own| own.iter().copied().eq(param_name(name)))
    }

    /// The script's own parameters; of several with one name the last.
    fn put_own(&mut self) {
        let own = self.script.params();
        for (at, (name, value)) in own.iter().enumerate() {
            if own[at + 1..].iter().all(|(later, _)| later != name) {
                write_param(self.out, name, value.as_bytes());
            }
        }
    }
}

/// The name of a header as in a parameter: in capitals, with `_` in place of `-`.
fn param_name(header: &[u8]) -> impl Iterator<Item = u8> + '_ {
    header.iter().map(|byte| if *byte == b'-' { b'_' } else { byte.to_ascii_uppercase() })
}

/// The name and the port of a `Host`; 80 where it has no port.
fn split_host(host: &[u8]) -> (&[u8], &[u8]) {
    let colon = host.iter().rposition(|byte| *byte == b':');
    match colon.map(|at| (&host[..at], &host[at + 1..])) {
        Some((name, port)) if !port.is_empty() && port.iter().all(u8::is_ascii_digit) => {
            (name, port)
        }
        _ => (host, b"80"),
    }
}

fn split_once(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|byte| *byte == at)?;
    Some((&text[..place], &text[place + 1..]))
}

/// What the name of a header's parameter begins with.
const HTTP: &[u8] = b"HTTP_";
/// Digits of the largest length.
const DIGITS_MAX: usize = 20;
/// A request to a script does not say how its connection is used: a flag of its record does.
const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

#[cfg(test)]
mod tests {
    use super::*;
    use stampede_traffic::request::Content;

    fn header(name: &str, value: &str) -> (String, String) {
        (name.to_string(), value.to_string())
    }

    fn encoded(request: &Request, keep: KeepConnection) -> Vec<u8> {
        let Content::Message(message) = request.content() else { panic!("parts") };
        let mut out = Vec::new();
        encode(message, keep, &mut out);
        out
    }

    /// The parameters as a server reads them; only for requests whose lengths are below 128.
    fn params(encoded: &[u8]) -> Vec<String> {
        let length = u16::from_be_bytes([encoded[20], encoded[21]]);
        let mut rest = &encoded[24..][..usize::from(length)];
        let mut params = Vec::new();
        while let [name, value, text @ ..] = rest {
            let (name, value) = (usize::from(*name), usize::from(*value));
            let text = |from: usize, to: usize| String::from_utf8_lossy(&text[from..to]);
            params.push(format!("{}={}", text(0, name), text(name, name + value)));
            rest = &rest[2 + name + value..];
        }
        params
    }

    fn built(script: &Script, uri: &str, headers: &[(String, String)]) -> Vec<String> {
        let request = request(script, "GET", uri, headers, b"").unwrap();
        params(&encoded(&request, KeepConnection::No))
    }

    #[test]
    fn a_script_gets_what_nginx_would_say() {
        let script = Script::new("/var/www/index.php");
        let headers = [
            header("Host", "shop.example:8080"),
            header("X-One", "1"),
            header("cookie", "a=b"),
            header("Cookie", "c=d"),
            header("Proxy", "http://evil.example"),
        ];
        let all = built(&script, "/products/5?x=%20", &headers).join("\n");
        insta::assert_snapshot!(all.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }

    #[test]
    fn a_custom_parameter_overrides_the_default() {
        let script = Script::new("/index.php").with("APP_ENV", "prod").with("SERVER_NAME", "shop");
        let all = built(&script, "/", &[]);
        assert!(all.contains(&"APP_ENV=prod".to_string()), "{all:?}");
        let names = all.iter().filter(|param| param.starts_with("SERVER_NAME=")).count();
        assert!(names == 1 && all.contains(&"SERVER_NAME=shop".to_string()), "{all:?}");
        assert_eq!((script.root(), script.name()), ("", "/index.php"));
        let script = script.with("HTTP_X_A", "own").with("APP_ENV", "test");
        let all = built(&script, "/", &[header("x-a", "given"), header("X_B", "1")]).join("\n");
        assert!(all.ends_with("HTTP_X_B=1\nSERVER_NAME=shop\nHTTP_X_A=own\nAPP_ENV=test"), "{all}");
        assert_eq!(all.matches("HTTP_X_A").count(), 1, "{all}");
    }

    #[test]
    fn a_body_comes_with_its_type_and_length() {
        let headers = [header("Content-Type", "text/plain"), header("content-length", "3")];
        let script = Script::new("/a.php");
        let request = request(&script, "POST", "/a.php", &headers, b"a=1").unwrap();
        let bytes = encoded(&request, KeepConnection::Yes);
        let all = params(&bytes);
        for param in ["CONTENT_TYPE=text/plain", "CONTENT_LENGTH=3", "REQUEST_METHOD=POST"] {
            assert!(all.contains(&param.to_string()), "{param} {all:?}");
        }
        assert!(!all.iter().any(|param| param.starts_with("HTTP_CONTENT")), "{all:?}");
        assert_eq!(bytes[10], 1, "the connection is to be kept");
        assert!(bytes.ends_with(b"\0\x03\0\0a=1\x01\x05\0\x01\0\0\0\0"));
    }

    #[test]
    fn hosts_have_a_name_and_a_port() {
        let split = |host: &'static str| {
            let (name, port) = split_host(host.as_bytes());
            (std::str::from_utf8(name).unwrap(), std::str::from_utf8(port).unwrap())
        };
        assert_eq!(split("a.example"), ("a.example", "80"));
        assert_eq!(split("a.example:81"), ("a.example", "81"));
        assert_eq!(split("[::1]"), ("[::1]", "80"));
        assert_eq!(split("[::1]:81"), ("[::1]", "81"));
    }
}
