//! The cgroups of a stack: one directory per hierarchy, with a leaf for each role.
//!
//! ```text
//! v2   <ours or an ancestor>/stampede-<id>/{web,php}     limits on stampede-<id>
//! v1   <hierarchy>/<our own group>/stampede-<id>/{web,php}
//! ```
//! For containers the groups are at the top of each hierarchy. An engine that lets systemd place its containers
//! needs slices: there the groups have names of slices, and systemd knows them.
//!
//! With a CPU quota, the roles that share it are in a group of their own in between, so that a
//! database on other CPUs is not stopped with them.
//!
//! Only the leaves hold processes. A v2 group with controllers may hold groups or processes, not
//! both (cgroup-v2.rst, "No Internal Process Constraint").

mod names;
mod slices;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io, thread, time::Duration};

use stampede_linux::mounts::{Mounts, Version};
use stampede_model::isolation::IsolationRecord;

use super::kill::PATIENCE;
use super::spec::{GroupMaker, ProcessSetSpec};
use super::stack::CgroupUse;
use super::wire::RoleDirectories;
use names::{Names, PREFIX};
use slices::Slices;
use tree::Tree;

pub(super) use slices::are_possible as are_slices_possible;
pub(super) use tree::is_full_root;

/// The places of a stack's groups. Nothing is created yet.
pub(super) struct Plan {
    names: Names,
    parents: Vec<tree::Parent>,
    /// What systemd starts before groups below `parents` are made, or in place of them.
    slices: Option<Slices>,
    /// The tops of all hierarchies, in which an engine of containers creates the same groups.
    others: Vec<PathBuf>,
}

impl Plan {
    /// Finds the hierarchies, and the parent group for ours in each. On v2 this may enable
    /// controllers for the children of an ancestor. They stay enabled after the stack has ended.
    /// Somebody else may have set a limit there by then, which disabling a controller would remove.
    pub(super) fn new(spec: &ProcessSetSpec, allowed: CgroupUse) -> Plan {
        let at_top = spec.containers.is_some();
        let mounts = match allowed {
            CgroupUse::Forbidden => Mounts::default(),
            CgroupUse::Allowed | CgroupUse::OnlyV1 if at_top => Mounts::read_for_containers(),
            CgroupUse::Allowed | CgroupUse::OnlyV1 if spec.cpu_quota.is_some() => {
                Mounts::read_with_cpu()
            }
            CgroupUse::Allowed | CgroupUse::OnlyV1 => Mounts::read(),
        };
        let mut mounts = if at_top { mounts.at_top() } else { mounts };
        if allowed == CgroupUse::OnlyV1 {
            mounts.v2 = None;
        }
        let others = if at_top { Mounts::tops() } else { Vec::new() };
        if spec.containers.as_ref().is_some_and(|one| one.groups == GroupMaker::Systemd) {
            return Plan::of_slices(&spec.id, &mounts, others);
        }
        let wanted = tree::wanted_v2(spec.cpu_quota);
        let v2 = mounts.v2.as_ref().and_then(|mount| tree::Parent::v2(mount, wanted));
        // Each controller is in one hierarchy only, so a controller of v2 is in no v1 mount.
        let v1 = mounts.v1.iter().map(tree::Parent::v1);
        let parents = v2.into_iter().chain(v1).collect();
        Plan { names: Names::own(&spec.id), parents, slices: None, others }
    }

    /// Leaves it to systemd to make the groups. In v1 it makes some of them.
    fn of_slices(id: &str, mounts: &Mounts, others: Vec<PathBuf>) -> Plan {
        let names = Names::of_slices(id);
        // Somebody may have mounted a hierarchy of v1 beside v2, such as the freezer's.
        let limits =
            |controller: &str| mounts.v1.iter().any(|one| one.controllers.contains(controller));
        let version = match (limits("cpu") || limits("memory"), &mounts.v2) {
            (true, _) => Some(Version::V1),
            (false, Some(_)) => Some(Version::V2),
            (false, None) => None,
        };
        let slices = version.and_then(|version| Slices::new(&names, version));
        let parents = match (&slices, version) {
            (Some(_), Some(Version::V1)) => mounts.v1.iter().map(tree::Parent::v1).collect(),
            _ => Vec::new(),
        };
        Plan { names, parents, slices, others }
    }

