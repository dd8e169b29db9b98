//! Reads the targets of Vegeta (its README, "Attack command", flag `-format`): as text in blocks of
//! a request line, headers and a file for the body, or as an object per line.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use stampede_model::entry::{EntryError, Skip};

use super::body_file::BodyFiles;
use super::input::{Draft, ENTRY_BYTES_MAX, Input, ParseError, ParsedEntry, shown};
use super::json::line_error;
use super::recorded::Recorded;

/// Targets as text.
#[derive(Debug)]
pub(super) struct VegetaTargets {
    files: BodyFiles,
    line: Vec<u8>,
    /// The request line that ended the target before it.
    pending: Option<(u64, String)>,
}

impl VegetaTargets {
    pub(super) fn new(files: BodyFiles) -> VegetaTargets {
        VegetaTargets { files, line: Vec::new(), pending: None }
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        let Some((line, text)) = self.request_line(input)? else { return Ok(ParsedEntry::End) };
        let Some((method, url)) = target(&text) else {
            let what = EntryError::NotAnnounced {
                line: shown(text.as_bytes()),
                expected: "`METHOD URL`".to_owned(),
            };
            return Err(input.broken(what, EXPECTED));
        };
        let (method, url) = (method.to_owned(), url.to_owned());
        let mut recorded = Recorded { line, method, url, ..Recorded::default() };
        let skip = self.headers(input, &mut recorded)?;
        if let Some(skip) = skip {
            return Ok(ParsedEntry::Skipped(skip));
        }
        recorded.write(draft);
        Ok(ParsedEntry::Request)
    }

    /// The next line that is neither blank nor a comment.
    fn request_line(&mut self, input: &mut Input) -> Result<Option<(u64, String)>, ParseError> {
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        let text = input.next_text(&mut self.line)?.map(str::to_owned);
        Ok(text.map(|text| (input.line_number(), text)))
    }

    /// Reads the lines of a target up to a blank line or the next request line. Returns why it
    /// cannot be sent.
    fn headers(
        &mut self,
        input: &mut Input,
        recorded: &mut Recorded,
    ) -> Result<Option<Skip>, ParseError> {
        let (mut skip, mut bytes) = (None, 0);
        while let Some(text) = input.text(&mut self.line)? {
            let text = text.trim();
            bytes += text.len();
            if text.is_empty() {
                break;
            }
            if target(text).is_some() {
                self.pending = Some((input.line_number(), text.to_owned()));
                break;
            }
            if bytes > ENTRY_BYTES_MAX {
                let what = EntryError::TooLong { limit_bytes: ENTRY_BYTES_MAX as u64 };
                return Err(input.broken(what, EXPECTED));
            }
            if text.starts_with('#') {
                continue;
            }
            if let Some(path) = text.strip_prefix('@') {
                match self.files.read(path.trim()) {
                    Ok(body) => recorded.body = body,
                    Err(missing) => skip = Some(missing),
                }
                continue;
            }
            let Some((name, value)) = text.split_once(':') else {
                let what = EntryError::NoHeader { line: shown(text.as_bytes()) };
                return Err(input.broken(what, EXPECTED));
            };
            recorded.headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        Ok(skip)
    }
}

/// Method and URL of a request line.
fn target(text: &str) -> Option<(&str, &str)> {
    let (method, url) = text.split_once([' ', '\t'])?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    is_method.then(|| (method, url.trim()))
}

/// Targets in JSON.
#[derive(Debug, Default)]
pub(super) struct VegetaLines {
    line: Vec<u8>,
}

#[derive(Debug, Deserialize)]
struct Target {
    method: Option<String>,
    url: String,
    body: Option<String>,
    header: Option<BTreeMap<String, Vec<String>>>,
}

impl VegetaLines {
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        let Some(text) = input.next_text(&mut self.line)? else { return Ok(ParsedEntry::End) };
        let target: Target =
            serde_json::from_str(text).map_err(|error| line_error(input, &error, EXPECTED_JSON))?;
        let body = STANDARD.decode(target.body.unwrap_or_default());
        let Ok(body) = body else {
            return Err(input.broken(EntryError::NotBase64 {}, EXPECTED_JSON));
        };
        let headers = target.header.unwrap_or_default().into_iter();
        let recorded = Recorded {
            line: input.line_number(),
            // A body does not make it a POST there.
            method: target.method.unwrap_or_else(|| "GET".to_owned()),
            url: target.url,
            headers: headers
                .flat_map(|(name, values)| {
                    values.into_iter().map(move |value| (name.clone(), value))
                })
                .collect(),
            body,
            ..Recorded::default()
        };
        recorded.write(draft);
        Ok(ParsedEntry::Request)
    }
}

const EXPECTED: &str = "a target is a line `METHOD URL`, lines `Name: value`, and a line `@file` for a body; a blank line ends it";
const EXPECTED_JSON: &str = "a target is an object with `method`, `url`, `header` with lists of values, and `body` in base64";
