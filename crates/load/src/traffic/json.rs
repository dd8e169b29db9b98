//! JSON piece by piece: what stands around values, which serde_json reads, one at a time. Of a
//! document of any size one value is in memory.

use std::io::Read as _;

use serde::de::{DeserializeOwned, IgnoredAny};

use super::input::{Fault, Input};

/// A document that is being read.
pub(super) struct Json<'a> {
    pub(super) input: &'a mut Input,
    /// What the document should be, for whom it is not.
    pub(super) hint: &'static str,
}

impl Json<'_> {
    /// Into an object, to the value of this member.
    pub(super) fn member(&mut self, name: &str) -> Result<(), Fault> {
        self.expect(b'{')?;
        let mut goes_on = self.peek()? != Some(b'}');
        while goes_on {
            let key: String = self.value()?;
            self.expect(b':')?;
            if key == name {
                return Ok(());
            }
            self.pass_value()?;
            goes_on = self.goes_on(b'}')?;
        }
        Err(self.broken(format!("missing field `{name}`")))
    }

    /// Behind a member or an element: whether another one follows, else the end was taken.
    pub(super) fn goes_on(&mut self, end: u8) -> Result<bool, Fault> {
        let found = self.peek()?;
        if found != Some(end) && found != Some(b',') {
            return Err(self.broken(format!("expected `,` or `{}`", char::from(end))));
        }
        self.input.take_byte();
        Ok(found != Some(end))
    }

    /// Takes this byte and the space before it.
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        let wanted = char::from(byte);
        match self.peek()? {
            Some(found) if found == byte => {
                self.input.take_byte();
                Ok(())
            }
            Some(found) => {
                let found = char::from(found).escape_debug();
                Err(self.broken(format!("expected `{wanted}`, found `{found}`")))
            }
            None => Err(self.broken(format!("expected `{wanted}`, and the file ends"))),
        }
    }

    /// The next byte that is no space, which stays.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Fault> {
        while let Some(byte) = self.input.peek_byte()? {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(Some(byte));
            }
            self.input.take_byte();
        }
        Ok(None)
    }

    /// An object, an array, a string or a word: what ends with its last byte. A number does not.
    pub(super) fn value<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        self.peek()?;
        let mut bounded = self.input.by_ref().take(VALUE_BYTES_MAX);
        let read = T::deserialize(&mut serde_json::Deserializer::from_reader(&mut bounded));
        let is_too_long = bounded.limit() == 0;
        read.map_err(|error| {
            if error.is_io() {
                return Fault::Io(error.into());
            }
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            self.broken(if is_too_long { TOO_LONG } else { what }.to_owned())
        })
    }

    fn pass_value(&mut self) -> Result<(), Fault> {
        let is_of_number = |byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        if !self.peek()?.is_some_and(is_of_number) {
            return self.value().map(|IgnoredAny| ());
        }
        while self.input.peek_byte()?.is_some_and(is_of_number) {
            self.input.take_byte();
        }
        Ok(())
    }

    fn broken(&self, what: String) -> Fault {
        self.input.broken_after(what, self.hint)
    }
}

/// An entry with its answer, most of which is passed over.
const VALUE_BYTES_MAX: u64 = 256 << 20;
const TOO_LONG: &str = "longer than 256 MiB";
