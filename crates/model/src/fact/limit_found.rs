//! What limited a runtime, with figures.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::cpus::CpuCount;
use crate::words;

/// What limited a runtime, with figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum LimitFound {
    /// A load thread of the generator was busy.
    LoadThreadBusy {
        /// CPU share of the busiest load thread, from 0 to 1.
        busy_share: f64,
    },
    /// The generator itself was late.
    GeneratorLate {
        /// Schedule lag at p99, in nanoseconds.
        schedule_lag_ns_p99: u64,
    },
    /// The kernel killed processes because memory was full.
    KilledForMemory {
        /// Number of processes.
        kills: u64,
        /// The stack's limit in bytes; 0: it has none.
        limit_bytes: u64,
    },
    /// The stack's memory is full.
    StackMemoryFull {
        /// The most memory in use, in bytes.
        used_bytes: u64,
        /// The stack's limit in bytes.
        limit_bytes: u64,
        /// How often the limit was reached.
        limit_hits: u64,
    },
    /// Processes waited while the kernel took pages back.
    WaitedForMemory {
        /// Share of the time, from 0 to 1.
        share: f64,
        /// The stack's limit in bytes; 0: it has none.
        limit_bytes: u64,
    },
    /// PHP's `memory_limit` was reached.
    PhpMemoryLimit {
        /// How often it was logged.
        times: u64,
    },
    /// A CPU quota held the stack back.
    Throttled {
        /// Time for which the quota held it back, in nanoseconds.
        throttled_ns: u64,
        /// Time in which that was measured, in nanoseconds.
        watched_ns: u64,
    },
    /// The stack used up the CPU quota that its budget is.
    QuotaUsedUp {
        /// Share of the time for which the quota held the stack back, from 0 to 1.
        share: f64,
        /// CPUs of the budget.
        cpus: CpuCount,
    },
    /// All workers were busy, the CPU was not.
    AllWorkersBusy {
        /// Number of workers.
        workers: u32,
        /// Share of the CPU budget that was used; null: not known.
        cpu_share: Option<f64>,
    },
    /// The stack used its CPU budget.
    CpuFull {
        /// Share of the CPU budget that was used.
        cpu_share: f64,
        /// CPUs of the budget.
        cpus: CpuCount,
    },
    /// The workers wanted more CPU, and other programs had it.
    CpuTaken {
        /// Share of the CPU budget that the stack got.
        cpu_share: f64,
        /// CPUs of the budget.
        cpus: CpuCount,
    },
    /// No limit was reached.
    NoLimitReached {
        /// What was left.
        #[serde(flatten)]
        in_use: InUse,
    },
    /// The load was too small to keep the workers busy.
    LoadTooSmall {
        /// Most requests in flight.
        in_flight_max: u32,
        /// What was left.
        #[serde(flatten)]
        in_use: InUse,
    },
    /// Xdebug is loaded.
    XdebugLoaded {
        /// Value of `xdebug.mode`; null: Xdebug 2, which has none.
        mode: Option<String>,
    },
    /// OPcache is off.
    OpcacheOff,
    /// OPcache is full.
    OpcacheFull {
        /// Memory in use, in bytes.
        used_bytes: u64,
        /// All memory of OPcache, in bytes.
        memory_bytes: u64,
        /// Number of cached files.
        files: u64,
        /// Most files that it can hold.
        files_max: u64,
        /// How often it was emptied under load.
        restarts: u64,
        /// Files compiled anew under load.
        misses: u64,
    },
    /// OPcache looks at every file again for every request.
    OpcacheChecksFiles,
    /// The web server logged its own limit.
    WebServerLimit {
        /// The program that logged it.
        program: String,
        /// How often.
        times: u64,
        /// The first line.
        line: String,
    },
    /// The app itself gave failing answers.
    AppFailed {
        /// The statuses, the most frequent one first. At most three.
        statuses: Vec<StatusCount>,
    },
    /// The web server got no answer from PHP.
    UpstreamFailed {
        /// Status of the answers.
        status: u16,
        /// Number of such answers.
        times: u64,
        /// The program that logged the reason.
        program: String,
        /// The first line.
        line: String,
    },
    /// A listen queue was full, and connections were dropped.
    QueueDropped {
        /// The listener.
        listener: String,
        /// Its listen backlog.
        backlog: u32,
        /// Number of dropped connections.
        drops: u64,
    },
    /// A listen queue was full.
    QueueFull {
        /// The listener.
        listener: String,
        /// Its listen backlog.
        backlog: u32,
        /// The program that was refused; null: none logged it.
        program: Option<String>,
        /// How often it was refused.
        times: u64,
    },
    /// A program logged that a full queue refused it.
    QueueRefused {
        /// The program.
        program: String,
        /// How often it was refused.
        times: u64,
        /// The first line.
        line: String,
    },
    /// Requests met a full queue.
    QueueMet {
        /// Number of requests.
        requests: u64,
    },
    /// A listen queue of this machine overflowed. Whose is not known.
    MachineQueueFull {
        /// How often.
        times: u64,
    },
    /// Nagle's algorithm together with delayed acknowledgements.
    TcpDelay {
        /// Share of the answers that took as long as an acknowledgement sent late: 40 to 60 ms, or
        /// to 80 ms where workers were watched.
        share: f64,
        /// Share of the CPU budget that was used; null: not known.
        cpu_share: Option<f64>,
    },
}

