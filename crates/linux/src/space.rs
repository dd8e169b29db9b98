//! Names the file system on which something cannot be written, and says what to do.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What to do about a full or read-only file system; `None`: the error is another. `path` is what was
/// to be written and may be missing. `otherwise` is what helps besides, such as "name another
/// directory".
pub fn hint(path: &Path, error: ErrorKind, otherwise: &str) -> Option<String> {
    let mounted = || file_system(path).display().to_string();
    match error {
        ErrorKind::StorageFull => {
            Some(format!("free some space on the file system at `{}`, or {otherwise}", mounted()))
        }
        ErrorKind::QuotaExceeded => Some(format!(
            "your disk quota on the file system at `{}` is used up: free some space, or {otherwise}",
            mounted()
        )),
        ErrorKind::ReadOnlyFilesystem => {
            Some(format!("the file system at `{}` is read-only: {otherwise}", mounted()))
        }
        _ => None,
    }
}

/// Whether the error is that of a file system which cannot take more: what was read is fine.
pub fn is_of_disk(error: ErrorKind) -> bool {
    use ErrorKind as E;
    matches!(error, E::StorageFull | E::QuotaExceeded | E::ReadOnlyFilesystem)
}

/// Whether an ordinary user could write nothing more on the file system of `path`: less than a page, or
/// no file is left.
pub fn is_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|found| {
        let has_files = found.f_files == 0 || found.f_favail > 0;
        let bytes = found.f_bavail.saturating_mul(found.f_frsize);
        found.f_blocks > 0 && bytes < PAGE || !has_files
    })
}

const PAGE: u64 = 4096;

/// Where the file system of a path is mounted: the topmost parent on the same device.
pub fn file_system(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev()).ok();
    let mut existing = absolute.ancestors().filter_map(|at| Some((at, device(at)?)));
    let Some((first, of_path)) = existing.next() else { return absolute };
    let last = existing.take_while(|(_, device)| *device == of_path).last();
    last.map_or(first, |(at, _)| at).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_named_by_its_mount_point() {
        assert_eq!(file_system(Path::new("/proc/no/such/file")), Path::new("/proc"));
        assert_eq!(file_system(Path::new("/proc/self/status")), Path::new("/proc"));
        assert_eq!(file_system(Path::new("/no-such-directory/x")), Path::new("/"));
        let here = file_system(Path::new("relative"));
        assert!(here.is_absolute() && here.is_dir(), "{}", here.display());
    }

    #[test]
    fn only_an_error_of_the_disk_names_the_disk() {
        let hint = |error| hint(Path::new("/proc/x"), error, "wait");
        let named = "free some space on the file system at `/proc`, or wait";
        assert_eq!(hint(ErrorKind::StorageFull).as_deref(), Some(named));
        let named = "the file system at `/proc` is read-only: wait";
        assert_eq!(hint(ErrorKind::ReadOnlyFilesystem).as_deref(), Some(named));
        assert_eq!(hint(ErrorKind::NotFound), None);
        assert!(is_of_disk(ErrorKind::QuotaExceeded) && !is_of_disk(ErrorKind::NotFound));
        assert!(
            !is_full(&std::env::temp_dir()) && !is_full(Path::new("/proc")),
            "it has no blocks"
        );
    }
}
