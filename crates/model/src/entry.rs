//! Why an entry of a request file is invalid, or is valid and not sent.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What cannot be made into a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum RequestError {
    /// Not a token (RFC 9110 section 5.6.2).
    #[error("`{method}` is not a request method")]
    Method {
        /// As given, what is no text escaped.
        method: String,
    },
    /// Neither `/…` nor `*`, or with a space or a control character in it.
    #[error("`{path}` is not a path to request")]
    Path {
        /// As given, what is no text escaped.
        path: String,
    },
    /// Not a token.
    #[error("`{name}` is not a header name")]
    HeaderName {
        /// As given, what is no text escaped.
        name: String,
    },
    /// With a CR, LF or NUL, which would end the header and begin another.
    #[error("value of header `{name}` has a line break or NUL in it: `{value}`")]
    HeaderValue {
        /// Of which header.
        name: String,
        /// With the offending characters escaped.
        value: String,
    },
    /// Contradicts the body.
    #[error("header `Content-Length: {given}` with a body of `{body_bytes}` bytes")]
    ContentLength {
        /// As given.
        given: String,
        /// As it is.
        body_bytes: u64,
    },
}

impl RequestError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            RequestError::Method { .. } => "methods are words such as GET, HEAD or POST",
            RequestError::Path { .. } => {
                "a path begins with / and has spaces and control characters percent-encoded"
            }
            RequestError::HeaderName { .. } => {
                "header names are letters, digits and - such as X-Request-Id"
            }
            RequestError::HeaderValue { .. } => "write a header a line, each with its own name",
            RequestError::ContentLength { .. } => "leave it out: it is added where there is a body",
        }
    }
}

/// What is wrong with an entry. Bytes of the file are cut short, and what is no text is escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum EntryError {
    /// Above the limit of an entry.
    #[error("longer than {} MiB", limit_bytes >> 20)]
    TooLong {
        /// The limit.
        limit_bytes: u64,
    },
    /// A line of other bytes.
    #[error("`{line}` is not UTF-8")]
    NotUtf8 {
        /// The line.
        line: String,
    },
    /// A length above the limit of an entry.
    #[error("`{bytes}` bytes are announced")]
    LengthTooLarge {
        /// As announced.
        bytes: u64,
    },
    /// The file ends within the entry.
    #[error("`{bytes}` bytes are announced, and the file ends after `{read_bytes}`")]
    CutShort {
        /// As announced.
        bytes: u64,
        /// As there are.
        read_bytes: u64,
    },
    /// A whole request of HTTP, where FastCGI is spoken.
    #[error("a whole request is HTTP's, and FastCGI is spoken")]
    WholeRequest {},
    /// Its parts make no request.
    #[error("{error}")]
    NoRequest {
        /// What is wrong with them.
        error: RequestError,
    },
    /// A line that announces no entry.
    #[error("`{line}` is not {expected}")]
    NotAnnounced {
        /// The line.
        line: String,
        /// How an entry is announced.
        expected: String,
    },
    /// Bytes that begin with no method.
    #[error("the {bytes} bytes begin with `{begins}`, no method")]
    NoMethod {
        /// How many.
        bytes: u64,
        /// Their begin.
        begins: String,
    },
    /// Headers without an end.
    #[error("no blank line ends the headers within the {bytes} bytes")]
    HeadersWithoutEnd {
        /// How many bytes there are.
        bytes: u64,
    },
    /// A line with more words than there may be.
    #[error("`{line}` is more than a path and a tag")]
    TooManyWords {
        /// The line.
        line: String,
    },
    /// A line in brackets that is no header.
    #[error("`{line}` is not a header")]
    NoHeader {
        /// The line.
        line: String,
    },
    /// What the reader of JSON says, and a column where it has one.
    #[error("{json_error}{}", at_column(*column))]
    Json {
        /// Its words.
        json_error: String,
        /// Where in its line, 1 for the first; null: the entry has several lines.
        column: Option<u64>,
    },
    /// An object lacks a member.
    #[error("missing field `{name}`")]
    MemberMissing {
        /// The member.
        name: String,
    },
    /// Another byte of JSON was expected.
    #[error("expected {}{}", one_of(expected), instead(found.as_deref()))]
    Unexpected {
        /// One of these.
        expected: Vec<char>,
        /// What is there; null: it is not known, or the file ends.
        found: Option<String>,
    },
    /// The file ends within an entry.
    #[error("expected `{expected}`, and the file ends")]
    FileEnds {
        /// What was expected.
        expected: char,
    },
    /// A document that its format's reader refuses.
    #[error("this is not valid {format}: {problem}")]
    Document {
        /// Name of the format: `YAML`, `XML`.
        format: String,
        /// What the reader says.
        problem: String,
    },
    /// A quote of a command is not closed before the end of the file.
    #[error("a quote is opened here and never closed")]
    QuoteOpen {},
    /// A body that is announced as base64 and is not.
    #[error("its body is not base64")]
    NotBase64 {},
}

