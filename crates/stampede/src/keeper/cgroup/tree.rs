//! One hierarchy of a stack's groups: found, created, limited.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::mounts::{Mount, Version};
use super::{Freezer, remove};
use crate::keeper::cpus::{format_list, parse_list};

/// Controllers of v2 that we ask for: limits (cpuset, memory) and figures (all).
const WANTED_V2: [&str; 4] = ["cpuset", "cpu", "memory", "pids"];
/// Those whose absence sends us to an ancestor.
const NEEDED_V2: [&str; 2] = ["cpuset", "memory"];

/// What the groups shall hold.
pub(super) struct Wanted {
    /// Of the whole stack; empty: all.
    pub cpus: Vec<usize>,
    /// 0: no limit.
    pub memory_bytes: u64,
    /// CPUs by role; empty: all.
    pub roles: BTreeMap<String, Vec<usize>>,
    pub freezer: Freezer,
}

/// The group below which the stack's own is created.
pub(super) struct Parent {
    version: Version,
    pub folder: PathBuf,
    controllers: BTreeSet<String>,
}

impl Parent {
    pub(super) fn v1(mount: &Mount) -> Parent {
        let (folder, controllers) = (mount.own.clone(), mount.controllers.clone());
        Parent { version: Version::V1, folder, controllers }
    }

    /// Our own group, or the nearest ancestor whose children may have CPU set and memory.
    /// Our own group holds us, and a group that holds processes cannot give controllers to
    /// its children unless it is the real root: hence the walk. Where none can, the one with
    /// most: without any controller it still serves `cgroup.kill`.
    pub(super) fn v2(mount: &Mount) -> Option<Parent> {
        let needed = count(&words(&mount.top.join("cgroup.controllers")), &NEEDED_V2);
        let folders: Vec<&Path> = mount
            .own
            .ancestors()
            .take_while(|folder| folder.starts_with(&mount.top))
            .take_while(|folder| writable(&folder.join("cgroup.procs")))
            .collect();
        // Those first that have all to give: nothing is changed in a group on the way.
        let (full, partial): (Vec<&Path>, Vec<&Path>) = folders.into_iter().partition(|folder| {
            count(&words(&folder.join("cgroup.controllers")), &NEEDED_V2) == needed
        });
        let mut best: Option<Parent> = None;
        for folder in full.into_iter().chain(partial) {
            let controllers = enable(folder, &WANTED_V2);
            let score = count(&controllers, &NEEDED_V2);
            if best.as_ref().is_none_or(|best| score > count(&best.controllers, &NEEDED_V2)) {
                let folder = folder.to_owned();
                best = Some(Parent { version: Version::V2, folder, controllers });
            }
            if score == needed {
                break;
            }
        }
        best
    }

    /// Creates the stack's group and its leaves; `None` where that is not allowed or of no use.
    pub(super) fn create(&self, name: &str, wanted: &Wanted) -> Option<Tree> {
        let only_freezer = self.version == Version::V1
            && !["cpuset", "memory", "cpuacct"].iter().any(|c| self.controllers.contains(*c));
        if only_freezer && wanted.freezer == Freezer::NotNeeded {
            return None;
        }
        let folder = self.folder.join(name);
        if fs::create_dir(&folder).is_err() {
            // Of an earlier stack with this id, which the journal says is over.
            remove(&folder).and_then(|()| fs::create_dir(&folder)).ok()?;
        }
        let mut tree = Tree {
            version: self.version,
            controllers: self.controllers.clone(),
            limited: BTreeSet::new(),
            entered: true,
            folder,
        };
        if tree.fill(&self.folder, wanted).is_err() {
            let _ = remove(&tree.folder);
            return None;
        }
        Some(tree)
    }
}

/// The stack's group in one hierarchy, with a leaf for each role.
pub(super) struct Tree {
    pub version: Version,
    pub folder: PathBuf,
    /// That count and limit in the leaves.
    pub controllers: BTreeSet<String>,
    /// Whose limit was set, and read back.
    limited: BTreeSet<String>,
    /// Whether every process entered it.
    pub entered: bool,
}

impl Tree {
    pub(super) fn role(&self, role: &str) -> PathBuf {
        self.folder.join(leaf(role))
    }

    pub(super) fn has(&self, controller: &str) -> bool {
        self.entered && self.controllers.contains(controller)
    }

    pub(super) fn limits(&self, controller: &str) -> bool {
        self.entered && self.limited.contains(controller)
    }

    pub(super) fn can_kill(&self) -> bool {
        self.entered && self.version == Version::V2 && self.folder.join("cgroup.kill").exists()
    }

    pub(super) fn refused(&mut self) {
        self.entered = false;
    }

    /// Limits, then leaves: a v1 CPU set takes no process before it has CPUs and memory nodes.
    fn fill(&mut self, parent: &Path, wanted: &Wanted) -> io::Result<()> {
        if self.version == Version::V2 {
            self.controllers = enable(&self.folder, &WANTED_V2);
        }
        if self.controllers.contains("cpuset") && set_cpus(&self.folder, parent, &wanted.cpus)? {
            self.limited.insert("cpuset".to_owned());
        }
        if self.controllers.contains("memory")
            && wanted.memory_bytes > 0
            && self.set_memory(wanted.memory_bytes)
        {
            self.limited.insert("memory".to_owned());
        }
        for (role, cpus) in &wanted.roles {
            let folder = self.role(role);
            match fs::create_dir(&folder) {
                // Two roles may be spelled alike after `leaf`.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            if self.controllers.contains("cpuset") {
                let cpus = if cpus.is_empty() { &wanted.cpus } else { cpus };
                if !set_cpus(&folder, &self.folder, cpus)? {
                    self.limited.remove("cpuset");
                }
            }
        }
        Ok(())
    }

