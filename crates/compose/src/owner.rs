//! Stacks whose stampede ended without a word and whose journal is gone with it: it ran in a container that was
//! removed, or the machine was started anew. What their engine still has is removed at the next start.
//!
//! For each stack an empty volume says who owns it. The removal of the stack removes this volume, too.

use std::fs;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use serde_json::Value;
use stampede_linux::proc::Proc;
use stampede_linux::process::boot_id;
use stampede_linux::run::TimedCommand;

use crate::edit::LABEL;
use crate::engine::Engine;
use crate::removal::Leftovers;

/// The label of the volume that says who owns a stack.
const OWNER: &str = "org.stampede.owner";
/// Where groups are.
const GROUPS: &str = "/sys/fs/cgroup";
/// A stack's group is at most so deep below a hierarchy: `/system.slice/docker-….scope/…`.
const DEPTH_MAX: usize = 6;

/// Notes at the engine that the stack `id` is this process's. Before its first stack, what others left that are no
/// more is removed.
pub fn own(engine: &Engine, id: &str) {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| sweep(engine));
    let own = Owner::of_this_process(engine);
    let labels = [format!("{LABEL}={id}"), format!("{OWNER}={}", own.text())];
    let words = ["volume", "create", "--label", &labels[0], "--label", &labels[1], &name(id)];
    // Without it a stack is measured as well, and its keeper removes it.
    let _ = engine.command(&words).run();
}

fn name(id: &str) -> String {
    format!("{}-owner", project_of(id))
}

/// The name under which an engine groups the containers of the stack `id`.
pub fn project_of(id: &str) -> String {
    format!("stampede-{}", id.to_lowercase())
}

/// Who owns a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    /// The start of the machine. A container of systemd has one of its own.
    boot: String,
    /// When the machine was started, in seconds since 1970.
    since: u64,
    /// The container that stampede runs in, of the same engine.
    container: Option<String>,
}

impl Owner {
    fn of_this_process(engine: &Engine) -> Owner {
        // Another engine's container, such as one that this engine is in itself, is not known to it.
        let is_known = |id: &String| {
            engine.command(&["container", "inspect", "--format", "{{.Id}}", id]).run().is_ok()
        };
        let proc = Proc::default();
        let container = container_in(&proc.text("self/mountinfo")).filter(is_known);
        let stat = proc.text("stat");
        let since = stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
        Owner { boot: boot_id(), since: since.unwrap_or(0), container }
    }

    fn text(&self) -> String {
        let container = self.container.iter().map(|id| format!("/{id}")).collect::<String>();
        format!("{}/{}{container}", self.boot, self.since)
    }

    fn of(text: &str) -> Option<Owner> {
        let mut parts = text.split('/');
        let (boot, since) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
        Some(Owner { boot, since, container: parts.next().map(str::to_owned) })
    }

    /// Whether it is no more. One on this machine itself has a journal. `now`: one of now; `runs`: whether a
    /// container runs, if the engine says so.
    fn is_gone(&self, now: &Owner, runs: impl Fn(&str) -> Option<bool>) -> bool {
        // A clock that is set moves the start, too.
        let is_earlier = self.boot != now.boot && self.since.abs_diff(now.since) > STARTS_APART;
        let is_known = !self.boot.is_empty() && !now.boot.is_empty();
        is_known && is_earlier || self.container.as_deref().and_then(runs) == Some(false)
    }
}

/// Two starts of a machine are at least so many seconds apart.
const STARTS_APART: u64 = 20;

/// The container whose files are mounted here: `/var/lib/docker/containers/ID/hostname`,
/// `…/overlay-containers/ID/userdata/hostname`.
fn container_in(mountinfo: &str) -> Option<String> {
    let is_id = |part: &str| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let of_line = |line: &str| {
        // Root of the mount, then where it is.
        let mut fields = line.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let (_, rest) = root.rsplit_once("containers/")?;
        let id = rest.split('/').next().filter(|part| is_id(part))?;
        ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"].contains(&place).then(|| id.to_owned())
    };
    mountinfo.lines().find_map(of_line)
}

/// Removes what stacks left whose owner is no more.
fn sweep(engine: &Engine) {
    let label = format!("label={OWNER}");
    let Ok(names) = engine.run(&["volume", "ls", "-q", "--filter", &label]) else { return };
    let names = names.split_whitespace();
    let now = Owner { container: None, ..Owner::of_this_process(engine) };
    for name in names {
        // One that has gone meanwhile is somebody else's, who is at work.
        let Ok(volume) = engine.run(&["volume", "inspect", name]) else { continue };
        let volume: Value = serde_json::from_str(&volume).unwrap_or_default();
        let label = |key: &str| volume[0]["Labels"][key].as_str().unwrap_or_default().to_owned();
        let stack = label(LABEL);
        let owner = Owner::of(&label(OWNER));
        if is_id(&stack) && owner.is_some_and(|one| one.is_gone(&now, |id| runs(engine, id))) {
            remove(engine, &stack);
        }
    }
}

