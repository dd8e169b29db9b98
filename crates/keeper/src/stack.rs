//! A stack in the hands of stampede: started, watched and stopped. Dropping it ends it by force.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::process_group::{Accounting, ProcessGroup, RoleGroup};

use super::capabilities::can_bind;
use super::error::KeeperError;
use super::journal::Journal;
use super::link::Link;
use super::spec::ProcessSetSpec;
use super::sweep::sweep_in;
use super::wire::{Order, RoleDirectories, Started};

/// Whether namespaces may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamespaceUse {
    /// Namespaces are used where the machine allows them.
    #[default]
    Allowed,
    /// Namespaces are never used. The stack is started as if the machine forbade them.
    Forbidden,
}

/// Which cgroups may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CgroupUse {
    /// All cgroups that the machine allows.
    #[default]
    Allowed,
    /// Only v1 hierarchies.
    OnlyV1,
    /// No cgroups.
    Forbidden,
}

/// What happens to the working directory at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkingDirectory {
    /// The directory is removed with the stack.
    #[default]
    Remove,
    /// The directory stays, so that people can look at it.
    Keep,
}

/// The options for the keeper of a stack.
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// The stampede binary, which is executed again as keeper and init.
    pub program: PathBuf,
    /// Whether namespaces may be used.
    pub namespaces: NamespaceUse,
    /// Which cgroups may be used.
    pub cgroups: CgroupUse,
    /// What happens to the working directory at the end.
    pub work: WorkingDirectory,
    /// Directory of the journal.
    pub journal: PathBuf,
}

impl Default for KeeperOptions {
    fn default() -> KeeperOptions {
        KeeperOptions {
            // Not the binary's path: a newer build may have replaced the file since.
            program: PathBuf::from("/proc/self/exe"),
            namespaces: NamespaceUse::default(),
            cgroups: CgroupUse::default(),
            work: WorkingDirectory::default(),
            journal: Journal::default_path(),
        }
    }
}

/// A process of a running stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Role of the process.
    pub role: String,
    /// Host pid.
    pub pid: u32,
    /// Program and arguments, quoted for a shell.
    pub command: String,
}

/// A keeper that guards a working directory in which nothing runs yet. Dropping this value ends the
/// keeper and removes the directory. So does the death of this process, at any moment.
#[derive(Debug)]
pub struct Keeper {
    link: Link,
    options: KeeperOptions,
}

impl Keeper {
    /// Starts a keeper, which creates the working directory with mode 0700. The directory must be
    /// new, unless it stays at the end. Stacks that nobody guards any more are removed first.
    ///
    /// # Errors
    /// The id is not usable or in use, the journal or the directory cannot be written, or the
    /// keeper does not start. Nothing remains then.
    pub fn guard(
        id: &str,
        directory: &Path,
        options: &KeeperOptions,
    ) -> Result<Keeper, KeeperError> {
        check_id(id)?;
        sweep_in(&options.journal)?;
        // If the keeper is killed, its orphans become children of this process, which can reap
        // them.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let link = Link::open(id, directory, options)?;
        link.wait(|state| state.guards.then_some(()))?;
        Ok(Keeper { link, options: options.clone() })
    }

    /// Whether a stack can see a directory at another path (`ProcessSetSpec::bind`).
    pub fn can_bind(&self) -> bool {
        self.options.namespaces == NamespaceUse::Allowed && can_bind(&self.options.program)
    }

    /// Starts another stack, with a different id, in the same working directory. The directory
    /// stays when that stack ends.
    ///
    /// # Errors
    /// As `ProcessSet::start`.
    pub fn start_beside(&self, spec: &ProcessSetSpec) -> Result<ProcessSet, KeeperError> {
        ProcessSet::start(
            spec,
            &KeeperOptions { work: WorkingDirectory::Keep, ..self.options.clone() },
        )
    }

    /// Starts in order every process of `spec` that is not to start later. The id and the working
    /// directory of `spec` must be those of `guard`.
    ///
    /// # Errors
    /// A program cannot be executed, a directory cannot be used, a process cannot switch to its
    /// user, or the keeper was lost. Then nothing runs and nothing remains. Isolation that the
    /// machine does not allow is no error: see `ProcessSet::isolation`.
    pub fn start(self, spec: &ProcessSetSpec) -> Result<ProcessSet, KeeperError> {
        let Keeper { mut link, .. } = self;
        link.mark_filled();
        let removal = spec.containers.iter().map(|one| Duration::from(one.removal.within)).sum();
        link.add_to_end_limit(removal);
        link.order(&Order::Start(Box::new(spec.clone())));
        let started = link.wait(|state| state.started.clone())?;
        let processes = describe(spec, &started);
        let graces = spec.processes.iter().map(|process| Duration::from(process.stop.grace));
        let stop_limit = graces.sum();
        Ok(ProcessSet { spec: spec.clone(), started, processes, stop_limit, link })
    }
}

