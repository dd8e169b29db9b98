//! Builds a request to a FastCGI responder, with the parameters that a web server would send.

use serde::{Deserialize, Serialize};
use stampede_model::entry::RequestError;
use stampede_model::load::ConnectionHabit;

use super::record::{KeepConnection, write_param, write_request};
use crate::answer::AnswerShape;
use crate::request::{Request, check};

/// The script that answers, as it lies on the server's disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ScriptData", into = "ScriptData")]
pub struct Script {
    filename: String,
    /// Bytes of `filename` before the script's own name, which are the site's root.
    root_bytes: usize,
    params: Vec<(String, String)>,
}

/// A script as data.
#[derive(Serialize, Deserialize)]
struct ScriptData {
    filename: String,
    params: Vec<(String, String)>,
}

impl From<ScriptData> for Script {
    fn from(data: ScriptData) -> Script {
        Script { params: data.params, ..Script::new(data.filename) }
    }
}

impl From<Script> for ScriptData {
    fn from(script: Script) -> ScriptData {
        ScriptData { filename: script.filename, params: script.params }
    }
}

impl Script {
    /// The script at this path; its directory is the root of the site.
    pub fn new(filename: impl Into<String>) -> Script {
        let filename = filename.into();
        let root_bytes = filename.rfind('/').unwrap_or(0);
        Script { filename, root_bytes, params: Vec::new() }
    }

    /// The same script with one more parameter, like nginx's `fastcgi_param`. It overrides a
    /// parameter that is sent by default.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Script {
        self.params.push((name.into(), value.into()));
        self
    }

    /// Path of the script on the server's disk: `SCRIPT_FILENAME`.
    pub fn filename(&self) -> &str {
        &self.filename
    }

    /// Path of the script on the site: `SCRIPT_NAME`.
    pub fn name(&self) -> &str {
        &self.filename[self.root_bytes..]
    }

    /// Directory of the script: `DOCUMENT_ROOT`.
    pub fn root(&self) -> &str {
        &self.filename[..self.root_bytes]
    }
}

/// Builds a request for `script`. `uri` is path and query as the app sees them. `headers` become
/// `HTTP_…` parameters, except that `Content-Type` and `Content-Length` have parameters of their
/// own. The parameters are those of nginx's `fastcgi_params`, without the client's port. `Host:
/// localhost`, `Accept: */*` and `User-Agent: stampede/<version>` are added where not given.
///
/// # Errors
/// As [`Request::build`].
pub fn request(
    script: &Script,
    method: &str,
    uri: &str,
    headers: &[(String, String)],
    body: &[u8],
    habit: ConnectionHabit,
) -> Result<Request, RequestError> {
    check(method, uri, headers, body)?;
    let mut all = site_params(script, method, uri);
    add_body_params(&mut all, method, headers, body);
    add_header_params(&mut all, headers);
    for (name, value) in &script.params {
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), value.clone()));
    }
    let mut params = Vec::new();
    all.iter().for_each(|(name, value)| write_param(&mut params, name, value.as_bytes()));
    let keep = match habit {
        ConnectionHabit::KeepAlive => KeepConnection::Yes,
        ConnectionHabit::PerRequest => KeepConnection::No,
    };
    let mut bytes = Vec::with_capacity(params.len() + body.len() + 64);
    write_request(&mut bytes, &params, body, keep);
    let answer = if method == "HEAD" { AnswerShape::NoBody } else { AnswerShape::ByHeaders };
    Ok(Request { bytes, answer, ..Request::default() })
}

type Params = Vec<(String, String)>;

