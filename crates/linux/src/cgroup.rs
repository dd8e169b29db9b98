//! Reads the files of a cgroup directory. The parsers are pure, and return `None` for missing
//! values.
//!
//! Sources: the kernel's admin guides to cgroup v1 and cgroup v2.

use std::fs;
use std::path::Path;

/// Returns the number after `key` in a file of `key value` lines (`cpu.stat`, `memory.stat`).
pub fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok())?
    })
}

/// Parses a file that contains one number.
pub fn single(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Returns anonymous + shared + kernel memory of a cgroup v2 directory in bytes, from
/// `memory.stat`.
///
/// `kernel` exists since Linux 5.18. On older kernels its listed parts are summed. Both leave out
/// socket buffers, as `memory.kmem.usage_in_bytes` of v1 does.
pub fn memory_v2(text: &str) -> Option<u64> {
    let kernel = keyed(text, "kernel").unwrap_or_else(|| {
        let parts = ["kernel_stack", "pagetables", "percpu", "slab"];
        parts.iter().filter_map(|part| keyed(text, part)).sum()
    });
    Some(keyed(text, "anon")? + keyed(text, "shmem").unwrap_or(0) + kernel)
}

/// Returns anonymous + shared memory of a cgroup v1 directory and those below it in bytes, from
/// `memory.stat`. v1 calls anonymous memory `rss`. Kernel memory is in a separate file.
pub fn memory_v1(text: &str) -> Option<u64> {
    let with_below = |total: &str, alone: &str| keyed(text, total).or_else(|| keyed(text, alone));
    Some(with_below("total_rss", "rss")? + with_below("total_shmem", "shmem").unwrap_or(0))
}

/// Adds the pids of a `cgroup.procs`. The result is sorted and has no duplicates, because v1 may
/// list a pid twice. 0 stands for a process outside our PID namespace and is left out.
pub fn add_pids(text: &str, into: &mut Vec<u32>) {
    into.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    into.retain(|pid| *pid != 0);
    into.sort_unstable();
    into.dedup();
}

/// The pids in a group now, without those in groups below it; `None`: there is no such group.
pub fn pids(directory: &Path) -> Option<Vec<u32>> {
    let text = fs::read_to_string(directory.join("cgroup.procs")).ok()?;
    let mut found = Vec::new();
    add_pids(&text, &mut found);
    Some(found)
}

/// The pids in a group and in all groups below it now; empty: there is no such group.
pub fn pids_with_below(directory: &Path) -> Vec<u32> {
    let mut found = pids(directory).unwrap_or_default();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(pids_with_below(&entry.path()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroup_v2_memory_is_anon_and_shmem_and_kernel() {
        let text = "anon 1000\nfile 5000000\nkernel 300\nkernel_stack 16\nshmem 20\nsock 7\n";
        assert_eq!(memory_v2(text), Some(1320));
    }

    #[test]
    fn before_linux_5_18_the_kernel_part_is_summed() {
        let text = "anon 1000\nfile 5\nkernel_stack 1\npagetables 2\npercpu 4\nshmem 20\nslab 8\n";
        assert_eq!(memory_v2(text), Some(1035));
        assert_eq!(memory_v2("file 5\n"), None);
    }

    #[test]
    fn cgroup_v1_memory_counts_the_directories_below() {
        let text = "cache 9\nrss 10\nshmem 1\ntotal_cache 90\ntotal_rss 100\ntotal_shmem 11\n";
        assert_eq!(memory_v1(text), Some(111));
        assert_eq!(memory_v1("cache 9\nrss 10\nshmem 1\n"), Some(11));
    }

    #[test]
    fn cpu_stat_of_v2() {
        let text = "usage_usec 123456\nuser_usec 1\nnr_throttled 2\nthrottled_usec 777\n";
        assert_eq!(keyed(text, "usage_usec"), Some(123_456));
        assert_eq!(keyed(text, "throttled_usec"), Some(777));
        assert_eq!(keyed(text, "usage"), None);
        assert_eq!((single("4096\n"), single("max\n")), (Some(4096), None));
    }

    #[test]
    fn pids_are_sorted_and_counted_once() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(pids(directory.path()), None);
        fs::write(directory.path().join("cgroup.procs"), "30\n0\n7\n30\n").unwrap();
        assert_eq!(pids(directory.path()), Some(vec![7, 30]));
    }
}
