//! An app's own preparation: its scripts, run once in the copy before a runtime starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};

use super::app::App;
use super::copy::io_error;
use super::error::RuntimeError;
use super::locate::{self, Places};
use super::logs;
use super::manifest::{AppKind, Need};
use super::user::User;
use crate::interrupt;

/// What runs the script: PHP's command line, the same for all runtimes, so that what it leaves
/// is the same for all. `in_plan` is where the plan says it is. `None`: the app has no script.
///
/// # Errors
/// It is nowhere.
pub(super) fn php(
    app: &App,
    places: &Places,
    in_plan: Option<&String>,
) -> Result<Option<PathBuf>, RuntimeError> {
    if app.manifest.prepare.is_none() {
        return Ok(None);
    }
    let need = Need { programs: vec!["php*".into()], ..Need::default() };
    let found = places.find("php", &need, in_plan.map(String::as_str), None)?;
    let found = found.ok_or_else(|| RuntimeError::NoPhp { app: app.name.clone() })?;
    Ok(Some(found.path))
}

/// Runs each command to its end, with the app's environment.
///
/// # Errors
/// One fails, takes too long, or the person asks for an end.
pub(super) fn run(
    app: &App,
    php: &Path,
    dir: &Path,
    env: &BTreeMap<String, String>,
    user: Option<&User>,
) -> Result<(), RuntimeError> {
    let quiet = ["-n", "-d", "include_path=.:/usr/share/php", "-d", "display_errors=stderr"];
    let mut quiet: Vec<String> =
        quiet.into_iter().chain(["-d", "log_errors=0"]).map(String::from).collect();
    for extension in extensions(app, php) {
        quiet.extend(["-d".to_owned(), format!("extension={extension}")]);
    }
    let cwd = &dir.join("app");
    for line in app.manifest.prepare.iter().flat_map(|prepare| prepare.lines()) {
        let words = shell_words::split(line).unwrap_or_else(|_| vec![line.to_owned()]);
        let Some((script, rest)) = words.split_first() else { continue };
        let script = cwd.join(script).display().to_string();
        let args: Vec<String> =
            quiet.iter().cloned().chain([script]).chain(rest.iter().cloned()).collect();
        let step = Step { what: line, program: php, args: &args, dir, cwd, env, input: "", user };
        self::step(app, &step)?;
    }
    Ok(())
}

/// Commands that warm the caches of a project as its deployment does. Symfony's are always warm;
/// of Laravel those that the folder has, whose copy would lead back there.
pub(super) fn of_project(kind: AppKind, folder: &Path) -> Option<String> {
    let has = |file: &str| folder.join(file).exists();
    let is_filled = |sub: &str| {
        let entries = std::fs::read_dir(folder.join(sub)).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .any(|path| path.extension().is_some_and(|end| end == "php"))
    };
    let commands: &[(&str, bool)] = match kind {
        AppKind::Symfony => &[("bin/console cache:warmup", has("bin/console"))],
        AppKind::Laravel => &[
            ("artisan config:cache", has("bootstrap/cache/config.php")),
            ("artisan route:cache", has("bootstrap/cache/routes-v7.php")),
            ("artisan event:cache", has("bootstrap/cache/events.php")),
            ("artisan view:cache", is_filled("storage/framework/views")),
        ],
        _ => &[],
    };
    let wanted: Vec<&str> =
        commands.iter().filter(|(_, is_wanted)| *is_wanted).map(|(command, _)| *command).collect();
    (!wanted.is_empty()).then(|| wanted.join("\n"))
}

/// A program that makes a part of what is served, before anything of it runs.
pub(super) struct Step<'a> {
    /// What it is, for people.
    pub what: &'a str,
    pub program: &'a Path,
    pub args: &'a [String],
    /// Work folder, which has the log.
    pub dir: &'a Path,
    /// Where it runs.
    pub cwd: &'a Path,
    /// Its whole environment.
    pub env: &'a BTreeMap<String, String>,
    /// What it reads.
    pub input: &'a str,
    /// Whom it runs as: the user that PHP runs as.
    pub user: Option<&'a User>,
}

/// Runs it to its end. What it says goes to a log of the work folder.
///
/// # Errors
/// It fails, takes too long, or the person asks for an end.
pub(super) fn step(app: &App, step: &Step<'_>) -> Result<(), RuntimeError> {
    let log = step.dir.join("logs/prepare.log");
    let out = File::options().create(true).append(true).open(&log);
    let out = out.map_err(io_error("write", &log))?;
    let err = out.try_clone().map_err(io_error("write", &log))?;
    let mut command = Command::new(step.program);
    command.args(step.args).current_dir(step.cwd).env_clear().envs(step.env);
    command.stdin(given(step)?).stdout(out).stderr(err).process_group(0);
    if let Some(user) = step.user {
        command.uid(user.uid).gid(user.gid);
    }
    // SAFETY: runs between fork and exec; it is one system call. No keeper holds this process:
    // the kernel ends it with the thread that waits for it.
    unsafe {
        command.pre_exec(|| {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
    }
    let how = match command.spawn().map(ended) {
        // What went well says nothing to who reads why something later did not.
        Ok(Some(status)) if status.success() => {
            return std::fs::remove_file(&log).map_err(io_error("remove", &log));
        }
        Ok(Some(status)) => match status.code() {
            Some(code) => format!("ended with exit code {code}"),
            None => "was killed".to_owned(),
        },
        Ok(None) if interrupt::asked() => "was ended".to_owned(),
        Ok(None) => format!("did not end within {} s", WITHIN.as_secs()),
        Err(error) => format!("was not started: {error}"),
    };
    let log = match logs::last_lines(step.dir, step.env) {
        lines if lines.is_empty() => lines,
        lines => format!("\n{lines}"),
    };
    Err(RuntimeError::Unprepared { app: app.name.clone(), script: step.what.into(), how, log })
}

/// A file with what a step reads: nobody has to write while it runs. It has no name by then.
fn given(step: &Step<'_>) -> Result<Stdio, RuntimeError> {
    if step.input.is_empty() {
        return Ok(Stdio::null());
    }
    // Of this folder the user that PHP runs as can change nothing.
    let path = step.dir.join("input");
    std::fs::write(&path, step.input).map_err(io_error("write", &path))?;
    let file = File::open(&path).map_err(io_error("read", &path))?;
    std::fs::remove_file(&path).map_err(io_error("remove", &path))?;
    Ok(file.into())
}

/// `None`: it was killed, for it took too long or nobody waits any more.
fn ended(mut child: Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < WITHIN && !interrupt::asked() {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(RETRY);
    }
    // What it started too.
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    None
}

/// Those of the app that are files of this PHP. A php.ini of the machine is not read: it is none
/// of the runtime's.
fn extensions(app: &App, php: &Path) -> Vec<String> {
    let Some(dir) = locate::extension_dir(php) else { return Vec::new() };
    let there = |name: &&String| dir.join(format!("{name}.so")).is_file();
    let mut wanted = app.manifest.all_extensions();
    wanted.retain(|name| there(&name));
    super::prepare::in_loading_order(&mut wanted);
    wanted
}

/// A large project's caches take some seconds.
const WITHIN: Duration = Duration::from_secs(120);
/// Between two looks.
const RETRY: Duration = Duration::from_millis(5);
