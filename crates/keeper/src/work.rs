//! Working directories: created under the journal's protection, and removed only if they are still
//! ours.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::KeeperError;
use super::journal::{Entry, Journal};
use super::stack::WorkingDirectory;

/// How long a removal is tried. A killed process stops writing much sooner.
const EMPTIED_WITHIN: Duration = Duration::from_secs(2);
/// Pause between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// A working directory that will be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkRecord {
    pub path: PathBuf,
    /// Device and inode, because another directory may have taken the name since. Both are 0 while
    /// the directory is about to be created. Then it is removed only if it is empty.
    pub device: u64,
    pub inode: u64,
}

impl WorkRecord {
    /// Records an existing directory.
    pub(super) fn of(path: &Path) -> io::Result<WorkRecord> {
        let found = fs::symlink_metadata(path)?;
        if !found.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        Ok(WorkRecord { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Records a directory that is about to be created.
    fn planned(path: &Path) -> WorkRecord {
        WorkRecord { path: path.to_owned(), device: 0, inode: 0 }
    }

    /// Whether the record was written before the directory existed.
    fn is_planned(&self) -> bool {
        (self.device, self.inode) == (0, 0)
    }

    /// Whether that very directory still exists.
    fn exists(&self) -> bool {
        WorkRecord::of(&self.path).is_ok_and(|now| now == *self)
    }

    /// Removes the directory if it is still the recorded one. Returns a description if it remains.
    pub(super) fn remove(&self) -> Option<String> {
        if self.is_planned() {
            // If the directory exists, it is empty. A directory with any content is not ours.
            let _ = fs::remove_dir(&self.path);
        }
        if !self.exists() {
            return None;
        }
        let until = Instant::now() + EMPTIED_WITHIN;
        while let Err(error) = fs::remove_dir_all(&self.path) {
            // Processes that another keeper is ending at this moment may still write or remove
            // files.
            let passes =
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty);
            if !self.exists() {
                return None;
            }
            if !passes || Instant::now() >= until {
                return Some(format!("directory `{}` ({error})", self.path.display()));
            }
            std::thread::sleep(TRY_AGAIN);
        }
        None
    }
}

/// Writes the entry, creates the directory with mode 0700, and writes the directory's identity.
/// This order leaves no moment at which a directory exists that no entry knows. A caller who runs
/// an unprivileged worker in the directory must open it up. A directory that is removed at the end
/// must be new: an existing one is not ours, whoever owns it. One that stays may exist, for a stack
/// beside another. Then only this user may have write access.
pub(super) fn create(
    journal: &Journal,
    entry: &mut Entry,
    directory: &Path,
    fate: WorkingDirectory,
) -> Result<(), KeeperError> {
    let is_removed = fate == WorkingDirectory::Remove;
    entry.work = is_removed.then_some(WorkRecord::planned(directory));
    journal.write(entry)?;
    let made = match make(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !is_removed => {
            check_is_ours(directory)
        }
        made => made,
    };
    let made = made.and_then(|()| WorkRecord::of(directory)).map_err(|source| {
        journal.remove(&entry.id);
        KeeperError::Directory { role: String::new(), path: directory.to_owned(), source }
    })?;
    entry.work = is_removed.then_some(made);
    journal.write(entry)
}

/// Fails if the name exists, even as a link.
fn make(directory: &Path) -> io::Result<()> {
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::DirBuilder::new().mode(0o700).create(directory)
}

/// Checks that the path is a directory and no link, and that only this user may write to it.
fn check_is_ours(directory: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(directory)?;
    let is_ours = found.is_dir()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.mode() & 0o022 == 0;
    if is_ours { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EEXIST)) }
}

#[cfg(test)]
mod tests {
    use stampede_linux::process::Identity;

    use super::*;
    use crate::sweep::{SweepReport, sweep_in};

    /// The keeper was killed after it created the directory and before it recorded the inode.
    #[test]
    fn a_planned_working_directory_is_removed_if_the_keeper_died_after_creating_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("own/journal");
        let journal = Journal::open(&path).unwrap();
        let work = place.path().join("work");
        let mut entry = Entry::new("one", Identity { pid: 1, start_ticks: u64::MAX });
        entry.work = Some(WorkRecord::planned(&work));
        journal.write(&entry).unwrap();
        fs::create_dir(&work).unwrap();
        let swept = sweep_in(&path).unwrap();
        assert_eq!(swept, SweepReport { stacks: vec!["one".to_owned()], left: Vec::new() });
        assert!(!work.exists() && journal.entries().unwrap().is_empty());
    }

    #[test]
    fn an_existing_path_is_never_used_as_a_new_working_directory() {
        let place = tempfile::tempdir().unwrap();
        let journal = Journal::open(&place.path().join("own/journal")).unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("directory")).unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        std::os::unix::fs::symlink(at("elsewhere"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("dangling")).unwrap();
        fs::write(at("file"), "x").unwrap();
        let mut entry = Entry::new("one", Identity { pid: 1, start_ticks: u64::MAX });
        for name in ["directory", "link", "dangling", "file"] {
            let error =
                create(&journal, &mut entry, &at(name), WorkingDirectory::Remove).unwrap_err();
            assert!(error.is_taken(), "{name}: {error:?}");
            assert!(fs::symlink_metadata(at(name)).is_ok() && !at("nowhere").exists(), "{name}");
            assert!(journal.entries().unwrap().is_empty(), "{name}");
        }
        for name in ["link", "dangling", "file"] {
            create(&journal, &mut entry, &at(name), WorkingDirectory::Keep).unwrap_err();
        }
        create(&journal, &mut entry, &at("directory"), WorkingDirectory::Keep).unwrap();
        fs::set_permissions(at("directory"), std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .unwrap();
        create(&journal, &mut entry, &at("directory"), WorkingDirectory::Keep).unwrap_err();
        create(&journal, &mut entry, &at("new"), WorkingDirectory::Remove).unwrap();
        assert_eq!(fs::metadata(at("new")).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(entry.work, Some(WorkRecord::of(&at("new")).unwrap()));
    }

    #[test]
    fn a_planned_directory_that_is_not_empty_is_not_removed() {
        let place = tempfile::tempdir().unwrap();
        let work = place.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("precious"), "x").unwrap();
        assert_eq!(WorkRecord::planned(&work).remove(), None);
        assert!(work.join("precious").exists());
    }

    #[test]
    fn another_directory_of_the_same_name_is_not_the_working_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("work");
        fs::create_dir(&path).unwrap();
        let record = WorkRecord::of(&path).unwrap();
        assert!(record.exists());
        fs::rename(&path, directory.path().join("moved")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(!record.exists());
    }
}
