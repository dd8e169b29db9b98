//! The journal: one file for each stack that runs on this machine. With it the next start can end
//! and remove what stampede and its keeper left when both were killed at once.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};
use stampede_linux::process::{self, Identity};

use super::error::{KeeperError, UnsafeDirectory};
use super::spec::RemovalCommand;
use super::work::WorkRecord;

/// Version of the format. It is raised when a field changes its meaning. Entries of another version
/// are ignored.
const FORMAT: u32 = 1;

/// The journal's entry for one stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub format: u32,
    pub id: String,
    /// After another boot, the processes and cgroups of this entry no longer exist.
    pub boot_id: String,
    /// Pids have no meaning in another PID namespace, for example in a container that shares our
    /// `/tmp`.
    pub pid_namespace: String,
    pub stampede: Identity,
    pub keeper: Option<Identity>,
    pub init: Option<Identity>,
    /// Whether the death of init ends all other processes.
    pub namespaced: bool,
    /// The processes that were started.
    pub roots: Vec<Identity>,
    /// The stack's directories in every hierarchy. Some may never have been created.
    pub cgroups: Vec<PathBuf>,
    pub work: Option<WorkRecord>,
    /// Removes the stack's containers; `None`: it has none.
    #[serde(default)]
    pub removal: Option<RemovalCommand>,
}

impl Entry {
    /// Makes the entry of a stack that `stampede` is about to start.
    pub(super) fn new(id: &str, stampede: Identity) -> Entry {
        Entry {
            format: FORMAT,
            id: id.to_owned(),
            boot_id: process::boot_id(),
            pid_namespace: own_namespace(),
            stampede,
            keeper: None,
            init: None,
            namespaced: false,
            roots: Vec::new(),
            cgroups: Vec::new(),
            work: None,
            removal: None,
        }
    }

    /// Whether the pids and cgroups of the entry can still exist.
    pub(super) fn same_boot(&self) -> bool {
        self.boot_id == process::boot_id()
    }

    /// Whether its stampede or its keeper still runs.
    pub(super) fn is_guarded(&self) -> bool {
        self.same_boot() && (self.stampede.alive() || self.keeper.is_some_and(|one| one.alive()))
    }

    /// Whether this process can interpret the entry at all.
    pub(super) fn readable(&self) -> bool {
        self.format == FORMAT && (!self.same_boot() || self.pid_namespace == own_namespace())
    }
}

/// Whether the directory is on a file system that takes files.
fn is_writable(directory: &Path) -> bool {
    let is_fixed = |flags: rustix::fs::StatVfsMountFlags| {
        flags.contains(rustix::fs::StatVfsMountFlags::RDONLY)
    };
    directory.is_dir() && rustix::fs::statvfs(directory).is_ok_and(|found| !is_fixed(found.f_flag))
}

fn own_namespace() -> String {
    process::own_namespace().map(|path| path.display().to_string()).unwrap_or_default()
}

