//! The client side of HTTP/1.0 and 1.1 (RFC 9110, RFC 9112): one request at a time per connection,
//! no pipelining.
//!
//! However an answer is split into reads, the same [`Answer`] comes out, byte count included. Every
//! decision depends on the bytes alone, never on where a read ended. Nothing is allocated per
//! answer. The head buffer is used only where a read ends inside a head, and is kept for the life
//! of the slot.

mod body;
mod chunked;
mod excerpt;
mod head;
mod request;
#[cfg(test)]
mod tests;
mod whole;

use stampede_model::load::{ConnectionHabit, Habits};
use stampede_model::time::Nanos;

use super::head::{HeadGrammar, HeadReader, HeadStep, SharedParsing};
use super::{Answer, AnswerEnd, Aside, Excerpt, Next, Protocol, Quirk, RequestId};
use crate::check::{Check, Failed, Inspector};
use body::Body;
use head::Head;
pub use request::text;
use stampede_traffic::answer::AnswerShape;
use stampede_traffic::request::Request;
pub use whole::{AnswerReader, WholeAnswer, WholeError};

/// One connection that speaks HTTP/1.x.
#[derive(Debug)]
pub struct Http1 {
    habits: Habits,
    head: HeadReader<Head>,
    inspector: Inspector,
    state: State,
    /// The request in flight, or the last one.
    id: RequestId,
    shape: AnswerShape,
    /// Whether the request itself ends the connection.
    closes: bool,
    first_byte: Option<Nanos>,
    /// Bytes of the answer in progress, interim answers included.
    bytes: u64,
    /// Interim answers skipped in the answer in progress.
    interim: u32,
    /// What was odd about its header lines so far.
    odd: Quirk,
    /// What the final head, and our own habit, say about the connection.
    next: Next,
    /// Whether this connection has carried a whole answer.
    has_answered: bool,
    aside: Aside,
}

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// No request is in flight; another may start.
    Idle,
    /// A request is in flight, and the head of its answer has not ended.
    Head,
    /// The final head was taken.
    Body { status: u16, body: Body },
    /// No request is in flight, and none may start until `reset`.
    Spent,
}

/// How many bytes were taken, and how the answer ended; `None` where it needs more bytes.
type Step = (usize, Option<AnswerEnd>);

impl Http1 {
    /// The state of a connection that will be opened. A head may have [`HEAD_BYTES_MAX`].
    pub fn new(check: &Check, habits: Habits) -> Http1 {
        Http1::with_head_limit(check, habits, HEAD_BYTES_MAX)
    }

    /// Like [`Http1::new`], with another limit. It applies to the bytes of one head, of one chunk's
    /// extensions and of all trailers; at least 64.
    pub fn with_head_limit(check: &Check, habits: Habits, head_bytes_max: usize) -> Http1 {
        Http1::with_shared(&SharedParsing::new(check), habits, head_bytes_max)
    }

    /// The state of one of many connections of a load thread.
    pub(crate) fn with_shared(
        common: &SharedParsing<Head>,
        habits: Habits,
        head_bytes_max: usize,
    ) -> Http1 {
        Http1 {
            habits,
            head: HeadReader::new(head_bytes_max.max(64), common),
            inspector: Inspector::new(&common.inspection),
            state: State::Idle,
            id: RequestId(0),
            shape: AnswerShape::ByHeaders,
            closes: false,
            first_byte: None,
            bytes: 0,
            interim: 0,
            odd: Quirk::default(),
            next: Next::KeepOpen,
            has_answered: false,
            aside: Aside::default(),
        }
    }

    /// Takes bytes of the answer in progress up to its end. Every iteration takes a byte or ends
    /// the answer, so the loop terminates.
    fn take(&mut self, bytes: &[u8]) -> Step {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            let (taken, end) = match self.state {
                State::Head => self.take_head(rest),
                State::Body { status, body } => self.take_body(status, body, rest),
                State::Idle | State::Spent => return (used, None),
            };
            used += taken;
            if end.is_some() {
                return (used, end);
            }
        }
        (used, None)
    }

    fn take_head(&mut self, bytes: &[u8]) -> Step {
        let (taken, step) = self.head.take(bytes);
        let end = match step {
            HeadStep::NeedMore => None,
            HeadStep::Foreign => Some(self.foreign()),
            HeadStep::Bad(end) => Some(end),
            HeadStep::Complete(head) => {
                self.odd = self.odd.union(head.odd);
                if head.status >= 200 {
                    let raw = self.head.raw(&bytes[..taken]);
                    self.inspector.head(raw, head.status, self.shape);
                }
                self.head.clear();
                self.after_head(&head)
            }
        };
        (taken, end)
    }

    /// What it means that bytes are no head. A server that has answered here before does not turn
    /// to another protocol: it announced too short a length for its last answer. Behind an interim
    /// answer the bytes belong to this request.
    fn foreign(&mut self) -> AnswerEnd {
        if !self.has_answered || self.interim > 0 {
            return AnswerEnd::Malformed;
        }
        self.aside.surplus_answers += 1;
        AnswerEnd::Displaced
    }

    /// Decides what follows a complete head. Returns the end of the answer if it ends here.
    fn after_head(&mut self, head: &Head) -> Option<AnswerEnd> {
        match head.is_interim() {
            Err(_) => return Some(AnswerEnd::Malformed),
            Ok(true) => {
                self.interim += 1;
                return (self.interim > INTERIM_MAX).then_some(AnswerEnd::Malformed);
            }
            Ok(false) => {}
        }
        let Ok(body) = head.body(self.shape) else {
            return Some(AnswerEnd::Malformed);
        };
        self.next = match self.habits.connection {
            ConnectionHabit::PerRequest => Next::Close,
            ConnectionHabit::KeepAlive if self.closes => Next::Close,
            ConnectionHabit::KeepAlive => head.next(self.habits.version, body),
        };
        self.state = State::Body { status: head.status, body };
        body.is_empty().then(|| self.whole(head.status))
    }

    fn take_body(&mut self, status: u16, mut body: Body, bytes: &[u8]) -> Step {
        let (taken, progress) = body.take(bytes, &mut self.inspector, self.head.limit());
        self.state = State::Body { status, body };
        let end = match progress {
            body::Progress::NeedMore => None,
            body::Progress::Done => {
                self.odd = self.odd.union(body.odd());
                Some(self.whole(status))
            }
            body::Progress::Bad(end) => Some(end),
        };
        (taken, end)
    }

    fn whole(&self, status: u16) -> AnswerEnd {
        AnswerEnd::Whole { status, check: self.inspector.checked() }
    }

    /// Ends the request in flight. The connection survives only after a whole answer.
    fn end(&mut self, end: AnswerEnd, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        let is_whole = matches!(end, AnswerEnd::Whole { .. });
        self.has_answered |= is_whole;
        let keep = is_whole && self.next == Next::KeepOpen;
        self.state = if keep { State::Idle } else { State::Spent };
        let first_byte = self.first_byte.take().unwrap_or(now);
        let bytes = if end == AnswerEnd::Displaced { 0 } else { self.bytes };
        let (body_bytes, odd) = (self.inspector.size(), self.odd);
        answered(Answer { id: self.id, first_byte, end, bytes, body_bytes, odd });
    }

    fn forget_answer(&mut self) {
        self.head.clear();
        self.inspector.restart();
        self.first_byte = None;
        self.bytes = 0;
        self.interim = 0;
        self.odd = Quirk::default();
        self.next = Next::KeepOpen;
    }
}

