//! Measures what disturbed a load generator from outside, for loads against a server that is not
//! monitored. Only the machine is watched.

use std::path::Path;
use std::time::Instant;

use stampede_model::agents::AgentMachine;
use stampede_model::sample::ResourceSample;

use super::host::Host;
use super::machine::cpus_and_clock;
use super::quota::Quota;
use super::source::{ReadBuffer, Sources};

/// A measurement from the begin to the end of a load: CPU time that the hypervisor took (steal),
/// and time that a CPU quota stopped this process.
#[derive(Debug)]
pub struct InterferenceMeter {
    sources: Sources,
    text: ReadBuffer,
    host: Host,
    quota: Quota,
    began: Instant,
}

impl InterferenceMeter {
    /// Begins the measurement now.
    pub fn begin() -> InterferenceMeter {
        InterferenceMeter::of(Sources::default(), std::process::id())
    }

    fn of(sources: Sources, pid: u32) -> InterferenceMeter {
        let mut text = ReadBuffer::default();
        let host = Host::open(&sources, None, &mut text);
        let quota = Quota::open(&sources, [pid].into_iter(), &mut text);
        InterferenceMeter { sources, text, host, quota, began: Instant::now() }
    }

    /// Returns one sample for the whole time, without roles.
    pub fn end(mut self) -> ResourceSample {
        let interval_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        ResourceSample {
            interval_ns,
            host: self.host.read(&self.sources, &mut self.text),
            throttled_ns: self.quota.throttled_ns(&mut self.text),
            ..ResourceSample::default()
        }
    }

    /// Ends as [`InterferenceMeter::end`] does, and says it as shares of this machine.
    pub fn machine(self) -> AgentMachine {
        let (cpus, clock_source) = cpus_and_clock(Path::new("/"));
        let sample = self.end();
        let whole = sample.interval_ns.saturating_mul(cpus).max(1);
        AgentMachine {
            steal_share: (sample.host.steal_ns as f64 / whole as f64).min(1.0),
            throttled_ns: sample.throttled_ns,
            clock_source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn only_steal_and_throttling_between_begin_and_end_are_counted() {
        let fake = FakeProc::new();
        let top = fake.path().join("cg").display().to_string();
        fake.put("self/mountinfo", &format!("41 31 0:38 / {top} rw - cgroup2 cgroup2 rw\n"));
        fake.put("10/cgroup", "0::/job\n");
        fake.put("cg/job/cpu.max", "50000 100000\n");
        fake.put("cg/job/cpu.stat", "throttled_usec 10\n");
        fake.put("stat", "cpu  100 0 50 900 0 0 0 4\n");
        let aside = InterferenceMeter::of(fake.sources(), 10);
        fake.put("cg/job/cpu.stat", "throttled_usec 15\n");
        fake.put("stat", "cpu  130 0 60 960 0 0 0 6\n");
        let sample = aside.end();
        assert_eq!((sample.host.steal_ns, sample.throttled_ns), (20_000_000, 5_000));
        assert!(sample.interval_ns > 0);
    }
}
