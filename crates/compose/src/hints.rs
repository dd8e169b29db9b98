//! What the user can do about an error of a compose project.

use std::path::{Path, PathBuf};

use stampede_model::words;

use crate::error::{ComposeError, FileProblem};
use crate::project::Target;
use crate::said::says_disk_is_full;

/// What to do where there is no compose file of this name. `others`: those that are there.
fn no_file_hint(file: &Path, others: &[PathBuf]) -> Option<String> {
    let file = file.to_string_lossy();
    // Files have a `:` between them, so this is left of a URL.
    if ["http", "https", "git", "ssh"].contains(&&*file) {
        let todo =
            "a compose file is not fetched from a URL: get the whole project first (`git clone`)";
        return Some(todo.to_owned());
    }
    if file.contains(',') {
        let todo = "`--compose` once for each project; the files of one project have a `:` between them: \
                    `--compose compose.yml:compose.prod.yml`";
        return Some(todo.to_owned());
    }
    let names = others.iter().map(|other| format!("`--compose {}`", other.display()));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("there is {}", words::some_of(&names)))
}

impl ComposeError {
    /// What the user can do next; shown on a line of its own.
    pub fn hint(&self) -> Option<String> {
        use ComposeError as E;
        match self {
            E::Tool { example: Some(example), .. }
            | E::Variable { example: Some(example), .. }
            | E::NoEnvFile { example: Some(example), .. }
            | E::Undeclared { example: Some(example), .. } => Some(format!(
                "the project has no `{0}`: copy `{1}` to `{2}` first, and fill in its values",
                example.file.file_name().unwrap_or_default().display(),
                example.example.display(),
                example.file.display()
            )),
            E::Variable { name, .. } => {
                Some(format!("give `{name}` a value: `--env NAME=VALUE`, or in the project's `.env`"))
            }
            E::Tool { said, command, .. } => tool_hint(command, said),
            E::Build { said, command, log } => {
                let log = log.as_ref().map(|log| format!("all that it said is in {}", log.display()));
                let parts = [tool_hint(command, said), log];
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
            E::NoFile { file, others, .. } => no_file_hint(file, others),
            E::NoStage { known, .. } if known.is_empty() => Some(
                "a stage has a name by `FROM … AS prod`, in the Dockerfile of a service with `build:`".to_owned(),
            ),
            E::NoStage { known, .. } => Some(format!("its stages: {}", known.join(", "))),
            E::WhichService { known, likely, .. } => Some(which_service(known, likely.as_ref())),
            E::OnlyHttps { .. } => Some(
                "if it answers by plain HTTP too, name that port inside the container: `--port 80`; with Caddy, \
                 `--env SERVER_NAME=:80` does"
                    .to_owned(),
            ),
            E::OtherArchitecture { image, of_machine, client, .. } => Some(format!(
                "fetch it for this machine (`{client} pull --platform \
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
            E::NoEngine {} => Some(
                "install Docker (Debian: `docker.io docker-compose`) or Podman (`podman podman-compose`)",
            ),
            E::EngineSilent { client: "podman", .. } => Some("look at what `podman info` says"),
            E::EngineSilent { said, .. } if is_refused(said) => Some(
                "your user may not use the engine: run stampede as root, or add the user to the group `docker`",
            ),
            E::EngineSilent { other: Some("podman"), .. } => Some(
                "start it (`systemctl start docker`), or use Podman, which is installed too: `STAMPEDE_ENGINE=podman`",
            ),
            E::EngineSilent { .. } => {
                Some("start it (`systemctl start docker`), or name it with DOCKER_HOST")
            }
            E::EngineMissing { client: "podman" } => Some(
                "install Podman (Debian: `podman podman-compose`), or unset STAMPEDE_ENGINE to use Docker",
            ),
            E::EngineMissing { .. } => Some(
                "install Docker (Debian: `docker.io docker-compose`), or unset STAMPEDE_ENGINE to use Podman",
            ),
            E::NoSuchEngine { .. } => {
                Some("set it to one of these, or unset it: Docker is then looked for first")
            }
            E::EngineElsewhere { .. } => Some(
                "use an engine of this machine: unset DOCKER_HOST (Podman: CONTAINER_HOST), or `docker context use default`",
            ),
            E::EngineOld { .. } => Some("install a newer version of it"),
            E::ToolLacks { .. } => Some(
                "use Docker's compose, also with Podman (docs/containers.md, \"Podman\"), or remove it",
            ),
            E::ToolOld { .. } => Some("install podman-compose 1.0.6 or newer"),
            E::NoTool { client: "podman" } => Some("install `podman-compose`"),
            E::NoTool { .. } => Some("install `docker-compose-plugin` or `docker-compose`"),
            E::EngineHidden { system } if system.starts_with("Podman") => {
                Some("run stampede in the Linux of its containers (`podman machine ssh`)")
            }
            E::EngineHidden { .. } => Some(
                "load the image `stampede:all` into this engine, and stampede runs there by itself (docs/containers.md, \
                 \"From a container\"), or run stampede in the Linux of its containers",
            ),
            E::ProcessHidden { .. } => Some(
                "in a container, stampede needs `--pid host` and what else docs/containers.md (\"From a container\") names",
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
            E::WrongPage { log, .. } if log.contains("vendor/autoload.php") => Some(
                "the app's packages are not there: run `composer install` in it first, or by `before_trial` in a plan",
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
            E::NoEnvFile { .. } => {
                Some("make this file first, as the project's documentation says")
            }
            E::File { problem, .. } => problem.hint(),
            E::WrongMount { .. } => Some(
                "a path with a colon is written in the long form: `{type: bind, source: PATH, target: PATH}`",
            ),
            E::Undeclared { name, .. } if name.is_empty() => Some(OF_UNSET),
            E::Undeclared { kind: "service", .. } => Some(
                "is its name right? Files that override others are given together: `--compose base.yml:override.yml`",
            ),
            E::Undeclared { .. } => Some(
                "declare it at the end of the compose file (`networks:`, `volumes:` …), or give the file that does, too",
            ),
            E::NoCheck { .. } => {
                Some("give it a `healthcheck`, or wait with `condition: service_started`")
            }
            E::NoImage { .. } => Some(
                "a file that overrides another is no project alone: give both (`--compose base.yml:override.yml`), or \
                 their directory",
            ),
            E::Unreached { .. } => {
                Some("a firewall or a route may keep this machine from its engine's networks")
            }
            E::NeverHealthy { .. } => Some(
                "if the check is wrong, turn it off in a second file (`healthcheck: {disable: true}`); if the service needs \
                 longer, say so in a plan (`app: {ready: {within: 5m}}`)",
            ),
            E::NotBuilt { .. } => Some("`--build-target` is for services with `build:`"),
            E::NoAddress { .. } => Some("connect the service to a network of the project"),
            E::VolumeInUse { .. } => Some(
                "stop the project first (`docker compose stop`, `podman-compose stop`), or measure without its data \
                 (`volumes: empty` in the plan)",
            ),
            _ => None,
        }
    }
}

impl FileProblem {
    fn hint(&self) -> Option<&'static str> {
        use FileProblem as F;
        match self {
            F::Syntax { words, .. } if words.contains("tag") => Some(
                "stampede does not read tags such as `!reset` and `!override` itself: remove it, or use Docker's compose, \
                 also with Podman (docs/containers.md, \"Podman\")",
            ),
            F::Missing {} => Some(
                "is its path right, and may your user read it? It is a file of the project, or one that it names",
            ),
            F::NoServices {} => Some(
                "it should have `services:`, each with a name; a file of the first version, with its services at the top, \
                 is read by docker-compose 1 alone",
            ),
            F::Loop {} | F::ServiceLoop { .. } | F::TooDeep {} => {
                Some("let files and services build on one another in one direction only")
            }
            F::NoEnvFile { .. } => {
                Some("make this file first, as the project's documentation says")
            }
            F::NoBase { .. } => Some("is the name right that `extends` gives?"),
            F::Conflict { .. } => Some(
                "give one of them another name; a file that overrides the other is named with it: \
                 `include: [{path: [base.yml, override.yml]}]`",
            ),
            F::Syntax { .. } | F::NoMap {} => None,
        }
    }
}

/// How to say which service is meant.
fn which_service(known: &[String], likely: Option<&Target>) -> String {
    let known = known.join(", ");
    match likely {
        Some(Target { service, port }) => format!(
            "name the service and its port: `--service {service} --port {port}` (services: {known})"
        ),
        None => format!(
            "none looks like an app or a web server ({known}): give the files that have it, too \
             (`--compose base.yml:override.yml`), or name the service and its port: `--service NAME --port 80`"
        ),
    }
}

/// What to do about a variable whose name the tool does not say.
const OF_UNSET: &str = "give each variable a value: `--env NAME=VALUE`, or in the project's `.env`";

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

/// What the user can do about what a tool said, with the client that was used.
fn tool_hint(command: &str, said: &str) -> Option<String> {
    let hint = hint_of(command, said)?;
    Some(match command.starts_with("podman") {
        true => hint.replace("`docker ", "`podman "),
        false => hint.to_owned(),
    })
}

/// What compose tools say of a project, and what the user can do about it.
const OF_TOOLS: [(&str, &str); 11] = [
    (
        "vendor/laravel/sail",
        "Sail's images are built from its package: run `composer install` in the project first",
    ),
    ("Missing mandatory value", OF_UNSET),
    ("required variable", OF_UNSET),
    ("ports contains an invalid type", OF_UNSET),
    ("Invalid interpolation", "a dollar sign that begins no variable is written `$$`"),
    ("env file", "make this file first, as the project's documentation says"),
    ("build path", "make this directory first, as the project's documentation says"),
    (
        "which is undefined",
        "is its name right? Files that override others are given together: `--compose base.yml:override.yml`",
    ),
    (
        "FileNotFoundError",
        "is its path right, and may your user read it? It is a file of the project, or one that it names",
    ),
    (
        "overlaps",
        "networks with static addresses keep their address range, which is taken now: stop the project first",
    ),
    (
        "neither an image nor a build",
        "a file that overrides another is no project alone: give both (`--compose base.yml:override.yml`), or \
         their directory; a `build:` without `context:` asks for `context: .` with docker-compose 1",
    ),
];

/// What docker-compose 1 says of forms that only version 2 knows.
const NEWER: [&str; 7] = [
    "unsupported option",
    "Unsupported config option",
    "does not match any of the regexes",
    "is unsupported",
    "which is an invalid type",
    "restart contains an invalid type",
    "cannot be extended",
];

fn hint_of(command: &str, said: &str) -> Option<&'static str> {
    if command.starts_with("docker-compose") && NEWER.iter().any(|part| said.contains(part)) {
        return Some(
            "docker-compose 1 does not know this form, which `docker compose` (version 2) reads: install \
             `docker-compose-plugin`",
        );
    }
    if said.contains("short-name") {
        return Some(
            "write the registry into the image's name (`docker.io/…`), or \
             `unqualified-search-registries = [\"docker.io\"]` into /etc/containers/registries.conf",
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
    if command.starts_with("tar ") && said.contains("ermission denied") {
        return Some(
            "these files are another user's: run stampede as root, or leave out `--code image`",
        );
    }
    if command.starts_with("cp -a") && said.contains("ermission denied") {
        return Some(
            "a trial gets a copy of what the project may write to, and these files are another user's: run stampede as \
             root",
        );
    }
    OF_TOOLS.iter().find(|(part, _)| said.contains(part)).map(|(_, hint)| *hint)
}
