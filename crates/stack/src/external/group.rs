//! Finds the cgroup of watched processes, and checks that it holds nothing else.

use std::path::{Component, Path, PathBuf};

use stampede_linux::mounts::Mounts;
use stampede_model::process_group::Accounting;

/// The name that a cgroup's path must contain to belong to the watched container or unit alone. If
/// the path has no such part, the processes share their cgroup with others, and its figures include
/// those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgroupOwner {
    /// A container's id: `/docker/ID`, `/system.slice/docker-ID.scope`,
    /// `/machine.slice/libpod-ID.scope/container` …
    Container(String),
    /// A unit's `ControlGroup`: `/system.slice/shop.service`.
    Unit(String),
}

/// Where to read the figures of a process whose `/proc/PID/cgroup` is `cgroup`, as seen through our
/// `mountinfo`. In v1 each hierarchy has its own groups, where a unit without `CPUAccounting`
/// shares its parent's. [`Accounting::Proc`] if no group belongs to the watched container or unit
/// alone.
pub fn accounting(mountinfo: &str, cgroup: &str, owner: &CgroupOwner) -> Accounting {
    let mounts = Mounts::parse(mountinfo, cgroup);
    let of_v1 = |controller: &str| {
        let mount = mounts.v1.iter().find(|mount| mount.controllers.contains(controller))?;
        owner.directory(&mount.top, &mount.own)
    };
    let (cpuacct, memory) = (of_v1("cpuacct"), of_v1("memory"));
    if cpuacct.is_some() || memory.is_some() {
        return Accounting::CgroupV1 { cpuacct, memory };
    }
    let v2 = mounts.v2.and_then(|mount| owner.directory(&mount.top, &mount.own));
    v2.map_or(Accounting::Proc, Accounting::CgroupV2)
}

/// Whether a group in `/proc/PID/cgroup` is named after the watched container or unit.
pub fn is_named(cgroup: &str, owner: &CgroupOwner) -> bool {
    let paths = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.into_iter().any(|path| match owner {
        CgroupOwner::Container(id) => path.contains(id.as_str()),
        CgroupOwner::Unit(group) => path == group || path.starts_with(&format!("{group}/")),
    })
}

impl CgroupOwner {
    /// The directory of the watched container or unit: between `top` and `own`, the group of the
    /// process. The process may be in a group below it, if an init inside makes groups of its own.
    fn directory(&self, top: &Path, own: &Path) -> Option<PathBuf> {
        let below = own.strip_prefix(top).ok()?;
        let directory = match self {
            CgroupOwner::Container(id) => {
                let mut parts = below.components();
                let until = parts.position(|part| is_of(part, id))?;
                top.join(below.components().take(until + 1).collect::<PathBuf>())
            }
            CgroupOwner::Unit(group) => {
                let group = group.trim_matches('/');
                if group.is_empty() || !below.starts_with(group) {
                    return None;
                }
                top.join(group)
            }
        };
        directory.join("cgroup.procs").is_file().then_some(directory)
    }
}

fn is_of(part: Component<'_>, id: &str) -> bool {
    part.as_os_str().to_str().is_some_and(|part| !id.is_empty() && part.contains(id))
}

/// The accounting's name in records.
pub fn name(accounting: &Accounting) -> &'static str {
    match accounting {
        Accounting::CgroupV2(_) => "cgroup-v2",
        Accounting::CgroupV1 { .. } => "cgroup-v1",
        Accounting::Proc => "proc",
        Accounting::Ssh { .. } => "ssh",
    }
}

