//! The chunked transfer coding (RFC 9112 section 7.1), parsed byte by byte between chunks.
//!
//! It is strict where heads are lenient. Around sizes a bare LF is an error, and so is a missing
//! size, because software that writes chunks does not get them wrong by accident. Trailers are
//! header fields, written by the same people, and are read like those (see
//! [`crate::protocol::fields`]).

use super::body::Progress;
use crate::check::Sink;
use crate::protocol::{AnswerEnd, Quirk};
use stampede_traffic::fields::is_token;

/// Position in a chunked body: where the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chunked {
    at: ChunkState,
    /// Size of the chunk as read so far, then the bytes left of it.
    left: u64,
    /// Bytes of the current size line, or of all trailers; bounded by the limit.
    overhead_bytes: usize,
    odd: Quirk,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ChunkState {
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
        Chunked { at: ChunkState::SizeStart, left: 0, overhead_bytes: 0, odd: Quirk::default() }
    }

    /// What was odd about the trailers.
    pub(super) fn odd(self) -> Quirk {
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
            if self.at == ChunkState::Data {
                used += self.take_data(&bytes[used..], sink);
                continue;
            }
            let byte = bytes[used];
            used += 1;
            self.overhead_bytes += 1;
            if self.overhead_bytes > limit {
                return (used, Progress::Bad(AnswerEnd::HeadTooLarge));
            }
            match self.step(byte) {
                Some(ChunkState::Done) => return (used, Progress::Done),
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
            self.at = ChunkState::DataCr;
        }
        taken
    }

    /// The next position after this byte; `None` where the byte is not allowed.
    fn step(&mut self, byte: u8) -> Option<ChunkState> {
        match (self.at, byte) {
            (ChunkState::SizeStart, _) => {
                self.left = 0;
                self.overhead_bytes = 1;
                self.digit(byte)
            }
            (ChunkState::Size | ChunkState::AfterSize, b';') => Some(ChunkState::Extension),
            (ChunkState::Size | ChunkState::AfterSize, b' ' | b'\t') => Some(ChunkState::AfterSize),
            (ChunkState::Size | ChunkState::AfterSize | ChunkState::Extension, b'\r') => {
                Some(ChunkState::SizeLf)
            }
            (ChunkState::Size, _) => self.digit(byte),
            (ChunkState::Extension, _) => is_text(byte).then_some(ChunkState::Extension),
            (ChunkState::SizeLf, b'\n') => {
                self.overhead_bytes = 0;
                Some(if self.left == 0 { ChunkState::TrailerStart } else { ChunkState::Data })
            }
            (ChunkState::DataCr, b'\r') => Some(ChunkState::DataLf),
            (ChunkState::DataLf, b'\n') => Some(ChunkState::SizeStart),
            (ChunkState::LastLf, b'\n') => Some(ChunkState::Done),
            _ => self.trailer(byte),
        }
    }

    /// Like `step`, in the fields after the last chunk.
    fn trailer(&mut self, byte: u8) -> Option<ChunkState> {
        match (self.at, byte) {
            (ChunkState::TrailerStart, b'\r') => Some(ChunkState::LastLf),
            (ChunkState::TrailerStart, b'\n') => {
                self.odd = self.odd.union(Quirk::BARE_LF);
                Some(ChunkState::Done)
            }
            (ChunkState::TrailerLf, b'\n') => Some(ChunkState::TrailerStart),
            (ChunkState::TrailerName | ChunkState::TrailerNamed, b'\r' | b'\n') => {
                self.trailer_ends(byte, Quirk::IGNORED)
            }
            (ChunkState::TrailerValue | ChunkState::TrailerIgnored, b'\r' | b'\n') => {
                self.trailer_ends(byte, Quirk::default())
            }
            (ChunkState::TrailerStart, b' ' | b'\t') => {
                // The text of a folded line is not inspected, whatever it continues.
                self.odd = self.odd.union(Quirk::FOLDED);
                Some(ChunkState::TrailerValue)
            }
            (ChunkState::TrailerName, b':') => Some(ChunkState::TrailerValue),
            (ChunkState::TrailerName, b' ' | b'\t') => Some(ChunkState::TrailerNamed),
            (ChunkState::TrailerNamed, b':') => {
                self.odd = self.odd.union(Quirk::SPACED);
                Some(ChunkState::TrailerValue)
            }
            (ChunkState::TrailerNamed, b' ' | b'\t') => Some(ChunkState::TrailerNamed),
            (ChunkState::TrailerStart | ChunkState::TrailerName, _) if is_token(byte) => {
                Some(ChunkState::TrailerName)
            }
            (
                ChunkState::TrailerStart | ChunkState::TrailerName | ChunkState::TrailerNamed,
                1..,
            ) => {
                self.odd = self.odd.union(Quirk::IGNORED);
                Some(ChunkState::TrailerIgnored)
            }
            (ChunkState::TrailerValue | ChunkState::TrailerIgnored, 1..) => Some(self.at),
            _ => None,
        }
    }

    fn trailer_ends(&mut self, byte: u8, odd: Quirk) -> Option<ChunkState> {
        self.odd = self.odd.union(odd);
        if byte == b'\r' {
            return Some(ChunkState::TrailerLf);
        }
        self.odd = self.odd.union(Quirk::BARE_LF);
        Some(ChunkState::TrailerStart)
    }

    fn digit(&mut self, byte: u8) -> Option<ChunkState> {
        let digit = char::from(byte).to_digit(16)?;
        self.left = self.left.checked_mul(16)?.checked_add(u64::from(digit))?;
        Some(ChunkState::Size)
    }
}

/// Whether an extension may contain the byte: any but control characters, except the tab.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}
