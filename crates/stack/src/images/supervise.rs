//! Starts the processes of a stack in containers, one for each, within the keeper's groups.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};
use stampede_compose::client::{Client, engine_variables};
use stampede_compose::container::{Container, SERVICE};
use stampede_compose::edit::LABEL;
use stampede_compose::engine::{Engine, EngineKind, Grouping, mount_of, parent_name};
use stampede_keeper::spec::{
    ContainersSpec, GroupMaker, ProcessSetSpec, ProcessSpec, RemovalCommand,
};
use stampede_keeper::{Keeper, KeeperOptions, NamespaceUse};
use stampede_linux::cpu_list;
use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::process_group::ProcessGroup;
use stampede_model::record::ContainerRecord;

use super::RuntimeImages;
use crate::compose::ComposeError;
use crate::compose::running;
use crate::process::stack::{Failure, StackHandle, Supervisor};
use crate::process::{OPEN_FILES, Supervise};
use stampede_compose::groups::check_groups;
use stampede_compose::owner::{self, project_of};
use stampede_compose::removal::Leftovers;

/// The label of a compose project, by which the removal finds networks and volumes.
const PROJECT: &str = "com.docker.compose.project";
/// Runs a program in the place of the shell. What it prints is appended to a file of the stack.
const WITH_LOG: &str = "exec \"$@\" >>\"$0\" 2>&1";

/// What guards the working directory of a stack of these images, and starts its containers.
pub(crate) fn supervised_by(images: RuntimeImages) -> Box<Supervise> {
    // No process of the stack is the keeper's, so namespaces would hold nothing.
    let options = KeeperOptions { namespaces: NamespaceUse::Forbidden, ..KeeperOptions::default() };
    Box::new(move |id, directory| {
        let keeper = Box::new(Keeper::guard(id, directory, &options)?);
        let images = images.clone();
        let engine = images.engine.for_stack(id);
        Ok(Box::new(ContainerSupervisor { keeper, images: RuntimeImages { engine, ..images } }))
    })
}

/// A guarded directory whose processes will run in containers.
struct ContainerSupervisor {
    keeper: Box<dyn Supervisor>,
    images: RuntimeImages,
}

impl Supervisor for ContainerSupervisor {
    fn start(self: Box<Self>, spec: &ProcessSetSpec) -> Result<Box<dyn StackHandle>, Failure> {
        let ContainerSupervisor { keeper, images } = *self;
        let mut roles: Vec<String> = spec.processes.iter().map(|one| one.role.clone()).collect();
        roles.dedup();
        let project = project_of(&spec.id);
        let removal = removal(images.engine.client, &project, &spec.id);
        let containers = ContainersSpec { roles, groups: images.engine.grouping.maker(), removal };
        let groups = ProcessSetSpec {
            processes: Vec::new(),
            in_memory: Vec::new(),
            bind: None,
            containers: Some(containers),
            first: 0,
            ..spec.clone()
        };
        let handle = keeper.start(&groups)?;
        owner::own(&images.engine, &spec.id);
        let mut set =
            ContainerSet { handle, images, spec: spec.clone(), project, containers: Vec::new() };
        let first = if spec.first == 0 { usize::MAX } else { spec.first };
        set.start_until(first)?;
        Ok(Box::new(set))
    }

    /// A step runs in a container, too, which ends with it. The client of the engine, which is the
    /// keeper's process, passes on its output and its exit code.
    fn start_beside(&self, spec: &ProcessSetSpec) -> Result<Box<dyn StackHandle>, Failure> {
        let Some((image, _)) = &self.images.php else {
            return self.keeper.start_beside(spec);
        };
        let stack = self.images.engine.stack.clone().unwrap_or_default();
        let step = |process: &ProcessSpec| {
            let run = RunContainer { spec, process, images: &self.images };
            let mut args: Vec<String> =
                ["run", "--rm", "--network", "host"].map(str::to_owned).into();
            args.extend(run.options(&project_of(&stack), &stack));
            args.extend(["--entrypoint".to_owned(), process.program.display().to_string()]);
            args.push(image.clone());
            args.extend(process.args.iter().cloned());
            let mut env = process.env.clone();
            env.extend(engine_variables());
            ProcessSpec {
                program: path_of(self.images.engine.client),
                args,
                env,
                cwd: spec.work.clone(),
                user: None,
                ..process.clone()
            }
        };
        let processes = spec.processes.iter().map(step).collect();
        // A client that is killed leaves its container behind.
        let removal = removal(self.images.engine.client, &project_of(&stack), &stack);
        let groups = GroupMaker::Keeper;
        let containers = Some(ContainersSpec { roles: Vec::new(), groups, removal });
        let steps = ProcessSetSpec { processes, containers, bind: None, ..spec.clone() };
        self.keeper.start_beside(&steps)
    }

