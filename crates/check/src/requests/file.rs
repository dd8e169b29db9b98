//! Reads the requests that a file lists: a path or URL on each line, any other format of traffic,
//! or a script of another tool.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use stampede_load::protocol::http1;
use stampede_model::fact::NotSent;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_plan::imported::{self, ImportedLoad, LeftOut, Omission};
use stampede_plan::urls;
use stampede_traffic::{Format, Request, TrafficError, TrafficFile, TrafficNotes, read_all};

use super::policy::method_and_target;
use super::{RequestError, RequestList};
use crate::model::{CheckRequest, SkippedRequest};

/// Largest file: as much as is kept in memory of any traffic.
const MIB_MAX: u64 = 64;
/// How much of a file shows its format.
const BEGIN_BYTES: usize = 64 << 10;
/// Most headers of a request; PHP's servers accept about a hundred.
const HEADERS_MAX: usize = 128;

/// Returns the requests of `traffic`, in its order, each once.
///
/// # Errors
/// The file is no such list, or has a URL of another site.
pub fn read(traffic: &TrafficFile) -> Result<RequestList, RequestError> {
    let path = traffic.path.as_path();
    let is_named = traffic.format.is_some() || traffic.log.format.is_some();
    if !is_named && let Some(script) = imported::read(path)? {
        return Ok(masked(of_script(&script)?));
    }
    let unreadable = |source: io::Error| {
        let (path, source) = (path.to_owned(), Arc::new(source));
        RequestError::LoadTraffic(TrafficError::Unreadable { path, source })
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take((MIB_MAX << 20) + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MIB_MAX << 20 {
        return Err(RequestError::TooLarge { path: path.to_owned(), mib_max: MIB_MAX });
    }
    stampede_mask::text(&String::from_utf8_lossy(&bytes));
    Ok(masked(of(&bytes, traffic)?))
}

/// The same, once the secrets in its headers are masked.
fn masked(listed: RequestList) -> RequestList {
    let headers = listed.requests.iter().flat_map(|check_request| &check_request.headers);
    headers.for_each(|(name, value)| stampede_mask::header(name, value));
    listed
}

/// The requests of a script, and those that are not taken over.
fn of_script(script: &ImportedLoad) -> Result<RequestList, RequestError> {
    let requests = script.requests.iter().map(|one| one.request(HABITS));
    let requests: Vec<Request> = requests
        .collect::<Result<_, _>>()
        .map_err(|error| RequestError::LoadTraffic(error.into()))?;
    let mut listed = gather(&requests);
    listed.skipped.extend(script.requests_left_out().map(|LeftOut { line, what }| {
        let why = match what {
            Omission::OtherHost { host } => NotSent::OtherHost { host: host.clone() },
            Omission::Request { part } => NotSent::OfScript { part: part.to_string() },
            other => NotSent::OfScript { part: other.to_string() },
        };
        SkippedRequest { request: format!("the request in line {line}"), why: why.into() }
    }));
    Ok(listed)
}

/// Returns the requests of the file's bytes.
pub(super) fn of(bytes: &[u8], traffic: &TrafficFile) -> Result<RequestList, RequestError> {
    let path = traffic.path.as_path();
    let is_log = traffic.log.format.is_some();
    let list = if is_log { None } else { list_of_paths(bytes) };
    let format = traffic.format.or(list.as_ref().map(|_| Format::Uri));
    let traffic = TrafficFile { format, ..traffic.clone() };
    if let Some(list) = &list {
        check_one_site(list, path)?;
    }
    let bytes = list.as_deref().map_or(bytes, str::as_bytes);
    let (requests, notes) = read_all(bytes, &traffic, HABITS).map_err(RequestError::LoadTraffic)?;
    if let Some((line, what)) = notes.broken_first {
        return Err(RequestError::Broken { path: path.to_owned(), line, what });
    }
    let mut listed = gather(&requests);
    listed.skipped.extend(left_out(&notes));
    if listed.requests.is_empty() && listed.skipped.is_empty() {
        let empty = TrafficError::Empty { path: path.to_owned(), skipped: Vec::new() };
        return Err(RequestError::LoadTraffic(empty));
    }
    Ok(listed)
}

/// Returns a list of paths and URLs as `compare --traffic` takes it; `None` for another kind of
/// traffic. Comments become empty lines, so that line numbers stay.
fn list_of_paths(bytes: &[u8]) -> Option<String> {
    // Lines of a log may begin with a path.
    let is_other = |format| !matches!(format, Format::Uri | Format::Urls);
    if Format::detected(&bytes[..bytes.len().min(BEGIN_BYTES)]).is_some_and(is_other) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let written = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    // A file with comments only is an empty list.
    let first =
        written().find(|line| !line.starts_with('#')).or(written().next()).unwrap_or_default();
    if !["#", "/", "http://", "https://"].iter().any(|begin| first.starts_with(begin)) {
        return None;
    }
    let mut list = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim();
        let line = if line.starts_with('#') { "" } else { line };
        if line.starts_with("//") {
            list.push_str("http:");
        }
        list.push_str(line);
        list.push('\n');
    }
    Some(list)
}

fn check_one_site(list: &str, path: &Path) -> Result<(), RequestError> {
    let mut site = None;
    for (number, line) in (1..).zip(list.lines()) {
        if line.is_empty() || line.starts_with('[') {
            continue;
        }
        let (host, _) = urls::parts(line.split_ascii_whitespace().next().unwrap_or_default());
        if let Some(mistake) = urls::foreign(*site.get_or_insert(host), host) {
            let (path, what) = (path.to_owned(), mistake.to_string());
            return Err(RequestError::Foreign { path, line: number, what });
        }
    }
    Ok(())
}

/// Returns each request once. Requests to another host than that of the first are not sent.
fn gather(requests: &[Request]) -> RequestList {
    let mut listed = RequestList::default();
    let (mut known, mut site) = (HashSet::new(), None);
    for request in requests {
        let (check_request, host) = match parse(&http1::text(request, HABITS)) {
            Ok(parsed) => parsed,
            Err(skipped) => {
                listed.skipped.push(*skipped);
                continue;
            }
        };
        let site = site.get_or_insert_with(|| host.clone());
        if *site != host {
            let why = NotSent::OtherHost { host }.into();
            listed.skipped.push(SkippedRequest { request: method_and_target(&check_request), why });
        } else if known.insert(check_request.clone()) {
            listed.requests.push(check_request);
        }
    }
    let mut reported = HashSet::new();
    listed.skipped.retain(|skipped| reported.insert(skipped.request.clone()));
    listed
}

/// Returns the well-formed entries that are no request to send, counted by reason.
fn left_out(notes: &TrafficNotes) -> impl Iterator<Item = SkippedRequest> {
    notes.skipped.iter().map(|(why, count)| {
        let noun = if *count == 1 { "entry" } else { "entries" };
        SkippedRequest {
            request: format!("{count} {noun} of the file"),
            why: NotSent::Entries { skip: why.clone() }.into(),
        }
    })
}

/// Parses a request from its bytes on the wire; returns it with its host.
fn parse(bytes: &[u8]) -> Result<(CheckRequest, String), Box<SkippedRequest>> {
    let line_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let skip = |why: NotSent| {
        let request = String::from_utf8_lossy(&bytes[..line_end]);
        let request = request.trim_end().rsplit_once(' ').map_or("", |(request, _)| request);
        Box::new(SkippedRequest { request: request.to_owned(), why: why.into() })
    };
    let ascii = ascii_line(bytes, line_end);
    let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut fields);
    let end = match head.parse(&ascii) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Err(skip(NotSent::HeadersUnended {})),
        Err(error) => return Err(skip(NotSent::NotHttp { problem: error.to_string() })),
    };
    let Ok(body) = std::str::from_utf8(&ascii[end..]) else {
        return Err(skip(NotSent::BinaryBody {}));
    };
    let target = head.path.unwrap_or_default().split('#').next().unwrap_or_default();
    if !target.starts_with('/') {
        return Err(skip(NotSent::NoPath {}));
    }
    let mut check_request = CheckRequest {
        method: head.method.unwrap_or_default().to_owned(),
        target: target.to_owned(),
        headers: Vec::new(),
        body: body.to_owned(),
    };
    let mut host = String::new();
    for field in head.headers.iter() {
        let value = String::from_utf8_lossy(field.value).into_owned();
        if field.name.eq_ignore_ascii_case("host") {
            host = value.to_ascii_lowercase();
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(skip(NotSent::ChunkedBody {}));
        } else if !is_added(field.name, &value) {
            check_request.headers.push((field.name.to_owned(), value));
        }
    }
    Ok((check_request, host))
}