fn one_of(expected: &[char]) -> String {
    expected.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(" or ")
}

fn at_column(column: Option<u64>) -> String {
    column.map_or(String::new(), |column| format!(" at column {column}"))
}

fn instead(found: Option<&str>) -> String {
    found.map_or(String::new(), |found| format!(", found `{found}`"))
}

/// Why a file could not be read again to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum ReadFailure {
    /// The system refuses it.
    #[error("cannot read `{}`: {os_error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        os_error: String,
    },
    /// It was changed meanwhile.
    #[error("cannot read `{}`: it has no request in it any more", path.display())]
    Emptied {
        /// The file.
        path: PathBuf,
    },
}

/// Why an entry that is well-formed is not sent.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    thiserror::Error,
)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Skip {
    /// Its method is not asked for.
    #[error("method {method}")]
    Method {
        /// The method.
        method: String,
    },
    /// It is no request of HTTP.
    #[error("no HTTP request")]
    NotHttp {},
    /// It has no path.
    #[error("no path")]
    NoPath {},
    /// It is another host's than the first.
    #[error("another host than `{host}`")]
    OtherHost {
        /// The first one's host.
        host: String,
    },
    /// Its body is in base64.
    #[error("body in base64")]
    Base64Body {},
    /// Its body comes in chunks, as it is on the connection.
    #[error("body in chunks")]
    Chunked {},
    /// A proxy was asked for a tunnel.
    #[error("CONNECT, which asks a proxy for a tunnel")]
    Connect {},
    /// The answer is a stream of events that does not end.
    #[error("event stream")]
    EventStream {},
    /// It opens a web socket.
    #[error("web socket")]
    WebSocket {},
    /// Its URL has a scheme that is not HTTP's.
    #[error("URL of scheme `{scheme}:`")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The file ends within it.
    #[error("cut off: the file ends within it")]
    CutOff {},
    /// A form sends a file whose content was not recorded.
    #[error("the file in form field `{field}` was not recorded")]
    FormFile {
        /// Name of the field.
        field: String,
    },
    /// A file that it names cannot be read.
    #[error("its file `{path}` cannot be read")]
    File {
        /// The path, as it is written.
        path: String,
    },
    /// A variable in it has no value.
    #[error("variable `{name}` has no value")]
    Variable {
        /// Name of the variable.
        name: String,
    },
    /// A way to sign in that needs a program.
    #[error("authentication by `{kind}`")]
    Authentication {
        /// Name of the way.
        kind: String,
    },
    /// A script of a collection, which would change requests or read answers.
    #[error("script `{when}`, which is not run")]
    Script {
        /// When it would run: `prerequest`, `test`.
        when: String,
    },
    /// Its body is a file that it does not name.
    #[error("its body is a file that it does not name")]
    BodyFileNotNamed {},
    /// Its body is of a kind that is not known, or cannot be made.
    #[error("a body of kind `{kind}` that cannot be made")]
    BodyKind {
        /// The kind, as it is written.
        kind: String,
    },
    /// A part of it would be filled in by a shell.
    #[error("`{part}`, which a shell would fill in")]
    ByShell {
        /// The part.
        part: String,
    },
    /// Its URL stands for several.
    #[error("`{pattern}` in its URL, which stands for several")]
    UrlPattern {
        /// The pattern.
        pattern: String,
    },
    /// A required parameter has neither an example nor a default value.
    #[error("parameter `{name}` has no example")]
    Parameter {
        /// Name of the parameter.
        name: String,
    },
    /// An option of curl that is not known.
    #[error("option `{option}` of curl")]
    CurlOption {
        /// The option.
        option: String,
    },
    /// A list of other sitemaps.
    #[error("another sitemap, which is a list of its own")]
    Sitemap {},
    /// It is a line of an error log, among those of an access log.
    #[error("line of an error log")]
    ErrorLog {},
    /// It is a line of an access log's file, and says of no request that it was answered.
    #[error("line without a request")]
    NotLogged {},
    /// Its answer is logged as an error, and such are not asked for.
    #[error("status {class}xx in the log")]
    LoggedStatus {
        /// First digit of the status.
        class: u16,
    },
    /// There are more reasons than are told apart.
    #[error("other")]
    Other {},
}
