//! Finds out what this machine allows, by trying it. The command `doctor` shows the result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::thread::{CapabilitySet, CapabilitySets};
use stampede_linux::mounts::Mounts;
use stampede_linux::run::TimedCommand;
use stampede_model::cpus::CpuCount;
use stampede_model::time::Nanos;

use super::cgroup::{self, Freezer};
use super::private_mounts::PrivateMounts;
use super::spec::{BindMount, ProcessSetSpec, ProcessSpec, StopSpec};
use super::stack::CgroupUse;
use super::{cpus, keep, sys};

/// First argument of the hidden command that tries namespaces.
pub(super) const ROLE: &str = "__namespaces";

/// The means on this machine to limit and end a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// `cgroup v2`, `cgroup v1`, `cgroup v1 and v2` or `no cgroups`.
    pub cgroups: &'static str,
    /// `cpuset`, `memory`, `cpuacct` and, on v2, `kill`.
    pub controllers: Vec<Controller>,
    /// Whether processes can be put into a PID namespace.
    pub pid_namespace: PidNamespace,
    /// CPUs that this process may use.
    pub cpus: Vec<usize>,
    /// The guarantee that holds, as a sentence.
    pub guarantee: String,
    /// How to fix what is missing, one line each; empty if nothing is missing.
    pub hints: Vec<String>,
}

/// A cgroup controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// The controller's name; `kill` means `cgroup.kill`.
    pub name: &'static str,
    /// The interface that offers the controller.
    pub writable: Writable,
}

/// Whether a stack can use a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// A stack can use it through this interface: `cgroup-v2` or `cgroup-v1`.
    By(&'static str),
    /// The controller is missing, or this process may not use it.
    No,
}

/// How a PID namespace can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PidNamespace {
    /// By root.
    Root,
    /// Inside a user namespace, by an ordinary user.
    User,
    /// Not at all.
    No,
}

/// The deadline of a try; it takes milliseconds.
const TRIED_WITHIN: Duration = Duration::from_secs(10);

/// Controllers that a stack uses.
const USED: [&str; 3] = ["cpuset", "memory", "cpuacct"];

/// Tries what this machine allows. Creates and removes a group in every hierarchy. Starts an init
/// in new namespaces, from a separate process that executes `program` (`KeeperOptions::program`).
pub fn capabilities(program: &Path) -> Capabilities {
    let mounts = Mounts::read();
    let cgroups = match (mounts.v1.is_empty(), mounts.v2.is_some()) {
        (true, true) => "cgroup v2",
        (false, false) => "cgroup v1",
        (false, true) => "cgroup v1 and v2",
        (true, false) => "no cgroups",
    };
    let (controllers, freezer) = try_groups();
    let pid_namespace = try_namespace(program);
    let kill = controllers.iter().any(|one| one.name == "kill" && one.writable != Writable::No);
    Capabilities {
        cgroups,
        pid_namespace,
        cpus: cpus::allowed().to_vec(),
        guarantee: guarantee(pid_namespace, kill, freezer).to_owned(),
        hints: hints(
            pid_namespace,
            &controllers,
            MissingControllersCause::of(&mounts),
            shows_processes(),
        ),
        controllers,
    }
}

/// Whether systemd answers this process, and so can make the groups of containers. It is asked once.
pub fn reaches_systemd() -> bool {
    cgroup::are_slices_possible()
}

/// What would allow a CPU quota on this machine; `None`: one is allowed. Creates and removes a
/// group in every hierarchy.
pub fn cpu_quota_fix() -> Option<&'static str> {
    let spec = ProcessSetSpec {
        id: format!("probe-quota-{}", std::process::id()),
        cpu_quota: Some(CpuCount::of_thousandths(500)),
        ..probe_spec()
    };
    let by = probed(&spec, Freezer::NotNeeded, |groups| groups.isolation().cpu_quota);
    let is_set = by.is_some_and(|by| by != "none");
    (!is_set).then(|| MissingControllersCause::of(&Mounts::read_with_cpu()).fix())
}

/// Whether the processes of a stack can see a directory at another path ([`BindMount`]). It is tried
/// once, from a separate process that executes `program` (`KeeperOptions::program`).
pub fn can_bind(program: &Path) -> bool {
    static CAN_BIND: OnceLock<bool> = OnceLock::new();
    *CAN_BIND.get_or_init(|| is_tried(program, &[ROLE, BIND]))
}

/// Second argument of the hidden command if it tries a directory at another path, too.
const BIND: &str = "bind";

