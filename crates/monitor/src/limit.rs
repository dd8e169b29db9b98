//! Counts how often a stack reached its memory limit, and how long its processes waited for memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stampede_linux::cgroup;
use stampede_linux::proc::pressure_some;
use stampede_model::isolation::is_cpu_quota_group;
use stampede_model::process_group::{Accounting, ProcessGroup};

use super::source::{OpenFile, ReadBuffer};

/// Reads the groups that have a limit: those of the roles, and their common parent.
#[derive(Debug, Default)]
pub struct Limit {
    groups: Vec<LimitedGroup>,
}

/// A group that has a limit.
#[derive(Debug)]
struct LimitedGroup {
    counters: Vec<OpenFile>,
    before: u64,
    /// `memory.pressure`; v2 only.
    pressure: Option<OpenFile>,
    stalled_us_before: u64,
    /// v1 only, because some kernels (6.18) leave the counters of v1 at zero.
    uncounted: Option<UncountedLimit>,
}

/// Shows that a limit was reached if the kernel does not count. Both values include page cache.
#[derive(Debug)]
struct UncountedLimit {
    limit: u64,
    /// `memory.max_usage_in_bytes`.
    most: OpenFile,
    /// `memory.usage_in_bytes`.
    now: OpenFile,
}

/// The files of a cgroup version: its limit, and the counters of how often the limit was reached.
#[derive(Debug)]
struct LimitFiles {
    limit: &'static str,
    counters: &'static [&'static str],
}

impl Limit {
    /// Opens the available files. Differences are counted from now.
    pub fn open(group: &ProcessGroup, text: &mut ReadBuffer) -> Limit {
        let mut directories: BTreeMap<PathBuf, &LimitFiles> = BTreeMap::new();
        for role in &group.roles {
            let (directory, files) = match &role.accounting {
                Accounting::CgroupV2(directory) => (directory, &V2),
                Accounting::CgroupV1 { memory: Some(directory), .. } => (directory, &V1),
                Accounting::CgroupV1 { memory: None, .. }
                | Accounting::Proc
                | Accounting::Ssh { .. } => continue,
            };
            let holds = directory.ancestors().take(levels(directory));
            directories.extend(holds.map(|directory| (directory.to_owned(), files)));
        }
        let open = |(directory, files): (&PathBuf, &&LimitFiles)| {
            LimitedGroup::open(directory, files, text)
        };
        let mut limit = Limit { groups: directories.iter().filter_map(open).collect() };
        limit.hits(text);
        limit.stalled_ns(text);
        limit
    }

    /// Number of hits since the last call. If the kernel does not count, a reading at the limit
    /// counts as one.
    pub fn hits(&mut self, text: &mut ReadBuffer) -> u64 {
        self.groups.iter_mut().map(|group| group.hits(text)).sum()
    }

    /// Waiting time since the last call, in the group that waited longest; `None`: no group reports
    /// it.
    pub fn stalled_ns(&mut self, text: &mut ReadBuffer) -> Option<u64> {
        self.groups.iter_mut().filter_map(|group| group.stalled_ns(text)).max()
    }
}

/// The number of groups from that of a role up to that of the stack.
fn levels(role: &Path) -> usize {
    if role.parent().is_some_and(is_cpu_quota_group) { 3 } else { 2 }
}

impl LimitedGroup {
    /// Opens a group; `None` if it has no limit. v2 then says `max`, v1 a number larger than any
    /// memory.
    fn open(directory: &Path, files: &LimitFiles, text: &mut ReadBuffer) -> Option<LimitedGroup> {
        let limit = text.of(&directory.join(files.limit)).and_then(cgroup::single)?;
        let open = |name: &str| OpenFile::open(&directory.join(name)).ok();
        let uncounted = || {
            let most = open("memory.max_usage_in_bytes")?;
            Some(UncountedLimit { limit, most, now: open("memory.usage_in_bytes")? })
        };
        let counters = files.counters.iter().filter_map(|name| open(name)).collect();
        (limit < NO_LIMIT).then(|| LimitedGroup {
            counters,
            before: 0,
            pressure: open("memory.pressure"),
            stalled_us_before: 0,
            uncounted: uncounted(),
        })
    }

    fn stalled_ns(&mut self, text: &mut ReadBuffer) -> Option<u64> {
        let now = pressure_some(text.reread(self.pressure.as_ref()?)?)?;
        let since = now.saturating_sub(self.stalled_us_before);
        self.stalled_us_before = self.stalled_us_before.max(now);
        Some(since * 1_000)
    }

    fn hits(&mut self, text: &mut ReadBuffer) -> u64 {
        let mut of_one = |file: &OpenFile| {
            let text = text.reread(file)?;
            cgroup::keyed(text, "max").or_else(|| cgroup::single(text))
        };
        let now: u64 = self.counters.iter().filter_map(&mut of_one).sum();
        if now == 0 {
            let is_met = self.uncounted.as_ref().is_some_and(|one| one.is_met(text));
            return u64::from(is_met);
        }
        let since = now.saturating_sub(self.before);
        self.before = self.before.max(now);
        since
    }
}

impl UncountedLimit {
    /// Whether the memory reached its limit at some time, and is still within 1/16 of it.
    fn is_met(&self, text: &mut ReadBuffer) -> bool {
        let mut used = |file| text.reread(file).and_then(cgroup::single).unwrap_or(0);
        let (most, now) = (used(&self.most), used(&self.now));
        most + BATCH > self.limit && now >= self.limit - self.limit / 16
    }
}

