//! Whether a case meets an expectation: `p95 < 100ms`, `ok >= 99.9%`.

use stampede_load::report::TimeSet;
use stampede_stats::estimate::Estimate;

use super::input::TrialData;
use super::model::{CaseSummary, Expected, Figure, Figures, Found, LoadModel, Stat, TimeFigures};
use super::{trial, words};
use crate::plan::model::{self as asked, Bound, Expectation, Side};
use crate::store::record::{Judged, LoadRecord};

/// Judges one expectation for one case, with its trials as read: a percentile that is no
/// figure of the case is computed from them. Times are response time in the open model and
/// service time in the closed one; `memory` is the highest reading.
pub fn judge(case: &CaseSummary, trials: &[&TrialData], expectation: &Expectation) -> Expected {
    let any = |percent| percentile(case, trials, percent);
    Judge { model: case.model, figures: &case.figures, percentile: &any }.judge(&expectation.bound)
}

/// Judges one expectation for one load alone, as [`judge`] does for a case.
pub fn judge_load(
    load: &LoadRecord,
    times: &TimeSet,
    model: LoadModel,
    expectation: &Expectation,
) -> Expected {
    let figures = trial::of_load(load, times, model);
    let any = |percent| trial::percentile_of_load(load, times, model, percent);
    Judge { model, figures: &figures, percentile: &any }.judge(&expectation.bound)
}

/// Nothing is known of the figure.
const UNKNOWN: Expected = Expected::Unknown { figure: None };

/// What is judged.
struct Judge<'a> {
    model: LoadModel,
    figures: &'a Figures,
    /// A percentile that is not among the figures.
    percentile: &'a dyn Fn(f64) -> Figure,
}

impl Judge<'_> {
    fn judge(&self, bound: &Bound) -> Expected {
        if bound.worse {
            // A change needs the run that it is a change from.
            return UNKNOWN;
        }
        let Measured { figure, words } = self.measured(bound.figure);
        let side = bound.relation.side();
        let found = |prefix: &str, value: f64| Expected::NotMet {
            figure: Found::Value(format!("{prefix}{}", words(value))),
        };
        match figure {
            Figure::Exact(estimate) => match bound.holds(estimate.value) {
                true => Expected::Met,
                false => found("", estimate.value),
            },
            // `at least 11 s` breaks `< 10 s` and meets `> 10 s`; for the rest it says too little.
            Figure::AtLeast(estimate) => match (bound.holds(estimate.value), side) {
                (false, Side::Low) => found("at least ", estimate.value),
                (true, Side::High) => Expected::Met,
                (true, Side::Low) | (false, Side::High) => {
                    let known = format!("at least {}", words(estimate.value));
                    Expected::Unknown { figure: Some(Found::Value(known)) }
                }
            },
            // Slower than all answers, so slower than any bound.
            Figure::Failed => match side {
                Side::Low => Expected::NotMet { figure: Found::Failed },
                Side::High => Expected::Unknown { figure: Some(Found::Failed) },
            },
            // No percentile is above the longest of all.
            Figure::TooFew => match (side, self.times().get(Stat::Max)) {
                (Side::Low, Figure::Exact(longest)) if bound.holds(longest.value) => Expected::Met,
                _ => UNKNOWN,
            },
            Figure::None => UNKNOWN,
        }
    }

    /// Those that are judged.
    fn times(&self) -> &TimeFigures {
        match self.model {
            LoadModel::Open => &self.figures.response_time_ns,
            LoadModel::Closed => &self.figures.service_time_ns,
        }
    }

    fn measured(&self, figure: asked::Figure) -> Measured {
        let figures = self.figures;
        let time = |figure| Measured { figure, words: words::time };
        match figure {
            asked::Figure::Ok => Measured { figure: figures.ok_share, words: words::share },
            asked::Figure::Throughput => Measured {
                figure: figures.throughput_per_second,
                words: |rate| format!("{} /s", words::rate(rate)),
            },
            asked::Figure::CpuCost => time(in_ns(figures.cpu_cost_us)),
            asked::Figure::Memory => {
                Measured { figure: figures.memory_bytes_max, words: words::bytes }
            }
            asked::Figure::Mean => time(self.times().mean),
            asked::Figure::Max => time(self.times().max),
            asked::Figure::Percentile(percent) => time(match Stat::percentile(percent.value()) {
                Some(stat) => self.times().get(stat),
                None => (self.percentile)(percent.value()),
            }),
        }
    }
}

/// A figure in the unit of `Bound::limit`, and how it is said.
struct Measured {
    figure: Figure,
    words: fn(f64) -> String,
}

/// Over the trials that count, as every figure.
fn percentile(case: &CaseSummary, trials: &[&TrialData], percent: f64) -> Figure {
    let counted = trials.iter().filter(|one| one.record.verdict.judged != Judged::Invalid);
    Figure::over(counted.map(|one| trial::any_percentile(one, case.model, percent)))
}

/// Expectations are in ns whatever they are about.
fn in_ns(us: Figure) -> Figure {
    match us {
        Figure::Exact(us) => Figure::Exact(Estimate { value: us.value * 1e3, ..us }),
        Figure::AtLeast(us) => Figure::AtLeast(Estimate { value: us.value * 1e3, ..us }),
        other => other,
    }
}
