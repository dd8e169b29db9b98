//! Divides the CPUs between the stack and the load generator.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rustix::process::Pid;
use rustix::thread::CpuSet;
use stampede_linux::cpu_list;
use stampede_linux::proc::Proc;

use super::error::KeeperError;

/// How the CPUs of this machine are divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSplit {
    /// CPUs of the whole stack, ascending.
    pub stack: Vec<usize>,
    /// CPUs of the load threads and of stampede itself, ascending.
    pub load: Vec<usize>,
    /// What `stack` and `load` have in common.
    pub shared: Sharing,
}

/// What stack and load have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// They share no CPU and no physical core.
    Apart,
    /// They share a physical core with two hardware threads: each has one of them.
    Cores,
    /// They share CPUs, because there are not enough for both.
    Cpus,
}

/// Divides the CPUs that this process may use. These are its affinity at the first call, which
/// already lies inside its cgroup's CPU set. The stack gets `wanted` CPUs, or half of them if
/// `wanted` is 0.
pub fn split_cpus(wanted: u32) -> CpuSplit {
    let allowed = allowed();
    split(allowed, &cores(allowed, Path::new("/sys/devices/system/cpu")), wanted)
}

/// Puts stampede and all its threads on `cpus`. Threads that start later inherit the affinity.
///
/// # Errors
/// The kernel refuses: none of the CPUs exists, or none is allowed here.
pub fn place_self(cpus: &[usize]) -> Result<(), KeeperError> {
    // Remembers the affinity before it shrinks, so that a later `split_cpus` divides the same CPUs.
    allowed();
    let set = cpu_set(cpus);
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|error| KeeperError::Affinity(error.into()))?;
    for thread in Proc::default().own_threads().map_err(KeeperError::Affinity)? {
        // A thread may end during this walk.
        if let Some(thread) = i32::try_from(thread).ok().and_then(Pid::from_raw) {
            let _ = rustix::thread::sched_setaffinity(Some(thread), &set);
        }
    }
    Ok(())
}

/// The affinity at the first call.
pub(super) fn allowed() -> &'static [usize] {
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    ALLOWED.get_or_init(|| match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        Err(_) => vec![0],
    })
}

/// Returns the set for the kernel. Empty `cpus` set every CPU that a set can hold, and the kernel
/// keeps those that exist and are allowed.
pub(super) fn cpu_set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    if cpus.is_empty() {
        (0..CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    }
    cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU).for_each(|&cpu| set.set(cpu));
    set
}

/// Groups the CPUs in `allowed` by core. Cores are in the order of their first CPU.
fn cores(allowed: &[usize], directory: &Path) -> Vec<Vec<usize>> {
    let mut placed = BTreeSet::new();
    let mut cores = Vec::new();
    for &cpu in allowed {
        if placed.contains(&cpu) {
            continue;
        }
        let path = directory.join(format!("cpu{cpu}/topology/thread_siblings_list"));
        let siblings =
            fs::read_to_string(path).map(|text| cpu_list::parse(&text)).unwrap_or_default();
        let mut core: Vec<usize> =
            siblings.into_iter().filter(|one| allowed.contains(one)).collect();
        if !core.contains(&cpu) {
            core = vec![cpu];
        }
        placed.extend(core.iter().copied());
        cores.push(core);
    }
    cores
}

