//! The reasons why a row has no ratio to the baseline.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::words;

/// The reason why a row is not compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum NotCompared {
    /// The row got no correct answer.
    #[serde(rename = "no_correct_answer")]
    NoCorrectAnswer {},
    /// Too many of the row's requests failed.
    #[serde(rename = "failed_requests")]
    Failed {
        /// Requests without a correct answer ÷ planned requests.
        failed_share: f64,
        /// The most frequent kinds of failure, the most frequent first: `http:502`, `net:timeout`.
        kinds: Vec<String>,
    },
    /// The percentile that rows are compared by falls on a failed request.
    #[serde(rename = "percentile_failed")]
    PercentileFailed {},
    /// Only a lower bound of the row's figure is known.
    #[serde(rename = "lower_bound")]
    LowerBound {},
    /// No trial of the row has enough requests for the figure.
    #[serde(rename = "no_figure")]
    NoFigure {},
    /// No round has a trial that counts of both the row and the baseline.
    #[serde(rename = "no_common_round")]
    NoCommonRound {},
    /// The baseline itself cannot be compared.
    #[serde(rename = "baseline_not_usable")]
    Baseline {},
}

impl fmt::Display for NotCompared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotCompared::NoCorrectAnswer {} => f.write_str("gave no correct answer"),
            NotCompared::Failed { failed_share, kinds } => {
                write!(f, "failed {} of requests", words::short_percent(failed_share * 100.0))?;
                match kinds.is_empty() {
                    true => Ok(()),
                    false => write!(f, " ({})", words::kinds(kinds)),
                }
            }
            NotCompared::PercentileFailed {} => {
                f.write_str("failed so many requests that this percentile falls on a failed one")
            }
            NotCompared::LowerBound {} => f.write_str("has a lower bound only"),
            NotCompared::NoFigure {} => f.write_str("has too few requests for this figure"),
            NotCompared::NoCommonRound {} => {
                f.write_str("has no round with a valid trial of both itself and the baseline")
            }
            NotCompared::Baseline {} => {
                f.write_str("cannot be compared, because the baseline has no figure")
            }
        }
    }
}

impl Kind for NotCompared {
    const NAME: &'static str = "NotCompared";
    const ABOUT: &'static str = "Why a row is not compared with the baseline.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![NotCompared::json_schema(generator)]
    }
}
