//! Says why a compose project cannot be measured.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stampede_model::words;

use crate::example::Example;
use crate::project::Target;

pub use crate::file_problem::{FileProblem, ProjectProblem};

/// Why a compose project cannot be measured.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComposeError {
    /// No program of a container engine is installed.
    #[error("this machine has no container engine: neither `docker` nor `podman` is installed")]
    NoEngine {},
    /// The engine's processes cannot be seen from here.
    #[error("the processes of this container engine ({system}) cannot be seen from here")]
    EngineHidden {
        /// The system that the engine runs on, as it says.
        system: String,
    },
    /// A container runs, and its process is not one that is seen here.
    #[error("the process of service `{service}` cannot be seen from here")]
    ProcessHidden {
        /// The service.
        service: String,
    },
    /// The engine is installed, and does not answer.
    #[error("the container engine does not answer: `{client}` says `{said}`")]
    EngineSilent {
        /// The program that talks to it.
        client: &'static str,
        /// Its last line.
        said: String,
        /// The client of another engine, which is installed too.
        #[serde(skip_serializing_if = "Option::is_none")]
        other: Option<&'static str>,
    },
    /// The engine is on another machine.
    #[error("the container engine is on another machine: `{host}`")]
    EngineElsewhere {
        /// The address of the engine.
        host: String,
    },
    /// The engine is too old.
    #[error("the container engine is {name} {version}, and stampede needs {oldest} or newer")]
    EngineOld {
        /// Its name.
        name: &'static str,
        /// Its version.
        version: String,
        /// The oldest version that is tried.
        oldest: String,
    },
    /// An image is for machines of another architecture.
    #[error(
        "image `{image}` of service `{service}` is for {of_image}, and this machine is {of_machine}: an emulator would be measured"
    )]
    OtherArchitecture {
        /// The service.
        service: String,
        /// The image.
        image: String,
        /// Its architecture.
        of_image: String,
        /// The machine's.
        of_machine: String,
        /// The program that talks to the engine.
        client: &'static str,
    },
    /// There is an engine, and no program that reads compose files.
    #[error("`{client}` is installed, and nothing that reads compose files")]
    NoTool {
        /// The program that talks to the engine.
        client: &'static str,
    },
    /// The first versions of podman-compose do not know something that the project needs.
    #[error("service `{service}` has `{line}`, which this version of podman-compose does not know")]
    ToolOld {
        /// The service.
        service: String,
        /// The line.
        line: String,
    },
    /// Podman-compose cannot do something that the project needs.
    #[error("service `{service}` has {what}, which stampede cannot give it with podman-compose")]
    ToolLacks {
        /// The service.
        service: String,
        /// What it has.
        what: String,
    },
    /// A service waits for another one that never says that it is healthy.
    #[error("`{waiting}` waits until service `{service}` is healthy, which has no health check")]
    NoCheck {
        /// The service without a check.
        service: String,
        /// The service that waits.
        waiting: String,
    },
    /// `STAMPEDE_ENGINE` names no engine.
    #[error("STAMPEDE_ENGINE is `{given}`: it can be `docker` or `podman`")]
    NoSuchEngine {
        /// Its value.
        given: String,
    },
    /// The engine that `STAMPEDE_ENGINE` asks for is not installed.
    #[error("STAMPEDE_ENGINE asks for `{client}`, which is not installed")]
    EngineMissing {
        /// The program.
        client: &'static str,
    },
    /// A service has the network of the machine.
    #[error("service `{service}` uses the network of the machine (`network_mode: host`)")]
    HostNetwork {
        /// The service.
        service: String,
    },
    /// A service uses a container or a network that is no part of the project.
    #[error("service `{service}` uses what is outside of the project (`{line}`)")]
    OtherContainer {
        /// The service.
        service: String,
        /// The line by which it does: `network_mode: container:db`.
        line: String,
    },
    /// A runtime of the catalogue names no official image for one of its roles.
    #[error("there is no official image for `{role}` of this runtime")]
    NoOfficialImage {
        /// The role.
        role: String,
    },
    /// The runtime's image is of a release of Debian, and none has this PHP.
    #[error("there is no release of Debian with PHP {php}, of which this runtime's image is made: they have {}", known.join(", "))]
    NoDebian {
        /// The version of PHP.
        php: String,
        /// The versions that there are.
        known: Vec<String>,
    },
    /// The plan names an image for a role that a runtime does not have.
    #[error("this runtime has no role `{role}`")]
    NoRole {
        /// The role as named.
        role: String,
        /// Its roles.
        known: Vec<String>,
    },
    /// Images lack programs of a runtime.
    #[error("{} {} not in the {}", quoted(needs), if needs.len() == 1 { "is" } else { "are" }, images_in_words(images))]
    NotInImages {
        /// The needs.
        needs: Vec<String>,
        /// The images.
        images: Vec<String>,
    },
    /// A setting needs programs of this machine, and the runtime consists of images.
    #[error("{what} is not possible with `images`")]
    NotWithImages {
        /// The setting.
        what: String,
    },
    /// A service has neither an image nor a build.
    #[error("service `{service}` has neither an image nor a build")]
    NoImage {
        /// The service.
        service: String,
    },
    /// A compose file does not exist.
    #[error("there is no compose file {}`{}`", if *is_directory { "in " } else { "" }, file.display())]
    NoFile {
        /// The file or directory as given.
        file: PathBuf,
        /// Whether it is a directory.
        is_directory: bool,
        /// The compose files that are there instead.
        others: Vec<PathBuf>,
    },
    /// A compose file, or one that it leads to, cannot be read.
    #[error("compose file `{}`: {problem}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: FileProblem,
    },
    /// A variable that the project's files ask for has no value.
    #[error("the compose files ask for the variable `{name}`{}", after_colon(message))]
    Variable {
        /// Its name.
        name: String,
        /// What the files say of it; may be empty.
        message: String,
        /// An example of the environment file that the project lacks.
        #[serde(skip_serializing_if = "Option::is_none")]
        example: Option<Example>,
    },
    /// A file with variables of a service does not exist.
    #[error("service `{service}` has the env file `{}`, which does not exist", file.display())]
    NoEnvFile {
        /// The service.
        service: String,
        /// The file.
        file: PathBuf,
        /// An example of the environment file that the project lacks.
        #[serde(skip_serializing_if = "Option::is_none")]
        example: Option<Example>,
    },
    /// A mount has more parts than the short form.
    #[error("service `{service}` has the mount `{mount}`, which is not `SOURCE:TARGET[:MODE]`")]
    WrongMount {
        /// The service.
        service: String,
        /// The mount as given.
        mount: String,
    },
    /// A service names what the project does not have.
    #[error("service `{service}` {}", undeclared(kind, name))]
    Undeclared {
        /// The service.
        service: String,
        /// `config`, `image`, `network`, `secret`, `service` or `volume`.
        kind: &'static str,
        /// The name.
        name: String,
        /// An example of the environment file that the project lacks.
        #[serde(skip_serializing_if = "Option::is_none")]
        example: Option<Example>,
    },
    /// The tool refuses the project, or cannot do what it was asked for.
    #[error("`{command}` failed: {said}")]
    Tool {
        /// The command, without the files.
        command: String,
        /// Its last lines.
        said: String,
        /// An example of the environment file that the project lacks.
        #[serde(skip_serializing_if = "Option::is_none")]
        example: Option<Example>,
    },
    /// An image cannot be built.
    #[error("`{command}` failed: {said}")]
    Build {
        /// The command, without the files.
        command: String,
        /// Its last lines.
        said: String,
        /// The file with all that it said; `None`: it could not be written.
        #[serde(skip_serializing_if = "Option::is_none")]
        log: Option<PathBuf>,
    },
    /// What the tool printed is no compose project.
    #[error("`{command}` printed what is no compose project: {problem}")]
    NotAProject {
        /// The command, without the files.
        command: String,
        /// What is wrong.
        problem: ProjectProblem,
    },
    /// No service of the project would be started.
    #[error(
        "no service of the project is active{}",
        if profiles.is_empty() { "" } else { ": each belongs to a profile" }
    )]
    NoneActive {
        /// The profiles.
        profiles: Vec<String>,
    },
    /// The project has no such service.
    #[error("the project has no service `{service}`")]
    NoService {
        /// The name as given.
        service: String,
        /// The services that it has.
        known: Vec<String>,
    },
    /// A service is to be built as a stage, and is not built.
    #[error("service `{service}` is not built here: it has an image")]
    NotBuilt {
        /// The service.
        service: String,
    },
    /// No Dockerfile has a stage of this name.
    #[error("{} a stage `{stage}`", has_no(service))]
    NoStage {
        /// The stage as given.
        stage: String,
        /// The service whose Dockerfile should have it; empty: any of the project.
        service: String,
        /// The stages that there are.
        known: Vec<String>,
    },
    /// It is not clear which service requests go to.
    #[error("{}", undecided(publishing))]
    WhichService {
        /// The services that publish a port.
        publishing: Vec<String>,
        /// All services.
        known: Vec<String>,
        /// The one that is most likely meant; `None`: none can answer requests.
        likely: Option<Target>,
    },
    /// It is not clear which port of the service requests go to.
    #[error("service `{service}` {}", undecided_port(ports))]
    WhichPort {
        /// The service.
        service: String,
        /// The ports that it publishes.
        ports: Vec<u16>,
    },
    /// The service publishes only ports of HTTPS.
    #[error(
        "service `{service}` publishes only {}, where HTTPS is spoken, and the load is plain HTTP",
        port_list(ports)
    )]
    OnlyHttps {
        /// The service.
        service: String,
        /// The ports that it publishes.
        ports: Vec<u16>,
    },
    /// A volume cannot be copied, since containers use it.
    #[error("volume `{volume}` is in use by {}, so it cannot be copied", containers.join(", "))]
    VolumeInUse {
        /// The volume's name.
        volume: String,
        /// The containers.
        containers: Vec<String>,
    },
    /// A container ended, or did not begin.
    #[error("service `{service}` {state}{log}")]
    Ended {
        /// The service.
        service: String,
        /// What became of it: `ended with exit code 1`.
        state: String,
        /// The last lines of its log, with a line break before them; or empty.
        log: String,
    },
    /// A service does not become healthy by its own check.
    #[error(
        "service `{service}` was not healthy within {within}, by the project's own check{}{log}",
        after_colon(said)
    )]
    NeverHealthy {
        /// The service.
        service: String,
        /// The time limit, such as `60 s`.
        within: String,
        /// The last line that the check said; may be empty.
        said: String,
        /// The last lines of its log, with a line break before them; or empty.
        log: String,
    },
    /// Nothing answers at the service's port.
    #[error("service `{service}` did not answer on port {port} within {within}: {last}{log}")]
    NotReady {
        /// The service.
        service: String,
        /// The port inside its container.
        port: u16,
        /// The time limit, such as `60 s`.
        within: String,
        /// What the last attempt saw.
        last: String,
        /// The last lines of the logs, with a line break before them; or empty.
        log: String,
    },
    /// The container of the service has no address that this machine can reach.
    #[error("the container of service `{service}` has no address")]
    NoAddress {
        /// The service.
        service: String,
    },
    /// The container's address is in no network of this machine: a request would go to somebody else.
    #[error(
        "the container of service `{service}` is at {address}, which is in no network of this machine"
    )]
    FarAddress {
        /// The service.
        service: String,
        /// The address that the engine names.
        address: String,
    },
    /// Something listens in the container, and connections from here do not get there.
    #[error("the container of service `{service}` is not reached at {address}")]
    Unreached {
        /// The service.
        service: String,
        /// Its address and port.
        address: String,
    },
    /// A process of the project is outside the group with the budget.
    #[error("process {pid} of service `{service}` runs outside the group of the budget")]
    OutsideBudget {
        /// The service.
        service: String,
        /// The process.
        pid: u32,
    },
    /// The page's answer is wrong.
    #[error("the page `{path}`: {wrong}{log}")]
    WrongPage {
        /// The path that was asked.
        path: String,
        /// What is wrong with the answer.
        wrong: String,
        /// The last lines of the logs, with a line break before them; or empty.
        log: String,
    },
    /// The page was not answered.
    #[error("the page `{path}`: {problem}")]
    NoAnswer {
        /// The path that was asked.
        path: String,
        /// What the client saw.
        problem: String,
    },
}

