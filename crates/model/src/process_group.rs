//! The processes of a stack, and where their figures are read.

use std::path::PathBuf;

/// A stack's processes, as the monitor sees them.
#[derive(Clone, Debug)]
pub struct ProcessGroup {
    /// The roles, in the order of the stack.
    pub roles: Vec<RoleGroup>,
}

/// The processes of one role.
#[derive(Clone, Debug)]
pub struct RoleGroup {
    /// Name of the role: `web`, `php` …
    pub role: String,
    /// The source of its figures.
    pub accounting: Accounting,
    /// Host pids of the processes that the keeper started for the role, without their children.
    pub roots: Vec<u32>,
}

/// The source of a role's figures.
#[derive(Clone, Debug)]
pub enum Accounting {
    /// One directory with `cpu.stat`, `memory.stat`, `memory.current` and `cgroup.procs`. Files of
    /// controllers that are not enabled are missing.
    CgroupV2(PathBuf),
    /// Directories of the v1 hierarchies; `None` if the hierarchy is missing.
    CgroupV1 {
        /// Has `cpuacct.usage`, `cpuacct.stat` and `cgroup.procs`.
        cpuacct: Option<PathBuf>,
        /// Has `memory.stat` and `memory.kmem.usage_in_bytes`.
        memory: Option<PathBuf>,
    },
    /// `/proc`, for the roots and their descendants.
    Proc,
    /// Another machine as a whole, through `ssh`.
    Ssh {
        /// As `ssh` takes it: `shop1`, `deploy@shop1`.
        host: String,
    },
}
