//! What is not needed now, in a file without a name: what an app answers takes room on the disk and none in
//! memory, however many requests there are.

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

/// Where things are put. The default has no file, and keeps them in memory.
#[derive(Clone, Debug, Default)]
pub struct Shelf(Option<Arc<Paper>>);

#[derive(Debug)]
struct Paper {
    file: File,
    end: AtomicU64,
}

/// A thing that was put away, or is small and still here.
#[derive(Clone, Debug)]
pub enum Kept<T> {
    /// In memory.
    Here(T),
    /// As JSON in the file.
    There(Place<T>),
}

/// A piece of the file.
#[derive(Clone, Debug)]
pub struct Place<T> {
    paper: Arc<Paper>,
    at: u64,
    length: usize,
    of: PhantomData<T>,
}

/// Where a folder for temporary files may itself be memory, this one is on a disk (`hier(7)`).
const ON_DISK: &str = "/var/tmp";

impl Shelf {
    /// One with a file; without, where no folder for temporary files takes one.
    pub fn on_disk() -> Shelf {
        let file = tempfile::tempfile_in(Path::new(ON_DISK)).or_else(|_| tempfile::tempfile());
        Shelf(file.ok().map(|file| Arc::new(Paper { file, end: AtomicU64::new(0) })))
    }

    /// Puts a thing away. It stays in memory where the disk is full.
    pub fn put<T: Serialize>(&self, thing: T) -> Kept<T> {
        let place = self.0.as_ref().and_then(|paper| paper.add(&thing).ok());
        place.map_or_else(|| Kept::Here(thing), Kept::There)
    }
}

impl Paper {
    fn add<T: Serialize>(self: &Arc<Paper>, thing: &T) -> io::Result<Place<T>> {
        let text = serde_json::to_vec(thing)?;
        let at = self.end.fetch_add(text.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(&text, at)?;
        Ok(Place { paper: Arc::clone(self), at, length: text.len(), of: PhantomData })
    }
}

impl<T: Clone + DeserializeOwned> Kept<T> {
    /// The thing itself.
    ///
    /// # Panics
    /// The disk does not give back what it took: nothing true can be said any more.
    pub fn get(&self) -> Cow<'_, T> {
        match self {
            Kept::Here(thing) => Cow::Borrowed(thing),
            Kept::There(place) => {
                let thing = place.read();
                Cow::Owned(thing.expect("a file of our own can be read as it was written"))
            }
        }
    }
}

impl<T: DeserializeOwned> Place<T> {
    fn read(&self) -> io::Result<T> {
        let mut text = vec![0; self.length];
        self.paper.file.read_exact_at(&mut text, self.at)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_away_is_got_back() {
        for shelf in [Shelf::on_disk(), Shelf::default()] {
            let all: Vec<Kept<String>> = (0..100)
                .map(|number| shelf.put(format!("№ {number}\n\0").repeat(number)))
                .collect();
            for (number, kept) in all.iter().enumerate().rev() {
                assert_eq!(*kept.get(), format!("№ {number}\n\0").repeat(number));
            }
        }
        let far = Shelf::on_disk().put(u128::MAX);
        assert!(matches!(far, Kept::There(_)), "no folder takes a file");
        assert_eq!(*far.get(), u128::MAX);
    }

    #[test]
    fn a_disk_that_is_full_costs_nothing_but_memory() {
        let file = File::options().write(true).open("/dev/full").expect("the kernel has it");
        let shelf = Shelf(Some(Arc::new(Paper { file, end: AtomicU64::new(0) })));
        assert!(matches!(shelf.put(7), Kept::Here(7)));
    }
}
