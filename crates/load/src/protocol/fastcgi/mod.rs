//! FastCGI as a web server speaks it to php-fpm (FastCGI Specification 1.0). It measures what a
//! load costs without the web server.
//!
//! There is one request at a time per connection, as with nginx. An answer is a CGI head and a body
//! (RFC 3875 section 6) in `STDOUT` records. It is whole when the server ended the request in
//! order. However it is split into reads and records, the same [`Answer`] comes out, and nothing is
//! allocated for it. The head buffer is used only where a piece ends inside a head, and is kept for
//! the life of the slot.

mod excerpt;
mod head;
pub mod record;
mod request;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod torn;

use stampede_model::load::ConnectionHabit;
use stampede_model::time::Nanos;

use super::head::{HeadReader, HeadStep, SharedParsing};
use super::http1::HEAD_BYTES_MAX;
use super::{Answer, AnswerEnd, Aside, Excerpt, Next, Protocol, Quirk, RequestId};
use crate::check::{Check, Failed, Inspector, Sink};
use head::Head;
use record::{END_BYTES, KeepConnection, Kind, RecordReader, RecordStep};
pub use request::request;
use stampede_traffic::answer::AnswerShape;
use stampede_traffic::request::{Content, Request};
pub use stampede_traffic::script::Script;

/// One connection that speaks FastCGI.
#[derive(Debug)]
pub struct FastCgi {
    habit: ConnectionHabit,
    records: RecordReader,
    head: HeadReader<Head>,
    inspector: Inspector,
    state: State,
    /// The request in flight, or the last one.
    id: RequestId,
    shape: AnswerShape,
    first_byte: Option<Nanos>,
    /// Bytes of the answer in progress, record headers and `STDERR` included.
    bytes: u64,
    /// Whether the `STDOUT` stream has ended.
    stdout_ended: bool,
    /// Content of the record that ends the request.
    end: [u8; END_BYTES],
    end_bytes: usize,
    aside: Aside,
    /// Whether this connection has carried a whole answer.
    has_answered: bool,
    /// What was odd about the head of the answer in progress.
    odd: Quirk,
}

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// No request is in flight; another may start.
    Idle,
    /// A request is in flight, and the head of its answer has not ended.
    Head,
    /// The head was taken. `left`: announced bytes of the body that did not arrive yet.
    Body { status: u16, left: Option<u64> },
    /// No request is in flight, and none may start until `reset`.
    Spent,
}

impl FastCgi {
    /// The state of a connection that will be opened.
    pub fn new(check: &Check, habit: ConnectionHabit) -> FastCgi {
        FastCgi::with_head_limit(check, habit, HEAD_BYTES_MAX)
    }

    /// Like [`FastCgi::new`], with another limit of a head's bytes; at least 64.
    pub fn with_head_limit(
        check: &Check,
        habit: ConnectionHabit,
        head_bytes_max: usize,
    ) -> FastCgi {
        FastCgi::with_shared(&SharedParsing::new(check), habit, head_bytes_max)
    }

    /// The state of one of many connections of a load thread.
    pub(crate) fn with_shared(
        common: &SharedParsing<Head>,
        habit: ConnectionHabit,
        head_bytes_max: usize,
    ) -> FastCgi {
        FastCgi {
            habit,
            records: RecordReader::new(),
            head: HeadReader::new(head_bytes_max.max(64), common),
            inspector: Inspector::new(&common.inspection),
            state: State::Idle,
            id: RequestId(0),
            shape: AnswerShape::ByHeaders,
            first_byte: None,
            bytes: 0,
            stdout_ended: false,
            end: [0; END_BYTES],
            end_bytes: 0,
            aside: Aside::default(),
            has_answered: false,
            odd: Quirk::default(),
        }
    }

    /// Takes bytes of the answer in progress up to its end. Returns how many were taken, and how it
    /// ended; `None` where it needs more bytes.
    fn take(&mut self, bytes: &[u8]) -> (usize, Option<AnswerEnd>) {
        let mut used = 0;
        loop {
            let (taken, step) = self.records.take(&bytes[used..]);
            let ended = match step {
                RecordStep::NeedMore => return (used + taken, None),
                RecordStep::Bad => Some((taken, AnswerEnd::Malformed)),
                RecordStep::Content(kind, content) => {
                    let ended = self.take_content(kind, content);
                    // A bad byte of the content is the last one taken.
                    ended.map(|(in_content, end)| (taken - content.len() + in_content, end))
                }
                RecordStep::End { kind: Kind::End, .. } => Some((taken, self.ended())),
                RecordStep::End { kind: Kind::Stdout, empty: true } => {
                    self.stdout_ended = true;
                    None
                }
                RecordStep::End { .. } => None,
            };
            match ended {
                Some((taken, end)) => return (used + taken, Some(end)),
                None => used += taken,
            }
        }
    }

    /// Takes content of a record. Returns `Some` where the answer fails, and after how many bytes.
    fn take_content(&mut self, kind: Kind, content: &[u8]) -> Option<(usize, AnswerEnd)> {
        match kind {
            Kind::Stdout if self.stdout_ended => Some((1, AnswerEnd::Malformed)),
            Kind::Stdout => self.take_stdout(content),
            Kind::Stderr => {
                self.aside.stderr_bytes += content.len() as u64;
                None
            }
            Kind::End => {
                self.end[self.end_bytes..][..content.len()].copy_from_slice(content);
                self.end_bytes += content.len();
                None
            }
        }
    }

