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
            let Some(line) = input.next_text(&mut self.line)? else { return Ok(ParsedEntry::End) };
            if header_line(line, input, draft)? {
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

/// Takes a line `[Name: value]`, also with several headers; returns `false` for any other line.
pub(super) fn header_line(
    line: &str,
    input: &Input,
    draft: &mut Draft,
) -> Result<bool, ParseError> {
    if !line.starts_with('[') {
        return Ok(false);
    }
    let headers = bracketed_headers(line);
    let is_header = |(name, _): &(&str, &str)| is_token(name);
    let Some(headers) = headers.filter(|headers| headers.iter().all(is_header)) else {
        let what = EntryError::NoHeader { line: shown(line.as_bytes()) };
        return Err(input.broken(what, "a header is a line `[Name: value]`"));
    };
    headers.into_iter().for_each(|(name, value)| draft.set_header(name, value));
    Ok(true)
}

/// Names and values of a line of headers in brackets: `[Host: a]`, or several as
/// `[Host: a] [Accept: */*]`. A bracket that begins no header belongs to the value before it.
/// `None`: the line has another form.
pub fn bracketed_headers(line: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = line.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut headers = Vec::new();
    loop {
        let next = rest.match_indices(']').find_map(|(end, _)| {
            let after = rest[end + 1..].trim_start().strip_prefix('[')?;
            let (name, _) = after.split_once(':')?;
            is_token(name.trim()).then_some((end, after))
        });
        let (header, after) = match next {
            Some((end, after)) => (&rest[..end], Some(after)),
            None => (rest, None),
        };
        let (name, value) = header.split_once(':')?;
        headers.push((name.trim(), value.trim()));
        match after {
            Some(after) => rest = after,
            None => return Some(headers),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_has_one_header_or_several() {
        /// A line, and its names and values.
        type Case<'a> = (&'a str, Option<&'a [(&'a str, &'a str)]>);
        let cases: [Case<'_>; 9] = [
            ("[Host: a]", Some(&[("Host", "a")])),
            (
                "[Host: shop.test] [Connection: close]",
                Some(&[("Host", "shop.test"), ("Connection", "close")]),
            ),
            ("[A: 1][B: 2]\t[C:3]", Some(&[("A", "1"), ("B", "2"), ("C", "3")])),
            ("[Host: [::1]:80] [A: b]", Some(&[("Host", "[::1]:80"), ("A", "b")])),
            ("[X: [1] [2]] [A: b]", Some(&[("X", "[1] [2]"), ("A", "b")])),
            ("[Time: 10:30] [A: http://a/]", Some(&[("Time", "10:30"), ("A", "http://a/")])),
            ("[no header]", None),
            ("[Host: a", None),
            ("Host: a", None),
        ];
        for (line, headers) in cases {
            assert_eq!(bracketed_headers(line).as_deref(), headers, "{line}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn written_headers_read_back(
            headers in proptest::collection::vec(("[A-Za-z-]{1,8}", "[a-z0-9:/*=; ]{0,12}"), 1..5),
            between in "[ \t]{0,2}",
        ) {
            let written: Vec<String> =
                headers.iter().map(|(name, value)| format!("[{name}: {value}]")).collect();
            let line = written.join(&between);
            let trimmed = headers.iter().map(|(name, value)| (name.as_str(), value.trim()));
            prop_assert_eq!(bracketed_headers(&line), Some(trimmed.collect()));
        }

        #[test]
        fn no_line_panics(line in "[\\[\\]: a\u{e9}]{0,40}") {
            let _ = bracketed_headers(&line);
        }
    }
}
