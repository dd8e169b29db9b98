//! Ends every process of a stack where the kernel does not do so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, WaitOptions};
use stampede_linux::cgroup;
use stampede_linux::process::{self, Held, Identity};

use crate::MARKER;

/// How long the kills may take before they count as failed. A process in uninterruptible sleep
/// cannot be killed, and nobody should wait for it forever.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What belongs to a stack.
pub(super) struct KillTarget<'a> {
    /// The stack's id, which is the value of its marker.
    pub id: &'a str,
    /// The stack's directory in the v2 tree.
    pub v2: Option<&'a Path>,
    /// The stack's directory in the v1 freezer hierarchy.
    pub freezer: Option<&'a Path>,
    /// Processes recorded in the journal.
    pub known: &'a [Identity],
    /// Whether all descendants of this process belong to the stack too.
    pub own: DescendantScope,
}

/// Which descendants of this process belong to the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DescendantScope {
    /// All of them: this process is a keeper or an init and starts nothing else.
    AllDescendants,
    /// Only known or marked processes: stampede has other children.
    OnlyKnown,
}

/// Kills until no process is found. Returns the pids that still exist after `PATIENCE`.
pub(super) fn kill_all(target: &KillTarget<'_>) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(1);
    let mut seen = BTreeSet::new();
    let mut empty_rounds = 0;
    loop {
        let found = round(target);
        seen.extend(found.iter().copied());
        let proof = reap(target.own, &seen);
        empty_rounds = if found.is_empty() { empty_rounds + 1 } else { 0 };
        let done = match proof {
            Proof::NoChildren => found.is_empty(),
            Proof::Children => false,
            Proof::Looks => empty_rounds >= LOOKS,
        };
        if done || Instant::now() > deadline {
            return found;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// How many times in a row nothing must be found where there is no proof. A process that forks and
/// ends between the listing of pids and the look at each is missed together with its child. A
/// process in the middle of `execve` shows no environment.
const LOOKS: u32 = 4;

/// What reaping proves about remaining processes.
enum Proof {
    /// No process remains. A subreaper without children has no descendants, because every orphan
    /// would be its child.
    NoChildren,
    /// A process remains, whether it was found or not.
    Children,
    /// Nothing, because this process has other children too. Only repeated looks can show it.
    Looks,
}

/// Runs every search for processes, and kills what it finds. Returns those that were alive.
///
/// A pid that was found may belong to another process by the time of the kill. So the processes are
/// held by pidfds, and then searched for once more: only one that is found while it is held is killed.
fn round(target: &KillTarget<'_>) -> Vec<u32> {
    if let Some(directory) = target.v2 {
        // The file is missing before Linux 5.14. Then the kills below do the work.
        let _ = fs::write(directory.join("cgroup.kill"), "1");
    }
    let thaw = target.freezer.filter(|directory| directory.exists()).map(freeze);
    let found = search(target);
    let held: Vec<Held> = found.iter().filter_map(|&pid| Held::of(pid)).collect();
    let still = if held.is_empty() { BTreeSet::new() } else { search(target) };
    held.iter().filter(|one| still.contains(&one.pid())).for_each(Held::kill);
    if let Some(directory) = thaw {
        // A frozen process dies of SIGKILL only after it is thawed.
        let _ = fs::write(directory.join("freezer.state"), "THAWED");
    }
    found.into_iter().collect()
}

/// The processes that belong to the stack now.
fn search(target: &KillTarget<'_>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for directory in target.v2.into_iter().chain(target.freezer) {
        found.extend(members(directory));
    }
    if target.own == DescendantScope::AllDescendants {
        found.extend(process::descendants(std::process::id()));
    }
    found.extend(target.known.iter().filter(|one| one.alive()).map(|one| one.pid));
    found.extend(process::with_variable(&format!("{MARKER}={}", target.id)));
    found
}

/// Stops forking while the pids are read. Otherwise a fork bomb could outrun the list.
fn freeze(directory: &Path) -> PathBuf {
    let _ = fs::write(directory.join("freezer.state"), "FROZEN");
    directory.to_owned()
}

/// Returns the processes of a cgroup and of the groups below it, without zombies.
pub(super) fn members(directory: &Path) -> Vec<u32> {
    let mut found = cgroup::pids(directory).unwrap_or_default();
    found.retain(|&pid| process::is_alive(pid));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(members(&entry.path()));
        }
    }
    found
}

/// Collects the exit status of processes that became our children, so that no zombie stays.
fn reap(own: DescendantScope, seen: &BTreeSet<u32>) -> Proof {
    match own {
        DescendantScope::AllDescendants => loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => return Proof::Children,
                Err(_) => return Proof::NoChildren,
            }
        },
        DescendantScope::OnlyKnown => {
            seen.iter().copied().for_each(reap_one);
            Proof::Looks
        }
    }
}

/// Collects the exit status of one process, if it is our child and has ended.
pub(super) fn reap_one(pid: u32) {
    if let Some(pid) = pid.try_into().ok().and_then(Pid::from_raw) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