    /// The directories that `create` or an engine of containers may create, for the journal. Where systemd keeps its
    /// units comes first, since a slice must be stopped before its groups are removed.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        let first = self.slices.is_some().then(Mounts::top_of_systemd).flatten();
        let parents = self.parents.iter().map(|parent| parent.directory.clone());
        let mut all: Vec<PathBuf> = first.into_iter().chain(parents).collect();
        all.extend(self.others.iter().cloned());
        let mut seen = BTreeSet::new();
        all.retain(|directory| seen.insert(directory.clone()));
        all.into_iter().map(|directory| directory.join(self.names.stack())).collect()
    }

    /// Disables the controllers that `new` enabled, for a plan that was only a probe.
    pub(super) fn undo(&self) {
        self.parents.iter().for_each(tree::Parent::undo);
    }

    /// Creates the groups. Hierarchies that the machine does not allow are left out.
    pub(super) fn create(&self, spec: &ProcessSetSpec, freezer: Freezer) -> Groups {
        let roles: BTreeMap<String, Vec<usize>> = spec
            .roles()
            .map(|role| {
                let cpus = spec.cpus_by_role.get(role).unwrap_or(&spec.cpus);
                (role.to_owned(), cpus.clone())
            })
            .collect();
        let shares_quota = |role: &&String| !spec.cpus_by_role.contains_key(*role);
        let quota = spec.cpu_quota.map(|cpus| tree::QuotaSpec {
            cpus,
            roles: roles.keys().filter(shares_quota).cloned().collect(),
        });
        let wanted = tree::GroupSpec {
            names: self.names.clone(),
            cpus: stack_cpus(spec),
            memory_bytes: spec.memory_bytes,
            roles,
            quota,
            freezer,
            for_containers: spec.containers.is_some(),
        };
        let trees = match &self.slices {
            Some(slices) if !slices.start(&wanted) => Vec::new(),
            Some(slices) if self.parents.is_empty() => vec![slices.tree(&wanted)],
            _ => self.parents.iter().filter_map(|parent| parent.create(&wanted)).collect(),
        };
        Groups { trees, wanted }
    }
}

/// Whether the v1 freezer is needed. It is needed only if nothing better can end the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Freezer {
    /// Namespaces or `cgroup.kill` end the stack.
    NotNeeded,
    /// The freezer is used to end all processes, unless `cgroup.kill` works.
    IfNoKill,
}

/// Returns the CPUs of the whole stack: its own, and those of roles with other CPUs.
fn stack_cpus(spec: &ProcessSetSpec) -> Vec<usize> {
    if spec.cpus.is_empty() && spec.cpus_by_role.len() < role_count(spec) {
        return Vec::new();
    }
    let all = spec.cpus.iter().chain(spec.cpus_by_role.values().flatten());
    all.copied().collect::<BTreeSet<_>>().into_iter().collect()
}

fn role_count(spec: &ProcessSetSpec) -> usize {
    spec.roles().collect::<BTreeSet<_>>().len()
}

/// The groups of a running stack.
pub(super) struct Groups {
    trees: Vec<Tree>,
    wanted: tree::GroupSpec,
}

impl Groups {
    /// The directories that a process of `role` enters before it is executed.
    pub(super) fn of_role(&self, role: &str) -> Vec<PathBuf> {
        self.trees.iter().map(|tree| tree.role(role)).collect()
    }

    /// Records that a process could not enter `directory`. That hierarchy then limits and counts
    /// nothing.
    pub(super) fn refused(&mut self, directory: &Path) {
        for tree in self.trees.iter_mut().filter(|tree| directory.starts_with(&tree.directory)) {
            tree.refused();
        }
    }

    /// The stack's directory in the v2 tree, if `cgroup.kill` works there.
    pub(super) fn kill_directory(&self) -> Option<PathBuf> {
        self.directory(|tree| tree.can_kill())
    }

    /// The stack's directory in the v1 freezer hierarchy.
    pub(super) fn freezer_directory(&self) -> Option<PathBuf> {
        self.directory(|tree| tree.version == Version::V1 && tree.has("freezer"))
    }

