//! Reads Yandex Tank's `uri` format (docs/tutorial, "URI-style, URIs in file"): lines `/path tag`,
//! and lines `[Name: value]` that apply to what follows. A plain list of URLs has the same format.

use stampede_model::entry::EntryError;

use super::input::{Draft, Input, ParseError, ParsedEntry, shown};
use crate::request::is_token;

#[derive(Debug, Default)]
pub(super) struct Uris {
    line: Vec<u8>,
}

impl Uris {
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        loop {
            let Some(line) = input.text(&mut self.line)? else { return Ok(ParsedEntry::End) };
            let line = line.trim();
            if line.is_empty() || header_line(line, input, draft)? {
                continue;
            }
            draft.begin(input.line_number(), "GET");
            let mut words = line.split_ascii_whitespace();
            draft.set_url(words.next().unwrap_or_default());
            draft.tag.push_str(words.next().unwrap_or_default());
            if words.next().is_some() {
                let what = EntryError::TooManyWords { line: shown(line.as_bytes()) };
                return Err(input.broken(what, "a line is `/path`, or `/path tag`"));
            }
            return Ok(ParsedEntry::Request);
        }
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
