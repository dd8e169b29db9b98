//! Where the monitor reads: files kept open and read again in place.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where the kernel shows itself; another directory in tests.
#[derive(Clone, Debug)]
pub struct Sources {
    /// `/proc`.
    pub proc: PathBuf,
    /// Clock ticks per second in its files.
    pub ticks_per_second: u64,
}

impl Sources {
    /// Clock ticks as ns.
    pub fn ticks_as_ns(&self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// A file of one process.
    pub fn of_process(&self, pid: u32, file: &str) -> PathBuf {
        self.proc.join(pid.to_string()).join(file)
    }
}

impl Default for Sources {
    fn default() -> Sources {
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        Sources { proc: PathBuf::from("/proc"), ticks_per_second }
    }
}

/// Text read from one file after another into one buffer: nothing is allocated once the
/// largest file has been seen.
#[derive(Debug, Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// Reads a file that is opened for this once; `None` where it is not there, as when
    /// its process has just ended.
    pub fn of(&mut self, path: &Path) -> Option<&str> {
        let file = File::open(path).ok()?;
        self.fill(&file).ok()?;
        std::str::from_utf8(&self.0).ok()
    }

    /// Reads a file that is kept open, from its beginning; `None` once it is gone.
    pub fn again(&mut self, file: &Kept) -> Option<&str> {
        self.fill(&file.0).ok()?;
        std::str::from_utf8(&self.0).ok()
    }

    fn fill(&mut self, file: &File) -> io::Result<()> {
        let mut filled = 0;
        loop {
            if self.0.len() < filled + PIECE {
                self.0.resize(filled + PIECE, 0);
            }
            // Kernel files answer a read from 0 with fresh figures; no seek is needed.
            match file.read_at(&mut self.0[filled..], filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.0.truncate(filled);
        // Only names can hold other bytes, even half a character: the kernel cuts a
        // process's name at 15 bytes. Nothing is read from names.
        self.0.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        Ok(())
    }
}

/// A file that stays open: opening costs more than reading.
#[derive(Debug)]
pub struct Kept(File);

impl Kept {
    /// Opens it.
    ///
    /// # Errors
    /// As the system says.
    pub fn open(path: &Path) -> io::Result<Kept> {
        File::open(path).map(Kept)
    }
}

/// A page: most of these files are smaller, and the kernel fills at least one page a call.
const PIECE: usize = 4096;