    fn directory(&self, fits: impl Fn(&Tree) -> bool) -> Option<PathBuf> {
        self.trees.iter().find(|tree| fits(tree)).map(|tree| tree.directory.clone())
    }

    /// Describes the limits in force and their means. The caller fills in `process_group`.
    pub(super) fn isolation(&self) -> IsolationRecord {
        let by = |controller: &str| {
            self.trees.iter().find(|tree| tree.limits(controller)).map(|tree| tree.version.name())
        };
        let unpinned = self.wanted.cpus.is_empty();
        // An engine places its containers on no CPUs by itself.
        let is_placed = !unpinned && !self.wanted.for_containers;
        let cpu_set = by("cpuset").unwrap_or(if is_placed { "affinity" } else { "none" });
        let memory_limit = by("memory");
        let quota = self.wanted.quota.as_ref();
        IsolationRecord {
            cpu_set: cpu_set.to_owned(),
            cpus: self.wanted.cpus.clone(),
            cpus_by_role: if unpinned { BTreeMap::new() } else { self.wanted.roles.clone() },
            cpu_quota: quota.map(|_| by("cpu").unwrap_or("none").to_owned()),
            memory_limit: memory_limit.unwrap_or("none").to_owned(),
            memory_bytes: memory_limit.map_or(0, |_| self.wanted.memory_bytes),
            process_group: String::new(),
            accounting: self.accounting().map_or("proc", Version::name).to_owned(),
        }
    }

    /// The interface that counts CPU time and memory. v1 wins if its controllers count, because a
    /// v2 tree without controllers counts CPU time only. `None`: neither counts, and each process
    /// is read from `/proc`.
    fn accounting(&self) -> Option<Version> {
        let counts = |version, controller| {
            self.trees.iter().any(|tree| tree.version == version && tree.has(controller))
        };
        if counts(Version::V2, "memory") {
            Some(Version::V2)
        } else if counts(Version::V1, "cpuacct") || counts(Version::V1, "memory") {
            Some(Version::V1)
        } else {
            self.v2_counts_cpu().then_some(Version::V2)
        }
    }

    /// The directories from which a role's figures are read.
    pub(super) fn role_directories(&self, role: &str) -> RoleDirectories {
        let version = self.accounting();
        let v1 = |controller: &str| {
            self.trees
                .iter()
                .find(|tree| tree.version == Version::V1 && tree.has(controller))
                .filter(|_| version == Some(Version::V1))
                .map(|tree| tree.role(role))
        };
        let v2 = self
            .trees
            .iter()
            .find(|tree| tree.version == Version::V2 && version == Some(Version::V2));
        let below = |tree: &Tree| {
            let group = tree.role(role);
            group.strip_prefix(tree.directory.parent()?).ok().map(Path::to_owned)
        };
        RoleDirectories {
            role: role.to_owned(),
            group: self.trees.first().and_then(below),
            v2: v2.map(|tree| tree.role(role)),
            cpuacct: v1("cpuacct"),
            memory: v1("memory"),
        }
    }

    /// Whether v2 counts CPU time, for which it needs no controller.
    pub(super) fn v2_counts_cpu(&self) -> bool {
        self.trees.iter().any(|tree| tree.version == Version::V2 && tree.entered)
    }

    /// The hierarchies and controllers that the stack got, for `doctor`.
    pub(super) fn controllers(&self) -> Vec<(&'static str, String)> {
        self.trees
            .iter()
            .flat_map(|tree| tree.controllers.iter().map(|c| (tree.version.name(), c.clone())))
            .collect()
    }
}

/// Removes a stack's directory and everything below it. A slice is stopped before, or systemd would
/// still know it. A missing directory is no error. Groups stay busy for a moment after their last
/// process has died, so the function tries again for a while.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if names::is_slice_of_ours(name) {
        slices::stop(directory);
    } else if !name.starts_with(PREFIX) {
        return Err(io::Error::other("not a directory of ours"));
    }
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(1);
    loop {
        match remove_once(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(pause),
            other => return other,
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn remove_once(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            match remove_once(&entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    fs::remove_dir(directory)
}
