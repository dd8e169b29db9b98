//! Ends and removes what an earlier stampede left behind.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::cgroup;
use super::error::KeeperError;
use super::journal::{Entry, Journal, WorkRecord};
use super::kill::{self, Own, Prey};
use super::proc::Identity;
use super::stack::{KeeperOptions, WorkFolder, check_id};

/// An init without namespaces ends its processes itself when its keeper is gone: this is how
/// long it gets before we do it.
const INIT_GRACE: Duration = Duration::from_secs(3);

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Stacks that nobody looked after, ended and removed.
    pub stacks: Vec<String>,
    /// What could not be removed, in words.
    pub left: Vec<String>,
}

/// Ends and removes every stack of this user whose stampede and keeper are gone.
/// `Stack::start` does it too.
///
/// # Errors
/// The journal's folder is not ours alone or cannot be read.
pub fn sweep() -> Result<Swept, KeeperError> {
    sweep_in(&Journal::default_path())
}

/// As `sweep`, with a journal elsewhere (`KeeperOptions::journal`).
///
/// # Errors
/// As `sweep`.
pub fn sweep_in(path: &Path) -> Result<Swept, KeeperError> {
    let journal = Journal::open(path)?;
    let mut swept = Swept::default();
    for entry in journal.entries()? {
        if !entry.guarded() {
            swept.left.extend(clean(&journal, &entry));
            swept.stacks.push(entry.id);
        }
    }
    journal.remove_orphaned_drafts();
    journal.retire();
    Ok(swept)
}

/// Creates a stack's work folder (mode 0755, so that an unprivileged worker can pass) under
/// the journal's protection: a stampede that dies before `Stack::start` leaves no folder.
///
/// # Errors
/// The id is not usable or taken; journal or folder cannot be written.
pub fn reserve(id: &str, work: &Path, options: &KeeperOptions) -> Result<(), KeeperError> {
    check_id(id)?;
    let journal = Journal::open(&options.journal)?;
    if journal.read(id).is_some_and(|entry| entry.guarded()) {
        return Err(KeeperError::InUse(id.to_owned()));
    }
    enter_work(&journal, Entry::new(id, own_identity()?), work, WorkFolder::Remove)
}

/// Writes the entry, creates the folder, and writes which one it is: in this order, so that
/// there is no moment at which a folder is there that no entry knows.
pub(super) fn enter_work(
    journal: &Journal,
    mut entry: Entry,
    work: &Path,
    fate: WorkFolder,
) -> Result<(), KeeperError> {
    let remove = fate == WorkFolder::Remove;
    let existing = WorkRecord::of(work).unwrap_or_else(|_| WorkRecord::planned(work));
    entry.work = remove.then_some(existing);
    journal.write(&entry)?;
    let record = || {
        fs::create_dir_all(work)?;
        WorkRecord::of(work)
    };
    let record = record().map_err(|source| KeeperError::Folder {
        role: String::new(),
        path: work.to_owned(),
        source,
    });
    entry.work = remove.then_some(record.inspect_err(|_| journal.remove(&entry.id))?);
    journal.write(&entry)
}

/// Removes what `reserve` made, if the stack was never started.
///
/// # Errors
/// The journal cannot be read, the stack runs, or its folder cannot be removed.
pub fn discard(id: &str, options: &KeeperOptions) -> Result<(), KeeperError> {
    check_id(id)?;
    let journal = Journal::open(&options.journal)?;
    let Some(entry) = journal.read(id) else {
        journal.retire();
        return Ok(());
    };
    if entry.keeper.is_some_and(|keeper| keeper.alive()) {
        return Err(KeeperError::InUse(id.to_owned()));
    }
    match clean(&journal, &entry) {
        left if left.is_empty() => Ok(()),
        left => Err(KeeperError::Left { id: id.to_owned(), left }),
    }
}

pub(super) fn own_identity() -> Result<Identity, KeeperError> {
    Identity::of(std::process::id()).ok_or_else(|| KeeperError::Journal {
        path: "/proc/self/stat".into(),
        source: io::Error::from(io::ErrorKind::NotFound),
    })
}

/// Ends and removes all of one stack that has no keeper (any more); returns what stayed. The
/// entry goes only if nothing stayed, so that the next start tries again.
pub(super) fn clean(journal: &Journal, entry: &Entry) -> Vec<String> {
    let mut left = Vec::new();
    if entry.same_boot() {
        end_init(entry);
        let by_name = |part: &str| {
            entry.cgroups.iter().map(|path| path.as_path()).find(|path| path.join(part).exists())
        };
        let prey = Prey {
            id: &entry.id,
            v2: by_name("cgroup.kill"),
            freezer: by_name("freezer.state"),
            known: &entry.roots,
            own: Own::OnlyKnown,
        };
        left.extend(kill::everything(&prey).into_iter().map(|pid| format!("process {pid}")));
        left.extend(remove_groups(&entry.cgroups));
    }
    left.extend(entry.work.as_ref().and_then(remove_work));
    if left.is_empty() {
        journal.remove(&entry.id);
    }
    left
}

/// A namespaced init takes everything with it; another one is ending everything just now.
fn end_init(entry: &Entry) {
    let Some(init) = entry.init else { return };
    let grace = if entry.namespaced { Duration::ZERO } else { INIT_GRACE };
    let soft = Instant::now() + grace;
    let hard = soft + kill::PATIENCE;
    while init.alive() && Instant::now() < hard {
        if Instant::now() >= soft {
            kill::kill(init.pid);
        }
        thread::sleep(Duration::from_millis(2));
    }
    kill::reap_one(init.pid);
}

/// Removes the stack's folder in every hierarchy; returns those that stayed.
pub(super) fn remove_groups(folders: &[impl AsRef<Path>]) -> Vec<String> {
    let stayed = |folder: &Path| match cgroup::remove(folder) {
        Ok(()) => None,
        Err(error) => Some(format!("cgroup `{}` ({error})", folder.display())),
    };
    folders.iter().filter_map(|folder| stayed(folder.as_ref())).collect()
}

/// Removes a work folder if it is still the one that was recorded.
pub(super) fn remove_work(work: &WorkRecord) -> Option<String> {
    if work.is_planned() {
        // Empty, if it is there at all; one with anything in it is not ours.
        let _ = fs::remove_dir(&work.path);
    }
    if !work.is_there() {
        return None;
    }
    match fs::remove_dir_all(&work.path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Some(format!("folder `{}` ({error})", work.path.display()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::proc::Identity;

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
        assert_eq!(remove_work(&WorkRecord::planned(&work)), None);
        assert!(work.join("precious").exists());
    }
}
