//! Draws the charts over time of a group.

use std::collections::{BTreeMap, BTreeSet};

use stampede_model::words::list;

use super::RenderedChart;
use super::chart::{Axis, Chart, Granularity, Line, Strength, most};
use super::look::SeriesStyle;
use super::panel::{DrawnTrial, Panel, TrialStatus};
use super::view::{View, whole_and_parts};
use super::words;
use crate::report::page::model::{Number, Series, Times};
use crate::summary::model::LoadModel;

/// All charts that have something to draw.
pub fn of(panel: &Panel<'_>) -> Vec<RenderedChart> {
    let times = TIMES.iter().filter_map(|time| times(panel, time));
    let kinds: Vec<String> =
        distinct(panel.shown.iter().flat_map(|shown| kinds(shown.series)).map(str::to_owned));
    let mut all: Vec<RenderedChart> = times.chain(throughput(panel)).collect();
    all.extend(whole_and_parts(&kinds).iter().filter_map(|view| errors(panel, &kinds, view)));
    all.extend(in_flight(panel));
    for resource in [&CPU, &MEMORY] {
        let roles =
            panel.shown.iter().flat_map(|shown| (resource.of)(shown.series).keys().cloned());
        let roles = distinct(roles);
        all.extend(whole_and_parts(&roles).iter().filter_map(|view| spent(panel, resource, view)));
    }
    all
}

/// A time figure by second.
struct TimeFigure {
    name: &'static str,
    words: &'static str,
    of: fn(&Times) -> &Vec<Option<Number>>,
}

/// The figures that the page lets the reader choose from.
const TIMES: [TimeFigure; 5] = [
    TimeFigure { name: "p95", words: "p95", of: |times| &times.p95 },
    TimeFigure { name: "p50", words: "median", of: |times| &times.p50 },
    TimeFigure { name: "p99", words: "p99", of: |times| &times.p99 },
    TimeFigure { name: "max", words: "longest", of: |times| &times.max },
    TimeFigure { name: "mean", words: "mean", of: |times| &times.mean },
];

fn times(panel: &Panel<'_>, time: &TimeFigure) -> Option<RenderedChart> {
    let what = panel.time_name();
    let lines = per_row(panel, |series| (time.of)(&series.times).clone());
    let y = Axis::from_zero(
        &format!("{} {what} of the correct answers that ended in each second", time.words),
        most(&lines),
        Granularity::Fine,
        words::micros,
    );
    let title = format!("{} over time, {}", capital(what), time.words);
    let view = View::new(time.name, ());
    drawn(panel, view.file(file_of(panel.group.model)), title, lines, y, Vec::new())
}

fn throughput(panel: &Panel<'_>) -> Option<RenderedChart> {
    let mut lines = per_row(panel, |series| there(&series.ok));
    let mut title = "Throughput";
    if panel.group.model == LoadModel::Open {
        title = "Throughput and target rate";
        lines.splice(0..0, offered(panel));
    }
    let y = Axis::from_zero(
        "correct answers in each second",
        most(&lines),
        Granularity::Whole,
        words::short,
    );
    drawn(panel, "throughput".to_owned(), title.to_owned(), lines, y, Vec::new())
}

/// The line of the offered rate. It is the same for all runtimes, so the longest trial represents
/// it.
fn offered(panel: &Panel<'_>) -> Option<Line> {
    let longest = panel.shown.iter().rev().max_by_key(|shown| shown.series.offered.len())?;
    Some(Line {
        name: "target rate: requests due in each second".to_owned(),
        look: SeriesStyle::OFFERED,
        points: rows(longest.series, there(&longest.series.offered)),
        strength: Strength::Full,
    })
}

/// The chart of failures, of all kinds together or of one kind. `None`: there are no failures.
fn errors(panel: &Panel<'_>, kinds: &[String], view: &View<Option<&str>>) -> Option<RenderedChart> {
    let mut lines = per_row(panel, |series| match view.of {
        None => sums(&by_kind(series).map(|(_, column)| there(column)).collect::<Vec<_>>()),
        Some(kind) => {
            let own = by_kind(series).find(|(name, _)| *name == kind);
            own.map(|(_, column)| there(column)).unwrap_or_default()
        }
    });
    lines.retain(|line| line.values().any(|value| value > 0.0));
    let (label, title, notes) = match view.of {
        None => (
            "failed and dropped requests in each second".to_owned(),
            "Requests without a correct answer".to_owned(),
            vec![format!("What became of them: {}.", list(kinds))],
        ),
        Some(kind) => (
            format!("requests in each second that ended as {kind}"),
            format!("Requests without a correct answer: {kind}"),
            Vec::new(),
        ),
    };
    let y = Axis::from_zero(&label, most(&lines), Granularity::Whole, words::short);
    drawn(panel, view.file("errors"), title, lines, y, notes)
}

/// The kinds of failure that occurred in a trial.
fn kinds(series: &Series) -> impl Iterator<Item = &str> {
    let any = |(_, column): &(&str, &[Number])| column.iter().any(|count| count.0 > 0.0);
    by_kind(series).filter(any).map(|(kind, _)| kind)
}

fn by_kind(series: &Series) -> impl Iterator<Item = (&str, &[Number])> {
    let failed = series.failed.iter().map(|(kind, column)| (kind.as_str(), column.as_slice()));
    failed.chain([("dropped", series.dropped.as_slice())])
}

