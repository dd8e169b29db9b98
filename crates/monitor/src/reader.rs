//! Takes one complete reading: all roles, the machine, and stampede itself. The caller passes the
//! time.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use stampede_linux::proc::numbers_in;

use stampede_model::process_group::ProcessGroup;
use stampede_model::sample::{OwnSample, ResourceSample, RoleSample};
use stampede_model::time::Nanos;

use super::MonitorError;
use super::host::Host;
use super::limit::Limit;
use super::listeners::Listeners;
use super::local_role::MemoryDetail;
use super::others::{Others, Used};
use super::quota::Quota;
use super::role::Role;
use super::session_locks::SessionLocks;
use super::source::{ReadBuffer, Sources};
use super::workers::{WorkerPattern, WorkerSampler};

/// Takes readings. A counter in a reading is the difference from the previous reading.
#[derive(Debug)]
pub struct Reader {
    sources: Sources,
    roles: Vec<Role>,
    host: Host,
    workers: Option<WorkerSampler>,
    listeners: Listeners,
    session_locks: SessionLocks,
    limit: Limit,
    quota: Quota,
    others: Others,
    text: ReadBuffer,
    read_at: Nanos,
    memory_read_at: Option<Nanos>,
    own: OwnSample,
}

/// Whether more readings follow. The last one includes the expensive figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingPosition {
    /// One of many readings.
    Middle,
    /// The first or the last reading.
    Edge,
}

impl Reader {
    /// Opens all files. Differences are counted from `now`.
    ///
    /// # Errors
    /// [`MonitorError::Unreadable`] if a cgroup of the group is missing.
    pub fn open(
        sources: Sources,
        group: &ProcessGroup,
        now: Nanos,
    ) -> Result<Reader, MonitorError> {
        let mut text = ReadBuffer::default();
        let roles: Result<Vec<Role>, MonitorError> =
            group.roles.iter().map(|role| Role::open(&sources, role, &mut text)).collect();
        let mut roles = roles?;
        count_networks_once(&mut roles);
        let pids = || roles.iter().flat_map(Role::pids_before);
        let allowed = cpus_of_threads(pids().copied().chain(own_threads()));
        let firsts = roles.iter().filter_map(|role| role.pids_before().next().copied());
        Ok(Reader {
            listeners: Listeners::open(&sources, pids()),
            session_locks: SessionLocks::open(&sources),
            workers: None,
            limit: Limit::open(group, &mut text),
            quota: Quota::open(&sources, firsts, &mut text),
            others: Others::begin(&sources, &mut text),
            host: Host::open(&sources, allowed, &mut text),
            roles,
            sources,
            text,
            read_at: now,
            memory_read_at: None,
            own: OwnSample::default(),
        })
    }

    /// Returns a reader that also observes the workers.
    #[must_use]
    pub fn with_workers(mut self, workers: Option<WorkerPattern>) -> Reader {
        self.workers = workers.map(WorkerSampler::new);
        self.find_workers();
        self
    }

    /// Reads the figures that change faster than readings are taken.
    pub fn observe(&mut self) {
        if let Some(workers) = &mut self.workers {
            workers.observe(&mut self.text);
        }
        self.listeners.observe();
        let roles = &self.roles;
        let is_ours = |pid: u32| roles.iter().any(|role| role.pids_before().any(|own| *own == pid));
        self.session_locks.observe(is_ours, &mut self.text);
    }

    /// Finds the workers. This happens once per reading.
    fn find_workers(&mut self) {
        let Some(sampler) = &mut self.workers else { return };
        let theirs = self.roles.iter().filter(|role| role.name == sampler.workers.role);
        let pids = theirs.flat_map(Role::pids_before).copied().collect();
        sampler.find_workers(&self.sources, &pids, &mut self.text);
    }

