//! Finds the processes of a server that are watched, by container, compose project, unit or pid, or the
//! machine that it is on.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use stampede_linux::cgroup;
use stampede_linux::proc::Proc;
use stampede_linux::process::Identity;
use stampede_linux::run::{ProgramOutput, RunError, TimedCommand};
use stampede_model::fact::external::External;
use stampede_model::process_group::{Accounting, ProcessGroup, RoleGroup};
use stampede_plan::model::Watch;

use super::error::ExternalError;
use super::group::{self, CgroupOwner};
use super::project;

/// Watched processes, with what shows whether they are still the same.
#[derive(Clone, Debug)]
pub struct WatchedProcesses {
    watch: Watch,
    /// The main process of each part; empty: the unit has none.
    mains: Vec<Identity>,
    /// One, or one for each service of a project.
    roles: Vec<RoleGroup>,
    /// Number of CPUs of another machine.
    cpus_elsewhere: Option<u32>,
}

/// The only role of anything but a project: from outside, a web server and PHP cannot be told apart.
pub const ROLE: &str = "all";

impl WatchedProcesses {
    /// Finds the processes now.
    ///
    /// # Errors
    /// They do not exist, or nothing on this machine can say where they are.
    pub fn find(watch: &Watch) -> Result<WatchedProcesses, ExternalError> {
        match watch {
            Watch::Pid(pid) => of_pid(*pid),
            Watch::Unit(name) => of_unit(name),
            Watch::Container(name) => of_container(name),
            Watch::Project(name) => project::of(name),
            Watch::Ssh(host) => of_machine(host),
        }
    }

    /// Number of CPUs of the machine that is watched. `None`: it is this one.
    pub fn cpus_elsewhere(&self) -> Option<u32> {
        self.cpus_elsewhere
    }

    fn new(watch: Watch, mains: Vec<Identity>, roles: Vec<RoleGroup>) -> WatchedProcesses {
        WatchedProcesses { watch, mains, roles, cpus_elsewhere: None }
    }

    /// Several parts, each with a role of its own.
    pub(super) fn of_parts(
        watch: Watch,
        parts: Vec<(String, WatchedProcesses)>,
    ) -> WatchedProcesses {
        let mut whole = WatchedProcesses::new(watch, Vec::new(), Vec::new());
        for (name, part) in parts {
            whole.mains.extend(part.mains);
            let named = part.roles.into_iter().map(|role| RoleGroup { role: name.clone(), ..role });
            whole.roles.extend(named);
        }
        whole
    }

    /// The processes as the monitor takes them.
    pub fn group(&self) -> ProcessGroup {
        ProcessGroup { roles: self.roles.clone() }
    }

    /// Where CPU time and memory are read, for the record.
    pub fn accounting(&self) -> String {
        let name = |role: &RoleGroup| {
            let (cpu, memory) =
                (group::name(&role.accounting), group::memory_name(&role.accounting));
            if cpu == memory { cpu.to_owned() } else { format!("{cpu}, memory from {memory}") }
        };
        let mut names: Vec<String> = self.roles.iter().map(name).collect();
        names.dedup();
        names.join("; ")
    }

    /// The processes as a tree below the first ones, not through their cgroup.
    pub fn tree(&self) -> ProcessGroup {
        let tree = |role: &RoleGroup| RoleGroup { accounting: Accounting::Proc, ..role.clone() };
        ProcessGroup { roles: self.roles.iter().map(tree).collect() }
    }

    /// The note about how memory is read from `/proc`; `None`: it is read from a cgroup, as for
    /// other runtimes.
    pub fn memory_note(&self) -> Option<External> {
        let proc = Proc::default();
        let is_shared = |role: &&RoleGroup| group::memory_name(&role.accounting) == "proc";
        let is_read = |role: &RoleGroup| role.roots.iter().all(|pid: &u32| proc.shows_memory(*pid));
        let shared: Vec<&RoleGroup> = self.roles.iter().filter(is_shared).collect();
        match shared.iter().all(|role| is_read(role)) {
            _ if shared.is_empty() => None,
            true => Some(External::MemoryShared {}),
            false => Some(External::MemoryUnreadable {}),
        }
    }

    /// The plan's `watch`, if the processes ended or were replaced; `None`: they are the same.
    pub fn gone(&self) -> Option<Watch> {
        let same = match self.mains.as_slice() {
            [] => WatchedProcesses::find(&self.watch).is_ok(),
            mains => mains.iter().all(Identity::alive),
        };
        (!same).then(|| self.watch.clone())
    }
}

/// The living process with this pid; `None`: there is none. A zombie has ended.
fn living(pid: u32) -> Option<Identity> {
    Identity::of(pid).filter(Identity::alive)
}

fn of_pid(pid: u32) -> Result<WatchedProcesses, ExternalError> {
    let watch = Watch::Pid(pid);
    let Some(main) = living(pid) else {
        return Err(ExternalError::NoProcess { pid });
    };
    let role = RoleGroup { role: ROLE.to_owned(), accounting: Accounting::Proc, roots: vec![pid] };
    Ok(WatchedProcesses::new(watch, vec![main], vec![role]))
}

