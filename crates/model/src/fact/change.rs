//! What a comparison of two runs or two versions found of a figure: by how much it changed, or why
//! nothing can be said.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{Fact, Kind};
use crate::words;

/// Why nothing can be said of a figure's change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum NoChange {
    /// One side has no trial that counts.
    #[serde(rename = "no_counted_trial")]
    NoCountedTrial {
        /// Label of that side.
        side: String,
    },
    /// Of one side only a lower bound is known.
    #[serde(rename = "lower_bound")]
    LowerBound {
        /// Label of that side.
        side: String,
    },
    /// Too many requests of one side had no correct answer.
    #[serde(rename = "failed_requests")]
    Failed {
        /// Label of that side.
        side: String,
    },
    /// A trial of one side has too few requests for this figure.
    #[serde(rename = "too_few_requests")]
    TooFewRequests {
        /// Label of that side.
        side: String,
    },
    /// One side was measured without this figure.
    #[serde(rename = "no_figure")]
    NoFigure {
        /// Label of that side.
        side: String,
    },
    /// No round has a trial that counts of both sides.
    #[serde(rename = "no_common_round")]
    NoCommonRound {},
}

impl fmt::Display for NoChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoChange::NoCountedTrial { side } => write!(f, "no trial of {side} counts"),
            NoChange::LowerBound { side } => write!(f, "only a lower bound of {side} is known"),
            NoChange::Failed { side } => {
                write!(f, "too many requests of {side} had no correct answer")
            }
            NoChange::TooFewRequests { side } => {
                write!(f, "a trial of {side} has too few requests for this figure")
            }
            NoChange::NoFigure { side } => write!(f, "{side} was measured without this figure"),
            NoChange::NoCommonRound {} => f.write_str("no round has a valid trial of both"),
        }
    }
}

impl Kind for NoChange {
    const NAME: &'static str = "NoChange";
    const ABOUT: &'static str = "Why nothing can be said of a figure's change.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![NoChange::json_schema(generator)]
    }
}

/// By how much a figure changed, for an expectation such as `p95 worse < 5%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum ChangeFound {
    /// By this much.
    #[serde(rename = "worse_by")]
    WorseBy {
        /// The figure, as expectations name it.
        figure: String,
        /// What `worse` and `interval` count.
        unit: ChangeUnit,
        /// The share by which the other side is worse: 0.05 is 5 %; negative: better.
        worse: f64,
        /// Its 95 % interval; absent below three trials.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<(f64, f64)>,
        /// About how many rounds would show that the expectation holds; absent: it is decided, or
        /// no sensible number would.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds_needed: Option<u32>,
    },
    /// Nothing can be said.
    #[serde(rename = "no_change_known")]
    Unknown {
        /// Why not.
        why: Fact<NoChange>,
    },
}

/// What a change is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeUnit {
    /// A share of the base's value.
    Share,
    /// A difference of two shares: percentage points ÷ 100.
    Points,
}

impl ChangeUnit {
    /// `5.00 %` or `0.10 points`, and the direction.
    fn words(self, share: f64) -> (String, &'static str) {
        let unit = match self {
            ChangeUnit::Share => "%",
            ChangeUnit::Points => "points",
        };
        let of = |share: f64| format!("{} {unit}", words::significant(share * 100.0));
        // A value that rounds to zero is not called better.
        if share < -5e-5 { (of(-share), "better") } else { (of(share.max(0.0)), "worse") }
    }

    /// `1.00 % to 3.00 % worse`, the end that is nearer to zero first.
    fn interval(self, low: f64, high: f64) -> String {
        match (self.words(low), self.words(high)) {
            ((low, a), (high, b)) if a != b => format!("{low} {a} to {high} {b}"),
            ((low, "better"), (high, way)) => format!("{high} to {low} {way}"),
            ((low, _), (high, way)) => format!("{low} to {high} {way}"),
        }
    }
}

impl fmt::Display for ChangeFound {
    /// `p95 24.1 % worse (20.3 % to 28.0 % worse)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (figure, unit, worse, interval, rounds) = match self {
            ChangeFound::Unknown { why } => return write!(f, "{why}"),
            ChangeFound::WorseBy { figure, unit, worse, interval, rounds_needed } => {
                (figure, unit, *worse, *interval, *rounds_needed)
            }
        };
        let (share, way) = unit.words(worse);
        write!(f, "{figure} {share} {way}")?;
        let Some((low, high)) = interval else {
            return f.write_str(
                "; with fewer than three rounds there is no interval, so it is not proven",
            );
        };
        write!(f, " ({})", unit.interval(low, high))?;
        match rounds {
            Some(rounds) => {
                write!(f, "; about {} would prove it", words::number_of(rounds, "round"))
            }
            None => Ok(()),
        }
    }
}

impl Kind for ChangeFound {
    const NAME: &'static str = "ChangeFound";
    const ABOUT: &'static str = "By how much a figure changed, for an expectation about a change.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![ChangeFound::json_schema(generator)]
    }
}
