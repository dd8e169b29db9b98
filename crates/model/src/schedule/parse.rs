//! Parses segments from text, with the position of every mistake.

use super::error::{Problem, ScheduleError};
use super::rate::{MicroRate, RateError, parse_rate};
use super::{Segment, Segments, due};
use crate::quantity::{LONGEST, QuantityError, parse_length};
use crate::time::Nanos;

/// Known segments: name, form, number of values.
const KNOWN: [(&str, &str, usize); 3] = [
    ("line", "line(from,to,length)", 3),
    ("const", "const(rate,length)", 2),
    ("step", "step(from,to,by,length)", 4),
];

/// How similar two names must be to be suggested (Jaro-Winkler, 0 to 1).
const SIMILARITY_MIN: f64 = 0.7;

/// A part of the text: byte range.
#[derive(Clone, Copy)]
struct TextSpan {
    begin: usize,
    end: usize,
}

impl TextSpan {
    fn wrong(self, problem: Problem) -> ScheduleError {
        ScheduleError { offset: self.begin, length: self.end - self.begin, problem }
    }
}

/// Parses all segments.
pub(super) fn segments(text: &str) -> Result<Vec<Segment>, ScheduleError> {
    let mut found = Vec::new();
    let mut pieces = 0;
    let mut length = Nanos(0);
    let mut at = skip(text, 0, is_between);
    while at < text.len() {
        let (segment, whole) = one_segment(text, at)?;
        pieces += piece_count(segment, pieces).ok_or(whole.wrong(Problem::TooManyPieces))?;
        length = length.plus(segment.length());
        if length > LONGEST {
            return Err(whole.wrong(Problem::TooLong));
        }
        found.push(segment);
        at = skip(text, whole.end, is_between);
    }
    let all = TextSpan { begin: text.len() - text.trim_start().len(), end: text.trim_end().len() };
    if found.is_empty() {
        return Err(TextSpan { begin: 0, end: 0 }.wrong(Problem::Empty));
    }
    if due::planned(&found) == 0 {
        return Err(all.wrong(Problem::NoRequest));
    }
    Ok(found)
}

/// Checks that the values of a segment are within the range that text can have.
pub(super) fn valid(segment: &Segment) -> Result<(), Problem> {
    let (rates, length) = match *segment {
        Segment::Const { rate, length } => ([rate, rate], length),
        Segment::Line { from, to, length } => ([from, to], length),
        Segment::Step { by: MicroRate(0), .. } => return Err(Problem::StepByZero),
        Segment::Step { from, to, length, .. } => ([from, to], length),
    };
    if let Some(high) = rates.into_iter().find(|rate| *rate > MicroRate::HIGHEST) {
        return Err(Problem::RateOutOfRange { found: high.to_string() });
    }
    match length {
        Nanos(0) => Err(Problem::LengthOutOfRange { found: "0".to_owned() }),
        length if length > LONGEST => Err(Problem::TooLong),
        _ => Ok(()),
    }
}

/// Number of pieces of `segment`, counted without listing them. `None`: with `before` they are too
/// many.
pub(super) fn piece_count(segment: Segment, before: usize) -> Option<usize> {
    let count = match segment {
        Segment::Step { from, to, by, .. } => from.0.abs_diff(to.0).div_ceil(by.0) + 1,
        Segment::Const { .. } | Segment::Line { .. } => 1,
    };
    let count = usize::try_from(count).ok()?;
    (before + count <= Segments::PIECES_MAX).then_some(count)
}