    /// Takes a reading. `own` is the CPU time so far of the monitor's thread and of all threads.
    pub fn read(
        &mut self,
        now: Nanos,
        own: OwnSample,
        position: ReadingPosition,
    ) -> ResourceSample {
        self.observe();
        let due = self.memory_read_at.is_none_or(|at| now.since(at) >= DEAR_EVERY);
        let memory = match position {
            ReadingPosition::Edge => MemoryDetail::Read,
            ReadingPosition::Middle if due => MemoryDetail::Read,
            ReadingPosition::Middle => MemoryDetail::CgroupOnly,
        };
        if memory == MemoryDetail::Read {
            self.memory_read_at = Some(now);
        }
        let roles = self.read_roles(memory);
        let (sources, text) = (&self.sources, &mut self.text);
        let sample = ResourceSample {
            at_ns: now.0,
            interval_ns: now.since(self.read_at).0,
            roles,
            host: self.host.read(sources, text),
            own: OwnSample {
                monitor_cpu_ns: own.monitor_cpu_ns.saturating_sub(self.own.monitor_cpu_ns),
                cpu_ns: own.cpu_ns.saturating_sub(self.own.cpu_ns),
            },
            workers: self.workers.as_mut().and_then(WorkerSampler::take),
            listeners: self.listeners.take(),
            session_waits: self.session_locks.take(),
            throttled_ns: self.quota.throttled_ns(text),
            budget_throttled_ns: self.quota.budget_throttled_ns(text),
            memory_limit_hits: self.limit.hits(text),
            memory_stalled_ns: self.limit.stalled_ns(text),
            pool: None,
            others: Vec::new(),
            engine: None,
        };
        let used = (position == ReadingPosition::Edge).then(|| self.read_others());
        let Used { others, engine } = used.unwrap_or_default();
        let sample = ResourceSample { others, engine, ..sample };
        self.read_at = now;
        self.own = own;
        self.find_workers();
        sample
    }

    fn read_roles(&mut self, memory: MemoryDetail) -> BTreeMap<String, RoleSample> {
        let mut roles: BTreeMap<String, RoleSample> = BTreeMap::new();
        for role in &mut self.roles {
            let read = role.read(&self.sources, memory, &mut self.text);
            // A role may have several groups, for example two pools of workers.
            match roles.entry(role.name.clone()) {
                Entry::Vacant(place) => {
                    place.insert(read);
                }
                Entry::Occupied(mut known) => add(known.get_mut(), &read),
            }
        }
        roles
    }

    fn read_others(&mut self) -> Used {
        let of_stack: BTreeSet<u32> =
            self.roles.iter().flat_map(Role::pids_before).copied().collect();
        let own = std::process::id();
        let is_ours = |pid: u32| pid == own || of_stack.contains(&pid);
        self.others.used(&self.sources, &mut self.text, is_ours)
    }

    /// Sets the CPU time that stampede had used before the first interval.
    pub fn start_own_at(&mut self, own: OwnSample) {
        self.own = own;
    }
}

/// Containers of one pod have one network: its bytes count for the first role alone.
fn count_networks_once(roles: &mut [Role]) {
    let mut counted = BTreeSet::new();
    for transfer in roles.iter_mut().filter_map(Role::transfer) {
        if transfer.namespace().is_some_and(|namespace| !counted.insert(namespace.clone())) {
            transfer.without_network();
        }
    }
}

/// The threads of stampede. Those that send the load are pinned, so one does not stand for all.
fn own_threads() -> impl Iterator<Item = u32> {
    numbers_in(Path::new("/proc/self/task"))
}

/// The CPUs that any of these threads may run on; `None`: the kernel does not say.
fn cpus_of_threads(threads: impl Iterator<Item = u32>) -> Option<CpuSet> {
    let mut all = CpuSet::new();
    for thread in threads.filter_map(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
        // A thread may have just ended.
        let Ok(of_thread) = sched_getaffinity(Some(thread)) else { continue };
        (0..CpuSet::MAX_CPU).filter(|cpu| of_thread.is_set(*cpu)).for_each(|cpu| all.set(cpu));
    }
    (all.count() > 0).then_some(all)
}

fn add(to: &mut RoleSample, read: &RoleSample) {
    // The struct is taken apart, so that the compiler reports a new field that is missing here.
    let RoleSample {
        cpu_ns,
        memory_bytes,
        memory_read,
        processes,
        started,
        context_switches,
        oom_kills,
        thread_cpu_ns_max,
        disk,
        network,
    } = read;
    to.cpu_ns += cpu_ns;
    to.memory_bytes += memory_bytes;
    to.memory_read |= memory_read;
    to.processes += processes;
    to.started += started;
    to.context_switches += context_switches;
    to.oom_kills += oom_kills;
    if let Some(disk) = disk {
        let all = to.disk.get_or_insert_default();
        all.read_bytes += disk.read_bytes;
        all.written_bytes += disk.written_bytes;
    }
    if let Some(network) = network {
        let all = to.network.get_or_insert_default();
        all.received_bytes += network.received_bytes;
        all.sent_bytes += network.sent_bytes;
    }
    // The maximum is known only if it is known for both.
    to.thread_cpu_ns_max = to.thread_cpu_ns_max.zip(*thread_cpu_ns_max).map(|(a, b)| a.max(b));
}

