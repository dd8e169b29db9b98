//! What a server uses while `fire` loads it: CPU time and memory, second by second (`--watch`).

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use stampede_model::fact::Server;
use stampede_model::sample::{DiskSample, NetworkSample, ResourceSample};
use stampede_model::time::Nanos;
use stampede_model::words;
use stampede_monitor::{Monitor, MonitorError};
use stampede_plan::model::{Watch, WatchError};
use stampede_stack::StackLoss;
use stampede_stack::external::{ExternalError, WatchedProcesses};
use stampede_trial::causes::cause;

use crate::cli::Failure;
use crate::cli::fail::CommandError;

/// Why a server cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchFlagError {
    /// The flag's value names nothing that can be watched.
    #[error("`--watch`")]
    Wrong(#[source] WatchError),
    /// Its processes were not found.
    #[error("`--watch`")]
    NotFound(#[source] ExternalError),
    /// Another machine cannot be read.
    #[error("`--watch`")]
    Unread(#[source] MonitorError),
}

impl CommandError for WatchFlagError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            WatchFlagError::Wrong(error) => error.hint(),
            WatchFlagError::NotFound(error) => error.help().to_string(),
            WatchFlagError::Unread(_) => {
                "the user there must be able to read `/proc/stat`, `/proc/meminfo` and `/proc/net/dev`"
                    .to_owned()
            }
        })
    }
}

/// A server that is watched while the load is sent.
pub struct WatchedServer {
    watch: Watch,
    processes: WatchedProcesses,
    /// Of another machine before the load, since a connection takes time; else `None` before the load.
    monitor: Option<Monitor>,
    /// Each reading once it was taken.
    live: (Sender<ResourceSample>, Receiver<ResourceSample>),
    /// When that reading began.
    early: Option<Instant>,
    /// How long after it the load began; zero: reading began with the load or later.
    before_load: Nanos,
    /// Seconds of the load that had passed when reading began.
    late: u32,
    has_begun: bool,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct ServerReadings {
    /// What was watched: `container shop`.
    pub what: String,
    /// Where CPU time and memory were read: `cgroup-v2`, `proc` …
    pub accounting: String,
    /// The readings, with times since the load began.
    pub samples: Vec<ResourceSample>,
    /// Whether they cover the load from its beginning.
    pub is_whole: bool,
    /// That the processes ended or were replaced. `None`: they are the same.
    pub gone: Option<Server>,
    /// Number of CPUs of the machine that was watched. `None`: it is this one.
    pub cpus_elsewhere: Option<u32>,
}

/// What the watched server used.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ServerUse {
    /// What was watched: `container shop`.
    pub watched: String,
    /// Where CPU time and memory were read: `cgroup-v2`, `proc` …
    pub accounting: String,
    /// CPUs that it used on average, from the start of the load to its end.
    pub cpus_mean: f64,
    /// CPUs that it used in its busiest second.
    pub cpus_max: f64,
    /// CPU time per correct answer; null if there was none, if agents sent the load, of which the first
    /// second is not covered, or of another machine, whose other programs are counted too.
    pub cpu_ns_per_request: Option<u64>,
    /// The most memory in bytes; null if it could not be read.
    pub memory_bytes_max: Option<u64>,
    /// Bytes that it read from disks; null if they could not be read.
    pub disk_read_bytes: Option<u64>,
    /// Bytes that it wrote to disks; null if they could not be read.
    pub disk_written_bytes: Option<u64>,
    /// Bytes that its network received; null if it shares the network of the machine, whose counters
    /// are those of all programs.
    pub network_received_bytes: Option<u64>,
    /// Bytes that its network sent; null as above.
    pub network_sent_bytes: Option<u64>,
}

impl WatchedServer {
    /// Finds the processes. `None`: nobody asked for it.
    ///
    /// # Errors
    /// The text names nothing, or nothing that runs here.
    pub fn find(text: Option<&str>) -> Result<Option<WatchedServer>, Failure> {
        let Some(text) = text else { return Ok(None) };
        let watch: Watch = text.parse().map_err(WatchFlagError::Wrong)?;
        let processes = WatchedProcesses::find(&watch).map_err(WatchFlagError::NotFound)?;
        let mut server = WatchedServer {
            watch,
            processes,
            monitor: None,
            live: channel(),
            early: None,
            before_load: Nanos(0),
            late: 0,
            has_begun: false,
        };
        if matches!(server.watch, Watch::Ssh(_)) {
            let monitor = server.monitor().map_err(WatchFlagError::Unread)?;
            (server.monitor, server.early) = (Some(monitor), Some(Instant::now()));
        }
        Ok(Some(server))
    }

