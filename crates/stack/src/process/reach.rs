//! Copies needs that PHP's user cannot read. They are mostly in root's home directory, where
//! stampede keeps what it made.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::user::User;
use crate::catalogue::RuntimeDirectory;
use crate::copy::{self, SettingsPaths, io_error, make_dir};
use crate::error::RuntimeError;
use crate::locate::{self, ResolvedNeed};
use crate::manifest::RunAs;
use crate::ownership::give_to_read;

/// The directory of the copies, in the working directory.
const NEEDS: &str = "needs";

/// Returns the needs so that the user can reach them: those it cannot read are copied into the
/// working directory. Where they are in images, libraries are: they alone are this machine's.
///
/// # Errors
/// A copy cannot be made.
pub(crate) fn reachable(
    dir: &Path,
    runtime: &RuntimeDirectory,
    mut needs: BTreeMap<String, ResolvedNeed>,
    user: Option<&User>,
    are_in_images: bool,
) -> Result<BTreeMap<String, ResolvedNeed>, RuntimeError> {
    if user.is_none() && !are_in_images {
        return Ok(needs);
    }
    let copies = dir.join(NEEDS);
    for (name, found) in &mut needs {
        // Containers see nothing of this machine but the working directory.
        let must_copy = match user {
            _ if are_in_images => runtime.manifest.needs[name].library.is_some(),
            Some(user) => is_for_app(runtime, name) && !may_read(&found.path, user),
            None => false,
        };
        if must_copy {
            let with_directory = runtime.manifest.needs[name].library.is_some()
                || locate::own_extensions(&found.path).is_some();
            found.path = copied(&found.path, &copies.join(name), with_directory)?;
        }
    }
    if let Some(user) = user.filter(|_| copies.is_dir()) {
        give_to_read(&copies, user.gid)?;
    }
    Ok(needs)
}

/// Whether the user itself opens the need: PHP loads it, or it runs as a process of that user.
fn is_for_app(runtime: &RuntimeDirectory, name: &str) -> bool {
    let Some(need) = runtime.manifest.needs.get(name) else { return false };
    let runs = |line: &str| line.split_whitespace().next() == Some(name);
    let processes = &runtime.manifest.processes;
    need.extension.is_some()
        || need.library.is_some()
        || processes.iter().any(|one| one.user == RunAs::App && runs(&one.run.value))
}

/// Copies the file alone, or its whole directory: the other files of a library, or the extensions
/// of a PHP, are beside it.
fn copied(path: &Path, directory: &Path, with_directory: bool) -> Result<PathBuf, RuntimeError> {
    make_dir(directory)?;
    let name = path.file_name().unwrap_or_default();
    if !with_directory {
        let new = directory.join(name);
        fs::copy(path, &new).map_err(io_error("copy", path))?;
        return Ok(new);
    }
    let from = path.parent().unwrap_or(path);
    let new = directory.join(from.file_name().unwrap_or_default());
    copy::all(from, &new, &[], SettingsPaths::Kept)?;
    Ok(new.join(name))
}

/// Whether the user may enter every directory on the way, and read the file.
fn may_read(path: &Path, user: &User) -> bool {
    let allows = |path: &Path, bit: u32| {
        let Ok(meta) = fs::metadata(path) else { return false };
        let shift = match () {
            () if meta.uid() == user.uid => 6,
            () if meta.gid() == user.gid => 3,
            () => 0,
        };
        meta.mode() & (bit << shift) != 0
    };
    allows(path, 4) && path.ancestors().skip(1).all(|directory| allows(directory, 1))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_in_the_path_without_access_is_found() {
        let place = tempfile::tempdir().expect("directory");
        let file = place.path().join("closed/a/file");
        fs::create_dir_all(file.parent().expect("parent")).expect("directories");
        fs::write(&file, "x").expect("file");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
        };
        let nobody =
            User { name: "nobody".into(), group: "nogroup".into(), uid: 65534, gid: 65534 };
        mode(place.path(), 0o711);
        mode(&file, 0o644);
        mode(&place.path().join("closed/a"), 0o755);
        for (bits, seen) in [(0o755, true), (0o711, true), (0o700, false), (0o744, false)] {
            mode(&place.path().join("closed"), bits);
            assert_eq!(may_read(&file, &nobody), seen, "{bits:o}");
        }
        mode(&place.path().join("closed"), 0o755);
        mode(&file, 0o640);
        assert!(!may_read(&file, &nobody));
    }

    #[test]
    fn a_library_is_copied_with_all_files_beside_it() {
        let place = tempfile::tempdir().expect("directory");
        let vendor = place.path().join("own/vendor");
        fs::create_dir_all(vendor.join("react/http")).expect("directory");
        for name in ["autoload.php", "react/http/a.php"] {
            fs::write(vendor.join(name), "<?php").expect("file");
        }
        let to = place.path().join("needs/react");
        let new = copied(&vendor.join("autoload.php"), &to, true).expect("copied");
        assert_eq!(new, to.join("vendor/autoload.php"));
        assert!(to.join("vendor/react/http/a.php").is_file());
        let new = copied(&vendor.join("autoload.php"), &to, false).expect("copied");
        assert_eq!(new, to.join("autoload.php"));
    }
}
