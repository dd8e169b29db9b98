//! Parses the head of a CGI answer (RFC 3875 section 6): header fields without a status line.

use stampede_traffic::answer::{AnswerEnd, Quirk};
use stampede_traffic::fields;

/// The parts of a head that matter for reading the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Status, 200 to 999.
    pub(super) status: u16,
    /// Content-Length; `None` where the app does not send it.
    pub(super) length: Option<u64>,
    /// What was odd about its lines.
    pub(super) odd: Quirk,
}

impl crate::protocol::head::HeadGrammar for Head {
    const PREFIX: &'static [u8] = b"";

    fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
        parse(bytes)
    }
}

/// Parses the head at the start of `bytes` and returns it with its length; `None` where it is not
/// complete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let (length, fields) = match httparse::parse_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(complete)) => complete,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(AnswerEnd::HeadTooLarge),
        Err(_) => return parse_odd(bytes),
    };
    let mut cgi_fields = CgiFields::default();
    for field in fields {
        cgi_fields.field(field.name.as_bytes(), field.value).ok_or(AnswerEnd::Malformed)?;
    }
    Ok(Some((length, cgi_fields.head(Quirk::default()))))
}

/// Parses a head with odd lines.
#[cold]
fn parse_odd(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
    // A status line must not be skipped as an odd line: it means another protocol.
    if bytes.starts_with(b"HTTP/") {
        return Err(AnswerEnd::Malformed);
    }
    let (mut cgi_fields, mut is_sound) = (CgiFields::default(), true);
    let read = fields::read(bytes, FIELDS_MAX, |field| {
        is_sound &= cgi_fields.field(field.name, field.value).is_some();
    })?;
    match read {
        Some(_) if !is_sound => Err(AnswerEnd::Malformed),
        read => Ok(read.map(|(length, odd)| (length, cgi_fields.head(odd)))),
    }
}

#[derive(Default)]
struct CgiFields {
    status: Option<u16>,
    length: Option<u64>,
    location: bool,
}

impl CgiFields {
    /// Adds a field; `None` where the field is not allowed.
    fn field(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        // Compare the length first: it rules out almost every other field.
        match name.len() {
            6 if name.eq_ignore_ascii_case(b"status") => {
                let status = status(value)?;
                let before = self.status.replace(status);
                return before.is_none_or(|before| before == status).then_some(());
            }
            8 if name.eq_ignore_ascii_case(b"location") => self.location = true,
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = fields::decimal(value.trim_ascii())?;
                let before = self.length.replace(length);
                return before.is_none_or(|before| before == length).then_some(());
            }
            _ => {}
        }
        Some(())
    }

    /// The head. Without a status, a redirect is 302 and everything else 200 (section 6.2).
    fn head(self, odd: Quirk) -> Head {
        let otherwise = if self.location { 302 } else { 200 };
        Head { status: self.status.unwrap_or(otherwise), length: self.length, odd }
    }
}

/// Parses three digits, followed by nothing or by a blank and words.
fn status(value: &[u8]) -> Option<u16> {
    let (digits, reason) = value.trim_ascii().split_at_checked(3)?;
    let ends = reason.first().is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    // Only the web server may send interim answers.
    let status = fields::decimal(digits).filter(|status| ends && *status >= 200)?;
    u16::try_from(status).ok()
}

/// Most header fields of one head; more are `HeadTooLarge`. The buffer in which nginx reads a head
/// holds fewer.
const FIELDS_MAX: usize = 128;