/// Gives the stack whole cores, starting with the last core. Interrupts and other system work tend
/// to use the first cores. That work should disturb the load generator rather than the runtime.
fn split(allowed: &[usize], cores: &[Vec<usize>], wanted: u32) -> CpuSplit {
    let wanted = match wanted {
        0 => (allowed.len() / 2).max(1),
        n => (n as usize).min(allowed.len()),
    };
    let mut stack = BTreeSet::new();
    for core in cores.iter().rev() {
        for &cpu in core {
            if stack.len() < wanted {
                stack.insert(cpu);
            }
        }
    }
    let stack_cores: Vec<_> =
        cores.iter().filter(|core| core.iter().any(|cpu| stack.contains(cpu))).collect();
    let rest: Vec<usize> = allowed.iter().copied().filter(|cpu| !stack.contains(cpu)).collect();
    let beside = |cpu: &usize| stack_cores.iter().any(|core| core.contains(cpu));
    let apart: Vec<usize> = rest.iter().copied().filter(|cpu| !beside(cpu)).collect();
    let (load, shared) = match (apart.is_empty(), rest.is_empty()) {
        (false, _) => (apart, Sharing::Apart),
        (true, false) => (rest, Sharing::Cores),
        (true, true) => (allowed.to_vec(), Sharing::Cpus),
    };
    CpuSplit { stack: stack.into_iter().collect(), load, shared }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(count: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
        ((0..count).collect(), (0..count).map(|cpu| vec![cpu]).collect())
    }

    #[test]
    fn a_single_cpu_is_recorded_as_shared() {
        let (allowed, cores) = plain(1);
        let split = split(&allowed, &cores, 0);
        assert_eq!(split, CpuSplit { stack: vec![0], load: vec![0], shared: Sharing::Cpus });
        assert_ne!(split.shared, Sharing::Apart);
    }

    #[test]
    fn of_two_cpus_stack_and_load_get_one_each() {
        let (allowed, cores) = plain(2);
        let split = split(&allowed, &cores, 0);
        assert_eq!(split, CpuSplit { stack: vec![1], load: vec![0], shared: Sharing::Apart });
    }

    /// Returns four cores of two threads each, numbered as Linux does: 0 and 4 are one core.
    fn smt() -> (Vec<usize>, Vec<Vec<usize>>) {
        ((0..8).collect(), (0..4).map(|core| vec![core, core + 4]).collect())
    }

    #[test]
    fn the_stack_gets_whole_cores() {
        let (allowed, cores) = smt();
        let split = split(&allowed, &cores, 4);
        assert_eq!(split.stack, [2, 3, 6, 7]);
        assert_eq!(split.load, [0, 1, 4, 5]);
        assert_eq!(split.shared, Sharing::Apart);
    }

    #[test]
    fn a_sibling_thread_stays_idle_while_other_cores_are_free() {
        let (allowed, cores) = smt();
        let split = split(&allowed, &cores, 1);
        assert_eq!(split.stack, [3]);
        assert_eq!(split.load, [0, 1, 2, 4, 5, 6]);
    }

    #[test]
    fn one_core_of_two_threads_is_shared_by_halves() {
        let split = split(&[0, 1], &[vec![0, 1]], 1);
        assert_eq!(split, CpuSplit { stack: vec![0], load: vec![1], shared: Sharing::Cores });
    }

    #[test]
    fn siblings_outside_the_affinity_are_not_used() {
        let directory = tempfile::tempdir().unwrap();
        for cpu in [1, 3] {
            let topology = directory.path().join(format!("cpu{cpu}/topology"));
            fs::create_dir_all(&topology).unwrap();
            fs::write(topology.join("thread_siblings_list"), format!("{cpu},{}\n", cpu + 4))
                .unwrap();
        }
        assert_eq!(cores(&[1, 3, 7], directory.path()), [vec![1], vec![3, 7]]);
    }

    proptest! {
        #[test]
        fn every_split_is_inside_the_allowed_cpus(count in 1_usize..64, threads in 1_usize..3, wanted in 0_u32..70) {
            let allowed: Vec<usize> = (0..count).collect();
            let cores: Vec<Vec<usize>> = allowed.chunks(threads).map(<[usize]>::to_vec).collect();
            let split = split(&allowed, &cores, wanted);
            prop_assert!(!split.stack.is_empty() && !split.load.is_empty());
            prop_assert!(split.stack.iter().chain(&split.load).all(|cpu| allowed.contains(cpu)));
            let common = split.stack.iter().any(|cpu| split.load.contains(cpu));
            prop_assert_eq!(common, split.shared == Sharing::Cpus);
            if wanted > 0 {
                prop_assert_eq!(split.stack.len(), (wanted as usize).min(count));
            }
        }
    }
}