/// The directory of entries. Each use opens the directory and checks the opened one, whatever
/// happens to the path. It is removed with its last entry.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The default directory: `$XDG_RUNTIME_DIR/stampede/journal` if `$XDG_RUNTIME_DIR` belongs to
    /// this user; for root `/run/stampede/journal`; else `/tmp/stampede-<uid>/journal`.
    pub(super) fn default_path() -> PathBuf {
        let uid = rustix::process::geteuid().as_raw();
        let ours = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|meta| meta.uid() == uid);
        match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(ours) {
            Some(runtime) => runtime.join("stampede/journal"),
            None if uid == 0 && is_writable(Path::new("/run")) => "/run/stampede/journal".into(),
            None => PathBuf::from(format!("/tmp/stampede-{uid}/journal")),
        }
    }

    /// Checks the directory and its parent if they exist. The first entry creates both, for this
    /// user alone.
    ///
    /// # Errors
    /// Either is a link, belongs to somebody else, or is writable for others. In `/tmp` anyone can
    /// take the name first, and entries written by others would make us remove their choice of
    /// files.
    pub(super) fn open(path: &Path) -> Result<Journal, KeeperError> {
        for directory in path.parent().into_iter().chain([path]) {
            match private_directory(directory, IfMissing::Leave) {
                Err(error) if !is_gone(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(Journal { path: path.to_owned() })
    }

    /// Opens the directory, and creates it if it does not exist. Each call opens it anew, because
    /// another stampede may have removed the directory with its last entry.
    fn created(&self) -> Result<OwnedFd, KeeperError> {
        let parent = self.path.parent();
        for _ in 0..TRIES {
            parent.map(|parent| private_directory(parent, IfMissing::Create)).transpose()?;
            match private_directory(&self.path, IfMissing::Create) {
                Err(error) if is_gone(&error) => {}
                directory => return directory,
            }
        }
        private_directory(&self.path, IfMissing::Create)
    }

    /// Removes the directory and its parent if no entry is left.
    pub(super) fn retire(&self) {
        let parent = self.path.parent().filter(|parent| {
            parent.file_name().is_some_and(|name| name.to_string_lossy().starts_with("stampede"))
        });
        let _ = fs::remove_dir(&self.path).and_then(|()| parent.map_or(Ok(()), fs::remove_dir));
    }

    /// Writes an entry completely or not at all.
    pub(super) fn write(&self, entry: &Entry) -> Result<(), KeeperError> {
        let name = file_name(&entry.id);
        // An entry has one writer: the keeper.
        let draft = draft_name(&entry.id, std::process::id());
        let write = |directory: &OwnedFd| -> io::Result<()> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
            let mode = Mode::RUSR | Mode::WUSR;
            let file = rustix::fs::openat(directory, &draft, flags | OFlags::CLOEXEC, mode)?;
            let text = serde_json::to_vec_pretty(entry)?;
            let written = File::from(file).write_all(&text);
            let named = written
                .and_then(|()| Ok(rustix::fs::renameat(directory, &draft, directory, &name)?));
            named.inspect_err(|_| {
                // Half an entry would take the space of a full disk, and be of no use.
                let _ = rustix::fs::unlinkat(directory, &draft, rustix::fs::AtFlags::empty());
            })
        };
        let mut written = write(&self.created()?);
        for _ in 0..TRIES {
            match &written {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                _ => break,
            }
            written = write(&self.created()?);
        }
        written.map_err(|source| self.error(&name, source))
    }

    /// Reads one entry; `None` if it does not exist or cannot be read.
    pub(super) fn read(&self, id: &str) -> Option<Entry> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = private_directory(&self.path, IfMissing::Leave).ok()?;
        let file = rustix::fs::openat(&directory, file_name(id), flags, Mode::empty()).ok()?;
        let mut text = String::new();
        File::from(file).read_to_string(&mut text).ok()?;
        let entry: Entry = serde_json::from_str(&text).ok()?;
        (entry.id == id && entry.readable()).then_some(entry)
    }

    /// Returns every entry that this process can interpret.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, KeeperError> {
        let fail = |source: rustix::io::Errno| self.error("", source.into());
        let mut found = Vec::new();
        let directory = match private_directory(&self.path, IfMissing::Leave) {
            Err(error) if is_gone(&error) => return Ok(found),
            directory => directory?,
        };
        for entry in rustix::fs::Dir::read_from(&directory).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_string_lossy();
            if let Some(id) = name.strip_suffix(".json").filter(|id| !id.starts_with('.')) {
                found.extend(self.read(id));
            }
        }
        Ok(found)
    }

    /// Removes an entry, and drafts of it whose writer was killed. Missing files are no error.
    pub(super) fn remove(&self, id: &str) {
        let name = file_name(id);
        if let Ok(directory) = private_directory(&self.path, IfMissing::Leave) {
            let _ = rustix::fs::unlinkat(&directory, &name, AtFlags::empty());
        }
        let prefix = format!(".{name}.");
        self.remove_drafts(|draft| draft.starts_with(&prefix));
        self.retire();
    }

    /// Removes the draft that a dead writer left of one entry, and the directory if nothing else is
    /// in it.
    pub(super) fn remove_draft(&self, id: &str, writer: u32) {
        let own = draft_name(id, writer);
        self.remove_drafts(|draft| draft == own);
        self.retire();
    }

    /// Removes every draft whose writer is gone.
    pub(super) fn remove_orphaned_drafts(&self) {
        self.remove_drafts(|draft| {
            let writer = draft.rsplit('.').next().and_then(|pid| pid.parse().ok());
            writer.is_none_or(|pid| !process::is_alive(pid))
        });
    }

    fn remove_drafts(&self, fits: impl Fn(&str) -> bool) {
        let Ok(directory) = private_directory(&self.path, IfMissing::Leave) else { return };
        let Ok(entries) = rustix::fs::Dir::read_from(&directory) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy();
            if name.starts_with('.') && name.len() > 2 && fits(&name) {
                let _ = rustix::fs::unlinkat(&directory, entry.file_name(), AtFlags::empty());
            }
        }
    }

    fn error(&self, name: &str, source: io::Error) -> KeeperError {
        KeeperError::Journal { path: self.path.join(name), source }
    }
}

