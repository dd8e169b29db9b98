//! Finds processes: one beyond its pid, and those that belong together. A process may end at any
//! moment, so every result is an `Option` or a list that may be out of date.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};

use crate::proc::{Proc, Stat};

/// A process, identified beyond its pid. A pid alone may be given to another process later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Host pid.
    pub pid: u32,
    /// Start time in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

impl Identity {
    /// Identifies a process that exists now.
    pub fn of(pid: u32) -> Option<Identity> {
        stat(pid).map(|stat| Identity { pid, start_ticks: stat.start_ticks })
    }

    /// Whether this very process still runs. A zombie does not.
    pub fn alive(&self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.start_ticks == self.start_ticks && !stat.is_dead())
    }
}

/// A process that keeps its identity while this value exists: a signal reaches it or nobody. Take hold
/// of a process first, then look whether it is the right one.
#[derive(Debug)]
pub struct Held {
    pid: u32,
    /// `None` where the kernel has no pidfds (before Linux 5.3) or forbids them. Then the pid must do.
    handle: Option<OwnedFd>,
}

impl Held {
    /// Takes hold of the process that has this pid now; `None`: none has.
    pub fn of(pid: u32) -> Option<Held> {
        let raw = Pid::from_raw(pid.try_into().ok()?)?;
        match rustix::process::pidfd_open(raw, PidfdFlags::empty()) {
            Ok(handle) => Some(Held { pid, handle: Some(handle) }),
            Err(rustix::io::Errno::SRCH) => None,
            Err(_) => Some(Held { pid, handle: None }),
        }
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends SIGKILL. A process that is gone already is no error.
    pub fn kill(&self) {
        let raw = self.pid.try_into().ok().and_then(Pid::from_raw);
        let _ = match (&self.handle, raw) {
            (Some(handle), _) => rustix::process::pidfd_send_signal(handle, Signal::KILL),
            (None, Some(pid)) => rustix::process::kill_process(pid, Signal::KILL),
            (None, None) => Ok(()),
        };
    }
}

/// The state of a process.
pub fn stat(pid: u32) -> Option<Stat> {
    Proc::default().stat(pid)
}

/// Whether a process exists and is no zombie.
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| !stat.is_dead())
}

/// Returns the processes below `root`, without zombies.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut found = trees(&[root]);
    found.remove(&root);
    found.into_iter().collect()
}

/// Returns the processes `roots` and those below them, without zombies.
pub fn trees(roots: &[u32]) -> BTreeSet<u32> {
    trees_in(&Proc::default(), roots)
}

fn trees_in(proc: &Proc, roots: &[u32]) -> BTreeSet<u32> {
    let stats: BTreeMap<u32, Stat> =
        proc.pids().into_iter().filter_map(|pid| Some((pid, proc.stat(pid)?))).collect();
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&pid, stat) in &stats {
        children.entry(stat.parent).or_default().push(pid);
    }
    let mut found = BTreeSet::new();
    let mut left = roots.to_vec();
    while let Some(pid) = left.pop() {
        // A snapshot taken while pids are reused could contain a cycle.
        if found.insert(pid) {
            left.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found.retain(|pid| stats.get(pid).is_some_and(|stat| !stat.is_dead()));
    found
}

/// Returns the processes that have `variable`, as `NAME=value`, in their environment, as far as
/// their environments are readable. Without this process.
pub fn with_variable(variable: &str) -> Vec<u32> {
    let (proc, own) = (Proc::default(), std::process::id());
    // A zombie's environment is empty.
    let others = proc.pids().into_iter().filter(|&pid| pid != own);
    others.filter(|&pid| proc.has_variable(pid, variable)).collect()
}

/// Returns the host pid of our child with pid `inner` in our namespace. `/proc` shows host pids
/// because it is not mounted again inside the namespace. Without a namespace both pids are the
/// same.
pub fn host_pid_of_child(inner: u32) -> u32 {
    let proc = Proc::default();
    // Only our own children are tried. Without CONFIG_PROC_CHILDREN every process is tried.
    let children = proc.own_children();
    let namespace = proc.own_namespace();
    let is_it = |pid: &u32| {
        proc.namespace_pids(*pid).last() == Some(&inner)
            && (children.is_some() || proc.namespace(*pid) == namespace)
    };
    let candidates = children.clone().unwrap_or_else(|| proc.pids());
    candidates.into_iter().find(is_it).unwrap_or(inner)
}

/// Our PID namespace, such as `pid:[4026531836]`.
pub fn own_namespace() -> Option<PathBuf> {
    Proc::default().own_namespace()
}

/// The id of this boot; it differs after every boot. Empty: it cannot be read.
pub fn boot_id() -> String {
    Proc::default().setting("kernel/random/boot_id").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_process_is_recognised_only_with_its_own_start_time() {
        let own = Identity::of(std::process::id()).unwrap();
        assert!(own.alive());
        assert!(!Identity { start_ticks: own.start_ticks + 1, ..own }.alive());
    }

    #[test]
    fn a_held_process_is_killed_and_no_later_one_with_its_pid() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let held = Held::of(child.id()).unwrap();
        assert_eq!(held.pid(), child.id());
        held.kill();
        assert!(!child.wait().unwrap().success());
        // The pid is free now. The handle still means the process that has ended.
        held.kill();
        assert!(Held::of(4_194_304).is_none(), "beyond every pid");
    }

    #[test]
    fn a_tree_has_all_that_live_below_its_roots() {
        let directory = tempfile::tempdir().unwrap();
        let put = |pid: u32, state: char, parent: u32| {
            let stat =
                format!("{pid} (x) {state} {parent} 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5\n");
            fs::create_dir(directory.path().join(pid.to_string())).unwrap();
            fs::write(directory.path().join(format!("{pid}/stat")), stat).unwrap();
        };
        put(10, 'S', 1);
        put(11, 'Z', 10);
        put(12, 'R', 11);
        put(20, 'S', 1);
        // Each is the parent of the other: a snapshot while pids were reused.
        put(30, 'S', 31);
        put(31, 'S', 30);
        let trees = |roots: &[u32]| trees_in(&Proc::at(directory.path()), roots);
        assert_eq!(trees(&[10]), BTreeSet::from([10, 12]));
        assert_eq!(trees(&[20, 30, 99]), BTreeSet::from([20, 30, 31]));
    }

    #[test]
    fn a_child_without_a_namespace_has_its_own_pid() {
        assert_eq!(host_pid_of_child(4_194_304), 4_194_304, "beyond every pid");
    }
}
