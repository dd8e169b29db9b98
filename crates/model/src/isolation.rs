//! How a stack was isolated, and how its processes ended.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The isolation of a stack, for each resource. It is recorded with every trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolationRecord {
    /// How CPUs are limited: `cgroup-v2`, `cgroup-v1`, `affinity` or `none`.
    pub cpu_set: String,
    /// CPUs of the stack.
    pub cpus: Vec<usize>,
    /// CPUs of each role; empty: no CPUs are set, or an earlier version did not record them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpus_by_role: BTreeMap<String, Vec<usize>>,
    /// How CPU time is limited to a fraction of a CPU: `cgroup-v2`, `cgroup-v1`, or `none` where
    /// the quota is not in force. `None`: the budget has no fraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<String>,
    /// How memory is limited: `cgroup-v2`, `cgroup-v1` or `none`.
    pub memory_limit: String,
    /// Memory limit in bytes; 0: none.
    pub memory_bytes: u64,
    /// What ends all processes: `pid-namespace`, `cgroup-kill`, `cgroup-freezer` or `children`.
    pub process_group: String,
    /// Where CPU time and memory are read: `cgroup-v2`, `cgroup-v1` or `proc`.
    pub accounting: String,
}

/// Name of the group whose processes share the CPU quota of a fractional budget. Quotas of other
/// groups are somebody else's.
pub const CPU_QUOTA_GROUP: &str = "stampede-cpu-quota";

/// How the name of that group ends if it is a slice of systemd. The name begins with that of the
/// stack's slice.
pub const CPU_QUOTA_SLICE: &str = "-cpu_quota.slice";

/// Whether a group is the one whose processes share the CPU quota of a fractional budget.
pub fn is_cpu_quota_group(group: &Path) -> bool {
    let name = group.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name == CPU_QUOTA_GROUP || name.starts_with("stampede_") && name.ends_with(CPU_QUOTA_SLICE)
}

/// How one process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Index in `ProcessSetSpec::processes`.
    pub process: usize,
    /// Role of the process.
    pub role: String,
    /// Exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Signal that ended the process; `None` if it ended by itself.
    pub signal: Option<i32>,
}
