//! What can go wrong with a runtime, in words, and what to do next.

use std::path::PathBuf;

use serde::Serialize;

use super::database::CountError;
use super::detect::LOOKED_FOR;
use super::locate::ExtensionError;
use super::problem::{GivenBy, PrepareEnd, Unverified};
use crate::summary::words;

/// Why a runtime or an app cannot be used. The hint is apart: see [`RuntimeError::hint`].
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeError {
    /// The plan or a flag names a runtime that is in no directory.
    #[error("unknown runtime `{name}`")]
    UnknownRuntime {
        /// As written.
        name: String,
        /// Nearest known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The plan or a flag names an app that is in no directory.
    #[error("unknown app `{name}`")]
    UnknownApp {
        /// As written.
        name: String,
        /// Nearest known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A directory that was given as an app holds none.
    #[error("no app in `{directory}`: it has no `app.yaml`, and no {LOOKED_FOR}")]
    NoApp {
        /// As given.
        directory: PathBuf,
    },
    /// A file of Composer's that does not parse.
    #[error("{path}:{line}:{column}: {problem}")]
    Composer {
        /// The file.
        path: PathBuf,
        /// 1 for the first.
        line: usize,
        /// 1 for the first.
        column: usize,
        /// What is wrong.
        problem: String,
    },
    /// Composer has not installed what a project requires.
    #[error(
        "app `{app}` has no `{autoload}`, and its composer.json requires {}",
        some(.packages)
    )]
    NoVendor {
        /// App's name.
        app: String,
        /// Its directory.
        directory: PathBuf,
        /// What Composer would have made.
        autoload: String,
        /// The packages, at least one.
        packages: Vec<String>,
    },
    /// A project has not what the kind that was said is entered by.
    #[error("app `{app}` cannot be taken as kind `{kind}`: it has no `{file}`")]
    NoEntry {
        /// App's name.
        app: String,
        /// As said.
        kind: &'static str,
        /// What is not there.
        file: &'static str,
    },
    /// The app's kind does not run on this runtime.
    #[error("runtime `{runtime}` runs no app of kind `{kind}` (app `{app}`){because}")]
    WrongKind {
        /// Runtime's name.
        runtime: String,
        /// App's name.
        app: String,
        /// Its kind.
        kind: &'static str,
        /// Kinds that it runs.
        runs: Vec<&'static str>,
        /// Empty, or `: ` and the reason.
        because: &'static str,
    },
    /// The app has not what its kind is entered by, and the runtime keeps it in memory.
    #[error(
        "runtime `{runtime}` needs `{file}` to start an app of kind `{kind}`, and app `{app}` does not have it"
    )]
    NotEntered {
        /// Runtime's name.
        runtime: String,
        /// App's name.
        app: String,
        /// Its kind.
        kind: &'static str,
        /// What is not there.
        file: &'static str,
    },
    /// The app lacks a package that the runtime is part of.
    #[error("runtime `{runtime}` needs `{package}` in the vendor directory of app `{app}`")]
    AppLacks {
        /// Runtime's name.
        runtime: String,
        /// App's name.
        app: String,
        /// All that it lacks, as Composer is asked for them.
        packages: String,
        /// The first of them.
        package: String,
    },
    /// The app's framework is nowhere.
    #[error(
        "app `{app}` needs {}, which neither a vendor directory of its own nor this machine's packages have",
        backticked(.packages)
    )]
    NoFramework {
        /// App's name.
        app: String,
        /// The Composer packages.
        packages: Vec<String>,
        /// Command that installs them for the whole machine, where one is known.
        install: Option<String>,
    },
    /// The app has a vendor directory without its framework.
    #[error("the vendor directory of app `{app}` has no {}", backticked(.packages))]
    LacksPackages {
        /// App's name.
        app: String,
        /// Its directory.
        directory: PathBuf,
        /// The Composer packages.
        packages: Vec<String>,
        /// Composer's command that gets them.
        command: String,
    },
    /// The app has a script that prepares it, and nothing can run that.
    #[error("app `{app}` is prepared by a script, for which this machine has no `php`")]
    NoPhp {
        /// App's name.
        app: String,
    },
    /// The app's autoloader is to be written by Composer, which is nowhere.
    #[error("`autoloader: {autoloader}` needs `composer`, which this machine does not have")]
    NoComposer {
        /// The setting's value.
        autoloader: String,
    },
    /// The script that prepares the app failed.
    #[error("app `{app}` could not be prepared: `{script}` {how}{log}")]
    Unprepared {
        /// App's name.
        app: String,
        /// The script, from the app's directory.
        script: String,
        /// How it ended.
        how: PrepareEnd,
        /// Last lines of what it said, each on a line of its own.
        log: String,
    },
    /// A `runtime.yaml` or `app.yaml` is wrong.
    #[error("{file}{}: {problem}", place(*.line, *.column))]
    Manifest {
        /// File, as far as it is known.
        file: String,
        /// 1 for the first; 0 where it is about the whole file.
        line: u64,
        /// 1 for the first.
        column: u64,
        /// What is wrong.
        problem: String,
        /// Nearest known name.
        nearest: Option<String>,
    },
    /// A template is wrong, or uses a name that is not there.
    #[error("template `{file}` cannot be rendered")]
    Template {
        /// Runtime and file, or the field of `runtime.yaml`.
        file: String,
        /// What the template engine says.
        #[serde(skip)]
        #[source]
        source: minijinja::Error,
    },
    /// A setting that nobody knows.
    #[error("runtime `{runtime}` has no setting `{setting}`")]
    UnknownSetting {
        /// Variant's or runtime's name.
        runtime: String,
        /// As written.
        setting: String,
        /// Nearest known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A setting's value that the runtime cannot have.
    #[error("runtime `{runtime}` cannot have `{setting}: {value}`{because}")]
    BadSetting {
        /// Variant's or runtime's name.
        runtime: String,
        /// Setting.
        setting: String,
        /// As written.
        value: String,
        /// Empty, or `: ` and the reason.
        because: String,
        /// What is allowed.
        allowed: String,
    },
    /// Programs or files that are not on this machine.
    #[error("runtime `{runtime}` needs {}, which this machine does not have", backticked(.missing))]
    Missing {
        /// Runtime's name.
        runtime: String,
        /// Names of the needs.
        missing: Vec<String>,
        /// Command that gets them, where one is known.
        install: Option<String>,
    },
    /// A program was named in the plan or the environment and is not there.
    #[error("`{program}`, given by {given_by}, is not a program that can be started")]
    NamedProgram {
        /// As given.
        program: PathBuf,
        /// Where.
        given_by: GivenBy,
    },
    /// An extension that is for another PHP, or is none.
    #[error("PHP does not load `{extension}`: {why}")]
    Extension {
        /// The file.
        extension: PathBuf,
        /// As PHP says.
        why: ExtensionError,
    },
    /// A port that was asked for is in use.
    #[error("port {port} is taken{by}")]
    PortTaken {
        /// The port.
        port: u16,
        /// Empty, or ` by process `nginx` (pid 4711)`.
        by: String,
    },
    /// Another process answers where ours should.
    #[error("port {port} is answered by process {listener}, not by runtime `{runtime}`")]
    PortStolen {
        /// The port.
        port: u16,
        /// Name and pid.
        listener: String,
        /// Runtime's name.
        runtime: String,
    },
    /// The working directory cannot be used by the user that PHP runs as.
    #[error("the working directory `{directory}` cannot be entered by user `{user}`")]
    WorkingDirectory {
        /// First directory on the way that is closed.
        directory: PathBuf,
        /// The user.
        user: String,
    },
    /// The working directory's name cannot be written into every config file.
    #[error("TMPDIR `{directory}` may have only letters, digits and `/._-+` in its name")]
    WorkingDirectoryName {
        /// As the environment says.
        directory: PathBuf,
    },
    /// Reading or writing a file failed.
    #[error("cannot {what} `{path}`")]
    Io {
        /// `read`, `write`, `copy` …
        what: &'static str,
        /// File or directory.
        path: PathBuf,
        /// What the system says.
        #[serde(skip)]
        #[source]
        source: std::io::Error,
    },
    /// What is copied would be written to where a link leads, which may be any place of this
    /// machine.
    #[error("`{place}` would be copied through the link `{link}`")]
    ThroughLink {
        /// What is copied, from the top of the app's repository.
        place: PathBuf,
        /// The link on its way.
        link: PathBuf,
    },
    /// A runtime given by URL is already running.
    #[error("runtime `{name}` is already running: there is nothing to prepare")]
    External {
        /// Its name in the plan.
        name: String,
    },
    /// The keeper could not start the stack.
    #[error("runtime `{runtime}` could not be started")]
    Keeper {
        /// Runtime's name.
        runtime: String,
        /// What the keeper says.
        #[serde(skip)]
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What held its processes is gone, and they with it; or something is left.
    #[error("runtime `{runtime}` could not be stopped cleanly")]
    Lost {
        /// Runtime's name.
        runtime: String,
        /// What is gone.
        #[serde(skip)]
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What went wrong, with what it came of.
    #[error("{} because memory ran out{}", ended(*.kills), has(*.limit_bytes))]
    OutOfMemory {
        /// Processes that the kernel ended.
        kills: u64,
        /// Of the whole stack; 0: no limit.
        limit_bytes: u64,
        /// What went wrong.
        #[serde(skip)]
        #[source]
        source: Box<RuntimeError>,
    },
    /// The person asked for an end.
    #[error("interrupted while runtime `{runtime}` was started or asked")]
    Interrupted {
        /// Runtime's name.
        runtime: String,
    },
    /// A process ended before the first correct answer.
    #[error("runtime `{runtime}` ended while it started: {exits}{log}")]
    Ended {
        /// Runtime's name.
        runtime: String,
        /// Role and how.
        exits: String,
        /// Last lines of its logs, each on a line of its own.
        log: String,
    },
    /// No correct answer in time.
    #[error(
        "runtime `{runtime}` did not answer correctly on port {port} within {within}: {last}{log}"
    )]
    NotReady {
        /// Runtime's name.
        runtime: String,
        /// Its port.
        port: u16,
        /// `10 s`.
        within: String,
        /// What the last try saw.
        last: String,
        /// Last lines of its logs, each on a line of its own.
        log: String,
    },
    /// Its page is not the one that shows that the app works, and does not become it.
    #[error("runtime `{runtime}` does not answer `{path}` correctly: {wrong}{log}")]
    WrongPage {
        /// Runtime's name.
        runtime: String,
        /// Path that was asked.
        path: String,
        /// What is wrong with the answer.
        wrong: String,
        /// Last lines of its logs, each on a line of its own.
        log: String,
    },
    /// Its database did not start.
    #[error("the database of runtime `{runtime}` did not answer within {within}: {last}{log}")]
    NoDatabase {
        /// Runtime's name.
        runtime: String,
        /// `60 s`.
        within: String,
        /// Why the last try failed.
        last: CountError,
        /// Last lines of the logs, each on a line of its own.
        log: String,
    },
    /// The running runtime did not show itself when asked.
    #[error("runtime `{runtime}` cannot be verified: {problem}")]
    Unverified {
        /// Runtime's name.
        runtime: String,
        /// What happened.
        problem: Unverified,
    },
}