fn of_unit(name: &str) -> Result<WatchedProcesses, ExternalError> {
    let mut state = unit_state(name, &[])?;
    if state.get("LoadState") == "not-found"
        && let Ok(users) = unit_state(name, &["--user"])
        && users.get("LoadState") == "loaded"
    {
        state = users;
    }
    match (state.get("LoadState"), state.get("ActiveState")) {
        ("not-found", _) => return Err(ExternalError::NoUnit { unit: name.to_owned() }),
        (_, "active" | "reloading") => {}
        (_, other) => {
            let thing = Watch::Unit(name.to_owned()).to_string();
            return Err(ExternalError::NotRunning { thing, state: other.to_owned() });
        }
    }
    let owner = CgroupOwner::Unit(state.get("ControlGroup").to_owned());
    let pid = state.get("MainPID").parse().unwrap_or(0);
    watched(Watch::Unit(name.to_owned()), pid, &owner)
}

/// The `key=value` lines of `systemctl show` (systemctl(1)). That command succeeds for unknown
/// units, too.
struct Properties(String);

impl Properties {
    fn get(&self, key: &str) -> &str {
        let value = |line: &'_ str| line.strip_prefix(key)?.strip_prefix('=').map(str::len);
        let line = self.0.lines().find(|line| value(line).is_some());
        line.map_or("", |line| line[key.len() + 1..].trim())
    }
}

fn unit_state(name: &str, scope: &[&str]) -> Result<Properties, ExternalError> {
    let mut args = scope.to_vec();
    args.push("show");
    for property in ["LoadState", "ActiveState", "MainPID", "ControlGroup"] {
        args.extend(["-p", property]);
    }
    args.extend(["--", name]);
    match run_program("systemctl", &args)? {
        Said::Nothing => Err(ExternalError::NoProgram { programs: "`systemctl`", what: "a unit" }),
        Said::Refusal(said) => {
            let thing = Watch::Unit(name.to_owned()).to_string();
            Err(ExternalError::Unknown { thing, said })
        }
        Said::Text(text) => Ok(Properties(text)),
    }
}

/// The output format of `inspect`. Docker and Podman share the names of these fields.
const CONTAINER: &str = "{{.State.Running}} {{.State.Pid}} {{.Id}}";

