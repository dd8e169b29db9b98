//! The formats of request files, and how they are detected.

use serde::{Deserialize, Serialize};

use super::TrafficFile;
use super::access_log::{self, AccessLog};
use super::har::Har;
use super::input::{Draft, Input, ParseError, ParsedEntry, shown};
use super::json_lines::JsonLines;
use super::sized::{RawRequests, UriPost};
use super::uri::Uris;

/// How a request file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A path or a URL per line, optionally followed by a space and a tag. A line `[Name: value]`
    /// is a header of all requests that follow. This is Yandex Tank's `uri`, and also a plain list
    /// of URLs.
    Uri,
    /// A line `size path tag`, then a body of `size` bytes: a POST. Header lines as in `Uri`. This
    /// is Yandex Tank's `uripost`.
    UriPost,
    /// A line `size tag`, then a whole request of `size` bytes, which is sent unchanged. This is
    /// Yandex Tank's `phantom`, also called request-style.
    Request,
    /// A server's access log, in any of many forms. Method and path of each line are used.
    AccessLog,
    /// A recording of a browser: `log.entries` of HTTP Archive 1.2.
    Har,
    /// An object per line: `{"method": "POST", "path": "/buy", "headers": {"X-A": "b"}, "body":
    /// "c=d", "tag": "buy"}`. Only `path` is required. `uri` or `url` instead of `path`, and
    /// `host`, are accepted too.
    JsonLines,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 6] = [
        Format::Uri,
        Format::UriPost,
        Format::Request,
        Format::AccessLog,
        Format::Har,
        Format::JsonLines,
    ];

    /// Name of the format, for people.
    pub fn name(self) -> &'static str {
        match self {
            Format::Uri => "uri",
            Format::UriPost => "uripost",
            Format::Request => "request",
            Format::AccessLog => "access.log",
            Format::Har => "har",
            Format::JsonLines => "jsonl",
        }
    }

    /// The format with that name; also accepts Yandex Tank's names (`phantom`, `access`). `None`
    /// for any other name.
    pub fn named(name: &str) -> Option<Format> {
        match name {
            "phantom" | "raw" => Some(Format::Request),
            "access" | "access-log" => Some(Format::AccessLog),
            "json" => Some(Format::JsonLines),
            _ => Format::ALL.into_iter().find(|format| format.name() == name),
        }
    }

    /// Whether entries can have tags.
    pub(super) fn has_tags(self) -> bool {
        !matches!(self, Format::AccessLog | Format::Har)
    }

    /// How many bytes may precede the first request, if a list of requests may have `bytes`. Most
    /// bytes of an archive are answers.
    pub(super) fn begins_within(self, bytes: u64) -> u64 {
        if self == Format::Har { bytes.saturating_mul(64) } else { bytes }
    }

    /// The format of a file with this beginning.
    pub(super) fn of(begin: &[u8]) -> Result<Format, Unknown> {
        let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
        let lines = begin.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let mut lines = lines.filter(|line| !line.is_empty());
        let Some(first) = lines.next() else { return Err(Unknown::Empty) };
        if first[0] == b'{' {
            return Ok(of_json(begin));
        }
        // Both kinds may begin with header lines.
        let first_entry = match first[0] == b'[' {
            true => lines.find(|line| line[0] != b'['),
            false => Some(first),
        };
        let found = match first_entry {
            Some(entry) => of_entry(entry, lines.next()),
            None => Some(Format::Uri),
        };
        let is_log = || access_log::is_log(begin);
        let found = match found {
            // Before the first line of a log there may be one that begins with a path.
            None | Some(Format::Uri) if is_log() => Some(Format::AccessLog),
            found => found,
        };
        found.ok_or_else(|| Unknown::Begins(shown(first)))
    }
}

/// Why a beginning shows no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Empty,
    /// The first line, for a message.
    Begins(String),
}

fn of_entry(entry: &[u8], next: Option<&[u8]>) -> Option<Format> {
    let mut words = entry.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next()?;
    if first.iter().all(u8::is_ascii_digit) {
        let is_request = next.is_some_and(|line| {
            let version = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
            version.starts_with(b"HTTP/")
        });
        let has_path = words.next().is_some_and(|word| word[0] == b'/' || is_url(word));
        return match (is_request, has_path) {
            (true, _) => Some(Format::Request),
            (false, true) => Some(Format::UriPost),
            (false, false) => None,
        };
    }
    if first[0] == b'/' || is_url(first) {
        return Some(Format::Uri);
    }
    None
}

