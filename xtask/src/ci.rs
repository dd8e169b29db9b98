//! Everything that must pass before a change is taken, in the order of how soon it fails.

use std::path::Path;
use std::process::Command;

use crate::report_ui;

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] =
    &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
// Last: its output is what a person wants to see at the end. There are no documentation tests:
// their empty result would be the last line.
const TESTS: &[&str] =
    &["test", "--workspace", "--locked", "--lib", "--bins", "--tests", "--no-fail-fast"];

/// Runs all checks; the first that fails ends it.
///
/// # Errors
/// Names the check that failed.
pub fn run(root: &Path, tidy: impl Fn() -> Result<(), String>) -> Result<(), String> {
    cargo(root, FORMAT)?;
    announce("tidy");
    tidy()?;
    cargo(root, LINTS)?;
    report_ui::check(root)?;
    cargo(root, TESTS)
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    announce(&arguments.join(" "));
    // The cargo that runs us, not whatever PATH finds first.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(&program)
        .args(arguments)
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