fn after_colon(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn quoted(names: &[String]) -> String {
    words::list(&names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>())
}

fn images_in_words(images: &[String]) -> String {
    let word = if images.len() == 1 { "image" } else { "images" };
    format!("{word} {}", quoted(images))
}

fn has_no(service: &str) -> String {
    match service {
        "" => "no Dockerfile of the project has".to_owned(),
        service => format!("the Dockerfile of service `{service}` does not have"),
    }
}

fn undeclared(kind: &str, name: &str) -> String {
    let a = if kind == "image" { "an" } else { "a" };
    match name.is_empty() {
        true => format!("names {a} {kind} by a variable that has no value"),
        false => format!("uses the {kind} `{name}`, which the project does not have"),
    }
}

fn undecided(publishing: &[String]) -> String {
    match publishing {
        [] => "no service of the project publishes a port of a web server".to_owned(),
        _ => format!("several services of the project publish a port: {}", publishing.join(", ")),
    }
}

fn undecided_port(ports: &[u16]) -> String {
    match ports.is_empty() {
        true => "publishes no port".to_owned(),
        false => format!("publishes several ports: {}", port_list(ports)),
    }
}

fn port_list(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

impl ComposeError {
    /// The same error, which knows the example of the file with variables that the project lacks.
    #[must_use]
    pub(crate) fn with_example(self, directory: &Path) -> ComposeError {
        let of_project = || Example::of(&directory.join(".env"));
        match self {
            ComposeError::Tool { command, said, .. } => {
                const OF_VARIABLES: [&str; 8] = [
                    "env file",
                    "empty section",
                    "interpolating",
                    "interpolation",
                    "invalid spec",
                    "not set",
                    "ports contains an invalid type",
                    "required variable",
                ];
                let is_about_it = OF_VARIABLES.iter().any(|part| said.contains(part));
                let example = is_about_it.then(|| Example::of_said(&said, directory)).flatten();
                ComposeError::Tool { command, said, example }
            }
            ComposeError::Variable { name, message, .. } => {
                ComposeError::Variable { name, message, example: of_project() }
            }
            ComposeError::NoEnvFile { service, file, .. } => {
                let example = Example::of(&file);
                ComposeError::NoEnvFile { service, file, example }
            }
            ComposeError::Undeclared { service, kind, name, .. } if name.is_empty() => {
                ComposeError::Undeclared { service, kind, name, example: of_project() }
            }
            other => other,
        }
    }

    /// A file of a stack cannot be written.
    pub fn unwritten(file: &Path, error: &io::Error) -> ComposeError {
        let command = format!("write {}", file.display());
        ComposeError::Tool { command, said: error.to_string(), example: None }
    }

    /// Whether it is about the images of one stack, and not about the engine.
    pub fn is_about_images(&self) -> bool {
        use ComposeError as E;
        matches!(
            self,
            E::NoOfficialImage { .. }
                | E::NoDebian { .. }
                | E::NotInImages { .. }
                | E::NotWithImages { .. }
                | E::OtherArchitecture { .. }
                | E::Tool { .. }
                | E::Build { .. }
        )
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