    /// Swap is no memory: with it, a stack over its budget would be slow instead of ended.
    fn set_memory(&self, bytes: u64) -> bool {
        let (limit, swap, swap_bytes) = match self.version {
            Version::V2 => ("memory.max", "memory.swap.max", 0),
            // memsw counts both together.
            Version::V1 => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes),
        };
        let set = fs::write(self.folder.join(limit), bytes.to_string());
        // Absent without swap accounting.
        let _ = fs::write(self.folder.join(swap), swap_bytes.to_string());
        // The kernel rounds to pages.
        let page = 1 << 16;
        set.is_ok()
            && read_number(&self.folder.join(limit)).is_some_and(|got| got.abs_diff(bytes) < page)
    }
}

/// Gives a group its CPUs (empty: its parent's), and in v1 its parent's memory nodes.
/// Returns whether exactly `cpus` are in force; `false` for empty.
fn set_cpus(folder: &Path, parent: &Path, cpus: &[usize]) -> io::Result<bool> {
    let is_v1 = !folder.join("cgroup.controllers").exists();
    if is_v1 {
        copy_or(parent, folder, "cpuset.mems", "cpuset.effective_mems")?;
    }
    let set = if cpus.is_empty() {
        if is_v1 {
            copy_or(parent, folder, "cpuset.cpus", "cpuset.effective_cpus")?;
        }
        return Ok(false);
    } else {
        fs::write(folder.join("cpuset.cpus"), format_list(cpus))
    };
    if set.is_err() {
        // Not ours to give (offline, or outside our container): v1 must still hold some.
        if is_v1 {
            copy_or(parent, folder, "cpuset.cpus", "cpuset.effective_cpus")?;
        }
        return Ok(false);
    }
    let effective = if is_v1 { "cpuset.effective_cpus" } else { "cpuset.cpus.effective" };
    let got = fs::read_to_string(folder.join(effective)).unwrap_or_default();
    let wanted: BTreeSet<usize> = cpus.iter().copied().collect();
    Ok(parse_list(&got).into_iter().collect::<BTreeSet<_>>() == wanted)
}

fn copy_or(parent: &Path, folder: &Path, file: &str, effective: &str) -> io::Result<()> {
    let text = fs::read_to_string(parent.join(file))?;
    let text =
        if text.trim().is_empty() { fs::read_to_string(parent.join(effective))? } else { text };
    fs::write(folder.join(file), text.trim())
}

/// Enables each controller for the children of a v2 group; returns those that are enabled.
/// One write each: a single one that is refused would refuse them all.
fn enable(folder: &Path, wanted: &[&str]) -> BTreeSet<String> {
    let control = folder.join("cgroup.subtree_control");
    let available = words(&folder.join("cgroup.controllers"));
    let enabled = words(&control);
    for controller in wanted {
        if available.contains(*controller) && !enabled.contains(*controller) {
            let _ = fs::write(&control, format!("+{controller}"));
        }
    }
    let enabled = words(&control);
    wanted.iter().filter(|one| enabled.contains(**one)).map(|one| (*one).to_owned()).collect()
}

fn words(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn count(have: &BTreeSet<String>, of: &[&str]) -> usize {
    of.iter().filter(|one| have.contains(**one)).count()
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// A role as a folder's name; never the name of a control file, for it has no dot.
fn leaf(role: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("role-{}", role.chars().map(safe).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A v2 tree of plain files: what is enabled is written down beforehand.
    fn group(folder: &Path, available: &str, enabled: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("cgroup.controllers"), available).unwrap();
        fs::write(folder.join("cgroup.subtree_control"), enabled).unwrap();
        fs::write(folder.join("cgroup.procs"), "").unwrap();
    }

    fn chosen(top: &Path, own: &str) -> PathBuf {
        let own = top.join(own);
        let mount = Mount { top: top.to_owned(), own, controllers: BTreeSet::new() };
        Parent::v2(&mount).unwrap().folder.strip_prefix(top).unwrap().to_owned()
    }

    #[test]
    fn a_group_that_gives_its_children_nothing_sends_us_to_its_parent() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), "cpuset cpu memory pids", "cpuset cpu memory pids");
        group(&top.path().join("slice"), "cpuset cpu memory pids", "cpuset cpu memory pids");
        // As with the scope of a login: it holds processes, so it enables nothing.
        group(&top.path().join("slice/scope"), "cpuset cpu memory pids", "");
        fs::set_permissions(
            top.path().join("slice/scope/cgroup.subtree_control"),
            std::os::unix::fs::PermissionsExt::from_mode(0o444),
        )
        .unwrap();
        let found = chosen(top.path(), "slice/scope");
        // Root writes read-only plain files all the same: what it wrote is no controller.
        assert_eq!(found, Path::new("slice"));
    }

    #[test]
    fn a_slice_without_cpuset_sends_us_to_the_top_and_is_not_changed() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), "cpuset cpu memory pids", "cpuset cpu memory pids");
        group(&top.path().join("slice"), "memory pids", "");
        assert_eq!(chosen(top.path(), "slice"), Path::new(""));
        let control = top.path().join("slice/cgroup.subtree_control");
        assert_eq!(fs::read_to_string(control).unwrap(), "");
    }

    #[test]
    fn a_tree_without_controllers_keeps_us_in_our_own_group() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), "hugetlb", "");
        group(&top.path().join("own"), "", "");
        assert_eq!(chosen(top.path(), "own"), Path::new("own"));
    }
}
