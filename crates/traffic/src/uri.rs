//! Reads Yandex Tank's `uri` format (docs/tutorial, "URI-style, URIs in file"): lines `/path tag`,
//! and lines `[Name: value]` that apply to what follows. A plain list of URLs has the same format,
//! and in one with blanks in its URLs a line is a URL.

use stampede_model::entry::EntryError;

use super::input::{Draft, Input, ParseError, ParsedEntry, shown};
use super::url;
use crate::request::is_token;

#[derive(Debug)]
pub(super) struct Uris {
    line: Vec<u8>,
    blank: Blank,
}

/// What a blank within a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blank {
    /// A tag follows.
    Tag,
    /// It is a part of the URL.
    Part,
}

impl Uris {
    pub(super) fn new(blank: Blank) -> Uris {
        Uris { line: Vec::new(), blank }
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        loop {
            let Some(line) = input.text(&mut self.line)? else { return Ok(ParsedEntry::End) };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || header_line(line, input, draft)? {
                continue;
            }
            draft.begin(input.line_number(), "GET");
            if self.blank == Blank::Part {
                set_url(&url::encoded(line), draft);
                return Ok(ParsedEntry::Request);
            }
            let mut words = line.split_ascii_whitespace();
            set_url(words.next().unwrap_or_default(), draft);
            draft.tag.push_str(words.next().unwrap_or_default());
            if words.next().is_some() {
                let what = EntryError::TooManyWords { line: shown(line.as_bytes()) };
                return Err(input.broken(what, "a line is `/path`, or `/path tag`"));
            }
            return Ok(ParsedEntry::Request);
        }
    }
}

/// Sets the URL, which may leave its scheme open: `//shop.example/a`.
fn set_url(text: &str, draft: &mut Draft) {
    let is_relative = |rest: &str| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        host.contains('.') || host.contains(':')
    };
    match text.strip_prefix("//").filter(|rest| is_relative(rest)) {
        Some(rest) => draft.set_url(&format!("http://{rest}")),
        None => draft.set_url(text),
    }
}

/// Takes a line `[Name: value]`; returns `false` for any other line.
pub(super) fn header_line(
    line: &str,
    input: &Input,
    draft: &mut Draft,
) -> Result<bool, ParseError> {
    let Some(inner) = line.strip_prefix('[') else { return Ok(false) };
    let header = inner.strip_suffix(']').and_then(|inner| inner.split_once(':'));
    let Some((name, value)) = header.filter(|(name, _)| is_token(name.trim())) else {
        let what = EntryError::NoHeader { line: shown(line.as_bytes()) };
        return Err(input.broken(what, "a header is a line `[Name: value]`"));
    };
    draft.set_header(name.trim(), value.trim());
    Ok(true)
}