/// Whether a container runs; `None`: the engine does not say so.
fn runs(engine: &Engine, id: &str) -> Option<bool> {
    match engine.command(&["container", "inspect", "--format", "{{.State.Status}}", id]).run() {
        Ok(output) => {
            let status = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Some(status != "exited" && status != "dead")
        }
        Err(error) => error.last_line().to_lowercase().contains("no such").then_some(false),
    }
}

/// Whether this is the id of a stack, which is part of paths.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn remove(engine: &Engine, stack: &str) {
    let leftovers = Leftovers {
        client: engine.client,
        project: &project_of(stack),
        stack,
        writes_data: false,
        copies: None,
        images: &[],
    };
    let removal = leftovers.removal();
    let within = Duration::from(removal.within);
    // What cannot be removed now is found again.
    let command = TimedCommand::new(&removal.program, within).args(&removal.args).interruptible();
    let _ = command.run();
    remove_groups(Path::new(GROUPS), &format!("stampede-{stack}"), DEPTH_MAX);
}

/// Removes the groups of this name and those in them. One in which something runs stays.
fn remove_groups(place: &Path, name: &str, depth: usize) {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        match entry.file_name() == name {
            true => remove_group(&entry.path()),
            false if depth > 0 => remove_groups(&entry.path(), name, depth - 1),
            false => {}
        }
    }
}

fn remove_group(group: &Path) {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_group(&entry.path());
    }
    let _ = fs::remove_dir(group);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn the_own_container_is_seen_by_the_files_that_its_engine_mounts() {
        let line = |root: &str, place: &str| {
            container_in(&format!(
                "1 2 8:1 / / rw - ext4 /dev/a rw\n3 1 8:1 {root} {place} rw - ext4 /dev/a rw\n"
            ))
        };
        let found = Some(ID.to_owned());
        assert_eq!(line(&format!("/docker/containers/{ID}/hostname"), "/etc/hostname"), found);
        for place in [
            "/var/lib/containers/storage",
            "/containers/storage",
            "/.local/share/containers/storage",
        ] {
            let podman = format!("{place}/overlay-containers/{ID}/userdata/hosts");
            assert_eq!(line(&podman, "/etc/hosts"), found, "{place}");
        }
        // The engine's own directory, which a user mounts.
        assert_eq!(line(&format!("/docker/containers/{ID}/hostname"), "/mnt/a"), None);
        assert_eq!(line("/docker/containers/abc/hostname", "/etc/hostname"), None);
    }

    #[test]
    fn an_owner_is_gone_with_its_machines_start_or_with_its_container() {
        let runs = |id: &str| match id {
            "runs" => Some(true),
            "ended" => Some(false),
            _ => None,
        };
        let owner = |text: &str| Owner::of(text).expect("an owner");
        let now = owner("now/5000");
        for (text, is_gone) in [
            ("now/5000", false),
            ("before/1000", true),
            // A container of systemd on the same machine.
            ("other/5001", false),
            ("now/5000/runs", false),
            ("now/5000/ended", true),
            ("now/5000/unknown", false),
            ("before/1000/runs", true),
            ("/1000", false),
        ] {
            assert_eq!(owner(text).is_gone(&now, runs), is_gone, "{text}");
            assert_eq!(owner(text).text(), text);
        }
        assert!(!owner("before/1000").is_gone(&owner("/5000"), runs));
        assert_eq!((Owner::of(""), Owner::of("now")), (None, None));
    }

    #[test]
    fn groups_of_one_stack_are_removed_with_those_in_them() {
        let place = tempfile::tempdir().expect("a directory");
        for group in ["cpu/stampede-7-ab/php", "cpu/stampede-7-abc", "a/b/stampede-7-ab"] {
            fs::create_dir_all(place.path().join(group)).expect("a directory");
        }
        remove_groups(place.path(), "stampede-7-ab", 2);
        let is_there = |group: &str| place.path().join(group).exists();
        assert!(!is_there("cpu/stampede-7-ab") && !is_there("a/b/stampede-7-ab"));
        assert!(is_there("cpu/stampede-7-abc"));
        assert!(is_id("7-ab") && !is_id("../a") && !is_id(""));
    }
}
