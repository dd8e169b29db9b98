//! The workers' watch: a folder of the work folder in which each worker writes what outlives a request.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::copy::{io_error, make_dir};
use super::error::RuntimeError;
use super::user::User;

/// Its folder.
pub const WATCHED: &str = "check";

/// How much the workers' watch writes. See `php/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// Everything, at the begin and the end of each request.
    Full,
    /// Sizes, now and then: of many thousand requests.
    Light,
}

/// The folder that tells the workers' watch to write, and what it writes into.
pub(super) fn watched(
    dir: &Path,
    watch: WatchMode,
    user: Option<&User>,
) -> Result<(), RuntimeError> {
    let folder = dir.join(WATCHED);
    make_dir(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))
        .map_err(io_error("open", &folder))?;
    let words = match watch {
        WatchMode::Full => "full",
        WatchMode::Light => "light",
    };
    let path = folder.join("mode");
    fs::write(&path, words).map_err(io_error("write", &path))?;
    let Some(user) = user else { return Ok(()) };
    std::os::unix::fs::chown(&folder, Some(user.uid), Some(user.gid))
        .map_err(io_error("give away", &folder))
}
