//! Tracks the processes of a role without a cgroup: the roots and their descendants, and the CPU
//! time of all of them, including the ended ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use stampede_linux::proc::{Stat, numbers_in, schedstat};

use super::source::{ReadBuffer, Sources};

/// A process tree over time.
///
/// Its CPU time is what the living processes show for themselves and for the children that they
/// have waited for. The time of a child that ends moves from the first to the second, so nothing is
/// counted twice. If no process of the tree waits for an ended process, its time is remembered
/// here.
#[derive(Debug)]
pub struct Tree {
    roots: Vec<u32>,
    discovery: Discovery,
    known: BTreeMap<u32, Member>,
    /// CPU time of ended processes that no living process of the tree shows.
    retired_ns: u64,
    /// CPU time in `retired_ns` that a parent may still come to show, by the parent's pid. The
    /// parent was read before it waited for the ended child.
    owed_ns: BTreeMap<u32, u64>,
}

impl Tree {
    /// The tree below `roots`. Nothing is read yet.
    pub fn new(sources: &Sources, roots: &[u32]) -> Tree {
        let children_files = roots
            .iter()
            .any(|pid| children_path(sources, *pid, *pid).try_exists().unwrap_or(false));
        let discovery = if children_files { Discovery::ChildrenFiles } else { Discovery::Scan };
        Tree {
            roots: roots.to_vec(),
            discovery,
            known: BTreeMap::new(),
            retired_ns: 0,
            owed_ns: BTreeMap::new(),
        }
    }

    /// Reads all processes again. A process stays a member when its parent ends.
    pub fn refresh(&mut self, sources: &Sources, text: &mut ReadBuffer) {
        let mut now = BTreeMap::new();
        let scanned = match self.discovery {
            Discovery::ChildrenFiles => None,
            Discovery::Scan => Some(parents_of_all(sources, text)),
        };
        // Parents are read before their children. A child that is reaped in between is missing from
        // one reading, and its time is owed. It is never counted twice.
        let mut left: Vec<u32> = self.known.keys().rev().copied().collect();
        left.extend(self.roots.iter().rev());
        while let Some(pid) = left.pop() {
            if now.contains_key(&pid) {
                continue;
            }
            let Some(stat) = Member::read(sources, pid, text) else { continue };
            if self.is_someone_else(pid, &stat, &now) {
                continue;
            }
            now.insert(pid, stat);
            match &scanned {
                Some(all) => left.extend(all.get(&pid).into_iter().flatten()),
                None => children_of(sources, pid, stat.threads, text, &mut left),
            }
        }
        self.settle(&now);
        // The pid of an ended root may be given to a foreign process.
        self.roots.retain(|root| now.contains_key(root));
        self.known = now;
    }

    /// The pids of the living members, ascending.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.known.keys().copied()
    }

    /// User and system time of all members so far, in ns.
    pub fn cpu_ns(&self) -> u64 {
        let living: u64 = self.known.values().map(|one| one.own_ns + one.reaped_ns).sum();
        living + self.retired_ns
    }

    /// Whether a known pid was given to a process outside the tree since the last reading.
    fn is_someone_else(&self, pid: u32, stat: &Member, now: &BTreeMap<u32, Member>) -> bool {
        let reused =
            self.known.get(&pid).is_some_and(|known| known.start_ticks != stat.start_ticks);
        reused && !now.contains_key(&stat.parent)
    }

    /// Accounts for the members that have ended since the last reading.
    fn settle(&mut self, now: &BTreeMap<u32, Member>) {
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        let lives = |pid: u32, stat: &Member| {
            now.get(&pid).is_some_and(|living| living.start_ticks == stat.start_ticks)
        };
        for (pid, ended) in self.known.iter().filter(|(pid, stat)| !lives(**pid, stat)) {
            let spent = ended.own_ns + ended.reaped_ns;
            match self.living_ancestor(*pid, &lives) {
                Some(ancestor) => *expected.entry(ancestor).or_default() += spent,
                None => self.retired_ns += spent,
            }
        }
        for (pid, stat) in now {
            let before = self.known.get(pid).filter(|known| lives(*pid, known));
            let Some(before) = before else { continue };
            let shown = stat.reaped_ns.saturating_sub(before.reaped_ns);
            let awaited = expected.get(pid).copied().unwrap_or(0);
            let missing = awaited.saturating_sub(shown);
            self.retired_ns += missing;
            let owed = self.owed_ns.entry(*pid).or_default();
            let late = shown.saturating_sub(awaited).min(*owed);
            *owed = *owed - late + missing;
            self.retired_ns -= late;
        }
        self.owed_ns.retain(|pid, owed| *owed > 0 && now.contains_key(pid));
    }

    fn living_ancestor(&self, pid: u32, lives: &dyn Fn(u32, &Member) -> bool) -> Option<u32> {
        let mut seen = BTreeSet::from([pid]);
        let mut at = self.known.get(&pid)?.parent;
        while seen.insert(at) {
            let stat = self.known.get(&at)?;
            if lives(at, stat) {
                return Some(at);
            }
            at = stat.parent;
        }
        None
    }
}

