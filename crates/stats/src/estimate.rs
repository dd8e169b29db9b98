//! A number and its doubt together.

use serde::{Deserialize, Serialize};

/// A value over trials, with its interval where there are enough trials for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Geometric mean of the trials' values (the value itself for one trial).
    pub value: f64,
    /// 95 % interval over trials, not shots: the shots of one trial share a warm
    /// cache and are not independent. `None` for fewer than three trials, and when a
    /// trial's value is not positive (logs have no interval there).
    pub interval: Option<(f64, f64)>,
    /// How many trials went in.
    pub trials: u32,
}
