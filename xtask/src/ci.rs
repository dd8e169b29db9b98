//! Everything that must pass before a change is taken, in the order of how soon it fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{report_ui, workers, xdebug};

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] =
    &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
const PROGRAM: &[&str] = &["build", "--package", "stampede", "--locked"];
// Last: its output is what a person wants to see at the end. There are no documentation tests:
// their empty result would be the last line.
const TESTS: &[&str] =
    &["test", "--workspace", "--locked", "--lib", "--bins", "--tests", "--no-fail-fast"];

/// Runs all checks; the first that fails ends it.
///
/// # Errors
/// Names the check that failed.
pub fn run(root: &Path, tidy: impl Fn() -> Result<(), String>) -> Result<(), String> {
    cargo(root, FORMAT, &[])?;
    announce("tidy");
    tidy()?;
    cargo(root, LINTS, &[])?;
    report_ui::check(root)?;
    php_library(root)?;
    cargo(root, PROGRAM, &[])?;
    announce("RoadRunner, FrankenPHP and Xdebug");
    let mut made = workers::made(root)?;
    made.extend(xdebug::made(root));
    cargo(root, TESTS, &made)
}

/// The tests of `php/`; without PHPUnit they are skipped, which is said.
fn php_library(root: &Path) -> Result<(), String> {
    announce("phpunit");
    let status = match Command::new("phpunit").args(["-c", "php"]).current_dir(root).status() {
        Ok(status) => status,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            if std::env::var_os("CI").is_some() {
                return Err("`phpunit` is not installed (scripts/install-packages test)".to_owned());
            }
            eprintln!("SKIPPED: `phpunit` is not installed (scripts/install-packages test)");
            return Ok(());
        }
        Err(why) => return Err(format!("`phpunit` does not start: {why}")),
    };
    match status.success() {
        true => Ok(()),
        false => Err(format!("`phpunit -c php` failed: {status}")),
    }
}

fn cargo(root: &Path, arguments: &[&str], env: &[(&str, PathBuf)]) -> Result<(), String> {
    announce(&arguments.join(" "));
    // The cargo that runs us, not whatever PATH finds first.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(&program)
        .args(arguments)
        .envs(env.iter().map(|(name, path)| (name, path)))
        .current_dir(root)
        .status()
        .map_err(|why| format!("`{}` does not start: {why}", program.display()))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`cargo {}` failed: {status}", arguments.join(" ")))
    }
}

fn announce(what: &str) {
    eprintln!("== {what}");
}
