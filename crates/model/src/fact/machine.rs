//! Reasons about the machine that a trial ran on.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpus::CpuCount;
use crate::words;

/// Something that the machine did, or could not do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Machine {
    /// The kernel reads the clock with a system call, which is slow.
    #[serde(rename = "slow_clock")]
    SlowClock {
        /// The name of the clock source.
        source: String,
    },
    /// The host of this virtual machine took CPU time away (steal).
    #[serde(rename = "steal")]
    Steal {
        /// The share of all CPU time, 0 … 1.
        share: f64,
    },
    /// A CPU quota stopped the stack's processes at times.
    #[serde(rename = "throttled")]
    Throttled {
        /// For how long, in nanoseconds.
        throttled_ns: u64,
    },
    /// The kernel ended processes of the stack because memory ran out.
    #[serde(rename = "out_of_memory")]
    OutOfMemory {
        /// Number of processes.
        kills: u64,
        /// Memory limit of the whole stack. 0: no limit.
        limit_bytes: u64,
    },
    /// The stack's memory was full.
    #[serde(rename = "memory_full")]
    MemoryFull {
        /// The most memory that was in use.
        peak_bytes: u64,
        /// Memory limit of the whole stack.
        limit_bytes: u64,
    },
    /// The memory limit that was asked for is not in force.
    #[serde(rename = "memory_limit_missing")]
    MemoryLimitMissing {
        /// The limit that was asked for.
        limit_bytes: u64,
    },
    /// The kernel does not show the memory of the stack's processes, nor what its workers do.
    #[serde(rename = "processes_hidden")]
    ProcessesHidden {},
    /// The CPU quota that was asked for is not in force.
    #[serde(rename = "cpu_quota_missing")]
    CpuQuotaMissing {
        /// CPUs of the budget.
        cpus: CpuCount,
    },
    /// One address does not have enough ports for this many connections.
    #[serde(rename = "ports_exhausted")]
    PortsExhausted {
        /// Number of local addresses that connections came from, starting at 127.0.0.1.
        addresses: u32,
    },
    /// Processes that belong neither to the stack nor to stampede used CPU time while no CPU was idle.
    #[serde(rename = "other_processes")]
    OtherProcesses {
        /// What they used while none of the CPUs was idle, in CPUs on average over the whole load.
        cpus: f64,
        /// CPUs that the stack and stampede may run on.
        cpus_allowed: u32,
        /// The largest of them, over the whole load, also while a CPU was idle.
        largest: Vec<ProcessCpus>,
    },
    /// Databases or caches that are not part of the stack used CPU time.
    #[serde(rename = "services_outside")]
    ServicesOutside {
        /// The services, the largest first.
        services: Vec<ProcessCpus>,
        /// CPUs that the stack and stampede may run on.
        cpus_allowed: u32,
    },
}

/// What processes of one name used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessCpus {
    /// The name that the kernel has for them.
    pub name: String,
    /// CPUs on average: CPU time by time.
    pub cpus: f64,
}

impl fmt::Display for ProcessCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.2}", self.name, self.cpus)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |bytes: &u64| words::bytes(*bytes as f64);
        match self {
            Machine::SlowClock { source } => {
                write!(
                    f,
                    "the clock source `{source}` is slow to read; `tsc` and `kvm-clock` are fast"
                )
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
                words::killed(*kills),
                words::memory_limit(*limit_bytes)
            ),
            Machine::MemoryFull { peak_bytes, limit_bytes } => {
                write!(f, "memory was full: {} of {}", bytes(peak_bytes), bytes(limit_bytes))
            }
            Machine::CpuQuotaMissing { cpus } => write!(
                f,
                "the CPU quota of {} was not in force, so the stack had more CPU time than its budget",
                cpus.in_words()
            ),
            Machine::MemoryLimitMissing { limit_bytes } => write!(
                f,
                "the memory limit of {} is not in force here (`stampede doctor` says why)",
                bytes(limit_bytes)
            ),
            Machine::ProcessesHidden {} => f.write_str(
                "memory and busy workers are not shown: the kernel does not let stampede look into processes of other users here \
                 (`stampede doctor` says why)",
            ),
            Machine::OtherProcesses { cpus, cpus_allowed, largest } => {
                let of = words::quantity((*cpus_allowed).into(), "CPU");
                write!(f, "other processes used {cpus:.2} of {of} while none was idle")?;
                if !largest.is_empty() {
                    write!(f, " (over the whole load {})", words::some_of(largest))?;
                }
                f.write_str("; end them, or measure when the machine is quiet")
            }
            Machine::ServicesOutside { services, cpus_allowed } => write!(
                f,
                "outside of the stack ran {} of {}, which CPU per request does not include",
                words::some_of(services),
                words::quantity((*cpus_allowed).into(), "CPU"),
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
fn ms(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}
