//! Detects the format of a request file from its beginning: a recogniser for each format, asked in
//! an order of its own, where the more particular format is first.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Format;
use super::access_log::logged_lines;
use super::input::shown;
use super::shape::{Member, Shape};
use super::url::is_http;
use crate::request::is_token;

/// Why a beginning shows no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Empty,
    /// The first line, for a message.
    Begins(String),
}

/// Whether a file with this beginning has a format.
type Recognises = fn(&Begin<'_>) -> bool;

/// The recognisers in their order. `siege` and `urls` are lists of URLs with something more, and
/// `vegeta` is a particular way to write what editors read. Lines of a log may be objects of JSON,
/// or begin as those of lists and editors do. The others have no beginning in common.
const RECOGNISERS: [(Format, Recognises); 16] = [
    (Format::Har, is_har),
    (Format::Postman, is_postman),
    (Format::OpenApi, is_openapi),
    (Format::VegetaJson, is_vegeta_json),
    (Format::AccessLog, is_log_of_objects),
    (Format::JsonLines, is_json_line),
    (Format::Sitemap, is_sitemap),
    (Format::Curl, is_curl),
    (Format::Request, is_raw_requests),
    (Format::UriPost, is_uri_post),
    (Format::AccessLog, is_log),
    (Format::Siege, is_siege),
    (Format::Urls, is_urls),
    (Format::Uri, is_uri),
    (Format::Vegeta, is_vegeta),
    (Format::Editor, is_editor),
];

/// The format of a file with this beginning.
pub(super) fn format(begin: &[u8]) -> Result<Format, Unknown> {
    let begin = Begin::of(begin).ok_or(Unknown::Empty)?;
    let known = RECOGNISERS.iter().find(|(_, recognises)| recognises(&begin));
    known.map(|(format, _)| *format).ok_or_else(|| Unknown::Begins(shown(begin.first)))
}

/// Whether each line of this beginning that is written has one word, which is no header in brackets.
pub(super) fn has_only_paths(begin: &[u8]) -> bool {
    let Some(begin) = Begin::of(begin) else { return true };
    begin.written().all(|line| line[0] != b'[' && words(line).count() == 1)
}

/// The beginning of a file, as its recognisers see it.
struct Begin<'a> {
    bytes: &'a [u8],
    /// Its lines without blanks around them. The last one may be cut off.
    lines: Vec<&'a [u8]>,
    /// The first line with something in it that is no comment; of a file with nothing but comments,
    /// its first line.
    first: &'a [u8],
    /// The shape of a JSON document; empty for another file.
    shape: Shape,
}

impl<'a> Begin<'a> {
    /// `None` where no line has anything in it.
    fn of(bytes: &'a [u8]) -> Option<Begin<'a>> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let lines: Vec<&[u8]> =
            bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
        let written = || lines.iter().copied().filter(|line| !line.is_empty());
        let first = written().find(|line| !is_comment(line)).or_else(|| written().next())?;
        let is_object = first.first() == Some(&b'{');
        // Comments before an object are not JSON.
        let start = first.as_ptr() as usize - bytes.as_ptr() as usize;
        let shape = if is_object { Shape::of(&bytes[start..]) } else { Shape::default() };
        Some(Begin { bytes, lines, first, shape })
    }

    /// The lines that are neither blank nor comments.
    fn written(&self) -> impl Iterator<Item = &'a [u8]> {
        self.lines.iter().copied().filter(|line| !line.is_empty() && !is_comment(line))
    }

    /// The lines that are no headers of Yandex Tank's kind either.
    fn entries(&self) -> impl Iterator<Item = &'a [u8]> {
        self.written().filter(|line| line[0] != b'[')
    }
}

fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#")
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn is_url(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(is_http)
}

fn is_object(begin: &Begin<'_>) -> bool {
    begin.first.first() == Some(&b'{')
}