fn of_container(name: &str) -> Result<WatchedProcesses, ExternalError> {
    let watch = Watch::Container(name.to_owned());
    let args = ["inspect", "--type", "container", "--format", CONTAINER, name];
    let thing = || watch.to_string();
    let mut answers = Vec::new();
    for program in ["docker", "podman"] {
        let text = match run_program(program, &args)? {
            Said::Nothing => continue,
            Said::Refusal(said) => {
                answers.push(said);
                continue;
            }
            Said::Text(text) => text,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        return match fields[..] {
            ["true", pid, id] => {
                let owner = CgroupOwner::Container(id.to_owned());
                watched(watch.clone(), pid.parse().unwrap_or(0), &owner)
            }
            [_, _, _] => {
                Err(ExternalError::NotRunning { thing: thing(), state: "stopped".to_owned() })
            }
            _ => {
                let said = format!("`{program}` says `{}`", text.trim());
                Err(ExternalError::Unknown { thing: thing(), said })
            }
        };
    }
    match answers.is_empty() {
        true => {
            Err(ExternalError::NoProgram { programs: "`docker` or `podman`", what: "a container" })
        }
        false => Err(ExternalError::Unknown { thing: thing(), said: answers.join(", ") }),
    }
}

/// Builds what is watched: the cgroup that belongs to it alone, or the process and all below it.
pub(super) fn watched(
    watch: Watch,
    pid: u32,
    owner: &CgroupOwner,
) -> Result<WatchedProcesses, ExternalError> {
    let proc = Proc::default();
    let main = living(pid);
    let cgroup = match (main, owner) {
        (Some(main), _) => proc.cgroup(main.pid),
        // A unit without a main process still has a cgroup.
        (None, CgroupOwner::Unit(group)) if pid == 0 => format!("0::{group}\n"),
        (None, _) => return Err(ExternalError::Elsewhere { thing: watch.to_string(), pid }),
    };
    if let (Some(main), CgroupOwner::Container(_)) = (main, owner) {
        // The daemon may run on another machine. Its pid then belongs to an unrelated process here.
        if !group::is_named(&cgroup, owner) && !is_init(&proc, main.pid) {
            return Err(ExternalError::Elsewhere { thing: watch.to_string(), pid });
        }
    }
    let accounting = group::accounting(&proc.text("self/mountinfo"), &cgroup, owner);
    if main.is_none() && matches!(accounting, Accounting::Proc) {
        return Err(ExternalError::Elsewhere { thing: watch.to_string(), pid });
    }
    let mut roots: Vec<u32> = main.iter().map(|main| main.pid).collect();
    roots.extend(members(&accounting));
    roots.dedup();
    let role = RoleGroup { role: ROLE.to_owned(), accounting, roots };
    Ok(WatchedProcesses::new(watch, main.into_iter().collect(), vec![role]))
}

/// Another machine as a whole. It is asked for the number of its CPUs, so that one which cannot be
/// reached is named before anything is sent.
fn of_machine(host: &str) -> Result<WatchedProcesses, ExternalError> {
    let watch = Watch::Ssh(host.to_owned());
    let args =
        ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", host, "cat /proc/stat"];
    let said = match run_program("ssh", &args)? {
        Said::Text(text) => {
            let is_cpu = |line: &&str| {
                let number = line.strip_prefix("cpu").and_then(|rest| rest.chars().next());
                number.is_some_and(|first| first.is_ascii_digit())
            };
            let cpus = text.lines().filter(is_cpu).count();
            if let Ok(cpus @ 1..) = u32::try_from(cpus) {
                let accounting = Accounting::Ssh { host: host.to_owned() };
                let role = RoleGroup { role: ROLE.to_owned(), accounting, roots: Vec::new() };
                let machine = WatchedProcesses::new(watch, Vec::new(), vec![role]);
                return Ok(WatchedProcesses { cpus_elsewhere: Some(cpus), ..machine });
            }
            "it has no `/proc/stat`: it is no Linux machine, or shows something else".to_owned()
        }
        Said::Refusal(said) => said,
        Said::Nothing => {
            return Err(ExternalError::NoProgram { programs: "`ssh`", what: "another machine" });
        }
    };
    Err(ExternalError::Unreachable { host: host.to_owned(), said })
}

/// The pids that are now in the cgroup. Their CPU time is counted if the group has no figure.
fn members(accounting: &Accounting) -> Vec<u32> {
    let directory = match accounting {
        Accounting::CgroupV2(directory) => Some(directory),
        Accounting::CgroupV1 { cpuacct, memory } => cpuacct.as_ref().or(memory.as_ref()),
        Accounting::Proc | Accounting::Ssh { .. } => None,
    };
    directory.and_then(|directory| cgroup::pids(directory)).unwrap_or_default()
}

/// Whether the process is the first one of a PID namespace below ours.
fn is_init(proc: &Proc, pid: u32) -> bool {
    let pids = proc.namespace_pids(pid);
    pids.len() > 1 && pids.last() == Some(&1)
}

/// The answer of a program that was asked.
pub(super) enum Said {
    /// It is not installed.
    Nothing,
    /// It failed; its last line on standard error, for a message.
    Refusal(String),
    /// What it printed.
    Text(String),
}

/// Runs a program for its answer.
pub(super) fn run_program(program: &'static str, args: &[&str]) -> Result<Said, ExternalError> {
    match TimedCommand::new(program, ANSWERS_WITHIN).args(args).run() {
        Ok(output) => Ok(Said::Text(String::from_utf8_lossy(&output.stdout).into_owned())),
        Err(RunError::Failed { status, output, .. }) => {
            Ok(Said::Refusal(last_error_line(program, status, &output)))
        }
        Err(RunError::NotStarted { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(Said::Nothing)
        }
        Err(RunError::NotStarted { source, .. }) => Err(ExternalError::Asking { program, source }),
        Err(RunError::TimedOut { .. } | RunError::Interrupted { .. }) => {
            Err(ExternalError::Asking { program, source: io::ErrorKind::TimedOut.into() })
        }
    }
}

fn last_error_line(program: &str, status: ExitStatus, output: &ProgramOutput) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line = line.map_or_else(|| status.to_string(), str::to_owned);
    format!("`{program}` says `{line}`")
}

/// The timeout of `docker inspect` and `systemctl show`, which take milliseconds.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_property_is_found_only_by_its_whole_name() {
        let text = "MainPID=77\nControlGroup=/a=b\nExecMainPID=1\nLoadState=\n".to_owned();
        let properties = Properties(text);
        assert_eq!(properties.get("MainPID"), "77");
        assert_eq!(properties.get("ControlGroup"), "/a=b");
        assert_eq!(properties.get("LoadState"), "");
        assert_eq!(properties.get("PID"), "");
    }

    #[test]
    fn a_living_process_can_be_watched_and_an_unused_pid_cannot() {
        let watched = WatchedProcesses::find(&Watch::Pid(std::process::id())).expect("it is us");
        assert_eq!(watched.gone(), None);
        assert_eq!(watched.accounting(), "proc");
        let about = watched.memory_note().expect("no cgroup is ours alone");
        assert_eq!(about, External::MemoryShared {});
        assert_eq!(watched.group().roles[0].roots, [std::process::id()]);
        let nobody = WatchedProcesses::find(&Watch::Pid(4_194_304)).expect_err("beyond every pid");
        assert_eq!(nobody.to_string(), "there is no process with pid 4194304 on this machine");
    }

    #[test]
    fn a_zombie_counts_as_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let watched = WatchedProcesses::find(&Watch::Pid(child.id())).expect("it runs");
        child.kill().expect("killed");
        let begun = Instant::now();
        while watched.gone().is_none() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let gone = watched.gone().expect("it ended");
        assert_eq!(gone, Watch::Pid(child.id()));
        child.wait().expect("reaped");
    }
}
