//! Parses the kernel's text files into numbers. All functions are pure, and return `None` for
//! missing values.
//!
//! Sources: proc(5), and the kernel's admin guides to cgroup v1, cgroup v2 and PSI.

/// Fields of `/proc/<pid>/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Pid of the parent.
    pub parent: u32,
    /// User and system time of the process's own threads, living and ended, in clock ticks.
    pub own_ticks: u64,
    /// User and system time of the children that it has waited for, and of their children.
    pub reaped_ticks: u64,
    /// Number of threads now.
    pub threads: u32,
    /// Start in clock ticks since boot. It distinguishes a reused pid from its earlier owner.
    pub started_ticks: u64,
}

/// Parses `/proc/<pid>/stat`. The name in parentheses may itself contain blanks and parentheses
/// (`php-fpm: pool (www) x`), so the fields are counted from the last `)`.
pub fn process_stat(text: &str) -> Option<ProcessStat> {
    let (_, after_name) = text.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    // Field numbers are those of proc(5). The state, field 3, is the first field after the name.
    let parent = fields.nth(1)?.parse().ok()?; // 4
    let mut number = |skip: usize| fields.nth(skip)?.parse::<u64>().ok();
    let own_ticks = number(9)? + number(0)?; // 14, 15
    let reaped_ticks = number(0)? + number(0)?; // 16, 17
    let threads = number(2)?.try_into().ok()?; // 20
    let started_ticks = number(1)?; // 22
    Some(ProcessStat { parent, own_ticks, reaped_ticks, threads, started_ticks })
}

/// Returns the CPU time in ns, which is the first of the three numbers of a `schedstat`.
pub fn schedstat(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

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

/// Returns anonymous + shared memory in bytes, divided by the number of its sharers, from
/// `/proc/<pid>/smaps_rollup`. `Pss_Anon` and `Pss_Shmem` exist since Linux 5.9. On older kernels
/// all of `Pss` counts, including mapped files.
pub fn proportional(text: &str) -> Option<u64> {
    let kib = |key: &str| {
        text.lines().find_map(|line| {
            let value = line.strip_prefix(key)?.strip_prefix(':')?.trim();
            value.strip_suffix("kB")?.trim().parse::<u64>().ok()
        })
    };
    let without_files = kib("Pss_Anon").map(|anon| anon + kib("Pss_Shmem").unwrap_or(0));
    without_files.or_else(|| kib("Pss")).map(|kib| kib * 1024)
}

/// Returns the number of threads, and the context switches (voluntary and not) of one thread, from
/// `/proc/<pid>/task/<tid>/status`. The file of a process shows the switches of its first thread.
pub fn switches(text: &str) -> Option<(u32, u64)> {
    let field = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
    };
    let threads = field("Threads:")?.try_into().ok()?;
    Some((threads, field("voluntary_ctxt_switches:")? + field("nonvoluntary_ctxt_switches:")?))
}

/// CPU time of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTicks {
    /// User, nice, system and interrupt time of all CPUs in clock ticks. User time includes guests.
    pub busy: u64,
    /// Idle time and time waiting for I/O.
    pub idle: u64,
    /// Time that the hypervisor gave to others (steal).
    pub steal: u64,
}

/// Parses the first line of `/proc/stat`.
pub fn host_ticks(text: &str) -> Option<HostTicks> {
    let mut fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    let mut next = || fields.next().and_then(|field| field.parse::<u64>().ok());
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    // The line is shorter only on kernels before 2.6.11.
    let [io_wait, hard, soft, steal] = [(); 4].map(|()| next().unwrap_or(0));
    Some(HostTicks { busy: user + nice + system + hard + soft, idle: idle + io_wait, steal })
}

/// Returns `total=` of the `some` line of `/proc/pressure/<resource>` in µs.
pub fn pressure_some(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.rsplit_once("total=")?.1.trim().parse().ok()
}