/// The segment that begins at `at`, and its position.
fn one_segment(text: &str, at: usize) -> Result<(Segment, TextSpan), ScheduleError> {
    let name = TextSpan { begin: at, end: skip(text, at, |c| c.is_alphanumeric() || c == '_') };
    if name.begin == name.end {
        let found = text[at..].chars().next().unwrap_or(' ');
        return Err(
            TextSpan { begin: at, end: at + found.len_utf8() }.wrong(Problem::NoSegment { found })
        );
    }
    let written = &text[name.begin..name.end];
    let Some((kind, form, count)) = KNOWN.into_iter().find(|(known, ..)| *known == written) else {
        let problem =
            Problem::UnknownSegment { found: written.to_owned(), nearest: nearest(written) };
        return Err(name.wrong(problem));
    };
    let open = skip(text, name.end, char::is_whitespace);
    if !text[open..].starts_with('(') {
        return Err(name.wrong(Problem::NotOpened { segment: form }));
    }
    let Some(close) = text[open..].find(')').map(|i| open + i) else {
        let end = TextSpan { begin: text.trim_end().len(), end: text.trim_end().len() };
        return Err(end.wrong(Problem::NotClosed { segment: form }));
    };
    let values = values(text, open + 1, close);
    let inside = TextSpan { begin: open + 1, end: close };
    if values.len() != count {
        let found = if text[open + 1..close].trim().is_empty() { 0 } else { values.len() };
        return Err(inside.wrong(Problem::WrongCount { segment: form, found }));
    }
    Ok((build(text, kind, &values)?, TextSpan { begin: at, end: close + 1 }))
}

/// Builds the segment from its values, which are as many as its form has.
fn build(text: &str, kind: &str, values: &[TextSpan]) -> Result<Segment, ScheduleError> {
    let rate = |i: usize| rate(text, values[i]);
    let length = |i: usize| length(text, values[i]);
    Ok(match kind {
        "const" => Segment::Const { rate: rate(0)?, length: length(1)? },
        "line" => Segment::Line { from: rate(0)?, to: rate(1)?, length: length(2)? },
        _ => {
            let by = rate(2)?;
            if by == MicroRate(0) {
                return Err(values[2].wrong(Problem::StepByZero));
            }
            Segment::Step { from: rate(0)?, to: rate(1)?, by, length: length(3)? }
        }
    })
}

/// Parses a rate.
fn rate(text: &str, span: TextSpan) -> Result<MicroRate, ScheduleError> {
    let found = &text[span.begin..span.end];
    parse_rate(found).map_err(|error| {
        let found = found.to_owned();
        span.wrong(match error {
            RateError::Malformed => Problem::NotARate { found },
            RateError::TooHigh => Problem::RateOutOfRange { found },
        })
    })
}

/// Parses a length above 0.
fn length(text: &str, span: TextSpan) -> Result<Nanos, ScheduleError> {
    let found = &text[span.begin..span.end];
    match parse_length(found) {
        Ok(length) if length > Nanos(0) => Ok(length),
        Err(QuantityError::Malformed(_)) => {
            Err(span.wrong(Problem::NotALength { found: found.to_owned() }))
        }
        Ok(_) | Err(QuantityError::TooLarge(_)) => {
            Err(span.wrong(Problem::LengthOutOfRange { found: found.to_owned() }))
        }
    }
}

/// The values between `begin` and `end`, split at commas, without the blanks around them.
fn values(text: &str, begin: usize, end: usize) -> Vec<TextSpan> {
    let mut at = begin;
    text[begin..end]
        .split(',')
        .map(|value| {
            let from = at + (value.len() - value.trim_start().len());
            at += value.len() + 1;
            TextSpan { begin: from, end: from + value.trim().len() }
        })
        .collect()
}

/// First byte at or after `at` whose character is not wanted.
fn skip(text: &str, at: usize, wanted: impl Fn(char) -> bool) -> usize {
    text[at..].find(|c| !wanted(c)).map_or(text.len(), |i| at + i)
}

/// Whether the character may stand between segments.
fn is_between(c: char) -> bool {
    c.is_whitespace() || c == ','
}

/// The most similar known segment, if one is similar enough.
fn nearest(found: &str) -> Option<&'static str> {
    let alike = |known: &str| strsim::jaro_winkler(&found.to_lowercase(), known);
    KNOWN
        .iter()
        .map(|&(known, ..)| (alike(known), known))
        .filter(|&(score, _)| score >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
