//! Reads expectations: `p95 < 100ms`, `ok >= 99.9%`, `throughput >= 200`, `p95 worse < 5%`.

use std::ops::Range;
use std::str::FromStr;

use super::{Bound, Expectation, Figure, Relation};
use crate::quantity::{parse_length_with_unit, parse_size};

/// Why a text is no expectation. Ranges are in bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// It has no figure, no relation, or too many words.
    #[error("not a figure, a relation and a bound")]
    Form,
    /// There is no such figure.
    #[error("there is no such figure")]
    UnknownFigure {
        /// The place of its name.
        place: Range<usize>,
    },
    /// A word between figure and relation is not `worse`.
    #[error("neither `worse` nor a relation")]
    UnknownWord {
        /// The place of the word.
        place: Range<usize>,
    },
    /// The bound is not in the unit of the figure.
    #[error("not a bound of this figure")]
    WrongBound {
        /// The unit that it should have.
        unit: Unit,
        /// The place of the bound.
        place: Range<usize>,
    },
}

/// The unit of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time; in ns.
    Time,
    /// A share; from 0 to 1.
    Share,
    /// A rate per second.
    Rate,
    /// A size in bytes.
    Bytes,
}

/// Parses an expectation as a plan writes it and as `run.json` stores it.
impl FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Expectation, ExpectationError> {
        let (at, relation) = relation(text).ok_or(ExpectationError::Form)?;
        let (left, bound) = (&text[..at], text[at + relation.sign().len()..].trim());
        let mut words = left.split_whitespace();
        let (Some(name), worse, None) = (words.next(), words.next(), words.next()) else {
            return Err(ExpectationError::Form);
        };
        let place = |part: &str| {
            let begin = text.find(part).unwrap_or(0);
            begin..begin + part.len()
        };
        let Some(figure) = Figure::named(name) else {
            return Err(ExpectationError::UnknownFigure { place: place(name) });
        };
        if let Some(word) = worse.filter(|word| *word != "worse") {
            return Err(ExpectationError::UnknownWord { place: place(word) });
        }
        let unit = if worse.is_some() { Unit::Share } else { Unit::of(figure) };
        let Some(limit) = bound_of(bound, unit) else {
            // The bound is at the end of the text. A search could find the same characters earlier.
            let begin = text.trim_end().len() - bound.len();
            return Err(ExpectationError::WrongBound { unit, place: begin..begin + bound.len() });
        };
        let bound = Bound { figure, worse: worse.is_some(), relation, limit };
        Ok(Expectation { text: text.trim().to_owned(), bound })
    }
}

/// The first relation in `text`, and its byte offset.
fn relation(text: &str) -> Option<(usize, Relation)> {
    let at = text.find(['<', '>'])?;
    let is_it = |relation: &Relation| text[at..].starts_with(relation.sign());
    Some((at, Relation::ALL.into_iter().find(is_it)?))
}

impl Unit {
    /// The unit of a figure.
    fn of(figure: Figure) -> Unit {
        match figure {
            Figure::Percentile(_) | Figure::Max | Figure::Mean | Figure::CpuCost => Unit::Time,
            Figure::Ok => Unit::Share,
            Figure::Throughput => Unit::Rate,
            Figure::Memory => Unit::Bytes,
        }
    }
}

/// Reads a bound: times in ns, shares as 0 … 1, rates per second, memory in bytes.
fn bound_of(text: &str, unit: Unit) -> Option<f64> {
    let number = |text: &str| {
        let digits = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        text.parse::<f64>().ok().filter(|_| digits)
    };
    match unit {
        // A bare number would be seconds, which nobody who writes `p95 < 100` means.
        Unit::Time => parse_length_with_unit(text).ok().map(|length| length.0 as f64),
        // The decimal point is moved in the text: 99.9 / 100.0 would be 0.9990000000000001.
        Unit::Share => {
            let share = text.strip_suffix('%')?.trim_end();
            number(share).and_then(|_| format!("{share}e-2").parse().ok())
        }
        Unit::Rate => number(text.strip_suffix("/s").unwrap_or(text).trim_end()),
        Unit::Bytes => parse_size(text).ok().map(|bytes| bytes as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_expectation_is_parsed_like_one_in_a_plan() {
        for text in ["p97 < 80ms", "ok >= 99.9%", "memory < 100MiB", "p95 worse < 5%"] {
            let read: Expectation = text.parse().expect(text);
            assert_eq!(read.text, text);
        }
        assert_eq!(
            "p97 < 80ms".parse::<Expectation>().map(|read| read.bound.limit).ok(),
            Some(80e6)
        );
        for text in ["", "fast", "p95 <", "p100 < 1s"] {
            assert!(text.parse::<Expectation>().is_err(), "{text}");
        }
    }
}
