//! The command `stampede install`: installs the Debian packages of runtimes without starting their
//! services, and programs that no package contains.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use stampede_linux::interrupt;
use stampede_linux::run::TimedCommand;
use stampede_stack::{
    self, Catalogue, RuntimeDirectory, RuntimeListing, RuntimeState, SearchPaths,
};

use super::args::InstallArgs;
use super::fail::CommandError;
use super::get::{self, GetError, Recipe};
use super::shell::print;
use super::{Failure, Outcome};

/// The script that `make demo` runs too, so that both install in the same way.
const SCRIPT: &str = include_str!("../../../../scripts/install-packages");

/// Installs what is missing, or prints the commands.
pub fn run(args: &InstallArgs) -> Result<Outcome, Failure> {
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let runtimes: Vec<RuntimeDirectory> = args
        .runtimes
        .iter()
        .map(|name| catalogue.runtime(name).map_err(Failure::from))
        .collect::<Result<_, _>>()?;
    let places = &catalogue.places;
    let missing_needs = |runtime: &RuntimeDirectory| missing_needs(&catalogue, runtime, args.build);
    let is_incomplete = |runtime: &&RuntimeDirectory| {
        !is_complete(&stampede_stack::describe_runtime(&catalogue, &runtime.name))
            || !missing_needs(runtime).is_empty()
    };
    let incomplete: Vec<&RuntimeDirectory> = runtimes.iter().filter(is_incomplete).collect();
    let mut recipes = get::wanted(&catalogue, &incomplete, missing_needs, args.build)?;
    let of_packages = |runtime: &&&RuntimeDirectory| {
        let made = |need: &String| runtime.manifest.get.iter().any(|get| get.need.value == *need);
        missing_needs(runtime).iter().any(|need| !made(need))
    };
    let packaged: Vec<&RuntimeDirectory> = incomplete.iter().filter(of_packages).copied().collect();
    let mut words = words(&catalogue, &packaged)?;
    // Called once for all steps, because both packages and programs may be missing.
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    let mut installed = Vec::new();
    if !args.print {
        // Releases come first, because building needs packages that a release does not need.
        installed = take_releases(&mut recipes, places)?;
    }
    if is_debian(&catalogue) {
        words.extend(recipes.iter().flat_map(Recipe::packages).cloned());
    }
    let words = missing(words, &recipes)?;
    if args.print {
        return print(all_commands(&words, &recipes, places)?.as_bytes());
    }
    // If nothing is missing, the script only restores what a killed installation changed. A
    // policy-rc.d left behind would keep every service of the machine from starting.
    let fixes = rustix::process::geteuid().is_root()
        && is_debian(&catalogue)
        && HELD.iter().any(|path| Path::new(path).exists());
    if !words.is_empty() || fixes {
        installed.extend(install(&words, &args.runtimes)?);
    }
    for recipe in &recipes {
        recipe.run(places)?;
        installed.push(recipe.need().to_owned());
    }
    let listed: Vec<RuntimeListing> = runtimes
        .iter()
        .map(|runtime| stampede_stack::describe_runtime(&catalogue, &runtime.name))
        .collect();
    if let Some(error) = listed.iter().find_map(|one| still_incomplete(one, &incomplete)) {
        return Err(error.into());
    }
    if args.json {
        let all = json!({ "installed": installed, "runtimes": listed });
        return print(format!("{all:#}\n").as_bytes());
    }
    let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
    let done = if incomplete.is_empty() { "nothing is missing" } else { "installed" };
    let text = format!(
        "{done}: {}\n\nTry next:\n  stampede up {}   alone, until Ctrl-C\n  stampede compare --app hello --runtimes {} --rate 100 --for 10s\n",
        names.join(", "),
        names[0],
        names.join(",")
    );
    print(text.as_bytes())
}

/// The recipes of all that a runtime lacks. `None`: nothing is missing, or some of it cannot be made with what
/// is here.
pub(super) fn makeable(catalogue: &Catalogue, runtime: &RuntimeDirectory) -> Option<Vec<Recipe>> {
    let lacks = missing_needs(catalogue, runtime, false);
    let recipes = get::wanted(catalogue, &[runtime], |_| lacks.clone(), true).ok()?;
    let is_all = !lacks.is_empty() && recipes.len() == lacks.len();
    let can_run =
        |recipe: &Recipe| recipe.packages().is_empty() && recipe.has_tools(&catalogue.places);
    (is_all && recipes.iter().all(can_run)).then_some(recipes)
}

/// Downloads releases. Returns the needs that are in place now, and leaves the other recipes in
/// `recipes`.
fn take_releases(recipes: &mut Vec<Recipe>, places: &SearchPaths) -> Result<Vec<String>, GetError> {
    let mut taken = Vec::new();
    let mut left = Vec::new();
    for recipe in recipes.drain(..) {
        match recipe.take_release(places)? {
            true => taken.push(recipe.need().to_owned()),
            false => left.push(recipe),
        }
    }
    *recipes = left;
    Ok(taken)
}