impl RuntimeError {
    /// What to do next, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        use RuntimeError as E;
        match self {
            E::UnknownRuntime { nearest, known, .. } | E::UnknownApp { nearest, known, .. } => {
                Some(did_you_mean(nearest.as_deref(), known))
            }
            E::UnknownSetting { nearest, known, .. } => {
                Some(did_you_mean(nearest.as_deref(), known))
            }
            E::NoApp { .. } | E::Composer { .. } | E::NoVendor { .. } | E::NoEntry { .. } => {
                self.app_hint()
            }
            E::NotEntered { .. }
            | E::NoFramework { .. }
            | E::LacksPackages { .. }
            | E::NoPhp { .. }
            | E::NoComposer { .. } => self.app_hint(),
            E::WrongKind { runs, because: "", .. } => Some(format!("it runs {}", runs.join(", "))),
            E::WrongKind { runs, .. } => {
                Some(format!("it runs {}; `--kind` says what an app of yours is", runs.join(", ")))
            }
            E::AppLacks { packages, .. } => {
                Some(format!("in the app: composer require {packages}"))
            }
            E::Manifest { nearest, .. } => {
                nearest.as_ref().map(|name| format!("did you mean `{name}`?"))
            }
            E::BadSetting { allowed, .. } => Some(format!("allowed: {allowed}")),
            E::Missing { install, .. } => {
                install.as_ref().map(|command| format!("get it with `{command}`"))
            }
            E::NamedProgram { .. } => Some("name an executable file by its full path".into()),
            E::Extension { .. } => {
                Some("build it with the `phpize` of the PHP that runs it".into())
            }
            E::PortTaken { .. } => {
                Some("end that process, or leave the port out: a free one is found".into())
            }
            E::PortStolen { .. } => Some("try again: a free port is chosen each time".into()),
            E::WorkingDirectory { .. } | E::WorkingDirectoryName { .. } => {
                Some("set TMPDIR to a directory that everybody may enter, like `/tmp`".into())
            }
            E::Ended { runtime, .. } => Some(look_alone(runtime)),
            E::NotReady { runtime, .. } => Some(look_alone(runtime)),
            E::Unverified { runtime, .. } | E::WrongPage { runtime, .. } => {
                Some(look_alone(runtime))
            }
            E::OutOfMemory { .. } => Some("use fewer workers, or more memory".into()),
            E::Template { .. } | E::Io { .. } | E::External { .. } | E::Interrupted { .. } => None,
            E::Keeper { .. } | E::Lost { .. } | E::Unprepared { .. } => None,
            E::NoDatabase { .. } => None,
            E::ThroughLink { link, .. } => Some(format!(
                "nothing is written through a link: make `{}` a directory in both versions, or remove what git \
                 does not know below it",
                link.display()
            )),
        }
    }

    /// What to do about an app that cannot be served as it is.
    fn app_hint(&self) -> Option<String> {
        use RuntimeError as E;
        match self {
            E::NoApp { .. } => Some(
                "give the project's directory, or add an `app.yaml` that names its docroot".into(),
            ),
            E::Composer { path, .. } => Some(format!(
                "fix it; `composer validate` in `{}` checks it",
                path.parent().unwrap_or(path).display()
            )),
            E::NoVendor { directory, .. } => {
                Some(format!("in `{}`: composer install --no-dev", directory.display()))
            }
            E::NoEntry { file: "handler.php", .. } => Some(
                "`handler.php` returns what answers a request; any front controller is of kind \
                 `script`"
                    .into(),
            ),
            E::NoEntry { .. } => Some(
                "without a kind it is detected; any front controller is of kind `script`".into(),
            ),
            E::NotEntered { kind: "symfony", .. } => Some(
                "a runtime that boots it for each request needs none; with `adapter: symfony-runtime` \
                 the front controller makes the kernel"
                    .into(),
            ),
            E::NotEntered { .. } => {
                Some("a runtime that boots it for each request needs none".into())
            }
            E::LacksPackages { directory, command, .. } => {
                Some(format!("in `{}`: {command}", directory.display()))
            }
            E::NoFramework { packages, install, .. } => {
                let composer = format!("composer require {}", packages.join(" "));
                Some(match install {
                    Some(command) => {
                        format!(
                            "get it with `{command}`, or with `{composer}` in a copy of the app"
                        )
                    }
                    None => format!("in a copy of the app: {composer}"),
                })
            }
            E::NoPhp { .. } => Some(
                "install PHP's command line (Debian: `php-cli`), or name it with STAMPEDE_PHP"
                    .into(),
            ),
            E::NoComposer { .. } => Some(
                "get it with `apt-get install --no-install-recommends composer`, or name it with STAMPEDE_COMPOSER"
                    .into(),
            ),
            _ => None,
        }
    }
}

