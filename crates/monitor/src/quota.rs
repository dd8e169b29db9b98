//! Measures how long CPU quotas stopped a stack. A quota may be that of the stack's own budget, or
//! that of a group around it, such as a container or a systemd unit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stampede_linux::cgroup;
use stampede_linux::mounts::Mounts;
use stampede_model::isolation::is_cpu_quota_group;

use super::source::{OpenFile, ReadBuffer, Sources};

/// Reads the counters of all groups with a quota that contain a process of the stack.
#[derive(Debug, Default)]
pub struct Quota {
    /// The group of the stack's own budget.
    budget: Counters,
    /// All other groups.
    others: Counters,
}

/// Counters of some groups.
#[derive(Debug, Default)]
struct Counters {
    /// `cpu.stat` of each group.
    files: Vec<OpenFile>,
    before: u64,
}

impl Quota {
    /// Opens the available files. Differences are counted from now. One process of each role is
    /// enough, because a role is one group.
    pub fn open(
        sources: &Sources,
        pids: impl Iterator<Item = u32>,
        text: &mut ReadBuffer,
    ) -> Quota {
        let mounted = text.of(&sources.proc.path("self/mountinfo")).unwrap_or("").to_owned();
        let mut files = BTreeSet::new();
        for pid in pids {
            let Some(own) = text.of(&sources.of_process(pid, "cgroup")) else { continue };
            let mounts = Mounts::of_controllers(&mounted, own, &["cpu"]);
            let limited = mounts.groups_with_cpu_quota();
            files.extend(limited.iter().map(|group| group.join("cpu.stat")));
        }
        let (budget, others): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
            files.into_iter().partition(|file| is_of_budget(file));
        Quota { budget: Counters::open(budget, text), others: Counters::open(others, text) }
    }

    /// Time since the last call for which others' quotas stopped the stack, in ns, summed over
    /// CPUs.
    pub fn throttled_ns(&mut self, text: &mut ReadBuffer) -> u64 {
        self.others.throttled_ns(text)
    }

    /// The same for the quota of the stack's own budget.
    pub fn budget_throttled_ns(&mut self, text: &mut ReadBuffer) -> u64 {
        self.budget.throttled_ns(text)
    }
}

/// Whether a group's `cpu.stat` counts the quota of the stack's budget.
fn is_of_budget(file: &Path) -> bool {
    file.parent().is_some_and(is_cpu_quota_group)
}

impl Counters {
    /// Opens the available files. Differences are counted from now.
    fn open(files: BTreeSet<PathBuf>, text: &mut ReadBuffer) -> Counters {
        let open = |path: PathBuf| OpenFile::open(&path).ok();
        let files = files.into_iter().filter_map(open).collect();
        let mut counters = Counters { files, before: 0 };
        counters.throttled_ns(text);
        counters
    }

    fn throttled_ns(&mut self, text: &mut ReadBuffer) -> u64 {
        let mut of_one = |file: &OpenFile| {
            let stat = text.reread(file)?;
            let v2 = || Some(cgroup::keyed(stat, "throttled_usec")?.saturating_mul(1_000));
            cgroup::keyed(stat, "throttled_time").or_else(v2)
        };
        let now: u64 = self.files.iter().filter_map(&mut of_one).sum();
        let since = now.saturating_sub(self.before);
        self.before = self.before.max(now);
        since
    }
}

#[cfg(test)]
mod tests {
    use stampede_model::isolation::CPU_QUOTA_GROUP;

    use super::*;
    use crate::fake::FakeProc;

    /// The `cpu` hierarchy is mounted separately, and the container has the quota.
    #[test]
    fn a_quota_of_a_group_around_the_stack_is_counted_once() {
        let fake = FakeProc::new();
        let top = fake.path().join("cg").display().to_string();
        let mount = format!("33 31 0:30 / {top} rw - cgroup cgroup rw,cpu\n");
        fake.put("self/mountinfo", &mount);
        for pid in [10, 11] {
            fake.put(&format!("{pid}/cgroup"), "4:memory:/else\n1:cpu:/box/stack\n");
        }
        fake.put("cg/cpu.cfs_quota_us", "-1\n");
        fake.put("cg/cpu.stat", "nr_throttled 9\nthrottled_time 900\n");
        fake.put("cg/box/cpu.cfs_quota_us", "50000\n");
        fake.put("cg/box/cpu.stat", "nr_throttled 1\nthrottled_time 100\n");
        fake.put("cg/box/stack/cpu.cfs_quota_us", "-1\n");
        let mut text = ReadBuffer::default();
        let mut quota = Quota::open(&fake.sources(), [10, 11, 12].into_iter(), &mut text);
        fake.put("cg/box/cpu.stat", "nr_throttled 2\nthrottled_time 350\n");
        assert_eq!([quota.throttled_ns(&mut text), quota.throttled_ns(&mut text)], [250, 0]);
    }

    /// The stack has a quota of its own inside a container that has one too.
    #[test]
    fn the_quota_of_the_budget_is_counted_apart_from_those_of_others() {
        let fake = FakeProc::new();
        let top = fake.path().join("cg").display().to_string();
        fake.put("self/mountinfo", &format!("41 31 0:38 / {top} rw - cgroup2 cgroup2 rw\n"));
        let own = format!("box/stack/{CPU_QUOTA_GROUP}");
        fake.put("10/cgroup", &format!("0::/{own}/php\n"));
        fake.put("11/cgroup", "0::/box/stack/database\n");
        fake.put("cg/box/cpu.max", "50000 100000\n");
        fake.put("cg/box/cpu.stat", "throttled_usec 1\n");
        fake.put(&format!("cg/{own}/cpu.max"), "20000 100000\n");
        fake.put(&format!("cg/{own}/cpu.stat"), "throttled_usec 10\n");
        let mut text = ReadBuffer::default();
        let mut quota = Quota::open(&fake.sources(), [10, 11].into_iter(), &mut text);
        fake.put("cg/box/cpu.stat", "throttled_usec 3\n");
        fake.put(&format!("cg/{own}/cpu.stat"), "throttled_usec 40\n");
        let read = (quota.throttled_ns(&mut text), quota.budget_throttled_ns(&mut text));
        assert_eq!(read, (2_000, 30_000));
    }

    #[test]
    fn v2_counts_in_microseconds() {
        let fake = FakeProc::new();
        let top = fake.path().join("cg").display().to_string();
        fake.put("self/mountinfo", &format!("41 31 0:38 / {top} rw - cgroup2 cgroup2 rw\n"));
        fake.put("10/cgroup", "0::/stack\n");
        fake.put("cg/stack/cpu.max", "50000 100000\n");
        fake.put("cg/stack/cpu.stat", "usage_usec 1000\nthrottled_usec 10\n");
        let mut text = ReadBuffer::default();
        let mut quota = Quota::open(&fake.sources(), [10].into_iter(), &mut text);
        fake.put("cg/stack/cpu.stat", "usage_usec 4000\nthrottled_usec 15\n");
        assert_eq!(quota.throttled_ns(&mut text), 5_000);
        fake.put("cg/stack/cpu.max", "max 100000\n");
        assert!(Quota::open(&fake.sources(), [10].into_iter(), &mut text).others.files.is_empty());
    }
}
