//! Asks the container engine of this machine, by its command line.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stampede_keeper::MARKER;
use stampede_keeper::spec::GroupMaker;
use stampede_linux::run::{RunError, TimedCommand};
use stampede_mask::mask_foreign;

use crate::client::Client;
use crate::engine_facts::{EngineFacts, Here};
use crate::error::ComposeError;
use crate::said::failed;

/// The variable that chooses the engine.
const CHOICE: &str = "STAMPEDE_ENGINE";
/// How long the engine may take for a question.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// How long a pull, a build or a start of a whole project may take.
pub const WORKS_WITHIN: Duration = Duration::from_secs(30 * 60);
/// How the containers' processes can be given limits in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// The engine creates containers in groups that share one budget.
    OneBudget(GroupMaker),
    /// Each container has limits of its own.
    PerService,
    /// The engine limits nothing: it runs without root where the kernel gives it no groups. Containers are
    /// only kept on their CPUs.
    CpusAlone,
}

impl Grouping {
    /// Who makes the groups of a stack.
    pub fn maker(self) -> GroupMaker {
        match self {
            Grouping::OneBudget(maker) => maker,
            Grouping::PerService | Grouping::CpusAlone => GroupMaker::default(),
        }
    }
}

/// What the engine calls a group in which it shall create a container: systemd's driver knows a slice by
/// its name alone, `cgroupfs` a group by its path.
pub fn parent_name(group: &Path) -> String {
    let slice = group.file_name().and_then(|name| name.to_str());
    let slice = slice.filter(|name| name.ends_with(".slice"));
    slice.map_or_else(|| group.display().to_string(), str::to_owned)
}

/// How requests reach a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayIn {
    /// At the container's own address.
    ContainerAddress,
    /// At a port of 127.0.0.1, from which a proxy copies every byte.
    PublishedPort,
}

/// An engine that Docker's client talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// Docker Engine.
    Docker,
    /// Podman, which answers at a socket as Docker does.
    Podman,
}

impl EngineKind {
    /// Its name for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            EngineKind::Docker => "Docker",
            EngineKind::Podman => "Podman",
        }
    }

    /// The oldest version that is tried. Debian 11 has Docker 20.10.
    pub(crate) const fn oldest(self) -> (u32, u32) {
        match self {
            EngineKind::Docker => (20, 10),
            EngineKind::Podman => (4, 0),
        }
    }

    /// The driver that keeps what containers print on this machine, whatever the engine's default is.
    pub const fn log_driver(self) -> &'static str {
        match self {
            EngineKind::Docker => "local",
            EngineKind::Podman => "k8s-file",
        }
    }
}

/// An engine that answers.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The program that talks to it.
    pub client: Client,
    /// Whose it is.
    pub kind: EngineKind,
    /// Name and version for people: `Docker 28.2.2`.
    pub version: String,
    /// The machine's architecture as images name it: `amd64`.
    pub architecture: String,
    /// How the containers get limits in common.
    pub grouping: Grouping,
    /// How requests reach a container.
    pub way_in: WayIn,
    /// The arguments of its compose tool, the program first; empty: it was not looked for.
    pub compose: Vec<String>,
    /// Name and version of the compose tool for people; empty: it was not looked for.
    pub compose_version: String,
    /// The stack for which commands run. The keeper ends them by this mark if stampede ends; `None`:
    /// they only look.
    pub stack: Option<String>,
}

impl Engine {
    /// Finds the engine of this machine: the one that `STAMPEDE_ENGINE` names, else by Docker's client, or else by
    /// Podman's.
    ///
    /// # Errors
    /// There is none, it does not answer, or it cannot be measured.
    pub fn find() -> Result<Engine, ComposeError> {
        let asked = Client::asked(&std::env::var(CHOICE).unwrap_or_default())?;
        if asked == Some(Client::Podman) {
            return Engine::of_podman(asked);
        }
        match info(Client::Docker)? {
            // `docker` may be another name of Podman.
            Some(info) if !info["host"].is_object() => {
                if let Some(host) = remote_host() {
                    return Err(ComposeError::EngineElsewhere { host });
                }
                let facts = EngineFacts::of(&info, &Here::look(), is_podman)?;
                Ok(Engine::of(Client::Docker, facts))
            }
            _ => match asked {
                Some(client) => Err(ComposeError::EngineMissing { client: client.program() }),
                None => Engine::of_podman(asked),
            },
        }
    }

    /// The engine of Podman's own client.
    fn of_podman(asked: Option<Client>) -> Result<Engine, ComposeError> {
        let host = std::env::var("CONTAINER_HOST").unwrap_or_default();
        if !host.is_empty() && !is_here(&host) {
            return Err(ComposeError::EngineElsewhere { host });
        }
        let none = || match asked {
            Some(client) => ComposeError::EngineMissing { client: client.program() },
            None => ComposeError::NoEngine {},
        };
        let info = info(Client::Podman)?.ok_or_else(none)?;
        let facts = EngineFacts::of_podman(&info, &Here::look(), !host.is_empty())?;
        Ok(Engine::of(Client::Podman, facts))
    }