    fn monitor(&self) -> Result<Monitor, MonitorError> {
        let live = self.live.0.clone();
        // Nobody listens any more only where the watch was dropped.
        let sink = move |sample| drop(live.send(sample));
        Monitor::watch(self.processes.group(), Nanos::SECOND, sink)
    }

    /// The readings since the last call.
    pub fn live(&self) -> impl Iterator<Item = ResourceSample> {
        self.live.1.try_iter()
    }

    /// The measured load began this many seconds ago. Only the first call counts. Without a thread
    /// nothing is read, and the result has no figures.
    pub fn begin(&mut self, seconds_ago: u32) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        match self.early {
            Some(early) => {
                let ago = Duration::from_secs(seconds_ago.into());
                self.before_load = Nanos::from(early.elapsed().saturating_sub(ago));
            }
            None => {
                self.late = seconds_ago;
                self.monitor = self.monitor().ok();
            }
        }
    }

    /// The load has ended. `live` gets the readings that nobody has taken.
    pub fn end(mut self, live: impl FnMut(ResourceSample)) -> ServerReadings {
        let finished = self.monitor.take().and_then(|monitor| monitor.finish().ok());
        self.live().for_each(live);
        let mut samples = finished.unwrap_or_default();
        let (late_ns, before_ns) = (u64::from(self.late) * Nanos::SECOND.0, self.before_load.0);
        samples.retain(|sample| sample.at_ns > before_ns);
        samples
            .iter_mut()
            .for_each(|sample| sample.at_ns = (sample.at_ns + late_ns).saturating_sub(before_ns));
        let gone = self.processes.gone().map(|watch| StackLoss::Ended { watch });
        ServerReadings {
            what: self.watch.to_string(),
            accounting: self.processes.accounting(),
            samples,
            is_whole: self.late == 0 && self.early.is_none(),
            cpus_elsewhere: self.processes.cpus_elsewhere(),
            gone: gone.map(|gone| Server::Gone { cause: cause(&gone) }),
        }
    }
}

impl ServerReadings {
    /// The figures of the whole load. `None`: nothing was read.
    pub fn used(&self, ok: u64) -> Option<ServerUse> {
        let cpu_ns = |sample: &ResourceSample| -> u64 {
            sample.roles.values().map(|role| role.cpu_ns).sum()
        };
        let lasted_ns: u64 = self.samples.iter().map(|sample| sample.interval_ns).sum();
        if lasted_ns == 0 {
            return None;
        }
        let spent_ns: u64 = self.samples.iter().map(cpu_ns).sum();
        let has_long = self.samples.iter().any(|sample| !sample.is_short());
        let long = self.samples.iter().filter(|sample| !(has_long && sample.is_short()));
        let shares = long.map(|sample| cpu_ns(sample) as f64 / sample.interval_ns.max(1) as f64);
        let memory = |sample: &ResourceSample| -> Option<u64> {
            let is_read = sample.roles.values().all(|role| role.memory_read);
            is_read.then(|| sample.roles.values().map(|role| role.memory_bytes).sum())
        };
        let roles = || self.samples.iter().flat_map(|sample| sample.roles.values());
        let disk = |of: fn(DiskSample) -> u64| total(roles().filter_map(|role| role.disk.map(of)));
        let network =
            |of: fn(NetworkSample) -> u64| total(roles().filter_map(|role| role.network.map(of)));
        Some(ServerUse {
            watched: self.what.clone(),
            accounting: self.accounting.clone(),
            cpus_mean: spent_ns as f64 / lasted_ns as f64,
            cpus_max: shares.fold(0.0, f64::max),
            cpu_ns_per_request: spent_ns.checked_div(ok).filter(|_| self.is_whole),
            memory_bytes_max: self.samples.iter().filter_map(memory).max(),
            disk_read_bytes: disk(|disk| disk.read_bytes),
            disk_written_bytes: disk(|disk| disk.written_bytes),
            network_received_bytes: network(|network| network.received_bytes),
            network_sent_bytes: network(|network| network.sent_bytes),
        })
    }
}

