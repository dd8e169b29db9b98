//! The figures of a comparison so far, as bars: the runtimes of one load, the best first.

use console::style;
use stampede_model::record::{CaseRecord, LoadModel, TrialRecord, Validity};
use stampede_results::summary::kept_up::{KeptUp, throughput};
use stampede_stats::percentile::{Percentile, Ranked};

use super::tally::ComparisonState;
use crate::progress::words;

/// The figures of the trials so far that count.
#[derive(Debug, Default)]
pub struct FiguresSoFar {
    loads: Vec<LoadSoFar>,
}

/// The runtimes under one app and load.
#[derive(Debug)]
struct LoadSoFar {
    app: String,
    load: String,
    model: LoadModel,
    /// The figures of each runtime: a throughput per second in the closed model, else a p95 in ns.
    runtimes: Vec<(String, Vec<f64>)>,
}

impl FiguresSoFar {
    /// Adds a trial, if it counts and has the figure.
    pub fn add(&mut self, tally: &ComparisonState, record: &TrialRecord, case: &CaseRecord) {
        let counts = record.verdict.judged != Validity::Invalid;
        if let Some(figure) = figure(tally, record, case).filter(|_| counts) {
            self.insert(case, figure);
        }
    }

    fn insert(&mut self, case: &CaseRecord, figure: f64) {
        let is_it = |one: &LoadSoFar| one.app == case.app && one.load == case.load;
        let place = self.loads.iter().position(is_it).unwrap_or_else(|| {
            let (app, load) = (case.app.clone(), case.load.clone());
            self.loads.push(LoadSoFar { app, load, model: case.model, runtimes: Vec::new() });
            self.loads.len() - 1
        });
        let runtimes = &mut self.loads[place].runtimes;
        match runtimes.iter_mut().find(|(name, _)| *name == case.runtime) {
            Some((_, figures)) => figures.push(figure),
            None => runtimes.push((case.runtime.clone(), vec![figure])),
        }
    }

    /// The bars of one app and load, for a terminal of `width` columns; none while fewer than two
    /// runtimes have a figure.
    pub fn bars(&self, app: &str, load: &str, width: usize) -> Vec<String> {
        let found = self.loads.iter().find(|one| one.app == app && one.load == load);
        found.filter(|one| one.runtimes.len() > 1).map(|one| one.bars(width)).unwrap_or_default()
    }
}

impl LoadSoFar {
    fn bars(&self, width: usize) -> Vec<String> {
        let is_closed = self.model == LoadModel::Closed;
        let mut rows: Vec<(&str, f64)> =
            self.runtimes.iter().map(|(name, figures)| (name.as_str(), mean(figures))).collect();
        rows.sort_by(|a, b| if is_closed { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
        let known = rows.iter().map(|row| row.1).filter(|figure| figure.is_finite());
        let most = known.fold(f64::MIN_POSITIVE, f64::max);
        let longest = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
        let names = longest.min(NAME_MAX);
        let room = width.saturating_sub(names + FIGURE + 3).min(BAR);
        let what = if is_closed { "answers/s, more is better" } else { "p95, less is better" };
        let head = style(format!("{} so far: {what}", self.load)).dim().to_string();
        let left_out = rows.len().saturating_sub(ROWS);
        let line = |(name, figure): &(&str, f64)| {
            let full = ((figure / most) * room as f64).round().max(1.0) as usize;
            let text = match is_closed {
                _ if figure.is_infinite() => "failed".to_owned(),
                true => words::rate(*figure),
                false => words::time_ns(*figure as u64),
            };
            let name = console::truncate_str(name, names, "…");
            format!("{name:<names$} {:<room$} {text:>FIGURE$}", "▇".repeat(full.min(room)))
        };
        let more = (left_out > 0).then(|| format!("and {left_out} more"));
        std::iter::once(head).chain(rows.iter().take(ROWS).map(line)).chain(more).collect()
    }
}

/// The geometric mean, as in the report.
fn mean(figures: &[f64]) -> f64 {
    let logs: f64 = figures.iter().map(|figure| figure.max(f64::MIN_POSITIVE).ln()).sum();
    (logs / figures.len() as f64).exp()
}

/// The figure of a trial: infinite for a percentile that falls on a failed request, which makes the
/// runtime's mean infinite too. `None`: there is none.
fn figure(tally: &ComparisonState, record: &TrialRecord, case: &CaseRecord) -> Option<f64> {
    let load = record.load.as_ref()?;
    match case.model {
        LoadModel::Closed => {
            let kept_up = KeptUp::of_load(load, case.schedule.as_ref(), &tally.rows);
            throughput(load, case.model, kept_up)
        }
        LoadModel::Open => {
            let failed = load.counts.planned.saturating_sub(load.counts.ok);
            match (Ranked { answered: &tally.measured.times, failed }).percentile(95.0) {
                Percentile::At(ns) => Some(ns as f64),
                Percentile::Failed => Some(f64::INFINITY),
                Percentile::TooFew => None,
            }
        }
    }
}

/// Most rows, so that the picture fits a terminal of 24 lines.
const ROWS: usize = 10;
/// Longest bar in characters.
const BAR: usize = 40;
/// Columns of a runtime's name.
const NAME_MAX: usize = 24;
/// Columns of the figure behind a bar.
const FIGURE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn case(runtime: &str, model: LoadModel) -> CaseRecord {
        let text = |text: &str| text.to_owned();
        CaseRecord {
            runtime: text(runtime),
            app: text("hello"),
            load: text("day"),
            model,
            load_text: text("const(100,8s)"),
            schedule: None,
            closed: None,
            refused: None,
            sent: None,
        }
    }

    fn drawn(model: LoadModel, figures: &[(&str, f64)], width: usize) -> String {
        let mut so_far = FiguresSoFar::default();
        figures.iter().for_each(|(runtime, figure)| so_far.insert(&case(runtime, model), *figure));
        let bars = so_far.bars("hello", "day", width).join("\n");
        console::strip_ansi_codes(&bars).into_owned()
    }

    #[test]
    fn bars_show_the_mean_of_each_runtime_the_best_first() {
        let rates = [("nginx-fpm", 100.0), ("roadrunner", 400.0), ("nginx-fpm", 400.0)];
        insta::assert_snapshot!(drawn(LoadModel::Closed, &rates, 80));
        let times = [("nginx-fpm", 12e6), ("a-runtime-with-a-name-that-is-long", 3e6)];
        insta::assert_snapshot!(drawn(LoadModel::Open, &times, 50));
    }

    #[test]
    fn one_runtime_alone_has_no_bar_and_many_fit_a_terminal() {
        assert_eq!(drawn(LoadModel::Closed, &[("a", 1.0), ("a", 2.0)], 80), "");
        let names: Vec<String> = (0..26).map(|n| format!("r{n}")).collect();
        let many: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 5.0)).collect();
        let lines = drawn(LoadModel::Closed, &many, 80);
        assert_eq!(lines.lines().count(), 12);
        assert!(lines.ends_with("and 16 more"), "{lines}");
        let narrow = drawn(LoadModel::Closed, &many, 24);
        assert!(narrow.lines().skip(1).all(|line| line.chars().count() <= 24), "{narrow}");
    }
}