/// An object that is on a line. A document over several lines is something else.
fn is_json_line(begin: &Begin<'_>) -> bool {
    is_object(begin) && begin.first != b"{"
}

/// An archive's `log` has members of its own. That of a collector's line is about the log.
fn is_har(begin: &Begin<'_>) -> bool {
    const MEMBERS: [&str; 6] =
        ["log.version", "log.creator", "log.browser", "log.pages", "log.entries", "log.comment"];
    let shape = &begin.shape;
    let is_known = MEMBERS.iter().any(|member| shape.has(member));
    let is_alone = shape.names().count() == 1;
    shape.member("log") == Some(&Member::Object) && (is_known || is_alone)
}

fn is_postman(begin: &Begin<'_>) -> bool {
    let shape = &begin.shape;
    let schema = shape.text("info.schema");
    schema.is_some_and(|schema| schema.contains("getpostman.com") || schema.contains("postman.com"))
        || (shape.has("info.name") && shape.has("item"))
        || (shape.has("info._postman_id"))
        || (shape.has("collection.info") && shape.names().count() == 1)
}

fn is_openapi(begin: &Begin<'_>) -> bool {
    let version = begin.shape.text("openapi").or_else(|| begin.shape.text("swagger"));
    if version.is_some() || (begin.shape.has("paths") && begin.shape.has("info.title")) {
        return true;
    }
    // YAML: a member at the left margin.
    let lines = begin.bytes.split(|byte| *byte == b'\n').take(YAML_LINES);
    let mut lines = lines.filter(|line| !line.is_empty());
    begin.first.first() != Some(&b'{')
        && lines.any(|line| {
            let line = line.strip_prefix(b"\"").or(line.strip_prefix(b"'")).unwrap_or(line);
            let rest = line.strip_prefix(b"openapi").or(line.strip_prefix(b"swagger"));
            let rest = rest
                .map(|rest| rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'")).unwrap_or(rest));
            let value = rest.and_then(|rest| rest.trim_ascii_start().strip_prefix(b":"));
            value.is_some_and(|value| {
                let value = value.trim_ascii_start();
                value.iter().find(|byte| !b"\"'".contains(byte)).is_some_and(u8::is_ascii_digit)
            })
        })
}

/// Vegeta's objects have `method` and a whole `url`, headers in `header`, and a body in base64. An
/// object without headers is taken for Vegeta's where all bodies are base64 and one is padded.
fn is_vegeta_json(begin: &Begin<'_>) -> bool {
    const MEMBERS: [&str; 4] = ["method", "url", "header", "body"];
    let mut shapes = Vec::new();
    for line in begin.written().take(VEGETA_LINES) {
        let shape = Shape::of(line);
        let is_one = shape.names().next().is_some()
            && shape.names().all(|name| MEMBERS.contains(&name))
            && shape.text("url").is_some_and(is_http);
        let is_last = begin.lines.last() == Some(&line);
        // The last line may be cut off.
        if !is_one && (!is_last || shapes.is_empty()) {
            return false;
        }
        shapes.push(shape);
    }
    let has_method = shapes.iter().all(|shape| shape.has("method"));
    let has_header = shapes.iter().any(|shape| shape.has("header"));
    let bodies: Vec<&str> = shapes.iter().filter_map(|shape| shape.text("body")).collect();
    let are_base64 = bodies.iter().all(|body| STANDARD.decode(body).is_ok());
    has_header || (has_method && are_base64 && bodies.iter().any(|body| body.ends_with('=')))
}

fn is_sitemap(begin: &Begin<'_>) -> bool {
    let has = |text: &[u8]| begin.bytes.windows(text.len()).any(|window| window == text);
    begin.first.starts_with(b"<") && (has(b"<urlset") || has(b"<sitemapindex"))
}

/// A command line, behind a prompt where it was copied with one.
fn is_curl(begin: &Begin<'_>) -> bool {
    let line = begin.first;
    let line = line.strip_prefix(b"$").map_or(line, <[u8]>::trim_ascii_start);
    let program = words(line).next().unwrap_or_default();
    program == b"curl" || program == b"curl.exe" || program.ends_with(b"/curl")
}

fn is_log_of_objects(begin: &Begin<'_>) -> bool {
    is_object(begin) && is_log(begin)
}

/// A log has lines about requests that were answered, and fewer lines that are requests to send:
/// programs write their paths before what they say, and a request to send may quote a log.
fn is_log(begin: &Begin<'_>) -> bool {
    let says_program = |line: &[u8]| words(line).next().is_some_and(|word| word.ends_with(b":"));
    let is_to_send = |line: &[u8]| (is_entry(line) && !says_program(line)) || is_request(line);
    let (logged, others) = logged_lines(begin.bytes);
    let to_send = others.into_iter().filter(|line| is_to_send(line)).count();
    logged.is_some_and(|logged| to_send == 0 || logged > to_send)
}

/// An entry that begins with a number, and the line after it.
fn sized<'a>(begin: &Begin<'a>) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let mut entries = begin.entries();
    let first = entries.next()?;
    let is_sized = words(first).next()?.iter().all(u8::is_ascii_digit);
    is_sized.then(|| (first, entries.next()))
}

