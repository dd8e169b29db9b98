//! What cases are compared in, and what came of it: a part of `summary.json`.

use serde::{Deserialize, Serialize};
use stampede_stats::compare::Difference;
use stampede_stats::estimate::Estimate;

/// What cases are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// One case against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The other.
    pub runtime: String,
    /// Primary figure of the other ÷ the baseline's, within rounds; the estimate is over
    /// rounds. `None` where no round has both.
    pub ratio: Option<Estimate>,
    /// What may be said of the ratio; `None`: the two cannot be compared.
    pub judged: Option<Difference>,
    /// Why they cannot.
    pub why_not: Option<String>,
    /// Standard deviation of the log ratio within a round: how much rounds disagree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// Rounds that would find a difference of 5 % in nine of ten runs with such noise; `None`
    /// beside a noise: more than 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_needed: Option<u32>,
}

impl Comparison {
    /// What it says of the other, in a word or two.
    pub fn verdict(&self, primary: Primary) -> &'static str {
        let (Some(judged), Some(_)) = (self.judged, self.ratio) else { return "not compared" };
        let larger_is_better = primary == Primary::Throughput;
        match judged {
            Difference::Larger if larger_is_better => "faster",
            Difference::Smaller if larger_is_better => "slower",
            Difference::Larger => "slower",
            Difference::Smaller => "faster",
            Difference::Same => "same",
            Difference::NotToldApart => "not told apart",
            Difference::Hint => "a hint only",
        }
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
