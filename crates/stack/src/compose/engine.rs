//! Asks the container engine of this machine, by its command line.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stampede_linux::run::{RunError, TimedCommand};
use stampede_mask::mask_foreign;

use super::error::ComposeError;

/// How long the engine may take for a question.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// How long a pull, a build or a start of a whole project may take.
pub(super) const WORKS_WITHIN: Duration = Duration::from_secs(30 * 60);
/// The most lines of a failed command that a message shows.
const LINES_MAX: usize = 6;
/// The variables that lead a client to its engine.
const OF_ENGINE: [&str; 11] = [
    "PATH",
    "HOME",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
    "DOCKER_API_VERSION",
    "CONTAINER_HOST",
    "CONTAINERS_CONF",
];

/// The kinds of engines, which differ in their command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineKind {
    Docker,
    Podman,
}

impl EngineKind {
    /// The name of the client.
    pub fn program(self) -> &'static str {
        match self {
            EngineKind::Docker => "docker",
            EngineKind::Podman => "podman",
        }
    }
}

/// How the containers' processes can be given limits in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// The engine creates containers in groups of our own.
    OwnGroups,
    /// Each container has limits of its own.
    PerService,
}

/// How requests reach a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayIn {
    /// At the container's own address.
    ContainerAddress,
    /// At a port of 127.0.0.1, from which a proxy copies every byte.
    PublishedPort,
}

/// An engine that answers.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub kind: EngineKind,
    /// Name and version for people: `Docker 28.2.2`.
    pub version: String,
    pub grouping: Grouping,
    pub way_in: WayIn,
    /// The arguments of its compose tool, the program first.
    pub compose: Vec<String>,
    /// Name and version of the compose tool for people.
    pub compose_version: String,
}

