//! The runtimes that no package has and that the tests are to prove for real: made by
//! `stampede install` where there is Go, and kept below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{ChoreError, Need};

/// Runtime to install, the need that it lacks, and the program that is then there.
const MADE: [(&str, &str, &str); 2] = [
    ("roadrunner", "STAMPEDE_RR", "rr/rr"),
    ("frankenphp", "STAMPEDE_FRANKENPHP", "frankenphp/frankenphp"),
];

/// Variables that name the programs to the tests.
///
/// # Errors
/// `stampede` does not start; or one cannot be made with `CI` set, which is to prove them.
/// Elsewhere that is said, and its tests are skipped.
pub fn made(root: &Path) -> Result<Vec<(&'static str, PathBuf)>, ChoreError> {
    let wanted = MADE.into_iter().filter(|(_, variable, _)| std::env::var_os(variable).is_none());
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
    // Once more: a registry may be out of reach for a moment.
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
