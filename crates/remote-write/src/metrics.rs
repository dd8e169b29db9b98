//! The metrics that are sent: `tidy: data table`. The documentation and the dashboard are held
//! against this table.
//!
//! Names follow Prometheus' rules: base units, `_total` for counters. Names that `fire --prometheus`
//! has too mean the same there.

/// A metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// How its values behave.
    pub kind: Kind,
    /// Its labels besides [`COMMON_LABELS`] and those of the user.
    pub labels: &'static [&'static str],
    /// What it is, as a sentence.
    pub help: &'static str,
}

impl Metric {
    /// Whether its values are seconds. By Prometheus' rules the name says so.
    pub fn is_in_seconds(&self) -> bool {
        self.name.contains("_seconds") && !self.name.ends_with("_count")
    }
}

/// How the values of a metric behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises, from 0 at the start of a trial.
    Counter,
    /// It rises and falls.
    Gauge,
}

/// The labels that each series of a trial has, where their value is known.
pub const COMMON_LABELS: [&str; 6] = ["run", "runtime", "app", "load", "round", "trial"];

macro_rules! metrics {
    ($($constant:ident = $name:literal, $kind:ident, [$($label:literal),*], $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $constant: Metric = Metric {
                name: $name,
                kind: Kind::$kind,
                labels: &[$($label),*],
                help: $help,
            };
        )*
        /// All metrics that are sent, in the order of the documentation.
        pub static METRICS: &[&Metric] = &[$(&$constant),*];
    };
}

metrics! {
    REQUESTS = "stampede_requests_total", Counter, ["outcome", "kind", "phase"],
        "Requests that ended: `outcome` is `ok` or `failed`, and `kind` says why one failed.";
    PLANNED = "stampede_requests_planned_total", Counter, ["phase"],
        "Requests that were due. Its rate is the target rate. In the closed model: requests that were started.";
    DROPPED = "stampede_requests_dropped_total", Counter, ["phase"],
        "Requests that were due and never started.";
    RESPONSE_TIME = "stampede_response_time_seconds", Gauge, ["quantile", "phase"],
        "Time from when a request was due, of the requests that ended in one second. Open model only.";
    RESPONSE_TIME_SUM = "stampede_response_time_seconds_sum", Counter, ["phase"],
        "Sum of the response times of the ok requests.";
    RESPONSE_TIME_COUNT = "stampede_response_time_seconds_count", Counter, ["phase"],
        "Number of the response times of the ok requests.";
    SERVICE_TIME = "stampede_service_time_seconds", Gauge, ["quantile", "phase"],
        "Time from when a request was started, of the requests that ended in one second.";
    SERVICE_TIME_SUM = "stampede_service_time_seconds_sum", Counter, ["phase"],
        "Sum of the service times of the ok requests.";
    SERVICE_TIME_COUNT = "stampede_service_time_seconds_count", Counter, ["phase"],
        "Number of the service times of the ok requests.";
    SCHEDULE_LAG = "stampede_schedule_lag_seconds", Gauge, ["quantile", "phase"],
        "How late the generator itself started requests, of one second.";
    IN_FLIGHT = "stampede_in_flight", Gauge, ["phase"],
        "Most requests in flight in one second.";
    SENT_BYTES = "stampede_sent_bytes_total", Counter, ["phase"],
        "Bytes written, heads included.";
    RECEIVED_BYTES = "stampede_received_bytes_total", Counter, ["phase"],
        "Bytes read, heads included.";
    GENERATOR_CPU = "stampede_generator_cpu_seconds_total", Counter, ["phase"],
        "CPU time of the load threads, without spinning.";
    CPU = "stampede_cpu_seconds_total", Counter, ["role"],
        "CPU time of the stack, user and system.";
    CPU_RATIO = "stampede_cpu_ratio", Gauge, [],
        "CPU use of the stack as a share of its CPU budget: 1 is the whole budget.";
    MEMORY = "stampede_memory_bytes", Gauge, ["role"],
        "Memory of the stack: anonymous, shared and kernel, without page cache.";
    PROCESSES = "stampede_processes", Gauge, ["role"],
        "Number of processes of the stack.";
    DISK_READ = "stampede_disk_read_bytes_total", Counter, ["role"],
        "Bytes that the stack read from disks, not from the cache. None where they cannot be read.";
    DISK_WRITTEN = "stampede_disk_written_bytes_total", Counter, ["role"],
        "Bytes that the stack wrote to disks.";
    NETWORK_RECEIVED = "stampede_network_received_bytes_total", Counter, ["role"],
        "Bytes that came in by the role's own network, without its loopback. None where it shares a network.";
    NETWORK_SENT = "stampede_network_sent_bytes_total", Counter, ["role"],
        "Bytes that went out by it.";
    HOST_CPU = "stampede_host_cpu_seconds_total", Counter, [],
        "CPU time of the whole machine that was not idle.";
    HOST_STEAL = "stampede_host_steal_seconds_total", Counter, [],
        "CPU time that the hypervisor gave to others.";
    PHASE = "stampede_phase", Gauge, ["phase"],
        "1 for the current phase of the trial: `start`, `verify`, `warm-up`, `measure`, `drain` or `stop`.";
    VERDICT = "stampede_trial_verdict", Gauge, ["verdict"],
        "1 for the verdict of a trial that ended: `valid`, `suspect` or `invalid`. Sent once.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_prometheus() {
        for metric in METRICS {
            let name = metric.name;
            let allowed = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(name.starts_with("stampede_") && name.chars().all(allowed), "{name}");
            let of_times = name.ends_with("_sum") || name.ends_with("_count");
            let is_counter = metric.kind == Kind::Counter;
            assert_eq!(name.ends_with("_total") || of_times, is_counter, "{name}");
            assert!(metric.help.ends_with('.'), "{name}: {}", metric.help);
            assert_eq!(METRICS.iter().filter(|other| other.name == name).count(), 1, "{name}");
        }
    }
}
