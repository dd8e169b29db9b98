//! Decides where a body ends (RFC 9112 section 6.3).

use super::chunked::Chunked;
use crate::check::Sink;
use crate::protocol::{AnswerEnd, Quirk};

/// The rest of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Body {
    /// This many bytes are left.
    Length(u64),
    /// Chunks up to one of size 0, then trailers.
    Chunked(Chunked),
    /// Everything up to the peer's close.
    UntilClose,
}

/// What happened to the bytes that a body was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All were taken; more must arrive.
    NeedMore,
    /// The body ends with the last byte taken.
    Done,
    /// The last byte taken is not allowed there.
    Bad(AnswerEnd),
}

impl Body {
    /// Whether the body has no bytes at all.
    pub(super) fn is_empty(self) -> bool {
        self == Body::Length(0)
    }

    /// What was odd about the trailers.
    pub(super) fn odd(self) -> Quirk {
        match self {
            Body::Chunked(chunked) => chunked.odd(),
            Body::Length(_) | Body::UntilClose => Quirk::default(),
        }
    }

    /// Takes bytes up to the end of the body and returns how many, at least one unless `bytes` is
    /// empty. `limit` bounds the bytes that chunks carry besides the body.
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
