//! Fields with names, and which names servers give to method, path, query, host, status and time.
//!
//! JSON lines, `key=value` pairs, columns with a header and `--log-format` all give such fields, so
//! one table serves them.

use super::record::{Line, Record, is_method, is_target, status};
use super::times;

/// The fields of one line.
#[derive(Debug, Default)]
pub(super) struct Fields {
    filled: Vec<(String, Vec<u8>)>,
    /// Whether there is a field for the method, which may be empty.
    has_method: bool,
}

impl Fields {
    /// Adds a field. An empty one, or `-`, says that there is nothing.
    pub(super) fn add(&mut self, name: &str, value: &[u8]) {
        let name = plain(name);
        self.has_method |= METHODS.contains(&name.as_str());
        if !value.is_empty() && value != b"-" && self.filled.len() < FIELDS_MAX {
            self.filled.push((name, value.to_vec()));
        }
    }

    /// The first field with this name that holds what is wanted; of names, the first in the list.
    fn find<T>(&self, names: &[&str], wanted: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let mut fields = names.iter().flat_map(|name| self.named(name));
        fields.find_map(wanted)
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let fields = self.filled.iter().filter(move |(known, _)| known == name);
        fields.map(|(_, value)| value.as_slice())
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        self.find(names, |value| Some(String::from_utf8_lossy(value).into_owned()))
    }

    /// The request of these fields.
    pub(super) fn line(&self) -> Line {
        if self.text(&["logger"]).is_some_and(|name| name.contains("log.error")) {
            // Caddy repeats there the request that its access log has, too.
            return Line::Error;
        }
        let whole = self.find(REQUEST_LINES, Record::of_request_line);
        let Some(mut record) = whole.or_else(|| self.of_parts()) else {
            let has_status = self.find(STATUSES, status).is_some();
            let is_request = self.find(REQUEST_LINES, |value| Some(value.len())).is_some();
            return if has_status && is_request { Line::NotHttp } else { Line::Other };
        };
        record.host = self.text(HOSTS).unwrap_or(record.host);
        record.status = self.find(STATUSES, status);
        record.time_ns = self.time();
        Line::Request(record)
    }

    fn of_parts(&self) -> Option<Record> {
        let text = |value: &[u8]| std::str::from_utf8(value).ok().map(str::to_owned);
        let is_bare = |value: &[u8]| text(value).filter(|word| is_method(word));
        let named = || self.find(METHODS, text).or_else(|| self.find(REQUEST_LINES, is_bare));
        let method = named().or_else(|| self.implied_method())?;
        let mut target = self.find(TARGETS, target)?;
        let query = self.text(QUERIES).filter(|_| !target.contains(&b'?'));
        let query = query.as_deref().map(|query| query.strip_prefix('?').unwrap_or(query));
        if let Some(query) = query.filter(|query| !query.is_empty()) {
            target.push(b'?');
            target.extend_from_slice(query.as_bytes());
        }
        Some(Record { method, target, ..Record::default() })
    }

    /// A log that has no field for the method is about what browsers fetch. Only an access log has
    /// an answer's status beside what a browser says of itself.
    fn implied_method(&self) -> Option<String> {
        let is_access_log = !self.has_method
            && self.find(STATUSES, status).is_some()
            && self.find(OF_BROWSERS, |value| Some(value.len())).is_some();
        is_access_log.then(|| "GET".to_owned())
    }

    /// The time: date and clock may be two fields.
    pub(super) fn time(&self) -> Option<u64> {
        let of_two = || {
            let (date, time) = (self.text(&["date"])?, self.text(&["time"])?);
            times::begin(format!("{date} {time}").as_bytes())
        };
        let of_one = |value: &[u8]| times::begin(value.strip_prefix(b"[").unwrap_or(value));
        of_two().or_else(|| self.find(TIMES, of_one))
    }

    /// The lines that a collector of logs has put into a field of its own.
    pub(super) fn inner_lines(&self) -> impl Iterator<Item = &[u8]> {
        INNER_LINES.iter().flat_map(|name| self.named(name))
    }

    /// Whether a line with these fields says that a request was answered, or when, or has a field that
    /// only programs that write logs have. A file of requests to send has none of that.
    pub(super) fn is_of_log(&self) -> bool {
        self.find(STATUSES, status).is_some() || self.time().is_some() || self.has_log_field()
    }

    fn has_log_field(&self) -> bool {
        LOG_FIELDS.iter().any(|name| self.named(name).next().is_some())
    }
}

/// A target: a path, a URL, or a URL whose scheme was left out.
fn target(value: &[u8]) -> Option<Vec<u8>> {
    if is_target(value) {
        return Some(value.to_vec());
    }
    let host = &value[..value.iter().position(|byte| *byte == b'/')?];
    let is_of_host = |byte: &u8| byte.is_ascii_alphanumeric() || b".-:".contains(byte);
    let is_host = host.contains(&b'.') && host.iter().all(is_of_host);
    is_host.then(|| [b"http://", value].concat())
}

