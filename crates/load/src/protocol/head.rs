//! Reads a head whose bytes may be split across reads, for the grammars of HTTP and CGI. An invalid
//! head fails at the same byte however it was split.

use std::cell::RefCell;
use std::rc::Rc;

use super::AnswerEnd;
use crate::check::{Check, Inspection};

/// The parsed content of a head, and its grammar.
pub(crate) trait HeadGrammar: Copy {
    /// What every head begins with, after a few empty lines; may be empty.
    const PREFIX: &'static [u8];

    /// Parses the head at the start of `bytes` and returns it with its length. `None`: it is not
    /// complete. The number of lines is bounded.
    fn parse(bytes: &[u8]) -> Result<Option<(usize, Self)>, AnswerEnd>;
}

/// What all connections of a load thread share.
#[derive(Debug)]
pub(crate) struct SharedParsing<H> {
    pub(super) inspection: Rc<Inspection>,
    last: Rc<RefCell<LastHead<H>>>,
}

impl<H: HeadGrammar> SharedParsing<H> {
    /// # Panics
    /// When `check` has more than [`crate::check::RULES_MAX`] rules.
    pub(crate) fn new(check: &Check) -> SharedParsing<H> {
        let last = LastHead { raw: Vec::with_capacity(LAST_BYTES_MAX), head: None };
        SharedParsing { inspection: Inspection::new(check), last: Rc::new(RefCell::new(last)) }
    }
}

/// The last head on any connection of a load thread. Within one second most answers begin with
/// exactly the same bytes. Comparing the bytes is cheaper than parsing them again.
#[derive(Debug)]
struct LastHead<H> {
    raw: Vec<u8>,
    head: Option<H>,
}

impl<H: HeadGrammar> LastHead<H> {
    /// The last head with its length, if `bytes` begin with the same bytes.
    fn matching(&self, bytes: &[u8]) -> Option<(usize, H)> {
        let head = self.head?;
        bytes.starts_with(&self.raw).then_some((self.raw.len(), head))
    }

    fn remember(&mut self, raw: &[u8], head: H) {
        if raw.len() <= LAST_BYTES_MAX {
            self.raw.clear();
            self.raw.extend_from_slice(raw);
            self.head = Some(head);
        }
    }
}

/// Reads heads one after another from split reads.
#[derive(Debug)]
pub(super) struct HeadReader<H> {
    /// The head so far, where a read ended inside it; a complete one until it is cleared. Otherwise
    /// empty.
    buffer: Vec<u8>,
    limit: usize,
    last: Rc<RefCell<LastHead<H>>>,
}

/// What happened to the bytes that the reader was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadStep<H> {
    /// All were taken; the head is not complete.
    NeedMore,
    /// The head ends with the last byte taken.
    Complete(H),
    /// The last byte taken cannot belong to the prefix of a head: this is something else.
    Foreign,
    /// The bytes are no head, or too large a one.
    Bad(AnswerEnd),
}

impl<H: HeadGrammar> HeadReader<H> {
    /// A reader of heads of at most `limit` bytes.
    pub(super) fn new(limit: usize, common: &SharedParsing<H>) -> HeadReader<H> {
        HeadReader { buffer: Vec::new(), limit, last: Rc::clone(&common.last) }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Frees the memory of a huge head, so that a thousand connections stay small.
    pub(super) fn shrink(&mut self) {
        self.buffer.shrink_to(KEPT_BYTES);
    }

    /// The bytes of the complete head. `taken` are the bytes that were taken last.
    pub(super) fn raw<'a>(&'a self, taken: &'a [u8]) -> &'a [u8] {
        if self.buffer.is_empty() { taken } else { &self.buffer }
    }

    /// Takes bytes up to the end of the head and returns how many, at least one unless `bytes` is
    /// empty. After a complete head the reader must be cleared.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, HeadStep<H>) {
        if self.buffer.is_empty()
            && let Some((length, head)) = self.whole(bytes)
        {
            return (length, HeadStep::Complete(head));
        }
        // The head is split or bad. Both take the slow path, which decides at the end of each line,
        // whatever else was read. So a head fails at the same byte however it was split.
        let mut used = 0;
        while used < bytes.len() {
            let before = self.buffer.len();
            let line = line_length(&bytes[used..]).min(self.limit - before);
            self.buffer.extend_from_slice(&bytes[used..used + line]);
            if let Some(at) = self.prefix_differs_at() {
                self.buffer.clear();
                return (used + at + 1 - before, HeadStep::Foreign);
            }
            used += line;
            match self.parse_buffer() {
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

    /// The head at the start of `bytes`, if it is complete and valid.
    fn whole(&self, bytes: &[u8]) -> Option<(usize, H)> {
        let mut last = self.last.borrow_mut();
        let (length, head) = match last.matching(bytes) {
            Some(matching) => matching,
            None if bytes.starts_with(H::PREFIX) => {
                let (length, head) = H::parse(bytes).ok()??;
                last.remember(&bytes[..length], head);
                (length, head)
            }
            None => return None,
        };
        (length <= self.limit).then_some((length, head))
    }

    /// Parses the buffer after a line, or a part of one, was added. The number of lines is bounded,
    /// so parsing all of it again for each line is too.
    fn parse_buffer(&self) -> HeadStep<H> {
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

    /// Position of the first byte that differs from the prefix of every head. Another protocol is
    /// so recognised at once, without waiting for the end of a line or a timeout.
    fn prefix_differs_at(&self) -> Option<usize> {
        // A server that ends a body with one line too many sends it before its next head.
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

/// Capacity that a head buffer keeps for its next connection: enough for usual heads.
const KEPT_BYTES: usize = 4096;

/// Most bytes of empty lines before a head: two lines. Browsers skip as many.
const EMPTY_BYTES_MAX: usize = 4;

/// The longest head that is remembered. Longer heads are rarely repeated.
const LAST_BYTES_MAX: usize = 2048;
