//! Lasting changes of figures: of the ratio to the control where the plan names one, else of the
//! figure itself.

use std::collections::BTreeMap;
use std::path::Path;

use stampede_model::record::{ControlRecord, RunRecord, Validity};
use stampede_results::report::LoadedRuns;
use stampede_results::summary::Summary;
use stampede_results::summary::diff::{self, Difference, LabelledRun, Measure};
use stampede_results::summary::model::CaseSummary;
use stampede_stats::change::{self, Changes};
use stampede_stats::estimate::Estimate;

use super::model::{CaseOfRun, Change, History, Series};

/// Whether the plan calls this row the control.
pub fn is_control(record: &RunRecord, case: &CaseSummary) -> bool {
    record.control.as_ref().is_some_and(|control| is_it(control, case))
}

fn is_it(ControlRecord { runtime, app }: &ControlRecord, case: &CaseSummary) -> bool {
    *runtime == case.runtime && app.as_ref().is_none_or(|app| *app == case.app)
}

/// The control of a row: under the same load, and with the same app unless the plan names another.
/// The control itself has none.
pub fn control<'a>(
    summary: &'a Summary,
    record: &RunRecord,
    case: &CaseSummary,
) -> Option<&'a CaseSummary> {
    let control = record.control.as_ref().filter(|control| !is_it(control, case))?;
    let app = control.app.as_ref().unwrap_or(&case.app);
    summary.cases.iter().find(|other| {
        (&other.runtime, &other.load, &other.app) == (&control.runtime, &case.load, app)
    })
}

/// A figure ÷ that of the control. The ratio is taken within each round, where both met the same
/// machine.
pub fn ratio(measure: Measure, case: &CaseSummary, control: &CaseSummary) -> Option<Estimate> {
    let by_round = |case: &CaseSummary| -> BTreeMap<u32, f64> {
        let counted = case.trials.iter().filter(|trial| trial.verdict != Validity::Invalid);
        let value = counted.filter_map(|trial| {
            let value = measure.in_figures(&trial.figures, case.model).known()?;
            (value > 0.0).then_some((trial.round, value))
        });
        value.collect()
    };
    let control = by_round(control);
    let ratios = by_round(case)
        .into_iter()
        .filter_map(|(round, own)| control.get(&round).map(|control| own / control));
    Estimate::of(&ratios.collect::<Vec<f64>>())
}

/// Finds the changes of all series, and marks the runs with which they begin.
pub fn mark(results: &Path, history: &mut History) {
    let mut circumstances = Circumstances { results, known: BTreeMap::new() };
    for series in history.series.clone() {
        for measure in Measure::SHOWN {
            for found in of_series(history, &series, measure) {
                let name = |place: (usize, usize)| history.runs[place.0].entry.name.clone();
                let [before, after] = [found.before, found.after].map(name);
                let (run, case) = found.after;
                let runtime = history.runs[run].cases[case].runtime.clone();
                let change = Change {
                    ratio: found.ratio,
                    of_control_ratio: found.of_control_ratio,
                    differences: circumstances.between(&before, &after, &runtime),
                    before,
                };
                let figures = &mut history.runs[run].cases[case].figures;
                let is_it = |one: &&mut super::FigureOfRun| one.measure == measure;
                if let Some(figure) = figures.iter_mut().find(is_it) {
                    figure.change = Some(change);
                }
            }
        }
    }
}

/// A change at its place.
struct Found {
    before: (usize, usize),
    after: (usize, usize),
    ratio: Estimate,
    of_control_ratio: bool,
}

fn of_series(history: &History, series: &Series, measure: Measure) -> Vec<Found> {
    let (places, values) = values(history, series, measure);
    let Changes::Found(steps) = change::changes(&values) else { return Vec::new() };
    let of_control_ratio = newest_control(history, series).is_some();
    let found = steps.into_iter().map(|step| Found {
        before: places[step.at - 1],
        after: places[step.at],
        ratio: step.ratio,
        of_control_ratio,
    });
    found.collect()
}

/// The values in which changes are looked for, with their places. Runs with another control, or
/// without the figure, are left out.
fn values(history: &History, series: &Series, measure: Measure) -> (Vec<(usize, usize)>, Vec<f64>) {
    let control = newest_control(history, series);
    let value = |case: &CaseOfRun| {
        let figure = case.figure(measure)?;
        match control {
            Some(control) if case.control.as_ref() == Some(control) => {
                figure.to_control.map(|ratio| ratio.value)
            }
            Some(_) => None,
            None => figure.value.known(),
        }
    };
    let cases = series.places.iter().zip(history.cases(series));
    cases.filter_map(|(place, (_, case))| Some((*place, value(case)?))).unzip()
}

/// The control of the newest run: what was called so before may be another one.
fn newest_control<'a>(history: &'a History, series: &'a Series) -> Option<&'a [String; 2]> {
    history.cases(series).next_back()?.1.control.as_ref()
}

/// What is not alike in two runs, read when a change asks for it.
struct Circumstances<'a> {
    results: &'a Path,
    known: BTreeMap<(String, String), Vec<Difference>>,
}

impl Circumstances<'_> {
    fn between(&mut self, before: &str, after: &str, runtime: &String) -> Vec<Difference> {
        let pair = (before.to_owned(), after.to_owned());
        let results = self.results;
        let all = self.known.entry(pair).or_insert_with(|| differences(results, before, after));
        let is_of = |one: &&Difference| one.of.is_empty() || one.of.contains(runtime);
        all.iter().filter(is_of).cloned().collect()
    }
}

/// Empty also where a run cannot be read any more: then nothing is known.
fn differences(results: &Path, before: &str, after: &str) -> Vec<Difference> {
    let paths = [before, after].map(|name| results.join(name).display().to_string());
    let Ok(loaded) = LoadedRuns::read(results, &paths) else { return Vec::new() };
    let labelled = |(label, (_, data, summary))| LabelledRun { label, data, summary };
    let runs: Vec<LabelledRun<'_>> =
        [before, after].into_iter().zip(loaded.runs()).map(labelled).collect();
    let [base, other] = runs[..] else { return Vec::new() };
    diff::between(base, other, &[]).map_or(Vec::new(), |diff| diff.differences)
}
