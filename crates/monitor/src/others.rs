//! Finds the processes of the machine that belong neither to the stack nor to stampede, and the CPU
//! time that they used.
//!
//! All processes are read at both ends of a load, when nothing is in flight. A process that began and
//! ended in between shows only in its parent, once that has waited for it.

use std::collections::BTreeMap;

use stampede_linux::proc::{Stat, numbers_in, process_name};
use stampede_model::sample::OtherProcess;

use super::source::{ReadBuffer, Sources};

/// The processes at the beginning.
#[derive(Debug)]
pub struct Others {
    before: BTreeMap<u32, Process>,
}

#[derive(Debug)]
struct Process {
    name: String,
    parent: u32,
    start_ticks: u64,
    /// CPU time in clock ticks, with that of the children that it has waited for.
    ticks: u64,
}

impl Others {
    /// Reads all processes.
    pub fn begin(sources: &Sources, text: &mut ReadBuffer) -> Others {
        Others { before: processes(sources, text) }
    }

    /// The processes that used most CPU time since the beginning, at most [`MOST`] names, the largest
    /// first, and apart from them those of container engines. Processes of one name are one entry, and so are the threads of the kernel. `is_ours`
    /// says whether a process belongs to the stack or to stampede; its descendants then do too.
    pub fn used(
        &self,
        sources: &Sources,
        text: &mut ReadBuffer,
        is_ours: impl Fn(u32) -> bool,
    ) -> Used {
        let all = processes(sources, text);
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (pid, now) in &all {
            let before = self.before.get(pid).filter(|one| one.start_ticks == now.start_ticks);
            let ticks = now.ticks.saturating_sub(before.map_or(0, |one| one.ticks));
            if ticks > 0 && !ancestry(&all, *pid).any(&is_ours) {
                *by_name.entry(&now.name).or_default() += ticks;
            }
        }
        let mut used: Vec<OtherProcess> = by_name
            .into_iter()
            .map(|(name, ticks)| OtherProcess {
                name: name.to_owned(),
                cpu_ns: sources.ticks_as_ns(ticks),
            })
            .collect();
        used.sort_by_key(|one| std::cmp::Reverse(one.cpu_ns));
        let is_engine = |name: &str| ENGINES.contains(&name);
        let (engine, mut others): (Vec<_>, Vec<_>) =
            used.into_iter().partition(|one| is_engine(&one.name));
        others.truncate(MOST);
        let engine = all.values().any(|one| is_engine(&one.name)).then_some(engine);
        Used { others, engine }
    }
}

/// What other processes used.
#[derive(Debug, Default)]
pub struct Used {
    /// At most [`MOST`] names, the largest first.
    pub others: Vec<OtherProcess>,
    /// Processes of container engines, the largest first; `None`: there is none.
    pub engine: Option<Vec<OtherProcess>>,
}

fn processes(sources: &Sources, text: &mut ReadBuffer) -> BTreeMap<u32, Process> {
    let mut found = BTreeMap::new();
    for pid in numbers_in(&sources.proc.path("")) {
        let Some(text) = text.of(&sources.of_process(pid, "stat")) else { continue };
        let Some((stat, name)) = Stat::parse(text).zip(process_name(text)) else { continue };
        let is_kernel = pid == KERNEL || stat.parent == KERNEL;
        let name = if is_kernel { "the kernel" } else { name }.to_owned();
        let ticks = stat.own_ticks + stat.reaped_ticks;
        found.insert(
            pid,
            Process { name, parent: stat.parent, start_ticks: stat.start_ticks, ticks },
        );
    }
    found
}

/// The pid and those of its ancestors. The table was not read at one moment, so its length is limited.
fn ancestry(all: &BTreeMap<u32, Process>, pid: u32) -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| all.get(pid).map(|one| one.parent).filter(|parent| *parent > 0);
    std::iter::successors(Some(pid), parent).take(DEPTH)
}

