//! The chunked transfer coding (RFC 9112 section 7.1), parsed byte by byte between chunks.
//!
//! It is strict where heads are lenient. Around sizes a bare LF is an error, and so is a missing
//! size, because software that writes chunks does not get them wrong by accident. Trailers are
//! header fields, written by the same people, and are read like those (see
//! [`crate::protocol::fields`]).

use super::body::Progress;
use crate::check::Sink;
use crate::protocol::fields::is_token;
use crate::protocol::{AnswerEnd, Odd};

/// Position in a chunked body: where the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chunked {
    at: At,
    /// Size of the chunk as read so far, then the bytes left of it.
    left: u64,
    /// Bytes of the current size line, or of all trailers; bounded by the limit.
    aside: usize,
    odd: Odd,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    /// Before the first digit of a size.
    SizeStart,
    /// After a digit of a size.
    Size,
    /// In blanks after a size: only an extension or the end of the line may follow.
    AfterSize,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    /// In blanks after what may be a name.
    TrailerNamed,
    TrailerValue,
    /// In a line that is no field.
    TrailerIgnored,
    TrailerLf,
    LastLf,
    Done,
}

impl Chunked {
    /// The position before the first chunk.
    pub(super) fn new() -> Chunked {
        Chunked { at: At::SizeStart, left: 0, aside: 0, odd: Odd::default() }
    }

    /// What was odd about the trailers.
    pub(super) fn odd(self) -> Odd {
        self.odd
    }

    /// Takes bytes like [`super::body::Body::take`].
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        sink: &mut impl Sink,
        limit: usize,
    ) -> (usize, Progress) {
        let mut used = 0;
        while used < bytes.len() {
            if self.at == At::Data {
                used += self.take_data(&bytes[used..], sink);
                continue;
            }
            let byte = bytes[used];
            used += 1;
            self.aside += 1;
            if self.aside > limit {
                return (used, Progress::Bad(AnswerEnd::HeadTooLarge));
            }
            match self.step(byte) {
                Some(At::Done) => return (used, Progress::Done),
                Some(at) => self.at = at,
                None => return (used, Progress::Bad(AnswerEnd::Malformed)),
            }
        }
        (used, Progress::NeedMore)
    }

    fn take_data(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        sink.piece(&bytes[..taken]);
        self.left -= taken as u64;
        if self.left == 0 {
            self.at = At::DataCr;
        }
        taken
    }

    /// The next position after this byte; `None` where the byte is not allowed.
    fn step(&mut self, byte: u8) -> Option<At> {
        match (self.at, byte) {
            (At::SizeStart, _) => {
                self.left = 0;
                self.aside = 1;
                self.digit(byte)
            }
            (At::Size | At::AfterSize, b';') => Some(At::Extension),
            (At::Size | At::AfterSize, b' ' | b'\t') => Some(At::AfterSize),
            (At::Size | At::AfterSize | At::Extension, b'\r') => Some(At::SizeLf),
            (At::Size, _) => self.digit(byte),
            (At::Extension, _) => is_text(byte).then_some(At::Extension),
            (At::SizeLf, b'\n') => {
                self.aside = 0;
                Some(if self.left == 0 { At::TrailerStart } else { At::Data })
            }
            (At::DataCr, b'\r') => Some(At::DataLf),
            (At::DataLf, b'\n') => Some(At::SizeStart),
            (At::LastLf, b'\n') => Some(At::Done),
            _ => self.trailer(byte),
        }
    }

    /// Like `step`, in the fields after the last chunk.
    fn trailer(&mut self, byte: u8) -> Option<At> {
        match (self.at, byte) {
            (At::TrailerStart, b'\r') => Some(At::LastLf),
            (At::TrailerStart, b'\n') => Some(At::Done),
            (At::TrailerLf, b'\n') => Some(At::TrailerStart),
            (At::TrailerName | At::TrailerNamed, b'\r' | b'\n') => {
                self.trailer_ends(byte, Odd::IGNORED)
            }
            (At::TrailerValue | At::TrailerIgnored, b'\r' | b'\n') => {
                self.trailer_ends(byte, Odd::default())
            }
            (At::TrailerStart, b' ' | b'\t') => {
                // The text of a folded line is not inspected, whatever it continues.
                self.odd = self.odd.and(Odd::FOLDED);
                Some(At::TrailerValue)
            }
            (At::TrailerName, b':') => Some(At::TrailerValue),
            (At::TrailerName, b' ' | b'\t') => Some(At::TrailerNamed),
            (At::TrailerNamed, b':') => {
                self.odd = self.odd.and(Odd::SPACED);
                Some(At::TrailerValue)
            }
            (At::TrailerNamed, b' ' | b'\t') => Some(At::TrailerNamed),
            (At::TrailerStart | At::TrailerName, _) if is_token(byte) => Some(At::TrailerName),
            (At::TrailerStart | At::TrailerName | At::TrailerNamed, 1..) => {
                self.odd = self.odd.and(Odd::IGNORED);
                Some(At::TrailerIgnored)
            }
            (At::TrailerValue | At::TrailerIgnored, 1..) => Some(self.at),
            _ => None,
        }
    }

    fn trailer_ends(&mut self, byte: u8, odd: Odd) -> Option<At> {
        self.odd = self.odd.and(odd);
        Some(if byte == b'\r' { At::TrailerLf } else { At::TrailerStart })
    }

    fn digit(&mut self, byte: u8) -> Option<At> {
        let digit = char::from(byte).to_digit(16)?;
        self.left = self.left.checked_mul(16)?.checked_add(u64::from(digit))?;
        Some(At::Size)
    }
}

/// Whether an extension may contain the byte: any but control characters, except the tab.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}
