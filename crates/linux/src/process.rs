//! Reads processes from `/proc`. A process may end at any moment, so every result is an `Option` or
//! a list that may be out of date.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// State of the process, one letter.
    pub state: u8,
    /// Pid of the parent.
    pub parent: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
}

impl Stat {
    /// Whether the process is a zombie or about to be one. It cannot be killed, only reaped.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Reads `/proc/PID/stat`.
pub fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name is in parentheses, and may itself contain blanks and parentheses.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let start_ticks = fields.nth(17)?.parse().ok()?;
    Some(Stat { state, parent, start_ticks })
}

/// Returns every pid, in no order.
pub fn pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the processes below `root`, without zombies.
pub fn descendants(root: u32) -> Vec<u32> {
    let stats: BTreeMap<u32, Stat> =
        pids().into_iter().filter_map(|pid| Some((pid, stat(pid)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(stats.iter().filter(|(_, s)| s.parent == parent).map(|(&pid, _)| pid));
        next += 1;
        // A snapshot taken while pids are reused could contain a cycle.
        if found.len() > stats.len() + 1 {
            break;
        }
    }
    found.retain(|pid| *pid != root && stats.get(pid).is_some_and(|stat| !stat.is_dead()));
    found
}

/// Returns the processes that have `variable`, as `NAME=value`, in their environment, as far as
/// their environments are readable. Without this process.
pub fn with_variable(variable: &str) -> Vec<u32> {
    let own = std::process::id();
    let carries = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|all| all.split(|&byte| byte == 0).any(|one| one == variable.as_bytes()))
    };
    // A zombie's environment is empty.
    pids().into_iter().filter(|&pid| pid != own).filter(carries).collect()
}

/// Returns the host pid of our child with pid `inner` in our namespace. `/proc` shows host pids
/// because it is not mounted again inside the namespace. Without a namespace both pids are the
/// same.
pub fn host_pid_of_child(inner: u32) -> u32 {
    // Only our own children are tried. Without CONFIG_PROC_CHILDREN every process is tried.
    let children = fs::read_to_string("/proc/thread-self/children").ok();
    let candidates = match &children {
        Some(text) => text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        None => pids(),
    };
    let namespace = own_namespace();
    let is_it = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/status"))
            .is_ok_and(|status| innermost_pid(&status) == Some(inner))
            && (children.is_some()
                || fs::read_link(format!("/proc/{pid}/ns/pid")).ok() == namespace)
    };
    candidates.into_iter().find(is_it).unwrap_or(inner)
}

/// Our PID namespace, such as `pid:[4026531836]`.
pub fn own_namespace() -> Option<PathBuf> {
    fs::read_link("/proc/self/ns/pid").ok()
}

/// Returns the last number of the line `NSpid:`, which is the pid in the innermost namespace.
fn innermost_pid(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

/// The id of this boot; it differs after every boot.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let text = "77 (a) b (c)) S 12 77 77 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 98765 1 2 3";
        assert_eq!(parse_stat(text), Some(Stat { state: b'S', parent: 12, start_ticks: 98765 }));
    }

    #[test]
    fn a_process_is_recognised_only_with_its_own_start_time() {
        let own = Identity::of(std::process::id()).unwrap();
        assert!(own.alive());
        assert!(!Identity { start_ticks: own.start_ticks + 1, ..own }.alive());
    }

    #[test]
    fn the_innermost_pid_is_the_last() {
        assert_eq!(innermost_pid("Name:\tx\nNSpid:\t4711\t12\t3\n"), Some(3));
        assert_eq!(innermost_pid("Name:\tx\nNSpid:\t4711\n"), Some(4711));
        assert_eq!(innermost_pid("Name:\tx\n"), None);
    }
}
