//! Reads commands of curl (curl(1)), as browsers copy them and as people keep them in scripts.

mod options;
mod quotes;

use std::borrow::Cow;
use std::collections::VecDeque;

use stampede_model::entry::{EntryError, Skip};

use super::body_file::BodyFiles;
use super::input::{Broken, Draft, ENTRY_BYTES_MAX, Input, ParseError, ParsedEntry, shown};
use super::recorded::Recorded;
use quotes::Quotes;

#[derive(Debug)]
pub(super) struct Curl {
    files: BodyFiles,
    line: Vec<u8>,
    /// Requests of a command with several URLs.
    pending: VecDeque<Recorded>,
}

impl Curl {
    pub(super) fn new(files: BodyFiles) -> Curl {
        Curl { files, line: Vec::new(), pending: VecDeque::new() }
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        loop {
            if let Some(recorded) = self.pending.pop_front() {
                recorded.write(draft);
                return Ok(ParsedEntry::Request);
            }
            let Some((line, command)) = self.command(input)? else { return Ok(ParsedEntry::End) };
            let Ok(words) = shell_words::split(&quotes::plain(&command)) else {
                return Err(open_quote(line));
            };
            let is_curl = |word: &&String| {
                let name = word.rsplit('/').next().unwrap_or_default();
                name == "curl" || name == "curl.exe"
            };
            let start = usize::from(words.first().is_some_and(|word| word == "$"));
            if !words.get(start).iter().any(is_curl) {
                return Ok(ParsedEntry::Skipped(Skip::NotHttp {}));
            }
            if let Some(part) = quotes::filled_by_shell(&command) {
                return Ok(ParsedEntry::Skipped(Skip::ByShell { part: shown(part.as_bytes()) }));
            }
            match options::requests(line, &words[start + 1..], &self.files) {
                Ok(requests) => self.pending = requests.into(),
                Err(skip) => return Ok(ParsedEntry::Skipped(skip)),
            }
            if self.pending.is_empty() {
                return Ok(ParsedEntry::Skipped(Skip::NoPath {}));
            }
        }
    }

    /// The next command with the number of its first line. It goes on where a line ends with a
    /// backslash, or within quotes.
    fn command(&mut self, input: &mut Input) -> Result<Option<(u64, String)>, ParseError> {
        let (mut command, mut begun, mut quotes) = (String::new(), None, Quotes::default());
        // A browser has copied it for Windows: `^` is before each sign that has a meaning there.
        let mut is_of_windows = false;
        while let Some(text) = input.text(&mut self.line)? {
            let is_new = begun.is_none();
            if is_new && (text.trim().is_empty() || text.trim_start().starts_with('#')) {
                continue;
            }
            let line = *begun.get_or_insert(input.line_number());
            is_of_windows |= is_new && text.contains("^\"");
            let text = if is_of_windows { quotes::of_windows(text) } else { Cow::Borrowed(text) };
            let text = text.as_ref();
            if command.len() + text.len() > ENTRY_BYTES_MAX {
                let what = EntryError::TooLong { limit_bytes: ENTRY_BYTES_MAX as u64 };
                return Err(ParseError::Broken(Broken { line, what, hint: EXPECTED }));
            }
            command.push_str(text);
            if quotes.follow(text) {
                command.push('\n');
                continue;
            }
            let continued = command.trim_end().strip_suffix(['\\', '^']).map(str::len);
            // `^` is the continuation of Windows, and needs a blank before it.
            match continued
                .filter(|end| command[..*end].ends_with([' ', '\t']) || command.ends_with('\\'))
            {
                Some(end) => {
                    command.truncate(end);
                    command.push(' ');
                }
                None => return Ok(Some((line, command))),
            }
        }
        match begun {
            Some(line) if quotes.is_open() => Err(open_quote(line)),
            Some(line) => Ok(Some((line, command))),
            None => Ok(None),
        }
    }
}

fn open_quote(line: u64) -> ParseError {
    ParseError::Broken(Broken { line, what: EntryError::QuoteOpen {}, hint: EXPECTED })
}

const EXPECTED: &str =
    "a command is `curl URL` with options, on one line or with `\\` at the end of its lines";