    fn can_bind(&self) -> bool {
        true
    }
}

/// Removes the containers of a stack. They write as this user.
fn removal(client: Client, project: &str, stack: &str) -> RemovalCommand {
    Leftovers { client, project, stack, writes_data: false, copies: None, images: &[] }.removal()
}

/// The path of the engine's client.
fn path_of(client: Client) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&path).map(|directory| directory.join(client.program()));
    all.find(|path| path.is_file()).unwrap_or_else(|| Path::new("/usr/bin").join(client.program()))
}

/// Containers of a stack.
struct ContainerSet {
    handle: Box<dyn StackHandle>,
    images: RuntimeImages,
    spec: ProcessSetSpec,
    project: String,
    /// In the order of the stack's processes.
    containers: Vec<Container>,
}

impl ContainerSet {
    fn engine(&self) -> &Engine {
        &self.images.engine
    }

    /// How the containers get their limits: a group that the keeper could not make is none.
    fn grouping(&self) -> Grouping {
        let has_groups =
            self.spec.processes.iter().all(|one| self.handle.container_group(&one.role).is_some());
        match self.engine().grouping {
            Grouping::OneBudget(_) if !has_groups => Grouping::PerService,
            grouping => grouping,
        }
    }

    fn groups(&self) -> BTreeMap<String, PathBuf> {
        let Grouping::OneBudget(_) = self.grouping() else { return BTreeMap::new() };
        let roles = self.spec.processes.iter().map(|process| process.role.clone());
        roles.filter_map(|role| Some((role.clone(), self.handle.container_group(&role)?))).collect()
    }

    /// Starts the container of a process. Returns its id.
    fn run(&self, process: &ProcessSpec) -> Result<String, ComposeError> {
        let none = || ComposeError::NoOfficialImage { role: process.role.clone() };
        let image = &self.images.by_role.get(&process.role).ok_or_else(none)?.used;
        let run = RunContainer { spec: &self.spec, process, images: &self.images };
        let mut args: Vec<String> = [
            "run",
            "-d",
            "--restart",
            "no",
            "--log-driver",
            "none",
            "--network",
            "host",
            "--no-healthcheck",
        ]
        .map(str::to_owned)
        .into();
        args.extend(run.options(&self.project, &self.spec.id));
        match self.groups().get(&process.role) {
            Some(group) => {
                args.extend(["--cgroup-parent".to_owned(), parent_name(group)]);
            }
            None => args.extend(self.limits(&process.role)),
        }
        args.extend(["--entrypoint".to_owned(), "/bin/sh".to_owned(), image.clone()]);
        args.extend(["-c".to_owned(), WITH_LOG.to_owned(), process.log.display().to_string()]);
        args.push(process.program.display().to_string());
        args.extend(process.args.iter().cloned());
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let printed = self.engine().run_command(&words, |command| {
            command.envs(process.env.iter().filter(|(name, _)| !self.engine().client.reads(name)))
        })?;
        Ok(printed.trim().to_owned())
    }

    /// The options that limit a container alone.
    fn limits(&self, role: &str) -> Vec<String> {
        let cpus = self.spec.cpus_by_role.get(role).unwrap_or(&self.spec.cpus);
        let mut all = Vec::new();
        if !cpus.is_empty() {
            all.push(format!("--cpuset-cpus={}", cpu_list::format(cpus)));
        }
        if let Some(quota) = self.spec.cpu_quota {
            all.push(format!("--cpus={}", f64::from(quota.thousandths()) / 1_000.0));
        }
        if self.spec.memory_bytes > 0 {
            // Without swap, as in the groups.
            let bytes = self.spec.memory_bytes;
            all.extend([format!("--memory={bytes}"), format!("--memory-swap={bytes}")]);
        }
        all
    }
}