/// A running stack. Dropping it ends everything by force.
#[derive(Debug)]
pub struct ProcessSet {
    spec: ProcessSetSpec,
    started: Started,
    processes: Vec<ProcessInfo>,
    stop_limit: Duration,
    link: Link,
}

impl ProcessSet {
    /// Starts every process of `spec`, in order, under a keeper of its own.
    ///
    /// # Errors
    /// As `Keeper::guard` and `Keeper::start`.
    pub fn start(
        spec: &ProcessSetSpec,
        options: &KeeperOptions,
    ) -> Result<ProcessSet, KeeperError> {
        Keeper::guard(&spec.id, &spec.work, options)?.start(spec)
    }

    /// Starts the remaining processes in order, until the first `number` of the stack's processes
    /// run.
    ///
    /// # Errors
    /// As `Keeper::start`.
    pub fn start_until(&mut self, number: usize) -> Result<(), KeeperError> {
        let number = number.min(self.spec.processes.len());
        if self.started.pids.len() < number {
            self.link.order(&Order::Go(number));
            let whole = |started: &Started| started.pids.len() == number;
            self.started = self.link.wait(|state| state.started.clone().filter(whole))?;
            self.processes = describe(&self.spec, &self.started);
        }
        Ok(())
    }

    /// The processes that were started, in the order of the stack, without their children.
    pub fn processes(&self) -> &[ProcessInfo] {
        &self.processes
    }

    /// Returns how processes ended so far, in the order of their ends. Does not wait.
    pub fn exited(&self) -> Vec<Exit> {
        let roots: Vec<&str> = self.processes.iter().map(|one| one.role.as_str()).collect();
        self.link.exits(&roots)
    }

    /// Describes the processes for the monitor.
    pub fn group(&self) -> ProcessGroup {
        let roots = |role: &str| {
            self.processes.iter().filter(|one| one.role == role).map(|one| one.pid).collect()
        };
        let role = |directories: &RoleDirectories| RoleGroup {
            role: directories.role.clone(),
            accounting: accounting(directories),
            roots: roots(&directories.role),
        };
        ProcessGroup { roles: self.started.roles.iter().map(role).collect() }
    }

    /// The group in which an engine shall start the containers of `role`, as a path from the top of
    /// every hierarchy; `None`: this machine allows no such groups.
    pub fn container_group(&self, role: &str) -> Option<PathBuf> {
        self.spec.containers.as_ref()?;
        let own = self.started.roles.iter().find(|directories| directories.role == role)?;
        own.group.as_ref().map(|group| Path::new("/").join(group))
    }

    /// The isolation of this stack.
    pub fn isolation(&self) -> &IsolationRecord {
        &self.started.isolation
    }

    /// Why the stack ended too early, which means that its keeper or init is gone; `None`: it did
    /// not.
    pub fn lost(&self) -> Option<KeeperError> {
        self.link.ended().map(|ended| self.link.error(ended))
    }

    /// Pid of the keeper.
    pub fn keeper_pid(&self) -> u32 {
        self.link.keeper()
    }

    /// Host pid of init.
    pub fn init_pid(&self) -> u32 {
        self.started.init
    }

    /// Stops the processes in reverse order, each with its signal and grace. Then ends and removes
    /// everything else. Returns how each process ended.
    ///
    /// # Errors
    /// The keeper or init was lost, which also ended the whole stack, or something could not be
    /// removed.
    pub fn stop(self) -> Result<Vec<Exit>, KeeperError> {
        self.link.order(&Order::Stop);
        let ended = self.link.end(Some(self.stop_limit));
        match ended.is_orderly() {
            true => Ok(self.exited()),
            false => Err(self.link.error(ended)),
        }
    }
}

/// Checks an id, which is part of file and cgroup names.
pub(super) fn check_id(id: &str) -> Result<(), KeeperError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match (1..=64).contains(&id.len()) && id.chars().all(fits) && !id.starts_with('.') {
        true => Ok(()),
        false => Err(KeeperError::BadId(id.to_owned())),
    }
}

fn describe(spec: &ProcessSetSpec, started: &Started) -> Vec<ProcessInfo> {
    let one = |(process, &pid): (&super::spec::ProcessSpec, &u32)| {
        let program = process.program.display().to_string();
        let words =
            std::iter::once(program.as_str()).chain(process.args.iter().map(String::as_str));
        ProcessInfo { role: process.role.clone(), pid, command: shell_words::join(words) }
    };
    spec.processes.iter().zip(&started.pids).map(one).collect()
}

fn accounting(directories: &RoleDirectories) -> Accounting {
    let RoleDirectories { v2, cpuacct, memory, .. } = directories.clone();
    match v2 {
        Some(directory) => Accounting::CgroupV2(directory),
        None if cpuacct.is_some() || memory.is_some() => Accounting::CgroupV1 { cpuacct, memory },
        None => Accounting::Proc,
    }
}