/// A process of the tree.
#[derive(Clone, Copy, Debug)]
struct Member {
    parent: u32,
    /// User and system time of the process's own threads, living and ended.
    own_ns: u64,
    /// User and system time of the children that it has waited for, and of their children.
    reaped_ns: u64,
    threads: u32,
    start_ticks: u64,
}

impl Member {
    /// Reads one process. Clock ticks are hundredths of a second, which is too coarse for a worker
    /// with little work. The scheduler's figures are exact, but cover only living threads. Neither
    /// is ever too high, so the larger one is used.
    fn read(sources: &Sources, pid: u32, text: &mut ReadBuffer) -> Option<Member> {
        let stat = read_stat(sources, pid, text)?;
        let ticks_ns = sources.ticks_as_ns(stat.own_ticks);
        Some(Member {
            parent: stat.parent,
            own_ns: ticks_ns.max(scheduled_ns(sources, pid, stat.threads, text)),
            reaped_ns: sources.ticks_as_ns(stat.reaped_ticks),
            threads: stat.threads,
            start_ticks: stat.start_ticks,
        })
    }
}

/// Returns the CPU time of a process's living threads; 0 on kernels without `CONFIG_SCHED_INFO`.
fn scheduled_ns(sources: &Sources, pid: u32, threads: u32, text: &mut ReadBuffer) -> u64 {
    let mut of = |path: &Path| text.of(path).and_then(schedstat).unwrap_or(0);
    match threads {
        1 => of(&sources.of_process(pid, "schedstat")),
        _ => {
            let tasks = sources.of_process(pid, "task");
            let all = numbers_in(&tasks);
            all.map(|thread| of(&tasks.join(thread.to_string()).join("schedstat"))).sum()
        }
    }
}

/// How children are found.
#[derive(Clone, Copy, Debug)]
enum Discovery {
    /// `/proc/<pid>/task/<tid>/children`.
    ChildrenFiles,
    /// Reads the parent of every process of the machine. Used on kernels without
    /// `CONFIG_PROC_CHILDREN`.
    Scan,
}

fn read_stat(sources: &Sources, pid: u32, text: &mut ReadBuffer) -> Option<Stat> {
    Stat::parse(text.of(&sources.of_process(pid, "stat"))?)
}

fn children_path(sources: &Sources, pid: u32, thread: u32) -> std::path::PathBuf {
    sources.of_process(pid, "task").join(thread.to_string()).join("children")
}

