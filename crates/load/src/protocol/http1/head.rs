//! Parses the head of an answer: status line and header fields.

use std::mem::MaybeUninit;

use stampede_model::load::HttpVersion;

use super::body::Body;
use super::chunked::Chunked;
use crate::protocol::Next;
use stampede_traffic::answer::{AnswerEnd, AnswerShape, Quirk};
use stampede_traffic::fields::{self, ConnectionHeader, decimal, elements};

/// The parts of a head that matter for reading the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Status as on the wire, 0 to 999.
    pub(super) status: u16,
    /// Minor version of HTTP/1.x, 0 or 1.
    minor: u8,
    length: Length,
    coding: Coding,
    connection: ConnectionHeader,
    /// What was odd about its lines.
    pub(super) odd: Quirk,
}

/// Content-Length, combined over all its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Absent,
    Bytes(u64),
    /// Not a number, too large for 64 bits, or several values that differ.
    Bad,
}

/// Transfer-Encoding, combined over all its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Absent,
    /// The last coding is chunked.
    Chunked,
    /// The last coding is another one: the close delimits the body.
    Other,
    /// Chunked twice.
    Bad,
}

/// The framing of a body contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadFraming;

/// No answer to a request of ours may have this status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadStatus;

impl Head {
    /// Whether another head follows: the status is 1xx (RFC 9110 section 15.2).
    pub(super) fn is_interim(&self) -> Result<bool, BadStatus> {
        match self.status {
            // We never ask for an upgrade, so no server may switch protocols.
            101 => Err(BadStatus),
            100..=199 => Ok(true),
            200.. => Ok(false),
            _ => Err(BadStatus),
        }
    }

    /// How the body is delimited, by the rules of RFC 9112 section 6.3 in their order.
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

    /// Whether the connection may be reused (RFC 9112 section 9.3). The older version of both sides
    /// decides. A client that asked with HTTP/1.0 needs a `keep-alive` even from a server that
    /// answers with 1.1, as most do.
    pub(super) fn next(&self, asked: HttpVersion, body: Body) -> Next {
        let old = asked == HttpVersion::Http10 || self.minor == 0;
        let kept = match self.connection {
            ConnectionHeader::Close => false,
            ConnectionHeader::KeepAlive => true,
            ConnectionHeader::Absent => !old,
        };
        // Two framings at once, or chunks from HTTP/1.0, are used to smuggle answers. This answer
        // counts, but nothing more is read from the connection (RFC 9112 section 6.1).
        let suspicious =
            self.coding != Coding::Absent && (self.minor == 0 || self.length != Length::Absent);
        if kept && !suspicious && body != Body::UntilClose { Next::KeepOpen } else { Next::Close }
    }
}

impl crate::protocol::head::HeadGrammar for Head {
    const PREFIX: &'static [u8] = b"HTTP/1.";

    fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
        parse(bytes)
    }
}

/// Parses the head at the start of `bytes` and returns it with its length; `None` where it is not
/// complete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
    let parsed = parse_lines(bytes)?;
    Ok(parsed.map(|(length, mut head)| {
        // A CR anywhere else is malformed, so each one belongs to the end of a line.
        let count = |byte| bytes[..length].iter().filter(|one| **one == byte).count();
        if count(b'\r') != count(b'\n') {
            head.note(Quirk::BARE_LF);
        }
        (length, head)
    }))
}

fn parse_lines(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
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
        Err(_) => return parse_odd(bytes),
    };
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(AnswerEnd::Malformed);
    };
    let mut head = Head::new(status, minor, empty_before(bytes).1);
    for field in response.headers.iter() {
        head.field(field.name.as_bytes(), field.value);
    }
    Ok(Some((length, head)))
}

/// Parses a head with odd lines.
#[cold]
fn parse_odd(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
    let (empty, odd) = empty_before(bytes);
    let after = &bytes[empty..];
    let Some(end) = after.iter().position(|byte| *byte == b'\n') else {
        return Err(AnswerEnd::Malformed);
    };
    let (line, lines) = after.split_at(end + 1);
    let mut response = httparse::Response::new(&mut []);
    let mut parser = httparse::ParserConfig::default();
    parser.allow_multiple_spaces_in_response_status_delimiters(true);
    // Without its fields the head is partial; an error means that the line itself is wrong.
    let (Ok(httparse::Status::Partial), Some(status), Some(minor)) =
        (parser.parse_response(&mut response, line), response.code, response.version)
    else {
        return Err(AnswerEnd::Malformed);
    };
    let mut head = Head::new(status, minor, odd);
    if line[VERSION_BYTES..].starts_with(b"  ") {
        head.note(Quirk::WIDE);
    }
    let read = fields::read(lines, FIELDS_MAX, |field| head.field(field.name, field.value))?;
    Ok(read.map(|(length, odd)| {
        head.note(odd);
        (empty + line.len() + length, head)
    }))
}

/// Bytes of empty lines before a status line, and what is odd about them.
fn empty_before(bytes: &[u8]) -> (usize, Quirk) {
    let empty = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    (empty, if empty > 0 { Quirk::EMPTY } else { Quirk::default() })
}

impl Head {
    fn new(status: u16, minor: u8, odd: Quirk) -> Head {
        let (length, coding, connection) =
            (Length::Absent, Coding::Absent, ConnectionHeader::Absent);
        Head { status, minor, length, coding, connection, odd }
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        // Compare the length first: it rules out almost every other field.
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                for element in elements(value) {
                    if self.length != Length::Absent {
                        self.note(Quirk::REPEATED);
                    }
                    self.length = self.length.merge(element);
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                for element in elements(value) {
                    if element.eq_ignore_ascii_case(b"identity") {
                        self.note(Quirk::IDENTITY);
                    }
                    self.coding = self.coding.merge(element);
                }
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                elements(value)
                    .for_each(|element| self.connection = self.connection.merge(element));
            }
            _ => {}
        }
    }

    fn note(&mut self, odd: Quirk) {
        self.odd = self.odd.union(odd);
    }
}

impl Length {
    /// Adds an element. Equal numbers count as one (RFC 9110 section 8.6); a sign is no digit.
    fn merge(self, element: &[u8]) -> Length {
        match (self, decimal(element)) {
            (Length::Absent, Some(bytes)) => Length::Bytes(bytes),
            (Length::Bytes(before), Some(bytes)) if before == bytes => self,
            _ => Length::Bad,
        }
    }
}

impl Coding {
    fn merge(self, element: &[u8]) -> Coding {
        let chunked = element.eq_ignore_ascii_case(b"chunked");
        match self {
            // An empty list element means nothing (RFC 9110 section 5.6.1.2). Neither does
            // `identity`: RFC 2616 defined it, and apps still send it together with a length.
            _ if element.is_empty() || element.eq_ignore_ascii_case(b"identity") => self,
            Coding::Bad => Coding::Bad,
            Coding::Chunked if chunked => Coding::Bad,
            _ if chunked => Coding::Chunked,
            _ => Coding::Other,
        }
    }
}

/// Length of `HTTP/1.1`, which a blank follows.
const VERSION_BYTES: usize = 8;
/// Most header fields of one head; more are `HeadTooLarge`. curl and nginx allow fewer. They are on
/// the stack and uninitialised: 8 KiB that cost nothing.
const FIELDS_MAX: usize = 256;