    fn of(client: Client, facts: EngineFacts) -> Engine {
        let EngineFacts { kind, version, architecture, grouping, way_in } = facts;
        Engine {
            client,
            kind,
            version,
            architecture,
            grouping,
            way_in,
            compose: Vec::new(),
            compose_version: String::new(),
            stack: None,
        }
    }

    /// The same engine with its compose tool.
    ///
    /// # Errors
    /// There is no such tool.
    pub fn with_compose(self) -> Result<Engine, ComposeError> {
        let (compose, compose_version) = compose_tool(self.client)?;
        Ok(Engine { compose, compose_version, ..self })
    }

    /// The same engine, whose commands are for the stack `id`.
    pub fn for_stack(&self, id: &str) -> Engine {
        Engine { stack: Some(id.to_owned()), ..self.clone() }
    }

    /// Whether the compose tool is docker-compose 1, which Docker no longer maintains.
    pub fn is_compose_v1(&self) -> bool {
        self.compose.len() == 1 && self.compose_version.contains("version 1.")
    }

    /// Whether the compose tool is podman-compose, which renders no project for others.
    pub fn is_podman_compose(&self) -> bool {
        self.compose.first().is_some_and(|program| program == PODMAN_COMPOSE)
    }

    /// `args`: the command. What Podman's client starts would inherit the mark, such as the server of names that
    /// all its networks share. So its removal waits for it instead.
    fn marked(&self, command: TimedCommand, args: &[&str]) -> TimedCommand {
        let is_alone = self.client == Client::Docker || matches!(args, ["build" | "pull", ..]);
        match self.stack.as_ref().filter(|_| is_alone) {
            Some(id) => command.env(MARKER, id),
            None => command,
        }
    }

    /// Runs the client with these arguments. Returns what it printed.
    ///
    /// # Errors
    /// It fails; the error has its last lines.
    pub fn run(&self, args: &[&str]) -> Result<String, ComposeError> {
        self.run_command(args, |command| command)
    }

    /// The same, with what `change` adds to the command: variables, input.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub fn run_command(
        &self,
        args: &[&str],
        change: impl FnOnce(TimedCommand) -> TimedCommand,
    ) -> Result<String, ComposeError> {
        let name = self.words(args)[..args.len().min(2) + 1].join(" ");
        let output = change(self.work(args)).run();
        let output = output.map_err(|error| failed(&name, &error))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A command of the client for something that takes long, such as a build.
    pub fn work(&self, args: &[&str]) -> TimedCommand {
        self.marked(command(&self.words(args), WORKS_WITHIN), args).interruptible()
    }

    /// A command line of the client.
    fn words<'a>(&self, args: &[&'a str]) -> Vec<&'a str> {
        std::iter::once(self.client.program()).chain(args.iter().copied()).collect()
    }

    /// The words by which the client builds an image. Podman's usual format has no health checks.
    pub const fn build(&self) -> &'static [&'static str] {
        match self.client {
            Client::Docker => &["build"],
            Client::Podman => &["build", "--format", "docker"],
        }
    }

    /// A command of the client, for its output alone.
    pub fn command(&self, args: &[&str]) -> TimedCommand {
        command(&self.words(args), ANSWERS_WITHIN)
    }

    /// A command of the compose tool for `files`, with the project's `directory`.
    pub fn compose(&self, files: &[PathBuf], directory: &Path, args: &[&str]) -> TimedCommand {
        let mut all: Vec<String> = self.compose.clone();
        for file in files {
            all.extend(["-f".to_owned(), file.display().to_string()]);
        }
        if !self.is_podman_compose() {
            all.extend(["--project-directory".to_owned(), directory.display().to_string()]);
        }
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        self.marked(command(&all, WORKS_WITHIN), args).interruptible().dir(directory)
    }

    /// The variables that an image sets; none if it is not here.
    pub fn image_variables(&self, image: &str) -> BTreeMap<String, String> {
        let words = ["image", "inspect", "--format", "{{json .Config.Env}}", image];
        let output = self.command(&words).run().ok();
        let all = output.and_then(|output| serde_json::from_slice(&output.stdout).ok());
        let pairs = all.into_iter().flat_map(|pairs: Vec<String>| pairs.into_iter());
        let split = |pair: String| pair.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
        pairs.filter_map(split).collect()
    }

    /// The only TCP port that an image exposes; `None`: there are several, or it is not here.
    pub fn exposed_port(&self, image: &str) -> Option<u16> {
        let words = ["image", "inspect", "--format", "{{json .Config.ExposedPorts}}", image];
        let output = self.command(&words).run().ok()?;
        let ports: BTreeMap<String, Value> = serde_json::from_slice(&output.stdout).ok()?;
        let mut tcp = ports.keys().filter_map(|port| port.strip_suffix("/tcp")?.parse().ok());
        tcp.next().filter(|_| tcp.next().is_none())
    }

    /// Whether an image has a health check; one that is not here has none.
    pub fn has_check(&self, image: &str) -> bool {
        let output = self.command(&["image", "inspect", image]).run();
        let output = output.map(|output| output.stdout).unwrap_or_default();
        let all: Value = serde_json::from_slice(&output).unwrap_or_default();
        // Docker's place of it, and Podman's.
        let places = ["/0/Config/Healthcheck", "/0/Healthcheck"];
        let mut tests = places.iter().filter_map(|place| all.pointer(place)?["Test"].as_array());
        tests.any(|test| test.first().is_some_and(|first| first != "NONE"))
    }

    /// The name of a command of the compose tool for messages.
    pub fn compose_name(&self, verb: &str) -> String {
        format!("{} {verb}", self.compose.join(" "))
    }
}

