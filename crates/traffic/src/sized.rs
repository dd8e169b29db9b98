//! Reads formats whose entries begin with their length: Yandex Tank's `uripost` and `phantom`
//! (docs/tutorial, "URI+POST-style" and "Request-style").

use stampede_model::entry::EntryError;

use super::input::{Draft, Input, ParseError, ParsedEntry, shown};
use super::uri::header_line;
use crate::request::is_token;

/// Entries of a line `size path tag`, followed by the body.
#[derive(Debug, Default)]
pub(super) struct UriPost {
    line: Vec<u8>,
    resync: Resync,
}

impl UriPost {
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        loop {
            let Some(line) = input.text(&mut self.line).or_else(|fault| self.resync.pass(fault))?
            else {
                return Ok(ParsedEntry::End);
            };
            let line = line.trim();
            if line.is_empty() || (self.resync == Resync::Not && header_line(line, input, draft)?) {
                continue;
            }
            let words: Vec<&str> = line.split_ascii_whitespace().take(4).collect();
            let head = match words[..] {
                [size, path] => size.parse().ok().map(|size| (size, path, "")),
                [size, path, tag] => size.parse().ok().map(|size| (size, path, tag)),
                _ => None,
            };
            let head = head.filter(|(_, path, _): &(usize, _, _)| {
                path.starts_with('/') || path.starts_with("http")
            });
            let Some((size, path, tag)) = head else {
                self.resync.entry_not_found(input, line, "`size path`, or `size path tag`")?;
                continue;
            };
            self.resync = Resync::Not;
            draft.begin(input.line_number(), "POST");
            draft.set_url(path);
            draft.tag.push_str(tag);
            let read = input.block(size, &mut draft.body);
            self.resync.after(&read);
            return read.map(|()| ParsedEntry::Request);
        }
    }
}

/// Entries of a line `size tag`, followed by all bytes of a request.
#[derive(Debug, Default)]
pub(super) struct RawRequests {
    line: Vec<u8>,
    resync: Resync,
}

impl RawRequests {
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        loop {
            let Some(line) = input.text(&mut self.line).or_else(|fault| self.resync.pass(fault))?
            else {
                return Ok(ParsedEntry::End);
            };
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let mut words = line.split_ascii_whitespace();
            let size = words.next().and_then(|word| word.parse::<usize>().ok());
            let (tag, more) = (words.next().unwrap_or_default(), words.next());
            let (Some(size), None) = (size, more) else {
                self.resync.entry_not_found(input, line, "`size`, or `size tag`")?;
                continue;
            };
            // Tank marks the end this way.
            if size == 0 {
                return Ok(ParsedEntry::End);
            }
            self.resync = Resync::Not;
            draft.begin(input.line_number(), "");
            draft.is_raw = true;
            draft.tag.push_str(tag);
            let announced = input.line_number();
            let read = input.block(size, &mut draft.body);
            self.resync.after(&read);
            read?;
            let end = draft.body.iter().position(|byte| *byte == b' ').unwrap_or(0);
            let method = std::str::from_utf8(&draft.body[..end]).unwrap_or_default();
            draft.method.push_str(method);
            if let Some(what) = find_fault(&draft.method, &draft.body) {
                self.resync = Resync::ForEntry;
                let hint = "the bytes after `size tag` are a request line, headers that end with \\r\\n, a blank line, the body";
                let broken = super::input::Broken { line: announced, what, hint };
                return Err(ParseError::Broken(broken));
            }
            return Ok(ParsedEntry::Request);
        }
    }
}

/// Finds a fault that would make a server wait for more bytes. Apart from that, bytes are sent
/// unchanged, because their author may want to send something invalid.
pub(super) fn find_fault(method: &str, bytes: &[u8]) -> Option<EntryError> {
    if !is_token(method) {
        let begins = shown(bytes);
        return Some(EntryError::NoMethod { bytes: bytes.len() as u64, begins });
    }
    let has_end = bytes.windows(4).any(|four| four == b"\r\n\r\n");
    (!has_end).then_some(EntryError::HeadersWithoutEnd { bytes: bytes.len() as u64 })
}

/// After a wrong length, the start of the next entry is unknown. It is searched for, and everything
/// before it counts as one broken entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Resync {
    #[default]
    Not,
    ForEntry,
}

impl Resync {
    fn entry_not_found(
        &mut self,
        input: &Input,
        line: &str,
        expected: &'static str,
    ) -> Result<(), ParseError> {
        match std::mem::replace(self, Resync::ForEntry) {
            Resync::ForEntry => Ok(()),
            Resync::Not => {
                let (line, expected) = (shown(line.as_bytes()), expected.to_owned());
                let what = EntryError::NotAnnounced { line, expected };
                Err(input.broken(what, WRONG_LENGTH))
            }
        }
    }

    fn after(&mut self, read: &Result<(), ParseError>) {
        *self = if read.is_ok() { Resync::Not } else { Resync::ForEntry };
    }

    /// During a search, a line that is no text is skipped.
    fn pass<'a>(&mut self, fault: ParseError) -> Result<Option<&'a str>, ParseError> {
        match (&fault, std::mem::replace(self, Resync::ForEntry)) {
            (ParseError::Broken(_), Resync::ForEntry) => Ok(Some("")),
            _ => Err(fault),
        }
    }
}

const WRONG_LENGTH: &str =
    "an entry begins where the one before it ends: see whether the length of that one is right";
