//! Defines the errors of runtimes and apps, in words, with what the user can do next.

use std::path::PathBuf;

use serde::Serialize;
use stampede_model::fact::pages;
use stampede_model::words;
use stampede_plan::app_settings::SettingSource;

use super::compose::ComposeError;
use super::database::CountError;
use super::entries::LOOKED_FOR;
use super::external::ExternalError;
use super::locate::ExtensionError;
use super::problem::{PrepareEnd, ProgramSource, Unverified};

/// Why a runtime or an app cannot be used. The hint is separate: see [`RuntimeError::hint`].
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeError {
    /// The plan or a flag names a runtime that is not in the catalogue.
    #[error("unknown runtime `{name}`")]
    UnknownRuntime {
        /// The name as written.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The plan or a flag names an app that is not in the catalogue.
    #[error("unknown app `{name}`")]
    UnknownApp {
        /// The name as written.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A directory that was given as an app holds no app.
    #[error("no app in `{directory}`: it has no `app.yaml`, and no {LOOKED_FOR}")]
    NoApp {
        /// The path as given.
        directory: PathBuf,
        /// PHP files of it that may be its front controller, relative to it.
        entries: Vec<String>,
    },
    /// The public directory that was said for an app does not exist.
    #[error("app `{app}` has no directory `{docroot}` (docroot {said})")]
    NoDocroot {
        /// The app's name.
        app: String,
        /// The directory.
        docroot: String,
        /// Where it was said.
        said: SettingSource,
    },
    /// The public directory or the front controller has a name that a web server's configuration
    /// cannot have.
    #[error("app `{app}`: `{}` has `{}` in it ({key} {said})", name.escape_debug(), character.escape_debug())]
    NotServable {
        /// The app's name.
        app: String,
        /// The name.
        name: String,
        /// The first character of it that is not possible.
        character: char,
        /// The key: `docroot` or `index`.
        key: &'static str,
        /// Where it was said.
        said: SettingSource,
    },
    /// The front controller that was said for an app does not exist.
    #[error("app `{app}` has no `{index}` in `{docroot}` ({key} {said})")]
    NoIndex {
        /// The app's name.
        app: String,
        /// The public directory.
        docroot: String,
        /// The front controller.
        index: String,
        /// The key that was said: `docroot` or `index`.
        key: &'static str,
        /// Where it was said.
        said: SettingSource,
    },
    /// A file of Composer cannot be parsed.
    #[error("{path}:{line}:{column}: {problem}")]
    Composer {
        /// The file.
        path: PathBuf,
        /// The line; 1 is the first.
        line: usize,
        /// The column; 1 is the first.
        column: usize,
        /// What is wrong.
        problem: String,
    },
    /// Composer has not installed the packages that a project requires.
    #[error(
        "app `{app}` has no `{autoload}`, and its composer.json requires {}",
        some(.packages)
    )]
    NoVendor {
        /// The app's name.
        app: String,
        /// The app's directory.
        directory: PathBuf,
        /// The file that Composer would have made.
        autoload: String,
        /// The required packages, at least one.
        packages: Vec<String>,
    },
    /// A project lacks the file through which the given kind is entered.
    #[error("app `{app}` cannot be used as kind `{kind}`: it has no `{file}`")]
    NoEntry {
        /// The app's name.
        app: String,
        /// The kind as given.
        kind: &'static str,
        /// The missing file.
        file: &'static str,
    },
    /// The app's kind does not run on this runtime.
    #[error("runtime `{runtime}` runs no app of kind `{kind}` (app `{app}`){because}")]
    WrongKind {
        /// The runtime's name.
        runtime: String,
        /// The app's name.
        app: String,
        /// The app's kind.
        kind: &'static str,
        /// The kinds that the runtime runs.
        runs: Vec<&'static str>,
        /// Empty, or `: ` and the reason.
        because: &'static str,
    },
    /// The app lacks the file through which its kind is entered, and the runtime keeps the app in
    /// memory.
    #[error(
        "runtime `{runtime}` needs `{file}` to start an app of kind `{kind}`, and app `{app}` does not have it"
    )]
    NotEntered {
        /// The runtime's name.
        runtime: String,
        /// The app's name.
        app: String,
        /// The app's kind.
        kind: &'static str,
        /// The missing file.
        file: &'static str,
    },
    /// The app lacks a Composer package that the runtime needs.
    #[error("runtime `{runtime}` needs `{package}` in the vendor directory of app `{app}`")]
    AppLacks {
        /// The runtime's name.
        runtime: String,
        /// The app's name.
        app: String,
        /// All missing packages, as arguments of `composer require`.
        packages: String,
        /// The first of them.
        package: String,
    },
    /// The app requires another PHP than the runtime has.
    #[error(
        "app `{app}` requires PHP `{constraint}` (`{package}`), and runtime `{runtime}` has PHP {version}"
    )]
    PhpVersion {
        /// The runtime's name.
        runtime: String,
        /// The app's name.
        app: String,
        /// The package that requires it, or `composer.json`.
        package: Box<str>,
        /// Composer's constraint.
        constraint: Box<str>,
        /// The version that the runtime has.
        version: String,
    },
    /// The plan asks for another PHP than was found.
    #[error("runtime `{runtime}` is to run PHP {asked}, and {} is PHP {version}", program.display())]
    OtherPhp {
        /// The runtime's name.
        runtime: String,
        /// The version that the plan asks for.
        asked: Box<str>,
        /// The program, or the library, that was found.
        program: PathBuf,
        /// Its version.
        version: Box<str>,
    },
    /// The app's framework was not found.
    #[error(
        "app `{app}` needs {}, which neither a vendor directory of its own nor this machine's packages have",
        backticked(.packages)
    )]
    NoFramework {
        /// The app's name.
        app: String,
        /// The Composer packages.
        packages: Vec<String>,
        /// The command that installs them for the whole machine; `None`: no such command is known.
        install: Option<String>,
    },
    /// The app has a vendor directory, but without its framework.
    #[error("the vendor directory of app `{app}` has no {}", backticked(.packages))]
    LacksPackages {
        /// The app's name.
        app: String,
        /// The app's directory.
        directory: PathBuf,
        /// The Composer packages.
        packages: Vec<String>,
        /// Composer's command that installs them.
        command: String,
    },
    /// The app has a script that prepares it, and there is no PHP to run the script.
    #[error("app `{app}` is prepared by a script, for which this machine has no `php`")]
    NoPhp {
        /// The app's name.
        app: String,
    },
    /// Composer should write the app's autoloader, but is not installed.
    #[error("`autoloader: {autoloader}` needs `composer`, which this machine does not have")]
    NoComposer {
        /// The value of the setting.
        autoloader: String,
    },
    /// A script that prepares the app failed.
    #[error("app `{app}` could not be prepared: `{script}` {how}{log}")]
    Unprepared {
        /// The app's name.
        app: String,
        /// The script, relative to the app's directory.
        script: String,
        /// How the script ended.
        how: PrepareEnd,
        /// The last lines of its output, with a line break before each; or empty.
        log: String,
    },
    /// A `runtime.yaml` or `app.yaml` is wrong.
    #[error("{file}{}: {problem}", place(*.line, *.column))]
    Manifest {
        /// The file, as far as it is known.
        file: String,
        /// The line; 1 is the first, 0: the error is about the whole file.
        line: u64,
        /// The column; 1 is the first.
        column: u64,
        /// What is wrong.
        problem: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// A user could not log in to the app.
    #[error(transparent)]
    NotLoggedIn {
        /// Why.
        #[serde(skip)]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A template is wrong, or uses an unknown name.
    #[error("template `{file}` cannot be rendered")]
    Template {
        /// Runtime and file, or the field of `runtime.yaml`.
        file: String,
        /// The error of the template engine.
        #[serde(skip)]
        #[source]
        source: minijinja::Error,
    },
    /// The runtime has no setting of this name.
    #[error("runtime `{runtime}` has no setting `{setting}`")]
    UnknownSetting {
        /// The name of the variant or runtime.
        runtime: String,
        /// The setting as written.
        setting: String,
        /// The nearest known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The runtime does not allow this value of the setting.
    #[error("runtime `{runtime}` cannot have `{setting}: {value}`{because}")]
    BadSetting {
        /// The name of the variant or runtime.
        runtime: String,
        /// The setting's name.
        setting: String,
        /// The value as written.
        value: String,
        /// Empty, or `: ` and the reason.
        because: String,
        /// The allowed values, in words.
        allowed: String,
    },
    /// Programs or files are not on this machine.
    #[error("runtime `{runtime}` needs {}, which this machine does not have", backticked(.missing))]
    Missing {
        /// The runtime's name.
        runtime: String,
        /// Names of the needs.
        missing: Vec<String>,
        /// The command that installs them; `None`: no such command is known.
        install: Option<String>,
    },
    /// A program that the plan or the environment names does not exist or cannot be started.
    #[error("`{program}`, given by {given_by}, is not a program that can be started")]
    NamedProgram {
        /// The path as given.
        program: PathBuf,
        /// Where the program was named.
        given_by: ProgramSource,
    },
    /// PHP does not load an extension: it was built for another PHP, or is no extension.
    #[error("PHP does not load `{extension}`: {why}")]
    Extension {
        /// The file.
        extension: PathBuf,
        /// The reason.
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
    /// A process outside the stack answers on the runtime's port.
    #[error("port {port} is answered by process {listener}, not by runtime `{runtime}`")]
    PortStolen {
        /// The port.
        port: u16,
        /// The process's name and pid.
        listener: String,
        /// The runtime's name.
        runtime: String,
    },
    /// The user that PHP runs as cannot use the working directory.
    #[error("the working directory `{directory}` cannot be entered by user `{user}`")]
    WorkingDirectory {
        /// The first directory on the way that the user may not enter.
        directory: PathBuf,
        /// The user.
        user: String,
    },
    /// The name of the working directory cannot be written into every configuration file.
    #[error("TMPDIR `{directory}` may have only letters, digits and `/._-+` in its name")]
    WorkingDirectoryName {
        /// The value of TMPDIR.
        directory: PathBuf,
    },
    /// Reading or writing a file failed.
    #[error("cannot {what} `{path}`")]
    Io {
        /// What was tried, as a verb: `read`, `write`, `copy` …
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        #[serde(skip)]
        #[source]
        source: std::io::Error,
    },
    /// A file would be copied through a link, which may lead to any place of this machine.
    #[error("`{place}` would be copied through the link `{link}`")]
    ThroughLink {
        /// The file or directory that is copied, relative to the top of the app's repository.
        place: PathBuf,
        /// The link on the way to it.
        link: PathBuf,
    },
    /// A runtime given by URL is already running, so it cannot be prepared.
    #[error("runtime `{name}` is already running: there is nothing to prepare")]
    External {
        /// The runtime's name in the plan.
        name: String,
    },
    /// The keeper could not start the stack.
    #[error("runtime `{runtime}` could not be started")]
    Keeper {
        /// The runtime's name.
        runtime: String,
        /// The keeper's error.
        #[serde(skip)]
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The process that held the stack is gone, and the stack's processes with it; or some
    /// processes are left.
    #[error("runtime `{runtime}` could not be stopped cleanly")]
    Lost {
        /// The runtime's name.
        runtime: String,
        /// The cause.
        #[serde(skip)]
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another error, which happened because memory ran out.
    #[error("{} because memory ran out{}", words::killed(*.kills), words::memory_limit(*.limit_bytes))]
    OutOfMemory {
        /// The number of processes that the kernel ended.
        kills: u64,
        /// The memory limit of the whole stack in bytes; 0: no limit.
        limit_bytes: u64,
        /// The error that followed.
        #[serde(skip)]
        #[source]
        source: Box<RuntimeError>,
    },
    /// The user interrupted.
    #[error("interrupted while runtime `{runtime}` was started or asked")]
    Interrupted {
        /// The runtime's name.
        runtime: String,
    },
    /// A process ended before the first correct answer.
    #[error("runtime `{runtime}` ended while it started: {exits}{log}")]
    Ended {
        /// The runtime's name.
        runtime: String,
        /// The processes that ended, with their role and how they ended.
        exits: String,
        /// The last lines of the logs, with a line break before them; or empty.
        log: String,
    },
    /// There was no correct answer in time.
    #[error(
        "runtime `{runtime}` did not answer correctly on port {port} within {within}: {last}{log}"
    )]
    NotReady {
        /// The runtime's name.
        runtime: String,
        /// The runtime's port.
        port: u16,
        /// The timeout, such as `10 s`.
        within: String,
        /// What the last attempt saw.
        last: String,
        /// The last lines of the logs, with a line break before them; or empty.
        log: String,
    },
    /// The runtime's answer does not show that the app works, and it does not change.
    #[error(
        "runtime `{runtime}` does not answer `{path}` correctly: {wrong}{}{log}",
        page_advice(*.status, wrong)
    )]
    WrongPage {
        /// The runtime's name.
        runtime: String,
        /// The path that was asked.
        path: String,
        /// The status of the answer.
        status: u16,
        /// What is wrong with the answer.
        wrong: String,
        /// The last lines of the logs, with a line break before them; or empty.
        log: String,
    },
    /// The runtime's database did not start.
    #[error("the database of runtime `{runtime}` did not answer within {within}: {last}{log}")]
    NoDatabase {
        /// The runtime's name.
        runtime: String,
        /// The timeout, such as `60 s`.
        within: String,
        /// Why the last attempt failed.
        last: CountError,
        /// The last lines of the logs, with a line break before them; or empty.
        log: String,
    },
    /// The running runtime could not report its state.
    #[error("runtime `{runtime}` cannot be verified: {problem}")]
    Unverified {
        /// The runtime's name.
        runtime: String,
        /// What happened.
        problem: Unverified,
    },
    /// A compose project cannot be measured.
    #[error("runtime `{runtime}`: {problem}")]
    Containers {
        /// The runtime's name.
        runtime: String,
        /// What happened.
        problem: Box<ComposeError>,
    },
    /// A server that already runs is not there, or does not report its state.
    #[error(transparent)]
    #[serde(untagged)]
    AlreadyRunning(#[from] ExternalError),
}

impl RuntimeError {
    /// Whether a runtime has official images, there is an engine, and the images could not be had or used.
    pub fn is_of_images(&self) -> bool {
        use ComposeError as E;
        let RuntimeError::Containers { problem, .. } = self else { return false };
        !matches!(
            **problem,
            E::NoEngine {}
                | E::EngineSilent { .. }
                | E::EngineMissing { .. }
                | E::NoSuchEngine { .. }
                | E::NoOfficialImage { .. }
                | E::NotWithImages { .. }
        )
    }
}

/// The known name that `name` was probably meant to be: at most a third of its letters (at least
/// two) differ.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let far = (name.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, known)| known.to_string())
}

/// What the user can give so that a page with this status can be measured, behind `; `; or empty.
fn page_advice(status: u16, wrong: &str) -> String {
    // The page's title is in backticks.
    let title = wrong.split('`').nth(1).unwrap_or_default();
    pages::advice(status, title).map_or(String::new(), |advice| format!("; {advice}"))
}

fn place(line: u64, column: u64) -> String {
    if line == 0 { String::new() } else { format!(":{line}:{column}") }
}

/// The only package, `a/b`, or the first of several and the number of the others.
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
    fn a_typo_finds_the_nearest_name_and_noise_finds_none() {
        let known = ["workers", "max_requests", "memory_limit"];
        assert_eq!(nearest("wokers", known), Some("workers".into()));
        assert_eq!(nearest("max_request", known), Some("max_requests".into()));
        assert_eq!(nearest("zzzz", known), None);
    }
}
