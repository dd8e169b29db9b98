//! Chooses the directory in which working directories are created, where the user has not set
//! TMPDIR.
//!
//! `/tmp` is the last resort: on many systems it is a small file system in memory, which a copy of
//! an app and its database would fill, and in which a database is faster than on a server.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Where root's working directories are.
const OF_ROOT: &str = "/var/lib/stampede";
/// The longest path. Sockets are below it, and the kernel takes 107 bytes for one of those.
const BYTES_MAX: usize = 32;

/// The directory for working directories: `/var/lib/stampede` for root, else `stampede` in
/// `$XDG_CACHE_HOME` (`~/.cache`), each where it can be used; else `/tmp`.
pub(crate) fn of_working_directories() -> PathBuf {
    let user = rustix::process::geteuid();
    let own = match user.is_root() {
        true => Some(PathBuf::from(OF_ROOT)),
        false => of_user(),
    };
    own.filter(|own| is_usable(own, user.as_raw())).unwrap_or_else(|| "/tmp".into())
}

fn of_user() -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = var("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(var("HOME")?).join(".cache")));
    cache.filter(|cache| cache.is_absolute()).map(|cache| cache.join("stampede"))
}

/// Whether the directory is ours alone to write to, has a path that fits everywhere, and lets
/// programs run from it. It is created if it does not exist. The workers of PHP may pass through
/// root's.
fn is_usable(directory: &Path, user: u32) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let fits = directory
        .to_str()
        .is_some_and(|text| text.len() <= BYTES_MAX && text.chars().all(is_plain));
    fits && create(directory, if user == 0 { 0o711 } else { 0o700 }) && {
        let is_ours = fs::symlink_metadata(directory)
            .is_ok_and(|meta| meta.is_dir() && meta.uid() == user && meta.mode() & 0o022 == 0);
        is_ours && runs_programs(directory)
    }
}

/// Creates the directory and those above it. The kernel takes the umask off their modes.
fn create(directory: &Path, mode: u32) -> bool {
    let parent = directory.parent().map_or(Ok(()), fs::create_dir_all);
    match parent.and_then(|()| fs::DirBuilder::new().mode(mode).create(directory)) {
        Ok(()) => true,
        Err(error) => error.kind() == std::io::ErrorKind::AlreadyExists,
    }
}

fn runs_programs(directory: &Path) -> bool {
    let not = rustix::fs::StatVfsMountFlags::NOEXEC | rustix::fs::StatVfsMountFlags::RDONLY;
    rustix::fs::statvfs(directory).is_ok_and(|found| !found.f_flag.intersects(not))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn only_a_directory_of_our_own_is_used() {
        let parent = tempfile::Builder::new().prefix("p").tempdir_in("/tmp").expect("a directory");
        let inside = |name: &str| parent.path().join(name);
        assert!(is_usable(&inside("a/new"), user()), "it is made");
        assert!(is_usable(&inside("a/new"), user()), "it is there");
        let mode = fs::metadata(inside("a/new")).expect("made").permissions().mode() & 0o777;
        assert!(mode == 0o711 || mode == 0o700, "{mode:o}");

        fs::create_dir(inside("open")).expect("made");
        fs::set_permissions(inside("open"), fs::Permissions::from_mode(0o777)).expect("open");
        assert!(!is_usable(&inside("open"), user()), "others may write to it");
        symlink(inside("a/new"), inside("link")).expect("a link");
        assert!(!is_usable(&inside("link"), user()), "a link");
        fs::write(inside("file"), "").expect("written");
        assert!(!is_usable(&inside("file"), user()), "a file");
        assert!(!is_usable(&inside("a/new"), user() + 1), "somebody else's");
        assert!(!is_usable(&inside("with blank"), user()), "configurations would need quotes");
        assert!(!is_usable(&inside(&"long".repeat(20)), user()), "no room for a socket's path");
        assert!(!is_usable(Path::new("/proc/stampede"), user()), "it cannot be made");
    }
}
