//! Reads one role of a stack that runs on this machine: its processes, CPU time, memory and context switches.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use stampede_linux::cgroup;
use stampede_linux::proc::{self, Stat, numbers_in};
use stampede_model::process_group::{Accounting, ProcessGroup, RoleGroup};
use stampede_model::sample::RoleSample;

use super::MonitorError;
use super::process::Tree;
use super::source::{NotShown, OpenFile, ReadBuffer, Sources};
use super::transfer::Transfer;

/// Whether a reading includes the expensive figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryDetail {
    /// Every figure, including proportional memory of single processes.
    Read,
    /// Only figures that a cgroup provides at no cost.
    CgroupOnly,
}

/// Reads one role repeatedly.
#[derive(Debug)]
pub struct LocalRole {
    members: Members,
    cpu: Cpu,
    memory: MemorySource,
    /// `memory.events` (v2) or `memory.oom_control` (v1).
    oom: Option<OpenFile>,
    /// `None` only while it is opened.
    transfer: Option<Transfer>,
    before: PreviousReading,
}

#[derive(Debug)]
enum Members {
    /// `cgroup.procs` of the group and of those within it. Each reading opens the files anew. An
    /// open file of cgroup v1 keeps its first list of processes as long as it is read every second
    /// or more often.
    Listed(Vec<PathBuf>),
    Tree,
}

#[derive(Debug)]
enum Cpu {
    V2(OpenFile),
    V1(OpenFile),
    Processes(Tree),
}

#[derive(Debug)]
enum MemorySource {
    V2(OpenFile),
    /// The second file is `memory.kmem.usage_in_bytes`. Kernels can be built without it.
    V1(OpenFile, Option<OpenFile>),
    Processes,
}

/// The previous reading, from which differences are counted.
#[derive(Debug, Default)]
struct PreviousReading {
    /// The highest value seen. Counters never go back.
    cpu_ns: u64,
    oom_kills: u64,
    /// `None` before the first reading.
    pids: Option<BTreeSet<u32>>,
    /// The counters of each thread.
    threads: BTreeMap<u32, Thread>,
}

/// A thread's counters.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// Pid of its process.
    pid: u32,
    switches: u64,
    /// User and system time in clock ticks; `None`: not read.
    ticks: Option<u64>,
}

/// What the threads of a role did since the previous reading.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadActivity {
    switches: u64,
    /// CPU time of the busiest thread; `None`: not all threads were read.
    cpu_ns_max: Option<u64>,
}

impl LocalRole {
    /// Opens the available files and takes the first reading, from which differences are counted.
    ///
    /// # Errors
    /// [`MonitorError::Unreadable`] if the directory that the keeper named has no list of
    /// processes.
    pub fn open(
        sources: &Sources,
        group: &RoleGroup,
        text: &mut ReadBuffer,
    ) -> Result<LocalRole, MonitorError> {
        let tree = || Tree::new(sources, &group.roots);
        let (members, cpu, memory) = match &group.accounting {
            Accounting::CgroupV2(directory) => {
                let cpu = OpenFile::open(&directory.join("cpu.stat")).map(Cpu::V2);
                let memory = OpenFile::open(&directory.join("memory.stat")).map(MemorySource::V2);
                (Some(directory), cpu, memory)
            }
            Accounting::CgroupV1 { cpuacct, memory } => {
                (cpuacct.as_ref().or(memory.as_ref()), v1_cpu(cpuacct), v1_memory(memory))
            }
            Accounting::Proc | Accounting::Ssh { .. } => {
                (None, Err(io::ErrorKind::NotFound.into()), Err(io::ErrorKind::NotFound.into()))
            }
        };
        let oom = oom_file(&group.accounting);
        let members = match members {
            Some(directory) => Members::Listed(procs_files(&group.role, directory)?),
            None => Members::Tree,
        };
        let mut role = LocalRole {
            members,
            cpu: cpu.unwrap_or_else(|_| Cpu::Processes(tree())),
            memory: memory.unwrap_or(MemorySource::Processes),
            oom: oom.and_then(|path| OpenFile::open(&path).ok()),
            transfer: None,
            before: PreviousReading::default(),
        };
        if matches!((&role.members, &role.cpu), (Members::Tree, Cpu::V1(_) | Cpu::V2(_))) {
            role.cpu = Cpu::Processes(tree());
        }
        let pids: BTreeSet<u32> = match &mut role.cpu {
            Cpu::Processes(tree) => {
                tree.refresh(sources, text);
                role.pids(text)
            }
            Cpu::V1(_) | Cpu::V2(_) => role.pids(text),
        };
        role.transfer = Some(Transfer::open(sources, &group.accounting, &pids));
        role.read(sources, MemoryDetail::CgroupOnly, text);
        Ok(role)
    }

