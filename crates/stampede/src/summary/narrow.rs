//! Whether every interval that a run is about is narrow: what `rounds: auto` looks at.

use std::fmt;

use stampede_stats::estimate::Estimate;
use stampede_stats::rounds::width;

use super::model::{Figure, Summary};
use super::sentence::noun;
use super::words;

/// What a look saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Whether every interval is narrow.
    pub is_narrow: bool,
    /// Wanted, as a share of the value.
    pub precision: f64,
    /// The widest interval: whose, and its width; no width: it has too few rounds.
    pub widest: Option<(String, Option<f64>)>,
}

/// Looks at the primary figure of every case, and at the ratio of each to the best. At both: the
/// table prints both with their intervals, and either may be the wider one. A ratio has the noise
/// of two cases, but not what a round does to both; a figure has that too. Left out is what no
/// number of rounds makes narrow: a figure that failed, a lower bound, a case that never counted.
pub fn look(summary: &Summary, precision: f64) -> Look {
    let mut all: Vec<(String, Option<f64>)> = Vec::new();
    for group in &summary.groups {
        let noun = noun(group.primary);
        for case in summary.cases_of(group) {
            if let Figure::Exact(estimate) = group.primary.figure(&case.figures) {
                all.push((format!("{noun} of {}", case.runtime), known(&estimate)));
            }
        }
        for other in &group.comparisons {
            if let Some(ratio) = other.ratio {
                all.push((format!("the ratio of {} to the best", other.runtime), known(&ratio)));
            }
        }
    }
    // None is wider than any.
    let size = |one: &(String, Option<f64>)| one.1.unwrap_or(f64::INFINITY);
    let widest = all.into_iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let is_narrow = widest.as_ref().is_none_or(|widest| size(widest) < precision);
    Look { is_narrow, precision, widest }
}

fn known(estimate: &Estimate) -> Option<f64> {
    width(estimate).filter(|width| width.is_finite())
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = words::percent(self.precision * 100.0);
        match &self.widest {
            None => f.write_str("nothing has an interval that more rounds would make narrow"),
            Some((whose, None)) => {
                write!(f, "{whose} has no interval yet, wanted is one narrower than {wanted}")
            }
            Some((whose, Some(width))) => {
                let width = words::percent(width * 100.0);
                write!(f, "the widest interval, of {whose}, is {width} wide, wanted is {wanted}")
            }
        }
    }
}
