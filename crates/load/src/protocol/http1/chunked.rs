//! The chunked transfer coding (RFC 9112 section 7.1), a byte at a time between chunks.
//!
//! Strict where heads are lenient: a bare LF or a missing size is an error, for nothing
//! that writes chunks by machine gets them wrong by accident.

use super::body::Progress;
use crate::check::Sink;
use crate::protocol::AnswerEnd;

/// Where in a chunked body the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chunked {
    at: At,
    /// Size of the chunk as read so far, then bytes left of it.
    left: u64,
    /// Bytes of the size line under way, or of all trailers: what the limit bounds.
    aside: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    /// Before the first digit of a size.
    SizeStart,
    /// After it.
    Size,
    /// Blanks after a size: only an extension or the line's end may follow.
    AfterSize,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    LastLf,
    Done,
}

impl Chunked {
    /// Before the first chunk.
    pub(super) fn new() -> Chunked {
        Chunked { at: At::SizeStart, left: 0, aside: 0 }
    }

    /// As [`super::body::Body::take`].
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

    /// Where the byte leads; `None` where it must not be.
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
            (At::TrailerStart, b'\r') => Some(At::LastLf),
            (At::TrailerName, b':') => Some(At::TrailerValue),
            (At::TrailerStart | At::TrailerName, _) => is_token(byte).then_some(At::TrailerName),
            (At::TrailerValue, b'\r') => Some(At::TrailerLf),
            (At::TrailerValue, _) => is_text(byte).then_some(At::TrailerValue),
            (At::TrailerLf, b'\n') => Some(At::TrailerStart),
            (At::LastLf, b'\n') => Some(At::Done),
            _ => None,
        }
    }

    fn digit(&mut self, byte: u8) -> Option<At> {
        let digit = char::from(byte).to_digit(16)?;
        self.left = self.left.checked_mul(16)?.checked_add(u64::from(digit))?;
        Some(At::Size)
    }
}

/// What a field value or an extension may hold: no control character but the tab.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

/// A character of a field name (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