/// The hidden command. Exits with code 0 if an init could start in new namespaces.
pub(super) fn main(mut args: impl Iterator<Item = OsString>) -> ! {
    let spawn_mode = match rustix::process::geteuid().is_root() {
        true => sys::SpawnMode::Namespaces,
        false => sys::SpawnMode::UserNamespaces,
    };
    let bind = args.next().is_some_and(|arg| arg == BIND).then(|| BindMount {
        source: "/".into(),
        target: "/tmp/stampede/probe".into(),
        cover: Some("/tmp".into()),
    });
    let spec = ProcessSetSpec { bind, ..probe_spec() };
    let can =
        PrivateMounts::of(&spec).is_ok_and(|mounts| keep::can_spawn_init(spawn_mode, &mounts));
    std::process::exit(if can { 0 } else { 1 })
}

fn is_tried(program: &Path, args: &[&str]) -> bool {
    TimedCommand::new(program, TRIED_WITHIN).args(args).keep(0).run().is_ok()
}

fn try_namespace(program: &Path) -> PidNamespace {
    match is_tried(program, &[ROLE]) {
        true if rustix::process::geteuid().is_root() => PidNamespace::Root,
        true => PidNamespace::User,
        false => PidNamespace::No,
    }
}

/// Creates a stack's groups without processes, looks at them, and removes them. Also returns
/// whether the v1 freezer can be used.
fn try_groups() -> (Vec<Controller>, bool) {
    probed(&probe_spec(), Freezer::IfNoKill, |groups| {
        let found = groups.controllers();
        let by = |name: &str| {
            let version = found.iter().find(|(_, one)| one == name).map(|(version, _)| *version);
            let by_v2 = name == "cpuacct" && groups.v2_counts_cpu();
            let version = version.or(by_v2.then_some("cgroup-v2"));
            version.map_or(Writable::No, Writable::By)
        };
        let mut controllers: Vec<Controller> =
            USED.into_iter().map(|name| Controller { name, writable: by(name) }).collect();
        let kill = groups.kill_directory().map_or(Writable::No, |_| Writable::By("cgroup-v2"));
        controllers.push(Controller { name: "kill", writable: kill });
        (controllers, groups.freezer_directory().is_some())
    })
}

/// Creates the groups of `spec`, without processes, lets `look` see them, and removes them.
fn probed<T>(
    spec: &ProcessSetSpec,
    freezer: Freezer,
    look: impl FnOnce(&cgroup::Groups) -> T,
) -> T {
    let plan = cgroup::Plan::new(spec, CgroupUse::Allowed);
    let directories = plan.directories();
    let seen = look(&plan.create(spec, freezer));
    for directory in directories {
        let _ = cgroup::remove(&directory);
    }
    plan.undo();
    seen
}

fn probe_spec() -> ProcessSetSpec {
    ProcessSetSpec {
        id: format!("probe-{}", std::process::id()),
        work: PathBuf::from("/"),
        in_memory: Vec::new(),
        bind: None,
        cpus: cpus::allowed().to_vec(),
        cpus_by_role: Default::default(),
        cpu_quota: None,
        memory_bytes: 64 << 20,
        processes: vec![ProcessSpec {
            role: "probe".to_owned(),
            program: PathBuf::from("/"),
            args: Vec::new(),
            env: Default::default(),
            cwd: PathBuf::from("/"),
            input: None,
            user: None,
            log: PathBuf::from("/dev/null"),
            stop: StopSpec { signal: libc::SIGTERM, grace: Nanos(0) },
        }],
        containers: None,
        first: 0,
    }
}

fn guarantee(pid_namespace: PidNamespace, kill: bool, freezer: bool) -> &'static str {
    match (pid_namespace, kill, freezer) {
        (PidNamespace::Root | PidNamespace::User, _, _) => {
            "the kernel stops every process of a stack, even if stampede and its keeper are both \
             killed (PID namespace)"
        }
        (PidNamespace::No, true, _) => {
            "stampede stops all processes that it started; if it is killed, its keeper process \
             or the next start stops them (cgroup.kill)"
        }
        (PidNamespace::No, false, true) => {
            "stampede stops all processes that it started; if it is killed, its keeper process \
             or the next start stops them (cgroup freezer)"
        }
        (PidNamespace::No, false, false) => {
            "stampede finds and stops all child processes of a stack; if it is killed, its \
             keeper process stops them, or the next start those that it can recognise"
        }
    }
}

/// Whether this process may look into those of a stack. PHP runs as another user only where stampede
/// is root.
fn shows_processes() -> bool {
    let may = |sets: CapabilitySets| sets.effective.contains(CapabilitySet::SYS_PTRACE);
    !rustix::process::geteuid().is_root() || rustix::thread::capabilities(None).is_ok_and(may)
}

