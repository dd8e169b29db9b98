//! What rows are compared in, and how each compares with the baseline: a part of `summary.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_stats::baseline::{self, Relation, RoundsNeeded};
use stampede_stats::estimate::Estimate;

use crate::fact::{Fact, NotCompared};

/// What cases are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Primary {
    /// p95 of response time: the open model's.
    ResponseTimeP95,
    /// Its median, where a trial has too few requests for a p95.
    ResponseTimeP50,
    /// Its mean, where there are too few even for a median.
    ResponseTimeMean,
    /// Correct answers a second: the closed model's.
    Throughput,
}

impl Primary {
    /// Whether more is better.
    pub fn is_more_better(self) -> bool {
        self == Primary::Throughput
    }
}

/// One row compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The row's runtime.
    pub runtime: String,
    /// Its primary figure ÷ the baseline's, of geometric means over rounds. All 95 % intervals of a
    /// group hold together. `None`: the two are not compared.
    pub ratio: Option<Estimate>,
    /// What the interval says; `None`: the two are not compared.
    #[serde(alias = "judged")]
    pub relation: Option<Relation>,
    /// Why they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<Fact<NotCompared>>,
    /// Rounds in all that would settle an inconclusive comparison in four of five runs. `None`
    /// beside an inconclusive one: more than 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_needed: Option<u32>,
}

/// How a row compares with the baseline, whether more is better or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Surely better.
    Better,
    /// Surely worse.
    Worse,
    /// About the same, within 3 %.
    Equivalent,
    /// Too close to call.
    Inconclusive,
    /// Fewer than three rounds: a first impression.
    FirstImpression,
    /// Not compared.
    NotCompared,
}

impl Standing {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Standing::Better => "faster",
            Standing::Worse => "slower",
            Standing::Equivalent => "about the same",
            Standing::Inconclusive => "too close to call",
            Standing::FirstImpression => "first impression",
            Standing::NotCompared => "not compared",
        }
    }
}

impl Comparison {
    /// A row that has no ratio.
    pub fn none(runtime: &str, why: NotCompared) -> Comparison {
        Comparison {
            runtime: runtime.to_owned(),
            ratio: None,
            relation: None,
            why_not: Some(why.into()),
            rounds_needed: None,
        }
    }

    /// As the statistics have it.
    pub fn of(runtime: &str, compared: &baseline::Comparison) -> Comparison {
        let baseline::Comparison { ratio: value, interval, rounds: trials, .. } = *compared;
        Comparison {
            runtime: runtime.to_owned(),
            ratio: Some(Estimate { value, interval, trials }),
            relation: Some(compared.relation),
            why_not: None,
            rounds_needed: match compared.rounds_needed() {
                Some(RoundsNeeded::About(rounds)) => Some(rounds),
                Some(RoundsNeeded::MoreThan(_)) | None => None,
            },
        }
    }

    /// What it says of the row.
    pub fn standing(&self, primary: Primary) -> Standing {
        let (Some(relation), Some(_)) = (self.relation, self.ratio) else {
            return Standing::NotCompared;
        };
        match relation {
            Relation::Higher if primary.is_more_better() => Standing::Better,
            Relation::Lower if primary.is_more_better() => Standing::Worse,
            Relation::Higher => Standing::Worse,
            Relation::Lower => Standing::Better,
            Relation::Equivalent => Standing::Equivalent,
            Relation::Inconclusive => Standing::Inconclusive,
            Relation::TooFewRounds => Standing::FirstImpression,
        }
    }

    /// How far from the baseline the truth may lie, as a share: 0.09 is 9 %. `None` without an
    /// interval.
    pub fn largest_difference(&self) -> Option<f64> {
        let (low, high) = self.ratio?.interval?;
        Some((1.0 - low).max(high - 1.0))
    }
}

/// How a figure moves from round to round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Last round ÷ first, along a straight line through the logs.
    pub ratio: f64,
    /// Chance to see that without a drift, adjusted for the number of cases.
    pub chance: f64,
}
