//! Reads the files of the catalogue's directories, embedded in this program or the user's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use include_dir::Dir;
use serde_saphyr::Spanned;

use super::error::RuntimeError;

/// The directory with what every runtime may use; it is no runtime itself.
pub(super) const COMMON: &str = "common";

/// A directory of the catalogue: embedded, or on disk.
#[derive(Clone, Debug)]
pub enum Directory {
    /// A directory that is part of this program.
    Embedded(&'static Dir<'static>),
    /// A directory of the user.
    OnDisk(PathBuf),
    /// No directory: nothing of it can be seen here.
    Nowhere,
}

/// The directories that the files of a stack come from: the runtime's own, and others that a file's
/// path names by its beginning, as `common/mime.types` does.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    own: Directory,
    /// The beginning of a path, without its last `/` → the directory.
    others: BTreeMap<String, Directory>,
}

impl Directory {
    /// The bytes of a file; `None`: there is no such file.
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        match self {
            Directory::Embedded(dir) => {
                dir.get_file(dir.path().join(name)).map(|file| file.contents().to_vec())
            }
            Directory::OnDisk(path) => std::fs::read(path.join(name)).ok(),
            Directory::Nowhere => None,
        }
    }

    /// The files directly in the subdirectory `sub`, sorted.
    pub(super) fn files(&self, sub: &Path) -> Vec<(String, Vec<u8>)> {
        let mut files = self.files_unsorted(sub);
        files.sort();
        files
    }

    fn files_unsorted(&self, sub: &Path) -> Vec<(String, Vec<u8>)> {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        match self {
            Directory::Embedded(dir) => {
                let files = dir.get_dir(dir.path().join(sub)).into_iter().flat_map(Dir::files);
                files
                    .filter_map(|file| Some((name(file.path())?, file.contents().to_vec())))
                    .collect()
            }
            Directory::OnDisk(path) => {
                let entries = std::fs::read_dir(path.join(sub)).into_iter().flatten().flatten();
                let paths = entries.map(|entry| entry.path()).filter(|path| path.is_file());
                paths.filter_map(|path| Some((name(&path)?, std::fs::read(&path).ok()?))).collect()
            }
            Directory::Nowhere => Vec::new(),
        }
    }

    /// The name of the manifest in messages, and its text. `name` is the directory's name.
    ///
    /// # Errors
    /// There is no such file.
    pub(super) fn manifest(
        &self,
        name: &str,
        file: &str,
    ) -> Result<(String, String), RuntimeError> {
        let shown = match self {
            Directory::Embedded(_) | Directory::Nowhere => PathBuf::from(name).join(file),
            Directory::OnDisk(path) => path.join(file),
        };
        let bytes = self.file(file).ok_or_else(|| RuntimeError::Io {
            what: "read",
            path: shown.clone(),
            source: std::io::ErrorKind::NotFound.into(),
        })?;
        Ok((shown.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()))
    }
}

impl Sources {
    /// The runtime's own directory, and the shared one.
    pub(super) fn new(own: Directory, common: Directory) -> Sources {
        Sources { own, others: BTreeMap::from([(COMMON.to_owned(), common)]) }
    }

    /// Adds the directory whose files have paths that begin with `place`.
    pub(super) fn add(&mut self, place: &str, directory: Directory) {
        self.others.insert(place.to_owned(), directory);
    }

    /// The text of a file; `None`: there is no such file.
    pub(super) fn text(&self, file: &str) -> Option<String> {
        let bytes = match self.other(file) {
            Some((directory, rest)) => directory.file(rest),
            None => self.own.file(file),
        };
        Some(String::from_utf8_lossy(&bytes?).into_owned())
    }

    /// The names of the files directly in a directory, sorted.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let files = match self.other(directory) {
            Some((other, rest)) => other.files(Path::new(rest)),
            None => self.own.files(Path::new(directory)),
        };
        files.into_iter().map(|(name, _)| name).collect()
    }

    /// The name of a file in messages. `name` is the name of the runtime's own directory.
    pub(super) fn shown(&self, name: &str, file: &str) -> String {
        match self.other(file) {
            Some(_) => file.to_owned(),
            None => format!("{name}/{file}"),
        }
    }

    /// The other directory that `file` is in, and its path there.
    fn other<'a>(&self, file: &'a str) -> Option<(&Directory, &'a str)> {
        self.others.iter().find_map(|(name, directory)| {
            Some((directory, file.strip_prefix(name.as_str())?.strip_prefix('/')?))
        })
    }
}

/// The paths, among the sources of a stack, of the files that the manifest in the directory `place`
/// lists.
pub(super) fn below(place: &str, mut files: Vec<Spanned<String>>) -> Vec<Spanned<String>> {
    let is_own = |file: &&mut Spanned<String>| {
        file.value.strip_prefix(COMMON).is_none_or(|rest| !rest.starts_with('/'))
    };
    for file in files.iter_mut().filter(is_own) {
        file.value = format!("{place}/{}", file.value);
    }
    files
}

/// The subdirectories of an embedded directory, by name.
pub(super) fn embedded(dir: &'static Dir<'static>) -> BTreeMap<String, Directory> {
    dir.dirs().filter_map(|dir| Some((last(dir.path())?, Directory::Embedded(dir)))).collect()
}

/// The subdirectories of a directory; an unreadable directory counts as empty.
pub(super) fn on_disk(directory: &Path) -> BTreeMap<String, Directory> {
    let Ok(entries) = std::fs::read_dir(directory) else { return BTreeMap::new() };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .filter_map(|path| Some((last(&path)?, Directory::OnDisk(path))))
        .collect()
}

fn last(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}
