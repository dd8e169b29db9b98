//! What other tools keep of a run: one benchmark for each case, one measure for each figure. The
//! names are the same in each run of a plan, so that the tools can follow a figure over time.

mod bmf;
mod github;

use std::fmt;

use stampede_stats::estimate::Estimate;

use crate::summary::Summary;
use crate::summary::diff::Measure;
use crate::summary::model::{CaseSummary, Figure};

pub use bmf::bmf;
pub use github::github_action_benchmark;

/// What a run has for another tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Export<'a> {
    /// The cases with a figure, in the order of the summary.
    pub cases: Vec<ExportedCase<'a>>,
    /// What is missing, and why.
    pub left_out: Vec<LeftOut>,
}

/// A case with the figures that another tool can keep.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedCase<'a> {
    /// `nginx-fpm · hello · steady`: the same in each run.
    pub name: String,
    /// The case.
    pub case: &'a CaseSummary,
    /// The figures that are known exactly.
    pub figures: Vec<(Measure, Estimate)>,
}

/// A case, or some of its figures, that another tool does not get.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The case's name.
    pub case: String,
    /// What is missing of it.
    pub what: Missing,
}

/// What is missing of a case, and why.
#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// The case, because none of its trials counts. Holds the reasons.
    Case(Vec<String>),
    /// Figures: each with the reason.
    Figures(Vec<(Measure, Unusable)>),
}

/// Why a figure has no value that can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is only a lower bound.
    AtLeast,
    /// The request at its rank has no correct answer.
    Failed,
    /// Too few requests lie beyond its rank.
    TooFew,
    /// It was not measured.
    NotMeasured,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Missing::Case(reasons) => {
                write!(f, "left out: {}: no trial counts", self.case)?;
                reasons.iter().try_for_each(|reason| write!(f, "; {reason}"))
            }
            Missing::Figures(figures) => {
                write!(f, "{} has no ", self.case)?;
                let each = figures.iter().map(|(of, why)| format!("{} ({why})", of.title()));
                f.write_str(&each.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unusable::AtLeast => "only a lower bound is known",
            Unusable::Failed => "the request at that rank failed",
            Unusable::TooFew => "too few requests",
            Unusable::NotMeasured => "not measured",
        })
    }
}

/// Takes the usable figures of a run. A figure that is only bounded, or falls on a failed request,
/// is no value: a chart of such values would show an improvement where requests failed.
pub fn export(summary: &Summary) -> Export<'_> {
    let mut export = Export { cases: Vec::new(), left_out: Vec::new() };
    for case in &summary.cases {
        let name = name(case);
        if case.trials_counted == 0 {
            let reasons = case.reasons.iter().map(ToString::to_string).collect();
            export.left_out.push(LeftOut { case: name, what: Missing::Case(reasons) });
            continue;
        }
        let (mut figures, mut missing) = (Vec::new(), Vec::new());
        for measure in Measure::SHOWN {
            match usable(measure.in_figures(&case.figures, case.model)) {
                Ok(estimate) => figures.push((measure, estimate)),
                Err(why) => missing.push((measure, why)),
            }
        }
        if !missing.is_empty() {
            let what = Missing::Figures(missing);
            export.left_out.push(LeftOut { case: name.clone(), what });
        }
        export.cases.push(ExportedCase { name, case, figures });
    }
    export
}

fn usable(figure: Figure) -> Result<Estimate, Unusable> {
    match figure {
        Figure::Exact(estimate) if estimate.value.is_finite() => Ok(estimate),
        Figure::Exact(_) | Figure::None => Err(Unusable::NotMeasured),
        Figure::AtLeast(_) => Err(Unusable::AtLeast),
        Figure::Failed => Err(Unusable::Failed),
        Figure::TooFew => Err(Unusable::TooFew),
    }
}

/// The name of a case: `nginx-fpm · hello · steady`.
pub fn name(case: &CaseSummary) -> String {
    format!("{} · {} · {}", case.runtime, case.app, case.load)
}

/// A value with seven significant digits: more would be digits of the arithmetic.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
