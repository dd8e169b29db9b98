//! Whether every interval that a run is about is narrow: what `rounds: auto` looks at.

use stampede_stats::estimate::Estimate;
use stampede_stats::rounds::width;

use super::model::{Figure, Summary};
use crate::fact::{IntervalOf, Widest};

/// The widest interval of the primary figure of every case, and of the ratio of each to the
/// baseline. Of both: the table prints both with their intervals, and either may be the wider one.
/// A ratio has the noise of two cases, but not what a round does to both; a figure has that too.
/// Left out is what no number of rounds makes narrow: a figure that failed, a lower bound, a case
/// that never counted.
pub fn widest(summary: &Summary, precision: f64) -> Widest {
    let mut all: Vec<(IntervalOf, Option<f64>)> = Vec::new();
    for group in &summary.groups {
        for case in summary.cases_of(group) {
            if let Figure::Exact(estimate) = group.primary.figure(&case.figures) {
                let (figure, runtime) = (group.primary, case.runtime.clone());
                all.push((IntervalOf::Figure { figure, runtime }, known(&estimate)));
            }
        }
        for other in &group.comparisons {
            if let Some(ratio) = other.ratio {
                let runtime = other.runtime.clone();
                let baseline = group.baseline.clone().unwrap_or_default();
                all.push((IntervalOf::Ratio { runtime, baseline }, known(&ratio)));
            }
        }
    }
    // None is wider than any.
    let size = |one: &(IntervalOf, Option<f64>)| one.1.unwrap_or(f64::INFINITY);
    let widest = all.into_iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let (of, width_share) = widest.map_or((None, None), |(of, width)| (Some(of), width));
    Widest { of, width_share, precision_share: precision }
}

impl Widest {
    /// Whether it is as narrow as was asked for.
    pub fn is_narrow(&self) -> bool {
        self.of.is_none() || self.width_share.is_some_and(|width| width < self.precision_share)
    }
}

fn known(estimate: &Estimate) -> Option<f64> {
    width(estimate).filter(|width| width.is_finite())
}
