//! Formats whose entries begin with their length: Yandex Tank's `uripost` and `phantom`
//! (docs/tutorial, "URI+POST-style" and "Request-style").

use super::input::{Draft, Fault, Input, Step, shown};
use super::request::is_token;
use super::uri::header_line;

/// `size path tag`, then the body.
#[derive(Debug, Default)]
pub(super) struct UriPost {
    line: Vec<u8>,
    search: Search,
}

impl UriPost {
    pub(super) fn next(&mut self, input: &mut Input, draft: &mut Draft) -> Result<Step, Fault> {
        loop {
            let Some(line) = input.text(&mut self.line).or_else(|fault| self.search.pass(fault))?
            else {
                return Ok(Step::End);
            };
            let line = line.trim();
            if line.is_empty() || (self.search == Search::Not && header_line(line, input, draft)?) {
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
                self.search.found_none(input, line, "`size path`, or `size path tag`")?;
                continue;
            };
            self.search = Search::Not;
            draft.begin(input.line_number(), "POST");
            draft.set_url(path);
            draft.tag.push_str(tag);
            let read = input.block(size, &mut draft.body);
            self.search.after(&read);
            return read.map(|()| Step::Request);
        }
    }
}

/// `size tag`, then all bytes of a request.
#[derive(Debug, Default)]
pub(super) struct RawRequests {
    line: Vec<u8>,
    search: Search,
}

impl RawRequests {
    pub(super) fn next(&mut self, input: &mut Input, draft: &mut Draft) -> Result<Step, Fault> {
        loop {
            let Some(line) = input.text(&mut self.line).or_else(|fault| self.search.pass(fault))?
            else {
                return Ok(Step::End);
            };
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let mut words = line.split_ascii_whitespace();
            let size = words.next().and_then(|word| word.parse::<usize>().ok());
            let (tag, more) = (words.next().unwrap_or_default(), words.next());
            let (Some(size), None) = (size, more) else {
                self.search.found_none(input, line, "`size`, or `size tag`")?;
                continue;
            };
            // Tank's way to say the end.
            if size == 0 {
                return Ok(Step::End);
            }
            self.search = Search::Not;
            draft.begin(input.line_number(), "");
            draft.is_raw = true;
            draft.tag.push_str(tag);
            let announced = input.line_number();
            let read = input.block(size, &mut draft.body);
            self.search.after(&read);
            read?;
            let end = draft.body.iter().position(|byte| *byte == b' ').unwrap_or(0);
            let method = std::str::from_utf8(&draft.body[..end]).unwrap_or_default();
            draft.method.push_str(method);
            if let Some(what) = fault_of(&draft.method, &draft.body) {
                self.search = Search::ForEntry;
                let hint = "the bytes after `size tag` are a request line, headers that end with \\r\\n, a blank line, the body";
                let broken = super::input::Broken { line: announced, what, hint };
                return Err(Fault::Broken(broken));
            }
            return Ok(Step::Request);
        }
    }
}

/// What would keep a server waiting for the rest. Otherwise bytes go out as they are: who
/// writes them himself may want to send what is wrong.
fn fault_of(method: &str, bytes: &[u8]) -> Option<String> {
    if !is_token(method) {
        return Some(format!("the {} bytes begin with {}, no method", bytes.len(), shown(bytes)));
    }
    let has_end = bytes.windows(4).any(|four| four == b"\r\n\r\n");
    (!has_end).then(|| format!("no blank line ends the headers within the {} bytes", bytes.len()))
}

/// After a wrong length nobody knows where the next entry begins: it is searched for, and
/// what lies between is counted as one broken entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Search {
    #[default]
    Not,
    ForEntry,
}

impl Search {
    fn found_none(
        &mut self,
        input: &Input,
        line: &str,
        expected: &'static str,
    ) -> Result<(), Fault> {
        match std::mem::replace(self, Search::ForEntry) {
            Search::ForEntry => Ok(()),
            Search::Not => {
                let what = format!("{} is not {expected}", shown(line.as_bytes()));
                Err(input.broken(what, WRONG_LENGTH))
            }
        }
    }

    fn after(&mut self, read: &Result<(), Fault>) {
        *self = if read.is_ok() { Search::Not } else { Search::ForEntry };
    }

    /// While it searches, a line that is no text is not the one.
    fn pass<'a>(&mut self, fault: Fault) -> Result<Option<&'a str>, Fault> {
        match (&fault, std::mem::replace(self, Search::ForEntry)) {
            (Fault::Broken(_), Search::ForEntry) => Ok(Some("")),
            _ => Err(fault),
        }
    }
}

const WRONG_LENGTH: &str =
    "an entry begins where the one before it ends: see whether the length of that one is right";
