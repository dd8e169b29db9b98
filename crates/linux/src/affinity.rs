//! Keeps processes that somebody else started on some of the CPUs.

use std::collections::BTreeSet;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::proc::Proc;
use crate::process::trees;

/// How often the processes are looked for at most. Each look finds those that began since the one before.
const LOOKS: usize = 20;

/// Puts the processes `roots`, those below them and all their threads on `cpus`. What they start later
/// inherits it. Threads that the kernel does not let us place stay where they are: their status says so.
/// Empty `cpus` change nothing.
pub fn place_trees(roots: &[u32], cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU).for_each(|&cpu| set.set(cpu));
    if cpus.is_empty() || roots.is_empty() {
        return;
    }
    let (proc, mut placed) = (Proc::default(), BTreeSet::new());
    for _ in 0..LOOKS {
        let threads = trees(roots).into_iter().flat_map(|pid| proc.threads(pid));
        let new: Vec<u32> = threads.filter(|thread| placed.insert(*thread)).collect();
        if new.is_empty() {
            return;
        }
        for thread in new {
            // A thread may end during this walk.
            if let Some(thread) = i32::try_from(thread).ok().and_then(Pid::from_raw) {
                let _ = sched_setaffinity(Some(thread), &set);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::thread::sched_getaffinity;

    use super::*;

    #[test]
    fn processes_and_what_they_started_are_placed() {
        let allowed = sched_getaffinity(None).unwrap();
        let Some(last) = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu)) else {
            return;
        };
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & echo started; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 8];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut line).unwrap();
        place_trees(&[shell.id()], &[last]);
        let tree = trees(&[shell.id()]);
        assert_eq!(tree.len(), 2, "the shell and what it started");
        for pid in tree {
            let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            let on = sched_getaffinity(Some(pid)).unwrap();
            let on: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| on.is_set(cpu)).collect();
            assert_eq!(on, [last]);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        shell.wait().unwrap();
    }
}
