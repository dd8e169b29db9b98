//! What `/proc` says of processes. A process may be gone at any moment: everything is an
//! `Option` or a list that may be out of date.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Variable that every process of a stack carries: finds strays that left every group.
pub(super) const MARKER: &str = "STAMPEDE_STACK";

/// A process for good: a pid alone may be given to another one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Host pid.
    pub pid: u32,
    /// Clock ticks since boot, field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

impl Identity {
    /// Of a process that is there now.
    pub(super) fn of(pid: u32) -> Option<Identity> {
        stat(pid).map(|stat| Identity { pid, start_ticks: stat.start_ticks })
    }

    /// Whether this very process still runs; a zombie does not.
    pub(super) fn alive(&self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.start_ticks == self.start_ticks && !stat.is_dead())
    }
}

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub state: u8,
    pub parent: u32,
    pub start_ticks: u64,
}

impl Stat {
    /// A zombie, or about to be one: nothing to kill, only to reap.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Reads `/proc/PID/stat`.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name is in parentheses and may contain both blanks and parentheses.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let start_ticks = fields.nth(17)?.parse().ok()?;
    Some(Stat { state, parent, start_ticks })
}

/// Every pid, in no order.
pub(super) fn pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Processes below `root`, zombies left out.
pub(super) fn descendants(root: u32) -> Vec<u32> {
    let stats: BTreeMap<u32, Stat> =
        pids().into_iter().filter_map(|pid| Some((pid, stat(pid)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(stats.iter().filter(|(_, s)| s.parent == parent).map(|(&pid, _)| pid));
        next += 1;
        // A snapshot taken while pids are reused could hold a circle.
        if found.len() > stats.len() + 1 {
            break;
        }
    }
    found.retain(|pid| *pid != root && stats.get(pid).is_some_and(|stat| !stat.is_dead()));
    found
}

/// Processes that carry the marker of stack `id`, as far as we may read environments.
pub(super) fn marked(id: &str) -> Vec<u32> {
    let wanted = format!("{MARKER}={id}");
    let own = std::process::id();
    let carries = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|all| all.split(|&byte| byte == 0).any(|one| one == wanted.as_bytes()))
    };
    // The environment of a zombie is empty.
    pids().into_iter().filter(|&pid| pid != own).filter(carries).collect()
}

/// Host pid of our child with pid `inner` in our namespace. `/proc` shows the host's pids
/// because it is not mounted anew inside the namespace; without a namespace both are one.
pub(super) fn host_pid_of_child(inner: u32) -> u32 {
    // Our own children first; without CONFIG_PROC_CHILDREN every process is looked at.
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

/// Our PID namespace, as `pid:[4026531836]`.
pub(super) fn own_namespace() -> Option<PathBuf> {
    fs::read_link("/proc/self/ns/pid").ok()
}

/// Last number of the line `NSpid:`: the pid in the innermost namespace.
fn innermost_pid(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

/// Differs after every boot.
pub(super) fn boot_id() -> String {
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
    fn we_are_alive_and_another_start_time_is_not_us() {
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