fn in_flight(panel: &Panel<'_>) -> Option<RenderedChart> {
    let lines = per_row(panel, |series| there(&series.in_flight));
    let y = Axis::from_zero(
        "highest number of requests in flight in each second",
        most(&lines),
        Granularity::Whole,
        words::short,
    );
    drawn(panel, "in-flight".to_owned(), "Requests in flight".to_owned(), lines, y, Vec::new())
}

/// A resource that a stack uses.
struct Resource {
    file: &'static str,
    title: &'static str,
    /// The text after "of the whole stack" or after the role's name.
    words: &'static str,
    of: fn(&Series) -> &BTreeMap<String, Vec<Option<Number>>>,
    axis: fn(f64) -> String,
}

const CPU: Resource = Resource {
    file: "cpu",
    title: "CPU",
    words: "share of the stack's CPU budget",
    of: |series| &series.resources.cpu_percent,
    axis: words::percent,
};

const MEMORY: Resource = Resource {
    file: "memory",
    title: "Memory",
    words: "anonymous, shared and kernel memory, without page cache",
    of: |series| &series.resources.memory_mib,
    axis: words::mebibytes,
};

/// The chart of a resource, for the whole stack or for one role.
fn spent(
    panel: &Panel<'_>,
    resource: &Resource,
    view: &View<Option<&str>>,
) -> Option<RenderedChart> {
    let mut lines = per_reading(panel, |series| {
        let roles = (resource.of)(series);
        match view.of {
            None => sums(&roles.values().cloned().collect::<Vec<_>>()),
            Some(role) => roles.get(role).cloned().unwrap_or_default(),
        }
    });
    let (mut title, mut whose) = (resource.title.to_owned(), "the whole stack".to_owned());
    let mut notes = Vec::new();
    if let Some(role) = view.of {
        title = format!("{title} of role {role}");
        whose = format!("role {role}");
        lines.retain(|line| line.values().next().is_some());
        notes.extend(without(panel, resource, role));
    }
    let label = format!("of {whose}: {}", resource.words);
    let y = Axis::from_zero(&label, most(&lines), Granularity::Fine, resource.axis);
    drawn(panel, view.file(resource.file), title, lines, y, notes)
}

/// A note that names the runtimes without this role, because they have no line.
fn without(panel: &Panel<'_>, resource: &Resource, role: &str) -> Option<String> {
    let has = |shown: &&DrawnTrial<'_>| (resource.of)(shown.series).contains_key(role);
    let without = panel.shown.iter().filter(|shown| !has(shown));
    let names: Vec<String> = without.map(|shown| shown.case.runtime.clone()).collect();
    (!names.is_empty()).then(|| format!("Without this role: {}.", list(&names)))
}

/// The finished chart. `None`: no line has a value.
fn drawn(
    panel: &Panel<'_>,
    file: String,
    title: String,
    lines: Vec<Line>,
    y: Axis,
    mut notes: Vec<String>,
) -> Option<RenderedChart> {
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
    notes.extend(panel.trial_notes());
    let body = Chart { x, y, lines, marks: Vec::new() }.body();
    Some(RenderedChart { file, svg: panel.frame(title, notes).around(body) })
}

/// One line per runtime, from a column of its rows.
fn per_row(panel: &Panel<'_>, column: impl Fn(&Series) -> Vec<Option<Number>>) -> Vec<Line> {
    let line = |shown: &DrawnTrial<'_>| line(shown, rows(shown.series, column(shown.series)));
    panel.shown.iter().map(line).collect()
}

/// One line per runtime, from its resource readings.
fn per_reading(panel: &Panel<'_>, column: impl Fn(&Series) -> Vec<Option<Number>>) -> Vec<Line> {
    let line = |shown: &DrawnTrial<'_>| {
        let at = shown.series.resources.at.iter().map(|at| at.0);
        line(shown, points(at, column(shown.series)))
    };
    panel.shown.iter().map(line).collect()
}

fn line(shown: &DrawnTrial<'_>, points: Vec<(f64, Option<f64>)>) -> Line {
    let strength = match shown.status {
        TrialStatus::Counts => Strength::Full,
        TrialStatus::Invalid(_) | TrialStatus::Unfinished => Strength::Faint,
    };
    Line { name: shown.name(), look: shown.look, points, strength }
}

/// The points of a column. A row is drawn at the second at which it begins.
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

/// Sums columns row by row. `None` if one of them was not read: a partial sum would be wrong.
fn sums(columns: &[Vec<Option<Number>>]) -> Vec<Option<Number>> {
    let length = columns.iter().map(Vec::len).max().unwrap_or(0);
    let sum = |row: usize| {
        let values = columns.iter().map(|column| column.get(row).copied().flatten());
        values.map(|value| value.map(|value| value.0)).sum::<Option<f64>>().map(Number)
    };
    (0..length).map(sum).collect()
}

/// Each name once, in alphabetical order.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The beginning of the file names of time charts.
fn file_of(model: LoadModel) -> &'static str {
    match model {
        LoadModel::Closed => "service-time",
        LoadModel::Open => "response-time",
    }
}

/// The words with a capital first letter, as in a title.
pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
