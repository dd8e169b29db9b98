//! The figure that rows are compared by, and each row's comparison with the baseline: a part of
//! `summary.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::primary::Primary;
use stampede_stats::baseline::{self, Relation, RoundsNeeded};
use stampede_stats::estimate::Estimate;

use stampede_model::fact::{Fact, NotCompared};

/// The comparison of one row with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The row's runtime.
    pub runtime: String,
    /// The row's primary figure ÷ the baseline's, from geometric means over rounds. All 95 %
    /// intervals of a group hold simultaneously. `None`: the two are not compared.
    pub ratio: Option<Estimate>,
    /// What the interval shows. `None`: the two are not compared.
    #[serde(alias = "judged")]
    pub relation: Option<Relation>,
    /// Why the two are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<Fact<NotCompared>>,
    /// The total number of rounds after which an inconclusive comparison would be decided in four
    /// of five runs. `None` for an inconclusive comparison: more than 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_needed: Option<u32>,
}

/// How a row compares with the baseline, with the direction of the figure taken into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Better, with statistical certainty.
    Better,
    /// Worse, with statistical certainty.
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
    /// The standing in a word or two.
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
    /// A row that is not compared, and why.
    pub fn none(runtime: &str, why: NotCompared) -> Comparison {
        Comparison {
            runtime: runtime.to_owned(),
            ratio: None,
            relation: None,
            why_not: Some(why.into()),
            rounds_needed: None,
        }
    }

    /// The comparison in the form of `summary.json`.
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

    /// The row's standing.
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

    /// The largest difference from the baseline that the interval allows, as a share: 0.09 is 9 %.
    /// `None`: there is no interval.
    pub fn largest_difference(&self) -> Option<f64> {
        let (low, high) = self.ratio?.interval?;
        Some((1.0 - low).max(high - 1.0))
    }
}

/// How a figure changes from round to round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// Last round ÷ first round, along a straight line through the logarithms.
    pub ratio: f64,
    /// The probability of such a change without a drift, adjusted for the number of cases.
    pub chance: f64,
}
