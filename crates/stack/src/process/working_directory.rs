//! Creates the directory into which a stack is rendered and from which it runs.

use std::path::{Path, PathBuf};

use stampede_keeper::KeeperError;
use stampede_linux::fresh;

use super::Supervise;
use super::stack::{Failure, Supervisor};
use crate::app::App;
use crate::error::RuntimeError;
use crate::locate::SearchPaths;

/// A stack's id, its working directory and its guard.
pub(crate) type GuardedDirectory = (String, PathBuf, Box<dyn Supervisor>);

/// Creates the stack's working directory, under a name that nobody can guess and that is not taken.
pub(crate) fn working_directory(
    places: &SearchPaths,
    app: &App,
    keep: &Supervise,
) -> Result<Result<GuardedDirectory, Failure>, RuntimeError> {
    let directories = places.working_directories(app.manifest.in_memory);
    check_plain(&directories)?;
    let make = |id: &str| {
        let dir = directories.join(format!("stampede-{id}"));
        Ok((id.to_owned(), dir.clone(), keep(id, &dir)?))
    };
    let is_taken =
        |error: &Failure| error.downcast_ref::<KeeperError>().is_some_and(KeeperError::is_taken);
    // The pid in the name shows which process created the directory.
    let name = || format!("{}-{}", std::process::id(), fresh::token());
    Ok(fresh::under_a_free_name(name, make, is_taken))
}

/// Checks that the path needs no quoting: configuration files of six formats contain it, each with
/// its own quoting.
fn check_plain(temp: &Path) -> Result<(), RuntimeError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match temp.to_str() {
        Some(text) if text.chars().all(plain) && temp.is_absolute() => Ok(()),
        _ => Err(RuntimeError::WorkingDirectoryName { directory: temp.to_path_buf() }),
    }
}
