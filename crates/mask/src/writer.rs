//! Masks a stream.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::PoisonError;

use super::known::masked;
use super::{KNOWN, KnownSecrets, MASK};

/// Writes text without the values that are known to be secrets, also if a value is split over
/// several writes.
///
/// A few bytes are held back: the end of the text so far, while it may be the beginning of a value.
/// At most, they are as long as the longest spelling of a piece of a value (about 20 KiB). `flush`
/// does not write them. They are written when it is known that they are no secret, or at the end.
#[derive(Debug)]
pub struct MaskingWriter<W: Write> {
    out: W,
    masking: StreamMask,
}

impl<W: Write> MaskingWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> MaskingWriter<W> {
        MaskingWriter { out, masking: StreamMask::default() }
    }

    /// Writes what is held back, with the beginning of a value masked, and flushes.
    ///
    /// # Errors
    /// Those of the writer behind.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_rest()?;
        self.out.flush()
    }

    fn write_rest(&mut self) -> io::Result<()> {
        let rest = self.masking.rest(&KNOWN.read().unwrap_or_else(PoisonError::into_inner));
        self.out.write_all(rest.as_bytes())
    }
}

impl<W: Write> Write for MaskingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        let decided = self.masking.push(&known, bytes);
        drop(known);
        self.out.write_all(decided.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for MaskingWriter<W> {
    fn drop(&mut self) {
        // Nobody is left who could handle an error.
        let _ = self.write_rest();
    }
}

/// What is held back of a stream.
#[derive(Debug, Default)]
struct StreamMask {
    held: Vec<u8>,
    /// So many of the held bytes belong to a value whose mask has been written.
    covered: usize,
}

impl StreamMask {
    /// Takes the next bytes, and returns the text that can be written.
    fn push(&mut self, known: &KnownSecrets, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let (text, torn) = as_text(&self.held);
        let end = known.undecided_from(&text);
        let places = self.places(known, &text);
        let within = places.iter().filter(|place| place.start < end);
        let reach = within.clone().map(|place| place.end).max().unwrap_or(0);
        let cut = within.map(|place| place.start..place.end.min(end)).collect();
        let decided = self.without_written_mask(masked(&text[..end], cut), end);
        self.covered = match end {
            0 => self.covered,
            _ => reach.saturating_sub(end),
        };
        let mut held = text.as_bytes()[end..].to_vec();
        held.extend(torn);
        self.held = held;
        decided
    }

    /// Returns what is held back, at the end of the stream.
    fn rest(&mut self, known: &KnownSecrets) -> String {
        let text = String::from_utf8_lossy(&self.held).into_owned();
        let mut places = self.places(known, &text);
        places.extend(known.begun_at_end(&text));
        let rest = self.without_written_mask(masked(&text, places), text.len());
        *self = StreamMask::default();
        rest
    }

    fn places(&self, known: &KnownSecrets, text: &str) -> Vec<Range<usize>> {
        let mut places = known.places(text);
        places.push(0..self.covered);
        places
    }

    /// Removes the mask at the start of `text`, if it was written before.
    fn without_written_mask(&self, text: String, length: usize) -> String {
        let is_written = self.covered > 0 && length > 0;
        match text.strip_prefix(MASK) {
            Some(rest) if is_written => rest.to_owned(),
            _ => text,
        }
    }
}

/// Returns bytes as text, without the beginning of a character at the end, and that beginning.
fn as_text(bytes: &[u8]) -> (String, Vec<u8>) {
    let torn = bytes.utf8_chunks().last().map_or(&[][..], |last| last.invalid());
    let is_begun = bytes.ends_with(torn)
        && std::str::from_utf8(torn).is_err_and(|error| error.error_len().is_none());
    let torn = if is_begun { torn } else { &[] };
    let whole = &bytes[..bytes.len() - torn.len()];
    (String::from_utf8_lossy(whole).into_owned(), torn.to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn streamed(values: &[&str], parts: &[&[u8]]) -> String {
        let mut known = KnownSecrets::new();
        values.iter().for_each(|value| known.add(value));
        let mut stream = StreamMask::default();
        let mut out: String = parts.iter().map(|part| stream.push(&known, part)).collect();
        out.push_str(&stream.rest(&known));
        out
    }

    #[test]
    fn a_secret_that_is_split_is_masked() {
        for (parts, expected) in [
            (vec!["a hunt", "er22 b"], "a *** b"),
            (vec!["a hunt", "", "ers"], "a hunters"),
            (vec!["a pa%2", "Fss%2fw", "ord\n"], "a ***\n"),
            (vec!["hunter22-an", "d-mo", "re-", "to-come"], "***"),
            (vec!["hunter22-an", "x"], "***-anx"),
            (vec!["the end hunter2"], "the end ***"),
            (vec!["the end hun"], "the end hun"),
        ] {
            let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
            let values = ["hunter22", "pa/ss/word", "hunter22-and-more", "more-to-come"];
            assert_eq!(streamed(&values, &parts), expected, "{parts:?}");
        }
    }

    #[test]
    fn torn_and_invalid_characters_pass() {
        let text = "ä hunter22 €".as_bytes();
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(streamed(&["hunter22"], &bytes), "ä *** €");
        assert_eq!(streamed(&["hunter22"], &[b"a\xff", b"b\xe2\x82", b"c"]), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn a_line_is_written_at_once() {
        let mut known = KnownSecrets::new();
        known.add("hunter22");
        let mut stream = StreamMask::default();
        assert_eq!(stream.push(&known, b"a line\n"), "a line\n");
        assert_eq!(stream.push(&known, b"a hunter"), "a ");
        assert!(stream.held.len() == 6);
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let mut known = KnownSecrets::new();
        known.add(&"ab".repeat(3000));
        let mut stream = StreamMask::default();
        for _ in 0..200 {
            stream.push(&known, "ab".repeat(100).as_bytes());
            assert!(stream.held.len() < 20 << 10, "{}", stream.held.len());
        }
    }

    proptest! {
        #[test]
        fn a_stream_is_masked_like_a_whole_text(
            text in "([ab]{1,9}|[abc]{8,12}|%61|\\\\n){0,12}",
            values in prop::collection::vec("[ab]{8,10}", 1..4),
            sizes in prop::collection::vec(1..9_usize, 1..40),
        ) {
            let mut known = KnownSecrets::new();
            values.iter().for_each(|value| known.add(value));
            let mut stream = StreamMask::default();
            let (mut out, mut rest) = (String::new(), &text[..]);
            for size in sizes {
                let (part, behind) = rest.split_at(size.min(rest.len()));
                out += &stream.push(&known, part.as_bytes());
                rest = behind;
            }
            out += &stream.push(&known, rest.as_bytes());
            let end = known.begun_at_end(&text);
            let mut places = known.places(&text);
            places.extend(end);
            out += &stream.rest(&known);
            prop_assert_eq!(out, masked(&text, places));
        }
    }
}
