//! Creates the directory in which each worker records what outlives a request.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::user::User;
use crate::copy::{io_error, make_dir};
use crate::error::RuntimeError;

/// The directory's name in the working directory.
pub const WATCHED: &str = "check";

/// How much the workers record. See `php/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// Everything, at the beginning and the end of each request.
    Full,
    /// Only sizes, now and then, for many thousands of requests.
    Light,
}

/// Creates the directory. Its presence tells the workers to record, and they write into it.
pub(crate) fn watched(
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
