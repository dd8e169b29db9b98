//! Finds, creates and limits the groups of a stack in one hierarchy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use stampede_linux::cpu_list;
use stampede_linux::mounts::{Mount, Version};
use stampede_model::cpus::CpuCount;

use super::names::Names;
use super::{Freezer, remove};

/// The v2 controllers that we enable. `cpu` is not one of them. CPU time is counted without it.
/// With it, the roles would get equal shares instead of competing process by process, as they do in
/// v1.
const WANTED_V2: [&str; 2] = ["memory", "cpuset"];
/// The v2 controllers for a stack with a CPU quota. Below the group that has the quota, `cpu` is
/// not enabled, so the roles in it compete as without a quota.
const WANTED_V2_FOR_QUOTA: [&str; 3] = ["memory", "cpuset", "cpu"];

/// The v2 controllers to enable.
pub(super) fn wanted_v2(quota: Option<CpuCount>) -> &'static [&'static str] {
    if quota.is_some() { &WANTED_V2_FOR_QUOTA } else { &WANTED_V2 }
}

/// The kernel's default period of a CPU quota, which Kubernetes uses too.
pub(super) const QUOTA_PERIOD_US: u64 = 100_000;

/// The limits and the roles that the groups shall have.
pub(super) struct GroupSpec {
    pub names: Names,
    /// CPUs of the whole stack; empty: all.
    pub cpus: Vec<usize>,
    /// Memory limit in bytes; 0: no limit.
    pub memory_bytes: u64,
    /// CPUs of each role; empty: those of the stack.
    pub roles: BTreeMap<String, Vec<usize>>,
    /// `None`: CPU time is not limited.
    pub quota: Option<QuotaSpec>,
    pub freezer: Freezer,
    /// Whether an engine creates containers in the groups. It looks for the same groups in every
    /// hierarchy.
    pub for_containers: bool,
}

/// A CPU quota, and the roles that share it.
pub(super) struct QuotaSpec {
    pub cpus: CpuCount,
    pub roles: BTreeSet<String>,
}

/// The group below which the stack's own group is created.
pub(super) struct Parent {
    version: Version,
    pub directory: PathBuf,
    controllers: BTreeSet<String>,
    /// The controllers that this plan enabled.
    added: Vec<String>,
    /// The v2 controllers to enable.
    wanted: &'static [&'static str],
}

impl Parent {
    pub(super) fn v1(mount: &Mount) -> Parent {
        let (directory, controllers) = (mount.own.clone(), mount.controllers.clone());
        Parent { version: Version::V1, directory, controllers, added: Vec::new(), wanted: &[] }
    }

