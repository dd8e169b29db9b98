//! Work folders: made under the journal's protection, removed only if they are still ours.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::KeeperError;
use super::journal::{Entry, Journal};
use super::stack::WorkFolder;

/// Far longer than a killed process can go on writing.
const EMPTIED_WITHIN: Duration = Duration::from_secs(2);
/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// A work folder that shall be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkRecord {
    pub path: PathBuf,
    /// Device and inode: a folder that took its name since is not ours. Both are 0 while the
    /// folder is about to be created: then it is removed only if it is empty.
    pub device: u64,
    pub inode: u64,
}

impl WorkRecord {
    /// Of a folder that is there.
    pub(super) fn of(path: &Path) -> io::Result<WorkRecord> {
        let found = fs::symlink_metadata(path)?;
        if !found.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        Ok(WorkRecord { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Of a folder that is about to be created.
    fn planned(path: &Path) -> WorkRecord {
        WorkRecord { path: path.to_owned(), device: 0, inode: 0 }
    }

    /// Whether it was written down before the folder was there.
    fn is_planned(&self) -> bool {
        (self.device, self.inode) == (0, 0)
    }

    /// Whether that very folder is still there.
    fn is_there(&self) -> bool {
        WorkRecord::of(&self.path).is_ok_and(|now| now == *self)
    }

    /// Removes the folder if it is still the one that was recorded; says what stayed.
    pub(super) fn remove(&self) -> Option<String> {
        if self.is_planned() {
            // Empty, if it is there at all; one with anything in it is not ours.
            let _ = fs::remove_dir(&self.path);
        }
        if !self.is_there() {
            return None;
        }
        let until = Instant::now() + EMPTIED_WITHIN;
        while let Err(error) = fs::remove_dir_all(&self.path) {
            // What another keeper is ending just now may still write, and remove.
            let passes =
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty);
            if !self.is_there() {
                return None;
            }
            if !passes || Instant::now() >= until {
                return Some(format!("folder `{}` ({error})", self.path.display()));
            }
            std::thread::sleep(TRY_AGAIN);
        }
        None
    }
}

/// Writes the entry, creates the folder (mode 0755, so that an unprivileged worker can pass),
/// and writes which one it is: in this order, so that there is no moment at which a folder is
/// there that no entry knows.
pub(super) fn create(
    journal: &Journal,
    entry: &mut Entry,
    folder: &Path,
    fate: WorkFolder,
) -> Result<(), KeeperError> {
    let is_removed = fate == WorkFolder::Remove;
    let existing = WorkRecord::of(folder).unwrap_or_else(|_| WorkRecord::planned(folder));
    entry.work = is_removed.then_some(existing);
    journal.write(entry)?;
    let made = fs::create_dir_all(folder).and_then(|()| WorkRecord::of(folder));
    let made = made.map_err(|source| {
        journal.remove(&entry.id);
        KeeperError::Folder { role: String::new(), path: folder.to_owned(), source }
    })?;
    entry.work = is_removed.then_some(made);
    journal.write(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::proc::Identity;
    use crate::keeper::sweep::{Swept, sweep_in};

    /// Killed between the creation of the folder and the entry that tells its inode.
    #[test]
    fn a_work_folder_of_which_only_the_plan_was_written_was_left() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("own/journal");
        let journal = Journal::open(&path).unwrap();
        let work = place.path().join("work");
        let mut entry = Entry::new("one", Identity { pid: 1, start_ticks: u64::MAX });
        entry.work = Some(WorkRecord::planned(&work));
        journal.write(&entry).unwrap();
        fs::create_dir(&work).unwrap();
        let swept = sweep_in(&path).unwrap();
        assert_eq!(swept, Swept { stacks: vec!["one".to_owned()], left: Vec::new() });
        assert!(!work.exists() && journal.entries().unwrap().is_empty());
    }

    #[test]
    fn a_planned_folder_with_something_in_it_is_not_ours() {
        let place = tempfile::tempdir().unwrap();
        let work = place.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("precious"), "x").unwrap();
        assert_eq!(WorkRecord::planned(&work).remove(), None);
        assert!(work.join("precious").exists());
    }

    #[test]
    fn a_folder_that_took_the_name_is_not_the_work_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("work");
        fs::create_dir(&path).unwrap();
        let record = WorkRecord::of(&path).unwrap();
        assert!(record.is_there());
        fs::rename(&path, folder.path().join("moved")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(!record.is_there());
    }
}
