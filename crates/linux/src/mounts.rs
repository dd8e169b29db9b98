//! Finds the mounted cgroup hierarchies, and the group of a process in each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::proc::Proc;

/// A version of the cgroup interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// cgroup v1.
    V1,
    /// cgroup v2.
    V2,
}

impl Version {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Version::V1 => "cgroup-v1",
            Version::V2 => "cgroup-v2",
        }
    }
}

/// One mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The mount point.
    pub top: PathBuf,
    /// The group of the process; below `top`.
    pub own: PathBuf,
    /// The controllers of a v1 hierarchy. Empty for v2, where each group lists its own.
    pub controllers: BTreeSet<String>,
}

/// All mounted hierarchies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    /// The v2 hierarchy.
    pub v2: Option<Mount>,
    /// The v1 hierarchies that have a controller we use.
    pub v1: Vec<Mount>,
}

/// Whether a group has a CPU quota. Without one v2 says `max` and v1 says -1.
fn has_cpu_quota(group: &Path) -> bool {
    ["cpu.max", "cpu.cfs_quota_us"].iter().any(|file| {
        let text = std::fs::read_to_string(group.join(file)).unwrap_or_default();
        text.split_whitespace().next().is_some_and(|quota| quota.parse::<u64>().is_ok())
    })
}

/// The v1 controllers that we use: for limits, for accounting, and the freezer.
const USED_V1: [&str; 4] = ["cpuset", "memory", "cpuacct", "freezer"];
/// The v1 controllers in which an engine of containers creates its groups below ours.
const OF_CONTAINERS_V1: [&str; 6] = ["cpu", "cpuset", "memory", "cpuacct", "freezer", "pids"];

impl Mounts {
    /// Reads the hierarchies of this process.
    pub fn read() -> Mounts {
        Mounts::read_of(&USED_V1)
    }

    /// Does the same, with the v1 hierarchy that limits CPU time.
    pub fn read_with_cpu() -> Mounts {
        let used: Vec<&str> = USED_V1.into_iter().chain(["cpu"]).collect();
        Mounts::read_of(&used)
    }

    /// Does the same, with the v1 hierarchies that groups of containers need.
    pub fn read_for_containers() -> Mounts {
        Mounts::read_of(&OF_CONTAINERS_V1)
    }

    fn read_of(used: &[&str]) -> Mounts {
        let proc = Proc::default();
        Mounts::of_controllers(&proc.text("self/mountinfo"), &proc.text("self/cgroup"), used)
    }

    /// The same hierarchies, as a process in the topmost visible group of each sees them.
    #[must_use]
    pub fn at_top(self) -> Mounts {
        let top = |mount: Mount| Mount { own: mount.top.clone(), ..mount };
        Mounts { v2: self.v2.map(top), v1: self.v1.into_iter().map(top).collect() }
    }

    /// The mount points of all hierarchies, with and without a controller.
    pub fn tops() -> Vec<PathBuf> {
        let mountinfo = Proc::default().text("self/mountinfo");
        let groups = mountinfo.lines().filter_map(parse_mount);
        groups
            .filter(|line| matches!(line.kind, "cgroup" | "cgroup2"))
            .map(|line| line.top)
            .collect()
    }

    /// The mount point of the hierarchy in which systemd keeps its units: one of its own beside those of v1, else v2.
    /// `None`: neither is mounted.
    pub fn top_of_systemd() -> Option<PathBuf> {
        top_of_systemd(&Proc::default().text("self/mountinfo"))
    }

    /// The groups with a CPU quota that contain the process: its own and those around it, as far as
    /// they are visible. Only of the hierarchies of version 2 and of v1's controller `cpu`.
    pub fn groups_with_cpu_quota(&self) -> Vec<PathBuf> {
        let groups = self.v2.iter().chain(&self.v1).flat_map(|mount| {
            mount.own.ancestors().take_while(|group| group.starts_with(&mount.top))
        });
        groups.filter(|group| has_cpu_quota(group)).map(Path::to_owned).collect()
    }

    /// Parses the hierarchies of the process whose `/proc/PID/cgroup` is `own`; `mountinfo` is that
    /// of this process.
    pub fn parse(mountinfo: &str, own: &str) -> Mounts {
        Mounts::of_controllers(mountinfo, own, &USED_V1)
    }

    /// Does the same, for the v1 hierarchies that have one of the controllers `used`.
    pub fn of_controllers(mountinfo: &str, own: &str, used: &[&str]) -> Mounts {
        let mut mounts = Mounts::default();
        for line in mountinfo.lines() {
            let Some(found) = parse_mount(line) else { continue };
            match found.kind {
                "cgroup2" if mounts.v2.is_none() => {
                    mounts.v2 = own_group(own, |controllers| controllers.is_empty())
                        .and_then(|group| found.place(group, BTreeSet::new()));
                }
                "cgroup" => {
                    let controllers: BTreeSet<String> =
                        found.options.split(',').map(str::to_owned).collect();
                    let Some(used) = used.iter().find(|one| controllers.contains(**one)) else {
                        continue;
                    };
                    let group = own_group(own, |names| names.split(',').any(|n| n == *used));
                    mounts.v1.extend(group.and_then(|group| found.place(group, controllers)));
                }
                _ => {}
            }
        }
        mounts
    }
}

