//! Counts requests that wait for the lock of their PHP session.
//!
//! PHP's own session handler locks the file of a session from `session_start` to the end of the
//! request (flock(2)). Requests of one session are therefore served one after the other. The kernel
//! lists who waits for a lock (`/proc/locks`, proc_locks(5)).

use std::path::Path;

use stampede_linux::proc::flock_waiters;

use super::source::{OpenFile, ReadBuffer, Sources};

/// How PHP's own handler begins the name of a session's file.
const PREFIX: &str = "sess_";
/// The directories in which handlers of an app's own keep sessions.
const DIRECTORIES: [&str; 4] = ["sessions", "session", "Sessions", "Session"];
/// The most waiters of one look. The descriptors of each are read.
const LOOKED_AT: usize = 64;

/// Looks at the locks repeatedly.
#[derive(Debug)]
pub struct SessionLocks {
    sources: Sources,
    /// The table of locks, kept open; `None`: this kernel has none.
    table: Option<OpenFile>,
    waiting: Vec<u32>,
}

impl SessionLocks {
    /// Opens the table of locks.
    pub fn open(sources: &Sources) -> SessionLocks {
        let table = OpenFile::open(&sources.proc.path("locks")).ok();
        SessionLocks { sources: sources.clone(), table, waiting: Vec::new() }
    }

    /// Looks once at the processes for which `is_ours` holds.
    pub fn observe(&mut self, is_ours: impl Fn(u32) -> bool, text: &mut ReadBuffer) {
        let Some(text) = self.table.as_ref().and_then(|table| text.reread(table)) else { return };
        let waiters = flock_waiters(text).filter(|waiter| is_ours(waiter.pid)).take(LOOKED_AT);
        let of_sessions = waiters.filter(|waiter| {
            let path = self.sources.proc.opened_path(waiter.pid, waiter.inode);
            path.is_some_and(|path| is_session(&path))
        });
        self.waiting.push(u32::try_from(of_sessions.count()).unwrap_or(u32::MAX));
    }

    /// Returns what was seen since the last call; empty: nobody waited.
    pub fn take(&mut self) -> Vec<u32> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.iter().any(|count| *count > 0) { waiting } else { Vec::new() }
    }
}

/// Whether a file is one of a session: PHP's by its name, wherever `session.save_path` is, and that
/// of a handler of the app's own by its name or its directory (`ci_session…`, `sessions/…`).
fn is_session(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
    let mut above = path.parent().into_iter().flat_map(Path::iter);
    name.is_some_and(|name| name.starts_with(PREFIX) || name.contains("session"))
        || above.any(|directory| DIRECTORIES.iter().any(|known| directory == *known))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::path::PathBuf;

    use super::*;
    use crate::fake::FakeProc;

    /// Lets a process have a file open; returns its inode.
    fn open(fake: &FakeProc, pid: u32, file: &PathBuf) -> u64 {
        let descriptors = fake.path().join(format!("{pid}/fd"));
        std::fs::create_dir_all(&descriptors).expect("a directory");
        symlink(file, descriptors.join("7")).expect("a link");
        std::fs::metadata(file).expect("a file").ino()
    }

    #[test]
    fn workers_that_wait_for_a_session_are_counted_at_each_look() {
        let fake = FakeProc::new();
        let session = fake.put("tmp/sess_5f1c", "");
        let other = fake.put("tmp/cache.lock", "");
        let inode = open(&fake, 11, &session);
        open(&fake, 12, &session);
        let cache = open(&fake, 13, &other);
        let waiter = |pid: u32, inode: u64| {
            format!("1: -> FLOCK  ADVISORY  WRITE {pid} fd:01:{inode} 0 EOF\n")
        };
        fake.put("locks", "");
        let mut locks = SessionLocks::open(&fake.sources());
        let mut text = ReadBuffer::default();
        locks.observe(|_| true, &mut text);
        assert_eq!(locks.take(), [0; 0], "nobody waits");
        let table = [waiter(11, inode), waiter(12, inode), waiter(13, cache), waiter(99, inode)];
        fake.put("locks", &table.concat());
        locks.observe(|pid| pid < 50, &mut text);
        fake.put("locks", "");
        locks.observe(|pid| pid < 50, &mut text);
        assert_eq!(locks.take(), [2, 0]);
        assert_eq!(locks.take(), [0; 0], "each look is given once");
    }

    #[test]
    fn without_a_table_nothing_is_known() {
        let fake = FakeProc::new();
        let mut locks = SessionLocks::open(&fake.sources());
        locks.observe(|_| true, &mut ReadBuffer::default());
        assert_eq!(locks.take(), [0; 0]);
    }

    #[test]
    fn files_of_sessions_are_known_wherever_they_are() {
        for path in [
            "/run/x/sessions/sess_5f1c",
            "/run/x/tmp/5/f/sess_5f1c",
            "/run/x/app/data/sess_5f1c",
            "/run/x/app/writable/session/ci_session5f1c",
            "/run/x/app/tmp/ci_session5f1c",
            "/run/x/app/var/sessions/prod/5f1c",
        ] {
            assert!(is_session(Path::new(path)), "{path}");
        }
        for path in ["/run/x/app/cache/page.lock", "/run/x/app/data/counter.txt"] {
            assert!(!is_session(Path::new(path)), "{path}");
        }
    }
}