/// The sum; `None`: nothing was read.
fn total(mut values: impl Iterator<Item = u64>) -> Option<u64> {
    values.next().map(|first| values.fold(first, u64::saturating_add))
}

impl ServerUse {
    /// The figures for people, a line each: what was watched, CPU and memory, disk, network.
    pub fn lines(&self) -> Vec<String> {
        let [mean, max] = [self.cpus_mean, self.cpus_max].map(words::significant);
        let memory = match self.memory_bytes_max {
            Some(bytes) => format!("{} of memory at most", words::bytes(bytes as f64)),
            None => "memory not readable".to_owned(),
        };
        let cost = self.cpu_ns_per_request;
        let cost = cost.map(|ns| format!("{} of CPU per correct answer", words::time(ns as f64)));
        let two = |what: &str, [a, b]: [Option<u64>; 2], [first, second]: [&str; 2]| {
            let bytes = |bytes: u64| words::bytes(bytes as f64);
            let (a, b) = a.zip(b).filter(|both| *both != (0, 0))?;
            Some(format!("{what}: {} {first}, {} {second}", bytes(a), bytes(b)))
        };
        let disk =
            two("disk", [self.disk_read_bytes, self.disk_written_bytes], ["read", "written"]);
        let network = [self.network_received_bytes, self.network_sent_bytes];
        let network = two("network", network, ["received", "sent"]);
        let first =
            [self.watched.clone(), format!("{mean} CPUs on average, {max} at most"), memory];
        first.into_iter().chain(cost).chain(disk).chain(network).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_model::sample::RoleSample;

    use super::*;

    fn sample(ms: u64, cpu_ms: [u64; 2], memory: Option<u64>) -> ResourceSample {
        let role = |cpu_ms: u64| RoleSample {
            cpu_ns: cpu_ms * 1_000_000,
            memory_bytes: memory.unwrap_or(0),
            memory_read: memory.is_some(),
            disk: Some(DiskSample { read_bytes: 0, written_bytes: 1 << 20 }),
            ..RoleSample::default()
        };
        let [web, php] = cpu_ms.map(role);
        let roles = BTreeMap::from([("web".to_owned(), web), ("php".to_owned(), php)]);
        ResourceSample { interval_ns: ms * 1_000_000, roles, ..ResourceSample::default() }
    }

    fn readings(samples: Vec<ResourceSample>) -> ServerReadings {
        let what = "project shop".to_owned();
        ServerReadings { what, samples, is_whole: true, ..ServerReadings::default() }
    }

    #[test]
    fn all_roles_and_seconds_are_added_and_a_short_rest_is_no_busiest_second() {
        let read = readings(vec![
            sample(1_000, [100, 400], Some(1 << 20)),
            sample(1_000, [200, 700], None),
            sample(50, [50, 50], Some(3 << 20)),
        ]);
        let used = read.used(1_000).expect("something was read");
        assert!((used.cpus_mean - 1.5 / 2.05).abs() < 1e-12, "{used:?}");
        assert!((used.cpus_max - 0.9).abs() < 1e-12, "{used:?}");
        assert_eq!(used.cpu_ns_per_request, Some(1_500_000));
        assert_eq!(used.memory_bytes_max, Some(6 << 20));
        assert_eq!((used.disk_read_bytes, used.disk_written_bytes), (Some(0), Some(6 << 20)));
        assert_eq!(used.network_sent_bytes, None, "it has no network of its own");
        insta::assert_snapshot!(used.lines().join("\n"));
        let late = ServerReadings { is_whole: false, ..read.clone() };
        assert_eq!(late.used(1_000).and_then(|used| used.cpu_ns_per_request), None);
        assert_eq!(read.used(0).and_then(|used| used.cpu_ns_per_request), None);
    }

    #[test]
    fn nothing_read_is_no_figure() {
        assert_eq!(readings(Vec::new()).used(5), None);
        let unreadable = readings(vec![sample(1_000, [1, 1], None)]).used(2);
        insta::assert_snapshot!(unreadable.expect("CPU time").lines().join("\n"));
    }
}
