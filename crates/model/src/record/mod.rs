//! The records on disk. They are versioned and self-describing, and every raw number names its
//! unit.

mod case;
mod container;
pub mod expectations;
mod own_limits;
mod page;
mod run;
mod unknown;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::agents::AgentRecord;
use crate::counts::{Connections, Counts, End, Second};
use crate::cpus::CpuCount;
use crate::fact::{Fact, Look, Notice, Observation, Reason, observation};
use crate::isolation::{Exit, IsolationRecord};
use crate::lag::LagMark;
use expectations::Expectations;
use unknown::known_values;

pub use case::{CaseRecord, Closed, LoadModel, LoadShape, SentRecord, Spread};
pub use container::{ContainerLimits, ContainerRecord};
pub use run::{
    AgainstRecord, AutoCheckRecord, AutoEnd, AutoRecord, ControlRecord, PeakRate, PeakRecord,
    PublishedRecord, RunRecord, Starts, WorkingTreeRecord,
};

/// The default directory for runs, in the current directory.
pub const RESULTS: &str = "stampede-results";

/// The role of an app's own database in a stack.
pub const DATABASE_ROLE: &str = "database";

/// Raised when a field changes its meaning. Readers refuse newer formats.
pub const FORMAT: u32 = 2;

/// The record `trial.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Format of the record: `FORMAT`.
    pub format: u32,
    /// Number of the trial in the run, from 1.
    pub number: u32,
    /// Number of the round, from 1.
    pub round: u32,
    /// Index of the case in `RunRecord::cases`.
    #[serde(alias = "cell")]
    pub case: usize,
    /// Start of the trial in RFC 3339.
    pub started_at: String,
    /// Number of the earlier trial of the round on whose start this one went on. `None`: it had a
    /// start of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<u32>,
    /// Phases in order, with begin and end in ns since the trial began.
    pub phases: Vec<PhaseRecord>,
    /// Results of the load; `None`: the load never started (see `verdict`).
    pub load: Option<LoadRecord>,
    /// The runtime and its settings.
    pub runtime: RuntimeRecord,
    /// The isolation of its stack.
    pub isolation: IsolationRecord,
    /// CPUs of the whole stack's budget. All of them busy is 100 % of CPU. A fraction is a quota.
    pub budget_cpus: CpuCount,
    /// Whether the budget is split by role, or single services have limits of their own.
    pub budget_unequal: bool,
    /// How its processes ended.
    pub exits: Vec<Exit>,
    /// The trial's verdict.
    pub verdict: Verdict,
}

impl TrialRecord {
    /// The record before anything has happened. A trial that is never measured stays invalid.
    pub fn empty(number: u32, round: u32, case: usize) -> TrialRecord {
        TrialRecord {
            format: FORMAT,
            number,
            round,
            case,
            started_at: String::new(),
            continues: None,
            phases: Vec::new(),
            load: None,
            runtime: RuntimeRecord::default(),
            isolation: IsolationRecord::default(),
            budget_cpus: CpuCount::default(),
            budget_unequal: false,
            exits: Vec::new(),
            verdict: Verdict { judged: Validity::Invalid, reasons: Vec::new(), notes: Vec::new() },
        }
    }
}

/// One phase of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Name: `start`, `verify`, `warm-up`, `measure`, `drain` or `stop`.
    pub phase: String,
    /// Begin, since the trial began.
    pub begin_ns: u64,
    /// End, since the trial began.
    pub end_ns: u64,
}

