//! Ends every process of a stack where the kernel does not do it for us.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, WaitOptions};

use super::proc::{self, Identity};

/// How long ending may take before it is called a failure: a process in uninterruptible
/// sleep cannot be killed, and nobody shall wait for it forever.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What belongs to a stack.
pub(super) struct KillTarget<'a> {
    /// Its marker's value.
    pub id: &'a str,
    /// Its directory in the v2 tree.
    pub v2: Option<&'a Path>,
    /// Its directory in the v1 freezer hierarchy.
    pub freezer: Option<&'a Path>,
    /// Known processes.
    pub known: &'a [Identity],
    /// Whether all that descends from us belongs to it too.
    pub own: Own,
}

/// Whose descendants belong to the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// All of ours: we are a keeper or an init and start nothing else.
    AllDescendants,
    /// Only those that are known or marked: stampede has other children.
    OnlyKnown,
}

/// Kills until nothing is found; returns the pids that are still there after `PATIENCE`.
pub(super) fn everything(prey: &KillTarget<'_>) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(1);
    let mut seen = BTreeSet::new();
    let mut empty_rounds = 0;
    loop {
        let found = round(prey);
        seen.extend(found.iter().copied());
        let proof = reap(prey.own, &seen);
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

/// How often nothing must be found where there is no proof: a process that forks and ends
/// between the listing of pids and the look at each is missed with its child, and one in the
/// middle of `execve` shows no environment.
const LOOKS: u32 = 4;

/// What reaping says of those that are left.
enum Proof {
    /// A subreaper without children has no descendants: every orphan would be its child.
    NoChildren,
    /// Somebody is there, found or not.
    Children,
    /// Others' children are counted with ours: only looking tells.
    Looks,
}

/// One pass over every way to find a process; returns those that were alive.
fn round(prey: &KillTarget<'_>) -> Vec<u32> {
    let mut found = BTreeSet::new();
    if let Some(directory) = prey.v2 {
        found.extend(members(directory));
        // Absent before Linux 5.14: the pids below then do it.
        let _ = fs::write(directory.join("cgroup.kill"), "1");
    }
    let thaw = prey.freezer.filter(|directory| directory.exists()).map(freeze);
    if let Some(directory) = prey.freezer {
        found.extend(members(directory));
    }
    if prey.own == Own::AllDescendants {
        found.extend(proc::descendants(std::process::id()));
    }
    found.extend(prey.known.iter().filter(|one| one.alive()).map(|one| one.pid));
    found.extend(proc::marked(prey.id));
    for &pid in &found {
        kill(pid);
    }
    if let Some(directory) = thaw {
        // A frozen process dies of SIGKILL only once it is thawed.
        let _ = fs::write(directory.join("freezer.state"), "THAWED");
    }
    found.into_iter().collect()
}

/// Stops forking while the pids are read: else a fork bomb could outrun the list.
fn freeze(directory: &Path) -> PathBuf {
    let _ = fs::write(directory.join("freezer.state"), "FROZEN");
    directory.to_owned()
}

/// Processes of a cgroup and the groups below it, zombies left out.
pub(super) fn members(directory: &Path) -> Vec<u32> {
    let mut found: Vec<u32> = fs::read_to_string(directory.join("cgroup.procs"))
        .unwrap_or_default()
        .lines()
        // 0 is a process outside our PID namespace: not ours to kill.
        .filter_map(|line| line.parse().ok().filter(|&pid| pid != 0))
        .filter(|&pid| proc::stat(pid).is_some_and(|stat| !stat.is_dead()))
        .collect();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(members(&entry.path()));
        }
    }
    found
}

/// SIGKILL to one process; that it is gone already is fine.
pub(super) fn kill(pid: u32) {
    if let Some(pid) = pid.try_into().ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Takes the exit status of those that became our children, so that no zombie stays.
fn reap(own: Own, seen: &BTreeSet<u32>) -> Proof {
    match own {
        Own::AllDescendants => loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => return Proof::Children,
                Err(_) => return Proof::NoChildren,
            }
        },
        Own::OnlyKnown => {
            seen.iter().copied().for_each(reap_one);
            Proof::Looks
        }
    }
}

/// Takes the exit status of one process, if it is our child and has ended.
pub(super) fn reap_one(pid: u32) {
    if let Some(pid) = pid.try_into().ok().and_then(Pid::from_raw) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
