//! The charts over time of a group.

use super::Drawn;
use super::chart::{Axis, Chart, Grain, Line, Strength, most};
use super::look::Look;
use super::panel::{Panel, Shown, Worth};
use super::words;
use crate::report::page::model::{Number, Series};

/// All that there is something to draw in.
pub fn of(panel: &Panel<'_>) -> Vec<Drawn> {
    [times(panel), throughput(panel), errors(panel), in_flight(panel), cpu(panel), memory(panel)]
        .into_iter()
        .flatten()
        .collect()
}

fn times(panel: &Panel<'_>) -> Option<Drawn> {
    let what = panel.what();
    let lines = per_row(panel, |series| series.times.p95.clone());
    let y = Axis::from_zero(
        &format!("p95 of {what} of the correct answers that ended in each second"),
        most(&lines),
        Grain::Fine,
        words::micros,
    );
    let title = format!("{} over time, p95", capital(what));
    drawn(panel, file_of(what), title, lines, y, Vec::new())
}

fn throughput(panel: &Panel<'_>) -> Option<Drawn> {
    let mut lines = per_row(panel, |series| there(&series.ok));
    let mut title = "Throughput";
    if panel.group.model == crate::summary::model::LoadModel::Open {
        title = "Throughput and offered rate";
        lines.splice(0..0, offered(panel));
    }
    let y =
        Axis::from_zero("correct answers in each second", most(&lines), Grain::Whole, words::short);
    drawn(panel, "throughput", title.to_owned(), lines, y, Vec::new())
}

/// The offered rate is the same for all: that of the longest trial stands for it.
fn offered(panel: &Panel<'_>) -> Option<Line> {
    let longest = panel.shown.iter().rev().max_by_key(|shown| shown.series.offered.len())?;
    Some(Line {
        name: "offered rate: shots due in each second".to_owned(),
        look: Look::OFFERED,
        points: rows(longest.series, there(&longest.series.offered)),
        strength: Strength::Full,
    })
}

/// Only where there are some.
fn errors(panel: &Panel<'_>) -> Option<Drawn> {
    let mut lines = per_row(panel, |series| {
        let columns = series.failed.values().chain([&series.dropped]);
        sums(&columns.map(|column| there(column)).collect::<Vec<_>>())
    });
    lines.retain(|line| line.values().any(|value| value > 0.0));
    let y = Axis::from_zero(
        "failed and dropped shots in each second",
        most(&lines),
        Grain::Whole,
        words::short,
    );
    let kinds: std::collections::BTreeSet<&str> =
        panel.shown.iter().flat_map(|shown| kinds(shown.series)).collect();
    let kinds: Vec<String> = kinds.into_iter().map(str::to_owned).collect();
    let note = format!("What became of them: {}.", crate::summary::words::list(&kinds));
    drawn(panel, "errors", "Shots without a correct answer".to_owned(), lines, y, vec![note])
}

fn kinds(series: &Series) -> impl Iterator<Item = &str> {
    let any = |column: &[Number]| column.iter().any(|count| count.0 > 0.0);
    let failed = series.failed.iter().filter(move |(_, column)| any(column));
    failed.map(|(kind, _)| kind.as_str()).chain(any(&series.dropped).then_some("dropped"))
}

fn in_flight(panel: &Panel<'_>) -> Option<Drawn> {
    let lines = per_row(panel, |series| there(&series.in_flight));
    let y = Axis::from_zero(
        "highest number of shots under way in each second",
        most(&lines),
        Grain::Whole,
        words::short,
    );
    drawn(panel, "in-flight", "Shots in flight".to_owned(), lines, y, Vec::new())
}

fn cpu(panel: &Panel<'_>) -> Option<Drawn> {
    let lines = per_reading(panel, |series| {
        sums(&series.resources.cpu_percent.values().cloned().collect::<Vec<_>>())
    });
    let y = Axis::from_zero(
        "share of the whole stack's CPU budget",
        most(&lines),
        Grain::Fine,
        words::percent,
    );
    drawn(panel, "cpu", "CPU".to_owned(), lines, y, Vec::new())
}