impl Engine {
    /// Finds the engine of this machine and its compose tool: Docker before Podman.
    ///
    /// # Errors
    /// There is none, it does not answer, or it has no compose tool.
    pub fn find() -> Result<Engine, ComposeError> {
        let mut first_error = None;
        for kind in [EngineKind::Docker, EngineKind::Podman] {
            match Engine::of_kind(kind) {
                Ok(Some(engine)) => return Ok(engine),
                Ok(None) => {}
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or(ComposeError::NoEngine {}))
    }

    /// `None`: this kind is not installed.
    fn of_kind(kind: EngineKind) -> Result<Option<Engine>, ComposeError> {
        let program = kind.program();
        let command = command(&[program, "info", "--format", "{{json .}}"], ANSWERS_WITHIN);
        let silent = |said: &str| {
            let said = mask_foreign(said);
            Err(ComposeError::EngineSilent { program, said })
        };
        let info: Value = match command.run() {
            Ok(output) => serde_json::from_slice(&output.stdout).unwrap_or_default(),
            Err(RunError::NotStarted { source, .. }) if is_missing(&source) => return Ok(None),
            Err(error) => {
                let line = error.last_line();
                return silent(if line.is_empty() { "no answer" } else { &line });
            }
        };
        if let Some(said) = info["ServerErrors"][0].as_str() {
            return silent(said);
        }
        // `docker` may be another name of Podman.
        let kind = if info["host"].is_object() { EngineKind::Podman } else { kind };
        if let Some(host) = remote_host(kind) {
            return Err(ComposeError::EngineElsewhere { host });
        }
        let (compose, compose_version) = compose_tool(kind)?;
        let facts = EngineFacts::of(kind, &info);
        Ok(Some(Engine {
            kind,
            version: facts.version,
            grouping: facts.grouping,
            way_in: facts.way_in,
            compose,
            compose_version,
        }))
    }

    /// Runs the client with these arguments. Returns what it printed.
    ///
    /// # Errors
    /// It fails; the error has its last lines.
    pub fn run(&self, args: &[&str]) -> Result<String, ComposeError> {
        let all: Vec<&str> =
            std::iter::once(self.kind.program()).chain(args.iter().copied()).collect();
        let output = command(&all, WORKS_WITHIN).interruptible().run();
        let output = output.map_err(|error| failed(&all[..all.len().min(3)].join(" "), &error))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A command of the client, for its output alone.
    pub fn command(&self, args: &[&str]) -> TimedCommand {
        let all: Vec<&str> =
            std::iter::once(self.kind.program()).chain(args.iter().copied()).collect();
        command(&all, ANSWERS_WITHIN)
    }

    /// A command of the compose tool for `files`, with the project's `directory`.
    pub fn compose(&self, files: &[PathBuf], directory: &Path, args: &[&str]) -> TimedCommand {
        let mut all: Vec<String> = self.compose.clone();
        for file in files {
            all.extend(["-f".to_owned(), file.display().to_string()]);
        }
        if self.kind == EngineKind::Docker {
            all.extend(["--project-directory".to_owned(), directory.display().to_string()]);
        }
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        // Files on the command line win over this variable in every version.
        command(&all, WORKS_WITHIN).interruptible().dir(directory)
    }

    /// The name of a command of the compose tool for messages.
    pub fn compose_name(&self, verb: &str) -> String {
        format!("{} {verb}", self.compose.join(" "))
    }
}

/// The variables that lead a client to its engine, for programs that inherit no environment.
pub(super) fn engine_variables() -> BTreeMap<String, String> {
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    OF_ENGINE.iter().filter_map(variable).collect()
}

/// The error of a command that failed, with its last lines.
pub(super) fn failed(command: &str, error: &RunError) -> ComposeError {
    let said = error.output().map_or(String::new(), |output| {
        let text = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
        last_lines(&String::from_utf8_lossy(text))
    });
    let said = if said.is_empty() { error.to_string() } else { said };
    ComposeError::Tool { command: command.to_owned(), said }
}

/// The last lines that say something, with secrets masked and without terminal codes. Warnings are
/// left out if there is anything else.
pub(super) fn last_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    let (warnings, others): (Vec<&str>, Vec<&str>) = lines.partition(|line| is_warning(line));
    let lines = if others.is_empty() { warnings } else { others };
    let plain: String = lines[lines.len().saturating_sub(LINES_MAX)..].join("\n");
    let plain: String = plain.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    mask_foreign(&plain)
}

/// Whether a line of a compose tool is a warning: `level=warning` is of version 2, `WARNING:` of 1.
fn is_warning(line: &str) -> bool {
    line.contains("level=warning") || line.starts_with("WARNING:")
}

fn command(words: &[&str], within: Duration) -> TimedCommand {
    let (program, args) = words.split_first().expect("a program");
    TimedCommand::new(program, within).args(args)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// The address of an engine on another machine; `None`: it is on this one.
fn remote_host(kind: EngineKind) -> Option<String> {
    let variable = match kind {
        EngineKind::Docker => "DOCKER_HOST",
        EngineKind::Podman => "CONTAINER_HOST",
    };
    let host = std::env::var(variable).ok().filter(|host| !host.is_empty());
    let host = host.or_else(|| match kind {
        EngineKind::Docker => context_host(),
        EngineKind::Podman => None,
    })?;
    let here = ["unix://", "npipe://", "tcp://127.", "tcp://localhost", "tcp://[::1]"];
    (!here.iter().any(|begin| host.starts_with(begin))).then_some(host)
}

/// The address of Docker's current context.
fn context_host() -> Option<String> {
    let words = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];
    let output = command(&words, ANSWERS_WITHIN).run().ok()?;
    let host = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!host.is_empty()).then_some(host)
}

/// The compose tool of an engine, with name and version for people.
fn compose_tool(kind: EngineKind) -> Result<(Vec<String>, String), ComposeError> {
    let candidates: &[&[&str]] = match kind {
        EngineKind::Docker => &[&["docker", "compose"], &["docker-compose"]],
        EngineKind::Podman => &[&["podman-compose"]],
    };
    for words in candidates {
        if kind == EngineKind::Podman && !has_config(words) {
            continue;
        }
        let with_version: Vec<&str> = words.iter().copied().chain(["version"]).collect();
        if let Ok(output) = command(&with_version, ANSWERS_WITHIN).run() {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = text.lines().map(str::trim).rfind(|line| line.contains("version"));
            let version = version.unwrap_or(words[0]).to_owned();
            return Ok((words.iter().map(|&word| word.to_owned()).collect(), version));
        }
    }
    Err(ComposeError::NoTool { engine: kind.program() })
}

