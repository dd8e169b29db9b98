//! Creates the directory into which a stack is rendered and from which it runs.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use stampede_keeper::KeeperError;
use stampede_linux::fresh;

use super::Supervise;
use super::app_path::AppPath;
use super::stack::{Failure, Supervisor};
use super::user::User;
use crate::app::App;
use crate::copy::{io_error, make_dir};
use crate::error::RuntimeError;
use crate::locate::SearchPaths;
use crate::ownership::{give_app_to_user, make_writable};

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
    match is_plain(temp) {
        true => Ok(()),
        false => Err(RuntimeError::WorkingDirectoryName { directory: temp.to_path_buf() }),
    }
}

/// Whether a path needs no quoting in any configuration file.
pub(crate) fn is_plain(path: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    path.is_absolute() && path.to_str().is_some_and(|text| text.chars().all(plain))
}

/// The app's copy.
pub(crate) const COPY: &str = "app";
/// The source of the probe, which shows what the SAPI is. See `verify`.
const PROBE: &str = include_str!("probe.php");
/// The directory of PHP's sessions. It is in memory where the machine allows it, since otherwise
/// the disk would be measured.
pub(crate) const SESSIONS: &str = "sessions";

/// Fills the working directory, which only its creator can enter. If an unprivileged user serves
/// from it, its mode becomes 0711: that user can pass through, and nobody can list it.
pub(crate) fn fill(
    dir: &Path,
    app: &App,
    at: &AppPath,
    probe: &str,
    user: Option<&User>,
) -> Result<(), RuntimeError> {
    if let Some(user) = user {
        mode(dir, 0o711)?;
        check_way(dir, user)?;
    }
    let copy = dir.join(COPY);
    app.copy_to(&copy, at.settings_paths(app))?;
    let probe = copy.join(&app.manifest.docroot).join(probe);
    fs::write(&probe, PROBE).map_err(io_error("write", &probe))?;
    for (name, open) in [("logs", 0o711), ("tmp", 0o700), (SESSIONS, 0o700)] {
        let directory = dir.join(name);
        make_dir(&directory)?;
        mode(&directory, open)?;
        if let Some(user) = user.filter(|_| name != "logs") {
            std::os::unix::fs::chown(&directory, Some(user.uid), Some(user.gid))
                .map_err(io_error("give away", &directory))?;
        }
    }
    match user {
        Some(user) => give_app_to_user(&copy, &app.manifest.writable, user.uid, user.gid),
        None => make_writable(&copy, &app.manifest.writable),
    }
}

/// Gives the directory and its logs to the user, where all processes run as that user.
pub(crate) fn give_whole(dir: &Path, user: Option<&User>) -> Result<(), RuntimeError> {
    // In a container its place is taken by memory that root owns, with the mode that was here.
    mode(&dir.join(SESSIONS), 0o1777)?;
    let Some(user) = user else { return Ok(()) };
    for path in [dir.to_owned(), dir.join("logs")] {
        std::os::unix::fs::chown(&path, Some(user.uid), Some(user.gid))
            .map_err(io_error("give away", &path))?;
    }
    Ok(())
}

/// Creates the access log, for servers that open it after they changed their user. That user may
/// write to this file, but cannot create files beside it.
pub(crate) fn access_log(dir: &Path, user: Option<&User>) -> Result<(), RuntimeError> {
    let path = dir.join("logs/access.log");
    fs::write(&path, "").map_err(io_error("write", &path))?;
    let Some(user) = user else { return Ok(()) };
    std::os::unix::fs::chown(&path, Some(user.uid), Some(user.gid))
        .map_err(io_error("give away", &path))
}

pub(crate) fn mode(path: &Path, mode: u32) -> Result<(), RuntimeError> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(io_error("open", path))
}

/// Whether the user may pass through a directory.
pub(crate) fn may_enter(directory: &Path, user: &User) -> io::Result<bool> {
    let meta = fs::metadata(directory)?;
    let open = match meta.mode() {
        mode if meta.uid() == user.uid => mode & 0o100,
        mode if meta.gid() == user.gid => mode & 0o010,
        mode => mode & 0o001,
    };
    Ok(open != 0)
}

/// Checks that the user can enter every directory above `dir`. Otherwise a 403 or 404 would be the
/// only sign of it, much later.
///
/// # Errors
/// [`RuntimeError::WorkingDirectory`] names the directory, and the system's error.
pub fn check_way(dir: &Path, user: &User) -> Result<(), RuntimeError> {
    for directory in dir.ancestors().skip(1).filter(|directory| directory.is_absolute()) {
        if !may_enter(directory, user).map_err(io_error("read", directory))? {
            let (directory, user) = (directory.to_path_buf(), user.name.clone());
            return Err(RuntimeError::WorkingDirectory { directory, user });
        }
    }
    Ok(())
}
