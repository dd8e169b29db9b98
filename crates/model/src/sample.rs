//! A reading of what the stack and the machine use. It becomes a row of `resources.ndjson`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One reading. Its counters are differences from the previous row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// Time of the reading, since the measurement began.
    pub at_ns: u64,
    /// Length of the interval that the differences cover.
    pub interval_ns: u64,
    /// What each role used.
    pub roles: BTreeMap<String, RoleSample>,
    /// What the machine did.
    pub host: HostSample,
    /// What stampede's own threads used.
    pub own: OwnSample,
    /// What the stack's workers did at each look of the interval; `None`: this cannot be observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<WorkersSample>,
    /// The stack's own listening sockets, by name (`127.0.0.1:8080`, `fpm.sock`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listeners: BTreeMap<String, ListenerSample>,
    /// How many requests waited for the lock of their PHP session, at each look of the interval;
    /// empty: none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_waits: Vec<u32>,
    /// How long CPU quotas of others stopped processes in the stack's groups, summed over CPUs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_ns: u64,
    /// How long the quota of the stack's own budget stopped them, summed over CPUs. The plan asks
    /// for that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub budget_throttled_ns: u64,
    /// How often the kernel met the stack's memory limit, and reclaimed pages or refused memory. If
    /// the kernel does not count (seen with cgroup v1 of Linux 6.18), a reading at the limit is 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_limit_hits: u64,
    /// How long some process in the stack's limited groups waited for memory (PSI of cgroup v2);
    /// `None`: the groups have no such figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_stalled_ns: Option<u64>,
    /// What PHP-FPM's status page showed at the end of the interval; `None`: there is no such page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolSample>,
    /// Processes of the machine that belong neither to the stack nor to stampede, the largest first,
    /// with the CPU time that they used since the first row. Only in the last row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherProcess>,
    /// The processes of container engines (the daemon, shims, proxies), likewise: all names that used
    /// CPU time. Only in the last row; `None`: the machine has no such process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Vec<OtherProcess>>,
}

/// Processes of one name beside the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherProcess {
    /// The name (`comm`, at most 15 bytes), or `the kernel` for all its threads.
    pub name: String,
    /// CPU time, user and system.
    pub cpu_ns: u64,
}

impl ResourceSample {
    /// Whether the interval is too short for a share of CPU: the kernel accounts CPU time in ticks of
    /// up to 10 ms. The last reading of a load may be so short.
    pub fn is_short(&self) -> bool {
        self.interval_ns <= SHORT_NS
    }

    /// CPU time in ns on the allowed CPUs that neither the stack nor stampede nor an interrupt used.
    /// Interrupts are left out because most of them are the load's own: on loopback they deliver its
    /// packets. 0: it was not read.
    pub fn others_cpu_ns(&self) -> u64 {
        let stack: u64 = self.roles.values().map(|role| role.cpu_ns).sum();
        let allowed = self.host.allowed.unwrap_or_default();
        let known = stack + self.own.cpu_ns + allowed.interrupt_ns;
        allowed.busy_ns.saturating_sub(known)
    }
}

/// Ten ticks of 10 ms.
const SHORT_NS: u64 = 100_000_000;

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What the workers of a stack did, with one entry per look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkersSample {
    /// Number of workers that did not wait for work: they ran, or waited inside a request.
    pub busy: Vec<u32>,
    /// Number of busy workers that ran, or waited for a CPU or a disk.
    pub running: Vec<u32>,
}

/// State of one listening socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerSample {
    /// Longest queue that the socket allows. The kernel admits one connection more.
    pub backlog: u32,
    /// The longest queue that a look found.
    pub queued_max: u32,
    /// Connections, complete or half open, that the kernel dropped because the queue was full; TCP
    /// only.
    pub drops: u64,
}

/// What PHP-FPM reports about its pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSample {
    /// Workers that serve a request.
    pub active: u32,
    /// All workers.
    pub total: u32,
    /// Connections in the queue; always 0 on a unix socket.
    pub listen_queue: u32,
    /// How often `pm.max_children` was reached since the start. Only pools that grow count this.
    pub max_children_reached: u64,
}

/// What one role of the stack used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleSample {
    /// CPU time, user and system.
    pub cpu_ns: u64,
    /// Anonymous + shared memory + kernel, without page cache; 0 in rows where it was not read
    /// (`memory_read` is false).
    pub memory_bytes: u64,
    /// Whether this row has memory. PSS is expensive and read at most every 5 s.
    pub memory_read: bool,
    /// Number of processes now.
    pub processes: u32,
    /// Processes that appeared since the previous row, such as workers that were restarted.
    pub started: u32,
    /// Voluntary and involuntary context switches, summed over at most 64 threads.
    pub context_switches: u64,
    /// CPU time of the busiest thread; `None`: not all threads of the role were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_cpu_ns_max: Option<u64>,
    /// Processes that the kernel killed because the memory limit was reached.
    #[serde(default)]
    pub oom_kills: u64,
    /// What it read from disks and wrote to them; `None`: this cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskSample>,
    /// What its network received and sent; `None`: it shares the network of the machine, whose
    /// counters are those of all programs, or of another role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSample>,
}

/// Bytes that a role read from disks and wrote to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSample {
    /// Bytes that were read from a disk, and not from the cache.
    pub read_bytes: u64,
    /// Bytes that were written, or are to be written soon.
    pub written_bytes: u64,
}

/// Bytes that the network of a role received and sent, without its loopback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSample {
    /// Bytes that came in.
    pub received_bytes: u64,
    /// Bytes that went out.
    pub sent_bytes: u64,
}

/// What the machine did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    /// CPU time of all CPUs that was not idle.
    pub cpu_busy_ns: u64,
    /// The same for the CPUs that the stack and stampede may run on; `None`: an earlier stampede wrote
    /// this row, or no stack was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<AllowedCpus>,
    /// CPU time that the hypervisor gave to others (steal).
    pub steal_ns: u64,
    /// PSI `some` total by resource (`cpu`, `memory`, `io`), converted from µs to ns; empty without
    /// PSI.
    pub pressure_some_ns: BTreeMap<String, u64>,
    /// `TcpExt: ListenOverflows` of this network namespace.
    pub listen_overflows: u64,
    /// `TcpExt: ListenDrops` of this network namespace.
    pub listen_drops: u64,
    /// `TcpExt: DelayedACKs`: acknowledgements that the kernel sent only after their timer expired.
    #[serde(default)]
    pub delayed_acks: u64,
}

/// What happened on the CPUs that the stack and stampede may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedCpus {
    /// Their number.
    pub cpus: u32,
    /// CPU time that was not idle.
    pub busy_ns: u64,
    /// The part of it that was spent in interrupts.
    pub interrupt_ns: u64,
    /// CPU time that the hypervisor gave to others (steal).
    pub steal_ns: u64,
}

/// What stampede itself used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnSample {
    /// CPU time of the monitor's thread, which should stay below 1 % of a CPU.
    pub monitor_cpu_ns: u64,
    /// CPU time of all of stampede's threads.
    pub cpu_ns: u64,
}
