//! The formats of request files, and their parsers.

use serde::{Deserialize, Serialize};

use super::TrafficFile;
use super::access_log::AccessLog;
use super::body_file::{BodyFiles, NamedFiles};
use super::curl::Curl;
use super::document::{Document, DocumentKind};
use super::har::Har;
use super::input::{Draft, Input, ParseError, ParsedEntry};
use super::json_lines::JsonLines;
use super::siege::Siege;
use super::sized::{RawRequests, UriPost};
use super::uri::{Blank, Uris};
use super::variables::Variables;
use super::vegeta::{VegetaLines, VegetaTargets};

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
    /// A path or a URL per line. Blanks belong to it.
    Urls,
    /// A list of URLs in which `POST` and a body may follow, and lines `NAME = value` set variables:
    /// the list of siege.
    Siege,
    /// Blocks of a line `METHOD URL`, lines of headers, and a line `@file` that names the body: the
    /// targets of Vegeta.
    Vegeta,
    /// An object per line with `method`, `url`, `header` and a `body` in base64: Vegeta's targets in
    /// JSON.
    VegetaJson,
    /// Commands of curl.
    Curl,
    /// Requests as the HTTP clients of editors read them, in files `.http` and `.rest`.
    #[serde(rename = "http")]
    Editor,
    /// A collection of Postman.
    Postman,
    /// A description of an HTTP interface by OpenAPI or Swagger, in JSON or YAML. Its GET operations
    /// are sent, with examples and default values as parameters.
    #[serde(rename = "openapi")]
    OpenApi,
    /// A site's list of its pages, in XML.
    Sitemap,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 15] = [
        Format::Uri,
        Format::UriPost,
        Format::Request,
        Format::AccessLog,
        Format::Har,
        Format::JsonLines,
        Format::Urls,
        Format::Siege,
        Format::Vegeta,
        Format::VegetaJson,
        Format::Curl,
        Format::Editor,
        Format::Postman,
        Format::OpenApi,
        Format::Sitemap,
    ];

    /// Whether entries can name files that hold their bodies.
    pub(crate) fn names_files(self) -> bool {
        use Format as F;
        match self {
            F::Siege | F::Vegeta | F::Curl | F::Editor | F::Postman => true,
            F::Uri | F::UriPost | F::Request | F::AccessLog | F::Har | F::JsonLines | F::Urls => {
                false
            }
            F::VegetaJson | F::OpenApi | F::Sitemap => false,
        }
    }

    /// The format of a file that begins with these bytes, not compressed. `None`: it shows none.
    pub fn detected(begin: &[u8]) -> Option<Format> {
        super::detect::format(begin).ok()
    }

    /// Name of the format, for people.
    pub fn name(self) -> &'static str {
        match self {
            Format::Uri => "uri",
            Format::UriPost => "uripost",
            Format::Request => "request",
            Format::AccessLog => "access.log",
            Format::Har => "har",
            Format::JsonLines => "jsonl",
            Format::Urls => "urls",
            Format::Siege => "siege",
            Format::Vegeta => "vegeta",
            Format::VegetaJson => "vegeta-json",
            Format::Curl => "curl",
            Format::Editor => "http",
            Format::Postman => "postman",
            Format::OpenApi => "openapi",
            Format::Sitemap => "sitemap",
        }
    }

    /// The format with that name; also accepts Yandex Tank's names (`phantom`, `access`). `None`
    /// for any other name.
    pub fn named(name: &str) -> Option<Format> {
        match name {
            "phantom" | "raw" => Some(Format::Request),
            "access" | "access-log" => Some(Format::AccessLog),
            "json" => Some(Format::JsonLines),
            "rest" => Some(Format::Editor),
            "swagger" => Some(Format::OpenApi),
            _ => Format::ALL.into_iter().find(|format| format.name() == name),
        }
    }

    /// Whether entries can have tags.
    pub(super) fn has_tags(self) -> bool {
        use Format::{AccessLog, Curl, Har, Siege, Sitemap, Urls, Vegeta, VegetaJson};
        !matches!(self, AccessLog | Curl | Har | Siege | Sitemap | Urls | Vegeta | VegetaJson)
    }

    /// How many bytes may precede the first request, if a list of requests may have `bytes`. Most
    /// bytes of an archive are answers.
    pub(super) fn begins_within(self, bytes: u64) -> u64 {
        if self == Format::Har { bytes.saturating_mul(64) } else { bytes }
    }
}

/// Reads the entries of one pass.
pub(super) enum Parser {
    Uri(Uris),
    UriPost(UriPost),
    Request(RawRequests),
    AccessLog(AccessLog),
    Har(Har),
    JsonLines(JsonLines),
    Siege(Siege),
    Vegeta(VegetaTargets),
    VegetaJson(VegetaLines),
    Curl(Curl),
    Document(Document),
}

/// What is known of a file before its parser reads it.
pub(super) struct ParserParts {
    /// The site of a recording whose requests are sent.
    pub(super) site: Option<String>,
    /// Values of variables.
    pub(super) variables: Variables,
    /// Notes the files that entries name.
    pub(super) noted: Option<NamedFiles>,
}

impl Parser {
    pub(super) fn new(format: Format, file: &TrafficFile, parts: &ParserParts) -> Parser {
        let files = || BodyFiles::of(file, parts.noted.clone());
        let document =
            |kind| Parser::Document(Document::new(kind, parts.variables.clone(), files()));
        match format {
            Format::Uri => Parser::Uri(Uris::new(Blank::Tag)),
            Format::Urls => Parser::Uri(Uris::new(Blank::Part)),
            Format::UriPost => Parser::UriPost(UriPost::default()),
            Format::Request => Parser::Request(RawRequests::default()),
            Format::AccessLog => Parser::AccessLog(AccessLog::new(file)),
            Format::Har => Parser::Har(Har::new(parts.site.as_deref())),
            Format::JsonLines => Parser::JsonLines(JsonLines::default()),
            Format::Siege => Parser::Siege(Siege::new(files(), parts.variables.clone())),
            Format::Vegeta => Parser::Vegeta(VegetaTargets::new(files())),
            Format::VegetaJson => Parser::VegetaJson(VegetaLines::default()),
            Format::Curl => Parser::Curl(Curl::new(files())),
            Format::Editor => document(DocumentKind::Editor),
            Format::Postman => document(DocumentKind::Postman),
            Format::OpenApi => document(DocumentKind::OpenApi),
            Format::Sitemap => document(DocumentKind::Sitemap),
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
            Parser::Siege(parser) => parser.next(input, draft),
            Parser::Vegeta(parser) => parser.next(input, draft),
            Parser::VegetaJson(parser) => parser.next(input, draft),
            Parser::Curl(parser) => parser.next(input, draft),
            Parser::Document(parser) => parser.next(input, draft),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_name() {
        assert!(Format::ALL.iter().all(|format| Format::named(format.name()) == Some(*format)));
        assert_eq!(Format::named("phantom"), Some(Format::Request));
        assert_eq!(Format::named("pcap"), None);
    }
}
