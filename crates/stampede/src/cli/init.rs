//! The command `stampede init`: writes a commented plan for the app in this directory.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use stampede_compose::discover::{self, Candidate};
use stampede_compose::project::NAMES;
use stampede_model::fact::{self, Notice};
use stampede_model::words;
use stampede_plan::model::{AppChoice, AppPlace};
use stampede_plan::{self, AppFlags, Overrides};
use stampede_stack::{Catalogue, SearchPaths};

use super::args::InitArgs;
use super::fail::CommandError;
use super::shell::{print, print_message};
use super::{Failure, Outcome};
use crate::suggest::{Suggestion, containers, plan_text, suggest};
use stampede_trial::refusal;

/// Writes the plan, and prints what to try next.
pub fn run(args: &InitArgs) -> Result<Outcome, Failure> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(PLAN));
    if out.exists() {
        return Err(InitError::Exists { path: out }.into());
    }
    let command = format!("stampede compare {}", shell_words::quote(&out.display().to_string()));
    // Flags about an app ask for a plan of that app.
    let has_app = args.app.is_some() || args.kind.is_some();
    if !has_app && args.about_app.flags() == AppFlags::default() {
        let here = Path::new(".");
        let projects = discover::find(here);
        if !projects.is_empty() {
            return of_containers(&projects, &out, here, &command);
        }
        tell_of(&discover::compose_files(here));
    }
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let overrides = Overrides {
        app: Some(args.app.clone().unwrap_or_else(|| ".".to_owned())),
        kind: args.kind.clone(),
        app_flags: args.about_app.flags(),
        ..Overrides::default()
    };
    let selection = stampede_plan::apps_of(None, &overrides)?;
    let mut apps = refusal::apps(&selection, &catalogue)?;
    if apps.len() != 1 {
        return Err(InitError::NotOneApp { apps: apps.len() }.into());
    }
    let app = apps.swap_remove(0);
    let suggestion = suggest(&catalogue, std::slice::from_ref(&app), false)?;
    let cpus = cpus();
    let defaults = suggestion.defaults.iter().filter_map(|one| catalogue.runtime(&one.name).ok());
    let notices = app.notices(&defaults.collect::<Vec<_>>());
    let choice = named(&selection.choices[0], &out);
    let text = plan_text((&app, &notices), &choice, &suggestion, cpus, &command);
    write(&out, &text)?;
    print(summary_text(&out, &notices, &suggestion, &command).as_bytes())
}

/// Says of compose files that none is a project that can be proposed. The plan is then for the app itself.
fn tell_of(files: &[PathBuf]) {
    let names: Vec<String> = files.iter().map(|file| format!("`{}`", file.display())).collect();
    let is_usual = |file: &&PathBuf| NAMES.iter().any(|name| file.as_path() == Path::new(name));
    let Some(first) = files.iter().find(is_usual).or(files.first()) else { return };
    print_message(&format!(
        "note: no plan for containers: in {} no service with a port of a web server was found; \
         `stampede compare --compose {} --dry-run` says why",
        words::some_of(&names),
        shell_words::quote(&first.display().to_string())
    ));
}

/// Writes the plan for the compose projects of a directory.
fn of_containers(
    projects: &[Candidate],
    out: &Path,
    directory: &Path,
    command: &str,
) -> Result<Outcome, Failure> {
    let path = match from(out, directory) {
        path if path == "." => String::new(),
        path => format!("{path}/"),
    };
    write(out, &containers::plan_text(projects, &path, cpus(), command))?;
    print(containers::summary_text(projects, out, command).as_bytes())
}

/// Why no plan was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The file exists.
    #[error("`{}` is there already, and is left as it is", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Several apps were named.
    #[error("`init` writes a plan for one app, not {apps}")]
    NotOneApp {
        /// How many were named.
        apps: usize,
    },
    /// The file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl CommandError for InitError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            InitError::Exists { .. } | InitError::Write { .. } => {
                "`--out` names another file".to_owned()
            }
            InitError::NotOneApp { .. } => "`apps: [a, b]` in the plan measures several".to_owned(),
        })
    }
}

/// Returns the number of CPUs that the stack gets without a plan.
fn cpus() -> u32 {
    u32::try_from(stampede_keeper::split_cpus(0).stack.len()).unwrap_or(1).max(1)
}

/// Writes the plan. Never overwrites a file, even one that has just been created.
fn write(out: &Path, text: &str) -> Result<(), InitError> {
    let path = out.to_owned();
    let file = OpenOptions::new().write(true).create_new(true).open(out);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(InitError::Exists { path }),
        Err(source) => Err(InitError::Write { path, source }),
    }
}

/// Returns the app as the plan names it. Paths in a plan are relative to the plan's directory.
fn named(app: &AppChoice, out: &Path) -> String {
    let AppChoice { place, settings, .. } = app;
    let (key, path) = match place {
        AppPlace::Named(name) => ("name", scalar(name)),
        AppPlace::Directory(directory) => ("path", scalar(&from(out, directory))),
        AppPlace::Provided => ("name", String::new()),
    };
    let value = |value: Value| value.as_str().map_or_else(|| value.to_string(), scalar);
    // JSON is also YAML. The time of `ready` has no flag.
    let said = settings.said().into_iter().filter(|(key, _)| *key != "ready_within");
    let said: Vec<String> = said.map(|(key, said)| format!("{key}: {}", value(said))).collect();
    match said.is_empty() {
        true => path,
        false => format!("{{{key}: {path}, {}}}", said.join(", ")),
    }
}

/// Returns the path from the directory of `file` to `directory` if one contains the other, else the
/// full path.
fn from(file: &Path, directory: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let here = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let (here, directory) = (real(here.unwrap_or(Path::new("."))), real(directory));
    if let Ok(below) = directory.strip_prefix(&here) {
        return match below.components().next() {
            None => ".".to_owned(),
            Some(_) => format!("./{}", below.display()),
        };
    }
    match here.strip_prefix(&directory) {
        Ok(above) => above.components().map(|_: Component<'_>| "..").collect::<Vec<_>>().join("/"),
        Err(_) => directory.display().to_string(),
    }
}

/// Quotes a text if YAML requires it.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_./-~".contains(c);
    match text.chars().all(plain) {
        true => text.to_owned(),
        // A JSON string is also a YAML string.
        false => Value::from(text).to_string(),
    }
}

fn summary_text(out: &Path, notices: &[Notice], suggestion: &Suggestion, command: &str) -> String {
    let names: Vec<&str> = suggestion.defaults.iter().map(|one| one.name.as_str()).collect();
    let mut text = format!("{} is written\n", out.display());
    for notice in notices {
        text += &format!("{}\n", fact::sentence(notice));
    }
    text += &format!("runtimes: {}\n", names.join(", "));
    for left in &suggestion.left_out {
        text += &format!("left out: {left}\n");
    }
    text + &format!(
        "\nTry next:\n  {command} --dry-run   what would run, and how long it takes\n  \
         {command}             the comparison\n"
    )
}

/// File in the current directory.
pub(super) const PLAN: &str = "stampede.yaml";