/// The most ancestors that are looked at.
const DEPTH: usize = 64;
/// Pid of `kthreadd`, the parent of all threads of the kernel.
const KERNEL: u32 = 2;
/// Names of what runs containers, as the kernel cuts them: at most 15 bytes. What runs in a container
/// has names of its own.
const ENGINES: &[&str] = &[
    "aardvark-dns",
    "conmon",
    "containerd",
    "containerd-shim",
    "crun",
    "docker-proxy",
    "dockerd",
    "fuse-overlayfs",
    "netavark",
    "pasta",
    "podman",
    "rootlesskit",
    "rootlessport",
    "runc",
    "slirp4netns",
    "vpnkit",
];
/// The most names that are kept. A sentence names three of them.
const MOST: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    fn process(fake: &FakeProc, pid: u32, name: &str, parent: u32, [own, reaped]: [u64; 2]) {
        let stat = format!(
            "{pid} ({name}) S {parent} 0 0 0 -1 0 0 0 0 0 {own} 0 {reaped} 0 20 0 1 0 {pid} 0 0\n"
        );
        fake.put(&format!("{pid}/stat"), &stat);
    }

    #[test]
    fn the_largest_are_named_without_the_stacks_own() {
        let fake = FakeProc::new();
        process(&fake, 10, "php-fpm8.2", 1, [5, 0]);
        process(&fake, 20, "chrome", 1, [100, 0]);
        process(&fake, 21, "chrome", 20, [7, 0]);
        process(&fake, 30, "make", 1, [0, 3]);
        process(&fake, 40, "mariadbd", 1, [9, 0]);
        process(&fake, 50, "kworker/0:1", 2, [1, 0]);
        process(&fake, 51, "ksoftirqd/0", 2, [1, 0]);
        let (sources, mut text) = (fake.sources(), ReadBuffer::default());
        let others = Others::begin(&sources, &mut text);
        process(&fake, 10, "php-fpm8.2", 1, [500, 0]);
        process(&fake, 20, "chrome", 1, [110, 0]);
        process(&fake, 21, "chrome", 20, [17, 0]);
        process(&fake, 30, "make", 1, [0, 53]);
        process(&fake, 50, "kworker/0:1", 2, [4, 0]);
        process(&fake, 51, "ksoftirqd/0", 2, [5, 0]);
        // A new process counts from its start.
        process(&fake, 60, "cc1", 30, [6, 0]);
        process(&fake, 61, "sh", 10, [6, 0]);
        let used = others.used(&sources, &mut text, |pid| pid == 10);
        assert_eq!(used.engine, None, "the machine has no engine");
        let used: Vec<_> = used.others.iter().map(|one| (one.name.as_str(), one.cpu_ns)).collect();
        let ms = |ms: u64| ms * 1_000_000;
        assert_eq!(
            used,
            [("make", ms(500)), ("chrome", ms(200)), ("the kernel", ms(70)), ("cc1", ms(60))]
        );
    }

    #[test]
    fn the_engine_is_apart_and_what_runs_in_its_containers_is_not_it() {
        let fake = FakeProc::new();
        process(&fake, 10, "dockerd", 1, [5, 0]);
        process(&fake, 20, "containerd-shim", 1, [1, 0]);
        process(&fake, 21, "nginx", 20, [1, 0]);
        process(&fake, 30, "containerd-shim", 1, [1, 0]);
        process(&fake, 31, "mysqld", 30, [1, 0]);
        let (sources, mut text) = (fake.sources(), ReadBuffer::default());
        let others = Others::begin(&sources, &mut text);
        let idle = others.used(&sources, &mut text, |pid| pid == 21);
        assert_eq!(idle.engine, Some(Vec::new()));
        process(&fake, 10, "dockerd", 1, [7, 2]);
        process(&fake, 20, "containerd-shim", 1, [2, 0]);
        process(&fake, 21, "nginx", 20, [90, 0]);
        process(&fake, 31, "mysqld", 30, [9, 0]);
        process(&fake, 40, "docker-proxy", 10, [3, 0]);
        let used = others.used(&sources, &mut text, |pid| pid == 21);
        let shown = |list: &[OtherProcess]| -> Vec<(String, u64)> {
            list.iter().map(|one| (one.name.clone(), one.cpu_ns / 1_000_000)).collect()
        };
        let named = |name: &str, ms| (name.to_owned(), ms);
        assert_eq!(
            shown(&used.engine.unwrap()),
            [named("dockerd", 40), named("docker-proxy", 30), named("containerd-shim", 10)]
        );
        assert_eq!(shown(&used.others), [named("mysqld", 80)]);
    }

    #[test]
    fn a_pid_that_was_given_to_another_process_counts_from_its_start() {
        let fake = FakeProc::new();
        let stat = |started: u64, own: u64| {
            fake.put(
                "7/stat",
                &format!("7 (a) S 1 0 0 0 -1 0 0 0 0 0 {own} 0 0 0 20 0 1 0 {started} 0 0\n"),
            );
        };
        stat(1, 50);
        let (sources, mut text) = (fake.sources(), ReadBuffer::default());
        let others = Others::begin(&sources, &mut text);
        stat(9, 3);
        assert_eq!(others.used(&sources, &mut text, |_| false).others[0].cpu_ns, 30_000_000);
    }
}
