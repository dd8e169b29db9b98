//! Reads lines and blocks of a request file and counts lines. Memory stays bounded whatever the
//! file contains.

use std::io::{self, BufRead, BufReader, Read};

use stampede_model::entry::{EntryError, Skip};

use super::Header;
use super::url::is_http;

/// The bytes of one pass.
pub(crate) struct Input {
    reader: BufReader<Box<dyn Read + Send>>,
    /// Number of the line that was read last.
    line: u64,
    bytes: u64,
    /// Whether the rest of a line that was too long must still be skipped.
    in_long_line: bool,
}

/// An entry that is no valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Its first line; the first line of the file is 1.
    pub(crate) line: u64,
    /// What is wrong.
    pub(crate) what: EntryError,
    /// What was expected.
    pub(crate) hint: &'static str,
}

/// Why there is no next entry.
#[derive(Debug)]
pub(crate) enum ParseError {
    /// The entry is no valid request; reading may continue after it.
    Broken(Broken),
    /// The file cannot be read any further.
    Io(io::Error),
}

impl From<io::Error> for ParseError {
    fn from(error: io::Error) -> ParseError {
        ParseError::Io(error)
    }
}

/// Kind of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParsedEntry {
    /// A request, which is in the draft.
    Request,
    /// A valid entry that is not sent, for this reason.
    Skipped(Skip),
    /// The pass is over.
    End,
}

/// One request as it is in the file. Its memory is reused.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Host in the URL of the entry.
    pub(crate) host: String,
    pub(crate) headers: Vec<Header>,
    /// The body; for a raw request, all of its bytes.
    pub(crate) body: Vec<u8>,
    pub(crate) tag: String,
    /// Variable without a value at the begin of the URL; the target stands for it.
    pub(crate) target_variable: String,
    /// Names of headers of it that no client can send.
    pub(crate) left_out: Vec<String>,
    pub(crate) is_raw: bool,
    /// Line where the entry begins.
    pub(crate) line: u64,
    /// When it was recorded, since 1970.
    pub(crate) time_ns: Option<u64>,
}

impl Draft {
    /// Clears what belongs to one request. Headers that apply to all later requests stay.
    pub(crate) fn begin(&mut self, line: u64, method: &str) {
        self.line = line;
        self.method.clear();
        self.method.push_str(method);
        let texts = [&mut self.path, &mut self.host, &mut self.tag, &mut self.target_variable];
        texts.into_iter().for_each(String::clear);
        self.left_out.clear();
        self.body.clear();
        // Frees a body of megabytes, because the small ones that follow do not need it.
        self.body.shrink_to(KEPT_BYTES);
        self.is_raw = false;
        self.time_ns = None;
    }

    /// Sets the path, or host and path of a URL.
    pub(crate) fn set_url(&mut self, url: &str) {
        let Some((_, rest)) = url.split_once("://").filter(|_| is_http(url)) else {
            return self.path.push_str(url);
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        self.host.push_str(host.rsplit('@').next().unwrap_or(host));
        if !path.starts_with('/') {
            self.path.push('/');
        }
        self.path.push_str(path);
    }

    /// Sets a header; replaces one with the same name.
    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        match self.headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, known)) => *known = value.to_owned(),
            None => self.headers.push((name.to_owned(), value.to_owned())),
        }
    }
}

impl Input {
    pub(crate) fn new(reader: Box<dyn Read + Send>) -> Input {
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
        Input { reader, line: 0, bytes: 0, in_long_line: false }
    }

    /// Reads the next line, without its end; returns `false` at the end of the file.
    pub(crate) fn line(&mut self, out: &mut Vec<u8>) -> Result<bool, ParseError> {
        out.clear();
        out.shrink_to(KEPT_BYTES);
        self.skip_long_line()?;
        let mut limited = (&mut self.reader).take(ENTRY_BYTES_MAX as u64 + 1);
        let read = limited.read_until(b'\n', out)?;
        if read == 0 {
            return Ok(false);
        }
        self.bytes += read as u64;
        self.line += 1;
        if out.len() > ENTRY_BYTES_MAX {
            self.in_long_line = out.last() != Some(&b'\n');
            return Err(self.broken(TOO_LONG, "an entry has at most 16 MiB"));
        }
        while out.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            out.pop();
        }
        if self.line == 1 && out.starts_with(BYTE_ORDER_MARK) {
            out.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(true)
    }

    fn skip_long_line(&mut self) -> Result<(), ParseError> {
        while self.in_long_line {
            let there = self.reader.fill_buf()?;
            let end = there.iter().position(|byte| *byte == b'\n').map(|place| place + 1);
            self.in_long_line = end.is_none() && !there.is_empty();
            let used = end.unwrap_or(there.len());
            self.reader.consume(used);
            self.bytes += used as u64;
        }
        Ok(())
    }