const V2: LimitFiles = LimitFiles { limit: "memory.max", counters: &["memory.events"] };
/// With swap accounting both limits are the same. The kernel checks the one that includes swap
/// first, and counts the hit there.
const V1: LimitFiles = LimitFiles {
    limit: "memory.limit_in_bytes",
    counters: &["memory.failcnt", "memory.memsw.failcnt"],
};
/// The kernel charges 64 pages at once if it can.
const BATCH: u64 = 64 * 4096;
/// One exbibyte. A limit of this size or more means that there is none.
const NO_LIMIT: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use stampede_model::process_group::RoleGroup;

    use super::*;
    use crate::fake::FakeProc;

    fn group(accounting: &[Accounting]) -> ProcessGroup {
        let role = |accounting: &Accounting| RoleGroup {
            role: "php".to_owned(),
            accounting: accounting.clone(),
            roots: Vec::new(),
        };
        ProcessGroup { roles: accounting.iter().map(role).collect() }
    }

    #[test]
    fn the_group_that_holds_all_roles_is_counted_once() {
        let fake = FakeProc::new();
        fake.put("stack/memory.limit_in_bytes", "67108864\n");
        fake.put("stack/memory.failcnt", "5\n");
        for role in ["php", "web"] {
            fake.put(&format!("stack/{role}/memory.limit_in_bytes"), "9223372036854771712\n");
            fake.put(&format!("stack/{role}/memory.failcnt"), "100\n");
        }
        let directory = |name| fake.path().join("stack").join(name);
        let v1 = |name| Accounting::CgroupV1 { cpuacct: None, memory: Some(directory(name)) };
        let mut text = ReadBuffer::default();
        let mut limit = Limit::open(&group(&[v1("php"), v1("web")]), &mut text);
        fake.put("stack/memory.failcnt", "12\n");
        assert_eq!([limit.hits(&mut text), limit.hits(&mut text)], [7, 0]);
    }

    #[test]
    fn cgroup_v2_counts_limit_hits_in_memory_events() {
        let fake = FakeProc::new();
        fake.put("cg/memory.max", "1000\n");
        fake.put("cg/memory.events", "low 0\nhigh 0\nmax 3\noom 0\n");
        let mut text = ReadBuffer::default();
        let mut limit =
            Limit::open(&group(&[Accounting::CgroupV2(fake.path().join("cg"))]), &mut text);
        fake.put("cg/memory.events", "low 0\nhigh 0\nmax 4\noom 0\n");
        assert_eq!(limit.hits(&mut text), 1);
        fake.put("free/memory.max", "max\n");
        fake.put("free/memory.events", "max 3\n");
        let free = group(&[Accounting::CgroupV2(fake.path().join("free"))]);
        assert!(Limit::open(&free, &mut text).groups.is_empty());
    }

    #[test]
    fn stalled_time_is_read_from_the_groups_own_pressure_file() {
        let fake = FakeProc::new();
        let waited = |us: u64| {
            fake.put(
                "stack/memory.pressure",
                &format!("some avg10=0.00 total={us}\nfull avg10=0.00 total=1\n"),
            );
        };
        fake.put("stack/memory.max", "67108864\n");
        waited(1_000);
        let v2 = Accounting::CgroupV2(fake.path().join("stack/php"));
        let mut text = ReadBuffer::default();
        let mut limit = Limit::open(&group(&[v2]), &mut text);
        waited(1_750);
        let stalled = [limit.stalled_ns(&mut text), limit.stalled_ns(&mut text)];
        assert_eq!(stalled, [Some(750_000), Some(0)]);
        assert_eq!(Limit::default().stalled_ns(&mut text), None);
    }

    /// If memsw has the same limit it fails first, and `memory.failcnt` stays at zero.
    #[test]
    fn cgroup_v1_counts_hits_of_the_limit_of_memory_and_swap() {
        let fake = FakeProc::new();
        fake.put("stack/memory.limit_in_bytes", "67108864\n");
        fake.put("stack/memory.failcnt", "0\n");
        fake.put("stack/memory.memsw.failcnt", "2\n");
        let php = fake.path().join("stack/php");
        let v1 = Accounting::CgroupV1 { cpuacct: None, memory: Some(php) };
        let mut text = ReadBuffer::default();
        let mut limit = Limit::open(&group(&[v1]), &mut text);
        fake.put("stack/memory.memsw.failcnt", "9\n");
        assert_eq!([limit.hits(&mut text), limit.hits(&mut text)], [7, 0]);
    }

    #[test]
    fn where_cgroup_v1_counts_nothing_a_reading_at_the_limit_counts_as_a_hit() {
        let fake = FakeProc::new();
        let used = |most: u64, now: u64| {
            fake.put("stack/memory.max_usage_in_bytes", &format!("{}\n", most << 20));
            fake.put("stack/memory.usage_in_bytes", &format!("{}\n", now << 20));
        };
        fake.put("stack/memory.limit_in_bytes", "134217728\n");
        fake.put("stack/memory.failcnt", "0\n");
        used(100, 100);
        let php = fake.path().join("stack/php");
        let v1 = Accounting::CgroupV1 { cpuacct: None, memory: Some(php) };
        let mut text = ReadBuffer::default();
        let mut limit = Limit::open(&group(&[v1]), &mut text);
        let mut hits = |most, now| {
            used(most, now);
            limit.hits(&mut text)
        };
        assert_eq!(hits(127, 127), 0, "it has room");
        assert_eq!([hits(128, 126), hits(128, 124)], [1, 1]);
        assert_eq!(hits(128, 60), 0, "it was met before, and is not now");
    }
}
