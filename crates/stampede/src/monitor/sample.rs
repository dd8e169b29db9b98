//! One reading of what is spent. A row of `resources.ndjson`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One timestamped reading; counters are differences since the previous row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// Since measuring began.
    pub at_ns: u64,
    /// Length of the interval that the differences cover.
    pub interval_ns: u64,
    /// By role.
    pub roles: BTreeMap<String, RoleSample>,
    /// The machine.
    pub host: HostSample,
    /// stampede's own threads.
    pub own: OwnSample,
}

/// What one role of the stack spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleSample {
    /// CPU time, user and system.
    pub cpu_ns: u64,
    /// Anonymous + shared memory + kernel, without page cache; 0 in rows where it was not
    /// read (`memory_read` false).
    pub memory_bytes: u64,
    /// Whether memory was read in this row (PSS is dear: at most every 5 s).
    pub memory_read: bool,
    /// Processes now.
    pub processes: u32,
    /// Processes that are new since the previous row: restarts after the start.
    pub started: u32,
    /// Voluntary and involuntary context switches; summed over at most 64 processes.
    pub context_switches: u64,
    /// Nanoseconds throttled by a CPU quota.
    pub throttled_ns: u64,
    /// Processes that the kernel ended because the memory limit was reached.
    #[serde(default)]
    pub oom_kills: u64,
}

/// What the machine did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    /// CPU time not idle, all CPUs.
    pub cpu_busy_ns: u64,
    /// CPU time that the hypervisor gave to others.
    pub steal_ns: u64,
    /// PSI `some` total by resource (`cpu`, `memory`, `io`), µs → ns; empty without PSI.
    pub pressure_some_ns: BTreeMap<String, u64>,
    /// `TcpExt: ListenOverflows`, this network namespace.
    pub listen_overflows: u64,
    /// `TcpExt: ListenDrops`.
    pub listen_drops: u64,
}

/// What we spent ourselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnSample {
    /// CPU time of the monitor's thread: its own 1 %.
    pub monitor_cpu_ns: u64,
    /// CPU time of all of stampede's threads.
    pub cpu_ns: u64,
}
