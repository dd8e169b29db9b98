//! Writes files that exist completely or not at all, and files that grow line by line.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stampede_mask::{mask_json, mask_printed};

use super::StoreError;

/// Writes a whole file: under a temporary name, synced to disk, then renamed, with the directory
/// synced too. A crash leaves the old file or none.
///
/// # Errors
/// [`StoreError::Write`].
pub fn whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_and_rename(path, bytes).map(drop)
}

/// Does the same, and returns the file's lock. The file is locked before it gets its name, so
/// nobody sees it unlocked.
fn write_and_rename(path: &Path, bytes: &[u8]) -> Result<Lock, StoreError> {
    let failed = |source| StoreError::Write { path: path.to_owned(), source };
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    let mut file = File::create(&temporary).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    let is_locked = file.try_lock().is_ok();
    fs::rename(&temporary, path).map_err(failed)?;
    // The parent of a bare name is empty.
    let directory = path.parent().filter(|directory| *directory != "").unwrap_or(Path::new("."));
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
    Ok(Lock(is_locked.then_some(file)))
}

/// A lock that is held until it is dropped. On a file system without locks runs still work, but
/// they look cut off until they end.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "open it holds the lock")] Option<File>);

/// Writes a text as a whole file, without the values that are known to be secrets.
///
/// # Errors
/// [`StoreError::Write`].
pub fn text(path: &Path, text: &str) -> Result<(), StoreError> {
    whole(path, mask_printed(text).as_bytes())
}

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
    write_and_rename(path, (mask_json(&text) + "\n").as_bytes())
}

/// A file that only grows. Each `append` is one write, so a crash damages at most the last line.
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
}

impl AppendFile {
    /// Creates the file.
    ///
    /// # Errors
    /// [`StoreError::Write`], also if the file exists already.
    pub fn create(path: PathBuf) -> Result<AppendFile, StoreError> {
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Ok(file) => Ok(AppendFile { path, file, buffer: Vec::new() }),
            Err(source) => Err(StoreError::Write { path, source }),
        }
    }

    /// Lets `fill` write bytes into an empty buffer, and appends them.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn append(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        self.buffer.clear();
        fill(&mut self.buffer)
            .and_then(|()| self.file.write_all(&self.buffer))
            .map_err(|source| StoreError::Write { path: self.path.clone(), source })
    }

    /// Appends records without secrets, one line each.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn rows<R: Serialize>(
        &mut self,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), StoreError> {
        self.append(|buffer| {
            for row in rows {
                buffer.extend(mask_json(&serde_json::to_string(&row)?).bytes());
                buffer.push(b'\n');
            }
            Ok(())
        })
    }

    /// Syncs the file to disk.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn sync(&mut self) -> Result<(), StoreError> {
        let path = &self.path;
        self.file.sync_all().map_err(|source| StoreError::Write { path: path.clone(), source })
    }
}