/// The name of the place where memory is read: the group may lack the memory controller.
pub fn memory_name(accounting: &Accounting) -> &'static str {
    let has = |directory: &Path| directory.join("memory.stat").is_file();
    match accounting {
        Accounting::CgroupV2(directory) if has(directory) => "cgroup-v2",
        Accounting::CgroupV1 { memory: Some(directory), .. } if has(directory) => "cgroup-v1",
        Accounting::Ssh { .. } => "ssh",
        _ => "proc",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4f1e9ac2b0d84f1e9ac2b0d84f1e9ac2b0d84f1e9ac2b0d84f1e9ac2b0d84f1e";

    /// A fake `/sys/fs/cgroup` with these groups, and the lines of mountinfo that show it.
    struct Fake {
        directory: tempfile::TempDir,
    }

    impl Fake {
        fn new(groups: &[&str]) -> Fake {
            let directory = tempfile::tempdir().expect("a temporary directory");
            for group in groups {
                let group = directory.path().join(group);
                std::fs::create_dir_all(&group).expect("a group");
                std::fs::write(group.join("cgroup.procs"), "").expect("its processes");
            }
            Fake { directory }
        }

        fn path(&self, group: &str) -> PathBuf {
            self.directory.path().join(group)
        }

        fn v2(&self) -> String {
            let top = self.directory.path().display();
            format!("41 31 0:38 / {top} rw - cgroup2 cgroup2 rw\n")
        }

        fn v1(&self) -> String {
            let of = |directory: &str, controllers: &str| {
                let top = self.directory.path().join(directory);
                format!("33 31 0:30 / {} rw - cgroup cgroup rw,{controllers}\n", top.display())
            };
            of("cpu,cpuacct", "cpu,cpuacct") + &of("memory", "memory") + &of("pids", "pids")
        }
    }

    fn shown(accounting: &Accounting) -> String {
        format!("{accounting:?}")
    }

    #[test]
    fn a_container_on_cgroup_v2_is_read_from_its_scope_even_with_nested_groups() {
        let scope = format!("system.slice/docker-{ID}.scope");
        let fake = Fake::new(&[&scope, &format!("{scope}/init.scope")]);
        let owner = CgroupOwner::Container(ID.to_owned());
        for inside in ["", "/init.scope"] {
            let found = accounting(&fake.v2(), &format!("0::/{scope}{inside}\n"), &owner);
            assert_eq!(shown(&found), shown(&Accounting::CgroupV2(fake.path(&scope))));
        }
    }

    #[test]
    fn groups_of_podman_and_of_docker_without_systemd_are_found() {
        for group in [
            format!("machine.slice/libpod-{ID}.scope/container"),
            format!("docker/{ID}"),
            format!("user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope"),
        ] {
            let wanted = group.trim_end_matches("/container").to_owned();
            let fake = Fake::new(&[&group, &wanted]);
            let owner = CgroupOwner::Container(ID.to_owned());
            let found = accounting(&fake.v2(), &format!("0::/{group}\n"), &owner);
            assert_eq!(shown(&found), shown(&Accounting::CgroupV2(fake.path(&wanted))));
        }
    }

    #[test]
    fn on_cgroup_v1_each_hierarchy_has_its_own_directory() {
        let groups = ["cpu,cpuacct", "memory"].map(|of| format!("{of}/docker/{ID}"));
        let fake = Fake::new(&[&groups[0], &groups[1]]);
        let cgroup = format!(
            "11:pids:/docker/{ID}\n6:memory:/docker/{ID}\n3:cpu,cpuacct:/docker/{ID}\n0::/x\n"
        );
        let found = accounting(&fake.v1(), &cgroup, &CgroupOwner::Container(ID.to_owned()));
        let wanted = Accounting::CgroupV1 {
            cpuacct: Some(fake.path(&groups[0])),
            memory: Some(fake.path(&groups[1])),
        };
        assert_eq!(shown(&found), shown(&wanted));
    }

    #[test]
    fn a_group_that_a_unit_shares_with_others_is_not_used() {
        let fake = Fake::new(&["memory/system.slice/shop.service", "cpu,cpuacct/system.slice"]);
        let owner = CgroupOwner::Unit("/system.slice/shop.service".to_owned());
        // Without `CPUAccounting`, the unit's CPU time is counted in the group of its slice.
        let cgroup = "6:memory:/system.slice/shop.service\n3:cpu,cpuacct:/system.slice\n";
        let found = accounting(&fake.v1(), cgroup, &owner);
        let memory = Some(fake.path("memory/system.slice/shop.service"));
        assert_eq!(shown(&found), shown(&Accounting::CgroupV1 { cpuacct: None, memory }));
        let alone = accounting(&fake.v1(), "6:memory:/\n3:cpu,cpuacct:/\n", &owner);
        assert_eq!(shown(&alone), "Proc");
        // The name of a unit may be the beginning of another's.
        let other = accounting(&fake.v2(), "0::/system.slice/shop.service2\n", &owner);
        assert_eq!(shown(&other), "Proc");
    }

    #[test]
    fn a_group_outside_our_mount_is_not_used() {
        let owner = CgroupOwner::Container(ID.to_owned());
        let fake = Fake::new(&[]);
        for cgroup in [format!("0::/../docker-{ID}.scope\n"), format!("0::/docker/{ID}\n")] {
            assert_eq!(shown(&accounting(&fake.v2(), &cgroup, &owner)), "Proc");
            assert!(is_named(&cgroup, &owner), "but it is named after it");
        }
        assert!(!is_named("0::/user.slice\n", &owner));
    }
}
