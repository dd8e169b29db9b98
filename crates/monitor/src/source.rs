//! The files that the monitor reads. They stay open and are read again in place.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use stampede_linux::proc::Proc;

/// The place of the kernel's files; another directory in tests.
#[derive(Clone, Debug)]
pub struct Sources {
    /// `/proc`.
    pub proc: Proc,
    /// Clock ticks per second in these files.
    pub ticks_per_second: u64,
}

impl Sources {
    /// Converts clock ticks to ns.
    pub fn ticks_as_ns(&self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// The path of a file of one process.
    pub fn of_process(&self, pid: u32, file: &str) -> PathBuf {
        self.proc.of_process(pid, file)
    }
}

impl Default for Sources {
    fn default() -> Sources {
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        Sources { proc: Proc::default(), ticks_per_second }
    }
}

/// A buffer for text that is read from one file after another. It allocates nothing once the
/// largest file has been read.
#[derive(Debug, Default)]
pub struct ReadBuffer(Vec<u8>);

impl ReadBuffer {
    /// Opens and reads a file once; `None` if the file is missing, for example because its process
    /// has just ended.
    pub fn of(&mut self, path: &Path) -> Option<&str> {
        self.shown(path).ok()
    }

    /// Reads an open file from its beginning; `None` once the file is gone.
    pub fn reread(&mut self, file: &OpenFile) -> Option<&str> {
        self.shown_again(file).ok()
    }

    /// As [`ReadBuffer::of`], for files of a process that not everybody may read.
    ///
    /// # Errors
    /// Tells a process that has ended from one that may not be looked into.
    pub fn shown(&mut self, path: &Path) -> Result<&str, NotShown> {
        let file = File::open(path).map_err(NotShown::because)?;
        self.fill(&file).map_err(NotShown::because)?;
        Ok(std::str::from_utf8(&self.0).unwrap_or_default())
    }

    /// As [`ReadBuffer::reread`], for files of a process that not everybody may read.
    ///
    /// # Errors
    /// Tells a process that has ended from one that may not be looked into.
    pub fn shown_again(&mut self, file: &OpenFile) -> Result<&str, NotShown> {
        self.fill(&file.0).map_err(NotShown::because)?;
        Ok(std::str::from_utf8(&self.0).unwrap_or_default())
    }

    fn fill(&mut self, file: &File) -> io::Result<()> {
        let mut filled = 0;
        loop {
            if self.0.len() < filled + PIECE {
                self.0.resize(filled + PIECE, 0);
            }
            // Kernel files answer a read from 0 with fresh figures, so no seek is needed.
            match file.read_at(&mut self.0[filled..], filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.0.truncate(filled);
        // Only names can contain other bytes, even half a character: the kernel cuts a process's
        // name at 15 bytes. The monitor reads nothing else from such bytes.
        self.0.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        Ok(())
    }
}

/// Why a file of a process shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotShown {
    /// The process has ended.
    Ended,
    /// The process is alive, and the kernel does not let us look into it: root in a container lacks
    /// CAP_SYS_PTRACE, and the process belongs to another user. What is added up without it is wrong.
    Refused,
}

impl NotShown {
    /// The reason that the system gave when a file was opened or read.
    pub fn because(error: io::Error) -> NotShown {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => NotShown::Ended,
            _ => NotShown::Refused,
        }
    }
}

/// A file that stays open, because opening costs more than reading.
#[derive(Debug)]
pub struct OpenFile(File);

impl OpenFile {
    /// Opens a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<OpenFile> {
        File::open(path).map(OpenFile)
    }
}

/// A page. Most of these files are smaller, and the kernel fills at least one page per call.
const PIECE: usize = 4096;
