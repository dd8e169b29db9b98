//! Files that requests name as their bodies.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use stampede_model::entry::Skip;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

use super::input::{ENTRY_BYTES_MAX, shown};
use super::read::{Entry, TrafficReader};
use super::{OtherFiles, Request, Tags, TrafficFile};

/// Where such files are looked for.
#[derive(Clone, Debug)]
pub(super) struct BodyFiles {
    /// The directory of the request file.
    directory: PathBuf,
    others: OtherFiles,
    /// Notes what is read.
    noted: Option<NamedFiles>,
}

/// Files that were read, by what the entries call them.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedFiles(Arc<Mutex<BTreeMap<String, PathBuf>>>);

impl NamedFiles {
    fn note(&self, name: &str, path: &Path) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < NAMED_MAX {
            all.insert(name.to_owned(), path.to_owned());
        }
    }

    fn all(&self) -> BTreeMap<String, PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The files that the entries of `file` name, by what they call them: at most [`NAMED_MAX`]. Reads the
/// whole file where its format can name others. What cannot be read is not among them: a load of
/// `file` says why.
pub fn named_files(file: &TrafficFile) -> BTreeMap<String, PathBuf> {
    let Ok(mut reading) = TrafficReader::of(file, HABITS, &Tags::new()) else {
        return BTreeMap::new();
    };
    if !reading.format().names_files() {
        return BTreeMap::new();
    }
    let named = reading.note_files();
    let mut request = Request::default();
    while let Ok(Entry::Request | Entry::Skipped(_)) = reading.next(&mut request) {}
    named.all()
}

impl BodyFiles {
    pub(super) fn of(file: &TrafficFile, noted: Option<NamedFiles>) -> BodyFiles {
        let directory = file.path.parent().unwrap_or(Path::new("")).to_owned();
        BodyFiles { directory, others: file.others.clone(), noted }
    }

    /// Where a file of this name may be.
    fn candidates(&self, name: &str) -> Vec<PathBuf> {
        match &self.others {
            OtherFiles::Beside => vec![self.directory.join(name), PathBuf::from(name)],
            OtherFiles::Copies(copies) => copies.get(name).cloned().into_iter().collect(),
        }
    }

    /// The content of a regular file of at most 16 MiB. Of a pipe or a device, nobody knows the end.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, Skip> {
        let found = self.candidates(name).into_iter().find_map(|path| {
            let is_file = std::fs::metadata(&path).is_ok_and(|metadata| {
                metadata.is_file() && metadata.len() <= ENTRY_BYTES_MAX as u64
            });
            let mut content = Vec::new();
            let file = is_file.then(|| File::open(&path).ok()).flatten()?;
            file.take(ENTRY_BYTES_MAX as u64).read_to_end(&mut content).ok()?;
            Some((path, content))
        });
        let (path, content) = found.ok_or_else(|| Skip::File { path: shown(name.as_bytes()) })?;
        self.noted.iter().for_each(|noted| noted.note(name, &path));
        Ok(content)
    }
}

/// How requests are sent changes nothing in which files they name.
const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
/// Files that are named at most: whoever copies them keeps each of them open.
const NAMED_MAX: usize = 256;