/// The mount points of all hierarchies, whatever we use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountPoints {
    /// Mount point of the v2 tree; `None` if it is not mounted.
    pub v2: Option<String>,
    /// v1 controllers with their mount points. Named hierarchies (`name=systemd`) are left out,
    /// because they control nothing.
    pub v1: BTreeMap<String, String>,
}

impl MountPoints {
    /// Parses `/proc/mounts` (fstab(5)).
    pub fn parse(text: &str) -> MountPoints {
        let mut points = MountPoints::default();
        for line in text.lines() {
            let mut fields = line.split(' ').skip(1);
            let (Some(place), Some(kind), Some(options)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let place = unescape(place);
            match kind {
                "cgroup2" => points.v2 = Some(place),
                "cgroup" => {
                    for controller in options.split(',').filter(|name| ALL_V1.contains(name)) {
                        points.v1.insert(controller.to_owned(), place.clone());
                    }
                }
                _ => {}
            }
        }
        points
    }
}

/// Controllers of cgroup v1 (the kernel's `Documentation/admin-guide/cgroup-v1`).
const ALL_V1: [&str; 14] = [
    "blkio",
    "cpu",
    "cpuacct",
    "cpuset",
    "devices",
    "freezer",
    "hugetlb",
    "memory",
    "misc",
    "net_cls",
    "net_prio",
    "perf_event",
    "pids",
    "rdma",
];

/// A line of mountinfo (proc_pid_mountinfo(5)).
struct Line<'a> {
    root: &'a str,
    top: PathBuf,
    kind: &'a str,
    /// Options of the super block, which include the controllers of a v1 hierarchy.
    options: &'a str,
}

fn parse_mount(line: &str) -> Option<Line<'_>> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, top) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (kind, _source, options) = (right.next()?, right.next()?, right.next()?);
    Some(Line { root, top: PathBuf::from(unescape(top)), kind, options })
}

impl Line<'_> {
    /// Returns our group as a directory. `None` if this mount does not show the group: a container
    /// may see only a part of the hierarchy, or we are outside of the cgroup namespace.
    fn place(&self, group: &str, controllers: BTreeSet<String>) -> Option<Mount> {
        let below = Path::new(group).strip_prefix(unescape(self.root)).ok()?;
        if below.components().any(|part| part == std::path::Component::ParentDir) {
            return None;
        }
        let own = self.top.join(below);
        Some(Mount { top: self.top.clone(), own, controllers })
    }
}

fn top_of_systemd(mountinfo: &str) -> Option<PathBuf> {
    let all: Vec<Line<'_>> = mountinfo.lines().filter_map(parse_mount).collect();
    let is_own = |line: &&Line<'_>| {
        line.kind == "cgroup" && line.options.split(',').any(|one| one == "name=systemd")
    };
    let found = all.iter().find(is_own).or(all.iter().find(|line| line.kind == "cgroup2"));
    found.map(|line| line.top.clone())
}

/// Returns our group in the hierarchy whose controllers fit, from a line such as
/// `7:cpu,cpuacct:/path`.
fn own_group(own: &str, fits: impl Fn(&str) -> bool) -> Option<&str> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        fits(controllers).then_some(path)
    })
}

/// Both files have blanks, tabs, newlines and backslashes in octal.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cgroup_versions_are_found_on_a_hybrid_machine() {
        let mountinfo = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
        let own = "4:memory:/a/b\n2:cpu,cpuacct:/\n1:name=systemd:/x\n0::/c\n";
        let mounts = Mounts::parse(mountinfo, own);
        assert_eq!(mounts.v2.unwrap().own, Path::new("/sys/fs/cgroup/unified/c"));
        let owns: Vec<_> = mounts.v1.iter().map(|mount| mount.own.to_str().unwrap()).collect();
        assert_eq!(owns, ["/sys/fs/cgroup/cpu,cpuacct/", "/sys/fs/cgroup/memory/a/b"]);
        let of_systemd = top_of_systemd(mountinfo);
        assert_eq!(of_systemd.as_deref(), Some(Path::new("/sys/fs/cgroup/systemd")));
        let v2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
        assert_eq!(top_of_systemd(v2).as_deref(), Some(Path::new("/sys/fs/cgroup")));
    }

    #[test]
    fn all_mount_points_of_a_machine_with_both_versions_are_found() {
        let text = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                    cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n\
                    cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0\n\
                    cgroup2 /sys/fs/cgroup/uni\\040fied cgroup2 rw,relatime 0 0\n";
        let points = MountPoints::parse(text);
        assert_eq!(points.v2.as_deref(), Some("/sys/fs/cgroup/uni fied"));
        let names: Vec<&str> = points.v1.keys().map(String::as_str).collect();
        assert_eq!(names, ["cpu", "cpuacct"]);
        assert_eq!(points.v1["cpu"], "/sys/fs/cgroup/cpu,cpuacct");
    }

    #[test]
    fn a_container_sees_only_its_part_of_the_hierarchy() {
        let line = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let inside = Mounts::parse(line, "4:memory:/docker/abc/sub\n");
        assert_eq!(inside.v1[0].own, Path::new("/sys/fs/cgroup/memory/sub"));
        let outside = Mounts::parse(line, "4:memory:/elsewhere\n");
        assert!(outside.v1.is_empty());
    }

    #[test]
    fn a_group_outside_our_cgroup_namespace_is_not_used() {
        let line = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(Mounts::parse(line, "0::/../other\n").v2, None);
    }
}
