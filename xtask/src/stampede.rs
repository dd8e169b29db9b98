//! Runs stampede itself, for the files that are made of what it prints.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::ci::cargo_program;
use crate::error::{ChoreError, succeeded};

/// What stampede prints on standard output. It is built if it has to be.
///
/// # Errors
/// If it cannot be built, or ends with a failure.
pub fn printed(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, ChoreError> {
    const RUN: [&str; 6] = ["run", "--quiet", "--package", "stampede", "--locked", "--"];
    let all = [&RUN[..], arguments].concat();
    let command = format!("cargo {}", all.join(" "));
    eprintln!("== {command}");
    let ran =
        Command::new(cargo_program()).args(all).current_dir(root).stderr(Stdio::inherit()).output();
    match ran {
        Err(source) => Err(ChoreError::NotStarted { command, source }),
        Ok(output) => succeeded(&command, Ok(output.status)).map(|()| output.stdout),
    }
}
