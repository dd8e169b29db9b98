//! Parses the kernel's texts about the machine; all functions are pure.

use std::collections::BTreeMap;

/// Parses `0-3,8` to ascending numbers (`cpus_allowed_list`, `online`, `thread_siblings_list`).
/// Parts that do not parse are left out.
pub fn cpu_list(text: &str) -> Vec<usize> {
    let mut cpus: Vec<usize> = text
        .trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
        })
        // A machine has fewer CPUs than this; an absurd range must not exhaust the memory.
        .flat_map(|range| range.take(CPUS_MAX))
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Returns the value of `key` in lines like `key : value` (`/proc/cpuinfo`, `/proc/meminfo`,
/// `/proc/self/status`).
pub fn value_of_key<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// Returns `MemTotal` or another value of `/proc/meminfo` in bytes; the file has KiB (written
/// `kB`).
pub fn memory_bytes(text: &str, key: &str) -> Option<u64> {
    let kib: u64 = value_of_key(text, key)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Returns the soft and the hard limit on open files, from `/proc/self/limits`.
pub fn open_files(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let number = |field: &str| match field {
        "unlimited" => Some(u64::MAX),
        field => field.parse().ok(),
    };
    let mut fields = line.split_ascii_whitespace();
    Some((number(fields.next()?)?, number(fields.next()?)?))
}

/// Parses `32768 60999` to the first and last port.
pub fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Returns the choice in brackets: `madvise` of `always [madvise] never`.
pub fn bracketed_choice(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// Returns a value of `/etc/os-release` without its quotes.
pub fn os_value(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// Mount points of the cgroup hierarchies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupMounts {
    /// Mount point of the v2 tree; `None` if it is not mounted.
    pub v2: Option<String>,
    /// v1 controllers with their mount points. Named hierarchies (`name=systemd`) are left out,
    /// because they control nothing.
    pub v1: BTreeMap<String, String>,
}

/// Parses `/proc/mounts` (fstab(5): a space is written as `\040`).
pub fn cgroup_mounts(text: &str) -> CgroupMounts {
    let mut mounts = CgroupMounts::default();
    for line in text.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(place), Some(kind), Some(options)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let place = place.replace("\\040", " ");
        match kind {
            "cgroup2" => mounts.v2 = Some(place),
            "cgroup" => {
                for controller in options.split(',').filter(|name| V1.contains(name)) {
                    mounts.v1.insert(controller.to_owned(), place.clone());
                }
            }
            _ => {}
        }
    }
    mounts
}

/// Linux's own limit: `CONFIG_NR_CPUS` on x86.
const CPUS_MAX: usize = 8192;

/// Controllers of cgroup v1 (the kernel's `Documentation/admin-guide/cgroup-v1`).
const V1: [&str; 14] = [
    "blkio",
    "cpu",
    "cpuacct",
    "cpuset",
    "devices",
    "freezer",
    "hugetlb",
    "memory",
    "misc",
    "net_cls",
    "net_prio",
    "perf_event",
    "pids",
    "rdma",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_list("5,1,1"), [1, 5]);
        assert_eq!(cpu_list("0-99999999999").len(), CPUS_MAX);
        for empty in ["", "\n", "x", "3-", "3-1"] {
            assert!(cpu_list(empty).is_empty(), "{empty:?}");
        }
    }

    #[test]
    fn limits_ports_and_choices() {
        let limits = "Limit           Soft Limit  Hard Limit  Units\n\
                      Max open files  1024        unlimited   files\n";
        assert_eq!(open_files(limits), Some((1024, u64::MAX)));
        assert_eq!(port_range("32768\t60999\n"), Some((32768, 60999)));
        assert_eq!(bracketed_choice("always [madvise] never\n"), Some("madvise"));
        assert_eq!(bracketed_choice("none\n"), None);
    }

    #[test]
    fn values_behind_keys() {
        let text = "model name\t: Some CPU @ 2.80GHz\nMemTotal:       2048 kB\n";
        assert_eq!(value_of_key(text, "model name"), Some("Some CPU @ 2.80GHz"));
        assert_eq!(memory_bytes(text, "MemTotal"), Some(2 << 20));
        let os = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(os_value(os, "PRETTY_NAME").unwrap(), "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(os_value(os, "NAME").unwrap(), "Debian");
    }

    #[test]
    fn a_machine_with_both_versions_of_cgroups() {
        let text = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                    cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n\
                    cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0\n\
                    cgroup2 /sys/fs/cgroup/uni\\040fied cgroup2 rw,relatime 0 0\n";
        let mounts = cgroup_mounts(text);
        assert_eq!(mounts.v2.as_deref(), Some("/sys/fs/cgroup/uni fied"));
        let names: Vec<&str> = mounts.v1.keys().map(String::as_str).collect();
        assert_eq!(names, ["cpu", "cpuacct"]);
        assert_eq!(mounts.v1["cpu"], "/sys/fs/cgroup/cpu,cpuacct");
    }
}
