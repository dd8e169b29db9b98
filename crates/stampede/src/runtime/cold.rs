//! A cold start: the app's caches are emptied, and a runtime counts as started without being asked.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Component, Path};
use std::time::{Duration, Instant};

use super::copy::io_error;
use super::error::RuntimeError;
use super::port;
use super::prepare::{Prepared, PreparedStack};
use super::start::Running;

/// Between two looks at what has been spent.
const LOOK: Duration = Duration::from_millis(50);
/// Looks in a row that see next to nothing spent: what boots spends all the time.
const QUIET_LOOKS: usize = 6;
/// What timers and a database's own threads spend meanwhile, in clock ticks.
const QUIET_TICKS: u64 = 1;
/// A stack that never rests counts as started so long after it listens.
const RESTS_WITHIN: Duration = Duration::from_secs(10);

impl Prepared {
    /// Empties the directories of the app's caches, as they are before anything was cached. OPcache
    /// is empty at every start: it has no file.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn with_caches_empty(mut self) -> Result<Prepared, RuntimeError> {
        self.stack.empty_caches()?;
        Ok(self)
    }
}

impl PreparedStack {
    fn empty_caches(&mut self) -> Result<(), RuntimeError> {
        let app = self.spec.work.join("app");
        for cache in &self.app.manifest.caches {
            if is_directory_below(&app, cache) {
                empty(&app.join(cache))?;
                self.emptied.push(cache.clone());
            }
        }
        Ok(())
    }
}

/// A link could lead out of the copy, and what is there is not ours to empty.
fn is_directory_below(app: &Path, cache: &str) -> bool {
    let mut path = app.to_path_buf();
    Path::new(cache).components().all(|part| {
        path.push(part);
        let is_plain = matches!(part, Component::Normal(_));
        is_plain && fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir())
    })
}

fn empty(directory: &Path) -> Result<(), RuntimeError> {
    for entry in fs::read_dir(directory).map_err(io_error("read", directory))? {
        let path = entry.map_err(io_error("read", directory))?.path();
        let is_directory = path.is_dir() && !path.is_symlink();
        let removed = if is_directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("remove", &path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Starts a prepared stack and waits until it listens and rests. No request reaches it.
///
/// # Errors
/// As `start`.
pub fn start_unasked(prepared: Prepared) -> Result<Running, RuntimeError> {
    let (running, begun) = Running::begin(prepared)?;
    running.wait_until_it_rests(begun).map_err(|error| running.explained(error))?;
    running.settle()
}

impl Running {
    /// A listener says nothing of what is behind it: a front listens before PHP does, and workers
    /// may boot on. Whoever boots spends CPU time.
    fn wait_until_it_rests(&self, begun: Instant) -> Result<(), RuntimeError> {
        let mut looks = VecDeque::new();
        let mut listens_since: Option<Instant> = None;
        loop {
            self.check_asked()?;
            self.check_exits()?;
            if listens_since.is_none() && port::is_listening(self.stack.port) {
                listens_since = Some(Instant::now());
            }
            // On a machine that is busy with other things it may wait for a CPU and spend nothing.
            if self.processes().into_iter().any(|(_, pid)| port::is_busy(pid)) {
                looks.clear();
            }
            looks.push_back(self.ticks());
            let spent =
                looks.back().zip(looks.front()).map_or(0, |(now, then)| now.abs_diff(*then));
            let rests = looks.len() > QUIET_LOOKS && spent <= QUIET_TICKS;
            match listens_since {
                Some(since) if rests || since.elapsed() > RESTS_WITHIN => return Ok(()),
                None if begun.elapsed() > self.stack.ready_within => {
                    return Err(self.not_ready("nothing listens there"));
                }
                _ => {}
            }
            if looks.len() > QUIET_LOOKS {
                looks.pop_front();
            }
            std::thread::sleep(LOOK);
        }
    }

    /// CPU time of its living processes, in clock ticks.
    fn ticks(&self) -> u64 {
        self.processes().into_iter().map(|(_, pid)| port::ticks(pid)).sum()
    }

    /// Directories of its copy of the app that were emptied before it started.
    pub fn emptied(&self) -> &[String] {
        &self.stack.emptied
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_a_link_leads_to_is_not_emptied() {
        let place = tempfile::tempdir().unwrap();
        let app = place.path().join("app");
        fs::create_dir_all(app.join("var/cache/prod/deep")).unwrap();
        fs::create_dir(place.path().join("shared")).unwrap();
        fs::write(place.path().join("shared/kept"), "").unwrap();
        symlink(place.path().join("shared"), app.join("var/shared")).unwrap();
        symlink(place.path().join("shared"), app.join("var/cache/link")).unwrap();
        let may = ["var/cache", "var/shared", "var/none", "../elsewhere", "/"];
        assert_eq!(
            may.map(|cache| is_directory_below(&app, cache)),
            [true, false, false, false, false]
        );
        empty(&app.join("var/cache")).unwrap();
        assert_eq!(fs::read_dir(app.join("var/cache")).unwrap().count(), 0);
        assert!(place.path().join("shared/kept").is_file());
    }
}
