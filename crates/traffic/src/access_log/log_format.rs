//! A log's format as the server's configuration has it: nginx's `log_format` and Apache's
//! `LogFormat`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::fields::{Fields, Holds, holds};
use super::record::{Line, unescape};

/// How the lines of an access log are written. As data it is the text that it was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LogFormat {
    text: String,
    parts: Vec<Part>,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// These bytes.
    Literal(Vec<u8>),
    /// The value of this variable.
    Field(String),
}

/// Why a text is no format of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("log format `{text}`: {what} at column {column}")]
pub struct LogFormatError {
    /// The text.
    pub text: String,
    /// The character at which it is wrong; the first one is 1.
    pub column: usize,
    /// What is wrong there.
    pub what: LogFormatMistake,
}

/// What is wrong with a log's format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFormatMistake {
    /// A `$` or `%` with no name after it.
    #[error("no variable follows `{sign}`")]
    NoVariable {
        /// The sign.
        sign: char,
    },
    /// A brace without its end.
    #[error("`{{` is not closed")]
    NotClosed,
    /// Two variables of which nobody can tell where the first one ends.
    #[error("nothing is between the variables `{before}` and `{after}`")]
    Adjacent {
        /// The first.
        before: String,
        /// The second.
        after: String,
    },
    /// A quote within `log_format` or `LogFormat` that is not closed.
    #[error("the quote is not closed")]
    QuoteNotClosed,
    /// No variable for the request.
    #[error("the request is missing")]
    NoRequest,
}

impl LogFormatError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self.what {
            LogFormatMistake::NoRequest => {
                "it needs $request, or $request_method and $request_uri; in Apache's words %r, or %m and %U"
            }
            LogFormatMistake::Adjacent { .. } => "the log needs a character between the two",
            _ => "copy nginx's log_format or Apache's LogFormat as the configuration has it",
        }
    }
}

impl LogFormat {
    /// The request of a line.
    pub(super) fn read(&self, line: &[u8]) -> Line {
        let Some(fields) = self.fields(line) else { return Line::Other };
        match fields.line() {
            Line::Other => Line::NotHttp,
            line => line,
        }
    }

    /// The fields of a line; `None` for a line that is not written so.
    fn fields(&self, line: &[u8]) -> Option<Fields> {
        let mut fields = Fields::default();
        let mut rest = line;
        for (place, part) in self.parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_slice())?,
                Part::Field(name) => {
                    let end = match self.parts.get(place + 1) {
                        Some(Part::Literal(next)) => end_before(rest, next)?,
                        Some(Part::Field(_)) => end_before(rest, b"/")?,
                        None => rest.len(),
                    };
                    fields.add(name, &unescape(&rest[..end]));
                    rest = &rest[end..];
                }
            }
        }
        // A server of a later version may add something at the end.
        Some(fields)
    }
}

/// Where a value ends that this literal follows. A quote in the value is escaped.
fn end_before(text: &[u8], literal: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    (0..text.len()).find(|place| {
        let ends = !is_escaped && text[*place..].starts_with(literal);
        is_escaped = text[*place] == b'\\' && !is_escaped;
        ends
    })
}

impl FromStr for LogFormat {
    type Err = LogFormatError;

    fn from_str(text: &str) -> Result<LogFormat, LogFormatError> {
        let wrong = |place: usize, what| {
            let column = text[..place].chars().count() + 1;
            LogFormatError { text: text.to_owned(), column, what }
        };
        let chars =
            of_directive(text).map_err(|place| wrong(place, LogFormatMistake::QuoteNotClosed))?;
        let parts = parts(&chars).map_err(|(place, what)| wrong(place, what))?;
        let names = || {
            parts.iter().filter_map(|part| match part {
                Part::Field(name) => Some(name.as_str()),
                Part::Literal(_) => None,
            })
        };
        let mut probe = Fields::default();
        names().for_each(|name| probe.add(name, probe_value(name).as_bytes()));
        if !matches!(probe.line(), Line::Request(_)) {
            return Err(wrong(text.len(), LogFormatMistake::NoRequest));
        }
        Ok(LogFormat { text: text.to_owned(), parts })
    }
}

