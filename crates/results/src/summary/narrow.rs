//! Finds the widest interval of a run, by which `rounds: auto` decides whether more rounds are
//! needed.

use stampede_model::fact::{IntervalOf, Widest};
use stampede_stats::estimate::Estimate;
use stampede_stats::rounds::width;

use super::model::{Figure, Summary};

/// The widest interval among the primary figures of all cases and their ratios to the baseline.
/// Both kinds count, because the table prints both with intervals and either may be wider. A ratio
/// has the noise of two cases, but not what a round does to both. A figure has the noise of one
/// case and of the rounds. Some intervals no number of rounds makes narrow, and they are left out:
/// of a failed figure, of a lower bound, and of a case without counted trials.
pub fn widest(summary: &Summary, precision: f64) -> Widest {
    let mut all: Vec<(IntervalOf, Option<f64>)> = Vec::new();
    for group in &summary.groups {
        for case in summary.cases_of(group) {
            if let Figure::Exact(estimate) = case.figures.of(group.primary) {
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
    // A missing interval counts as wider than any other.
    let size = |one: &(IntervalOf, Option<f64>)| one.1.unwrap_or(f64::INFINITY);
    let widest = all.into_iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let (of, width_share) = widest.map_or((None, None), |(of, width)| (Some(of), width));
    Widest { of, width_share, precision_share: precision }
}

fn known(estimate: &Estimate) -> Option<f64> {
    width(estimate).filter(|width| width.is_finite())
}
