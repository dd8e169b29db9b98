//! Expectations in plans and flags, with the place of a mistake.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use stampede_model::expectation::{Expectation, ExpectationError, Figure, Unit};

use super::error::{Mistake, Place, PlanError, Source, nearest, one_of};
use super::tree::{Node, Style, Value, quoted, shortened};
use super::value::{not_a, texts};

const FORM: &str = "a figure, a relation and a bound, such as `p95 < 100ms`, `ok >= 99.9%`, \
                    `throughput >= 200`, `cpu_cost < 500us`, `memory < 100MiB` or `p95 worse < 5%`";

/// Reads a list of expectations, or a single one.
pub(super) fn expectations(node: &Node) -> Result<Vec<Expectation>, PlanError> {
    texts(node, FORM)?.into_iter().map(expectation).collect()
}

/// Reads an expectation from a flag.
///
/// # Errors
/// [`PlanError`] with the place of the mistake.
pub fn expectation_of(text: &str) -> Result<Expectation, PlanError> {
    let (name, base) = ("expectation".to_owned(), PathBuf::new());
    let source = Arc::new(Source { name, text: text.to_owned(), base });
    let place = Place { source, offset: 0, length: text.len() };
    expectation(&Node { place, value: Value::Text(text.to_owned(), Style::Plain) })
}

/// Reads one expectation.
fn expectation(node: &Node) -> Result<Expectation, PlanError> {
    let text = node.text().unwrap_or("");
    let place = |range: &Range<usize>| node.inside(range.start, range.len());
    text.parse().map_err(|error| match error {
        ExpectationError::Form => not_a(node, "an expectation", FORM),
        ExpectationError::UnknownFigure { place: range } => {
            let name = &text[range.clone()];
            let others = Figure::NAMED.map(String::from);
            let others = || others.iter().map(String::as_str);
            let known = ["p50", "p95", "p99", "p99.9"].into_iter().chain(others());
            let mistake = Mistake::UnknownName { kind: "figure", name: shortened(name) };
            let expected = format!("a percentile such as `p95` or `p99.9`, {}", one_of(others()));
            place(&range).wrong_name(mistake, expected, nearest(name, known))
        }
        ExpectationError::UnknownWord { place: range } => {
            let found = quoted(&text[range.clone()]);
            let mistake = Mistake::NotA { found, wanted: "a relation" };
            place(&range).wrong(mistake, "`worse`, `<`, `<=`, `>` or `>=`")
        }
        ExpectationError::WrongBound { unit, place: range } => {
            let (wanted, expected) = bound_words(unit);
            let mistake = Mistake::NotA { found: quoted(&text[range.clone()]), wanted };
            place(&range).wrong(mistake, expected)
        }
    })
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
