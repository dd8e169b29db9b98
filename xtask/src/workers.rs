//! Makes runtimes that no package provides and that the tests must run for real. `stampede install`
//! builds them with Go and puts them below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{ChoreError, Need};

/// The runtime to install, the variable that names its program, and where that program is built.
const RUNTIMES: [(&str, &str, &str); 2] = [
    ("roadrunner", "STAMPEDE_RR", "rr/rr"),
    ("frankenphp", "STAMPEDE_FRANKENPHP", "frankenphp/frankenphp"),
];

/// Builds the runtimes, and returns the variables that name their programs to the tests.
///
/// # Errors
/// If `stampede` does not start, or if `CI` is set and Go is missing or a build fails. Without `CI`
/// a message says so, and the tests are skipped.
pub fn build(root: &Path) -> Result<Vec<(&'static str, PathBuf)>, ChoreError> {
    let wanted =
        RUNTIMES.into_iter().filter(|(_, variable, _)| std::env::var_os(variable).is_none());
    let wanted: Vec<_> = wanted.collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    if !has_go() {
        if std::env::var_os("CI").is_some() {
            return Err(ChoreError::Missing(Need::Go));
        }
        eprintln!("SKIPPED: {}", Need::Go);
        return Ok(Vec::new());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let data = target.join("data");
    let names: Vec<&str> = wanted.iter().map(|(runtime, _, _)| *runtime).collect();
    let make = || {
        let mut install = Command::new(target.join("debug/stampede"));
        install.args(["install", "--build", &names.join(",")]).env("XDG_DATA_HOME", &data);
        let command = "stampede install".to_owned();
        install.status().map_err(|source| ChoreError::NotStarted { command, source })
    };
    // A second attempt, because a registry may be unreachable for a moment.
    if !make()?.success() && !make()?.success() {
        if std::env::var_os("CI").is_some() {
            return Err(ChoreError::NotMade);
        }
        eprintln!("SKIPPED: what could not be made, see above; its tests are skipped");
    }
    let path = |made: &str| data.join("stampede/lib").join(made);
    let there = wanted.into_iter().map(|(_, variable, made)| (variable, path(made)));
    Ok(there.filter(|(_, path)| path.is_file()).collect())
}

fn has_go() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories = std::env::split_paths(&path).chain([PathBuf::from("/usr/local/go/bin")]);
    directories.any(|directory| directory.join("go").is_file())
        || std::env::var_os("STAMPEDE_GO").is_some()
}