    /// Returns what the role used since the previous reading, and the memory that it holds now.
    pub fn read(
        &mut self,
        sources: &Sources,
        memory: MemoryDetail,
        text: &mut ReadBuffer,
    ) -> RoleSample {
        let cpu_ns = self.cpu(sources, text);
        let pids = self.pids(text);
        let started = self.before.pids.as_ref().map_or(0, |before| pids.difference(before).count());
        let threads = self.threads(sources, &pids, text);
        let memory_bytes = self.memory(sources, &pids, memory, text);
        let oom = self.oom.as_ref().and_then(|file| cgroup::keyed(text.reread(file)?, "oom_kill"));
        let oom_kills = oom.unwrap_or(self.before.oom_kills);
        let transfer = self.transfer.as_mut();
        let (disk, network) = transfer.map_or((None, None), |transfer| {
            (transfer.disk(sources, &pids, text), transfer.network(sources, &pids, text))
        });
        let sample = RoleSample {
            disk,
            network,
            cpu_ns: cpu_ns.saturating_sub(self.before.cpu_ns),
            memory_bytes: memory_bytes.unwrap_or(0),
            memory_read: memory_bytes.is_some(),
            processes: u32::try_from(pids.len()).unwrap_or(u32::MAX),
            started: u32::try_from(started).unwrap_or(u32::MAX),
            context_switches: threads.switches,
            thread_cpu_ns_max: threads.cpu_ns_max,
            oom_kills: oom_kills.saturating_sub(self.before.oom_kills),
        };
        self.before.oom_kills = self.before.oom_kills.max(oom_kills);
        self.before.cpu_ns = self.before.cpu_ns.max(cpu_ns);
        self.before.pids = Some(pids);
        sample
    }

    /// What it transfers. Roles that share a network namespace must not all count its bytes.
    pub fn transfer(&mut self) -> Option<&mut Transfer> {
        self.transfer.as_mut()
    }

    /// The role's processes at the last reading.
    pub fn pids_before(&self) -> Option<&BTreeSet<u32>> {
        self.before.pids.as_ref()
    }

    /// CPU time so far in ns; 0 once the cgroup is gone.
    fn cpu(&mut self, sources: &Sources, text: &mut ReadBuffer) -> u64 {
        match &mut self.cpu {
            Cpu::V2(stat) => {
                let usage = text.reread(stat).and_then(|stat| cgroup::keyed(stat, "usage_usec"));
                usage.unwrap_or(0).saturating_mul(1_000)
            }
            Cpu::V1(usage) => text.reread(usage).and_then(cgroup::single).unwrap_or(0),
            Cpu::Processes(tree) => {
                tree.refresh(sources, text);
                tree.cpu_ns()
            }
        }
    }

    fn pids(&self, text: &mut ReadBuffer) -> BTreeSet<u32> {
        match (&self.members, &self.cpu) {
            (Members::Listed(procs), _) => {
                let mut found = Vec::new();
                for procs in procs {
                    cgroup::add_pids(text.of(procs).unwrap_or(""), &mut found);
                }
                found.into_iter().collect()
            }
            (Members::Tree, Cpu::Processes(tree)) => tree.pids().collect(),
            (Members::Tree, _) => BTreeSet::new(), // `open` excludes this
        }
    }

