//! `tune.json`, and what `stampede tune --json` prints: described in `docs/tune.schema.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::cpus::CpuCount;
use stampede_model::fact::Fact;
use stampede_model::fact::search::{ChoiceFailed, Tuned};

use crate::capacity::Point;

/// Raised when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// A whole tuning. Times are in ns, lengths in s, rates per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuneReport {
    /// Version of this format.
    pub format: u32,
    /// Version of stampede.
    pub stampede: String,
    /// The run's id: its directory's name.
    pub run: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// The runtime.
    pub runtime: String,
    /// The app.
    pub app: String,
    /// What has to hold, as written.
    pub expect: Vec<String>,
    /// The offered rate at which p95 of response time was to be the least; null: the capacity was
    /// to be the highest.
    pub rate_per_second: Option<f64>,
    /// CPUs of the whole stack.
    pub budget_cpus: CpuCount,
    /// Memory of the whole stack; 0: no limit.
    pub budget_memory_bytes: u64,
    /// How long all of it could take.
    pub max_time_s: f64,
    /// Whether the time was over before enough was known.
    pub out_of_time: bool,
    /// Whether it was ended early, by Ctrl-C.
    pub interrupted: bool,
    /// What was tried, as written: `workers=2..64`.
    pub settings: Vec<String>,
    /// The settings to choose; null: none was measured without failing.
    pub best: Option<BTreeMap<String, String>>,
    /// The result with its figures, and as a sentence.
    pub said: Fact<Tuned>,
    /// The runtime's own lines that carry the best settings.
    pub lines: Vec<Line>,
    /// What one more worker takes; null: not known.
    pub memory_bytes_per_worker: Option<f64>,
    /// What one user alone waits for: 1 − CPU time ÷ service time; null: not known.
    pub waiting_share: Option<f64>,
    /// How capacity grows with workers; null: too few points.
    pub scaling: Option<Scaling>,
    /// Every point, in the order in which it was measured.
    pub points: Vec<TunePoint>,
}

/// One line of a rendered file, or of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The file; `command line` for what a process is started with.
    pub file: String,
    /// As rendered.
    pub text: String,
}

/// The Universal Scalability Law, fitted to the measured points: it describes them and says nothing
/// of what lies beyond.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// What one worker would bear.
    pub one_worker_per_second: f64,
    /// What workers wait for each other, 0 for not at all.
    pub contention: f64,
    /// What workers cost each other, 0 for nothing.
    pub coherency: f64,
}

/// One choice of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TunePoint {
    /// Setting → value.
    pub settings: BTreeMap<String, String>,
    /// Capacity per second, or p95 of response time in ns; null: it failed.
    pub value: Option<f64>,
    /// Lower end of its interval; null: none.
    pub low: Option<f64>,
    /// Upper end of its interval; null: none.
    pub high: Option<f64>,
    /// Why it failed; null: it did not.
    pub failed: Option<Fact<ChoiceFailed>>,
    /// The most memory of the whole stack, of its trials.
    pub memory_bytes_max: Option<f64>,
    /// CPU of the whole stack at the highest rate that it met: 100 is its budget.
    pub cpu_percent: Option<f64>,
    /// What an answer waits for there: 1 − CPU time ÷ response time.
    pub waiting_share: Option<f64>,
    /// Its trials.
    pub trials: Vec<Point>,
}
