//! The programs that run in containers.

use std::collections::BTreeSet;
use std::fs;

use stampede_linux::proc::Proc;
use stampede_linux::process::Identity;

/// A process of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningProgram {
    /// The service.
    pub service: String,
    /// Its pid within the container.
    pub inner_pid: u32,
    identity: Identity,
    /// The program's path in the container.
    program: String,
}

impl RunningProgram {
    /// The programs of processes, given as service and pid. Those that cannot be read are left out.
    pub fn all(processes: &[(String, u32)]) -> Vec<RunningProgram> {
        let proc = Proc::default();
        let one = |(service, pid): &(String, u32)| {
            let program = fs::read_link(proc.of_process(*pid, "exe")).ok()?;
            Some(RunningProgram {
                service: service.clone(),
                inner_pid: proc.namespace_pids(*pid).last().copied().unwrap_or(*pid),
                identity: Identity::of(*pid)?,
                program: program.display().to_string(),
            })
        };
        processes.iter().filter_map(one).collect()
    }

    /// The programs of processes that run at both times, by service: not those that a start or a
    /// health check runs for a moment.
    pub fn lasting(
        before: &[RunningProgram],
        after: &[RunningProgram],
    ) -> BTreeSet<(String, String)> {
        let lasting = after.iter().filter(|one| before.contains(one));
        lasting.map(|one| (one.service.clone(), one.program.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_for_a_moment_is_not_listed() {
        let own = [("php".to_owned(), std::process::id())];
        let before = RunningProgram::all(&own);
        let program = std::env::current_exe().unwrap().display().to_string();
        let expected = BTreeSet::from([("php".to_owned(), program)]);
        assert_eq!(RunningProgram::lasting(&before, &RunningProgram::all(&own)), expected);
        assert_eq!(RunningProgram::lasting(&[], &before), BTreeSet::new());
        // No process has this number: it is above the kernel's limit.
        assert_eq!(RunningProgram::all(&[("php".to_owned(), 1 << 23)]), []);
    }
}
