//! What to do about a file that cannot be written.

use std::io::ErrorKind;
use std::path::Path;

/// What to do next, by the system's error. `path` may be missing.
pub fn hint(path: &Path, error: ErrorKind) -> String {
    let of_disk = stampede_linux::space::hint(path, error, "name another directory");
    of_disk.unwrap_or_else(|| match error {
        ErrorKind::PermissionDenied => "name a directory that you may write to".to_owned(),
        _ => "look at free space and permissions, or name another directory".to_owned(),
    })
}
