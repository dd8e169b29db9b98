//! Rows over the runs as the page of `stampede serve` draws them: numbers for places, words for people.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_results::report;
use stampede_results::summary::diff::Measure;
use stampede_stats::change::RUNS_MIN;
use stampede_stats::estimate::Estimate;

use super::model::{CaseOfRun, Change, FigureOfRun, History, ListedRun, Series};
use super::text::{change_words, load_words, ratio_words, several, unexplained, with_interval};

/// Every row that several runs have.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowsOverRuns {
    /// The rows, in the order of the newest run.
    pub rows: Vec<RowOverRuns>,
    /// Fewest runs in which a lasting change is looked for.
    pub runs_min: usize,
}

/// One row over the runs that have it on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowOverRuns {
    /// The name of the runtime or the variant.
    pub runtime: String,
    /// The app's name.
    pub app: String,
    /// The load: `busy: const(200,30s)`.
    pub load: String,
    /// CPU and number of CPUs. Empty: not known.
    pub machine: String,
    /// Whether the plan of the newest run calls it the control.
    pub is_control: bool,
    /// The runs, oldest first.
    pub runs: Vec<RunOfRow>,
    /// The figures that two runs or more have.
    pub figures: Vec<FigureOverRuns>,
}

/// A run in which a row was measured.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunOfRow {
    /// The run's name.
    pub name: String,
    /// Start of the run in RFC 3339.
    pub started_at: String,
    /// The commit of the app's working tree. `None`: not known.
    pub commit: Option<String>,
    /// Number of files that differed from it. `None`: not known, as in runs without another version.
    pub changed_files: Option<u32>,
}

/// A figure of a row over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigureOverRuns {
    /// The figure: `p95 of response time`, `CPU/request ÷ control`.
    pub title: String,
    /// Whether a higher value is better.
    pub is_good: bool,
    /// The figure in each run, in the order of [`RowOverRuns::runs`].
    pub points: Vec<PointOfRun>,
    /// Lasting changes, oldest first.
    pub changes: Vec<ChangeOverRuns>,
}

/// A figure in one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PointOfRun {
    /// The value: times in ns, memory in bytes, CPU time per request in µs. `None`: the run does not
    /// have it exactly.
    pub value: Option<f64>,
    /// The 95 % interval. `None`: there is none.
    pub interval: Option<(f64, f64)>,
    /// The value with its interval and unit, in words.
    pub text: String,
}

/// A lasting change of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeOverRuns {
    /// The index of the first run of the new level.
    pub at: usize,
    /// Whether the figure became worse.
    pub is_worse: bool,
    /// The change in words.
    pub text: String,
    /// What else was not alike in the runs before and after.
    pub differences: Vec<String>,
}

/// The rows that several runs have.
pub fn rows(history: &History) -> RowsOverRuns {
    let rows = several(history).map(|series| row(history, series)).collect();
    RowsOverRuns { rows, runs_min: RUNS_MIN }
}

fn row(history: &History, series: &Series) -> RowOverRuns {
    let cases: Vec<(&ListedRun, &CaseOfRun)> = history.cases(series).collect();
    let (last, newest) = cases[cases.len() - 1];
    let run = |(run, _): &(&ListedRun, &CaseOfRun)| RunOfRow {
        name: run.entry.name.clone(),
        started_at: run.entry.started_at.clone(),
        commit: run.commit.clone(),
        changed_files: run.changed_files,
    };
    let figures = Measure::SHOWN
        .into_iter()
        .flat_map(|measure| [own(measure, &cases), ratio(measure, &cases)]);
    RowOverRuns {
        runtime: newest.runtime.clone(),
        app: newest.app.clone(),
        load: load_words(newest),
        machine: last.machine.clone(),
        is_control: newest.is_control,
        runs: cases.iter().map(run).collect(),
        figures: figures.flatten().collect(),
    }
}

/// The figure itself. `None`: fewer than two runs have it.
fn own(measure: Measure, cases: &[(&ListedRun, &CaseOfRun)]) -> Option<FigureOverRuns> {
    let point = |figure: &FigureOfRun| PointOfRun {
        value: figure.value.known(),
        interval: figure.value.interval(),
        text: with_interval(measure, figure.value),
    };
    let title = measure.noun(cases[cases.len() - 1].1.model);
    over(measure, title, cases, |_, figure| point(figure), |change| !change.of_control_ratio)
}

/// The figure ÷ that of the control. `None`: fewer than two runs have it.
fn ratio(measure: Measure, cases: &[(&ListedRun, &CaseOfRun)]) -> Option<FigureOverRuns> {
    let newest = cases[cases.len() - 1].1;
    let control = newest.control.as_ref()?;
    let point = |ratio: &Estimate| PointOfRun {
        value: Some(ratio.value),
        interval: ratio.interval,
        text: ratio_words(ratio),
    };
    // A run with another control has another ratio.
    let point = |case: &CaseOfRun, figure: &FigureOfRun| match case.control.as_ref() {
        Some(own) if own == control => figure.to_control.as_ref().map_or_else(missing, point),
        _ => missing(),
    };
    let title = format!("{} ÷ that of the control {}", measure.noun(newest.model), control[0]);
    over(measure, title, cases, point, |change| change.of_control_ratio)
}

fn missing() -> PointOfRun {
    PointOfRun { value: None, interval: None, text: "—".to_owned() }
}

fn over(
    measure: Measure,
    title: String,
    cases: &[(&ListedRun, &CaseOfRun)],
    point: impl Fn(&CaseOfRun, &FigureOfRun) -> PointOfRun,
    is_own: impl Fn(&Change) -> bool,
) -> Option<FigureOverRuns> {
    let of = |case: &CaseOfRun| case.figure(measure).map_or_else(missing, |one| point(case, one));
    let points: Vec<PointOfRun> = cases.iter().map(|(_, case)| of(case)).collect();
    if points.iter().filter(|point| point.value.is_some()).count() < 2 {
        return None;
    }
    let newest = cases[cases.len() - 1].1;
    let change = |(at, (run, case)): (usize, &(&ListedRun, &CaseOfRun))| {
        let change = case.figure(measure)?.change.as_ref().filter(|change| is_own(change))?;
        let (is_worse, text) = change_words(measure, run, change);
        let sides = [change.before.as_str(), run.entry.name.as_str()];
        let mut differences = report::difference_lines(&change.differences, sides);
        if differences.is_empty() && !change.of_control_ratio {
            differences.push(unexplained(newest).to_owned());
        }
        Some(ChangeOverRuns { at, is_worse, text, differences })
    };
    let changes = cases.iter().enumerate().filter_map(change).collect();
    Some(FigureOverRuns { title, is_good: measure.is_good(), points, changes })
}
