//! What each of several agents did that sent one load together.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::words;

/// How the names of agents begin that run on the machine of the coordinator.
pub const AGENT_HERE: &str = "local ";

/// What one agent did, and how exactly it is known when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    /// How the user named it: `local 1`, `load1`.
    pub name: String,
    /// Its name for itself; empty if it never answered.
    pub host: String,
    /// Requests that its part of the schedule has, computed again here. `None`: the load has no such
    /// number, because it is closed, stretched, or ended early; or it has more than 500 million Poisson
    /// arrivals, which are counted one by one.
    pub expected: Option<u64>,
    /// Requests that were due.
    pub planned: u64,
    /// Correct answers.
    pub ok: u64,
    /// Requests without a correct answer.
    pub failed: u64,
    /// Requests that were due and never started, or whose end nobody knows because the agent was
    /// lost.
    pub dropped: u64,
    /// Median service time of its correct answers; `None`: it has none, or it was lost.
    pub service_time_p50: Option<Median>,
    /// The 95th percentile of the same times, in ns.
    #[serde(default, rename = "service_time_p95_ns")]
    pub service_time_p95: Option<u64>,
    /// The 99th percentile of the same times, in ns.
    #[serde(default, rename = "service_time_p99_ns")]
    pub service_time_p99: Option<u64>,
    /// Whether agents on several machines sent the same requests equally often, so that their medians
    /// can be compared. Of a file each agent sends other entries.
    pub comparable: bool,
    /// Share of its time that its busiest load thread spent on work, 0 to 1.
    pub busy_share: f64,
    /// How its clock differs from ours, and how it started; `None`: it was lost before.
    pub start: Option<AgentStart>,
    /// What disturbed it from outside; `None`: it was lost before it said so, or an earlier stampede
    /// wrote this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<AgentMachine>,
    /// Why its results are not complete; `None`: they are.
    pub loss: Option<Loss>,
    /// Whether its result differs from the sum of its seconds, or its number of requests from the
    /// expected one. That is a bug of ours, or somebody's who speaks for an agent.
    pub miscounted: bool,
}

/// A median with the interval in which it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Median {
    /// The median, in ns.
    #[serde(rename = "median_ns")]
    pub median: u64,
    /// Lower end of its interval of 99 %, in ns.
    #[serde(rename = "low_ns")]
    pub low: u64,
    /// Upper end, in ns.
    #[serde(rename = "high_ns")]
    pub high: u64,
}

/// When an agent started, by its clock and by ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStart {
    /// Its monotonic clock minus ours, in ns. Clocks of machines have nothing in common, so this is
    /// usually large.
    #[serde(rename = "clock_offset_ns")]
    pub offset: i64,
    /// How far its start may have been from the common one, in ns: the unknown part of the offset,
    /// and by how much it began late.
    #[serde(rename = "start_error_ns")]
    pub error: u64,
    /// Shortest round trip to it, in ns.
    #[serde(rename = "round_trip_ns")]
    pub round_trip: u64,
    /// How much faster its clock runs than ours, in millionths; `None`: the load was too short to
    /// tell.
    pub drift_ppm: Option<f64>,
}

/// What the machine of an agent did to it during the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMachine {
    /// Share of the CPU time of all its CPUs that the hypervisor gave to others (steal), 0 to 1.
    pub steal_share: f64,
    /// For how long a CPU quota held the agent back, in ns.
    pub throttled_ns: u64,
    /// The kernel's clock source; empty: unknown.
    pub clock_source: String,
}

/// Why the results of an agent are not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Loss {
    /// Nothing came from it for so long.
    Silent {
        /// Milliseconds without a word.
        for_ms: u64,
    },
    /// Its connection was closed.
    Closed {
        /// What the program that carried the connection said last; empty: nothing.
        said: String,
    },
    /// It said that it could not go on.
    Failed {
        /// What it said.
        message: String,
    },
    /// It said something that no agent says at that point.
    Disorder {},
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Silent { for_ms } => {
                write!(f, "it was silent for {}", words::time(*for_ms as f64 * 1e6))
            }
            Loss::Closed { said } if said.is_empty() => f.write_str("its connection was closed"),
            Loss::Closed { said } => write!(f, "its connection was closed ({said})"),
            Loss::Failed { message } => f.write_str(message),
            Loss::Disorder {} => f.write_str("it sent what stampede cannot read"),
        }
    }
}

impl AgentRecord {
    /// Whether everything that it was to send is accounted for.
    pub fn is_complete(&self) -> bool {
        self.loss.is_none() && !self.miscounted
    }

    /// Takes the numbers from the counts of its requests. What is neither ok nor failed counts as
    /// dropped.
    pub fn count(&mut self, counts: &Counts) {
        (self.planned, self.ok, self.failed) = (counts.planned, counts.ok, counts.failed_total());
        self.dropped = self.planned.saturating_sub(self.ok + self.failed);
    }

    /// Leaves out requests that were not due when the load was ended early.
    pub fn leave_out(&mut self, not_due: u64) {
        self.planned = self.planned.saturating_sub(not_due);
        self.dropped = self.dropped.saturating_sub(not_due);
    }
}
