//! Reads the list of siege (siege(1), "URL FORMAT"): URLs that a method and a body may follow, and
//! lines that set variables.

use stampede_model::entry::Skip;

use super::body_file::BodyFiles;
use super::form::URL_ENCODED;
use super::input::{Draft, Input, ParseError, ParsedEntry};
use super::recorded::Recorded;
use super::variables::Variables;

/// Methods that may follow a URL.
pub(super) const METHODS: [&[u8]; 7] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"];

#[derive(Debug)]
pub(super) struct Siege {
    files: BodyFiles,
    line: Vec<u8>,
    values: Values,
}

/// Values of variables.
#[derive(Debug)]
struct Values {
    /// Those that the list sets, the last one first.
    own: Vec<(String, String)>,
    /// All others.
    environment: Variables,
}

impl Siege {
    pub(super) fn new(files: BodyFiles, environment: Variables) -> Siege {
        Siege { files, line: Vec::new(), values: Values { own: Vec::new(), environment } }
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        loop {
            let Some(text) = input.next_text(&mut self.line)? else { return Ok(ParsedEntry::End) };
            if let Some((name, value)) = variable(text) {
                if self.values.own.len() < VARIABLES_MAX {
                    self.values.own.insert(0, (name.to_owned(), value.to_owned()));
                }
                continue;
            }
            let line = input.line_number();
            let (filled, target_variable) = match self.values.filled(text) {
                Ok(filled) => filled,
                Err(skip) => return Ok(ParsedEntry::Skipped(skip)),
            };
            return match self.recorded(line, &filled) {
                Ok(recorded) => {
                    Recorded { target_variable, ..recorded }.write(draft);
                    Ok(ParsedEntry::Request)
                }
                Err(skip) => Ok(ParsedEntry::Skipped(skip)),
            };
        }
    }

    fn recorded(&self, line: u64, text: &str) -> Result<Recorded, Skip> {
        let parts = text.split_once(char::is_whitespace).and_then(|(url, rest)| {
            let rest = rest.trim_start();
            let (method, body) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            METHODS.contains(&method.as_bytes()).then(|| (url, method, body.trim()))
        });
        let Some((url, method, body)) = parts else {
            return Ok(Recorded { line, url: with_scheme(text), ..Recorded::default() });
        };
        let (url, method) = (with_scheme(url), method.to_owned());
        let mut recorded = Recorded { line, method, url, ..Recorded::default() };
        recorded.body = match body.strip_prefix('<') {
            Some(path) => self.files.read(path.trim())?,
            None => body.as_bytes().to_vec(),
        };
        if !recorded.body.is_empty() {
            recorded.add_header("Content-Type", URL_ENCODED);
        }
        Ok(recorded)
    }
}

impl Values {
    /// The text with `$(NAME)` and `${NAME}` replaced, and the variable without a value that it begins
    /// with, if a path follows: the target stands for that one.
    fn filled(&self, text: &str) -> Result<(String, String), Skip> {
        let (mut out, mut of_target) = (String::new(), String::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let closed = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
            let closed = closed.or(after.strip_prefix('{').and_then(|inner| inner.split_once('}')));
            let Some((name, after)) = closed else {
                out.push('$');
                rest = after;
                continue;
            };
            let shown = || name.chars().take(NAME_CHARS).collect();
            match self.value(name) {
                Some(value) => out.push_str(value),
                None if out.is_empty() && after.starts_with('/') => of_target = shown(),
                None => return Err(Skip::Variable { name: shown() }),
            }
            rest = after;
        }
        out.push_str(rest);
        Ok((out, of_target))
    }

    fn value(&self, name: &str) -> Option<&str> {
        let own = self.own.iter().find(|(known, _)| known == name);
        own.map(|(_, value)| value.as_str()).or_else(|| self.environment.value(name))
    }
}

/// A URL as siege takes it, where `http://` may be missing.
fn with_scheme(url: &str) -> String {
    match url.starts_with('/') || url.contains("://") {
        true => url.to_owned(),
        false => format!("http://{url}"),
    }
}

/// A line `NAME = value`.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    is_name.then(|| (name, value.trim()))
}

/// Most variables of a list.
const VARIABLES_MAX: usize = 1_000;
/// Most characters of a name in a reason.
const NAME_CHARS: usize = 40;
