//! Says why a compose project cannot be measured.

use std::path::PathBuf;

use serde::Serialize;
use stampede_model::words;

use crate::engine::says_disk_is_full;

/// Why a compose project cannot be measured.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComposeError {
    /// No program of a container engine is installed.
    #[error("this machine has no container engine: `docker` is not installed")]
    NoEngine {},
    /// The client is Podman's own.
    #[error("`docker` is Podman's client here, and stampede needs Docker's")]
    Podman {},
    /// The engine's processes cannot be seen from here.
    #[error("the processes of this container engine ({system}) cannot be seen from here")]
    EngineHidden {
        /// The system that the engine runs on, as it says.
        system: String,
    },
    /// The engine is installed, and does not answer.
    #[error("the container engine does not answer: `docker` says `{said}`")]
    EngineSilent {
        /// Its last line.
        said: String,
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
    },
    /// There is an engine, and no program that reads compose files.
    #[error("`docker` is installed, and nothing that reads compose files")]
    NoTool {},
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
    #[error("there is no compose file `{}`", file.display())]
    NoFile {
        /// The file as given.
        file: PathBuf,
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
        example: Option<PathBuf>,
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
    /// It is not clear which service requests go to.
    #[error("{}", undecided(publishing))]
    WhichService {
        /// The services that publish a port.
        publishing: Vec<String>,
        /// All services.
        known: Vec<String>,
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

/// Why a text is no compose project.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectProblem {
    /// It cannot be parsed.
    #[error("it is no YAML")]
    NotYaml(
        #[serde(skip)]
        #[source]
        Box<serde_saphyr::Error>,
    ),
    /// It is not a map.
    #[error("it is no map")]
    NoMap {},
    /// It has no map of services.
    #[error("it has no services")]
    NoServices {},
}

/// Names that services with a web server often have, the most likely first.
const LIKELY: [&str; 8] = ["nginx", "web", "caddy", "apache", "webserver", "app", "php", "octane"];

fn quoted(names: &[String]) -> String {
    words::list(&names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>())
}

fn images_in_words(images: &[String]) -> String {
    let word = if images.len() == 1 { "image" } else { "images" };
    format!("{word} {}", quoted(images))
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
    /// The same error, which knows that the project has only the example of an environment file.
    #[must_use]
    pub fn with_environment_file(self, found: Option<PathBuf>) -> ComposeError {
        match self {
            ComposeError::Tool { command, said, .. } => {
                const OF_VARIABLES: [&str; 7] = [
                    "env file",
                    "empty section",
                    "interpolation",
                    "invalid spec",
                    "invalid type",
                    "not set",
                    "required variable",
                ];
                let is_about_it = OF_VARIABLES.iter().any(|part| said.contains(part));
                ComposeError::Tool { command, said, example: found.filter(|_| is_about_it) }
            }
            other => other,
        }
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

    /// The service among `names` that most likely answers requests; `None`: there is none.
    pub fn most_likely(names: &[String]) -> Option<&str> {
        let likely = LIKELY.iter().find_map(|likely| names.iter().find(|name| name == likely));
        likely.or(names.first()).map(String::as_str)
    }

    /// What the user can do next; shown on a line of its own.
    pub fn hint(&self) -> Option<String> {
        use ComposeError as E;
        match self {
            E::Tool { example: Some(example), .. } => Some(format!(
                "the project has no `.env`: copy `{0}` to `{1}` first, and fill in its values",
                example.display(),
                example.with_file_name(".env").display()
            )),
            E::Tool { said, command, .. } => tool_hint(command, said).map(str::to_owned),
            E::Build { said, command, log } => {
                let log = log.as_ref().map(|log| format!("all that it said is in {}", log.display()));
                let parts = [tool_hint(command, said).map(str::to_owned), log];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                (!parts.is_empty()).then(|| parts.join("; "))
            }
            E::NoneActive { profiles } => {
                let all = profiles.join(", ");
                profiles.first().map(|first| {
                    format!("choose: `--env COMPOSE_PROFILES={first}` (profiles: {all})")
                })
            }
            E::NoService { known, .. } => Some(format!("its services: {}", known.join(", "))),
            E::WhichService { publishing, known } => {
                let choices = if publishing.is_empty() { known } else { publishing };
                let first = ComposeError::most_likely(choices).unwrap_or("web");
                Some(format!(
                    "name the service and its port: `--service {first} --port 80` (services: {})",
                    known.join(", ")
                ))
            }
            E::OnlyHttps { .. } => Some(
                "if it answers by plain HTTP too, name that port inside the container: `--port 80`; with Caddy, \
                 `--env SERVER_NAME=:80` does"
                    .to_owned(),
            ),
            E::OtherArchitecture { image, of_machine, .. } => Some(format!(
                "fetch it for this machine (`docker pull --platform \
                 linux/{of_machine} {image}`), and look for `platform:` in the compose file"
            )),
            E::NoOfficialImage { role } => Some(format!(
                "name one in the plan (`images: {{{role}: \"…\"}}`), or measure this runtime with the programs of \
                 this machine (`images: off`)"
            )),
            E::NoDebian { .. } => Some(
                "ask for one of these (`php` in a plan), or name an image of your own (`images`)".to_owned(),
            ),
            E::NoRole { known, .. } => Some(format!("its roles: {}", known.join(", "))),
            E::NotInImages { .. } => Some(
                "name images that have it (`images` in a plan); an image must have a shell, too".to_owned(),
            ),
            E::NotWithImages { .. } => Some(
                "remove the setting, or describe the stack in a compose file (`--compose`)".to_owned(),
            ),
            E::WhichPort { ports, .. } => Some(format!(
                "name the port inside the container: `--port {}`",
                ports.first().copied().unwrap_or(80)
            )),
            _ => self.engine_hint().or(self.project_hint()).map(str::to_owned),
        }
    }

    /// What the user can do about the engine.
    fn engine_hint(&self) -> Option<&'static str> {
        use ComposeError as E;
        let is_refused = |said: &str| said.to_ascii_lowercase().contains("permission denied");
        match self {
            E::NoEngine {} => Some("install Docker (Debian: `docker.io docker-compose`)"),
            E::EngineSilent { said } if is_refused(said) => Some(
                "your user may not use the engine: run stampede as root, or add the user to the group `docker`",
            ),
            E::EngineSilent { .. } => {
                Some("start it (`systemctl start docker`), or name it with DOCKER_HOST")
            }
            E::EngineElsewhere { .. } => Some(
                "use an engine of this machine: unset DOCKER_HOST, or `docker context use default`",
            ),
            E::EngineOld { .. } => Some("install a newer version of it"),
            E::NoTool {} => Some("install `docker-compose-plugin` or `docker-compose`"),
            E::Podman {} => Some(
                "Podman answers Docker's client at a socket: install `docker-cli` (or `docker.io`) and a compose tool, \
                 `systemctl start podman.socket`, `export DOCKER_HOST=unix:///run/podman/podman.sock`",
            ),
            E::EngineHidden { .. } => Some(
                "load the image `stampede:all` into this engine, and stampede runs there by itself (docs/containers.md, \
                 \"From a container\"), or run stampede in the Linux of its containers",
            ),
            E::OutsideBudget { .. } => Some(
                "the engine does not see the groups of this machine (it runs in a container, or has another \
                 `cgroup-parent`): run stampede where the engine runs",
            ),
            _ => None,
        }
    }

    /// What the user can do about the project.
    fn project_hint(&self) -> Option<&'static str> {
        use ComposeError as E;
        match self {
            E::HostNetwork { .. } => Some(
                "remove `network_mode: host`: its ports could be those of your own project, which would get the load",
            ),
            E::OtherContainer { .. } => Some(
                "a trial would use, and may change, what belongs to another project: make it a part of this one",
            ),
            E::WrongPage { .. } => Some(
                "if another service answers requests, name it: `--service NAME --port 80`; `before_trial` in a plan \
                 prepares data",
            ),
            E::Ended { .. } => Some(
                "in a trial nothing is restarted (`restart` is off): let it wait for what it needs, by `depends_on` \
                 with `condition: service_healthy`",
            ),
            E::FarAddress { .. } => Some(
                "the engine's networks are not this machine's: it may run without root or in a virtual machine; use \
                 Docker Engine here, or run stampede where the engine runs",
            ),
            E::Unreached { .. } => Some(
                "nor by a port on 127.0.0.1: a firewall or a route may keep this machine from its engine's networks",
            ),
            E::NoAddress { .. } => Some("connect the service to a network of the project"),
            E::VolumeInUse { .. } => Some(
                "stop the project first (`docker compose stop`), or measure without its data (`volumes: empty` in the \
                 plan)",
            ),
            _ => None,
        }
    }
}