/// `name` as people may have meant it: at most a third of its letters (at least two) away.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let far = (name.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, known)| known.to_string())
}

fn did_you_mean(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known: {}", known.join(", ")),
    }
}

/// `the kernel ended 3 processes`.
pub fn ended(kills: u64) -> String {
    match kills {
        1 => "the kernel ended a process".to_owned(),
        more => format!("the kernel ended {more} processes"),
    }
}

/// `: the stack has 1.00 GiB`; nothing where it has no limit.
pub fn has(limit_bytes: u64) -> String {
    match limit_bytes {
        0 => String::new(),
        bytes => format!(": the stack has {}", words::bytes(bytes as f64)),
    }
}

fn look_alone(runtime: &str) -> String {
    format!("look at it alone with `stampede up {runtime}`")
}

fn place(line: u64, column: u64) -> String {
    if line == 0 { String::new() } else { format!(":{line}:{column}") }
}

/// `a/b`, or the first of several and how many others.
fn some(packages: &[String]) -> String {
    let first = packages.first().map_or("", String::as_str);
    match packages.len().saturating_sub(1) {
        0 => format!("`{first}`"),
        1 => format!("`{first}` and another package"),
        more => format!("`{first}` and {more} other packages"),
    }
}

fn backticked(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typo_finds_its_name_and_noise_finds_none() {
        let known = ["workers", "max_requests", "memory_limit"];
        assert_eq!(nearest("wokers", known), Some("workers".into()));
        assert_eq!(nearest("max_request", known), Some("max_requests".into()));
        assert_eq!(nearest("zzzz", known), None);
    }
}