fn is_raw_requests(begin: &Begin<'_>) -> bool {
    sized(begin).is_some_and(|(_, next)| {
        next.is_some_and(|line| words(line).last().unwrap_or_default().starts_with(b"HTTP/"))
    })
}

fn is_uri_post(begin: &Begin<'_>) -> bool {
    sized(begin).is_some_and(|(first, _)| {
        words(first).nth(1).is_some_and(|word| word[0] == b'/' || is_url(word))
    })
}

/// Whether the line is one of a list: it begins with a path or a URL.
fn is_entry(line: &[u8]) -> bool {
    let first = words(line).next().unwrap_or_default();
    first.starts_with(b"/") && !first.starts_with(b"//") || is_url(first) || is_relative(first)
}

/// Whether the first entry is a path or a URL. With separators as editors have them, each entry has
/// to be one.
fn is_list(begin: &Begin<'_>) -> bool {
    if begin.lines.iter().any(|line| line.starts_with(b"###")) && !begin.entries().all(is_entry) {
        return false;
    }
    match begin.entries().next() {
        Some(entry) => is_entry(entry),
        None => begin.first[0] == b'[',
    }
}

/// A URL that leaves its scheme open: `//shop.example/a`.
fn is_relative(word: &[u8]) -> bool {
    word.starts_with(b"//")
        && word.get(2).is_some_and(u8::is_ascii_alphanumeric)
        && word.contains(&b'.')
}

/// A list in which a method follows a URL, or in which variables are set.
fn is_siege(begin: &Begin<'_>) -> bool {
    let has_method = |line: &[u8]| {
        let mut words = words(line);
        let first = words.next().unwrap_or_default();
        (is_url(first) || is_variable(first))
            && words.next().is_some_and(|word| super::siege::METHODS.contains(&word))
    };
    let mut lines = begin.written().skip_while(|line| is_siege_variable(line));
    let uses = |line: &[u8]| is_variable(line) || is_url(line);
    let sets_variable = is_siege_variable(begin.first) && lines.next().is_some_and(uses);
    let is_list = is_list(begin) || is_variable(begin.first);
    sets_variable || (is_list && begin.entries().any(has_method))
}

/// Whether the line begins with the value of a variable.
fn is_variable(line: &[u8]) -> bool {
    line.starts_with(b"$(") || line.starts_with(b"${")
}

fn is_siege_variable(line: &[u8]) -> bool {
    let Some(equals) = line.iter().position(|byte| *byte == b'=') else { return false };
    is_name(line[..equals].trim_ascii())
}

fn is_name(word: &[u8]) -> bool {
    !word.is_empty()
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte))
}

