//! The workers' watch: a directory of the working directory in which each worker writes what
//! outlives a request.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::copy::{io_error, make_dir};
use super::error::RuntimeError;
use super::user::User;

/// Its directory.
pub const WATCHED: &str = "check";

/// How much the workers' watch writes. See `php/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// Everything, at the begin and the end of each request.
    Full,
    /// Sizes, now and then: of many thousand requests.
    Light,
}

/// The directory that tells the workers' watch to write, and what it writes into.
pub(super) fn watched(
    dir: &Path,
    watch: WatchMode,
    user: Option<&User>,
) -> Result<(), RuntimeError> {
    let directory = dir.join(WATCHED);
    make_dir(&directory)?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700))
        .map_err(io_error("open", &directory))?;
    let words = match watch {
        WatchMode::Full => "full",
        WatchMode::Light => "light",
    };
    let path = directory.join("mode");
    fs::write(&path, words).map_err(io_error("write", &path))?;
    let Some(user) = user else { return Ok(()) };
    std::os::unix::fs::chown(&directory, Some(user.uid), Some(user.gid))
        .map_err(io_error("give away", &directory))
}