/// A child belongs to the thread that forked it, so every thread's file is read.
fn children_of(
    sources: &Sources,
    pid: u32,
    threads: u32,
    text: &mut ReadBuffer,
    into: &mut Vec<u32>,
) {
    let mut take = |thread: u32| {
        let children = text.of(&children_path(sources, pid, thread)).unwrap_or("");
        into.extend(children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    };
    match threads {
        1 => take(pid),
        _ => numbers_in(&sources.of_process(pid, "task")).for_each(take),
    }
}

fn parents_of_all(sources: &Sources, text: &mut ReadBuffer) -> BTreeMap<u32, Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in sources.proc.pids() {
        if let Some(stat) = read_stat(sources, pid, text) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    children
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    /// Reads the tree and returns its CPU time in ticks of 10 ms.
    fn ticks_after(fake: &FakeProc, tree: &mut Tree) -> u64 {
        tree.refresh(&fake.sources(), &mut ReadBuffer::default());
        tree.cpu_ns() / 10_000_000
    }

    fn pids(tree: &Tree) -> Vec<u32> {
        tree.pids().collect()
    }

    #[test]
    fn a_child_that_was_waited_for_is_counted_once() {
        let fake = FakeProc::new();
        fake.process(10, 1, [5, 0]);
        fake.process(11, 10, [7, 0]);
        let mut tree = Tree::new(&fake.sources(), &[10]);
        assert_eq!(ticks_after(&fake, &mut tree), 12);
        assert_eq!(pids(&tree), [10, 11]);
        fake.end(11);
        fake.process(10, 1, [6, 9]); // it ran 2 more ticks before it ended
        assert_eq!(ticks_after(&fake, &mut tree), 15);
        assert_eq!(pids(&tree), [10]);
    }

    #[test]
    fn a_child_that_nobody_waits_for_is_not_forgotten() {
        let fake = FakeProc::new();
        fake.process(10, 1, [5, 0]);
        fake.process(11, 10, [7, 0]);
        let mut tree = Tree::new(&fake.sources(), &[10]);
        assert_eq!(ticks_after(&fake, &mut tree), 12);
        fake.end(11);
        assert_eq!(ticks_after(&fake, &mut tree), 12);
        fake.process(10, 1, [8, 0]);
        assert_eq!(ticks_after(&fake, &mut tree), 15);
    }

    #[test]
    fn a_parent_read_before_it_waited_does_not_count_the_child_twice() {
        let fake = FakeProc::new();
        fake.process(10, 1, [5, 3]);
        fake.process(11, 10, [7, 0]);
        let mut tree = Tree::new(&fake.sources(), &[10]);
        assert_eq!(ticks_after(&fake, &mut tree), 15);
        fake.end(11); // gone, and 10 was read with its old figures
        assert_eq!(ticks_after(&fake, &mut tree), 15);
        fake.process(10, 1, [5, 10]);
        assert_eq!(ticks_after(&fake, &mut tree), 15);
        fake.process(10, 1, [5, 12]); // a child that lived between two readings
        assert_eq!(ticks_after(&fake, &mut tree), 17);
    }

    #[test]
    fn an_orphan_stays_a_member_with_its_cpu_time() {
        let fake = FakeProc::new();
        fake.process(10, 1, [5, 0]);
        fake.process(11, 10, [7, 0]);
        fake.process(12, 11, [1, 0]);
        let mut tree = Tree::new(&fake.sources(), &[10]);
        assert_eq!(ticks_after(&fake, &mut tree), 13);
        fake.end(11);
        fake.process(12, 1, [2, 0]);
        fake.process(10, 1, [5, 7]);
        assert_eq!(ticks_after(&fake, &mut tree), 14);
        assert_eq!(pids(&tree), [10, 12]);
        fake.end(12);
        fake.end(10);
        assert_eq!(ticks_after(&fake, &mut tree), 14);
        assert!(pids(&tree).is_empty());
    }

    #[test]
    fn a_pid_given_to_a_stranger_is_not_a_member() {
        let fake = FakeProc::new();
        fake.process(10, 1, [5, 0]);
        fake.process(11, 10, [7, 0]);
        let mut tree = Tree::new(&fake.sources(), &[10]);
        ticks_after(&fake, &mut tree);
        fake.process(10, 1, [5, 7]);
        fake.process_started_at(11, 1, [900, 0], 777);
        assert_eq!(ticks_after(&fake, &mut tree), 12);
        assert_eq!(pids(&tree), [10]);
    }

    #[test]
    fn without_children_files_the_parent_of_each_process_is_read() {
        let fake = FakeProc::without_children_files();
        fake.process(10, 1, [5, 0]);
        fake.process(11, 10, [7, 0]);
        fake.process(12, 11, [1, 0]);
        fake.process(99, 1, [500, 0]);
        let mut tree = Tree::new(&fake.sources(), &[10]);
        assert_eq!(ticks_after(&fake, &mut tree), 13);
        assert_eq!(pids(&tree), [10, 11, 12]);
    }

    #[test]
    fn less_than_a_tick_is_counted_too() {
        let fake = FakeProc::new();
        fake.process(10, 1, [0, 0]);
        fake.put("10/schedstat", "7300000 120 5\n");
        let mut tree = Tree::new(&fake.sources(), &[10]);
        tree.refresh(&fake.sources(), &mut ReadBuffer::default());
        assert_eq!(tree.cpu_ns(), 7_300_000);
        // The time of ended threads is only in the ticks.
        fake.process(10, 1, [4, 0]);
        tree.refresh(&fake.sources(), &mut ReadBuffer::default());
        assert_eq!(tree.cpu_ns(), 40_000_000);
    }
}
