//! The description of a stack that the keeper starts, and of its isolation and exits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stampede_model::cpus::CpuCount;
use stampede_model::time::Nanos;

/// A whole stack: a group of processes with one working directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessSetSpec {
    /// Id, unique on this machine while the stack lives. It names the cgroups and the journal's
    /// entry.
    pub id: String,
    /// The stack's working directory; it is removed with the stack.
    pub work: PathBuf,
    /// Existing directories, each of which becomes a private tmpfs of the stack, where namespaces
    /// are allowed. `/dev/shm` becomes one without being listed.
    pub in_memory: Vec<PathBuf>,
    /// A directory that the stack sees at another path; `None`: there is none. Where the machine does
    /// not allow it, the stack does not start.
    #[serde(default)]
    pub bind: Option<BindMount>,
    /// CPUs of the whole stack; empty: all.
    pub cpus: Vec<usize>,
    /// CPUs of single roles (unequal budgets). A role that is not listed has `cpus`.
    pub cpus_by_role: BTreeMap<String, Vec<usize>>,
    /// CPU time of the whole stack, without the roles in `cpus_by_role`; `None`: no quota.
    #[serde(default)]
    pub cpu_quota: Option<CpuCount>,
    /// Memory limit of the whole stack in bytes; 0: no limit.
    pub memory_bytes: u64,
    /// Processes in the order of their start. They are stopped in the reverse order.
    pub processes: Vec<ProcessSpec>,
    /// Containers that an engine starts in groups of the stack; `None`: there are none.
    #[serde(default)]
    pub containers: Option<ContainersSpec>,
    /// Number of processes to start first; 0: all. The others start on request (`ProcessSet::go`).
    #[serde(default)]
    pub first: usize,
}

impl ProcessSetSpec {
    /// The roles of processes and containers, with repetitions.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        let processes = self.processes.iter().map(|process| &process.role);
        let containers = self.containers.iter().flat_map(|containers| &containers.roles);
        processes.chain(containers).map(String::as_str)
    }
}

/// A directory that the processes of a stack see at another path, in place of what is there. Others
/// see no difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindMount {
    /// The directory.
    pub source: PathBuf,
    /// The path at which it is seen, without links. It exists.
    pub target: PathBuf,
    /// A directory above `target` that a process may not pass through. For the stack an empty
    /// directory takes its place, with nothing in it but the way to `target`. `None`: there is none.
    pub cover: Option<PathBuf>,
}

/// One process of a stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// Role such as `web` or `php`, under which its CPU time and memory are counted.
    pub role: String,
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Arguments without the program's own name.
    pub args: Vec<String>,
    /// The whole environment. Nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// File for its standard input; `None`: `/dev/null`.
    #[serde(default)]
    pub input: Option<PathBuf>,
    /// User and group id to run as; `None`: those of stampede.
    pub user: Option<(u32, u32)>,
    /// File to which standard output and error are appended.
    pub log: PathBuf,
    /// How the process is asked to end.
    pub stop: StopSpec,
}

/// How a process is asked to end. After `grace` it is killed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StopSpec {
    /// Signal number.
    pub signal: i32,
    /// Time between the signal and the kill.
    pub grace: Nanos,
}

/// Containers of a stack. An engine starts them, in groups that were made for their roles before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ContainersSpec {
    /// Roles of the containers, with at least one container each.
    pub roles: Vec<String>,
    /// Who makes their groups.
    #[serde(default)]
    pub groups: GroupMaker,
    /// Removes everything that the engine has of the stack. It runs at the end of the stack,
    /// however it ends, and must succeed where nothing is left to remove.
    pub removal: RemovalCommand,
}

/// Who makes the groups in which an engine starts containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupMaker {
    /// The keeper, as directories at the top of each hierarchy, at the same path in all of them: for
    /// an engine whose cgroup driver is `cgroupfs`.
    #[default]
    Keeper,
    /// systemd, as slices: for an engine whose driver is `systemd`, which places containers nowhere
    /// else. The keeper adds what systemd does not do in cgroup v1.
    Systemd,
}

/// A program that removes what an engine made for a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovalCommand {
    /// The program.
    pub program: PathBuf,
    /// Arguments without the program's own name.
    pub args: Vec<String>,
    /// The whole environment. Nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// Longest time that it may take.
    pub within: Nanos,
}
