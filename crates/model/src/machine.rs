//! Facts about the machine.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Facts about the machine. A fact that the kernel does not show is empty, zero or `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineFacts {
    /// Kernel release, from `/proc/sys/kernel/osrelease`.
    pub kernel: String,
    /// Name of the distribution: `PRETTY_NAME` of `/etc/os-release`.
    pub os: String,
    /// CPU model as in `/proc/cpuinfo`.
    pub cpu_model: String,
    /// Number of online CPUs as the scheduler counts them.
    pub cpus_logical: u32,
    /// Number of cores; equal to `cpus_logical` without SMT.
    pub cpus_physical: u32,
    /// Groups of CPUs that share one core; only groups of two or more.
    pub smt_siblings: Vec<Vec<usize>>,
    /// CPUs that are online.
    pub cpus_online: Vec<usize>,
    /// CPUs that this process may use.
    pub cpus_allowed: Vec<usize>,
    /// Total memory.
    pub memory_bytes: u64,
    /// Memory that can be used without swapping.
    pub memory_available_bytes: u64,
    /// Name of the virtual machine; `None` for bare metal, as far as can be detected.
    pub virtual_machine: Option<String>,
    /// Name of the container that stampede runs in; `None` outside of one.
    pub container: Option<String>,
    /// CPU frequency governors in use. Empty where the machine shows none, as in most virtual
    /// machines.
    pub governors: BTreeSet<String>,
    /// Whether CPUs may run above their base frequency; `None` if unknown.
    pub turbo: Option<bool>,
    /// The kernel's clock source: `tsc`, `kvm-clock` …
    pub clock_source: String,
    /// CPU vulnerability → its mitigation. Vulnerabilities that do not affect the CPU are left out.
    pub mitigations: BTreeMap<String, String>,
    /// Soft limit of open files of a process.
    pub open_files_soft: u64,
    /// Hard limit of open files of a process.
    pub open_files_hard: u64,
    /// First ephemeral port.
    pub ports_first: u16,
    /// Last ephemeral port.
    pub ports_last: u16,
    /// Longest possible listen backlog.
    pub somaxconn: u32,
    /// `net.ipv4.tcp_tw_reuse`: 0 never, 1 always, 2 on loopback.
    pub time_wait_reuse: u32,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: String,
    /// Mount point of the cgroup v2 tree; `None` if it is not mounted.
    pub cgroup_v2: Option<String>,
    /// Controllers of the v2 tree.
    pub cgroup_v2_controllers: Vec<String>,
    /// Controllers that are mounted as cgroup v1.
    pub cgroup_v1_controllers: Vec<String>,
    /// Number of runnable and blocked tasks, averaged over the last minute.
    pub load_average_1min: f64,
    /// Share of the CPU time that the hypervisor gave to other virtual machines while [`facts`]
    /// measured it, 0 … 1.
    pub steal_share: f64,
}