    /// Chooses our own group or one of its ancestors. The group that gives its children most
    /// controllers wins. Among equals, a group wins in which nothing has to be enabled, then the
    /// nearest one. If no group gives any controller, our own group is chosen, which still offers
    /// `cgroup.kill` and counts CPU time.
    pub(super) fn v2(mount: &Mount, wanted: &'static [&'static str]) -> Option<Parent> {
        let count = |have: &BTreeSet<String>| count(have, wanted);
        let mut directories: Vec<&Path> = mount
            .own
            .ancestors()
            .take_while(|directory| directory.starts_with(&mount.top))
            .take_while(|directory| writable(&directory.join("cgroup.procs")))
            .filter(|directory| children_can_hold_processes(directory))
            .collect();
        // The sort is stable, so the nearest group stays first among equals.
        directories.sort_by_key(|directory| {
            let control = words(&directory.join("cgroup.subtree_control"));
            (Reverse(count(&available_controllers(directory))), Reverse(count(&control)))
        });
        let mut best: Option<Parent> = None;
        for directory in directories {
            let most = best.as_ref().map(|best| count(&best.controllers));
            if most.is_some_and(|most| most >= count(&available_controllers(directory))) {
                break;
            }
            let (controllers, added) = enable(directory, wanted);
            if most.is_some_and(|most| most >= count(&controllers)) {
                disable(directory, &added);
                continue;
            }
            if let Some(loser) = best.take() {
                loser.undo();
            }
            let directory = directory.to_owned();
            best = Some(Parent { version: Version::V2, directory, controllers, added, wanted });
        }
        best
    }

    /// Disables the controllers that this plan enabled, unless somebody uses them now.
    pub(super) fn undo(&self) {
        disable(&self.directory, &self.added);
    }

    /// Creates the stack's group and its leaves; `None` if that is not allowed or not useful.
    pub(super) fn create(&self, wanted: &GroupSpec) -> Option<Tree> {
        if !self.is_useful(wanted) {
            return None;
        }
        let directory = self.directory.join(wanted.names.stack());
        let made = match wanted.names.are_slices() {
            // systemd makes its slices in some hierarchies, perhaps right now.
            true => make(&directory),
            false => fs::create_dir(&directory),
        };
        if made.is_err() {
            // The directory is left from an earlier stack with this id. The journal says that it
            // has ended.
            remove(&directory).and_then(|()| fs::create_dir(&directory)).ok()?;
        }
        let mut tree = Tree {
            version: self.version,
            controllers: self.controllers.clone(),
            limited: BTreeSet::new(),
            roles: BTreeMap::new(),
            entered: true,
            directory,
        };
        if !children_can_hold_processes(&tree.directory) || tree.fill(self, wanted).is_err() {
            let _ = remove(&tree.directory);
            return None;
        }
        Some(tree)
    }

    /// Whether a group in this hierarchy would count, limit or end anything.
    fn is_useful(&self, wanted: &GroupSpec) -> bool {
        let has = |controller: &str| self.controllers.contains(controller);
        self.version == Version::V2
            || wanted.for_containers
            || ["cpuset", "memory", "cpuacct"].into_iter().any(has)
            || has("cpu") && wanted.quota.is_some()
            || has("freezer") && wanted.freezer != Freezer::NotNeeded
    }
}

/// The stack's group in one hierarchy, with a leaf for each role.
pub(super) struct Tree {
    pub version: Version,
    pub directory: PathBuf,
    /// The controllers that count and limit in the leaves.
    pub controllers: BTreeSet<String>,
    /// The controllers whose limit was set and read back.
    pub limited: BTreeSet<String>,
    /// The leaf of each role.
    pub roles: BTreeMap<String, PathBuf>,
    /// Whether every process could enter the group.
    pub entered: bool,
}

impl Tree {
    pub(super) fn role(&self, role: &str) -> PathBuf {
        self.roles.get(role).unwrap_or(&self.directory).clone()
    }

    pub(super) fn has(&self, controller: &str) -> bool {
        self.entered && self.controllers.contains(controller)
    }

    pub(super) fn limits(&self, controller: &str) -> bool {
        self.entered && self.limited.contains(controller)
    }

    pub(super) fn can_kill(&self) -> bool {
        self.entered && self.version == Version::V2 && self.directory.join("cgroup.kill").exists()
    }

    pub(super) fn refused(&mut self) {
        self.entered = false;
    }