/// A file or directory of this machine at a path of the container, as the client reads it: fields of CSV.
pub fn mount_of(source: &Path, target: &Path) -> String {
    let field = |name: &str, path: &Path| {
        let field = format!("{name}={}", path.display());
        match field.contains([',', '"']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field,
        }
    };
    format!("type=bind,{},{}", field("source", source), field("target", target))
}

fn command(words: &[&str], within: Duration) -> TimedCommand {
    let (program, args) = words.split_first().expect("a program");
    TimedCommand::new(program, within).args(args)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// The address of an engine on another machine; `None`: it is on this one.
fn remote_host() -> Option<String> {
    let host = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
    let host = host.or_else(context_host)?;
    (!is_here(&host)).then_some(host)
}

/// Whether the address of an engine is of this machine.
fn is_here(host: &str) -> bool {
    let here = ["unix://", "npipe://", "tcp://127.", "tcp://localhost", "tcp://[::1]"];
    here.iter().any(|begin| host.starts_with(begin))
}

/// The address of Docker's current context.
fn context_host() -> Option<String> {
    let words = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];
    let output = command(&words, ANSWERS_WITHIN).run().ok()?;
    let host = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!host.is_empty()).then_some(host)
}

/// The compose tool that comes with Podman.
const PODMAN_COMPOSE: &str = "podman-compose";

/// The compose tool, with name and version for people.
fn compose_tool(client: Client) -> Result<(Vec<String>, String), ComposeError> {
    let candidates: &[&[&str]] = match client {
        Client::Docker => &[&["docker", "compose"], &["docker-compose"]],
        Client::Podman => &[&[PODMAN_COMPOSE]],
    };
    for words in candidates {
        let with_version: Vec<&str> = words.iter().copied().chain(["version"]).collect();
        if let Ok(output) = command(&with_version, ANSWERS_WITHIN).run() {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            // Podman-compose prints Podman's version, too, and may do so first.
            let is_own = |line: &&str| {
                line.contains("version") && (client == Client::Docker || line.contains("compose"))
            };
            let version = text.lines().map(str::trim).find(is_own).unwrap_or(words[0]);
            // Its first versions call themselves `podman-composer`.
            let version = version.replace("composer version", "compose version");
            return Ok((words.iter().map(|&word| word.to_owned()).collect(), version));
        }
    }
    Err(ComposeError::NoTool { client: client.program() })
}

/// What a client says of its engine; `None`: there is no such client.
fn info(client: Client) -> Result<Option<Value>, ComposeError> {
    let program = client.program();
    let silent = |said: &str| ComposeError::EngineSilent {
        client: program,
        said: mask_foreign(said),
        other: Some(Client::Podman).filter(|other| *other != client).and_then(installed),
    };
    let format = match client {
        Client::Docker => "{{json .}}",
        Client::Podman => "json",
    };
    match command(&[program, "info", "--format", format], ANSWERS_WITHIN).run() {
        Ok(output) => {
            let info: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            match info["ServerErrors"][0].as_str() {
                Some(said) => Err(silent(said)),
                None => Ok(Some(info)),
            }
        }
        Err(RunError::NotStarted { source, .. }) if is_missing(&source) => Ok(None),
        Err(_) if client == Client::Docker && is_alias_of_podman() => Ok(None),
        Err(error) => {
            let line = error.last_line();
            Err(silent(if line.is_empty() { "no answer" } else { &line }))
        }
    }
}

/// The program of a client that is installed.
fn installed(client: Client) -> Option<&'static str> {
    command(&[client.program(), "--version"], ANSWERS_WITHIN).run().ok().map(|_| client.program())
}

/// Whether `docker` is another name of Podman's client.
fn is_alias_of_podman() -> bool {
    let output = command(&["docker", "--version"], ANSWERS_WITHIN).run();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("podman"))
}

/// Whether the engine that Docker's client talks to is Podman, which answers at a socket of its own as
/// Docker does.
fn is_podman() -> bool {
    let words = ["docker", "version", "--format", "{{json .Server}}"];
    let output = command(&words, ANSWERS_WITHIN).run();
    let server: Value = output
        .ok()
        .and_then(|output| serde_json::from_slice(&output.stdout).ok())
        .unwrap_or_default();
    let components = server["Components"].as_array().cloned().unwrap_or_default();
    components.iter().any(|one| one["Name"].as_str().is_some_and(|name| name.contains("Podman")))
}