fn memory(panel: &Panel<'_>) -> Option<Drawn> {
    let lines = per_reading(panel, |series| {
        sums(&series.resources.memory_mib.values().cloned().collect::<Vec<_>>())
    });
    let y = Axis::from_zero(
        "of the whole stack: anonymous, shared and kernel memory, without page cache",
        most(&lines),
        Grain::Fine,
        words::mebibytes,
    );
    drawn(panel, "memory", "Memory".to_owned(), lines, y, Vec::new())
}

/// `None` where no line has a value.
fn drawn(
    panel: &Panel<'_>,
    file: &'static str,
    title: String,
    lines: Vec<Line>,
    y: Axis,
    mut notes: Vec<String>,
) -> Option<Drawn> {
    lines.iter().flat_map(Line::values).next()?;
    let ends = panel.shown.iter().map(|shown| shown.series.ok.len() as f64 * shown.series.step);
    let last = lines.iter().flat_map(|line| line.points.last()).map(|(x, _)| *x);
    let end = ends.chain(last).filter(|end| end.is_finite()).fold(1.0, f64::max);
    let x = Axis::of(
        "seconds since the load began",
        super::scale::Scale::linear(0.0, end),
        10,
        words::short,
    );
    notes.extend(panel.said());
    let body = Chart { x, y, lines, marks: Vec::new() }.body();
    Some(Drawn { file, svg: panel.frame(title, notes).around(body) })
}

/// A line a runtime, of a column of its rows.
fn per_row(panel: &Panel<'_>, column: impl Fn(&Series) -> Vec<Option<Number>>) -> Vec<Line> {
    let line = |shown: &Shown<'_>| line(shown, rows(shown.series, column(shown.series)));
    panel.shown.iter().map(line).collect()
}

/// A line a runtime, of a reading of its resources.
fn per_reading(panel: &Panel<'_>, column: impl Fn(&Series) -> Vec<Option<Number>>) -> Vec<Line> {
    let line = |shown: &Shown<'_>| {
        let at = shown.series.resources.at.iter().map(|at| at.0);
        line(shown, points(at, column(shown.series)))
    };
    panel.shown.iter().map(line).collect()
}

fn line(shown: &Shown<'_>, points: Vec<(f64, Option<f64>)>) -> Line {
    let strength = match shown.worth {
        Worth::Counts => Strength::Full,
        Worth::Invalid(_) | Worth::Unfinished => Strength::Faint,
    };
    Line { name: shown.name(), look: shown.look, points, strength }
}

/// Rows are seconds; where a row stands is where it begins.
fn rows(series: &Series, column: Vec<Option<Number>>) -> Vec<(f64, Option<f64>)> {
    points((0..).map(|row| f64::from(row) * series.step), column)
}

fn points(x: impl Iterator<Item = f64>, column: Vec<Option<Number>>) -> Vec<(f64, Option<f64>)> {
    let value =
        |value: Option<Number>| value.map(|value| value.0).filter(|value| value.is_finite());
    x.zip(column).map(|(x, one)| (x, value(one))).collect()
}

fn there(column: &[Number]) -> Vec<Option<Number>> {
    column.iter().copied().map(Some).collect()
}

/// Columns summed row by row; `None` where one of them was not read: a part is no sum.
fn sums(columns: &[Vec<Option<Number>>]) -> Vec<Option<Number>> {
    let length = columns.iter().map(Vec::len).max().unwrap_or(0);
    let sum = |row: usize| {
        let values = columns.iter().map(|column| column.get(row).copied().flatten());
        values.map(|value| value.map(|value| value.0)).sum::<Option<f64>>().map(Number)
    };
    (0..length).map(sum).collect()
}

/// The name of a file for each time.
fn file_of(what: &'static str) -> &'static str {
    if what == "service time" { "service-time" } else { "response-time" }
}

/// With a capital, as a title begins.
pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