/// Why controllers are missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingControllersCause {
    /// The process belongs to an ordinary user.
    User,
    /// The process is root in a container, and the container's visible root group holds processes.
    FullRoot,
    /// The process is root, and the cgroup tree is read-only or missing.
    NoTree,
}

impl MissingControllersCause {
    fn of(mounts: &Mounts) -> MissingControllersCause {
        let top = mounts.v2.as_ref().map(|v2| v2.top.as_path());
        match top {
            _ if !rustix::process::geteuid().is_root() => MissingControllersCause::User,
            Some(top) if cgroup::is_full_root(top) => MissingControllersCause::FullRoot,
            _ => MissingControllersCause::NoTree,
        }
    }

    fn fix(self) -> &'static str {
        match self {
            MissingControllersCause::User => {
                "run as root, or in a delegated group (`systemd-run --user --scope -p \
                 Delegate=yes stampede …`; for cpuset also `Delegate=cpu cpuset memory pids` in \
                 `systemctl edit user@.service`)"
            }
            MissingControllersCause::FullRoot => {
                "processes stand in the container's root group; move them into one of their own \
                 (`cd /sys/fs/cgroup && mkdir -p init && xargs -rn1 <cgroup.procs \
                 >init/cgroup.procs`)"
            }
            MissingControllersCause::NoTree => {
                "mount cgroups writable (in a container: `docker run --privileged`)"
            }
        }
    }
}

fn hints(
    pid_namespace: PidNamespace,
    controllers: &[Controller],
    situation: MissingControllersCause,
    shows_others: bool,
) -> Vec<String> {
    let mut hints = Vec::new();
    if pid_namespace == PidNamespace::No {
        let fix = match situation {
            MissingControllersCause::User => {
                "run as root, or allow user namespaces (`sysctl \
                 kernel.unprivileged_userns_clone=1`, on Ubuntu `sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0`; in Docker `--cap-add SYS_ADMIN`)"
            }
            MissingControllersCause::FullRoot | MissingControllersCause::NoTree => {
                "start the container with `--privileged`"
            }
        };
        hints.push(format!("PID namespaces: {fix}"));
    }
    if !shows_others {
        hints.push(
            "memory and busy workers: the kernel does not let stampede look into processes of other users; \
             start the container with `--cap-add SYS_PTRACE`; until then stampede may be unable to show them"
                .to_owned(),
        );
    }
    let missing: Vec<&str> = controllers
        .iter()
        .filter(|one| one.writable == Writable::No && one.name != "kill")
        .map(|one| one.name)
        .collect();
    if !missing.is_empty() {
        hints.push(format!(
            "{}: {}; until then {}",
            missing.join(", "),
            situation.fix(),
            without(&missing)
        ));
    }
    hints
}

/// Describes the effects of missing controllers.
fn without(missing: &[&str]) -> String {
    let effects = [
        ("cpuset", "CPUs are pinned by affinity"),
        ("memory", "memory is not limited"),
        ("cpuacct", "CPU time is read from /proc"),
    ];
    let ours = effects.iter().filter(|(name, _)| missing.contains(name));
    ours.map(|(_, effect)| *effect).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities_have_hints() {
        let controllers = [
            Controller { name: "cpuset", writable: Writable::No },
            Controller { name: "memory", writable: Writable::By("cgroup-v1") },
        ];
        let user = MissingControllersCause::User;
        let missing = hints(PidNamespace::No, &controllers, user, true);
        assert_eq!(missing.len(), 2);
        assert!(missing[1].starts_with("cpuset: run as root"), "{missing:?}");
        // Only controllers that are really missing are mentioned.
        assert!(missing[1].ends_with("until then CPUs are pinned by affinity"), "{missing:?}");
        assert!(hints(PidNamespace::User, &controllers[1..], user, true).is_empty());
        // Who is root already is not told to become it.
        let root = MissingControllersCause::NoTree;
        let missing = hints(PidNamespace::No, &controllers[1..], root, false);
        assert!(missing[0].ends_with("with `--privileged`"), "{missing:?}");
        assert!(missing[1].contains("--cap-add SYS_PTRACE"), "{missing:?}");
    }

    #[test]
    fn probing_leaves_no_group() {
        let (controllers, _) = try_groups();
        assert_eq!(controllers.len(), 4);
        let spec = probe_spec();
        let plan = cgroup::Plan::new(&spec, CgroupUse::Allowed);
        assert!(plan.directories().iter().all(|directory| !directory.exists()));
    }
}
