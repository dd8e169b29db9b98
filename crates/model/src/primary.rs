//! The figure that cases are sorted and compared by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figure that cases are sorted and compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Primary {
    /// p95 of the response time, for the open model.
    ResponseTimeP95,
    /// Median of the response time, if a trial has too few requests for a p95.
    ResponseTimeP50,
    /// Mean of the response time, if there are too few requests even for a median.
    ResponseTimeMean,
    /// Correct answers per second, for the closed model.
    Throughput,
}

impl Primary {
    /// Whether a higher value is better.
    pub fn is_more_better(self) -> bool {
        self == Primary::Throughput
    }
}

/// The primary figure in words.
pub fn noun(primary: Primary) -> &'static str {
    match primary {
        Primary::ResponseTimeP95 => "p95 of response time",
        Primary::ResponseTimeP50 => "median of response time",
        Primary::ResponseTimeMean => "mean response time",
        Primary::Throughput => "throughput",
    }
}

/// The primary figure in a word or two.
pub fn short(primary: Primary) -> &'static str {
    match primary {
        Primary::ResponseTimeP95 => "p95",
        Primary::ResponseTimeP50 => "median",
        Primary::ResponseTimeMean => "mean response time",
        Primary::Throughput => "throughput",
    }
}
