//! Runs an app's own preparation: its scripts, once in the copy before a runtime starts.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stampede_keeper::spec::{ProcessSetSpec, ProcessSpec, StopSpec};
use stampede_linux::interrupt;
use stampede_model::isolation::Exit;
use stampede_model::time::Nanos;

use super::app_path::AppPath;
use super::stack::{Failure, StackHandle, Supervisor};
use super::user::User;
use super::working_directory::COPY;
use crate::app::App;
use crate::copy::io_error;
use crate::error::RuntimeError;
use crate::images::RuntimeImages;
use crate::locate::{self, Fitting, SearchPaths};
use crate::logs;
use crate::manifest::Need;
use crate::php_constraint::PhpRequirements;
use crate::problem::PrepareEnd;

/// Finds the PHP that runs the scripts. It is PHP's command line, the same for all runtimes, so
/// that the results are the same for all. `required`: the versions that the app or the plan asks
/// for. `in_plan` is the path that the plan gives.
///
/// # Errors
/// There is no such PHP.
pub(crate) fn php(
    app: &App,
    required: &PhpRequirements,
    places: &SearchPaths,
    in_plan: Option<&String>,
) -> Result<PathBuf, RuntimeError> {
    let (programs, version) = (vec!["php*".into()], Some("php -n -v".to_owned()));
    let need = Need { programs, version, ..Need::default() };
    let fitting = Fitting { required: Some(required), ..Fitting::default() };
    let found = places.find_for(&fitting, "php", &need, in_plan.map(String::as_str))?;
    let found = found.ok_or_else(|| RuntimeError::NoPhp { app: app.name.clone() })?;
    Ok(found.path)
}

/// The commands that create the tables of a project's database, and fill them where the project has
/// seeders. `None`: the project has no such commands.
pub(crate) fn migrations(app: &App) -> Option<String> {
    let directory = app.path()?;
    let framework = app.manifest.framework.as_ref()?;
    let has = |package: &str| app.has_package(package);
    let command = framework.migrations.iter().find(|command| command.applies(directory, has))?;
    Some(command.run.clone())
}

/// A working directory in which programs make a part of what is served. A keeper guards the
/// directory: it ends all processes and removes the directory when stampede ends, however that
/// happens.
pub(crate) struct BuildContext<'a> {
    /// The keeper that starts the programs.
    pub keep: &'a dyn Supervisor,
    /// The stack's id.
    pub id: &'a str,
    /// The working directory.
    pub dir: &'a Path,
    /// Where the programs see the app.
    pub at: &'a AppPath,
    /// The images that the programs come from; `None`: they are this machine's.
    pub images: Option<&'a RuntimeImages>,
    /// The user that all programs run as: the one that PHP runs as. `None`: stampede's own.
    pub user: Option<&'a User>,
}

/// The commands of the app that run before it is served.
pub(crate) struct StepContext<'a> {
    pub app: &'a App,
    /// The PHP for the commands; `None`: no command is run.
    pub php: Option<&'a Path>,
    /// The whole environment.
    pub env: &'a BTreeMap<String, String>,
    /// A command that is run for its output; `None`: there is none.
    pub ask: Option<&'a str>,
}

impl StepContext<'_> {
    /// Whether the commands or the user's SQL file need the app's database to run.
    pub fn needs_database(&self) -> bool {
        let database = self.app.manifest.database.as_ref();
        self.php.is_some() || database.is_some_and(|database| database.file.is_some())
    }

    /// Prepares the app, then runs the command that is asked for. Returns what it printed or its
    /// error; `None`: nothing was asked for.
    ///
    /// # Errors
    /// A command that prepares the app fails.
    pub fn run(
        &self,
        build: &BuildContext<'_>,
    ) -> Result<Option<Result<String, Arc<RuntimeError>>>, RuntimeError> {
        let Some(php) = self.php else { return Ok(None) };
        let run = |lines: &str| build.run(self.app, php, self.env, lines);
        self.app.manifest.prepare.as_deref().map(run).transpose()?;
        let script = |ask: &&str| ask.split_whitespace().next().unwrap_or_default().to_owned();
        let ask = self.ask.filter(|ask| build.dir.join(COPY).join(script(ask)).is_file());
        Ok(ask.map(|ask| run(ask).map_err(Arc::new)))
    }
}

/// A program that makes a part of what is served, before anything is served.
pub(crate) struct Step<'a> {
    /// The step's name in messages.
    pub what: &'a str,
    pub program: &'a Path,
    pub args: &'a [String],
    /// The directory that the program runs in.
    pub cwd: &'a Path,
    /// The program's whole environment.
    pub env: &'a BTreeMap<String, String>,
    /// The program's standard input.
    pub input: Input<'a>,
}