    /// The next line as text.
    pub(crate) fn text<'a>(&mut self, out: &'a mut Vec<u8>) -> Result<Option<&'a str>, ParseError> {
        if !self.line(out)? {
            return Ok(None);
        }
        self.as_text(out).map(Some)
    }

    /// The next line that is neither blank nor a comment, as text without blanks around it.
    pub(crate) fn next_text<'a>(
        &mut self,
        out: &'a mut Vec<u8>,
    ) -> Result<Option<&'a str>, ParseError> {
        loop {
            if !self.line(out)? {
                return Ok(None);
            }
            let line = out.trim_ascii_start();
            if !line.is_empty() && !line.starts_with(b"#") {
                break;
            }
        }
        self.as_text(out).map(|text| Some(text.trim()))
    }

    fn as_text<'a>(&self, line: &'a [u8]) -> Result<&'a str, ParseError> {
        std::str::from_utf8(line).map_err(|_| {
            let what = EntryError::NotUtf8 { line: shown(line) };
            self.broken(what, "percent-encode what is not ASCII")
        })
    }

    /// Reads a block of `count` bytes, which the last line has announced.
    pub(crate) fn block(&mut self, count: usize, out: &mut Vec<u8>) -> Result<(), ParseError> {
        let announced = self.line;
        out.clear();
        if count > ENTRY_BYTES_MAX {
            let what = EntryError::LengthTooLarge { bytes: count as u64 };
            return Err(self.broken(what, "an entry has at most 16 MiB"));
        }
        let read = (&mut self.reader).take(count as u64).read_to_end(out)?;
        self.count(out);
        if read < count {
            let (bytes, read_bytes) = (count as u64, read as u64);
            let what = EntryError::CutShort { bytes, read_bytes };
            return Err(ParseError::Broken(Broken { line: announced, what, hint: CUT_SHORT }));
        }
        Ok(())
    }

    /// Reads all that is left, as text without a byte order mark.
    pub(crate) fn rest(
        &mut self,
        bytes_max: usize,
        hint: &'static str,
    ) -> Result<String, ParseError> {
        self.skip_byte_order_mark()?;
        let mut bytes = Vec::new();
        let read = (&mut self.reader).take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
        if read > bytes_max {
            let what = EntryError::TooLong { limit_bytes: bytes_max as u64 };
            return Err(ParseError::Broken(Broken { line: 1, what, hint }));
        }
        self.count(&bytes);
        String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            let begin = valid.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
            let bad = error.as_bytes()[begin..].split(|byte| *byte == b'\n').next();
            let what = EntryError::NotUtf8 { line: shown(bad.unwrap_or_default()) };
            ParseError::Broken(Broken { line, what, hint })
        })
    }

    /// The next byte, without taking it; `None` at the end of the file.
    pub(crate) fn peek_byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.reader.fill_buf() {
                Ok(there) => return Ok(there.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the byte that `peek_byte` returned.
    pub(crate) fn take_byte(&mut self) {
        let taken = self.reader.buffer().first().copied();
        self.count(taken.as_slice());
        self.reader.consume(taken.iter().len());
    }

    /// Skips the byte order mark that a UTF-8 file may begin with.
    pub(crate) fn skip_byte_order_mark(&mut self) -> io::Result<()> {
        for byte in BYTE_ORDER_MARK {
            if self.peek_byte()? == Some(*byte) {
                self.take_byte();
            }
        }
        Ok(())
    }

    fn count(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.line += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    }

    /// Bytes read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes
    }

    /// Number of the line that was read last.
    pub(crate) fn line_number(&self) -> u64 {
        self.line
    }

    /// An error for bytes that were read one by one: they are no valid request. It names the line
    /// after the last line end.
    pub(crate) fn broken_after(&self, what: EntryError, hint: &'static str) -> ParseError {
        ParseError::Broken(Broken { line: self.line + 1, what, hint })
    }

    /// An error for the line that was read last: it is no valid request.
    pub(crate) fn broken(&self, what: EntryError, hint: &'static str) -> ParseError {
        ParseError::Broken(Broken { line: self.line, what, hint })
    }
}

/// Reads bytes and counts them.
impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(out)?;
        self.count(&out[..read]);
        Ok(read)
    }
}

/// Bytes for a message: one line, shortened, non-printable characters escaped.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN_CHARS)]);
    let mut shown: String = text.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN_CHARS || bytes.len() > 4 * SHOWN_CHARS {
        shown.push('…');
    }
    shown
}

/// Most bytes of a line or a block. This also limits a request: a test that uploads more is no load
/// test.
pub(crate) const ENTRY_BYTES_MAX: usize = 16 << 20;
/// Memory that a buffer keeps from one entry to the next.
pub(crate) const KEPT_BYTES: usize = 4 << 10;
const BUFFER_BYTES: usize = 64 << 10;
const SHOWN_CHARS: usize = 60;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const TOO_LONG: EntryError = EntryError::TooLong { limit_bytes: ENTRY_BYTES_MAX as u64 };
const CUT_SHORT: &str = "the number before an entry is its length in bytes, line ends included";