/// Whether a compose tool can render a project. podman-compose can since version 1.0.4.
fn has_config(words: &[&str]) -> bool {
    let with_help: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
    let output = command(&with_help, ANSWERS_WITHIN).run().unwrap_or_default();
    String::from_utf8_lossy(&output.stdout).contains("config")
}

/// What `info` says of an engine.
struct EngineFacts {
    version: String,
    grouping: Grouping,
    way_in: WayIn,
}

impl EngineFacts {
    fn of(kind: EngineKind, info: &Value) -> EngineFacts {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, driver, is_rootless, is_virtual) = match kind {
            EngineKind::Docker => {
                let security = info["SecurityOptions"].as_array().cloned().unwrap_or_default();
                let rootless = security.iter().any(|one| text(one).contains("rootless"));
                let system = text(&info["OperatingSystem"]);
                let is_virtual = ["Docker Desktop", "OrbStack", "Rancher", "Colima"]
                    .iter()
                    .any(|name| system.contains(name));
                let version = format!("Docker {}", text(&info["ServerVersion"]));
                (version, text(&info["CgroupDriver"]), rootless, is_virtual)
            }
            EngineKind::Podman => {
                let host = &info["host"];
                let rootless = host["security"]["rootless"].as_bool().unwrap_or(false);
                let version = format!("Podman {}", text(&info["version"]["Version"]));
                (version, text(&host["cgroupManager"]), rootless, false)
            }
        };
        let has_groups = driver == "cgroupfs" && !is_rootless && !is_virtual;
        let is_near = !is_rootless && !is_virtual;
        EngineFacts {
            version,
            grouping: if has_groups { Grouping::OwnGroups } else { Grouping::PerService },
            way_in: if is_near { WayIn::ContainerAddress } else { WayIn::PublishedPort },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(kind: EngineKind, info: &Value) -> (String, Grouping, WayIn) {
        let facts = EngineFacts::of(kind, info);
        (facts.version, facts.grouping, facts.way_in)
    }

    #[test]
    fn an_engine_says_how_its_containers_are_grouped_and_reached() {
        let docker = |driver: &str, system: &str, security: Value| {
            of(
                EngineKind::Docker,
                &json!({
                    "ServerVersion": "28.2.2", "CgroupDriver": driver, "OperatingSystem": system,
                    "SecurityOptions": security,
                }),
            )
        };
        let version = || "Docker 28.2.2".to_owned();
        let seccomp = || json!(["name=seccomp,profile=builtin"]);
        let own = (version(), Grouping::OwnGroups, WayIn::ContainerAddress);
        assert_eq!(docker("cgroupfs", "Debian GNU/Linux 12 (bookworm)", seccomp()), own);
        let systemd = (version(), Grouping::PerService, WayIn::ContainerAddress);
        assert_eq!(docker("systemd", "Ubuntu 24.04", Value::Null), systemd);
        let far = (version(), Grouping::PerService, WayIn::PublishedPort);
        assert_eq!(docker("cgroupfs", "Docker Desktop", seccomp()), far);
        assert_eq!(docker("cgroupfs", "Debian", json!(["name=rootless"])), far);
        let podman = |rootless: bool| {
            of(
                EngineKind::Podman,
                &json!({
                    "host": {"cgroupManager": "cgroupfs", "security": {"rootless": rootless}},
                    "version": {"Version": "4.3.1"},
                }),
            )
        };
        assert_eq!(podman(false).1, Grouping::OwnGroups);
        assert_eq!(
            podman(true),
            ("Podman 4.3.1".to_owned(), Grouping::PerService, WayIn::PublishedPort)
        );
    }

    #[test]
    fn messages_of_a_tool_are_cut_and_have_no_terminal_codes() {
        let text = (1..=9).map(|n| format!("\u{1b}[31mline {n}\n\n")).collect::<String>();
        let lines = last_lines(&text);
        assert_eq!(lines.lines().count(), LINES_MAX, "{lines}");
        assert!(lines.ends_with("line 9") && !lines.contains('\u{1b}'), "{lines}");
        let warned = "time=\"x\" level=warning msg=\"the variable A is not set\"\nno such file\nWARNING: b\n";
        assert_eq!(last_lines(warned), "no such file");
        assert_eq!(last_lines("WARNING: b\n"), "WARNING: b");
    }
}
