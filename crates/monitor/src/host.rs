//! Samples the machine during a load: CPU use, steal, pressure, and overflows of listen queues.

use std::collections::BTreeMap;

use rustix::thread::CpuSet;
use stampede_linux::proc::{HostTicks, net_value, pressure_some};
use stampede_model::sample::{AllowedCpus, HostSample};

use super::source::{OpenFile, ReadBuffer, Sources};

/// Reads the machine's counters. A counter that the kernel lacks stays zero or empty.
#[derive(Debug)]
pub struct Host {
    stat: Option<OpenFile>,
    net: Option<OpenFile>,
    pressure: Vec<(&'static str, OpenFile)>,
    /// The CPUs that the stack and stampede may run on.
    allowed: Option<CpuSet>,
    before: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    ticks: HostTicks,
    of_allowed: HostTicks,
    overflows: u64,
    drops: u64,
    delayed_acks: u64,
    pressure_us: BTreeMap<&'static str, u64>,
}

impl Host {
    /// Opens the available files. Differences are counted from now. `allowed`: the CPUs that the stack
    /// and stampede may run on; `None`: not all of them are known.
    pub fn open(sources: &Sources, allowed: Option<CpuSet>, text: &mut ReadBuffer) -> Host {
        let open = |name: &str| OpenFile::open(&sources.proc.path(name)).ok();
        let pressure = RESOURCES
            .into_iter()
            .filter_map(|name| Some((name, open(&format!("pressure/{name}"))?)))
            .collect();
        let mut host = Host {
            stat: open("stat"),
            net: open("net/netstat"),
            pressure,
            allowed,
            before: Counters::default(),
        };
        host.before = host.counters(text);
        host
    }

    /// Returns the changes since the previous reading.
    pub fn read(&mut self, sources: &Sources, text: &mut ReadBuffer) -> HostSample {
        let now = self.counters(text);
        let before = &self.before;
        let ns = |now: u64, before: u64| sources.ticks_as_ns(now.saturating_sub(before));
        let pressure_some_ns = now
            .pressure_us
            .iter()
            .map(|(name, us)| {
                let before = before.pressure_us.get(name).copied().unwrap_or(*us);
                ((*name).to_owned(), us.saturating_sub(before).saturating_mul(1_000))
            })
            .collect();
        let sample = HostSample {
            cpu_busy_ns: ns(now.ticks.busy, before.ticks.busy),
            allowed: self.allowed.map(|allowed| AllowedCpus {
                cpus: allowed.count(),
                busy_ns: ns(now.of_allowed.busy, before.of_allowed.busy),
                interrupt_ns: ns(now.of_allowed.interrupts, before.of_allowed.interrupts),
                steal_ns: ns(now.of_allowed.steal, before.of_allowed.steal),
            }),
            steal_ns: ns(now.ticks.steal, before.ticks.steal),
            pressure_some_ns,
            listen_overflows: now.overflows.saturating_sub(before.overflows),
            listen_drops: now.drops.saturating_sub(before.drops),
            delayed_acks: now.delayed_acks.saturating_sub(before.delayed_acks),
        };
        self.before = now;
        sample
    }

    fn counters(&self, text: &mut ReadBuffer) -> Counters {
        let stat = self.stat.as_ref().and_then(|file| text.reread(file)).unwrap_or("");
        let ticks = HostTicks::parse(stat);
        let allowed = self.allowed;
        let of_allowed = allowed
            .map(|set| HostTicks::of_cpus(stat, |cpu| cpu < CpuSet::MAX_CPU && set.is_set(cpu)));
        let net = self.net.as_ref().and_then(|file| text.reread(file)).unwrap_or("");
        let value = |name| net_value(net, "TcpExt", name).unwrap_or(0);
        let (overflows, drops) = (value("ListenOverflows"), value("ListenDrops"));
        let delayed_acks = value("DelayedACKs");
        let mut some = |(name, file): &(&'static str, OpenFile)| {
            Some((*name, pressure_some(text.reread(file)?)?))
        };
        let pressure_us = self.pressure.iter().filter_map(&mut some).collect();
        let (ticks, of_allowed) = (ticks.unwrap_or_default(), of_allowed.unwrap_or_default());
        Counters { ticks, of_allowed, overflows, drops, delayed_acks, pressure_us }
    }
}

/// The resources of PSI (the kernel's `Documentation/accounting/psi.rst`).
const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn the_machine_is_read_as_differences() {
        let fake = FakeProc::new();
        let net = |overflows: u32, drops: u32| {
            let names = "TcpExt: DelayedACKs ListenOverflows ListenDrops";
            let values = format!("{} {overflows} {drops}", 10 * drops);
            fake.put("net/netstat", &format!("{names}\nTcpExt: {values}\n"));
        };
        let some = |us: u32| {
            fake.put("pressure/cpu", &format!("some avg10=0.00 total={us}\nfull total=1\n"));
        };
        fake.put("stat", "cpu  100 0 50 900 0 0 0 4\ncpu1 0 0 0 9 0 0 0 0\n");
        net(3, 5);
        some(70);
        let mut text = ReadBuffer::default();
        let mut allowed = CpuSet::new();
        allowed.set(1);
        let mut host = Host::open(&fake.sources(), Some(allowed), &mut text);
        fake.put("stat", "cpu  130 0 57 960 0 1 2 6\ncpu1 20 0 0 9 0 1 0 2\n");
        net(4, 8);
        some(75);
        let expected = HostSample {
            cpu_busy_ns: 400_000_000,
            allowed: Some(AllowedCpus {
                cpus: 1,
                busy_ns: 210_000_000,
                interrupt_ns: 10_000_000,
                steal_ns: 20_000_000,
            }),
            steal_ns: 20_000_000,
            pressure_some_ns: BTreeMap::from([("cpu".to_owned(), 5_000)]),
            listen_overflows: 1,
            listen_drops: 3,
            delayed_acks: 30,
        };
        assert_eq!(host.read(&fake.sources(), &mut text), expected);
        let expected = HostSample {
            allowed: Some(AllowedCpus { cpus: 1, ..AllowedCpus::default() }),
            pressure_some_ns: BTreeMap::from([("cpu".to_owned(), 0)]),
            ..HostSample::default()
        };
        assert_eq!(host.read(&fake.sources(), &mut text), expected);
    }
}