impl Protocol for Http1 {
    fn room(&self) -> bool {
        self.state == State::Idle
    }

    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd> {
        debug_assert!(self.room(), "one request at a time on an HTTP/1 connection");
        self.forget_answer();
        self.id = id;
        self.shape = request.answer;
        self.closes = request.closes;
        self.state = State::Head;
        request::append(request, self.habits, out);
        None
    }

    fn cancel(&mut self, _: RequestId, _: &mut Vec<u8>) -> Next {
        self.state = State::Spent;
        Next::Close
    }

    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer)) {
        if bytes.is_empty() || self.state == State::Spent {
            return;
        }
        if self.state == State::Idle {
            // No request waits for these bytes. Whatever they are, they could not be distinguished
            // from the next answer. A head is no surplus: with it a server says why it will close.
            let prefix = &Head::PREFIX[..bytes.len().min(Head::PREFIX.len())];
            let is_surplus = self.has_answered && !bytes.starts_with(prefix);
            self.aside.surplus_answers += u64::from(is_surplus);
            self.state = State::Spent;
            return;
        }
        self.first_byte.get_or_insert(came);
        let (used, end) = self.take(bytes);
        self.bytes += used as u64;
        let Some(end) = end else { return self.inspector.read_ended(bytes) };
        // Of a bad answer, an example shows everything that arrived, not only the bytes up to the
        // wrong one.
        let whole = matches!(end, AnswerEnd::Whole { .. });
        self.inspector.ended(if whole { &bytes[..used] } else { bytes }, end);
        self.end(end, came, answered);
        if used < bytes.len() {
            self.aside.surplus_answers += u64::from(whole);
            self.state = State::Spent;
        }
    }

    fn peer_closed(&mut self, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        match self.state {
            State::Idle | State::Spent => {}
            State::Body { status, body: Body::UntilClose } => {
                let end = self.whole(status);
                self.inspector.ended(&[], end);
                self.end(end, now, answered);
            }
            State::Head | State::Body { .. } => self.end(AnswerEnd::CutShort, now, answered),
        }
        self.state = State::Spent;
    }

    fn is_whole_at_close(&self, id: RequestId) -> bool {
        self.id == id && matches!(self.state, State::Body { body: Body::UntilClose, .. })
    }

    fn status(&self, id: RequestId) -> Option<u16> {
        match self.state {
            State::Body { status, .. } if self.id == id => Some(status),
            _ => None,
        }
    }

    fn take_aside(&mut self) -> Aside {
        std::mem::take(&mut self.aside)
    }

    fn after_answer(&self) -> Next {
        match self.state {
            State::Spent => Next::Close,
            State::Idle | State::Head | State::Body { .. } => Next::KeepOpen,
        }
    }

    fn first_byte(&self, id: RequestId) -> Option<Nanos> {
        self.first_byte.filter(|_| self.id == id)
    }

    fn excerpt(&self, id: RequestId, failed: Option<Failed>) -> Excerpt {
        debug_assert!(self.id == id, "of the only request");
        excerpt::of(&self.inspector, failed, self.head.limit())
    }

    fn reset(&mut self) {
        self.forget_answer();
        self.head.shrink();
        self.has_answered = false;
        self.state = State::Idle;
    }
}

/// Most bytes of one head: twice the largest default of common servers (nginx sends at most 8
/// buffers of 4–8 KiB from an upstream). phantom and wrk allow less.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Most interim answers before a final one. Real servers send one or two (100, 103). Without a
/// bound a server could hold a request in the head for its whole timeout.
const INTERIM_MAX: u32 = 64;