fn draft_name(id: &str, writer: u32) -> String {
    format!(".{}.{writer}", file_name(id))
}

fn file_name(id: &str) -> String {
    format!("{id}.json")
}

/// How to treat a missing directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IfMissing {
    Create,
    Leave,
}

/// Whether the directory or its parent is missing.
fn is_gone(error: &KeeperError) -> bool {
    matches!(error, KeeperError::Journal { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// How often the directory is created again while others remove it at the same moment.
const TRIES: u32 = 100;

/// Opens a directory that only this user may write to.
fn private_directory(path: &Path, missing: IfMissing) -> Result<OwnedFd, KeeperError> {
    let fail = |source: io::Error| KeeperError::Journal { path: path.to_owned(), source };
    let unsafe_because =
        |why: UnsafeDirectory| KeeperError::JournalUnsafe { path: path.to_owned(), why };
    if missing == IfMissing::Create {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(fail(error)),
            _ => {}
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
            return Err(unsafe_because(UnsafeDirectory::NoDirectory));
        }
        Err(error) => return Err(fail(error.into())),
    };
    let stat = rustix::fs::fstat(&directory).map_err(|error| fail(error.into()))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(unsafe_because(UnsafeDirectory::OtherOwner));
    }
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory || stat.st_mode & 0o022 != 0 {
        return Err(unsafe_because(UnsafeDirectory::WritableByOthers));
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn own() -> Identity {
        Identity::of(std::process::id()).unwrap()
    }

    #[test]
    fn an_entry_is_written_read_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(&directory.path().join("s/journal")).unwrap();
        let mut entry = Entry::new("one", own());
        entry.work = Some(WorkRecord::of(directory.path()).unwrap());
        journal.write(&entry).unwrap();
        assert_eq!(journal.read("one"), Some(entry.clone()));
        assert_eq!(journal.entries().unwrap(), [entry]);
        journal.remove("one");
        assert_eq!(journal.entries().unwrap(), []);
    }

    #[test]
    fn a_full_disk_is_named_and_keeps_no_half_entry() {
        let directory = tempfile::tempdir().unwrap();
        let disk = directory.path().join("run");
        fs::create_dir(&disk).unwrap();
        stampede_testing::small_disk::with_small_disk(&disk, 16 << 10, || {
            let path = disk.join("stampede/journal");
            let journal = Journal::open(&path).unwrap();
            let mut entry = Entry::new("one", own());
            journal.write(&entry).unwrap();
            fs::write(disk.join("filled"), [0; 64 << 10]).unwrap_err();
            entry.roots = vec![own(); 4_000];
            let error = journal.write(&entry).unwrap_err();
            let hint = error.hint().expect("what to do");
            assert!(hint.contains("free some space on the file system at"), "{hint}");
            assert!(hint.contains(disk.to_str().unwrap()), "{hint}");
            entry.roots.clear();
            assert_eq!(journal.read("one"), Some(entry), "the earlier entry stays");
            assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "and no draft");
        });
    }

    /// The writer was killed before its first entry had its final name.
    #[test]
    fn orphaned_drafts_are_removed_and_drafts_of_others_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stampede/journal");
        let journal = Journal::open(&path).unwrap();
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&path).unwrap();
        for draft in [".one.json.7", ".one.json.8"] {
            fs::write(path.join(draft), "{").unwrap();
        }
        journal.remove_draft("one", 7);
        assert!(!path.join(".one.json.7").exists() && path.join(".one.json.8").exists());
        journal.remove_draft("one", 8);
        assert!(!path.exists(), "it was the last");
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = directory.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, directory.path().join("journal")).unwrap();
        let error = Journal::open(&directory.path().join("journal")).err().unwrap();
        assert!(matches!(error, KeeperError::JournalUnsafe { .. }), "{error:?}");
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let error = Journal::open(&path).err().unwrap();
        assert!(error.to_string().ends_with("others may write there"), "{error}");
    }
}