    fn take_stdout(&mut self, content: &[u8]) -> Option<(usize, AnswerEnd)> {
        let mut body = content;
        if self.state == State::Head {
            let (taken, step) = self.head.take(content);
            match step {
                HeadStep::NeedMore => return None,
                HeadStep::Foreign => return Some((taken, AnswerEnd::Malformed)),
                HeadStep::Bad(end) => return Some((taken, end)),
                HeadStep::Complete(Head { status, length, odd }) => {
                    self.odd = odd;
                    self.inspector.head(self.head.raw(&content[..taken]), status, self.shape);
                    self.head.clear();
                    self.state = State::Body { status, left: length };
                    body = &content[taken..];
                }
            }
        }
        let State::Body { left, .. } = &mut self.state else { return None };
        // More than announced is cut off, as web servers do: the records say where the answer ends.
        let announced = left
            .map_or(body.len(), |left| usize::try_from(left).unwrap_or(usize::MAX).min(body.len()));
        *left = left.map(|left| left - announced as u64);
        self.inspector.piece(&body[..announced]);
        None
    }

    /// How the answer ended, now that the server has ended the request. The app's exit status does
    /// not count, as for any web server: what the app has to say is in its HTTP status.
    fn ended(&self) -> AnswerEnd {
        let protocol_status = self.end[4];
        match (protocol_status, self.state) {
            (REQUEST_COMPLETE, State::Body { status, left }) => self.complete(status, left),
            (CANNOT_MULTIPLEX..=UNKNOWN_ROLE, _) => AnswerEnd::Rejected,
            _ => AnswerEnd::Malformed,
        }
    }

    fn complete(&self, status: u16, left: Option<u64>) -> AnswerEnd {
        let bodyless = self.shape == AnswerShape::NoBody;
        if left.is_some_and(|left| left > 0) && !bodyless && !matches!(status, 204 | 304) {
            return AnswerEnd::CutShort;
        }
        AnswerEnd::Whole { status, check: self.inspector.checked() }
    }

    /// Ends the request in flight. The connection survives only after a whole answer.
    fn end(&mut self, end: AnswerEnd, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        let kept = self.habit == ConnectionHabit::KeepAlive;
        let is_whole = matches!(end, AnswerEnd::Whole { .. });
        self.has_answered |= is_whole;
        let keep = kept && is_whole;
        self.state = if keep { State::Idle } else { State::Spent };
        let first_byte = self.first_byte.take().unwrap_or(now);
        let (bytes, body_bytes, odd) = (self.bytes, self.inspector.size(), self.odd);
        answered(Answer { id: self.id, first_byte, end, bytes, body_bytes, odd });
    }

    fn forget_answer(&mut self) {
        self.head.clear();
        self.inspector.restart();
        self.first_byte = None;
        self.bytes = 0;
        self.stdout_ended = false;
        self.end_bytes = 0;
        self.odd = Quirk::default();
    }
}

impl Protocol for FastCgi {
    fn room(&self) -> bool {
        self.state == State::Idle
    }

    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd> {
        debug_assert!(self.room(), "one request at a time on a FastCGI connection");
        self.forget_answer();
        self.id = id;
        self.shape = request.answer;
        self.state = State::Head;
        let keep = match self.habit {
            ConnectionHabit::KeepAlive => KeepConnection::Yes,
            ConnectionHabit::PerRequest => KeepConnection::No,
        };
        match request.content() {
            Content::Encoded(bytes) => out.extend_from_slice(bytes),
            Content::Message(message) => request::encode(message, keep, out),
        }
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
            // from the next answer.
            self.aside.surplus_answers += u64::from(self.has_answered);
            self.state = State::Spent;
            return;
        }
        self.first_byte.get_or_insert(came);
        let (used, end) = self.take(bytes);
        self.bytes += used as u64;
        let Some(end) = end else { return self.inspector.read_ended(bytes) };
        let whole = matches!(end, AnswerEnd::Whole { .. });
        self.inspector.ended(if whole { &bytes[..used] } else { bytes }, end);
        self.end(end, came, answered);
        if used < bytes.len() {
            self.aside.surplus_answers += u64::from(whole);
            self.state = State::Spent;
        }
    }

    fn peer_closed(&mut self, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        if matches!(self.state, State::Head | State::Body { .. }) {
            self.end(AnswerEnd::CutShort, now, answered);
        }
        self.state = State::Spent;
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
        excerpt::of(&self.inspector, failed)
    }

    fn reset(&mut self) {
        self.forget_answer();
        self.records = RecordReader::new();
        self.head.shrink();
        self.has_answered = false;
        self.state = State::Idle;
    }
}

/// Protocol status of an ended request (section 5.5). Between the last two is the status of an
/// overloaded server; `CANNOT_MULTIPLEX` refuses a second request.
const REQUEST_COMPLETE: u8 = 0;
const CANNOT_MULTIPLEX: u8 = 1;
const UNKNOWN_ROLE: u8 = 3;
