//! A head out of torn reads, whatever its grammar: HTTP's and CGI's fail at the same byte however
//! they came.

use std::cell::RefCell;
use std::rc::Rc;

use super::AnswerEnd;
use crate::check::Inspection;
use crate::spec::Check;

/// What a head says, and how it is written.
pub(crate) trait Head: Copy {
    /// What each begins with, after a few empty lines; may be empty.
    const PREFIX: &'static [u8];

    /// The head at the start of `bytes` with its length, `None` where it goes on. Allows a
    /// bounded number of lines.
    fn parse(bytes: &[u8]) -> Result<Option<(usize, Self)>, AnswerEnd>;
}

/// What all connections of a load thread share.
#[derive(Debug)]
pub(crate) struct Common<H> {
    pub(super) inspection: Rc<Inspection>,
    last: Rc<RefCell<LastHead<H>>>,
}

impl<H: Head> Common<H> {
    /// # Panics
    /// When `check` has more than [`crate::check::RULES_MAX`] rules.
    pub(crate) fn new(check: &Check) -> Common<H> {
        let last = LastHead { raw: Vec::with_capacity(LAST_BYTES_MAX), says: None };
        Common { inspection: Inspection::new(check), last: Rc::new(RefCell::new(last)) }
    }
}

/// The head that came last on any connection of a load thread. Most answers of a load begin like
/// the one before, byte for byte, until a second is over: such a head says the same again, and
/// comparing is cheaper than reading it.
#[derive(Debug)]
struct LastHead<H> {
    raw: Vec<u8>,
    says: Option<H>,
}

impl<H: Head> LastHead<H> {
    /// What the same bytes said before, with their length.
    fn again(&self, bytes: &[u8]) -> Option<(usize, H)> {
        let head = self.says?;
        bytes.starts_with(&self.raw).then_some((self.raw.len(), head))
    }

    fn is(&mut self, raw: &[u8], head: H) {
        if raw.len() <= LAST_BYTES_MAX {
            self.raw.clear();
            self.raw.extend_from_slice(raw);
            self.says = Some(head);
        }
    }
}

/// Reads one head after another out of torn reads.
#[derive(Debug)]
pub(super) struct HeadReader<H> {
    /// The head so far, where a read ended inside one; all of it until it is cleared; else
    /// empty.
    buffer: Vec<u8>,
    limit: usize,
    last: Rc<RefCell<LastHead<H>>>,
}

/// What became of the bytes that the reader was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadStep<H> {
    /// All were taken, more must come.
    NeedMore,
    /// The head ends with the last byte taken.
    Complete(H),
    /// Not a head, or too large a one.
    Bad(AnswerEnd),
}

impl<H: Head> HeadReader<H> {
    /// For heads of `limit` bytes at most.
    pub(super) fn new(limit: usize, common: &Common<H>) -> HeadReader<H> {
        HeadReader { buffer: Vec::new(), limit, last: Rc::clone(&common.last) }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Gives back what one huge head took: a thousand connections stay small.
    pub(super) fn shrink(&mut self) {
        self.buffer.shrink_to(KEPT_BYTES);
    }

    /// The bytes of the head that is complete; `taken` are those that were taken last.
    pub(super) fn raw<'a>(&'a self, taken: &'a [u8]) -> &'a [u8] {
        if self.buffer.is_empty() { taken } else { &self.buffer }
    }

    /// Takes bytes up to the head's end and says how many; at least one where there is one.
    /// After a complete head, to be cleared.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, HeadStep<H>) {
        if self.buffer.is_empty()
            && let Some((length, head)) = self.whole(bytes)
        {
            return (length, HeadStep::Complete(head));
        }
        // Torn or bad. Both go the slow way, which decides at each line's end whatever
        // else was read, so that a head fails at the same byte however it came.
        let mut used = 0;
        while used < bytes.len() {
            let before = self.buffer.len();
            let line = line_length(&bytes[used..]).min(self.limit - before);
            self.buffer.extend_from_slice(&bytes[used..used + line]);
            if let Some(at) = self.prefix_differs_at() {
                self.buffer.clear();
                return (used + at + 1 - before, HeadStep::Bad(AnswerEnd::Malformed));
            }
            used += line;
            match self.decide() {
                HeadStep::NeedMore => {}
                complete @ HeadStep::Complete(_) => return (used, complete),
                bad => {
                    self.buffer.clear();
                    return (used, bad);
                }
            }
        }
        (used, HeadStep::NeedMore)
    }

    /// The head that `bytes` begin with, where it is all there, and good.
    fn whole(&self, bytes: &[u8]) -> Option<(usize, H)> {
        let mut last = self.last.borrow_mut();
        let (length, head) = match last.again(bytes) {
            Some(again) => again,
            None if bytes.starts_with(H::PREFIX) => {
                let (length, head) = H::parse(bytes).ok()??;
                last.is(&bytes[..length], head);
                (length, head)
            }
            None => return None,
        };
        (length <= self.limit).then_some((length, head))
    }

    /// What the buffer is, after a line or a part of one was added. The number of
    /// lines is bounded, so parsing it again at each is too.
    fn decide(&self) -> HeadStep<H> {
        if self.buffer.ends_with(b"\n") {
            match H::parse(&self.buffer) {
                Ok(Some((_, head))) => return HeadStep::Complete(head),
                Ok(None) => {}
                Err(end) => return HeadStep::Bad(end),
            }
        }
        if self.buffer.len() == self.limit {
            return HeadStep::Bad(AnswerEnd::HeadTooLarge);
        }
        HeadStep::NeedMore
    }

    /// The first byte that no such head begins with: what is another protocol should not have
    /// to wait for a line's end, or a timeout, to be told.
    fn prefix_differs_at(&self) -> Option<usize> {
        // A server that ends a body with a line too many sends it before its next head.
        let first = self.buffer.iter().take(EMPTY_BYTES_MAX);
        let empty = first.take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let empty = if H::PREFIX.is_empty() { 0 } else { empty };
        let differs =
            self.buffer[empty..].iter().zip(H::PREFIX).position(|(is, is_to)| is != is_to);
        differs.map(|at| empty + at)
    }
}

fn line_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
}

/// Capacity that a head buffer keeps for its next connection: the heads of usual answers.
const KEPT_BYTES: usize = 4096;

/// Bytes of empty lines before a head: two of them. Browsers pass over as many.
const EMPTY_BYTES_MAX: usize = 4;

/// The longest head that is remembered: one like it is a usual one.
const LAST_BYTES_MAX: usize = 2048;