    /// Sets the limits first and creates the leaves then. A v1 CPU set accepts no process before it
    /// has CPUs and memory nodes.
    fn fill(&mut self, parent: &Parent, wanted: &GroupSpec) -> io::Result<()> {
        if self.version == Version::V2 {
            self.controllers = enable(&self.directory, parent.wanted).0;
        }
        if self.controllers.contains("cpuset")
            && set_cpus(&self.directory, &parent.directory, &wanted.cpus)?
        {
            self.limited.insert("cpuset".to_owned());
        }
        if self.controllers.contains("memory")
            && wanted.memory_bytes > 0
            && self.set_memory(wanted.memory_bytes)
        {
            self.limited.insert("memory".to_owned());
        }
        let is_needed = wanted.for_containers || self.controllers.contains("cpu");
        let quota = wanted.quota.as_ref().filter(|_| is_needed);
        if let Some(quota) = quota {
            self.make_quota_group(&wanted.names, quota, &wanted.cpus)?;
        }
        for (role, cpus) in &wanted.roles {
            let directory = self.directory.join(wanted.names.role(role, quota));
            self.roles.insert(role.clone(), directory.clone());
            // Two roles may have one name.
            make(&directory)?;
            if self.controllers.contains("cpuset") {
                let cpus = if cpus.is_empty() { &wanted.cpus } else { cpus };
                let above = directory.parent().unwrap_or(&self.directory);
                if !set_cpus(&directory, above, cpus)? {
                    self.limited.remove("cpuset");
                }
            }
        }
        Ok(())
    }

    /// Creates the group that has the quota, for the leaves of the roles that share it.
    fn make_quota_group(
        &mut self,
        names: &Names,
        quota: &QuotaSpec,
        cpus: &[usize],
    ) -> io::Result<()> {
        let group = self.directory.join(names.quota());
        make(&group)?;
        if self.version == Version::V2 {
            enable(&group, &WANTED_V2);
        }
        if self.controllers.contains("cpuset") {
            set_cpus(&group, &self.directory, cpus)?;
        }
        if set_quota(&group, self.version, quota.cpus) {
            self.limited.insert("cpu".to_owned());
        }
        Ok(())
    }

    /// Sets the memory limit and forbids swap. With swap, a stack over its budget would become slow
    /// instead of being ended.
    fn set_memory(&self, bytes: u64) -> bool {
        let (limit, swap, swap_bytes) = match self.version {
            Version::V2 => ("memory.max", "memory.swap.max", 0),
            // memsw counts memory and swap together.
            Version::V1 => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes),
        };
        let set = fs::write(self.directory.join(limit), bytes.to_string());
        // The file is missing if the kernel has no swap accounting.
        let _ = fs::write(self.directory.join(swap), swap_bytes.to_string());
        set.is_ok() && is_memory_limit(&self.directory.join(limit), bytes)
    }
}