/// Totals of the measured load. Histograms are in `seconds.hlog` (tags `response_time`,
/// `response_time_without_lag`, `lower_bound`, `service_time`, `connection_wait`, `schedule_lag`) and, merged, in
/// `total.hlog`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Number of requests by outcome.
    pub counts: Counts,
    /// Length of the schedule.
    pub scheduled_ns: u64,
    /// Time until the last answer.
    pub lasted_ns: u64,
    /// Ok requests that ended within the schedule. In the closed model, and if the server did not
    /// keep up, throughput counts these; else it counts all ok requests.
    pub ok_inside: u64,
    /// Highest number of requests in flight.
    pub in_flight_max: u32,
    /// Mean number of requests in flight: the gauge's integral ÷ `lasted_ns`. `None`: an earlier
    /// version did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_mean: Option<f64>,
    /// Integral of the in-flight gauge ÷ (starts × mean service time). 1 agrees with Little's law.
    /// NaN (`null` in the file) if nothing started.
    #[serde(deserialize_with = "number_or_nan")]
    pub littles_law_ratio: f64,
    /// Counts of connections.
    pub connections: Connections,
    /// Busy share of the busiest load thread, 0 … 1; NaN (`null` in the file) if it is unknown.
    #[serde(deserialize_with = "number_or_nan")]
    pub busy_share_max: f64,
    /// Real ÷ planned length; NaN (`null` in the file) if nothing was planned.
    #[serde(deserialize_with = "number_or_nan")]
    pub stretched: f64,
    /// p99 of schedule lag. With fewer than 100 requests, the longest.
    #[serde(alias = "lateness_ns_p99")]
    pub schedule_lag_ns_p99: u64,
    /// The figures of the time that tables show of which the generator's own delay makes, or may make,
    /// more than 5 % and 20 µs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lag_marks: Vec<LagMark>,
    /// Requests that took longer than an hour. They count as one hour.
    #[serde(default)]
    pub clipped: u64,
    /// Timeout of a request.
    pub timeout_ns: u64,
    /// Whether connections were kept open.
    pub keep_alive: bool,
    /// Name of the client.
    pub client: String,
    /// How the load ended.
    pub end: End,
    /// What each agent did; empty if this machine sent the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentRecord>,
}

impl LoadRecord {
    /// Whether the load generator limited a closed load, because a load thread had no time left.
    /// This cannot be decided for loads below 100 ms, in which starting counts as busy.
    pub fn is_generators_limit(&self) -> bool {
        self.busy_share_max > BUSY_CLOSED && self.lasted_ns >= SURELY_BUSY_NS
    }
}

/// Above this busy share a closed load measures the generator.
const BUSY_CLOSED: f64 = 0.95;
/// Shorter loads are mostly busy with starting.
const SURELY_BUSY_NS: u64 = 100_000_000;

/// The runtime of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RuntimeRecord {
    /// Title of the runtime for people.
    pub title: String,
    /// Mode: `per-request`, `worker` or `event-loop`.
    pub mode: String,
    /// Program → version as the program prints it.
    pub versions: BTreeMap<String, String>,
    /// Programs that are not an upstream release → what they are instead.
    #[serde(
        default,
        deserialize_with = "known_values",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub custom_builds: BTreeMap<String, CustomBuild>,
    /// Settings in force, including defaults.
    pub settings: BTreeMap<String, Value>,
    /// Rendered file → text.
    pub files: BTreeMap<String, String>,
    /// Command lines by role, as they were started.
    pub commands: Vec<String>,
    /// Time from the start to the first correct answer.
    pub first_answer_ns: u64,
    /// Duration of the request that got the first correct answer; 0: not known.
    #[serde(default)]
    pub first_request_ns: u64,
    /// Choices that explain what the runtime shows of itself.
    #[serde(default)]
    pub given: RequestedSetup,
    /// Worker threads that restarted under load. The resource series shows restarted processes.
    #[serde(default)]
    pub thread_restarts: u64,
    /// What verification found before the load.
    pub before: Option<ObservedState>,
    /// What verification found after the load.
    pub after: Option<ObservedState>,
    /// What the runtime is known to do with a request in another way than nginx with PHP-FPM: a
    /// sentence for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// Its containers; empty: it runs in none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<ContainerRecord>,
    /// Log lines under load that show a limit or a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<LogEvidence>,
}

/// A build that stampede made and that is not an upstream release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CustomBuild {
    /// A program made of upstream's modules.
    Assembled,
    /// A program around upstream's library.
    Library,
}

impl CustomBuild {
    /// The mark after names in tables.
    pub const MARK: &str = " (custom build)";

    /// The name of a row without the mark: the name in the plan.
    pub fn without_mark(name: &str) -> &str {
        name.strip_suffix(CustomBuild::MARK).unwrap_or(name)
    }

    /// Recognises a custom build by the version that the program prints, which ends with its kind.
    pub fn of_version(printed: &str) -> Option<CustomBuild> {
        let all = [CustomBuild::Assembled, CustomBuild::Library];
        all.into_iter().find(|build| printed.contains(build.printed()))
    }