    /// Returns what the threads did since the previous reading. A thread that appears now counts
    /// from its start if its process is new, and otherwise only from now on.
    fn threads(
        &mut self,
        sources: &Sources,
        pids: &BTreeSet<u32>,
        text: &mut ReadBuffer,
    ) -> ThreadActivity {
        let mut now = BTreeMap::new();
        let mut are_all_read = !pids.is_empty();
        for pid in pids {
            if now.len() >= THREADS_MAX {
                are_all_read = false;
                break;
            }
            let status = text.of(&sources.of_process(*pid, "status"));
            let Some((threads, switches)) = status.and_then(proc::switches) else { continue };
            let task = sources.of_process(*pid, "task");
            let mut add = |thread: u32, switches, text: &mut ReadBuffer| {
                let stat = text.of(&task.join(thread.to_string()).join("stat"));
                let ticks = stat.and_then(Stat::parse).map(|stat| stat.own_ticks);
                now.insert(thread, Thread { pid: *pid, switches, ticks });
                now.len()
            };
            let mut room = THREADS_MAX - add(*pid, switches, text);
            if threads > 1 {
                are_all_read &= threads as usize - 1 <= room;
                for thread in numbers_in(&task).filter(|thread| thread != pid) {
                    if room == 0 {
                        break;
                    }
                    let status = text.of(&task.join(thread.to_string()).join("status"));
                    if let Some((_, switches)) = status.and_then(proc::switches) {
                        room = THREADS_MAX - add(thread, switches, text);
                    }
                }
            }
        }
        are_all_read &= now.values().all(|thread| thread.ticks.is_some());
        let since = self.since(sources, &now);
        self.before.threads = now;
        ThreadActivity { cpu_ns_max: since.cpu_ns_max.filter(|_| are_all_read), ..since }
    }

    fn since(&self, sources: &Sources, now: &BTreeMap<u32, Thread>) -> ThreadActivity {
        let is_new =
            |pid: &u32| self.before.pids.as_ref().is_some_and(|before| !before.contains(pid));
        let mut since = ThreadActivity::default();
        for (id, thread) in now {
            let (switches, ticks) = match self.before.threads.get(id) {
                Some(before) => (before.switches, before.ticks),
                None if is_new(&thread.pid) => (0, Some(0)),
                None => (thread.switches, thread.ticks),
            };
            since.switches += thread.switches.saturating_sub(switches);
            let ticks = thread.ticks.zip(ticks).map(|(now, before)| now.saturating_sub(before));
            let spent = ticks.map(|ticks| sources.ticks_as_ns(ticks));
            since.cpu_ns_max = since.cpu_ns_max.max(spent);
        }
        since
    }

    /// Memory held now in bytes; `None` if it was not read.
    fn memory(
        &self,
        sources: &Sources,
        pids: &BTreeSet<u32>,
        memory: MemoryDetail,
        text: &mut ReadBuffer,
    ) -> Option<u64> {
        match (&self.memory, memory) {
            (MemorySource::V2(stat), _) => cgroup::memory_v2(text.reread(stat)?),
            (MemorySource::V1(stat, kernel), _) => {
                let user = cgroup::memory_v1(text.reread(stat)?)?;
                let kernel = kernel.as_ref().and_then(|kernel| text.reread(kernel));
                Some(user + kernel.and_then(cgroup::single).unwrap_or(0))
            }
            (MemorySource::Processes, MemoryDetail::CgroupOnly) => None,
            (MemorySource::Processes, MemoryDetail::Read) => {
                let mut sum = None;
                for pid in pids {
                    match text.shown(&sources.of_process(*pid, "smaps_rollup")) {
                        Ok(rollup) => {
                            let bytes = proc::proportional_memory(rollup);
                            sum = bytes.map_or(sum, |bytes| Some(sum.unwrap_or(0) + bytes));
                        }
                        Err(NotShown::Ended) => {}
                        // The sum of the others is not the role's memory.
                        Err(NotShown::Refused) => return None,
                    }
                }
                sum
            }
        }
    }
}

