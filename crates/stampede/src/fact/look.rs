//! What a look of `rounds: auto` found: whether there are enough rounds.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use stampede_load::time::Nanos;

use super::Kind;
use crate::progress::words::length;
use crate::summary::headline::noun;
use crate::summary::model::Primary;
use crate::summary::words;

/// What becomes of a run with `rounds: auto` after some rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Look {
    /// Every interval is narrow: it ends.
    #[serde(rename = "precise_enough")]
    Enough {
        /// After so many rounds.
        rounds: u32,
        /// The widest interval.
        widest: Widest,
    },
    /// It goes on.
    #[serde(rename = "more_rounds")]
    GoesOn {
        /// After so many rounds.
        rounds: u32,
        /// To so many.
        next: u32,
        /// The widest interval.
        widest: Widest,
    },
    /// It ends although an interval is wide: more rounds would hardly make it narrower.
    #[serde(rename = "rounds_over")]
    Over {
        /// After so many rounds.
        rounds: u32,
        /// The widest interval.
        widest: Widest,
    },
    /// It ends because the next round would end too late.
    #[serde(rename = "time_over")]
    MaxTime {
        /// After so many rounds.
        rounds: u32,
        /// How long the next one would take.
        next_round_ns: u64,
        /// The run's limit.
        max_time_ns: u64,
    },
}

/// The widest interval of all that a run is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Widest {
    /// Whose it is; null: no figure has an interval that more rounds would make narrower.
    pub of: Option<IntervalOf>,
    /// Its width as a share of the value; null: there are too few rounds for it.
    pub width_share: Option<f64>,
    /// The width that was asked for.
    pub precision_share: f64,
}

/// What an interval is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IntervalOf {
    /// Of a row's own figure.
    Figure {
        /// Which figure.
        figure: Primary,
        /// The row's runtime.
        runtime: String,
    },
    /// Of the ratio of a row to the baseline.
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
