//! The verdict on a case, and the outcome of an expectation for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use stampede_model::expectation::Bound;
pub use stampede_model::fact::Found;
use stampede_model::fact::{Fact, figure};

/// The verdict on a case.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CaseVerdict {
    /// All trials that count are valid.
    Valid,
    /// A trial that counts is suspect: something was noticed.
    Suspect,
    /// It has trials, but all are invalid, so none counts.
    Invalid,
    /// None of its trials is on disk.
    Missing,
    /// It was excluded from measuring.
    Refused,
}

/// An expectation and its outcome for a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
// The validity of a trial has this name too, and a schema has each name once.
#[schemars(rename = "ExpectationValidity")]
pub struct Validity {
    /// The expectation as written in the plan.
    pub text: String,
    /// The parsed expectation. `None`: a later version wrote it, and it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: ExpectedOutcome,
}

impl Validity {
    /// Whether it is about the change against another run (`worse`), which one run cannot answer.
    pub fn is_about_another_run(&self) -> bool {
        self.bound.is_some_and(|bound| bound.worse)
    }
}

/// The outcome of an expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ExpectedOutcome {
    /// It holds.
    Met,
    /// It does not hold.
    NotMet {
        /// The value that was found instead.
        #[serde(deserialize_with = "figure::read")]
        figure: Fact<Found>,
    },
    /// Undecided: too few requests, only a lower bound, or it needs another run.
    Unknown {
        /// What is known of the figure. `None`: nothing.
        #[serde(
            default,
            deserialize_with = "figure::read_some",
            skip_serializing_if = "Option::is_none"
        )]
        figure: Option<Fact<Found>>,
    },
}