fn v1_cpu(directory: &Option<PathBuf>) -> io::Result<Cpu> {
    let directory = directory.as_ref().ok_or(io::ErrorKind::NotFound)?;
    let usage = OpenFile::open(&directory.join("cpuacct.usage"))?;
    Ok(Cpu::V1(usage))
}

fn v1_memory(directory: &Option<PathBuf>) -> io::Result<MemorySource> {
    let directory = directory.as_ref().ok_or(io::ErrorKind::NotFound)?;
    let stat = OpenFile::open(&directory.join("memory.stat"))?;
    Ok(MemorySource::V1(stat, OpenFile::open(&directory.join("memory.kmem.usage_in_bytes")).ok()))
}

/// Returns the file in which the kernel counts the processes that it killed for lack of memory.
fn oom_file(accounting: &Accounting) -> Option<PathBuf> {
    match accounting {
        Accounting::CgroupV2(directory) => Some(directory.join("memory.events")),
        Accounting::CgroupV1 { memory, .. } => {
            memory.as_ref().map(|directory| directory.join("memory.oom_control"))
        }
        Accounting::Proc | Accounting::Ssh { .. } => None,
    }
}

/// Returns how many processes of a stack the kernel has killed for lack of memory since the start;
/// 0 if no counter exists.
pub fn oom_kills(group: &ProcessGroup) -> u64 {
    let files = group.roles.iter().filter_map(|role| oom_file(&role.accounting));
    let below = |file: PathBuf| match file.ends_with("memory.oom_control") {
        // v1 counts each group alone.
        true => files_below(&file),
        false => vec![file],
    };
    let read = |file: PathBuf| cgroup::keyed(&std::fs::read_to_string(file).ok()?, "oom_kill");
    files.flat_map(below).filter_map(read).sum()
}

/// The file, and those of the same name in the groups below.
fn files_below(file: &Path) -> Vec<PathBuf> {
    let mut found = vec![file.to_owned()];
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else { return found };
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && found.len() < GROUPS_MAX {
            found.extend(files_below(&entry.path().join(name)));
        }
    }
    found
}

/// Returns the process lists of a group and of the groups within it. A container with an init of
/// its own has its processes in an inner group.
fn procs_files(role: &str, directory: &Path) -> Result<Vec<PathBuf>, MonitorError> {
    let path = directory.join("cgroup.procs");
    std::fs::File::open(&path).map_err(|source| MonitorError::Unreadable {
        role: role.to_owned(),
        path: path.clone(),
        source,
    })?;
    let mut procs = vec![path];
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if procs.len() >= GROUPS_MAX {
                return Ok(procs);
            }
            procs.push(entry.path().join("cgroup.procs"));
            left.push(entry.path());
        }
    }
    Ok(procs)
}

