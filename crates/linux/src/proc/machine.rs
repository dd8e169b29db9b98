//! Parses the files about the machine. All functions are pure, and return `None` for missing
//! values.
//!
//! Sources: proc(5), and the kernel's `Documentation/accounting/psi.rst`.

/// CPU time of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTicks {
    /// User, nice, system and interrupt time of all CPUs in clock ticks. User time includes guests.
    pub busy: u64,
    /// The part of `busy` that was spent in interrupts. Kernels with exact accounting of interrupts
    /// charge it to no process.
    pub interrupts: u64,
    /// Idle time and time waiting for I/O.
    pub idle: u64,
    /// Time that the hypervisor gave to others (steal).
    pub steal: u64,
}

impl HostTicks {
    /// Parses the first line of `/proc/stat`.
    pub fn parse(text: &str) -> Option<HostTicks> {
        HostTicks::of_line(text.lines().next()?.strip_prefix("cpu ")?)
    }

    /// Parses the lines of single CPUs (`cpu3 …`): their sum for those for which `counts` holds.
    pub fn of_cpus(text: &str, counts: impl Fn(usize) -> bool) -> HostTicks {
        let mut sum = HostTicks::default();
        for line in text.lines().filter_map(|line| line.strip_prefix("cpu")) {
            let Some((cpu, fields)) = line.split_once(' ') else { continue };
            let is_counted = cpu.parse().is_ok_and(&counts);
            let Some(ticks) = HostTicks::of_line(fields).filter(|_| is_counted) else { continue };
            sum.busy += ticks.busy;
            sum.interrupts += ticks.interrupts;
            sum.idle += ticks.idle;
            sum.steal += ticks.steal;
        }
        sum
    }

    fn of_line(fields: &str) -> Option<HostTicks> {
        let mut fields = fields.split_ascii_whitespace();
        let mut next = || fields.next().and_then(|field| field.parse::<u64>().ok());
        let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
        // The line is shorter only on kernels before 2.6.11.
        let [io_wait, hard, soft, steal] = [(); 4].map(|()| next().unwrap_or(0));
        let interrupts = hard + soft;
        let busy = user + nice + system + interrupts;
        Some(HostTicks { busy, interrupts, idle: idle + io_wait, steal })
    }
}

/// Returns `total=` of the `some` line of `/proc/pressure/<resource>`, or of a cgroup's
/// `memory.pressure`, in µs.
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

/// Returns the value of `key` in lines like `key : value` (`/proc/cpuinfo`, `/proc/meminfo`,
/// `/proc/<pid>/status`).
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

/// Parses `32768 60999` to the first and last port (`net/ipv4/ip_local_port_range`).
pub fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Returns the load average of the last minute, from `/proc/loadavg`.
pub fn load_average_1min(text: &str) -> Option<f64> {
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_busy_without_steal_and_without_counting_guests_twice() {
        let text = "cpu  100 10 50 1000 20 3 4 7 99 9\ncpu0 1 2 3 4\n";
        let ticks = HostTicks { busy: 167, interrupts: 7, idle: 1020, steal: 7 };
        assert_eq!(HostTicks::parse(text), Some(ticks));
        let each = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8\ncpu1 10 20 30 40 50 60 70 80\n\
                    cpu2 100 0 0 0 0 0 0 0\nintr 7\n";
        let ticks = HostTicks { busy: 119, interrupts: 13, idle: 9, steal: 8 };
        assert_eq!(HostTicks::of_cpus(each, |cpu| cpu != 1), ticks);
        assert_eq!(HostTicks::of_cpus(each, |_| false), HostTicks::default());
        assert_eq!(HostTicks::parse("cpu0 1 2 3 4\n"), None);
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
    fn values_behind_keys() {
        let text = "model name\t: Some CPU @ 2.80GHz\nMemTotal:       2048 kB\n";
        assert_eq!(value_of_key(text, "model name"), Some("Some CPU @ 2.80GHz"));
        assert_eq!(memory_bytes(text, "MemTotal"), Some(2 << 20));
        assert_eq!(memory_bytes(text, "MemFree"), None);
    }

    #[test]
    fn ports_and_load() {
        assert_eq!(port_range("32768\t60999\n"), Some((32768, 60999)));
        assert_eq!(port_range("32768\n"), None);
        assert_eq!(load_average_1min("0.08 0.03 0.01 1/200 4711\n"), Some(0.08));
        assert_eq!(load_average_1min(""), None);
    }
}
