//! What to do about a file that cannot be written.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What to do next, by the system's error. `path` may be missing.
pub fn hint(path: &Path, error: ErrorKind) -> String {
    let mounted = || file_system(path).display().to_string();
    match error {
        ErrorKind::StorageFull => {
            format!(
                "free some space on the file system at `{}`, or name another directory",
                mounted()
            )
        }
        ErrorKind::QuotaExceeded => format!(
            "your disk quota on the file system at `{}` is used up: free some space, or name another directory",
            mounted()
        ),
        ErrorKind::ReadOnlyFilesystem => {
            format!("the file system at `{}` is read-only: name another directory", mounted())
        }
        ErrorKind::PermissionDenied => "name a directory that you may write to".to_owned(),
        _ => "look at free space and permissions, or name another directory".to_owned(),
    }
}

/// Where the file system of a path is mounted: the topmost parent on the same device.
fn file_system(path: &Path) -> PathBuf {
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
}