/// A list whose lines are whole URLs, with blanks in them. In Yandex Tank's list a tag follows the
/// blank: there are lines with headers, or the lines with a tag share their tags.
fn is_urls(begin: &Begin<'_>) -> bool {
    if !is_list(begin) || begin.written().any(|line| line[0] == b'[') {
        return false;
    }
    let mut tags: Vec<&[u8]> = Vec::new();
    let mut has_blank = false;
    for line in begin.entries() {
        let mut parts = words(line);
        let first = parts.next().unwrap_or_default();
        let (tag, more) = (parts.next(), parts.next());
        has_blank |= more.is_some() || (tag.is_some() && first.contains(&b'?'));
        tags.extend(tag);
    }
    let with_tag = tags.len();
    tags.sort_unstable();
    tags.dedup();
    let are_shared = with_tag > 0 && tags.len() * 2 <= with_tag;
    has_blank && !are_shared
}

fn is_uri(begin: &Begin<'_>) -> bool {
    is_list(begin)
}

/// Whether a line is `METHOD URL`.
fn is_target(line: &[u8]) -> bool {
    let mut words = words(line);
    let method = words.next().unwrap_or_default();
    let is_method = !method.is_empty() && method.iter().all(u8::is_ascii_uppercase);
    is_method && words.next().is_some_and(is_url) && words.next().is_none()
}

/// Blocks of a target, its headers and a file for its body, with nothing else between them.
fn is_vegeta(begin: &Begin<'_>) -> bool {
    if !is_target(begin.first) || begin.lines.iter().any(|line| line.starts_with(b"###")) {
        return false;
    }
    let whole = begin.lines.len().saturating_sub(1).max(1);
    let mut follows = false;
    begin.lines[..whole].iter().filter(|line| !is_comment(line)).all(|line| {
        let is_part = |line: &[u8]| {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            let is_header = name.len() < line.len()
                && std::str::from_utf8(name).is_ok_and(|name| is_token(name.trim_end()));
            is_header || (line.starts_with(b"@") && !line.contains(&b'='))
        };
        let is_next = line.is_empty() || is_target(line) || (follows && is_part(line));
        follows = !line.is_empty();
        is_next && !line.windows(2).any(|two| two == b"{{")
    })
}

/// Whether the line is a request line as editors have them.
fn is_request(line: &[u8]) -> bool {
    let mut words = words(line);
    let method = words.next().unwrap_or_default();
    let is_method = method.len() > 1 && method.iter().all(u8::is_ascii_uppercase);
    let target = words.next().unwrap_or_default();
    let is_target = is_url(target) || target.starts_with(b"/") || target.starts_with(b"{{");
    (is_method && is_target) || method.starts_with(b"{{")
}

/// What editors read: a separator, a variable, or a request line.
fn is_editor(begin: &Begin<'_>) -> bool {
    let is_separator = |line: &&[u8]| line.starts_with(b"###");
    let is_variable = |line: &[u8]| {
        let parts = line.strip_prefix(b"@").map(|rest| rest.splitn(2, |byte| *byte == b'='));
        parts.is_some_and(|mut parts| {
            parts.next().is_some_and(|name| is_name(name.trim_ascii())) && parts.next().is_some()
        })
    };
    let is_script = begin.first.starts_with(b"< {%") || begin.first.starts_with(b"//");
    let may_begin = is_script || begin.lines.iter().any(is_separator);
    let has_request = begin.written().any(is_request);
    is_variable(begin.first)
        || is_request(begin.first)
        || (may_begin
            && (has_request
                || begin.written().any(|line| is_url(words(line).next().unwrap_or_default()))))
}

/// Lines of Vegeta's objects that are looked at.
const VEGETA_LINES: usize = 100;
/// Lines in which a YAML document says that it is an OpenAPI document. Comments come before.
const YAML_LINES: usize = 200;