/// What a stack used on average, where no limit was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InUse {
    /// Share of the CPU budget.
    pub cpu_share: f64,
    /// Busy workers on average.
    pub workers_busy: f64,
    /// Number of workers.
    pub workers: u32,
}

/// Number of answers with one status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// The status.
    pub status: u16,
    /// Number of answers.
    pub times: u64,
}

impl Kind for LimitFound {
    const NAME: &'static str = "LimitFound";
    const ABOUT: &'static str = "What limited a runtime: a stable code with its figures.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![LimitFound::json_schema(generator)]
    }
}

impl fmt::Display for LimitFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitFound::LoadThreadBusy { busy_share } => write!(
                f,
                "the generator: a load thread was {} busy, so the runtime may serve more",
                percent(*busy_share)
            ),
            LimitFound::GeneratorLate { schedule_lag_ns_p99 } => write!(
                f,
                "the generator: it was late itself, by {} at p99",
                words::time(*schedule_lag_ns_p99 as f64)
            ),
            LimitFound::Throttled { throttled_ns, watched_ns } => write!(
                f,
                "throttled: a CPU quota held the stack back for {} in {}",
                words::time(*throttled_ns as f64),
                words::time(*watched_ns as f64)
            ),
            LimitFound::QuotaUsedUp { share, cpus } => write!(
                f,
                "CPU quota used up: the stack was throttled for {} of the time by its budget of {}",
                percent(*share),
                cpus.in_words()
            ),
            LimitFound::CpuFull { cpu_share, cpus } => {
                let (share, cpus) = (percent(*cpu_share), cpus.its());
                write!(f, "CPU-bound: the stack used {share} of {cpus}")
            }
            LimitFound::CpuTaken { cpu_share, cpus } => write!(
                f,
                "CPU-bound: its workers always waited for a CPU and got only {} of {}; other \
                 programs used the rest: stop them and measure again",
                percent(*cpu_share),
                cpus.its()
            ),
            LimitFound::AppFailed { statuses } => {
                write!(f, "the app itself answered with status {}", statuses_text(statuses))
            }
            LimitFound::WebServerLimit { program, times, line } => {
                write!(f, "web server's limit: {program} said {}: {line}", times_text(*times))
            }
            LimitFound::UpstreamFailed { status, times, program, line } => {
                write!(f, "{status} {}: {program} said: {line}", times_text(*times))
            }
            LimitFound::TcpDelay { share, cpu_share } => {
                let cpu = cpu_share.map_or(String::new(), |share| {
                    format!(" while the CPU was {} busy", percent(share))
                });
                write!(
                    f,
                    "TCP delay (Nagle against delayed ACK): {} of the answers waited for an acknowledgement sent 40 ms late{cpu}: \
                     one side sends an answer in pieces; enable TCP_NODELAY in the web server or the \
                     worker",
                    percent(*share)
                )
            }
            other => {
                let text = other.memory().or_else(|| other.workers()).or_else(|| other.php());
                f.write_str(&text.or_else(|| other.queue()).unwrap_or_default())
            }
        }
    }
}

impl LimitFound {
    fn memory(&self) -> Option<String> {
        let of_limit = |limit: u64| match limit {
            0 => String::new(),
            _ => format!(": the stack reached its limit of {}", words::bytes(limit as f64)),
        };
        Some(match self {
            LimitFound::KilledForMemory { kills, limit_bytes } => {
                let (processes, their) =
                    if *kills == 1 { ("process", "its") } else { ("processes", "their") };
                format!(
                    "memory: the kernel killed {} {processes}{}; {their} requests were lost",
                    words::count(*kills),
                    of_limit(*limit_bytes)
                )
            }
            LimitFound::StackMemoryFull { used_bytes, limit_bytes, limit_hits } => {
                let so = match limit_hits {
                    0 => "almost nothing is left",
                    _ => "so the kernel takes pages back",
                };
                let used = words::bytes(*used_bytes as f64);
                format!("memory: {used} of {} in use, {so}", words::bytes(*limit_bytes as f64))
            }
            LimitFound::WaitedForMemory { share, limit_bytes } => format!(
                "memory: processes waited for the kernel to take pages back{}, {} of the time",
                of_limit(*limit_bytes),
                percent(*share)
            ),
            LimitFound::PhpMemoryLimit { times } => {
                format!("memory: PHP's `memory_limit` was reached {}", times_text(*times))
            }
            _ => return None,
        })
    }

