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
            end_lines_with_crlf(&mut draft.body);
            if let Some(what) = find_fault(&draft.method, &draft.body) {
                self.resync = Resync::ForEntry;
                let hint = "the bytes after `size tag` are a request line, headers, a blank line, the body";
                let broken = super::input::Broken { line: announced, what, hint };
                return Err(ParseError::Broken(broken));
            }
            return Ok(ParsedEntry::Request);
        }
    }
}

/// Ends the lines of a head with CRLF where all of them end with LF alone: an editor or git has
/// changed the file, and a server need not accept such a request (RFC 9112 section 2.2).
fn end_lines_with_crlf(bytes: &mut Vec<u8>) {
    let Some(blank) = bytes.windows(2).position(|two| two == b"\n\n") else { return };
    let head = &bytes[..blank + 2];
    if head.contains(&b'\r') {
        return;
    }
    let mut ended = Vec::with_capacity(bytes.len() + head.len() / 16 + 4);
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        ended.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        ended.extend_from_slice(b"\r\n");
    }
    ended.extend_from_slice(&bytes[blank + 2..]);
    *bytes = ended;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ended(bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        end_lines_with_crlf(&mut bytes);
        bytes
    }

    #[test]
    fn only_a_head_whose_lines_all_end_with_lf_is_changed() {
        let cases: [(&[u8], &[u8]); 6] = [
            (b"GET / HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
            (
                b"POST / HTTP/1.1\nContent-Length: 4\n\na\n\nb",
                b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\na\n\nb",
            ),
            (b"GET / HTTP/1.1\r\n\r\na\n\nb", b"GET / HTTP/1.1\r\n\r\na\n\nb"),
            (b"GET / HTTP/1.1\r\nHost: a\n\n", b"GET / HTTP/1.1\r\nHost: a\n\n"),
            (b"GET / HTTP/1.1\nHost: a\n", b"GET / HTTP/1.1\nHost: a\n"),
            (b"", b""),
        ];
        for (bytes, expected) in cases {
            assert_eq!(ended(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn a_body_stays_as_it_is(
            lines in proptest::collection::vec("[a-z: ]{1,9}", 1..5),
            body in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let head = lines.join("\n");
            let written = [head.as_bytes(), b"\n\n", &body].concat();
            let expected = [head.replace('\n', "\r\n").as_bytes(), b"\r\n\r\n", &body].concat();
            prop_assert_eq!(ended(&written), expected);
        }
    }
}