/// What the client of an engine says of a registry, and what the user can do about it.
const OF_REGISTRIES: [(&str, &str); 9] = [
    (
        "toomanyrequests",
        "the registry's limit of fetches is reached: log in (`docker login`), or wait",
    ),
    (
        "no basic auth credentials",
        "the registry asks for a login: `docker login`, with the registry's name if it is not Docker Hub",
    ),
    (
        "pull access denied",
        "there is no such image, or the registry asks for a login: `docker login`",
    ),
    ("unauthorized", "the registry asks for another login: `docker login`"),
    (
        "manifest unknown",
        "the registry has no such image or tag: look at the name, and at what comes after `:`",
    ),
    ("no matching manifest", "the registry has this image for other architectures only"),
    ("EOF", "the fetch broke off: try again; `docker pull` shows how far it comes"),
    ("connection refused", "the registry does not answer: is its name right, and is it up?"),
    ("no such host", "the registry's name is not known: is it right, and is there a network?"),
];

/// What the user can do about what a tool said.
fn tool_hint(command: &str, said: &str) -> Option<&'static str> {
    const NEWER: [&str; 3] =
        ["unsupported option", "does not match any of the regexes", "is unsupported"];
    if command.starts_with("docker-compose") && NEWER.iter().any(|part| said.contains(part)) {
        return Some(
            "docker-compose 1 does not know this form, which `docker compose` (version 2) reads: install \
             `docker-compose-plugin`",
        );
    }
    let of_buildkit = ["unknown instruction", "requires BuildKit", "failed to parse platform"];
    if of_buildkit.iter().any(|part| said.contains(part)) {
        return Some(
            "if this Dockerfile is written for BuildKit, install `docker-compose-plugin` and `docker-buildx-plugin`",
        );
    }
    let asks = ["Get \"http", "Head \"http"].iter().any(|one| said.contains(one));
    let is_fetch = command.contains(" pull") || asks && said.contains("/v2/");
    if let Some((_, hint)) = OF_REGISTRIES.iter().find(|(part, _)| is_fetch && said.contains(part))
    {
        return Some(hint);
    }
    if says_disk_is_full(said) {
        return Some(
            "the disk of the engine is full: `docker system df` shows what is there, `docker system prune` frees what \
             is unused",
        );
    }
    if command.starts_with("cp -a") && said.contains("ermission denied") {
        return Some(
            "a trial gets a copy of what the project may write to, and these files are another user's: run stampede as \
             root",
        );
    }
    let hints = [
        (
            "vendor/laravel/sail",
            "Sail's images are built from its package: run `composer install` in the project first",
        ),
        ("env file", "make this file first, as the project's documentation says"),
        (
            "overlaps",
            "networks with static addresses keep their address range, which is taken now: stop the project first",
        ),
        (
            "neither an image nor a build",
            "a file that overrides another is no project alone: give both (`--compose base.yml:override.yml`), or \
             their directory",
        ),
    ];
    hints.into_iter().find(|(begin, _)| said.contains(begin)).map(|(_, hint)| hint)
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
