//! Reads JSON incrementally. This module reads what is around the values, and serde_json reads one
//! value at a time. So only one value of a document is in memory, whatever its size.

use std::io::Read as _;

use serde::de::{DeserializeOwned, IgnoredAny};
use stampede_model::entry::EntryError;

use super::input::{Input, ParseError};

/// A document that is being read.
pub(super) struct Json<'a> {
    pub(super) input: &'a mut Input,
    /// What the document should be, as a hint for a file that is something else.
    pub(super) hint: &'static str,
}

impl Json<'_> {
    /// Enters an object and skips to the value of this member.
    pub(super) fn member(&mut self, name: &str) -> Result<(), ParseError> {
        self.expect(b'{')?;
        let mut has_next = self.peek()? != Some(b'}');
        while has_next {
            let key: String = self.value()?;
            self.expect(b':')?;
            if key == name {
                return Ok(());
            }
            self.skip_value()?;
            has_next = self.has_next(b'}')?;
        }
        Err(self.broken(EntryError::MemberMissing { name: name.to_owned() }))
    }

    /// After a member or an element: returns whether another one follows. Otherwise the end was
    /// taken.
    pub(super) fn has_next(&mut self, end: u8) -> Result<bool, ParseError> {
        let found = self.peek()?;
        if found.is_none() {
            return Err(self.broken(EntryError::FileEnds { expected: char::from(end) }));
        }
        if found != Some(end) && found != Some(b',') {
            let expected = vec![',', char::from(end)];
            return Err(self.broken(EntryError::Unexpected { expected, found: None }));
        }
        self.input.take_byte();
        Ok(found != Some(end))
    }

    /// Takes this byte, and the white space before it.
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), ParseError> {
        let wanted = char::from(byte);
        match self.peek()? {
            Some(found) if found == byte => {
                self.input.take_byte();
                Ok(())
            }
            Some(found) => {
                let found = Some(char::from(found).escape_debug().to_string());
                Err(self.broken(EntryError::Unexpected { expected: vec![wanted], found }))
            }
            None => Err(self.broken(EntryError::FileEnds { expected: wanted })),
        }
    }

    /// The next byte that is no white space, without taking it.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ParseError> {
        while let Some(byte) = self.input.peek_byte()? {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(Some(byte));
            }
            self.input.take_byte();
        }
        Ok(None)
    }

    /// Reads an object, an array, a string or a word, which end with their last byte. Not for a
    /// number, whose end is known only from the byte after it.
    pub(super) fn value<T: DeserializeOwned>(&mut self) -> Result<T, ParseError> {
        self.peek()?;
        let mut bounded = self.input.by_ref().take(VALUE_BYTES_MAX);
        let read = T::deserialize(&mut serde_json::Deserializer::from_reader(&mut bounded));
        let is_too_long = bounded.limit() == 0;
        read.map_err(|error| {
            if error.is_io() {
                return ParseError::Io(error.into());
            }
            // The position within the value is not the position in the file, and serde_json cannot
            // omit it.
            let said = error.to_string();
            let json_error = said.split(" at line ").next().unwrap_or_default().to_owned();
            self.broken(match () {
                () if is_too_long => TOO_LONG,
                () if error.is_eof() => EntryError::FileEnds { expected: '}' },
                () => EntryError::Json { json_error, column: None },
            })
        })
    }

    fn skip_value(&mut self) -> Result<(), ParseError> {
        let is_of_number = |byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        if !self.peek()?.is_some_and(is_of_number) {
            return self.value().map(|IgnoredAny| ());
        }
        while self.input.peek_byte()?.is_some_and(is_of_number) {
            self.input.take_byte();
        }
        Ok(())
    }

    fn broken(&self, what: EntryError) -> ParseError {
        self.input.broken_after(what, self.hint)
    }
}

/// The error of a line that is no valid object. The library counts the lines of its own text, which
/// is always one.
pub(super) fn line_error(
    input: &Input,
    error: &serde_json::Error,
    hint: &'static str,
) -> ParseError {
    let said = error.to_string();
    let json_error = said.split(" at line ").next().unwrap_or_default().to_owned();
    input.broken(EntryError::Json { json_error, column: Some(error.column() as u64) }, hint)
}

/// Most bytes of an entry with its answer, most of which is skipped.
const VALUE_BYTES_MAX: u64 = 256 << 20;
const TOO_LONG: EntryError = EntryError::TooLong { limit_bytes: VALUE_BYTES_MAX };
