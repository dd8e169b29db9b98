//! What the keeper is asked to start, and what it says of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stampede_load::time::Nanos;

/// A whole stack: its processes as one group in its own working directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StackSpec {
    /// Unique on this machine while it lives: names cgroups and the journal's entry.
    pub id: String,
    /// The stack's working directory; removed with the stack.
    pub work: PathBuf,
    /// Directories that are there: each is a tmpfs of the stack's own, where namespaces are
    /// allowed. `/dev/shm` is one anyway.
    pub in_memory: Vec<PathBuf>,
    /// CPUs of the whole stack; empty: all.
    pub cpus: Vec<usize>,
    /// CPUs of single roles (unequal budgets); a role not named has `cpus`.
    pub cpus_by_role: BTreeMap<String, Vec<usize>>,
    /// Memory limit of the whole stack in bytes; 0: none.
    pub memory_bytes: u64,
    /// Started in this order, stopped in the reverse.
    pub processes: Vec<ProcessSpec>,
    /// How many of them are started at first, the others once that is asked for (`Stack::go`); 0:
    /// all.
    #[serde(default)]
    pub first: usize,
}

/// One process of a stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// `web`, `php` …: what its CPU and memory are counted as.
    pub role: String,
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Arguments without the program's own name.
    pub args: Vec<String>,
    /// The whole environment: nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// File that it reads; `None`: it has nothing to read.
    #[serde(default)]
    pub input: Option<PathBuf>,
    /// User and group id to run as; `None`: as stampede does.
    pub user: Option<(u32, u32)>,
    /// Standard output and error are appended here.
    pub log: PathBuf,
    /// How it is asked to end.
    pub stop: StopSpec,
}

/// How a process is asked to end; after `grace` it is killed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StopSpec {
    /// Signal number.
    pub signal: i32,
    /// Time it gets.
    pub grace: Nanos,
}

/// What guards this stack, per resource: recorded with every trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolationRecord {
    /// `cgroup-v2`, `cgroup-v1`, `affinity` or `none`.
    pub cpu_set: String,
    /// CPUs of the stack.
    pub cpus: Vec<usize>,
    /// CPUs of each role; empty: none is pinned, or an earlier version did not write it down.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpus_by_role: BTreeMap<String, Vec<usize>>,
    /// `cgroup-v2`, `cgroup-v1` or `none`.
    pub memory_limit: String,
    /// Bytes; 0: none.
    pub memory_bytes: u64,
    /// `pid-namespace`, `cgroup-kill`, `cgroup-freezer` or `children`: what ends everything.
    pub process_group: String,
    /// `cgroup-v2`, `cgroup-v1` or `proc`: where CPU and memory are read.
    pub accounting: String,
}

/// A stack's processes as the monitor sees them.
#[derive(Clone, Debug)]
pub struct ProcessGroup {
    /// By role, in the order of the stack.
    pub roles: Vec<RoleGroup>,
}

/// The processes of one role.
#[derive(Clone, Debug)]
pub struct RoleGroup {
    /// `web`, `php` …
    pub role: String,
    /// Where its figures are read.
    pub accounting: Accounting,
    /// Host pids of the processes that we started for it (their children are not listed).
    pub roots: Vec<u32>,
}

/// Where a role's figures are read.
#[derive(Clone, Debug)]
pub enum Accounting {
    /// One directory has `cpu.stat`, `memory.stat`, `memory.current`, `cgroup.procs`; files of
    /// controllers that are not enabled are absent.
    CgroupV2(PathBuf),
    /// Directories of the v1 hierarchies; `None` where one is not there.
    CgroupV1 {
        /// `cpuacct.usage`, `cpuacct.stat`, `cgroup.procs`.
        cpuacct: Option<PathBuf>,
        /// `memory.stat`, `memory.kmem.usage_in_bytes`.
        memory: Option<PathBuf>,
    },
    /// `/proc` of the roots and their descendants.
    Proc,
}

/// How one process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Index in `StackSpec::processes`.
    pub process: usize,
    /// Its role.
    pub role: String,
    /// Exit code, when it ended by itself.
    pub code: Option<i32>,
    /// Signal, when one ended it.
    pub signal: Option<i32>,
}