    fn workers(&self) -> Option<String> {
        Some(match self {
            LimitFound::AllWorkersBusy { workers, cpu_share } => {
                let cpu = cpu_share.map_or(String::new(), |share| {
                    format!(", but the CPU only {}: try more workers", percent(share))
                });
                let who = match workers {
                    1 => "its only worker was".to_owned(),
                    _ => format!("all {} workers were", words::count((*workers).into())),
                };
                format!("worker-bound: {who} busy{cpu}")
            }
            LimitFound::NoLimitReached { in_use } => format!("no limit was reached: {in_use}"),
            LimitFound::LoadTooSmall { in_flight_max, in_use } => {
                let requests = match in_flight_max {
                    1 => "1 request at a time does".to_owned(),
                    _ => format!("{} requests at a time do", words::count((*in_flight_max).into())),
                };
                format!(
                    "the load was too small: {requests} not keep the workers busy ({in_use}); use a \
                     higher `--concurrency`"
                )
            }
            _ => return None,
        })
    }

    fn php(&self) -> Option<String> {
        Some(match self {
            LimitFound::XdebugLoaded { mode } => {
                let mode =
                    mode.as_ref().map_or(String::new(), |mode| format!(" (`xdebug.mode={mode}`)"));
                format!(
                    "Xdebug is loaded{mode} and slows every call down: unload it, or set \
                     `xdebug.mode=off`"
                )
            }
            LimitFound::OpcacheOff => {
                "OPcache is off: every request compiles its files anew; set `opcache.enable=1`"
                    .to_owned()
            }
            LimitFound::OpcacheFull {
                used_bytes,
                memory_bytes,
                files,
                files_max,
                restarts,
                misses,
            } => {
                let emptied = match restarts {
                    0 => String::new(),
                    _ => format!(", emptied {} under load", times_text(*restarts)),
                };
                format!(
                    "OPcache is full: {} of {}, {} of {} files{emptied}, {} files compiled anew \
                     under load",
                    words::bytes(*used_bytes as f64),
                    words::bytes(*memory_bytes as f64),
                    words::count(*files),
                    words::count(*files_max),
                    words::count(*misses)
                )
            }
            LimitFound::OpcacheChecksFiles => "OPcache looks at every file again for every \
                request: opcache.validate_timestamps=1, opcache.revalidate_freq=0"
                .to_owned(),
            _ => return None,
        })
    }

    fn queue(&self) -> Option<String> {
        let backlog_text =
            |backlog: u32| format!("listen backlog {}", words::count(backlog.into()));
        Some(match self {
            LimitFound::QueueDropped { listener, backlog, drops } => format!(
                "backlog: the queue of {listener} ({}) was full, {} dropped",
                backlog_text(*backlog),
                words::quantity(*drops, "connection")
            ),
            LimitFound::QueueFull { listener, backlog, program, times } => {
                let refused = program.as_ref().map_or(String::new(), |program| {
                    format!(", and {program} was refused {}", times_text(*times))
                });
                let backlog = backlog_text(*backlog);
                format!("backlog: the queue of {listener} ({backlog}) was full{refused}")
            }
            LimitFound::QueueRefused { program, times, line } => {
                format!("backlog: {program} was refused {}: {line}", times_text(*times))
            }
            LimitFound::QueueMet { requests } => {
                format!("backlog: {} met a full queue", words::quantity(*requests, "request"))
            }
            LimitFound::MachineQueueFull { times } => format!(
                "backlog: a listen queue of this machine overflowed {}; whose is not known",
                times_text(*times)
            ),
            _ => return None,
        })
    }
}

impl fmt::Display for InUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InUse { cpu_share, workers_busy, workers } = self;
        let cpu = percent(*cpu_share);
        write!(f, "CPU {cpu}, {workers_busy:.1} of {workers} workers busy on average")
    }
}

impl fmt::Display for StatusCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.status, times_text(self.times))
    }
}

fn statuses_text(statuses: &[StatusCount]) -> String {
    let texts: Vec<String> = statuses.iter().map(StatusCount::to_string).collect();
    match texts.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        texts => texts.concat(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Returns `once`, or the number of times.
pub fn times_text(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", words::count(count)) }
}