/// Creates a group, unless it is there: systemd may have made it.
fn make(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Whether a file of a memory limit has this limit.
pub(super) fn is_memory_limit(file: &Path, bytes: u64) -> bool {
    // The kernel rounds to pages.
    let page = 1 << 16;
    read_number(file).is_some_and(|got| got.abs_diff(bytes) < page)
}

/// Microseconds of CPU time in a period of the quota.
pub(super) fn quota_us(cpus: CpuCount) -> u64 {
    u64::from(cpus.thousandths()) * QUOTA_PERIOD_US / 1_000
}

/// Sets a group's CPU quota. Returns whether it is in force.
fn set_quota(group: &Path, version: Version, cpus: CpuCount) -> bool {
    let quota_us = quota_us(cpus);
    let (file, text) = match version {
        Version::V2 => ("cpu.max", format!("{quota_us} {QUOTA_PERIOD_US}")),
        Version::V1 => ("cpu.cfs_quota_us", quota_us.to_string()),
    };
    if version == Version::V1
        && fs::write(group.join("cpu.cfs_period_us"), QUOTA_PERIOD_US.to_string()).is_err()
    {
        return false;
    }
    fs::write(group.join(file), text).is_ok() && is_quota(&group.join(file), cpus)
}

/// Whether a file of a CPU quota has this quota.
pub(super) fn is_quota(file: &Path, cpus: CpuCount) -> bool {
    let got = fs::read_to_string(file).unwrap_or_default();
    got.split_whitespace().next() == Some(quota_us(cpus).to_string().as_str())
}

/// Gives a group its CPUs, or its parent's if `cpus` is empty, and in v1 its parent's memory nodes.
/// Returns whether exactly `cpus` are in force; `false` if `cpus` is empty.
fn set_cpus(directory: &Path, parent: &Path, cpus: &[usize]) -> io::Result<bool> {
    let is_v1 = !directory.join("cgroup.controllers").exists();
    if is_v1 {
        copy_or_default(parent, directory, "cpuset.mems", "cpuset.effective_mems")?;
    }
    let set = if cpus.is_empty() {
        if is_v1 {
            copy_or_default(parent, directory, "cpuset.cpus", "cpuset.effective_cpus")?;
        }
        return Ok(false);
    } else {
        fs::write(directory.join("cpuset.cpus"), cpu_list::format(cpus))
    };
    if set.is_err() {
        // The CPUs are offline or outside our container. A v1 group must have some CPUs even so.
        if is_v1 {
            copy_or_default(parent, directory, "cpuset.cpus", "cpuset.effective_cpus")?;
        }
        return Ok(false);
    }
    let effective = if is_v1 { "cpuset.effective_cpus" } else { "cpuset.cpus.effective" };
    Ok(are_cpus(&directory.join(effective), cpus))
}

/// Whether a file of a CPU set has exactly these CPUs.
pub(super) fn are_cpus(file: &Path, cpus: &[usize]) -> bool {
    let got = fs::read_to_string(file).unwrap_or_default();
    let wanted: BTreeSet<usize> = cpus.iter().copied().collect();
    cpu_list::parse(&got).into_iter().collect::<BTreeSet<_>>() == wanted
}

fn copy_or_default(parent: &Path, directory: &Path, file: &str, effective: &str) -> io::Result<()> {
    let text = fs::read_to_string(parent.join(file))?;
    let text =
        if text.trim().is_empty() { fs::read_to_string(parent.join(effective))? } else { text };
    fs::write(directory.join(file), text.trim())
}

/// Whether the children of a v2 group can hold processes. The children of a threaded group cannot.
fn children_can_hold_processes(directory: &Path) -> bool {
    // The real root group has no `cgroup.type`.
    let kind = fs::read_to_string(directory.join("cgroup.type"));
    kind.map_or(true, |kind| kind.trim() == "domain")
}

/// Whether the topmost visible group holds processes and is not the real root.
pub(crate) fn is_full_root(top: &Path) -> bool {
    top.join("cgroup.type").exists()
        && available_controllers(top).is_empty()
        && writable(&top.join("cgroup.procs"))
}

/// Returns the controllers that a v2 group can enable for its children. A group that holds
/// processes can enable none, unless it is the real root. The kernel would refuse `memory`. It
/// would accept a CPU set alone, but make the group threaded, so that its children could hold no
/// process any more.
fn available_controllers(directory: &Path) -> BTreeSet<String> {
    let holds_some =
        fs::read_to_string(directory.join("cgroup.procs")).map_or(true, |p| !p.is_empty());
    match holds_some && directory.join("cgroup.type").exists() {
        true => BTreeSet::new(),
        false => words(&directory.join("cgroup.controllers")),
    }
}

/// Enables each wanted controller for the children of a v2 group. Returns the enabled ones, and
/// those of them that were not enabled before. Each controller needs its own write: in one common
/// write, one refused controller would refuse all.
fn enable(directory: &Path, wanted: &[&str]) -> (BTreeSet<String>, Vec<String>) {
    let control = directory.join("cgroup.subtree_control");
    let before = words(&control);
    for controller in available_controllers(directory).iter().filter(|one| !before.contains(*one)) {
        if wanted.contains(&controller.as_str()) {
            let _ = fs::write(&control, format!("+{controller}"));
        }
    }
    let mut enabled = words(&control);
    enabled.retain(|one| wanted.contains(&one.as_str()));
    let added = enabled.difference(&before).cloned().collect();
    (enabled, added)
}

/// Disables controllers. The kernel refuses this while a child group has the controller enabled for
/// its own children.
fn disable(directory: &Path, controllers: &[String]) {
    for controller in controllers {
        let _ = fs::write(directory.join("cgroup.subtree_control"), format!("-{controller}"));
    }
}

pub(super) fn words(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn count(have: &BTreeSet<String>, wanted: &[&str]) -> usize {
    wanted.iter().filter(|one| have.contains(**one)).count()
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use stampede_model::isolation::CPU_QUOTA_GROUP;

    use super::*;

    /// Makes a v2 group of plain files, with its enabled controllers already written.
    fn group(directory: &Path, available: &str, enabled: &str) {
        fs::create_dir_all(directory).unwrap();
        fs::write(directory.join("cgroup.controllers"), available).unwrap();
        fs::write(directory.join("cgroup.subtree_control"), enabled).unwrap();
        fs::write(directory.join("cgroup.procs"), "").unwrap();
    }

    /// Makes a group that is not the real root.
    fn inner(directory: &Path, available: &str, enabled: &str, procs: &str) {
        group(directory, available, enabled);
        fs::write(directory.join("cgroup.type"), "domain\n").unwrap();
        fs::write(directory.join("cgroup.procs"), procs).unwrap();
    }

    fn control(directory: &Path) -> String {
        fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap()
    }

    fn chosen(top: &Path, own: &str) -> PathBuf {
        let own = top.join(own);
        let mount = Mount { top: top.to_owned(), own, controllers: BTreeSet::new() };
        Parent::v2(&mount, &WANTED_V2).unwrap().directory.strip_prefix(top).unwrap().to_owned()
    }

    const ALL: &str = "cpuset cpu memory pids";

    #[test]
    fn the_parent_of_a_group_with_processes_is_used_and_the_group_is_not_changed() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), ALL, ALL);
        inner(&top.path().join("slice"), ALL, ALL, "");
        // As in the scope of a login session.
        inner(&top.path().join("slice/scope"), ALL, "", "17\n");
        assert_eq!(chosen(top.path(), "slice/scope"), Path::new("slice"));
        // The kernel would have accepted a CPU set alone, and made the scope threaded.
        assert_eq!(control(&top.path().join("slice/scope")), "");
    }

    #[test]
    fn the_root_is_used_where_a_slice_has_no_cpuset_and_the_slice_is_not_changed() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), ALL, ALL);
        inner(&top.path().join("slice"), "memory pids", "", "");
        assert_eq!(chosen(top.path(), "slice"), Path::new(""));
        assert_eq!(control(&top.path().join("slice")), "");
    }

    /// Otherwise each start would go one slice deeper and change one slice more.
    #[test]
    fn a_group_with_all_controllers_enabled_is_preferred_to_a_nearer_one_without() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), ALL, ALL);
        inner(&top.path().join("slice"), ALL, "memory", "");
        inner(&top.path().join("slice/scope"), "memory", "", "17\n");
        assert_eq!(chosen(top.path(), "slice/scope"), Path::new(""));
        assert_eq!(control(&top.path().join("slice")), "memory");
    }

    #[test]
    fn the_real_root_may_hold_processes() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), ALL, "cpuset memory");
        fs::write(top.path().join("cgroup.procs"), "1\n").unwrap();
        assert_eq!(chosen(top.path(), ""), Path::new(""));
        assert_eq!(count(&available_controllers(top.path()), &WANTED_V2), 2);
    }

    /// As in a container, whose visible root is an ordinary group that holds our process.
    #[test]
    fn the_visible_root_of_a_container_is_used_but_not_changed() {
        let top = tempfile::tempdir().unwrap();
        inner(top.path(), ALL, "", "0\n17\n");
        assert_eq!(chosen(top.path(), ""), Path::new(""));
        assert_eq!(control(top.path()), "");
    }

    /// The quota is that of the roles on the stack's CPUs, and not of a database on other CPUs.
    #[test]
    fn roles_that_share_a_quota_are_in_a_group_of_their_own() {
        let top = tempfile::tempdir().unwrap();
        let (directory, controllers) = (top.path().to_owned(), ["cpu".to_owned()].into());
        let mount = Mount { top: directory.clone(), own: directory, controllers };
        let roles = ["database", "php", "web"].map(|role| (role.to_owned(), Vec::new()));
        let mut wanted = GroupSpec {
            names: Names::Own("stack".to_owned()),
            cpus: Vec::new(),
            memory_bytes: 0,
            roles: roles.into(),
            quota: Some(QuotaSpec {
                cpus: CpuCount::of_thousandths(1_500),
                roles: ["php", "web"].map(str::to_owned).into(),
            }),
            freezer: Freezer::NotNeeded,
            for_containers: false,
        };
        let tree = Parent::v1(&mount).create(&wanted).unwrap();
        assert!(tree.limits("cpu"));
        let group = top.path().join("stack").join(CPU_QUOTA_GROUP);
        let text = |file: &str| fs::read_to_string(group.join(file)).unwrap();
        let quota = (text("cpu.cfs_quota_us"), text("cpu.cfs_period_us"));
        assert_eq!(quota, ("150000".to_owned(), "100000".to_owned()));
        assert_eq!(tree.role("php"), group.join("role-php"));
        assert_eq!(tree.role("database"), top.path().join("stack/role-database"));
        assert!(["php", "web", "database"].iter().all(|role| tree.role(role).is_dir()));
        let names = Names::of_slices("7");
        wanted = GroupSpec { names, for_containers: true, ..wanted };
        // As systemd leaves it, with a process in it.
        let slice = top.path().join("stampede_7.slice");
        fs::create_dir(&slice).unwrap();
        fs::write(slice.join("cgroup.procs"), "17\n").unwrap();
        let tree = Parent::v1(&mount).create(&wanted).expect("the same groups as systemd's");
        assert!(tree.limits("cpu") && slice.join("cgroup.procs").exists());
        let group = slice.join("stampede_7-cpu_quota.slice");
        assert_eq!(tree.role("php"), group.join("stampede_7-cpu_quota-role_php.slice"));
        assert!(tree.role("php").is_dir() && group.join("cpu.cfs_quota_us").exists());
        let names = Names::Own("other".to_owned());
        wanted = GroupSpec { names, quota: None, for_containers: false, ..wanted };
        assert!(Parent::v1(&mount).create(&wanted).is_none(), "it has no other use");
        wanted.for_containers = true;
        let tree = Parent::v1(&mount).create(&wanted).expect("an engine looks for it");
        assert_eq!(tree.role("php"), top.path().join("other/role-php"));
    }

    #[test]
    fn a_v2_group_with_a_quota_needs_the_cpu_controller_down_to_it() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), ALL, "cpuset memory");
        inner(&top.path().join("own"), ALL, ALL, "");
        let own = top.path().join("own");
        let mount = Mount { top: top.path().to_owned(), own, controllers: BTreeSet::new() };
        let wanted = wanted_v2(Some(CpuCount::of_thousandths(500)));
        assert_eq!(Parent::v2(&mount, wanted).unwrap().controllers.len(), 3);
        assert_eq!(Parent::v2(&mount, wanted_v2(None)).unwrap().controllers.len(), 2);
    }

    #[test]
    fn a_threaded_group_is_skipped() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), "", "");
        inner(&top.path().join("own"), "", "", "17\n");
        fs::write(top.path().join("own/cgroup.type"), "domain threaded\n").unwrap();
        assert_eq!(chosen(top.path(), "own"), Path::new(""));
    }

    #[test]
    fn without_controllers_our_own_group_is_used() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), "hugetlb", "");
        inner(&top.path().join("own"), "", "", "17\n");
        assert_eq!(chosen(top.path(), "own"), Path::new("own"));
    }
}