/// The standard input of a step.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// A text; an empty one means no input.
    Text(&'a str),
    /// A file of any length.
    File(&'a Path),
}

impl BuildContext<'_> {
    /// Runs each of these commands of the app to its end, with the app's environment. Each line is
    /// a script of the app's directory with its arguments. Returns what the last command printed.
    ///
    /// # Errors
    /// A command fails or takes too long, or the user interrupts.
    pub fn run(
        &self,
        app: &App,
        php: &Path,
        env: &BTreeMap<String, String>,
        lines: &str,
    ) -> Result<String, RuntimeError> {
        let quiet = ["-n", "-d", "include_path=.:/usr/share/php", "-d", "display_errors=stderr"];
        let mut quiet: Vec<String> = quiet
            .into_iter()
            .chain(["-d", "log_errors=0", "-d", "memory_limit=-1"])
            .map(String::from)
            .collect();
        for extension in self.extensions(app, php) {
            quiet.extend(["-d".to_owned(), format!("extension={extension}")]);
        }
        let (cwd, mut printed) = (self.at.directory(), String::new());
        for line in lines.lines() {
            let words = shell_words::split(line).unwrap_or_else(|_| vec![line.to_owned()]);
            let Some((script, rest)) = words.split_first() else { continue };
            let script = cwd.join(script).display().to_string();
            let args: Vec<String> =
                quiet.iter().cloned().chain([script]).chain(rest.iter().cloned()).collect();
            let input = Input::Text("");
            printed =
                self.step(app, &Step { what: line, program: php, args: &args, cwd, env, input })?;
        }
        Ok(printed)
    }

    /// The app's extensions that this PHP has as files. They are given by hand, since php.ini of the
    /// machine is not read: it does not belong to the runtime.
    fn extensions(&self, app: &App, php: &Path) -> Vec<String> {
        let mut wanted = app.manifest.all_extensions();
        match self.images {
            Some(images) => wanted.retain(|name| images.has_extension_file(name)),
            None => {
                let Some(dir) = locate::extension_dir(php) else { return Vec::new() };
                wanted.retain(|name| dir.join(format!("{name}.so")).is_file());
            }
        }
        super::materialise::in_loading_order(&mut wanted);
        wanted
    }

    /// Runs a step to its end and returns what it printed. Its output goes to a log of the working
    /// directory.
    ///
    /// # Errors
    /// The step fails or takes too long, or the user interrupts.
    pub fn step(&self, app: &App, step: &Step<'_>) -> Result<String, RuntimeError> {
        let log = self.dir.join("logs/prepare.log");
        let (input, is_ours) = match step.input {
            Input::Text("") => (None, false),
            Input::Text(text) => (Some(self.write_input(text)?), true),
            Input::File(file) => (Some(file.to_path_buf()), false),
        };
        let process = ProcessSpec {
            role: "prepare".to_owned(),
            program: step.program.to_path_buf(),
            args: step.args.to_vec(),
            env: step.env.clone(),
            cwd: step.cwd.to_path_buf(),
            input: input.clone(),
            user: self.user.map(|user| (user.uid, user.gid)),
            log: log.clone(),
            stop: StopSpec { signal: libc::SIGKILL, grace: Nanos(0) },
        };
        let ended = self.start_beside(vec![process]).map(|handle| ended(handle.as_ref()));
        input.filter(|_| is_ours).map_or(Ok(()), |input| remove_file(&input))?;
        let how = match ended {
            // The log of a successful step is removed: it would not explain a later failure.
            Ok(Some(Exit { code: Some(0), .. })) => return take_log(&log),
            Ok(Some(Exit { code: Some(code), .. })) => PrepareEnd::Exited { exit_code: code },
            Ok(Some(_)) => PrepareEnd::Killed,
            Ok(None) if interrupt::is_requested() => PrepareEnd::Interrupted,
            Ok(None) => PrepareEnd::TimedOut { within_s: WITHIN.as_secs() },
            Err(error) => PrepareEnd::NotStarted { error: error.to_string() },
        };
        let log = match logs::last_lines(self.dir) {
            lines if lines.is_empty() => lines,
            lines => format!("\n{lines}"),
        };
        Err(RuntimeError::Unprepared { app: app.name.clone(), script: step.what.into(), how, log })
    }

    /// Starts processes that end by themselves, while the directory is still being filled.
    ///
    /// # Errors
    /// The keeper's error.
    pub fn start_beside(
        &self,
        processes: Vec<ProcessSpec>,
    ) -> Result<Box<dyn StackHandle>, Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        self.keep.start_beside(&ProcessSetSpec {
            id: format!("{}-{}", self.id, NEXT.fetch_add(1, Ordering::Relaxed)),
            work: self.dir.to_path_buf(),
            in_memory: Vec::new(),
            bind: self.at.bind(),
            cpus: Vec::new(),
            cpus_by_role: BTreeMap::new(),
            cpu_quota: None,
            memory_bytes: 0,
            processes,
            containers: None,
            first: 0,
        })
    }

    /// Writes a step's input into a file, so that nobody has to write while the step runs. The user
    /// that PHP runs as cannot change anything in this directory.
    fn write_input(&self, text: &str) -> Result<PathBuf, RuntimeError> {
        let path = self.dir.join("input");
        std::fs::write(&path, text).map_err(io_error("write", &path))?;
        let closed = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, closed).map_err(io_error("close", &path))?;
        Ok(path)
    }
}

fn remove_file(path: &Path) -> Result<(), RuntimeError> {
    std::fs::remove_file(path).map_err(io_error("remove", path))
}

/// Reads a log's text and removes the log.
fn take_log(log: &Path) -> Result<String, RuntimeError> {
    let bytes = std::fs::read(log).map_err(io_error("read", log))?;
    remove_file(log)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// How the only process ended. `None`: the wait ended before it, after the timeout or an interrupt.
/// The process then ends with its guard.
fn ended(handle: &dyn StackHandle) -> Option<Exit> {
    interrupt::wait_for(WITHIN, RETRY, || handle.exited().pop())
}

/// The timeout; the caches of a large project take some seconds.
const WITHIN: Duration = Duration::from_secs(120);
/// The pause between two checks whether the process has ended.
const RETRY: Duration = Duration::from_millis(5);