/// The parameters in the order of nginx's `fastcgi_params`.
fn site_params(script: &Script, method: &str, uri: &str) -> Params {
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    let software = concat!("stampede/", env!("CARGO_PKG_VERSION"));
    let params = [
        ("SCRIPT_FILENAME", script.filename()),
        ("QUERY_STRING", query),
        ("REQUEST_METHOD", method),
        ("SCRIPT_NAME", script.name()),
        ("REQUEST_URI", uri),
        ("DOCUMENT_URI", script.name()),
        ("DOCUMENT_ROOT", script.root()),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("REQUEST_SCHEME", "http"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_SOFTWARE", software),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("SERVER_ADDR", "127.0.0.1"),
        // php-cgi demands it (`cgi.force_redirect`).
        ("REDIRECT_STATUS", "200"),
    ];
    params.map(|(name, value)| (name.to_string(), value.to_string())).into()
}

fn add_body_params(all: &mut Params, method: &str, headers: &[(String, String)], body: &[u8]) {
    let given = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.clone())
    };
    // Empty where there is none, as nginx sends them.
    let has_length = !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH");
    let length = if has_length { body.len().to_string() } else { String::new() };
    all.push(("CONTENT_TYPE".to_string(), given("content-type").unwrap_or_default()));
    all.push(("CONTENT_LENGTH".to_string(), length));
    let host = given("host").unwrap_or_else(|| HOST.to_string());
    let (name, port) = split_host(&host);
    all.push(("SERVER_NAME".to_string(), name.to_string()));
    all.push(("SERVER_PORT".to_string(), port.to_string()));
}

fn add_header_params(all: &mut Params, headers: &[(String, String)]) {
    let given = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let agent = concat!("stampede/", env!("CARGO_PKG_VERSION"));
    let added = [("Host", HOST), ("Accept", "*/*"), ("User-Agent", agent)];
    let added = added.into_iter().filter(|(name, _)| !given(name));
    let given = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in added.chain(given) {
        let upper = name.to_ascii_uppercase().replace('-', "_");
        // Apps would read `HTTP_PROXY` as the environment variable (CVE-2016-5385).
        if matches!(upper.as_str(), "CONTENT_TYPE" | "CONTENT_LENGTH" | "PROXY") {
            continue;
        }
        let name = format!("HTTP_{upper}");
        match all.iter_mut().find(|(known, _)| *known == name) {
            // Several lines become one parameter (RFC 3875 section 4.1.18).
            Some((_, before)) => {
                before.push_str(if upper == "COOKIE" { "; " } else { ", " });
                before.push_str(value);
            }
            None => all.push((name, value.to_string())),
        }
    }
}

/// The name and the port of a `Host`; 80 where it has no port.
fn split_host(host: &str) -> (&str, &str) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, port)
        }
        _ => (host, "80"),
    }
}

const HOST: &str = "localhost";

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &str) -> (String, String) {
        (name.to_string(), value.to_string())
    }

    /// The parameters as a server reads them; only for requests whose lengths are below 128.
    fn params(request: &Request) -> Vec<String> {
        let length = u16::from_be_bytes([request.bytes[20], request.bytes[21]]);
        let mut rest = &request.bytes[24..][..usize::from(length)];
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
        let request =
            request(script, "GET", uri, headers, b"", ConnectionHabit::PerRequest).unwrap();
        params(&request)
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
    }

    #[test]
    fn a_body_comes_with_its_type_and_length() {
        let headers = [header("Content-Type", "text/plain"), header("content-length", "3")];
        let keep = ConnectionHabit::KeepAlive;
        let script = Script::new("/a.php");
        let request = request(&script, "POST", "/a.php", &headers, b"a=1", keep).unwrap();
        let all = params(&request);
        for param in ["CONTENT_TYPE=text/plain", "CONTENT_LENGTH=3", "REQUEST_METHOD=POST"] {
            assert!(all.contains(&param.to_string()), "{param} {all:?}");
        }
        assert!(!all.iter().any(|param| param.starts_with("HTTP_CONTENT")), "{all:?}");
        assert_eq!(request.bytes[10], 1, "the connection is to be kept");
        assert!(request.bytes.ends_with(b"\0\x03\0\0a=1\x01\x05\0\x01\0\0\0\0"));
    }

    #[test]
    fn hosts_have_a_name_and_a_port() {
        assert_eq!(split_host("a.example"), ("a.example", "80"));
        assert_eq!(split_host("a.example:81"), ("a.example", "81"));
        assert_eq!(split_host("[::1]"), ("[::1]", "80"));
        assert_eq!(split_host("[::1]:81"), ("[::1]", "81"));
    }
}