/// Groups of one role whose processes are counted. A single runtime never has more.
const GROUPS_MAX: usize = 256;
/// Threads of one role whose context switches and CPU time are read. Each costs about 20 µs a
/// second, and the first 64 threads describe a role of busy workers well enough.
const THREADS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use stampede_model::sample::DiskSample;

    use super::*;
    use crate::fake::FakeProc;

    fn group(accounting: Accounting) -> RoleGroup {
        RoleGroup { role: "php".to_owned(), accounting, roots: vec![10] }
    }

    fn open(fake: &FakeProc, accounting: Accounting) -> LocalRole {
        LocalRole::open(&fake.sources(), &group(accounting), &mut ReadBuffer::default())
            .expect("it opens")
    }

    fn read(fake: &FakeProc, role: &mut LocalRole, memory: MemoryDetail) -> RoleSample {
        role.read(&fake.sources(), memory, &mut ReadBuffer::default())
    }

    #[test]
    fn a_cgroup_v2_role() {
        let fake = FakeProc::new();
        fake.put("cg/cpu.stat", "usage_usec 1000\nthrottled_usec 10\n");
        fake.put("cg/memory.stat", "anon 1\nfile 7\nkernel 2\nshmem 4\n");
        fake.put("cg/cgroup.procs", "10\n11\n");
        fake.put("cg/memory.events", "low 0\noom 1\noom_kill 1\n");
        fake.put("cg/io.stat", "8:0 rbytes=10 wbytes=20 rios=1\n");
        fake.figures(10, 100, 0);
        let mut role = open(&fake, Accounting::CgroupV2(fake.path().join("cg")));
        fake.put("cg/io.stat", "8:0 rbytes=14 wbytes=26 rios=1\n");
        fake.put("cg/cpu.stat", "usage_usec 4000\nthrottled_usec 15\n");
        fake.put("cg/cgroup.procs", "10\n12\n13\n");
        fake.put("cg/memory.events", "low 0\noom 3\noom_kill 3\n");
        fake.figures(10, 130, 0);
        fake.figures(12, 5, 0);
        let expected = RoleSample {
            cpu_ns: 3_000_000,
            memory_bytes: 7,
            memory_read: true,
            processes: 3,
            started: 2,
            context_switches: 35,
            // The imitated `/proc` has no files of single threads here.
            thread_cpu_ns_max: None,
            oom_kills: 2,
            disk: Some(DiskSample { read_bytes: 4, written_bytes: 6 }),
            network: None,
        };
        assert_eq!(read(&fake, &mut role, MemoryDetail::CgroupOnly), expected);
    }

    #[test]
    fn processes_of_groups_within_the_group_are_counted() {
        let fake = FakeProc::new();
        fake.put("cg/cpu.stat", "usage_usec 1\n");
        fake.put("cg/cgroup.procs", "");
        fake.put("cg/init.scope/cgroup.procs", "10\n");
        fake.put("cg/system.slice/web.service/cgroup.procs", "11\n12\n");
        let mut role = open(&fake, Accounting::CgroupV2(fake.path().join("cg")));
        assert_eq!(read(&fake, &mut role, MemoryDetail::CgroupOnly).processes, 3);
    }

    #[test]
    fn a_cgroup_v1_role() {
        let fake = FakeProc::new();
        fake.put("acct/cpuacct.usage", "500\n");
        fake.put("acct/cgroup.procs", "10\n");
        fake.put("mem/memory.stat", "total_rss 30\ntotal_shmem 4\ntotal_cache 1000\n");
        fake.put("mem/memory.kmem.usage_in_bytes", "5\n");
        fake.put("mem/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
        let directory = |name| Some(fake.path().join(name));
        let accounting =
            Accounting::CgroupV1 { cpuacct: directory("acct"), memory: directory("mem") };
        let mut role = open(&fake, accounting);
        fake.put("acct/cpuacct.usage", "1800\n");
        fake.put("mem/memory.oom_control", "oom_kill_disable 0\nunder_oom 1\noom_kill 1\n");
        let sample = read(&fake, &mut role, MemoryDetail::CgroupOnly);
        assert_eq!((sample.cpu_ns, sample.memory_bytes, sample.processes), (1300, 39, 1));
        assert_eq!(sample.oom_kills, 1);
    }

    #[test]
    fn v2_without_the_memory_controller_reads_proportional_memory_when_asked() {
        let fake = FakeProc::new();
        fake.put("cg/cpu.stat", "usage_usec 1\n");
        fake.put("cg/cgroup.procs", "10\n11\n12\n");
        fake.figures(10, 0, 3);
        fake.figures(11, 0, 4);
        let mut role = open(&fake, Accounting::CgroupV2(fake.path().join("cg")));
        let dear = read(&fake, &mut role, MemoryDetail::Read);
        assert_eq!((dear.memory_read, dear.memory_bytes), (true, 7 * 1024));
        let cheap = read(&fake, &mut role, MemoryDetail::CgroupOnly);
        assert_eq!((cheap.memory_read, cheap.memory_bytes), (false, 0));
    }

    #[test]
    fn memory_is_not_read_where_one_process_may_not_be_looked_into() {
        let fake = FakeProc::new();
        fake.process(10, 1, [0, 0]);
        fake.process(11, 10, [0, 0]);
        fake.process(12, 10, [0, 0]);
        fake.figures(10, 0, 3);
        fake.figures(11, 0, 4);
        let mut role = open(&fake, Accounting::Proc);
        let read = |fake: &FakeProc, role: &mut LocalRole| {
            let sample = read(fake, role, MemoryDetail::Read);
            (sample.memory_read, sample.memory_bytes)
        };
        assert_eq!(read(&fake, &mut role), (true, 7 * 1024), "12 has just ended");
        // A directory cannot be read either, whoever asks.
        fake.put("12/smaps_rollup/x", "");
        assert_eq!(read(&fake, &mut role), (false, 0));
    }

    #[test]
    fn a_role_without_a_cgroup_sums_its_processes() {
        let fake = FakeProc::new();
        fake.process(10, 1, [50, 0]);
        fake.process(11, 10, [0, 0]);
        fake.figures(10, 7, 1);
        fake.figures(11, 7, 1);
        let mut role = open(&fake, Accounting::Proc);
        fake.process(10, 1, [53, 0]);
        fake.process(11, 10, [4, 0]);
        fake.figures(11, 9, 2);
        let sample = read(&fake, &mut role, MemoryDetail::Read);
        // 7 ticks at 100 per second.
        assert_eq!((sample.cpu_ns, sample.memory_bytes), (70_000_000, 3 * 1024));
        assert_eq!((sample.processes, sample.started, sample.context_switches), (2, 0, 2));
    }

    #[test]
    fn the_busiest_thread_is_reported_only_if_all_threads_were_read() {
        let fake = FakeProc::new();
        let thread = |pid: u32, ticks: u64| {
            let stat = format!("{pid} (php) S 1 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 1 0 0\n");
            fake.put(&format!("{pid}/task/{pid}/stat"), &stat);
        };
        fake.put("cg/cpu.stat", "usage_usec 1\n");
        fake.put("cg/cgroup.procs", "10\n11\n");
        for pid in [10, 11] {
            fake.figures(pid, 0, 0);
            thread(pid, 50);
        }
        let mut role = open(&fake, Accounting::CgroupV2(fake.path().join("cg")));
        thread(10, 53);
        thread(11, 145);
        // 95 ticks at 100 per second.
        let sample = read(&fake, &mut role, MemoryDetail::CgroupOnly);
        assert_eq!(sample.thread_cpu_ns_max, Some(950_000_000));
        // One more process, whose threads cannot be read.
        fake.put("cg/cgroup.procs", "10\n11\n12\n");
        fake.figures(12, 0, 0);
        assert_eq!(read(&fake, &mut role, MemoryDetail::CgroupOnly).thread_cpu_ns_max, None);
    }

    #[test]
    fn a_stack_that_has_ended_reads_as_nothing() {
        let fake = FakeProc::new();
        fake.process(10, 1, [50, 0]);
        fake.figures(10, 7, 1);
        let mut role = open(&fake, Accounting::Proc);
        fake.end(10);
        assert_eq!(read(&fake, &mut role, MemoryDetail::Read), RoleSample::default());
    }

    #[test]
    fn switches_of_threads_are_bounded() {
        let fake = FakeProc::new();
        let pids: Vec<String> = (1..=100).map(|pid| format!("{pid}\n")).collect();
        fake.put("cg/cgroup.procs", &pids.concat());
        (1..=100).for_each(|pid| fake.figures(pid, 0, 0));
        let mut role = open(&fake, Accounting::CgroupV2(fake.path().join("cg")));
        (1..=100).for_each(|pid| fake.figures(pid, 1, 0));
        assert_eq!(read(&fake, &mut role, MemoryDetail::CgroupOnly).context_switches, 64);
    }

    #[test]
    fn a_directory_without_processes_is_an_error_that_names_it() {
        let fake = FakeProc::new();
        let accounting = Accounting::CgroupV2(PathBuf::from("/nowhere/cg"));
        let error =
            LocalRole::open(&fake.sources(), &group(accounting), &mut ReadBuffer::default());
        let error = error.expect_err("there is no such directory").to_string();
        assert_eq!(error, "role `php` cannot be watched at `/nowhere/cg/cgroup.procs`");
    }
}
