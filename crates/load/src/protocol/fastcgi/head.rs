//! The head of a CGI answer (RFC 3875 section 6): header fields, and no status line.

use crate::protocol::{AnswerEnd, Odd, fields};

/// What of a head matters to whoever reads the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// 200 to 999.
    pub(super) status: u16,
    /// Content-Length, where the app says one.
    pub(super) length: Option<u64>,
    /// What was odd about its lines.
    pub(super) odd: Odd,
}

impl crate::protocol::head::Head for Head {
    const PREFIX: &'static [u8] = b"";

    fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
        parse(bytes)
    }
}

/// The head at the start of `bytes` with its length, `None` where it goes on.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let (length, fields) = match httparse::parse_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(complete)) => complete,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(AnswerEnd::HeadTooLarge),
        Err(_) => return parse_odd(bytes),
    };
    let mut said = Said::default();
    for field in fields {
        said.field(field.name.as_bytes(), field.value).ok_or(AnswerEnd::Malformed)?;
    }
    Ok(Some((length, said.head(Odd::default()))))
}

/// The same of a head with odd lines.
#[cold]
fn parse_odd(bytes: &[u8]) -> Result<Option<(usize, Head)>, AnswerEnd> {
    // A status line is not a line to pass over: it is another protocol.
    if bytes.starts_with(b"HTTP/") {
        return Err(AnswerEnd::Malformed);
    }
    let (mut said, mut is_sound) = (Said::default(), true);
    let read = fields::read(bytes, FIELDS_MAX, |field| {
        is_sound &= said.field(field.name, field.value).is_some();
    })?;
    match read {
        Some(_) if !is_sound => Err(AnswerEnd::Malformed),
        read => Ok(read.map(|(length, odd)| (length, said.head(odd)))),
    }
}

#[derive(Default)]
struct Said {
    status: Option<u16>,
    length: Option<u64>,
    location: bool,
}

impl Said {
    /// `None`: no such field may be here.
    fn field(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        // The length first: almost every field is told apart by it.
        match name.len() {
            6 if name.eq_ignore_ascii_case(b"status") => {
                let status = status(value)?;
                let before = self.status.replace(status);
                return before.is_none_or(|before| before == status).then_some(());
            }
            8 if name.eq_ignore_ascii_case(b"location") => self.location = true,
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = number(value.trim_ascii())?;
                let before = self.length.replace(length);
                return before.is_none_or(|before| before == length).then_some(());
            }
            _ => {}
        }
        Some(())
    }

    /// Without a status a redirect is 302 and anything else 200 (section 6.2).
    fn head(self, odd: Odd) -> Head {
        let otherwise = if self.location { 302 } else { 200 };
        Head { status: self.status.unwrap_or(otherwise), length: self.length, odd }
    }
}

/// Three digits, then nothing or a blank and words.
fn status(value: &[u8]) -> Option<u16> {
    let (digits, reason) = value.trim_ascii().split_at_checked(3)?;
    let ends = reason.first().is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    // Interim answers are the web server's to give.
    let status = number(digits).filter(|status| ends && *status >= 200)?;
    u16::try_from(status).ok()
}

fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Header fields of one head; more are `HeadTooLarge`. nginx's buffer for a head holds
/// fewer.
const FIELDS_MAX: usize = 128;