/// A container that will run a process.
struct RunContainer<'a> {
    spec: &'a ProcessSetSpec,
    process: &'a ProcessSpec,
    images: &'a RuntimeImages,
}

impl RunContainer<'_> {
    /// The options by which it is known, and sees and is what the process would.
    fn options(&self, project: &str, stack: &str) -> Vec<String> {
        let RunContainer { spec, process, images } = self;
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let (uid, gid) = process.user.unwrap_or(own);
        let mut all = Vec::new();
        let mut add = |option: &str, value: String| all.extend([option.to_owned(), value]);
        add("--label", format!("{LABEL}={stack}"));
        add("--label", format!("{PROJECT}={project}"));
        add("--label", format!("{SERVICE}={}", process.role));
        add("--user", format!("{uid}:{gid}"));
        add("--workdir", process.cwd.display().to_string());
        add("--mount", mount_of(&spec.work, &spec.work));
        if let Some(bind) = &spec.bind {
            add("--mount", mount_of(&bind.source, &bind.target));
        }
        for directory in &images.frameworks {
            add("--mount", mount_of(directory, directory) + ",readonly");
        }
        // No more than this process may open: an engine in the same place has the same limit. Podman gives out
        // more by itself, and sets others anew if it is asked for one.
        if images.engine.kind == EngineKind::Docker {
            let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX).min(OPEN_FILES);
            add("--ulimit", format!("nofile={most}:{most}"));
        }
        for directory in &spec.in_memory {
            // Podman knows no owner of it, and runc keeps the mode that the directory has. Nobody but the
            // container sees it.
            add("--tmpfs", format!("{}:mode=1777", directory.display()));
        }
        for (name, value) in &process.env {
            // The client takes a value from its own environment, which nobody else can read. What it
            // needs there itself is no secret.
            match images.engine.client.reads(name) {
                true => add("--env", format!("{name}={value}")),
                false => add("--env", name.clone()),
            }
        }
        all
    }
}

impl StackHandle for ContainerSet {
    fn start_until(&mut self, number: usize) -> Result<(), Failure> {
        let processes = self.spec.processes.clone();
        let (from, to) = (self.containers.len(), number.min(processes.len()));
        if from >= to {
            return Ok(());
        }
        let mut ids = Vec::new();
        for process in &processes[from..to] {
            ids.push(self.run(process)?);
        }
        let found = Container::all(self.engine(), &self.spec.id)?;
        check_groups(&found, &self.groups())?;
        let started = ids.iter().filter_map(|id| found.iter().find(|one| one.id == *id));
        self.containers.extend(started.cloned());
        Ok(())
    }

    fn exited(&self) -> Vec<Exit> {
        let ended = self.containers.iter().enumerate().filter(|(_, one)| !one.runs());
        let ended: Vec<(usize, &Container)> = ended.collect();
        if ended.is_empty() {
            return Vec::new();
        }
        let now = Container::all(self.engine(), &self.spec.id).unwrap_or_default();
        let exit = |(process, one): (usize, &Container)| {
            let now = now.iter().find(|now| now.id == one.id);
            let code = now.and_then(|now| i32::try_from(now.exit_code).ok());
            Exit { process, role: one.service.clone(), code, signal: None }
        };
        ended.into_iter().map(exit).collect()
    }

    fn group(&self) -> ProcessGroup {
        let all: Vec<&Container> = self.containers.iter().collect();
        running::process_group(self.grouping(), self.handle.as_ref(), &all)
    }

    fn container_group(&self, role: &str) -> Option<PathBuf> {
        self.handle.container_group(role)
    }

    fn containers(&self) -> Vec<ContainerRecord> {
        self.containers.iter().map(|one| one.record(self.engine(), false)).collect()
    }

    fn isolation(&self) -> IsolationRecord {
        running::isolation(self.grouping(), self.handle.isolation(), self.spec.memory_bytes)
    }

    fn lost(&self) -> Option<Failure> {
        self.handle.lost()
    }

    fn stop(self: Box<Self>) -> Result<Vec<Exit>, Failure> {
        self.handle.stop()
    }
}
