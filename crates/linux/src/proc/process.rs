//! Parses the files of one process. All functions are pure, and return `None` for missing values.

use std::ffi::c_long;

use super::machine::value_of_key;

/// Fields of `/proc/<pid>/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// State of the process, one letter.
    pub state: u8,
    /// Pid of the parent.
    pub parent: u32,
    /// User and system time of the process's own threads, living and ended, in clock ticks.
    pub own_ticks: u64,
    /// User and system time of the children that it has waited for, and of their children.
    pub reaped_ticks: u64,
    /// Number of threads now.
    pub threads: u32,
    /// Start in clock ticks since boot. It distinguishes a reused pid from its earlier owner.
    pub start_ticks: u64,
}

/// Returns the name of a process from `/proc/<pid>/stat`, where it stands in parentheses: at most 15
/// bytes, which may themselves be blanks and parentheses.
pub fn process_name(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once(')')?;
    before.split_once('(').map(|(_, name)| name)
}

impl Stat {
    /// Parses the file. The name in parentheses may itself contain blanks and parentheses
    /// (`php-fpm: pool (www) x`), so the fields are counted from the last `)`.
    pub fn parse(text: &str) -> Option<Stat> {
        let (_, after_name) = text.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace();
        // Field numbers are those of proc(5). The state, field 3, is the first after the name.
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?; // 4
        let mut number = |skip: usize| fields.nth(skip)?.parse::<u64>().ok();
        let own_ticks = number(9)? + number(0)?; // 14, 15
        let reaped_ticks = number(0)? + number(0)?; // 16, 17
        let threads = number(2)?.try_into().ok()?; // 20
        let start_ticks = number(1)?; // 22
        Some(Stat { state, parent, own_ticks, reaped_ticks, threads, start_ticks })
    }

    /// Whether the process is a zombie or about to be one. It cannot be killed, only reaped.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Whether the process has work: it runs, waits for a CPU, or waits for a disk.
    pub fn is_busy(&self) -> bool {
        matches!(self.state, b'R' | b'D')
    }
}

/// Returns the CPU time in ns, which is the first of the three numbers of a `schedstat`.
pub fn schedstat(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns anonymous + shared memory in bytes, divided by the number of its sharers, from
/// `/proc/<pid>/smaps_rollup`. `Pss_Anon` and `Pss_Shmem` exist since Linux 5.9. On older kernels
/// all of `Pss` counts, including mapped files.
pub fn proportional_memory(text: &str) -> Option<u64> {
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

/// Returns the pids of a process from `/proc/<pid>/status`: first the one in the namespace of
/// `/proc`, last the one in its own. Empty: the kernel is older than 4.1.
pub fn namespace_pids(text: &str) -> Vec<u32> {
    let pids = value_of_key(text, "NSpid").unwrap_or_default();
    pids.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Returns the soft and the hard limit on open files, from `/proc/<pid>/limits`.
pub fn open_files(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let number = |field: &str| match field {
        "unlimited" => Some(u64::MAX),
        field => field.parse().ok(),
    };
    let mut fields = line.split_ascii_whitespace();
    Some((number(fields.next()?)?, number(fields.next()?)?))
}

/// What a process or thread does, from `/proc/<pid>/syscall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemCall {
    /// It runs, or waits for a CPU.
    Running,
    /// It waits in a system call; -1: blocked in no call, as in a page fault.
    In(c_long),
}

impl SystemCall {
    /// Parses `running`, or the call's number and its arguments.
    pub fn parse(text: &str) -> Option<SystemCall> {
        match text.split_ascii_whitespace().next()? {
            "running" => Some(SystemCall::Running),
            call => call.parse().ok().map(SystemCall::In),
        }
    }
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
        let expected = Stat {
            state: b'S',
            parent: 4700,
            own_ticks: 33,
            reaped_ticks: 77,
            threads: 5,
            start_ticks: 987_654,
        };
        for name in ["nginx", "php-fpm: pool (www) x", ") R 1 (", "(a) b (c)", ""] {
            assert_eq!(Stat::parse(&stat_line(name)), Some(expected), "{name:?}");
        }
        assert!(!expected.is_dead() && !expected.is_busy());
        assert!(Stat { state: b'Z', ..expected }.is_dead());
        assert!(Stat { state: b'D', ..expected }.is_busy());
    }

    #[test]
    fn a_truncated_stat_line_is_none() {
        let whole = stat_line("nginx");
        let enough = whole.find("987654").expect("in the line") + 1;
        for end in 0..enough {
            assert_eq!(Stat::parse(&whole[..end]), None, "{:?}", &whole[..end]);
        }
    }

    #[test]
    fn proportional_memory_leaves_mapped_files_out() {
        let text = "55a-7ff ---p 00000000 00:00 0    [rollup]\nRss:    1784 kB\nPss:     269 kB\n\
                    Pss_Anon:    112 kB\nPss_File:    150 kB\nPss_Shmem:     7 kB\n";
        assert_eq!(proportional_memory(text), Some(119 * 1024));
        assert_eq!(proportional_memory("Rss: 10 kB\nPss:     269 kB\n"), Some(269 * 1024));
    }

    #[test]
    fn switches_are_summed() {
        let text = "Name:\tphp-fpm\nThreads:\t3\nvoluntary_ctxt_switches:\t10\n\
                    nonvoluntary_ctxt_switches:\t5\n";
        assert_eq!(switches(text), Some((3, 15)));
    }

    #[test]
    fn the_pid_in_the_innermost_namespace_is_the_last() {
        assert_eq!(namespace_pids("Name:\tx\nNSpid:\t4711\t12\t3\n"), [4711, 12, 3]);
        assert_eq!(namespace_pids("Name:\tx\nNSpid:\t4711\n"), [4711]);
        assert_eq!(namespace_pids("Name:\tx\n"), []);
    }

    #[test]
    fn limits_calls_and_cpu_times() {
        let limits = "Limit           Soft Limit  Hard Limit  Units\n\
                      Max open files  1024        unlimited   files\n";
        assert_eq!(open_files(limits), Some((1024, u64::MAX)));
        assert_eq!(SystemCall::parse("running\n"), Some(SystemCall::Running));
        assert_eq!(SystemCall::parse("288 0x3 0x7ffd 0x0\n"), Some(SystemCall::In(288)));
        assert_eq!(SystemCall::parse("-1 0x7ffd 0x55\n"), Some(SystemCall::In(-1)));
        assert_eq!(SystemCall::parse(""), None);
        assert_eq!(schedstat("7300000 120 5\n"), Some(7_300_000));
    }
}
