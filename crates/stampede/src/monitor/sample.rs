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
    /// What its workers were doing, at each look of the interval; `None`: it cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<WorkersSample>,
    /// Its own listening sockets, by name (`127.0.0.1:8080`, `fpm.sock`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listeners: BTreeMap<String, ListenerSample>,
    /// How long a CPU quota held back what is in the stack's groups, on all its CPUs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_ns: u64,
    /// How often the kernel met the stack's memory limit and took pages back, or refused; where
    /// it does not count (seen: cgroup v1 of Linux 6.18), 1 for a reading at the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_limit_hits: u64,
    /// How long some process of the stack's groups that have a limit waited for memory (PSI of
    /// cgroup v2); `None`: that is known of the whole machine only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_stalled_ns: Option<u64>,
    /// What PHP-FPM's status page said at the end of the interval; `None`: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolSample>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What the workers of a stack were doing, one entry a look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkersSample {
    /// Workers that did not wait for work: they ran, or waited inside a request.
    pub busy: Vec<u32>,
    /// Those of them that ran, or wanted a CPU or a disk.
    pub running: Vec<u32>,
}

/// One listening socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerSample {
    /// Connections that its queue holds at most; the kernel lets one more in.
    pub backlog: u32,
    /// The most that were seen in it at a look.
    pub queued_max: u32,
    /// Connections, or their beginnings, that the kernel dropped for want of room; TCP only.
    pub drops: u64,
}

/// What PHP-FPM says of its pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSample {
    /// Workers that serve a request.
    pub active: u32,
    /// Workers that are there.
    pub total: u32,
    /// Connections that wait; always 0 on a unix socket.
    pub listen_queue: u32,
    /// How often `pm.max_children` was reached since the start; only pools that grow count it.
    pub max_children_reached: u64,
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
    /// CPU time of the thread that spent the most; `None`: not all threads of the role were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_cpu_ns_max: Option<u64>,
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
    /// `TcpExt: DelayedACKs`: acknowledgements that the kernel sent only when their time was up.
    #[serde(default)]
    pub delayed_acks: u64,
}

/// What we spent ourselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnSample {
    /// CPU time of the monitor's thread: its own 1 %.
    pub monitor_cpu_ns: u64,
    /// CPU time of all of stampede's threads.
    pub cpu_ns: u64,
}
