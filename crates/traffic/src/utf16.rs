//! Reads text in UTF-16 that begins with its byte order mark, as programs of Windows write it, as
//! UTF-8. It is a stream, so memory does not grow with the file.

use std::io::{self, Cursor, Read};

use super::read::Bytes;

/// The same bytes, as UTF-8 where they are UTF-16.
pub(super) fn decoded(mut reader: Bytes) -> io::Result<Bytes> {
    let mut begin = Vec::new();
    (&mut reader).take(MARK_BYTES).read_to_end(&mut begin)?;
    let unit: Option<fn([u8; 2]) -> u16> = match &begin[..] {
        [0xff, 0xfe] => Some(u16::from_le_bytes),
        [0xfe, 0xff] => Some(u16::from_be_bytes),
        _ => None,
    };
    Ok(match unit {
        Some(unit) => Box::new(Utf16 { reader, unit, odd: Vec::new(), out: Cursor::default() }),
        None => Box::new(Cursor::new(begin).chain(reader)),
    })
}

struct Utf16 {
    reader: Bytes,
    /// The unit of two bytes.
    unit: fn([u8; 2]) -> u16,
    /// Bytes that are no whole character yet, 3 at most.
    odd: Vec<u8>,
    /// What was decoded and not read.
    out: Cursor<Vec<u8>>,
}

impl Utf16 {
    /// Decodes the next piece. Nothing is decoded at the end of the file.
    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.odd);
        let known = bytes.len() as u64;
        (&mut self.reader).take(PIECE_BYTES - known).read_to_end(&mut bytes)?;
        let is_end = (bytes.len() as u64) < PIECE_BYTES;
        let (pairs, rest) = bytes.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|pair| (self.unit)(*pair)).collect();
        let mut odd = rest.to_vec();
        // A character of two units may be cut in two.
        if units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) && !is_end {
            units.pop();
            odd = bytes[units.len() * 2..].to_vec();
        }
        self.odd = if is_end { Vec::new() } else { odd };
        self.out = Cursor::new(String::from_utf16_lossy(&units).into_bytes());
        Ok(())
    }
}

impl Read for Utf16 {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.out.read(out)?;
        if read > 0 || out.is_empty() {
            return Ok(read);
        }
        self.fill()?;
        self.out.read(out)
    }
}

const MARK_BYTES: u64 = 2;
/// Bytes that are decoded at once.
const PIECE_BYTES: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: Vec<u8>) -> String {
        let mut out = String::new();
        decoded(Box::new(Cursor::new(bytes))).unwrap().read_to_string(&mut out).unwrap();
        out
    }

    fn encoded(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(bytes_of).collect()
    }

    #[test]
    fn characters_at_the_end_of_a_piece_stay_whole() {
        for before in 8_180..8_200 {
            let text = format!("{}\u{1f418}/a\n", "b".repeat(before));
            assert_eq!(read(encoded(&text, u16::to_le_bytes)), text);
            assert_eq!(read(encoded(&text, u16::to_be_bytes)), text);
        }
    }

    #[test]
    fn other_bytes_stay_as_they_are() {
        for text in ["", "/", "/a\n", "\u{feff}/a"] {
            assert_eq!(read(text.as_bytes().to_vec()), text);
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(text in "\\PC{0,200}") {
            prop_assert_eq!(read(encoded(&text, u16::to_le_bytes)), text);
        }

        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..50)) {
            bytes.splice(0..0, [0xff, 0xfe]);
            read(bytes);
        }
    }
}
