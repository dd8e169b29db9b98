//! The results of the checks of `rounds: auto`: whether there are enough rounds.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::primary::Primary;
use crate::primary::noun;
use crate::time::Nanos;
use crate::words;
use crate::words::length;

/// The result of a check of `rounds: auto` after some rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Look {
    /// Every interval is narrow enough: the run ends.
    #[serde(rename = "precise_enough")]
    Enough {
        /// Number of rounds so far.
        rounds: u32,
        /// The widest interval.
        widest: Widest,
    },
    /// An interval is too wide: the run goes on.
    #[serde(rename = "more_rounds")]
    GoesOn {
        /// Number of rounds so far.
        rounds: u32,
        /// Number of rounds after which the next check is.
        next: u32,
        /// The widest interval.
        widest: Widest,
    },
    /// An interval is wide, but the run ends: more rounds would hardly make it narrower.
    #[serde(rename = "rounds_over")]
    Over {
        /// Number of rounds so far.
        rounds: u32,
        /// The widest interval.
        widest: Widest,
    },
    /// The run ends because the next round would end too late.
    #[serde(rename = "time_over")]
    MaxTime {
        /// Number of rounds so far.
        rounds: u32,
        /// Expected length of the next round, in nanoseconds.
        next_round_ns: u64,
        /// The run's `max_time`, in nanoseconds.
        max_time_ns: u64,
    },
}

/// The widest of the intervals that must become narrow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Widest {
    /// The value that the interval is of. Null: no figure has an interval that more rounds would
    /// make narrower.
    pub of: Option<IntervalOf>,
    /// The interval's width as a share of the value. Null: there are too few rounds for an
    /// interval.
    pub width_share: Option<f64>,
    /// The width that the plan asks for, as a share.
    pub precision_share: f64,
}

impl Widest {
    /// Whether the widest interval is as narrow as the precision asks for.
    pub fn is_narrow(&self) -> bool {
        self.of.is_none() || self.width_share.is_some_and(|width| width < self.precision_share)
    }
}

/// The value that an interval is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IntervalOf {
    /// A row's own figure.
    Figure {
        /// The figure.
        figure: Primary,
        /// The row's runtime.
        runtime: String,
    },
    /// The ratio of a row to the baseline.
    Ratio {
        /// The row's runtime.
        runtime: String,
        /// The baseline.
        baseline: String,
    },
}

impl fmt::Display for IntervalOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntervalOf::Figure { figure, runtime } => write!(f, "{} of {runtime}", noun(*figure)),
            IntervalOf::Ratio { runtime, baseline } => {
                write!(f, "the ratio of {runtime} to {baseline}")
            }
        }
    }
}

impl fmt::Display for Widest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goal = words::percent(self.precision_share * 100.0);
        match (&self.of, self.width_share) {
            (None, _) => {
                f.write_str("no figure has an interval that more rounds would make narrower")
            }
            (Some(of), None) => write!(f, "{of} has no interval yet (goal: narrower than {goal})"),
            (Some(of), Some(width)) => {
                let width = words::percent(width * 100.0);
                write!(f, "the widest interval, {of}, is {width} wide (goal: {goal})")
            }
        }
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Look::Enough { rounds, widest } => {
                let rounds = words::number_of(*rounds, "round");
                write!(f, "after {rounds}: precise enough, stops; {widest}")
            }
            Look::GoesOn { rounds, next, widest } => {
                let rounds = words::number_of(*rounds, "round");
                write!(f, "after {rounds}: not precise enough, continues to {next}; {widest}")
            }
            Look::Over { rounds, widest } => {
                let rounds = words::number_of(*rounds, "round");
                write!(f, "after {rounds}: stops, because more rounds would hardly help: {widest}")
            }
            Look::MaxTime { rounds, next_round_ns, max_time_ns } => write!(
                f,
                "after {}: stops, because another round of about {} would end later than {} after the start (`max_time`)",
                words::number_of(*rounds, "round"),
                length(Nanos(*next_round_ns)),
                length(Nanos(*max_time_ns))
            ),
        }
    }
}

impl Kind for Look {
    const NAME: &'static str = "Look";
    const ABOUT: &'static str = "What a look of `rounds: auto` found.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![Look::json_schema(generator)]
    }
}
