//! Where a body ends (RFC 9112 section 6.3).

use super::chunked::Chunked;
use crate::check::Sink;
use crate::protocol::{AnswerEnd, Odd};

/// What is left of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Body {
    /// This many bytes.
    Length(u64),
    /// Chunks up to one of size 0, then trailers.
    Chunked(Chunked),
    /// All up to the peer's close.
    UntilClose,
}

/// What became of the bytes that a body was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All were taken, more must come.
    NeedMore,
    /// It ends with the last byte taken.
    Done,
    /// The last byte taken must not be there.
    Bad(AnswerEnd),
}

impl Body {
    /// Whether it has ended before it began.
    pub(super) fn is_empty(self) -> bool {
        self == Body::Length(0)
    }

    /// What was odd about the fields after it.
    pub(super) fn odd(self) -> Odd {
        match self {
            Body::Chunked(chunked) => chunked.odd(),
            Body::Length(_) | Body::UntilClose => Odd::default(),
        }
    }

    /// Takes bytes up to its end and says how many; at least one where there is one.
    /// `limit` bounds what chunks carry beside the body.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        sink: &mut impl Sink,
        limit: usize,
    ) -> (usize, Progress) {
        match self {
            Body::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                sink.piece(&bytes[..taken]);
                *left -= taken as u64;
                (taken, if *left == 0 { Progress::Done } else { Progress::NeedMore })
            }
            Body::Chunked(chunked) => chunked.take(bytes, sink, limit),
            Body::UntilClose => {
                sink.piece(bytes);
                (bytes.len(), Progress::NeedMore)
            }
        }
    }
}
