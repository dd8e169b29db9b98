//! The CPUs and the memory that a process really has: what the kernel lets it use, with the limits
//! of all groups around it. A limit that was asked for may not be in force.

use std::fs;
use std::path::Path;

use stampede_linux::cgroup::keyed;
use stampede_linux::mounts::Mounts;
use stampede_linux::proc::Proc;
use stampede_model::record::ContainerLimits;

use crate::root::text_in;

/// What a process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectiveLimits {
    /// The CPUs, as a list of the kernel; empty: not known.
    pub cpus_allowed: String,
    /// The CPU time in thousandths of a CPU; `None`: there is no quota.
    pub cpu_quota_thousandths: Option<u32>,
    /// The memory in bytes; 0: there is no limit.
    pub memory_limit_bytes: u64,
}

/// Version 1 writes a limit near 2^63 where there is none.
const NO_LIMIT: u64 = 1 << 62;

impl EffectiveLimits {
    /// The limits of a process of this machine.
    pub fn of(pid: u32) -> EffectiveLimits {
        let proc = Proc::default();
        let (mountinfo, own) = (proc.text("self/mountinfo"), proc.cgroup(pid));
        let status = proc.text(&format!("{pid}/status"));
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let of = |controller| Mounts::of_controllers(&mountinfo, &own, &[controller]);
        let quotas = of("cpu").groups_with_cpu_quota();
        EffectiveLimits {
            cpus_allowed: list.map(str::trim).unwrap_or_default().to_owned(),
            cpu_quota_thousandths: quotas.iter().filter_map(|group| quota(group)).min(),
            memory_limit_bytes: memory_limit(&of("memory")),
        }
    }
}

/// The least limit of the groups around a process, in bytes; 0: there is none.
fn memory_limit(mounts: &Mounts) -> u64 {
    let read = |group: &Path, file: &str| fs::read_to_string(group.join(file)).unwrap_or_default();
    let v2 = mounts.v2.iter().flat_map(|mount| {
        let groups = mount.own.ancestors().take_while(|group| group.starts_with(&mount.top));
        groups.filter_map(|group| read(group, "memory.max").trim().parse::<u64>().ok())
    });
    // Version 1 sums up the groups around it.
    let v1 = mounts
        .v1
        .iter()
        .filter_map(|mount| keyed(&read(&mount.own, "memory.stat"), "hierarchical_memory_limit"));
    v2.chain(v1).filter(|limit| *limit < NO_LIMIT).min().unwrap_or(0)
}

/// The limits that programs inside a container find if they look, as Go's runtime and the JVM do; `None`: this
/// machine cannot see there, or the container shows no groups. Limits of the groups around the container's own are
/// in force without being seen there. The CPUs are those of the process ([`EffectiveLimits`]), which it sees itself. `root`: the container's.
pub fn limits_inside(root: &Path) -> Option<ContainerLimits> {
    let read = |file: &str| text_in(root, &format!("sys/fs/cgroup/{file}"), LIMIT_BYTES);
    let memory = ["memory.max", "memory/memory.limit_in_bytes"].into_iter().find_map(&read)?;
    // One directory has several controllers of version 1, or a link leads to it.
    let quota = ["", "cpu/", "cpu,cpuacct/", "cpuacct,cpu/"]
        .into_iter()
        .find_map(|directory| quota_in(|file| read(&format!("{directory}{file}"))));
    let memory = memory.trim().parse::<u64>().ok().filter(|limit| *limit < NO_LIMIT);
    Some(ContainerLimits { cpu_quota_thousandths: quota, memory_bytes: memory.unwrap_or(0) })
}

/// The most bytes of a file with a limit; they have some twenty.
const LIMIT_BYTES: u64 = 256;

/// The quota of a group, in thousandths of a CPU; `None`: it has none, or it cannot be read.
fn quota(group: &Path) -> Option<u32> {
    quota_in(|file| fs::read_to_string(group.join(file)).ok())
}

fn quota_in(read: impl Fn(&str) -> Option<String>) -> Option<u32> {
    let text = read("cpu.max").or_else(|| {
        Some(format!("{} {}", read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?))
    })?;
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    u32::try_from(quota.checked_mul(1_000)?.checked_div(period)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(top: &Path, mount: &str, own: &str, controller: &str) -> Mounts {
        let line = format!("33 31 0:30 / {} rw - {mount}\n", top.display());
        Mounts::of_controllers(&line, own, &[controller])
    }

    #[test]
    fn the_least_limit_around_a_process_counts() {
        let place = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("stack/memory.max", "268435456\n");
        put("stack/php/memory.max", "max\n");
        put("stack/php/cpu.max", "max 100000\n");
        put("stack/cpu.max", "50000 100000\n");
        let v2 = mounts(place.path(), "cgroup2 cgroup2 rw", "0::/stack/php\n", "cpu");
        assert_eq!(memory_limit(&v2), 256 << 20);
        let quotas = v2.groups_with_cpu_quota();
        assert_eq!(quotas.iter().filter_map(|group| quota(group)).collect::<Vec<_>>(), [500]);

        put("old/memory.stat", "cache 1\nhierarchical_memory_limit 1048576\n");
        put("free/memory.stat", "hierarchical_memory_limit 9223372036854771712\n");
        for (group, bytes) in [("old", 1 << 20), ("free", 0), ("none", 0)] {
            let own = format!("4:memory:/{group}\n");
            let v1 = mounts(place.path(), "cgroup cgroup rw,memory", &own, "memory");
            assert_eq!(memory_limit(&v1), bytes, "{group}");
        }
        put("quota/cpu.cfs_quota_us", "150000\n");
        put("quota/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota(&place.path().join("quota")), Some(1_500));
    }

    #[test]
    fn a_container_shows_its_own_limits_and_not_those_around_it() {
        let place = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let seen = |root: &str| {
            let found = limits_inside(&place.path().join(root))?;
            Some((found.cpu_quota_thousandths, found.memory_bytes))
        };
        put("v2/sys/fs/cgroup/memory.max", "max\n");
        put("v2/sys/fs/cgroup/cpu.max", "max 100000\n");
        assert_eq!(seen("v2"), Some((None, 0)));
        put("own/sys/fs/cgroup/memory.max", "268435456\n");
        put("own/sys/fs/cgroup/cpu.max", "50000 100000\n");
        assert_eq!(seen("own"), Some((Some(500), 256 << 20)));
        put("v1/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        put("v1/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        put("v1/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        assert_eq!(seen("v1"), Some((None, 0)));
        put("v1/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
        put("v1/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
        assert_eq!(seen("v1"), Some((Some(1_500), 1 << 20)));
        assert_eq!((seen("none"), seen("v1/sys")), (None, None));
    }

    #[test]
    fn a_process_of_this_machine_has_cpus() {
        let own = EffectiveLimits::of(std::process::id());
        assert!(!stampede_linux::cpu_list::parse(&own.cpus_allowed).is_empty(), "{own:?}");
        assert_eq!(EffectiveLimits::of(1 << 23).cpus_allowed, "");
    }
}