/// Returns one value of `/proc/net/netstat`. One line has the names and the next line the values.
/// Both begin with the group's name (`TcpExt:`).
pub fn net_value(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_ascii_whitespace().position(|candidate| candidate == name)?;
    values.split_ascii_whitespace().nth(at)?.parse().ok()
}

/// Parses pids, separated by newlines or blanks (`cgroup.procs`, `children`). The result is sorted
/// and has no duplicates, because v1 may list a pid twice. 0 stands for a process outside our PID
/// namespace and is left out.
pub fn pids(text: &str, into: &mut Vec<u32>) {
    into.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    into.retain(|pid| *pid != 0);
    into.sort_unstable();
    into.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// proc(5): 14 utime, 15 stime, 16 cutime, 17 cstime, 20 threads, 22 start time.
    fn stat_line(name: &str) -> String {
        format!(
            "4711 ({name}) S 4700 4711 4711 0 -1 4194560 100 200 3 4 \
             11 22 33 44 20 0 5 0 987654 1000000 250 18446744073709551615 1 1 0 0 0\n"
        )
    }

    #[test]
    fn a_name_with_blanks_and_parentheses_shifts_no_field() {
        let expected = ProcessStat {
            parent: 4700,
            own_ticks: 33,
            reaped_ticks: 77,
            threads: 5,
            started_ticks: 987_654,
        };
        for name in ["nginx", "php-fpm: pool (www) x", ") R 1 (", ""] {
            assert_eq!(process_stat(&stat_line(name)), Some(expected), "{name:?}");
        }
    }

    #[test]
    fn a_truncated_stat_line_is_none() {
        let whole = stat_line("nginx");
        let enough = whole.find("987654").expect("in the line") + 1;
        for end in 0..enough {
            assert_eq!(process_stat(&whole[..end]), None, "{:?}", &whole[..end]);
        }
    }

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
    }

    #[test]
    fn proportional_memory_leaves_mapped_files_out() {
        let text = "55a-7ff ---p 00000000 00:00 0    [rollup]\nRss:    1784 kB\nPss:     269 kB\n\
                    Pss_Anon:    112 kB\nPss_File:    150 kB\nPss_Shmem:     7 kB\n";
        assert_eq!(proportional(text), Some(119 * 1024));
        assert_eq!(proportional("Rss: 10 kB\nPss:     269 kB\n"), Some(269 * 1024));
    }

    #[test]
    fn switches_are_summed() {
        let text = "Name:\tphp-fpm\nThreads:\t3\nvoluntary_ctxt_switches:\t10\n\
                    nonvoluntary_ctxt_switches:\t5\n";
        assert_eq!(switches(text), Some((3, 15)));
    }

    #[test]
    fn the_machine_is_busy_without_steal_and_without_counting_guests_twice() {
        let text = "cpu  100 10 50 1000 20 3 4 7 99 9\ncpu0 1 2 3 4\n";
        assert_eq!(host_ticks(text), Some(HostTicks { busy: 167, idle: 1020, steal: 7 }));
        assert_eq!(host_ticks("cpu0 1 2 3 4\n"), None);
    }

    #[test]
    fn pressure_and_listen_overflows() {
        let text = "some avg10=1.53 avg60=0.99 avg300=1.03 total=25124053\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(pressure_some(text), Some(25_124_053));
        let net = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 22 333\n\
                   IpExt: InNoRoutes ListenDrops\nIpExt: 4 5\n";
        assert_eq!(net_value(net, "TcpExt", "ListenOverflows"), Some(22));
        assert_eq!(net_value(net, "TcpExt", "ListenDrops"), Some(333));
        assert_eq!(net_value(net, "TcpExt", "Absent"), None);
    }

    #[test]
    fn pids_are_sorted_and_counted_once() {
        let mut found = Vec::new();
        pids("30\n0\n7\n30\n", &mut found);
        assert_eq!(found, [7, 30]);
    }
}