/// A value with which the fields of a complete format make a request.
fn probe_value(name: &str) -> &'static str {
    match name {
        "request" => "GET / HTTP/1.1",
        _ if name.contains("method") => "GET",
        _ => "/",
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for LogFormat {
    type Error = LogFormatError;

    fn try_from(text: String) -> Result<LogFormat, LogFormatError> {
        text.parse()
    }
}

impl From<LogFormat> for String {
    fn from(format: LogFormat) -> String {
        format.text
    }
}

/// The characters of the format with their places: of a whole directive, those in its quotes. An
/// error is the place of a quote that is not closed.
fn of_directive(text: &str) -> Result<Vec<(usize, char)>, usize> {
    let begin = text.len() - text.trim_start().len();
    let word = text[begin..].split_whitespace().next().unwrap_or_default();
    let is_nginx = word == "log_format";
    if !is_nginx && !word.eq_ignore_ascii_case("logformat") {
        return Ok(text.char_indices().collect());
    }
    let (mut out, mut quote) = (Vec::new(), None);
    let mut chars = text.char_indices().skip_while(|(place, _)| *place < begin + word.len());
    while let Some((place, char)) = chars.next() {
        match (quote, char) {
            (None, '\'' | '"') => quote = Some((place, char)),
            (Some((_, open)), char) if open == char => {
                quote = None;
                // Apache has a name after it, nginx further pieces.
                if !is_nginx {
                    return Ok(out);
                }
            }
            (Some(_), '\\') => out.extend(chars.next().map(|(_, escaped)| (place, escaped))),
            (Some(_), char) => out.push((place, char)),
            (None, _) => {}
        }
    }
    quote.map_or(Ok(out), |(place, _)| Err(place))
}

type Mistake = (usize, LogFormatMistake);

fn parts(chars: &[(usize, char)]) -> Result<Vec<Part>, Mistake> {
    let is_apache = !chars.iter().any(|(_, char)| *char == '$');
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = chars;
    while let [(place, char), after @ ..] = rest {
        rest = after;
        let field = match (char, is_apache) {
            ('%', true) if rest.first().is_some_and(|(_, next)| *next == '%') => {
                rest = &rest[1..];
                None
            }
            ('%', true) => Some(of_apache(*place, &mut rest)?),
            ('$', false) => Some(of_nginx(*place, &mut rest)?),
            _ => None,
        };
        match (field, parts.last_mut()) {
            (Some(after), Some(Part::Field(before))) => match (holds(before), holds(&after)) {
                // `%U%q`, `$uri$is_args$args`: one target.
                (Holds::Target, Holds::Query) => {}
                // A target begins with a slash, which no host has.
                (Holds::Host, Holds::Target) => parts.push(Part::Field(after)),
                _ => {
                    let before = before.clone();
                    return Err((*place, LogFormatMistake::Adjacent { before, after }));
                }
            },
            (Some(name), _) => parts.push(Part::Field(name)),
            (None, Some(Part::Literal(literal))) => literal.extend(char.to_string().bytes()),
            (None, _) => parts.push(Part::Literal(char.to_string().into_bytes())),
        }
    }
    bracket_times(&mut parts);
    Ok(parts)
}

/// Apache writes the brackets of `%t` itself.
fn bracket_times(parts: &mut Vec<Part>) {
    let mut place = 0;
    while place < parts.len() {
        if parts[place] == Part::Field(BRACKETED_TIME.to_owned()) {
            parts[place] = Part::Field("time".to_owned());
            parts.insert(place, Part::Literal(b"[".to_vec()));
            parts.insert(place + 2, Part::Literal(b"]".to_vec()));
        }
        place += 1;
    }
    // Neighbours of the brackets are one literal with them.
    parts.dedup_by(|next, before| match (before, next) {
        (Part::Literal(before), Part::Literal(next)) => {
            before.append(next);
            true
        }
        _ => false,
    });
}

/// `$request_uri`, `${request_uri}`
fn of_nginx(place: usize, rest: &mut &[(usize, char)]) -> Result<String, Mistake> {
    if let Some((_, '{')) = rest.first() {
        return braced(rest).ok_or((place, LogFormatMistake::NotClosed));
    }
    let is_of_name = |(_, char): &&(usize, char)| char.is_ascii_alphanumeric() || *char == '_';
    let length = rest.iter().take_while(is_of_name).count();
    if length == 0 {
        return Err((place, LogFormatMistake::NoVariable { sign: '$' }));
    }
    let name = rest[..length].iter().map(|(_, char)| char).collect();
    *rest = &rest[length..];
    Ok(name)
}

/// `%>s`, `%{Referer}i`, `%!200,304{User-agent}i`, `%^FU`; the name that the table of fields has.
fn of_apache(place: usize, rest: &mut &[(usize, char)]) -> Result<String, Mistake> {
    let mut argument = String::new();
    loop {
        let Some((_, char)) = rest.first().copied() else {
            return Err((place, LogFormatMistake::NoVariable { sign: '%' }));
        };
        if char == '{' {
            let of_brace = rest[0].0;
            argument = braced(rest).ok_or((of_brace, LogFormatMistake::NotClosed))?;
            continue;
        }
        *rest = &rest[1..];
        let name = match (char, argument.to_ascii_lowercase().as_str()) {
            ('0'..='9' | '!' | ',' | '<' | '>', _) => continue,
            ('^', _) => {
                // `%^FU`, `%^ti`: two more letters.
                *rest = rest.get(2..).unwrap_or_default();
                "-".to_owned()
            }
            ('r', _) => "request".to_owned(),
            ('m', _) => "method".to_owned(),
            ('U', _) => "path".to_owned(),
            ('q', _) => "query".to_owned(),
            ('s', _) => "status".to_owned(),
            ('t', "") => BRACKETED_TIME.to_owned(),
            ('t', _) => "time".to_owned(),
            ('i', "host") | ('v' | 'V', _) => "host".to_owned(),
            ('a'..='z' | 'A'..='Z', _) => format!("%{argument}{char}"),
            _ => return Err((place, LogFormatMistake::NoVariable { sign: '%' })),
        };
        return Ok(name);
    }
}

/// What is between braces, which are taken with it; `None`: they are not closed.
fn braced(rest: &mut &[(usize, char)]) -> Option<String> {
    let end = rest.iter().position(|(_, char)| *char == '}')?;
    let inner = rest[1..end].iter().map(|(_, char)| char).collect();
    *rest = &rest[end + 1..];
    Some(inner)
}

const BRACKETED_TIME: &str = "[time]";
