//! Starts a runtime cold: with the app's caches empty, and without sending it a request. CPU time
//! shows when the start is complete.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Component, Path};
use std::time::{Duration, Instant};

use stampede_linux::process;

use super::port;
use super::stack::ProcessStack;
use crate::copy::io_error;
use crate::error::RuntimeError;
use crate::provider::Stack as _;

/// The pause between two readings of CPU time.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// The same where no time counts: a request that comes a little too early waits for its worker.
const LOOK_BRIEFLY: Duration = Duration::from_millis(20);
/// The number of readings in a row with almost no CPU time spent between them. A booting process
/// spends CPU time all the time.
const QUIET_LOOKS: usize = 6;
/// The CPU time that timers and a database's own threads may spend meanwhile, in clock ticks.
const QUIET_TICKS: u64 = 1;
/// How long after it listens a stack that never rests counts as started.
const RESTS_WITHIN: Duration = Duration::from_secs(10);

/// Empties the directories of the app's caches in the copy `app`. Returns those that were there.
/// OPcache is empty at every start, since it has no file cache.
///
/// # Errors
/// A file cannot be removed.
pub(crate) fn empty_caches(app: &Path, caches: &[String]) -> Result<Vec<String>, RuntimeError> {
    let there = caches.iter().filter(|cache| is_directory_below(app, cache));
    there.map(|cache| empty(&app.join(cache)).map(|()| cache.clone())).collect()
}

/// Whether `cache` is a real directory in the copy. A link could lead out of the copy, to files
/// that must not be deleted.
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

impl ProcessStack {
    /// Waits until the stack listens and spends no more CPU time.
    pub(super) fn wait_until_idle(&self, begun: Instant) -> Result<(), RuntimeError> {
        let left = self.stack.ready_within.saturating_sub(begun.elapsed());
        let check = || self.check_interrupt().and_then(|()| self.check_exits());
        let listens = || port::is_listening(self.stack.listens_on.port());
        let look = if self.stack.is_watched { LOOK_BRIEFLY } else { LOOK };
        match wait_until_rest((left, look), check, listens, || self.processes())? {
            Rest::Reached => Ok(()),
            Rest::NotListening => Err(self.not_ready("nothing listens there")),
        }
    }
}

/// How a wait for rest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The processes rest, or never do.
    Reached,
    /// Nothing listened in time.
    NotListening,
}

/// Waits until processes listen and spend no more CPU time. Listening is not enough: a front
/// listens before PHP does, and workers may still boot, which takes CPU time. `look` is the pause
/// between two readings.
///
/// # Errors
/// The error of `check`.
pub(crate) fn wait_until_rest(
    (within, look): (Duration, Duration),
    check: impl Fn() -> Result<(), RuntimeError>,
    listens: impl Fn() -> bool,
    processes: impl Fn() -> Vec<(String, u32)>,
) -> Result<Rest, RuntimeError> {
    let begun = Instant::now();
    let mut looks = VecDeque::new();
    let mut listens_since: Option<Instant> = None;
    loop {
        check()?;
        if listens_since.is_none() && listens() {
            listens_since = Some(Instant::now());
        }
        // On a busy machine a booting process may wait for a CPU and spend no time. Such a
        // process is runnable, so the stack does not rest.
        let is_busy = |pid| process::stat(pid).is_some_and(|stat| stat.is_busy());
        let all = processes();
        if all.iter().any(|(_, pid)| is_busy(*pid)) {
            looks.clear();
        }
        looks.push_back(ticks(&all));
        let spent = looks.back().zip(looks.front()).map_or(0, |(now, then)| now.abs_diff(*then));
        let rests = looks.len() > QUIET_LOOKS && spent <= QUIET_TICKS;
        match listens_since {
            Some(since) if rests || since.elapsed() > RESTS_WITHIN => return Ok(Rest::Reached),
            None if begun.elapsed() > within => return Ok(Rest::NotListening),
            _ => {}
        }
        if looks.len() > QUIET_LOOKS {
            looks.pop_front();
        }
        std::thread::sleep(look);
    }
}

/// The CPU time of living processes, in clock ticks.
fn ticks(processes: &[(String, u32)]) -> u64 {
    let ticks = |pid| process::stat(pid).map_or(0, |stat| stat.own_ticks);
    processes.iter().map(|(_, pid)| ticks(*pid)).sum()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_target_of_a_link_is_not_emptied() {
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
