//! Files that requests name as their bodies.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use stampede_model::entry::Skip;

use super::input::{ENTRY_BYTES_MAX, shown};

/// Where such files are looked for: beside the request file, and then in the current directory,
/// where the tool was started that the file was written for.
#[derive(Clone, Debug)]
pub(super) struct BodyFiles {
    /// `None`: no file is read.
    directory: Option<PathBuf>,
}

impl BodyFiles {
    pub(super) fn beside(request_file: &Path) -> BodyFiles {
        BodyFiles { directory: Some(request_file.parent().unwrap_or(Path::new("")).to_owned()) }
    }

    /// No file is read: those of this machine are not meant.
    pub(super) fn none() -> BodyFiles {
        BodyFiles { directory: None }
    }

    /// The content of a regular file of at most 16 MiB. Of a pipe or a device, nobody knows the end.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, Skip> {
        let beside = self.directory.as_ref().map(|directory| directory.join(path));
        let candidates = beside.map(|beside| [beside, PathBuf::from(path)]);
        let content = candidates.iter().flatten().find_map(|path| {
            let is_file = std::fs::metadata(path).is_ok_and(|metadata| {
                metadata.is_file() && metadata.len() <= ENTRY_BYTES_MAX as u64
            });
            let mut content = Vec::new();
            let file = is_file.then(|| File::open(path).ok()).flatten()?;
            file.take(ENTRY_BYTES_MAX as u64).read_to_end(&mut content).ok().map(|_| content)
        });
        content.ok_or_else(|| Skip::File { path: shown(path.as_bytes()) })
    }
}