/// A name as the tables have it: `cs-uri-stem` is `csuristem`, `http.request.method` is `method`.
fn plain(name: &str) -> String {
    let mut parts = name.rsplit('.').filter(|part| !part.is_empty());
    let last = parts.next().unwrap_or(name);
    // `url.original`, `url.full`
    let last = match parts.next() {
        Some(before) if matches!(last, "original" | "full") => before,
        _ => last,
    };
    let letters = last.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// What a field holds, where that decides where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Host,
    Target,
    Query,
    Other,
}

/// What the field of this name holds.
pub(super) fn holds(name: &str) -> Holds {
    let name = plain(name);
    match name.as_str() {
        // nginx: a `?` where there is a query.
        "isargs" => Holds::Query,
        name if TARGETS.contains(&name) => Holds::Target,
        name if QUERIES.contains(&name) => Holds::Query,
        name if HOSTS.contains(&name) => Holds::Host,
        _ => Holds::Other,
    }
}

// The names, without case and signs. Where several are in a line, the earlier one holds: it has the
// query with it, or is what the client asked for before the server rewrote it.

/// What an application writes beside a request that it answers. None is a member of an object that
/// describes a request to send.
const LOG_FIELDS: &[&str] = &[
    "level",
    "loglevel",
    "severity",
    "lvl",
    "msg",
    "message",
    "logger",
    "ts",
    "timestamp",
    "controller",
    "action",
    "duration",
    "durationms",
    "elapsed",
    "elapsedms",
    "latency",   // tidy: foreign word
    "latencyms", // tidy: foreign word
    "responsetime",
    "requestid",
    "reqid",
    "traceid",
    "remoteaddr",
    "remoteip",
    "clientip",
    "ip",
    "useragent",
    "pid",
];

const REQUEST_LINES: &[&str] = &[
    "request",
    "requestline",
    "req",
    "httprequest",
    "requestfirstline",
    "firstline",
    "fullrequest",
];

const METHODS: &[&str] = &[
    "method",
    "requestmethod",
    "httpmethod",
    "reqmethod",
    "httprequestmethod",
    "clientrequestmethod",
    "csmethod",
    "verb",
    "httpverb",
    "httpreqmethod",
    "cmethod",
    "xmethod",
];

const TARGETS: &[&str] = &[
    "requesturi",
    "originaluri",
    "originalpath",
    "xenvoyoriginalpath",
    "xenvoyoriginpath",
    "clientrequesturi",
    "requesturl",
    "requrl",
    "requri",
    "httpurl",
    "httpuri",
    "httptarget",
    "rawurl",
    "originalurl",
    "url",
    "uri",
    "csuri",
    "requestpath",
    "httprequestpath",
    "clientrequestpath",
    "httppath",
    "reqpath",
    "rawpath",
    "path",
    "target",
    "urlpath",
    "uripath",
    "csuristem",
    "uristem",
    "documenturi",
];

const QUERIES: &[&str] = &[
    "query",
    "querystring",
    "requestquery",
    "rawquery",
    "rawquerystring",
    "urlquery",
    "uriquery",
    "csuriquery",
    "args",
    "queryargs",
    "httpquery",
    "clientrequestquery",
];

const HOSTS: &[&str] = &[
    "host",
    "httphost",
    "requesthost",
    "reqhost",
    "authority",
    "cshost",
    "xhostheader",
    "vhost",
    "virtualhost",
    "clientrequesthost",
    "domain",
    "domainname",
    "servername",
    "site",
];

const STATUSES: &[&str] = &[
    "status",
    "statuscode",
    "responsestatus",
    "responsestatuscode",
    "responsecode",
    "responsecodestring",
    "httpstatus",
    "httpstatuscode",
    "httpcode",
    "scstatus",
    "cstatus",
    "downstreamstatus",
    "edgeresponsestatus",
    "respstatus",
    "resstatus",
    "resstatuscode",
    "requeststatus",
    "code",
    "originstatus",
];

const OF_BROWSERS: &[&str] = &[
    "useragent",
    "httpuseragent",
    "csuseragent",
    "requestuseragent",
    "referer",
    "referrer",
    "httpreferer",
    "httpreferrer",
    "csreferer",
    "csreferrer",
];

const TIMES: &[&str] = &[
    "startutc",
    "starttime",
    "ts",
    "timestamp",
    "time",
    "timelocal",
    "timeiso8601",
    "iso8601",
    "startlocal",
    "msec",
    "timemsec",
    "datetime",
    "date",
    "edgestarttimestamp",
    "requesttimeepoch",
    "eventtime",
    "timereceived",
    "requestreceived",
    "localtime",
];

/// Docker, journald, collectors and clouds put a whole line into a field.
const INNER_LINES: &[&str] = &["log", "message", "msg", "line", "textpayload", "raw", "event"];

/// Most fields of a line.
const FIELDS_MAX: usize = 512;