    const fn printed(self) -> &'static str {
        match self {
            CustomBuild::Assembled => " (assembled)",
            CustomBuild::Library => " (library)",
        }
    }
}

/// Log lines of one program with the same meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEvidence {
    /// Program that wrote the lines: the need's name in `runtime.yaml`.
    pub program: String,
    /// Meaning of the lines.
    pub means: LogSignal,
    /// Number of the lines.
    pub lines: u64,
    /// The first line, with secrets masked.
    pub first: String,
}

/// Meaning of a log line, according to `logs` of a runtime's need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogSignal {
    /// The web server accepts no more connections.
    WebServerLimit,
    /// All workers of the web server are busy. The line appears whether or not a request waits for
    /// a worker.
    WebServerFull,
    /// The pool of workers has its maximum size.
    WorkerLimit,
    /// A queue of connections is full.
    Backlog,
    /// PHP, or a server in front of it, ended during a request or could not be reached.
    UpstreamGone,
    /// As `UpstreamGone`, from a web server that then answers 500.
    #[serde(rename = "upstream-gone-500")]
    UpstreamGone500,
    /// PHP did not answer within the web server's time limit.
    UpstreamTimeout,
    /// PHP's own memory limit was reached.
    PhpMemory,
    /// A meaning of a later version, which is not known here.
    #[serde(other)]
    Other,
}

/// Where a runtime comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Programs of this machine, started by stampede.
    #[default]
    Native,
    /// A runtime that is already running. stampede neither starts nor stops it.
    #[serde(alias = "live")]
    External,
    /// Services of a compose project, in containers that stampede started.
    Compose,
    /// Programs of container images, with stampede's own configuration.
    Images,
}

impl ProviderKind {
    /// Whether it consists of programs of this machine that stampede started.
    pub fn is_native(self) -> bool {
        self == ProviderKind::Native
    }

    /// Whether its processes run in containers.
    pub fn has_containers(self) -> bool {
        matches!(self, ProviderKind::Compose | ProviderKind::Images)
    }

    /// Whether stampede configured it, so that its insides are verified.
    pub fn is_configured(self) -> bool {
        matches!(self, ProviderKind::Native | ProviderKind::Images)
    }
}

/// Choices that explain what a runtime shows: what was requested, and what its SAPI decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestedSetup {
    /// Where the runtime comes from.
    pub provider: ProviderKind,
    /// Requested number of workers; 0: not known.
    pub workers: u32,
    /// Whether the runtime starts with fewer workers and adds more under load.
    pub grows: bool,
    /// Whether PHP keeps its memory from request to request, by design of the runtime.
    pub keeps_memory: bool,
    /// Whether its workers are threads, which need a thread-safe PHP.
    pub threads: bool,
    /// php.ini keys that the plan or a setting decides → the requested value.
    pub ini: BTreeMap<String, String>,
    /// Extensions that its SAPI always has. A trailing `*` matches any rest.
    pub forced_extensions: Vec<String>,
    /// php.ini keys that its SAPI has or sets itself. A trailing `*` matches any rest.
    pub forced_ini: Vec<String>,
    /// Whether its extensions are those of this machine's own configuration, as the plan asks (`today`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_extensions: bool,
    /// The version of PHP that the plan asks for, such as `8.4`; empty: any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub php: String,
}

