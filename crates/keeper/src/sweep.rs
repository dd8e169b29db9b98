//! Ends and removes the stacks that an earlier stampede left behind.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::cgroup;
use super::error::KeeperError;
use super::journal::{Entry, Journal};
use super::kill::{self, DescendantScope, KillTarget};
use super::work::WorkRecord;
use stampede_linux::process::Held;
use stampede_linux::run::TimedCommand;

/// An init without namespaces ends its processes itself when its keeper is gone. This is the time
/// that it gets before init is killed.
const INIT_GRACE: Duration = Duration::from_secs(3);

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Ids of stacks that nobody guarded. They were ended and removed.
    pub stacks: Vec<String>,
    /// What could not be removed, in words.
    pub left: Vec<String>,
}

/// Ends and removes every stack of this user whose stampede and keeper are gone. `Keeper::guard`
/// does the same.
///
/// # Errors
/// The journal's directory does not belong to this user alone, or cannot be read.
pub fn sweep() -> Result<SweepReport, KeeperError> {
    sweep_in(&Journal::default_path())
}

/// Does the same as `sweep`, with another journal (`KeeperOptions::journal`).
///
/// # Errors
/// As `sweep`.
pub fn sweep_in(path: &Path) -> Result<SweepReport, KeeperError> {
    let journal = Journal::open(path)?;
    let mut swept = SweepReport::default();
    for entry in journal.entries()? {
        if !entry.is_guarded() {
            swept.left.extend(clean(&journal, &entry));
            swept.stacks.push(entry.id);
        }
    }
    journal.remove_orphaned_drafts();
    journal.retire();
    Ok(swept)
}

/// Ends and removes everything of one stack that has no keeper. Returns what remains. The entry is
/// removed only if nothing remains, so that the next start tries again.
pub(super) fn clean(journal: &Journal, entry: &Entry) -> Vec<String> {
    // Containers, networks and volumes outlive the machine's restart. Services that keep their data
    // are stopped in order, so they come before the kills.
    let mut left: Vec<String> = remove_containers(entry).into_iter().collect();
    if entry.same_boot() {
        end_init(entry);
        let by_name = |part: &str| {
            entry.cgroups.iter().map(|path| path.as_path()).find(|path| path.join(part).exists())
        };
        let target = KillTarget {
            id: &entry.id,
            v2: by_name("cgroup.kill"),
            freezer: by_name("freezer.state"),
            known: &entry.roots,
            own: DescendantScope::OnlyKnown,
        };
        left.extend(kill::kill_all(&target).into_iter().map(|pid| format!("process {pid}")));
        left.extend(remove_groups(&entry.cgroups));
    }
    left.extend(entry.work.as_ref().and_then(WorkRecord::remove));
    if left.is_empty() {
        journal.remove(&entry.id);
    }
    left
}

/// Ends init. A namespaced init takes all processes with it. A plain init is already ending them,
/// so it gets some time first.
fn end_init(entry: &Entry) {
    let Some(init) = entry.init else { return };
    let grace = if entry.namespaced { Duration::ZERO } else { INIT_GRACE };
    let soft = Instant::now() + grace;
    let hard = soft + kill::PATIENCE;
    // Held before it is looked at: so the signal reaches the process that was looked at.
    let held = Held::of(init.pid);
    while init.alive() && Instant::now() < hard {
        if Instant::now() >= soft {
            held.iter().for_each(Held::kill);
        }
        thread::sleep(Duration::from_millis(2));
    }
    kill::reap_one(init.pid);
}

/// Removes the stack's directory in every hierarchy; returns those that remain.
pub(super) fn remove_groups(directories: &[impl AsRef<Path>]) -> Vec<String> {
    let stayed = |directory: &Path| match cgroup::remove(directory) {
        Ok(()) => None,
        Err(error) => Some(format!("cgroup `{}` ({error})", directory.display())),
    };
    directories.iter().filter_map(|directory| stayed(directory.as_ref())).collect()
}

/// Removes the stack's containers with all that the engine made for them. A client of the engine
/// may still be creating some, so it is ended first. Returns what remains.
pub(super) fn remove_containers(entry: &Entry) -> Option<String> {
    let removal = entry.removal.as_ref()?;
    let clients = KillTarget {
        id: &entry.id,
        v2: None,
        freezer: None,
        known: &[],
        own: DescendantScope::OnlyKnown,
    };
    kill::kill_all(&clients);
    let command = TimedCommand::new(&removal.program, removal.within.into())
        .args(&removal.args)
        .env_clear()
        .envs(&removal.env);
    let error = command.run().err()?;
    Some(format!("containers of stack {} ({error}: {})", entry.id, error.last_line()))
}
