//! How an expectation of a case came out.

use serde::{Deserialize, Serialize};

pub use crate::fact::Found;
use crate::fact::{Fact, figure};
use crate::plan::model::Bound;

/// An expectation, judged for a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// As written in the plan.
    pub text: String,
    /// What it says; `None`: a later version wrote it, and it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// How it came out.
    #[serde(flatten)]
    pub outcome: Expected,
}

impl Judged {
    /// Whether it is about the change against another run (`worse`): not for one run to answer.
    pub fn is_about_another_run(&self) -> bool {
        self.bound.is_some_and(|bound| bound.worse)
    }
}

/// How an expectation came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Expected {
    /// It holds.
    Met,
    /// It does not.
    NotMet {
        /// What was found instead.
        #[serde(deserialize_with = "figure::read")]
        figure: Fact<Found>,
    },
    /// Cannot be said: too few requests, a lower bound only, or it needs another run.
    Unknown {
        /// What is known of the figure; none: nothing.
        #[serde(
            default,
            deserialize_with = "figure::read_some",
            skip_serializing_if = "Option::is_none"
        )]
        figure: Option<Fact<Found>>,
    },
}