/// Percent-encodes non-ASCII bytes of the first line, because a request line may only have ASCII.
fn ascii_line(bytes: &[u8], line_end: usize) -> Vec<u8> {
    let mut ascii = String::with_capacity(line_end);
    for byte in &bytes[..line_end] {
        match byte.is_ascii() {
            true => ascii.push(char::from(*byte)),
            false => write!(ascii, "%{byte:02X}").expect("writing into a string does not fail"),
        }
    }
    [ascii.as_bytes(), &bytes[line_end..]].concat()
}

/// Returns whether a header is added to each request anyway, or would make the answer's text
/// unreadable.
fn is_added(name: &str, value: &str) -> bool {
    const OTHERS: [&str; 7] = [
        "connection",
        "content-length",
        "keep-alive",
        // A browser with a cache sends these: the answer would be 304, or compressed.
        "accept-encoding",
        "if-modified-since",
        "if-none-match",
        "upgrade-insecure-requests",
    ];
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    OTHERS.into_iter().any(is)
        || (is("accept") && value == "*/*")
        || (is("user-agent") && value.starts_with("stampede/"))
}

const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> RequestList {
        of(text.as_bytes(), &TrafficFile::new("list"))
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn targets(text: &str) -> Vec<String> {
        let listed = listed(text);
        assert_eq!(listed.skipped, [], "{text}");
        listed.requests.iter().map(method_and_target).collect()
    }

    fn reasons(listed: &RequestList) -> Vec<String> {
        let skipped = listed.skipped.iter();
        skipped.map(|skipped| format!("{}: {}", skipped.request, skipped.why.sentence())).collect()
    }

    #[test]
    fn a_list_of_paths_keeps_its_order_without_duplicates() {
        let text = "\u{feff}# the shop\n\n/b?x={user}\r\n  /a#top\n/b?x={user}\n/a\n/straße tag\n";
        assert_eq!(targets(text), ["GET /b?x={user}", "GET /a", "GET /stra%C3%9Fe"]);
        let text =
            "https://shop.example\nhttps://joe:pw@shop.example/cart#top\n//shop.example?p=2\n";
        assert_eq!(targets(text), ["GET /", "GET /cart", "GET /?p=2"]);
        assert_eq!(targets("/"), ["GET /"]);
    }

    #[test]
    fn headers_that_are_always_added_are_left_out() {
        let text = "[Host: shop.example]\n[Accept-Language: de]\n[Connection: close]\n/a\n/b\n";
        let listed = listed(text);
        let language = ("Accept-Language".to_owned(), "de".to_owned());
        assert_eq!(listed.requests.len(), 2);
        assert!(
            listed.requests.iter().all(|check_request| check_request.headers == [language.clone()])
        );
    }

    #[test]
    fn other_traffic_formats_are_read() {
        let log =
            "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a?x=1 HTTP/1.1\" 200 5 \"-\" \"x\"\n";
        assert_eq!(targets(log), ["GET /a?x=1"]);
        let har = r#"{"log": {"entries": [{"request": {"method": "GET", "url": "https://a.b/x",
            "headers": [{"name": "If-None-Match", "value": "7"}, {"name": "Cookie", "value": "a=b"}]}}]}}"#;
        let of_har = listed(har).requests.remove(0);
        assert_eq!((of_har.target.as_str(), of_har.headers.len()), ("/x", 1));
        assert_eq!(
            targets("13 buy\nGET / HTTP/1.0\r\n\r\n".replace("13", "18").as_str()),
            ["GET /"]
        );
        let lines =
            "{\"path\": \"/buy\", \"headers\": {\"X-User\": \"{user}\"}, \"body\": \"a={user}\"}\n";
        let line = listed(lines).requests.remove(0);
        assert_eq!(
            (line.method.as_str(), line.body.as_str(), &line.headers[..]),
            ("POST", "a={user}", &[("X-User".to_owned(), "{user}".to_owned())][..])
        );
    }

    #[test]
    fn a_log_whose_lines_begin_with_a_path_is_no_list() {
        let line = |path: &str| {
            format!(
                "/var/log/shop.log ::1 - - [10/Oct/2000:13:55:36 -0700] \"GET {path} HTTP/1.1\" 200 5\n"
            )
        };
        assert_eq!(targets(&(line("/a") + &line("/b"))), ["GET /a", "GET /b"]);
    }

    #[test]
    fn scripts_of_other_tools_are_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("script.js");
        let text = "import http from 'k6/http';\nhttp.get('http://a.test/x');\n\
                    http.post('http://a.test/y', 'a=1');\nhttp.get('http://a.test/x');\n\
                    http.get(url());\nhttp.get('http://b.test/z');\n";
        std::fs::write(&path, text).expect("written");
        let listed = read(&TrafficFile::new(&path)).expect("a script");
        let sent: Vec<String> = listed.requests.iter().map(method_and_target).collect();
        assert_eq!(sent, ["GET /x", "POST /y"]);
        assert_eq!(listed.requests[1].body, "a=1");
        let skipped: Vec<_> = listed.skipped.iter().map(|one| &*one.request).collect();
        assert_eq!(skipped, ["the request in line 5", "the request in line 6"]);
        std::fs::write(&path, "from locust import HttpUser\n").expect("written");
        let error = read(&TrafficFile::new(&path)).expect_err("a program");
        assert!(matches!(error, RequestError::Script(_)), "{error:?}");
    }

    #[test]
    fn skipped_requests_are_listed() {
        let log = "::1 - - [x] \"GET / HTTP/1.1\" 200 5\n::1 - - [x] \"POST /a HTTP/1.1\" 200 5\n\
                   ::1 - - [x] \"POST /b HTTP/1.1\" 200 5\n";
        assert_eq!(reasons(&listed(log)), ["2 entries of the file: method POST"]);
        let hosts = "{\"path\": \"/a\", \"host\": \"a.example\"}\n{\"path\": \"/b\", \"host\": \"b.example\"}\n\
                     {\"path\": \"/b\", \"host\": \"b.example\"}\n";
        let hosts = listed(hosts);
        assert_eq!(reasons(&hosts), ["GET /b: for another host: `b.example`"]);
        assert_eq!(hosts.requests.len(), 1);
        let raw = "18 x\nGET * HTTP/1.0\r\n\r\n";
        assert_eq!(reasons(&listed(raw)), ["GET *: no path"]);
    }

    #[test]
    fn requests_with_binary_bodies_are_skipped() {
        let post = [&b"POST /a HTTP/1.1\r\nContent-Length: 1\r\n\r\n"[..], b"\xff"].concat();
        let chunks = b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        let skipped = |why: NotSent| {
            Err(Box::new(SkippedRequest { request: "POST /a".to_owned(), why: why.into() }))
        };
        assert_eq!(parse(&post), skipped(NotSent::BinaryBody {}));
        assert_eq!(parse(chunks), skipped(NotSent::ChunkedBody {}));
        assert_eq!(parse(b"POST /a HTTP/1.1\r\n"), skipped(NotSent::HeadersUnended {}));
    }
}
