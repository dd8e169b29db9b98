//! Whether a cell meets an expectation: `p95 < 100ms`, `ok >= 99.9%`.

use stampede_load::report::TimeSet;
use stampede_stats::estimate::Estimate;

use super::input::TrialData;
use super::model::{CellSummary, Expected, Figure, Figures, LoadModel, Stat, TimeFigures};
use super::{trial, words};
use crate::plan::model::Expectation;
use crate::store::record::{Judged, LoadRecord};

/// Judges one expectation for one cell, with its trials as read: a percentile that is no
/// figure of the cell is computed from them. Times are response time in the open model and
/// service time in the closed one; `memory` is the highest reading.
pub fn judge(cell: &CellSummary, trials: &[&TrialData], expectation: &Expectation) -> Expected {
    let any = |percent| percentile(cell, trials, percent);
    Judge { model: cell.model, figures: &cell.figures, percentile: &any }.judge(expectation)
}

/// Judges one expectation for one load alone, as [`judge`] does for a cell.
pub fn judge_load(
    load: &LoadRecord,
    times: &TimeSet,
    model: LoadModel,
    expectation: &Expectation,
) -> Expected {
    let figures = trial::of_load(load, times, model);
    let any = |percent| trial::percentile_of_load(load, times, model, percent);
    Judge { model, figures: &figures, percentile: &any }.judge(expectation)
}

/// Nothing is known of the figure.
const UNKNOWN: Expected = Expected::Unknown { figure: None };
/// A shot without a correct answer stands at the percentile.
const FAILED: &str = "failed";

/// What is judged.
struct Judge<'a> {
    model: LoadModel,
    figures: &'a Figures,
    /// A percentile that is not among the figures.
    percentile: &'a dyn Fn(f64) -> Figure,
}

impl Judge<'_> {
    fn judge(&self, expectation: &Expectation) -> Expected {
        if expectation.worse {
            // A change needs the run that it is a change from.
            return UNKNOWN;
        }
        let Some(Measured { figure, words }) = self.measured(&expectation.figure) else {
            return UNKNOWN;
        };
        let found = |prefix: &str, value: f64| Expected::NotMet {
            figure: format!("{prefix}{}", words(value)),
        };
        match figure {
            Figure::Exact(estimate) => match holds(estimate.value, expectation) {
                Some(true) => Expected::Met,
                Some(false) => found("", estimate.value),
                None => UNKNOWN,
            },
            // `at least 11 s` breaks `< 10 s` and meets `> 10 s`; for the rest it says too little.
            Figure::AtLeast(estimate) => match holds(estimate.value, expectation) {
                Some(false) if expectation.relation.starts_with('<') => {
                    found("at least ", estimate.value)
                }
                Some(true) if expectation.relation.starts_with('>') => Expected::Met,
                _ => {
                    let known = format!("at least {}", words(estimate.value));
                    Expected::Unknown { figure: Some(known) }
                }
            },
            // Slower than all answers, so slower than any bound.
            Figure::Failed if expectation.relation.starts_with('<') => {
                Expected::NotMet { figure: FAILED.to_owned() }
            }
            Figure::Failed => Expected::Unknown { figure: Some(FAILED.to_owned()) },
            // No percentile is above the longest of all.
            Figure::TooFew if expectation.relation.starts_with('<') => {
                let longest = self.times().get(Stat::Max);
                let holds = |max: f64| holds(max, expectation) == Some(true);
                match longest {
                    Figure::Exact(longest) if holds(longest.value) => Expected::Met,
                    _ => UNKNOWN,
                }
            }
            Figure::TooFew | Figure::None => UNKNOWN,
        }
    }

    /// Those that are judged.
    fn times(&self) -> &TimeFigures {
        match self.model {
            LoadModel::Open => &self.figures.response_time_ns,
            LoadModel::Closed => &self.figures.service_time_ns,
        }
    }

    fn measured(&self, name: &str) -> Option<Measured> {
        let figures = self.figures;
        let measured = match name {
            "ok" => Measured { figure: figures.ok_share, words: words::share },
            "throughput" => Measured {
                figure: figures.throughput_per_second,
                words: |rate| format!("{} /s", words::rate(rate)),
            },
            "cpu_cost" => Measured { figure: in_ns(figures.cpu_cost_us), words: words::time },
            "memory" => Measured { figure: figures.memory_bytes_max, words: words::bytes },
            time => {
                let figure = match Stat::named(time) {
                    Some(stat) => self.times().get(stat),
                    None => (self.percentile)(time.strip_prefix('p')?.parse().ok()?),
                };
                Measured { figure, words: words::time }
            }
        };
        Some(measured)
    }
}

/// A figure in the unit of `Expectation::bound`, and how it is said.
struct Measured {
    figure: Figure,
    words: fn(f64) -> String,
}

/// Over the trials that count, as every figure.
fn percentile(cell: &CellSummary, trials: &[&TrialData], percent: f64) -> Figure {
    let counted = trials.iter().filter(|one| one.record.verdict.judged != Judged::Invalid);
    Figure::over(counted.map(|one| trial::any_percentile(one, cell.model, percent)))
}

/// Expectations are in ns whatever they are about.
fn in_ns(us: Figure) -> Figure {
    match us {
        Figure::Exact(us) => Figure::Exact(Estimate { value: us.value * 1e3, ..us }),
        Figure::AtLeast(us) => Figure::AtLeast(Estimate { value: us.value * 1e3, ..us }),
        other => other,
    }
}

/// `None` for a relation that is none.
fn holds(value: f64, expectation: &Expectation) -> Option<bool> {
    let bound = expectation.bound;
    match expectation.relation.as_str() {
        "<" => Some(value < bound),
        "<=" => Some(value <= bound),
        ">" => Some(value > bound),
        ">=" => Some(value >= bound),
        _ => None,
    }
}