pub(super) fn is_complete(one: &RuntimeListing) -> bool {
    matches!(one.state, RuntimeState::Found { .. })
}

/// Returns the missing needs of a runtime. With `build`, also the needs that are releases and could
/// be built.
fn missing_needs(catalogue: &Catalogue, runtime: &RuntimeDirectory, build: bool) -> Vec<String> {
    match stampede_stack::describe_runtime(catalogue, &runtime.name).state {
        RuntimeState::Missing { missing, .. } => missing,
        RuntimeState::Found { versions, custom_builds } if build => {
            let recipes = runtime.manifest.get.iter().filter(|get| !get.release.is_empty());
            let is_release =
                |need: &String| versions.contains_key(need) && !custom_builds.contains_key(need);
            recipes.map(|get| get.need.value.clone()).filter(is_release).collect()
        }
        RuntimeState::Found { .. } | RuntimeState::Wrong { .. } => Vec::new(),
    }
}

/// Returns what keeps a runtime from starting after the installation; `None`: nothing does.
fn still_incomplete(one: &RuntimeListing, runtimes: &[&RuntimeDirectory]) -> Option<InstallError> {
    let runtime = one.name.clone();
    let note = note(runtimes, &one.name);
    match &one.state {
        RuntimeState::Found { .. } => None,
        RuntimeState::Missing { missing, .. } => {
            Some(InstallError::StillLacks { runtime, missing: missing.clone(), note })
        }
        RuntimeState::Wrong { problem } => {
            Some(InstallError::StillWrong { runtime, problem: problem.clone(), note })
        }
    }
}

fn note(runtimes: &[&RuntimeDirectory], name: &str) -> Option<String> {
    let runtime = runtimes.iter().find(|runtime| runtime.name == name)?;
    runtime.manifest.install.get(DEBIAN)?.note.clone()
}

fn is_debian(catalogue: &Catalogue) -> bool {
    catalogue.places.family.iter().any(|family| family == DEBIAN)
}

/// Returns the packages of runtimes that lack something, each once, as the script reads them.
fn words(
    catalogue: &Catalogue,
    runtimes: &[&RuntimeDirectory],
) -> Result<BTreeSet<String>, InstallError> {
    let mut words = BTreeSet::new();
    for runtime in runtimes {
        let install = runtime.manifest.install.get(DEBIAN).filter(|_| is_debian(catalogue));
        let Some(install) = install.filter(|install| !install.packages.is_empty()) else {
            return Err(InstallError::NotHere {
                runtime: runtime.name.clone(),
                command: catalogue.places.install(runtime),
                note: runtime.manifest.install.values().find_map(|one| one.note.clone()),
            });
        };
        words.extend(install.packages.iter().cloned());
    }
    Ok(words)
}

/// Returns the words, or none if the packages of the recipes are installed. Nothing has checked
/// those packages before.
fn missing(words: BTreeSet<String>, recipes: &[Recipe]) -> Result<Vec<String>, InstallError> {
    let words: Vec<String> = words.into_iter().collect();
    let unseen = recipes.iter().any(|recipe| !recipe.packages().is_empty());
    Ok(if unseen && commands(&words)?.is_empty() { Vec::new() } else { words })
}

fn all_commands(
    words: &[String],
    recipes: &[Recipe],
    places: &SearchPaths,
) -> Result<String, InstallError> {
    if words.is_empty() && recipes.is_empty() {
        return Ok("# nothing is missing\n".to_owned());
    }
    let packages = if words.is_empty() { String::new() } else { commands(words)? };
    Ok(packages + &recipes.iter().map(|recipe| recipe.commands(places)).collect::<String>())
}

fn commands(words: &[String]) -> Result<String, InstallError> {
    let script = script()?;
    let output = Command::new("bash")
        .arg(script.path())
        .args(["--print", "words"])
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| InstallError::NoBash { source })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(InstallError::NoCommands),
    }
}

/// Runs the script to its end, even after Ctrl-C, because it restores what it changed for the
/// installation. Returns the packages that it installed.
fn install(words: &[String], runtimes: &[String]) -> Result<Vec<String>, InstallError> {
    if !rustix::process::geteuid().is_root() && !has_sudo() {
        return Err(InstallError::OnlyRoot { runtimes: runtimes.to_vec() });
    }
    let script = script()?;
    // sudo may ask for a password.
    let child = Command::new("bash")
        .arg(script.path())
        .arg("words")
        .args(words)
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    let output = child.and_then(wait_for_script);
    let output = output.map_err(|source| InstallError::NoBash { source })?;
    match output.status.success() {
        true => {
            let names = String::from_utf8_lossy(&output.stdout).into_owned();
            Ok(names.lines().map(str::to_owned).collect())
        }
        false if interrupt::is_requested() => Err(InstallError::Interrupted),
        false => Err(InstallError::NotInstalled),
    }
}

