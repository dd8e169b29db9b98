//! A request as a file of another tool describes it, before it becomes a draft.

use super::Header;
use super::input::{Draft, shown};
use super::url;
use crate::request::is_token;

/// One request. What is empty was not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recorded {
    /// Line where it begins; the first one is 1.
    pub(super) line: u64,
    pub(super) method: String,
    /// A whole URL, or a path with its query.
    pub(super) url: String,
    pub(super) headers: Vec<Header>,
    pub(super) body: Vec<u8>,
    pub(super) tag: String,
    /// Variable without a value at the begin of the URL, for which the target stands.
    pub(super) target_variable: String,
    /// Names of headers that no client can send.
    pub(super) left_out: Vec<String>,
}

impl Recorded {
    /// Writes it over what is in the draft. Headers of the connection are left out, and so is the
    /// length of the body, which is known.
    pub(super) fn write(self, draft: &mut Draft) {
        let implied = if self.body.is_empty() { "GET" } else { "POST" };
        let method = if self.method.is_empty() { implied } else { self.method.as_str() };
        draft.begin(self.line, method);
        let is_path = self.url.starts_with('/') || self.url == "*" || url::is_http(&self.url);
        match is_path {
            true => draft.set_url(&url::encoded(&self.url)),
            false => draft.set_url(&url::encoded(&format!("/{}", self.url))),
        }
        draft.headers = self.headers;
        draft.headers.retain(|(name, _)| is_of_request(name));
        draft.body.extend_from_slice(&self.body);
        draft.tag = self.tag;
        draft.target_variable = self.target_variable;
        draft.left_out = self.left_out;
    }

    /// The value of the first header with this name.
    pub(super) fn header(&self, wanted: &str) -> Option<&str> {
        header(&self.headers, wanted)
    }

    /// Adds a header unless there is one with that name.
    pub(super) fn add_header(&mut self, name: &str, value: impl Into<String>) {
        if self.header(name).is_none() {
            self.headers.push((name.to_owned(), value.into()));
        }
    }

    /// Leaves out headers that a program wrote and no client can send, such as one that is called
    /// `Content-Length;` or has a line break in its value.
    pub(super) fn leave_out_headers(&mut self) {
        let is_one = |(name, value): &Header| {
            name.starts_with(':') || (is_token(name) && !value.contains(['\r', '\n', '\0']))
        };
        let (kept, left_out) = std::mem::take(&mut self.headers).into_iter().partition(is_one);
        self.headers = kept;
        let left_out: Vec<Header> = left_out;
        self.left_out = left_out.iter().map(|(name, _)| shown(name.as_bytes())).collect();
    }

    /// Adds words to the query.
    pub(super) fn add_query(&mut self, more: &str) {
        let url = self.url.split('#').next().unwrap_or_default();
        let joint = match url.split_once('?') {
            Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
            Some(_) => "&",
            None => "?",
        };
        self.url = format!("{url}{joint}{more}");
    }
}

/// The value of the first header with this name.
pub(super) fn header<'a>(headers: &'a [Header], wanted: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
        .map(|(_, value)| value.as_str())
}

/// Whether a header belongs to the request. Those of the connection do not (RFC 9110 section
/// 7.6.1), nor do HTTP/2's names of the request line, which begin with a colon.
pub(super) fn is_of_request(name: &str) -> bool {
    const DROPPED: [&str; 8] = [
        "connection",
        "content-length",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    !name.starts_with(':') && !DROPPED.iter().any(|dropped| name.eq_ignore_ascii_case(dropped))
}
