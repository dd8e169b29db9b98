//! Reads expectations: `p95 < 100ms`, `ok >= 99.9%`, `throughput >= 200`, `p95 worse < 5%`.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use stampede_model::schedule::parse_length;

use super::error::{Mistake, Place, PlanError, Source, nearest, one_of};
use super::expectation::{Bound, Expectation, Figure, Relation};
use super::tree::{Node, Style, Value, quoted, shortened};
use super::value::{not_a, parse_size, texts};

const FORM: &str = "a figure, a relation and a bound, such as `p95 < 100ms`, `ok >= 99.9%`, \
                    `throughput >= 200`, `cpu_cost < 500us`, `memory < 100MiB` or `p95 worse < 5%`";

/// The unit of a figure.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Time,
    Share,
    Rate,
    Bytes,
}

/// Reads a list of expectations, or a single one.
pub(super) fn expectations(node: &Node) -> Result<Vec<Expectation>, PlanError> {
    texts(node, FORM)?.into_iter().map(expectation).collect()
}

/// Parses an expectation as a plan writes it and as `run.json` stores it.
impl FromStr for Expectation {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Expectation, PlanError> {
        let (name, base) = ("expectation".to_owned(), PathBuf::new());
        let source = Arc::new(Source { name, text: text.to_owned(), base });
        let place = Place { source, offset: 0, length: text.len() };
        expectation(&Node { place, value: Value::Text(text.to_owned(), Style::Plain) })
    }
}

/// Reads one expectation.
fn expectation(node: &Node) -> Result<Expectation, PlanError> {
    let text = node.text().unwrap_or("");
    let Some((at, relation)) = relation(text) else {
        return Err(not_a(node, "an expectation", FORM));
    };
    let (left, bound) = (&text[..at], text[at + relation.sign().len()..].trim());
    let mut words = left.split_whitespace();
    let (Some(name), worse, None) = (words.next(), words.next(), words.next()) else {
        return Err(not_a(node, "an expectation", FORM));
    };
    let place = |part: &str| node.inside(text.find(part).unwrap_or(0), part.len());
    let Some(figure) = Figure::named(name) else {
        let others = Figure::NAMED.map(String::from);
        let others = || others.iter().map(String::as_str);
        let known = ["p50", "p95", "p99", "p99.9"].into_iter().chain(others());
        let mistake = Mistake::UnknownName { kind: "figure", name: shortened(name) };
        let expected = format!("a percentile such as `p95` or `p99.9`, {}", one_of(others()));
        return Err(place(name).wrong_name(mistake, expected, nearest(name, known)));
    };
    if let Some(word) = worse.filter(|word| *word != "worse") {
        let mistake = Mistake::NotA { found: quoted(word), wanted: "a relation" };
        return Err(place(word).wrong(mistake, "`worse`, `<`, `<=`, `>` or `>=`"));
    }
    let unit = if worse.is_some() { Unit::Share } else { Unit::of(figure) };
    let Some(limit) = bound_of(bound, unit) else {
        let (wanted, expected) = bound_words(unit);
        let mistake = Mistake::NotA { found: quoted(bound), wanted };
        // The bound is at the end of the text. A search could find the same characters earlier.
        let begin = text.trim_end().len() - bound.len();
        return Err(node.inside(begin, bound.len()).wrong(mistake, expected));
    };
    let bound = Bound { figure, worse: worse.is_some(), relation, limit };
    Ok(Expectation { text: text.trim().to_owned(), bound })
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
        Unit::Time => match number(text) {
            Some(_) => None,
            None => parse_length(text).ok().map(|length| length.0 as f64),
        },
        // The decimal point is moved in the text: 99.9 / 100.0 would be 0.9990000000000001.
        Unit::Share => {
            let share = text.strip_suffix('%')?.trim_end();
            number(share).and_then(|_| format!("{share}e-2").parse().ok())
        }
        Unit::Rate => number(text.strip_suffix("/s").unwrap_or(text).trim_end()),
        Unit::Bytes => parse_size(text),
    }
}

/// What a bound should be: words for the mistake, and words for what was expected.
fn bound_words(unit: Unit) -> (&'static str, &'static str) {
    match unit {
        Unit::Time => ("a time", "a time with its unit, such as `500us`, `100ms` or `2s`"),
        Unit::Share => ("a share", "a share in per cent, such as `99.9%`"),
        Unit::Rate => ("a rate", "correct answers per second, such as `200`"),
        Unit::Bytes => ("a size", "a size, such as `100MiB`"),
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