/// Waits for the script and returns its output. A signal that only stampede received is passed on.
/// The script ends at once if it waits, and otherwise when the command that it runs has ended.
fn wait_for_script(child: Child) -> io::Result<Output> {
    let pid = Pid::from_child(&child);
    let (ended, waits) = mpsc::channel::<()>();
    let guard = thread::spawn(move || {
        while waits.recv_timeout(LOOKS_EVERY) == Err(RecvTimeoutError::Timeout) {
            if interrupt::is_requested() {
                // The process may be sudo, which passes the signal on, or may have ended already.
                let _ = kill_process(pid, Signal::TERM);
                return;
            }
        }
    });
    let output = child.wait_with_output();
    drop(ended);
    let _ = guard.join();
    output
}

/// The deadline of `sudo -V`, which takes milliseconds.
const SUDO_WITHIN: Duration = Duration::from_secs(10);

/// Short enough for a person's patience, and no load on a machine that installs packages.
const LOOKS_EVERY: Duration = Duration::from_millis(100);

fn has_sudo() -> bool {
    TimedCommand::new("sudo", SUDO_WITHIN).args(["-V"]).keep(0).run().is_ok()
}

/// Writes the script to a file. A pipe would not do, because the script runs itself again as root.
fn script() -> Result<tempfile::NamedTempFile, InstallError> {
    let written =
        tempfile::Builder::new().prefix("stampede-install-").tempfile().and_then(|mut file| {
            file.write_all(SCRIPT.as_bytes())?;
            Ok(file)
        });
    written.map_err(|source| InstallError::WriteScript { source })
}

/// Why runtimes were not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A runtime still has missing needs after the installation.
    #[error("`{runtime}` still lacks {}", missing.join(", "))]
    StillLacks {
        /// Name of the runtime.
        runtime: String,
        /// Names of the missing needs.
        missing: Vec<String>,
        /// What the runtime's directory says about the installation.
        note: Option<String>,
    },
    /// A runtime's directory is wrong.
    #[error("`{runtime}` still lacks {problem}")]
    StillWrong {
        /// Name of the runtime.
        runtime: String,
        /// What is wrong, as in the list of runtimes.
        problem: String,
        /// What the runtime's directory says about the installation.
        note: Option<String>,
    },
    /// The runtime has no packages for this system.
    #[error("`{runtime}` cannot be installed by stampede here")]
    NotHere {
        /// Name of the runtime.
        runtime: String,
        /// The system's own command that installs the packages.
        command: Option<String>,
        /// What the runtime's directory says about the installation.
        note: Option<String>,
    },
    /// The script's shell cannot be run.
    #[error("cannot run bash")]
    NoBash {
        /// The system's error.
        source: io::Error,
    },
    /// The script cannot find out the install commands.
    #[error("the install commands cannot be worked out; see the message above")]
    NoCommands,
    /// The user is not root, and there is no sudo.
    #[error("packages are missing, and only root can install them")]
    OnlyRoot {
        /// Names of the runtimes.
        runtimes: Vec<String>,
    },
    /// The user interrupted.
    #[error("interrupted: what was not installed yet is missing")]
    Interrupted,
    /// The script failed and printed why.
    #[error("the packages were not installed")]
    NotInstalled,
    /// The script cannot be written to a file.
    #[error("cannot write a temporary file")]
    WriteScript {
        /// The system's error.
        source: io::Error,
    },
}

impl CommandError for InstallError {
    fn hint(&self) -> Option<String> {
        match self {
            InstallError::StillLacks { runtime, note, .. }
            | InstallError::StillWrong { runtime, note, .. } => {
                Some(note.clone().unwrap_or_else(|| {
                    format!(
                        "`stampede runtimes` says what is found, STAMPEDE_… names a program \
                         elsewhere; its directory is runtimes/{runtime}"
                    )
                }))
            }
            InstallError::NotHere { command, note, .. } => {
                Some(command.as_ref().or(note.as_ref()).cloned().unwrap_or_else(|| {
                    "it installs packages of Debian and Ubuntu only; what the runtime needs is in \
                     `stampede runtimes`"
                        .to_owned()
                }))
            }
            InstallError::OnlyRoot { runtimes } => {
                Some(format!("as root: stampede install {}", runtimes.join(",")))
            }
            InstallError::NotInstalled => {
                Some("the reason stands above; `--print` shows the commands".to_owned())
            }
            _ => None,
        }
    }
}

/// Files that the script changes or keeps during an installation.
const HELD: [&str; 3] = [
    "/usr/sbin/policy-rc.d",
    "/usr/sbin/policy-rc.d.kept-by-stampede",
    "/run/stampede-services-before-install",
];
/// The system family that packages are installed for.
const DEBIAN: &str = "debian";
