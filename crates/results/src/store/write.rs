//! Writes files that exist completely or not at all, and files that grow line by line.
//!
//! All files of results are written here, and each takes a [`Masked`]: no artefact can be written
//! with its secrets.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stampede_mask::Masked;

use super::StoreError;

/// Writes a whole file: under a temporary name, synced to disk, then renamed, with the directory
/// synced too. A crash leaves the old file or none.
///
/// # Errors
/// [`StoreError::Write`].
pub fn whole(path: &Path, content: &Masked) -> Result<(), StoreError> {
    write_and_rename(path, content).map(drop)
}

/// Does the same, and returns the file's lock. The file is locked before it gets its name, so
/// nobody sees it unlocked.
fn write_and_rename(path: &Path, content: &Masked) -> Result<Lock, StoreError> {
    let failed = |source| StoreError::Write { path: path.to_owned(), source };
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    let mut file = File::create(&temporary).map_err(failed)?;
    let named = file.write_all(content.bytes()).and_then(|()| file.sync_all()).and_then(|()| {
        let is_locked = file.try_lock().is_ok();
        fs::rename(&temporary, path).map(|()| is_locked)
    });
    let is_locked = named.map_err(|source| {
        // On a full disk, half a file would take space and be of no use.
        let _ = fs::remove_file(&temporary);
        failed(source)
    })?;
    // The parent of a bare name is empty.
    let directory = path.parent().filter(|directory| *directory != "").unwrap_or(Path::new("."));
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
    Ok(Lock(is_locked.then_some(file)))
}

/// A lock that is held until it is dropped. On a file system without locks runs still work, but
/// they look cut off until they end.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "open it holds the lock")] Option<File>);

/// Writes a record as a whole file of readable JSON, without secrets.
///
/// # Errors
/// [`StoreError::Write`].
pub fn record(path: &Path, record: &impl Serialize) -> Result<(), StoreError> {
    locked_record(path, record).map(drop)
}

/// Does the same as `record`. The file stays locked until the returned lock is dropped.
///
/// # Errors
/// [`StoreError::Write`].
pub fn locked_record(path: &Path, record: &impl Serialize) -> Result<Lock, StoreError> {
    let text = serde_json::to_string_pretty(record)
        .map_err(|source| StoreError::Write { path: path.to_owned(), source: source.into() })?;
    write_and_rename(path, &Masked::json(&text).with_line_break())
}

/// A file that only grows. Each `append` is one write, so a crash damages at most the last line.
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    file: File,
}

impl AppendFile {
    /// Creates the file.
    ///
    /// # Errors
    /// [`StoreError::Write`], also if the file exists already.
    pub fn create(path: PathBuf) -> Result<AppendFile, StoreError> {
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Ok(file) => Ok(AppendFile { path, file }),
            Err(source) => Err(StoreError::Write { path, source }),
        }
    }

    /// Appends content in one write.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn append(&mut self, content: &Masked) -> Result<(), StoreError> {
        let written = self.file.write_all(content.bytes());
        written.map_err(|source| self.failed(source))
    }

    /// Appends the figures that `fill` writes as bytes. They are numbers alone.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn numbers(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        fill(&mut bytes).map_err(|source| self.failed(source))?;
        self.append(&Masked::numbers(bytes))
    }

    /// Appends records without secrets, one line each.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn rows<R: Serialize>(
        &mut self,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), StoreError> {
        let mut text = String::new();
        for row in rows {
            let row = serde_json::to_string(&row).map_err(|error| self.failed(error.into()))?;
            text.push_str(&row);
            text.push('\n');
        }
        self.append(&Masked::json(&text))
    }

    fn failed(&self, source: std::io::Error) -> StoreError {
        StoreError::Write { path: self.path.clone(), source }
    }

    /// Syncs the file to disk.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync_all().map_err(|source| self.failed(source))
    }
}

#[cfg(test)]
mod tests {
    use stampede_testing::small_disk::with_small_disk;

    use super::*;

    #[test]
    fn a_full_disk_keeps_what_was_written_and_no_half_file() {
        let place = tempfile::tempdir().expect("a directory");
        let disk = place.path();
        with_small_disk(disk, 64 << 10, || {
            let (kept, large) = (disk.join("kept.json"), disk.join("large.html"));
            whole(&kept, &Masked::text("kept")).expect("there is room");
            let mut rows = AppendFile::create(disk.join("rows.ndjson")).expect("there is room");
            rows.rows(["one"]).expect("there is room");
            let text = Masked::numbers(vec![b'x'; 256 << 10]);
            for path in [&large, &kept] {
                let error = whole(path, &text).expect_err("there is no room");
                let hint = error.hint().expect("what to do");
                let named = format!("the file system at `{}`", disk.display());
                assert!(hint.contains("free some space on") && hint.contains(&named), "{hint}");
            }
            rows.append(&text).expect_err("there is no room");
            assert_eq!(fs::read_to_string(&kept).expect("it stays"), "kept");
            let mut names: Vec<_> = fs::read_dir(disk)
                .expect("the disk")
                .flatten()
                .map(|one| one.file_name())
                .collect();
            names.sort();
            assert_eq!(names, ["kept.json", "rows.ndjson"]);
        });
    }
}
