//! Reasons about the machine that a trial ran on.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::runtime;
use crate::summary::words;

/// What the machine did, or could not do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Machine {
    /// The kernel reads the clock by a system call.
    #[serde(rename = "slow_clock")]
    SlowClock {
        /// The clock source.
        source: String,
    },
    /// The host took CPU time away.
    #[serde(rename = "steal")]
    Steal {
        /// Of all CPU time, 0 … 1.
        share: f64,
    },
    /// The stack's CPU quota held it back.
    #[serde(rename = "throttled")]
    Throttled {
        /// For so long.
        throttled_ns: u64,
    },
    /// The kernel ended processes of the stack for want of memory.
    #[serde(rename = "out_of_memory")]
    OutOfMemory {
        /// How many.
        kills: u64,
        /// Of the whole stack; 0: no limit.
        limit_bytes: u64,
    },
    /// The stack's memory was full.
    #[serde(rename = "memory_full")]
    MemoryFull {
        /// At most.
        peak_bytes: u64,
        /// Of the whole stack.
        limit_bytes: u64,
    },
    /// The memory limit that was asked for is not in force.
    #[serde(rename = "memory_limit_missing")]
    MemoryLimitMissing {
        /// What was asked for.
        limit_bytes: u64,
    },
    /// One address has too few ports for so many connections.
    #[serde(rename = "ports_exhausted")]
    PortsExhausted {
        /// Addresses that connections came from, 127.0.0.1 on.
        addresses: u32,
    },
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |bytes: &u64| words::bytes(*bytes as f64);
        match self {
            Machine::SlowClock { source } => {
                write!(f, "clock source `{source}` (exact: tsc, kvm-clock)")
            }
            Machine::Steal { share } => {
                write!(f, "the host took {:.1} % of the CPU time away (steal)", share * 100.0)
            }
            Machine::Throttled { throttled_ns } => {
                write!(f, "the stack was throttled for {} ms", ms(*throttled_ns))
            }
            Machine::OutOfMemory { kills, limit_bytes } => write!(
                f,
                "{} because memory ran out{}; use fewer workers or more memory",
                runtime::ended(*kills),
                runtime::has(*limit_bytes)
            ),
            Machine::MemoryFull { peak_bytes, limit_bytes } => {
                write!(f, "memory was full: {} of {}", bytes(peak_bytes), bytes(limit_bytes))
            }
            Machine::MemoryLimitMissing { limit_bytes } => write!(
                f,
                "the memory limit of {} is not in force here (`stampede doctor` says why)",
                bytes(limit_bytes)
            ),
            Machine::PortsExhausted { addresses } => write!(
                f,
                "127.0.0.1 ran out of ports: connections came from {addresses} addresses of this machine, 127.0.0.1 \
                 to 127.0.0.{addresses}"
            ),
        }
    }
}

/// Milliseconds with two decimals.
pub(super) fn ms(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}