/// What a runtime showed of itself, in its answers to requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedState {
    /// `PHP_VERSION`.
    pub php_version: String,
    /// `PHP_SAPI`.
    pub sapi: String,
    /// Whether PHP is thread safe (ZTS) or not (NTS).
    pub thread_safe: bool,
    /// Loaded extensions, sorted, in lower case.
    pub extensions: Vec<String>,
    /// Result of `ini_get_all()`: key → value in force.
    pub ini: BTreeMap<String, String>,
    /// Whether OPcache is on in this SAPI.
    pub opcache: bool,
    /// Whether JIT is on in this SAPI.
    pub jit: bool,
    /// Number of files that OPcache preloaded.
    #[serde(default)]
    pub preloaded: u32,
    /// How full OPcache is; `None`: it does not report this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opcache_state: Option<OpcacheState>,
    /// Number of workers seen; 0: unknown.
    pub workers: u32,
    /// SHA-256 of the masked answer (status, headers, body).
    pub answer_sha256: String,
    /// Whether the answer changes by itself: it differed when requested again at once or a second
    /// later.
    #[serde(default)]
    pub answer_changes: bool,
    /// The masked answer, which shows where a later answer differs. It is kept in memory only.
    #[serde(skip)]
    pub answer: String,
    /// Number of requests in the load's list, with repetitions; 0: not known.
    #[serde(default)]
    pub requests: u64,
    /// Answers to the load's requests before the load, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageRecord>,
    /// Whether nothing of an earlier request was visible in a later one.
    pub isolated: bool,
    /// Further observations for the reader.
    #[serde(default, deserialize_with = "observation::read")]
    pub notices: Vec<Fact<Observation>>,
}

/// The answer to a request, reduced to what should be the same on every runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageRecord {
    /// Path and query, with secrets masked.
    pub path: String,
    /// Host name that the request had; absent: `localhost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// HTTP status; 0: no answer came.
    pub status: u16,
    /// Target of a redirect, as the header has it, with secrets masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Title of the page, else its first line; at most 120 characters.
    pub title: String,
    /// Length of the body.
    pub bytes: u64,
    /// Lengths of the body when the page was requested again, where it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bytes_again: Vec<u64>,
    /// Whether the page differed when it was requested again, or may differ.
    #[serde(default)]
    pub changes: bool,
    /// Whether its title differed.
    #[serde(default)]
    pub title_changes: bool,
    /// PHP error at the end of the page. The status may be 200 all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub php_error: Option<String>,
    /// Whether the app answers a path that does not exist with the same page: it may be the home page
    /// in place of the page that is meant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_unknown: bool,
    /// Whether a form of the page asks for a password: it may be the login in place of the page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_for_password: bool,
    /// SHA-256 of the page's text, in hexadecimal digits: of the headers that an app means and of the
    /// body, without what differs by time and place. Empty: an earlier version wrote the record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text_sha256: String,
    /// The beginning of that text, with secrets masked. On disk it is in the file `pages.ndjson` of the
    /// trial that asked for the page.
    #[serde(skip)]
    pub text: String,
}

/// How full the OPcache of the answering worker is, from `opcache_get_status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpcacheState {
    /// Whether it accepts no more files.
    pub full: bool,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Size in bytes.
    pub memory_bytes: u64,
    /// Number of cached files.
    pub files: u64,
    /// Highest number of cached files.
    pub files_max: u64,
    /// Number of requests for files that were not cached.
    pub misses: u64,
    /// How often it was emptied because memory or file slots ran out.
    pub restarts: u64,
}

/// Whether a trial counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The judgement.
    pub judged: Validity,
    /// Reasons for the judgement; empty for `valid`.
    pub reasons: Vec<Fact<Reason>>,
    /// Information that does not affect the judgement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Fact<Reason>>,
}

/// The judgement of a trial.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    /// The trial counts.
    Valid,
    /// The trial counts, with a mark.
    Suspect,
    /// The trial does not count, and is in no average.
    Invalid,
}

/// A row of `seconds.ndjson`: the counts of one second. Its times are in `seconds.hlog`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondRecord {
    /// Index of the second, from 0.
    pub second: u32,
    /// Number of requests by outcome.
    pub counts: Counts,
    /// Highest number of requests in flight.
    pub in_flight_max: u32,
    /// CPU time of the load threads.
    pub busy_ns: u64,
}

impl From<&Second> for SecondRecord {
    fn from(second: &Second) -> SecondRecord {
        SecondRecord {
            second: second.index,
            counts: second.counts.clone(),
            in_flight_max: second.in_flight_max,
            busy_ns: second.busy.0,
        }
    }
}

/// A row of `errors.ndjson`: failures of one kind in one second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// Index of the second, from 0.
    pub second: u32,
    /// A key of `Counts::failed`, or `dropped`.
    pub kind: String,
    /// Number of such requests in this second.
    pub count: u64,
}

/// Reads a number or `null`. JSON has no NaN: `serde_json` writes `null`, and cannot read that back
/// as a number.
fn number_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
