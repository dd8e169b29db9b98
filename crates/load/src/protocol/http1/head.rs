//! The head of an answer: status line and header fields.

use std::mem::MaybeUninit;

use super::body::Body;
use super::chunked::Chunked;
use crate::ammo::AnswerShape;
use crate::protocol::{AnswerEnd, Next};
use crate::spec::HttpVersion;

/// What of a head matters to whoever reads the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// As on the wire, 0 to 999.
    pub(super) status: u16,
    /// 0 or 1, of HTTP/1.x.
    minor: u8,
    length: Length,
    coding: Coding,
    connection: Said,
}

/// Content-Length, over all its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Absent,
    Bytes(u64),
    /// Not a number, too large for 64 bits, or several that differ.
    Bad,
}

/// Transfer-Encoding, over all its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Absent,
    /// The last coding is chunked.
    Chunked,
    /// The last coding is another: the close delimits the body.
    Other,
    /// Chunked twice.
    Bad,
}

/// Connection, over all its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    KeepAlive,
    Close,
}

/// A body's framing contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadFraming;

impl Head {
    /// How the body is delimited: RFC 9112 section 6.3, in its order.
    pub(super) fn body(&self, shape: AnswerShape) -> Result<Body, BadFraming> {
        if shape == AnswerShape::NoBody || matches!(self.status, 204 | 304) {
            return Ok(Body::Length(0));
        }
        match (self.coding, self.length) {
            (Coding::Bad, _) | (Coding::Absent, Length::Bad) => Err(BadFraming),
            (Coding::Chunked, _) => Ok(Body::Chunked(Chunked::new())),
            (Coding::Other, _) | (Coding::Absent, Length::Absent) => Ok(Body::UntilClose),
            (Coding::Absent, Length::Bytes(bytes)) => Ok(Body::Length(bytes)),
        }
    }

    /// Whether the server lets the connection live on (RFC 9112 section 9.3). We keep to
    /// the older version of the two: whoever asked as HTTP/1.0 needs a `keep-alive` even
    /// from a server that answers as 1.1, as most do.
    pub(super) fn next(&self, asked: HttpVersion, body: Body) -> Next {
        let old = asked == HttpVersion::Http10 || self.minor == 0;
        let kept = match self.connection {
            Said::Close => false,
            Said::KeepAlive => true,
            Said::Nothing => !old,
        };
        // Two framings at once, or chunks from HTTP/1.0, are how answers get smuggled:
        // what was read stands, but nothing more is read here (RFC 9112 section 6.1).
        let suspicious =
            self.coding != Coding::Absent && (self.minor == 0 || self.length != Length::Absent);
        if kept && !suspicious && body != Body::UntilClose { Next::KeepOpen } else { Next::Close }
    }
}

/// Reads one head after another out of torn reads.
#[derive(Debug)]
pub(super) struct HeadReader {
    /// The head so far, where a read ended inside one; all of it until it is cleared; else
    /// empty.
    buffer: Vec<u8>,
    limit: usize,
}

/// What became of the bytes that the reader was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadStep {
    /// All were taken, more must come.
    NeedMore,
    /// The head ends with the last byte taken.
    Complete(Head),
    /// Not a head, or too large a one.
    Bad(AnswerEnd),
}

impl HeadReader {
    /// For heads of `limit` bytes at most.
    pub(super) fn new(limit: usize) -> HeadReader {
        HeadReader { buffer: Vec::new(), limit }
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
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, HeadStep) {
        if self.buffer.is_empty()
            && bytes.starts_with(PREFIX)
            && let Ok(Some((length, head))) = parse(bytes)
            && length <= self.limit
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

    /// What the buffer is, after a line or a part of one was added. A head has at most
    /// [`FIELDS_MAX`] lines, so parsing it again at each is bounded.
    fn decide(&self) -> HeadStep {
        if self.buffer.ends_with(b"\n") {
            match parse(&self.buffer) {
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

    /// The first byte that no answer of HTTP/1.x begins with; what is not HTTP at all
    /// should not have to wait for a line's end, or a timeout, to be told.
    fn prefix_differs_at(&self) -> Option<usize> {
        self.buffer.iter().zip(PREFIX).position(|(is, should)| is != should)
    }
}

fn line_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
}

/// The head at the start of `bytes` with its length, `None` where it goes on.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let length = match httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut fields,
    ) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(AnswerEnd::HeadTooLarge),
        Err(_) => return Err(AnswerEnd::Malformed),
    };
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(AnswerEnd::Malformed);
    };
    let mut head = Head {
        status,
        minor,
        length: Length::Absent,
        coding: Coding::Absent,
        connection: Said::Nothing,
    };
    for field in response.headers.iter() {
        head.field(field.name, field.value);
    }
    Ok(Some((length, head)))
}

impl Head {
    fn field(&mut self, name: &str, value: &[u8]) {
        // The length first: almost every field is told apart by it.
        match name.len() {
            14 if name.eq_ignore_ascii_case("content-length") => {
                elements(value).for_each(|element| self.length = self.length.and(element));
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                elements(value).for_each(|element| self.coding = self.coding.and(element));
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                elements(value).for_each(|element| self.connection = self.connection.and(element));
            }
            _ => {}
        }
    }
}

impl Length {
    /// Equal numbers count as one (RFC 9110 section 8.6), a sign is no digit.
    fn and(self, element: &[u8]) -> Length {
        match (self, decimal(element)) {
            (Length::Absent, Some(bytes)) => Length::Bytes(bytes),
            (Length::Bytes(before), Some(bytes)) if before == bytes => self,
            _ => Length::Bad,
        }
    }
}

impl Coding {
    fn and(self, element: &[u8]) -> Coding {
        let chunked = element.eq_ignore_ascii_case(b"chunked");
        match self {
            // An empty list element says nothing (RFC 9110 section 5.6.1.2).
            _ if element.is_empty() => self,
            Coding::Bad => Coding::Bad,
            Coding::Chunked if chunked => Coding::Bad,
            _ if chunked => Coding::Chunked,
            _ => Coding::Other,
        }
    }
}

impl Said {
    /// `close` wins over `keep-alive`, wherever it stands.
    fn and(self, element: &[u8]) -> Said {
        if self == Said::Close || element.eq_ignore_ascii_case(b"close") {
            Said::Close
        } else if element.eq_ignore_ascii_case(b"keep-alive") {
            Said::KeepAlive
        } else {
            self
        }
    }
}

/// The elements of a comma-separated list (RFC 9110 section 5.6.1), blanks off.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// How every answer of HTTP/1.x begins.
const PREFIX: &[u8] = b"HTTP/1.";

/// Header fields of one head; more are `HeadTooLarge`. curl and nginx stop at less. On the
/// stack, uninitialised: 8 KiB that cost nothing.
const FIELDS_MAX: usize = 256;

/// Capacity that a head buffer keeps for its next connection: the heads of usual answers.
const KEPT_BYTES: usize = 4096;
