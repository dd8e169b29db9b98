//! Runs all checks that a change must pass, the ones that fail soonest first.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{ChoreError, Need, succeeded};
use crate::{report_ui, workers, xdebug};

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] =
    &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
const PROGRAM: &[&str] = &["build", "--package", "stampede", "--locked"];
// The tests come last, so that their output is at the end, where people look. Documentation tests
// are left out: there are none, and their empty result would be the last line.
const TESTS: &[&str] =
    &["test", "--workspace", "--locked", "--lib", "--bins", "--tests", "--no-fail-fast"];

/// Runs all checks, and stops at the first that fails.
///
/// # Errors
/// Names the check that failed.
pub fn run(root: &Path, tidy: impl Fn() -> Result<(), ChoreError>) -> Result<(), ChoreError> {
    cargo(root, FORMAT, &[])?;
    announce("tidy");
    tidy()?;
    cargo(root, LINTS, &[])?;
    report_ui::check(root)?;
    php_library(root)?;
    cargo(root, PROGRAM, &[])?;
    announce("RoadRunner, FrankenPHP and Xdebug");
    let mut made = workers::build(root)?;
    made.extend(xdebug::find_or_fetch(root));
    cargo(root, TESTS, &made)
}

/// Runs the tests of `php/`. Without PHPUnit it prints that it skips them; with `CI` set that is an
/// error.
fn php_library(root: &Path) -> Result<(), ChoreError> {
    announce("phpunit");
    match Command::new("phpunit").args(["-c", "php"]).current_dir(root).status() {
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            if std::env::var_os("CI").is_some() {
                return Err(ChoreError::Missing(Need::PhpUnit));
            }
            eprintln!("SKIPPED: {}", Need::PhpUnit);
            Ok(())
        }
        Err(source) => Err(ChoreError::NotStarted { command: "phpunit".to_owned(), source }),
        ran => succeeded("phpunit -c php", ran),
    }
}

fn cargo(root: &Path, arguments: &[&str], env: &[(&str, PathBuf)]) -> Result<(), ChoreError> {
    announce(&arguments.join(" "));
    // The cargo that runs this program, not the first one in PATH.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(&program)
        .args(arguments)
        .envs(env.iter().map(|(name, path)| (name, path)))
        .current_dir(root)
        .status();
    match ran {
        Err(source) => {
            Err(ChoreError::NotStarted { command: program.display().to_string(), source })
        }
        ran => succeeded(&format!("cargo {}", arguments.join(" ")), ran),
    }
}

fn announce(what: &str) {
    eprintln!("== {what}");
}