fn of_json(begin: &[u8]) -> Format {
    // `log` is the only member of an archive's object; Docker has a line of a log there.
    let mut after = begin.trim_ascii_start()[1..].trim_ascii_start();
    after = after.strip_prefix(b"\"log\"").unwrap_or_default();
    let value = after.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
    match value {
        Some(value) if !value.starts_with(b"\"") => Format::Har,
        _ if access_log::is_log(begin) => Format::AccessLog,
        _ => Format::JsonLines,
    }
}

fn is_url(word: &[u8]) -> bool {
    word.starts_with(b"http://") || word.starts_with(b"https://")
}

/// Reads the entries of one pass.
pub(super) enum Parser {
    Uri(Uris),
    UriPost(UriPost),
    Request(RawRequests),
    AccessLog(AccessLog),
    Har(Har),
    JsonLines(JsonLines),
}

impl Parser {
    pub(super) fn new(format: Format, file: &TrafficFile) -> Parser {
        match format {
            Format::Uri => Parser::Uri(Uris::default()),
            Format::UriPost => Parser::UriPost(UriPost::default()),
            Format::Request => Parser::Request(RawRequests::default()),
            Format::AccessLog => Parser::AccessLog(AccessLog::new(file)),
            Format::Har => Parser::Har(Har::default()),
            Format::JsonLines => Parser::JsonLines(JsonLines::default()),
        }
    }

    /// Reads the next entry. Each call takes at least one line or reports the end, so reading
    /// terminates.
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        match self {
            Parser::Uri(parser) => parser.next(input, draft),
            Parser::UriPost(parser) => parser.next(input, draft),
            Parser::Request(parser) => parser.next(input, draft),
            Parser::AccessLog(parser) => parser.next(input, draft),
            Parser::Har(parser) => parser.next(input, draft),
            Parser::JsonLines(parser) => parser.next(input, draft),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_detected_from_the_beginning() {
        let cases: [(&[u8], Format); 18] = [
            (
                b"[10/Oct/2000:13:55:36 +0000] - 200 200 - GET https a.test \"/\"\n",
                Format::AccessLog,
            ),
            (
                b"/entrypoint.sh: start\n[10/Oct/2000:13:55:36] \"GET / HTTP/1.0\" 200\n",
                Format::AccessLog,
            ),
            (
                b"{\"log\":\"[10/Oct/2000:13:55:36] \\\"GET / HTTP/1.0\\\" 200\"}\n",
                Format::AccessLog,
            ),
            (b"#Fields: cs-method cs-uri-stem\n", Format::AccessLog),
            (b"/\n", Format::Uri),
            (b"\n\n/buy tag\r\n", Format::Uri),
            (b"\xef\xbb\xbf/x", Format::Uri),
            (b"https://example.org/a\n", Format::Uri),
            (b"[Host: a]\n[X: 1]\n/x\n", Format::Uri),
            (b"[Host: a]\n", Format::Uri),
            (b"[Host: a]\n5 /x tag\nclass\n", Format::UriPost),
            (b"0 /x\n\n", Format::UriPost),
            (b"73 good\nGET / HTTP/1.0\r\nHost: x\r\n\r\n", Format::Request),
            (b"73 /good\r\nGET / HTTP/1.0\r\nHost: x\r\n\r\n", Format::Request),
            (b"::1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1\n", Format::AccessLog),
            (b"{\"path\": \"/\"}\n{\"path\": \"/log\"}\n", Format::JsonLines),
            (b"{\n  \"log\" : {\"version\": \"1.2\"", Format::Har),
            (b"{\"log\":{\"entries\":[]}}", Format::Har),
        ];
        for (begin, format) in cases {
            assert_eq!(Format::of(begin), Ok(format), "{}", shown(begin));
        }
        assert_eq!(Format::of(b" \n\n"), Err(Unknown::Empty));
        let begins = |begin: &[u8]| Format::of(begin) == Err(Unknown::Begins(shown(begin)));
        assert!(begins(b"GET /") && begins(b"12") && begins(b"12 tag") && begins(b"<html>"));
    }

    #[test]
    fn every_format_has_its_name() {
        assert!(Format::ALL.iter().all(|format| Format::named(format.name()) == Some(*format)));
        assert_eq!(Format::named("phantom"), Some(Format::Request));
        assert_eq!(Format::named("pcap"), None);
    }
}