/// Interval of the expensive figures. For `smaps_rollup` the kernel walks every page of a process,
/// which takes 1 ms for 256 MB.
const DEAR_EVERY: Nanos = Nanos::from_secs(5);

#[cfg(test)]
mod tests {
    use stampede_model::process_group::{Accounting, RoleGroup};

    use super::*;
    use crate::fake::FakeProc;

    fn group() -> ProcessGroup {
        let role =
            RoleGroup { role: "php".to_owned(), accounting: Accounting::Proc, roots: vec![10] };
        ProcessGroup { roles: vec![role] }
    }

    fn own(ns: u64) -> OwnSample {
        OwnSample { monitor_cpu_ns: ns, cpu_ns: 2 * ns }
    }

    #[test]
    fn rows_are_differences() {
        let fake = FakeProc::new();
        fake.process(10, 1, [50, 0]);
        let mut reader = Reader::open(fake.sources(), &group(), Nanos(0)).expect("it opens");
        reader.start_own_at(own(100));
        fake.process(10, 1, [60, 0]);
        let first = reader.read(Nanos::SECOND, own(150), ReadingPosition::Middle);
        fake.process(10, 1, [61, 0]);
        let second = reader.read(Nanos::from_millis(2500), own(160), ReadingPosition::Middle);
        let figures = |sample: &ResourceSample| {
            (sample.at_ns, sample.interval_ns, sample.roles["php"].cpu_ns, sample.own.clone())
        };
        assert_eq!(figures(&first), (1_000_000_000, 1_000_000_000, 100_000_000, own(50)));
        assert_eq!(figures(&second), (2_500_000_000, 1_500_000_000, 10_000_000, own(10)));
    }

    #[test]
    fn processes_that_the_kernel_ended_are_in_the_row() {
        let fake = FakeProc::new();
        fake.put("cg/cpu.stat", "usage_usec 1\n");
        fake.put("cg/cgroup.procs", "10\n");
        fake.put("cg/memory.events", "oom_kill 1\n");
        let accounting = Accounting::CgroupV2(fake.path().join("cg"));
        let group =
            ProcessGroup { roles: vec![RoleGroup { accounting, ..group().roles[0].clone() }] };
        let mut reader = Reader::open(fake.sources(), &group, Nanos(0)).expect("it opens");
        fake.put("cg/memory.events", "oom_kill 4\n");
        let sample = reader.read(Nanos::SECOND, own(0), ReadingPosition::Middle);
        assert_eq!(sample.roles["php"].oom_kills, 3);
    }

    #[test]
    fn groups_of_one_role_are_one_row() {
        let fake = FakeProc::new();
        fake.process(10, 1, [0, 0]);
        fake.process(20, 1, [0, 0]);
        let mut group = group();
        group.roles.push(RoleGroup { roots: vec![20], ..group.roles[0].clone() });
        let mut reader = Reader::open(fake.sources(), &group, Nanos(0)).expect("it opens");
        fake.process(10, 1, [1, 0]);
        fake.process(20, 1, [2, 0]);
        let sample = reader.read(Nanos::SECOND, own(0), ReadingPosition::Middle);
        let php = &sample.roles["php"];
        assert_eq!((sample.roles.len(), php.cpu_ns, php.processes), (1, 30_000_000, 2));
    }

    #[test]
    fn proportional_memory_is_read_every_five_seconds_and_at_the_end() {
        let fake = FakeProc::new();
        fake.process(10, 1, [0, 0]);
        fake.figures(10, 0, 64);
        let mut reader = Reader::open(fake.sources(), &group(), Nanos(0)).expect("it opens");
        let mut read_at = Vec::new();
        for second in 1..=13 {
            let position =
                if second == 13 { ReadingPosition::Edge } else { ReadingPosition::Middle };
            let sample = reader.read(Nanos::from_secs(second), own(0), position);
            let php = &sample.roles["php"];
            assert_eq!(php.memory_bytes, if php.memory_read { 64 * 1024 } else { 0 });
            read_at.extend(php.memory_read.then_some(second));
        }
        assert_eq!(read_at, [1, 6, 11, 13]);
    }
}
