//! Stores data that is not needed now in an unnamed file. So the answers of an app take disk space
//! and not memory, however many requests there are.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Where data is stored. The default has no file and keeps data in memory.
#[derive(Clone, Debug, Default)]
pub struct SpillFile(Option<Arc<SpillInner>>);

#[derive(Debug)]
struct SpillInner {
    file: File,
    end: AtomicU64,
}

/// Data that was stored in the file, or is still in memory.
#[derive(Clone, Debug)]
pub enum Stored<T> {
    /// In memory.
    InMemory(T),
    /// As JSON in the file.
    InFile(SpilledRange<T>),
}

/// A part of the file.
#[derive(Clone, Debug)]
pub struct SpilledRange<T> {
    spill: Arc<SpillInner>,
    at: u64,
    length: usize,
    of: PhantomData<T>,
}

/// Directory on a disk (`hier(7)`); other directories for temporary files may be in memory.
const ON_DISK: &str = "/var/tmp";

impl SpillFile {
    /// Returns a store with a file; without one, if no directory for temporary files can hold it.
    pub fn on_disk() -> SpillFile {
        let file = tempfile::tempfile_in(Path::new(ON_DISK)).or_else(|_| tempfile::tempfile());
        SpillFile(file.ok().map(|file| Arc::new(SpillInner { file, end: AtomicU64::new(0) })))
    }

    /// Stores data in the file. It stays in memory if that fails, as on a full disk.
    pub fn put<T: Serialize>(&self, thing: T) -> Stored<T> {
        let place = self.0.as_ref().and_then(|spill| spill.add(&thing).ok());
        place.map_or_else(|| Stored::InMemory(thing), Stored::InFile)
    }
}

impl SpillInner {
    fn add<T: Serialize>(self: &Arc<SpillInner>, thing: &T) -> io::Result<SpilledRange<T>> {
        let text = serde_json::to_vec(thing)?;
        let at = self.end.fetch_add(text.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(&text, at)?;
        Ok(SpilledRange { spill: Arc::clone(self), at, length: text.len(), of: PhantomData })
    }
}

impl<T: Clone + DeserializeOwned> Stored<T> {
    /// Returns the data.
    ///
    /// # Panics
    /// The file cannot be read as it was written: then no result would be reliable.
    pub fn get(&self) -> Cow<'_, T> {
        match self {
            Stored::InMemory(thing) => Cow::Borrowed(thing),
            Stored::InFile(place) => {
                let thing = place.read();
                Cow::Owned(thing.expect("a file of our own can be read as it was written"))
            }
        }
    }
}

impl<T: DeserializeOwned> SpilledRange<T> {
    fn read(&self) -> io::Result<T> {
        let mut text = vec![0; self.length];
        self.spill.file.read_exact_at(&mut text, self.at)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_data_is_read_back() {
        for spill_file in [SpillFile::on_disk(), SpillFile::default()] {
            let all: Vec<Stored<String>> = (0..100)
                .map(|number| spill_file.put(format!("№ {number}\n\0").repeat(number)))
                .collect();
            for (number, kept) in all.iter().enumerate().rev() {
                assert_eq!(*kept.get(), format!("№ {number}\n\0").repeat(number));
            }
        }
        let far = SpillFile::on_disk().put(u128::MAX);
        assert!(matches!(far, Stored::InFile(_)), "no directory takes a file");
        assert_eq!(*far.get(), u128::MAX);
    }

    #[test]
    fn data_stays_in_memory_if_the_disk_is_full() {
        let file = File::options().write(true).open("/dev/full").expect("the kernel has it");
        let spill_file = SpillFile(Some(Arc::new(SpillInner { file, end: AtomicU64::new(0) })));
        assert!(matches!(spill_file.put(7), Stored::InMemory(7)));
    }
}
