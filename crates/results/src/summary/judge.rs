//! Judges whether a case meets an expectation: `p95 < 100ms`, `ok >= 99.9%`.

use stampede_model::counts::TimeSet;
use stampede_model::expectation as asked;
use stampede_model::expectation::{Bound, Expectation, Side};
use stampede_model::fact::FigureUnit;
use stampede_model::record::{LoadRecord, Validity};
use stampede_stats::estimate::Estimate;

use super::input::TrialData;
use super::kept_up::KeptUp;
use super::model::{
    CaseSummary, ExpectedOutcome, Figure, Figures, Found, LoadModel, Stat, TimeFigures,
};
use super::trial;

/// Judges one expectation for one case. `trials` are the case's trials as read, from which a
/// percentile is computed that is not among the case's figures. Times are response times in the
/// open model and service times in the closed one. `memory` is the highest reading.
pub fn judge(
    case: &CaseSummary,
    trials: &[&TrialData],
    expectation: &Expectation,
) -> ExpectedOutcome {
    let any = |percent| percentile(case, trials, percent);
    Judge { model: case.model, figures: &case.figures, percentile: &any }.judge(&expectation.bound)
}

/// Judges one expectation for one load alone, as [`judge`] does for a case.
pub fn judge_load(
    load: &LoadRecord,
    times: &TimeSet,
    model: LoadModel,
    kept_up: Option<KeptUp>,
    expectation: &Expectation,
) -> ExpectedOutcome {
    let figures = trial::of_load(load, times, model, kept_up);
    let any = |percent| trial::percentile_of_load(load, times, model, percent);
    Judge { model, figures: &figures, percentile: &any }.judge(&expectation.bound)
}

/// Nothing is known of the figure.
const UNKNOWN: ExpectedOutcome = ExpectedOutcome::Unknown { figure: None };

/// The figures that an expectation is judged by.
struct Judge<'a> {
    model: LoadModel,
    figures: &'a Figures,
    /// Computes a percentile that is not among the figures.
    percentile: &'a dyn Fn(f64) -> Figure,
}

impl Judge<'_> {
    fn judge(&self, bound: &Bound) -> ExpectedOutcome {
        if bound.worse {
            // A change can be judged only together with the other run.
            return UNKNOWN;
        }
        let FigureInUnit { figure, unit } = self.measured(bound.figure);
        let side = bound.relation.side();
        let found = |found: Found| ExpectedOutcome::NotMet { figure: found.into() };
        match figure {
            Figure::Exact(estimate) => match bound.holds(estimate.value) {
                true => ExpectedOutcome::Met,
                false => found(Found::Value { value: estimate.value, unit }),
            },
            // `at least 11 s` breaks `< 10 s` and meets `> 10 s`. Other bounds it cannot decide.
            Figure::AtLeast(estimate) => match (bound.holds(estimate.value), side) {
                (false, Side::Low) => found(Found::AtLeast { value: estimate.value, unit }),
                (true, Side::High) => ExpectedOutcome::Met,
                (true, Side::Low) | (false, Side::High) => {
                    let known = Found::AtLeast { value: estimate.value, unit };
                    ExpectedOutcome::Unknown { figure: Some(known.into()) }
                }
            },
            // Slower than all answers, so slower than any bound.
            Figure::Failed => match side {
                Side::Low => found(Found::Failed {}),
                Side::High => ExpectedOutcome::Unknown { figure: Some(Found::Failed {}.into()) },
            },
            // No percentile exceeds the longest time.
            Figure::TooFew => match (side, self.times().get(Stat::Max)) {
                (Side::Low, Figure::Exact(longest)) if bound.holds(longest.value) => {
                    ExpectedOutcome::Met
                }
                _ => UNKNOWN,
            },
            Figure::None => UNKNOWN,
        }
    }

    /// The times that are judged.
    fn times(&self) -> &TimeFigures {
        match self.model {
            LoadModel::Open => &self.figures.response_time_ns,
            LoadModel::Closed => &self.figures.service_time_ns,
        }
    }

    fn measured(&self, figure: asked::Figure) -> FigureInUnit {
        let figures = self.figures;
        let time = |figure| FigureInUnit { figure, unit: FigureUnit::Ns };
        match figure {
            asked::Figure::Ok => FigureInUnit { figure: figures.ok_share, unit: FigureUnit::Share },
            asked::Figure::Throughput => {
                FigureInUnit { figure: figures.throughput_per_second, unit: FigureUnit::PerSecond }
            }
            asked::Figure::CpuCost => time(in_ns(figures.cpu_cost_us)),
            asked::Figure::Memory => {
                FigureInUnit { figure: figures.memory_bytes_max, unit: FigureUnit::Bytes }
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

/// A figure in the unit of `Bound::limit`.
struct FigureInUnit {
    figure: Figure,
    unit: FigureUnit,
}

/// A percentile over the trials that count, like every figure.
fn percentile(case: &CaseSummary, trials: &[&TrialData], percent: f64) -> Figure {
    let counted = trials.iter().filter(|one| one.record.verdict.judged != Validity::Invalid);
    Figure::over(counted.map(|one| trial::any_percentile(one, case.model, percent)))
}

/// Converts µs to ns: the bounds of times are in ns.
fn in_ns(us: Figure) -> Figure {
    match us {
        Figure::Exact(us) => Figure::Exact(Estimate { value: us.value * 1e3, ..us }),
        Figure::AtLeast(us) => Figure::AtLeast(Estimate { value: us.value * 1e3, ..us }),
        other => other,
    }
}
