//! What is on disk. Versioned and self-describing; every raw number names its unit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use stampede_load::report::{Connections, Counts, End};

pub use super::case::{CaseRecord, Closed, LoadModel, LoadShape, SentRecord, Spread};
use super::expectations::Expectations;
use super::unknown::known_values;
use crate::fact::{Fact, Look, Notice, Observation, Reason, observation};
use crate::keeper::spec::{Exit, IsolationRecord};

/// Raised when a field changes its meaning; readers refuse what is newer.
pub const FORMAT: u32 = 2;

/// `run.json`: written before the first trial, and again whenever `order` grows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// `FORMAT`.
    pub format: u32,
    /// The directory's name.
    pub id: String,
    /// stampede's version.
    pub stampede: String,
    /// RFC 3339, local time with offset.
    pub started_at: String,
    /// The plan's text as written.
    pub plan_text: String,
    /// Flags that changed it.
    pub flags: Vec<String>,
    /// Seed of the order.
    pub seed: u64,
    /// Rounds planned: of `rounds: auto` those up to the next look.
    pub rounds: u32,
    /// What `rounds: auto` was told and found; `None`: the plan says how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoRecord>,
    /// The row that the others are compared with, as its cases are named; it was chosen before the
    /// first trial. `None`: the first one of each load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The peak that a fixed rate was chosen from before the first trial; `None`: the plan names
    /// its rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakRecord>,
    /// Every case, in the plan's order.
    #[serde(alias = "cells")]
    pub cases: Vec<CaseRecord>,
    /// Case indices in the order of trials, one list a round. A case whose trial came out invalid
    /// may be there again at the round's end.
    pub order: Vec<Vec<usize>>,
    /// Expectations of the run and of single loads.
    #[serde(flatten)]
    pub expect: Expectations,
    /// The machine: see `doctor`.
    pub machine: Value,
    /// What was decided for all cases and the reader should know (keep-alive off …).
    pub notices: Vec<Fact<Notice>>,
    /// The other version of the apps that is measured in the same rounds; `None`: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<AgainstRecord>,
}

/// Another version of the plan's apps. Its cases are named as the working tree's, and ` @main`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgainstRecord {
    /// Behind the runtimes' names: `@main`.
    pub label: String,
    /// The revision as asked for.
    pub rev: String,
    /// The commit that it was, in full; of several apps the first one's.
    pub commit: String,
    /// The commit that the working tree was based on, in short; empty: there was none.
    pub head: String,
    /// Files of the working tree that were not as in it.
    pub changed: u32,
    /// What git does not have and both versions were given as the working tree has it.
    pub brought: Vec<String>,
    /// Command that was run in the other version's copy; empty: none.
    pub prepare: String,
}

impl AgainstRecord {
    /// The other version's name of a runtime.
    pub fn name_of(&self, runtime: &str) -> String {
        format!("{runtime} {}", self.label)
    }

    /// The runtime whose other version has this name; `None`: it is the working tree's.
    pub fn version_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_suffix(self.label.as_str())?.strip_suffix(' ')
    }
}

impl RunRecord {
    /// What its cases are named, each once, in the plan's order.
    pub fn names_of(&self, name: fn(&CaseRecord) -> &String) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for case in &self.cases {
            if !names.contains(name(case)) {
                names.push(name(case).clone());
            }
        }
        names
    }

    /// Trials of the plan.
    pub fn trials(&self) -> usize {
        self.order.iter().map(Vec::len).sum()
    }

    /// Whether a run with so many ended trials has come to its end.
    pub fn is_whole(&self, ended: usize) -> bool {
        let is_over = self.auto.as_ref().is_none_or(|auto| auto.ended.is_some());
        is_over && ended >= self.trials()
    }
}

/// The most that the baseline served, and the rates that are a share of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeakRecord {
    /// Runtime whose peak it is.
    pub runtime: String,
    /// Correct answers a second under the closed load.
    pub throughput_per_second: f64,
    /// How long the closed load took.
    pub length_ns: u64,
    /// The rates.
    pub rates: Vec<PeakRate>,
}

/// A rate that was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeakRate {
    /// Name of its load.
    pub load: String,
    /// The rate ÷ the peak, as asked for.
    pub share: f64,
    /// Requests a second, rounded to two digits.
    pub rate_per_second: f64,
}

/// `rounds: auto`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoRecord {
    /// Intervals narrower than this share of their value are narrow.
    pub precision_share: f64,
    /// No round is begun that would end later than this after the run's start.
    pub max_time_ns: u64,
    /// What was seen at each look.
    pub looks: Vec<LookRecord>,
    /// Which of the limits ended it; `None`: it has not ended.
    pub ended: Option<AutoEnd>,
}

/// One look of `rounds: auto`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookRecord {
    /// After how many rounds.
    pub rounds: u32,
    /// Why it went on or stopped.
    #[serde(alias = "said")]
    pub found: Fact<Look>,
}

/// What ended `rounds: auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoEnd {
    /// Every interval is narrow.
    Precision,
    /// The next round would have ended too late.
    MaxTime,
    /// Twenty rounds.
    Rounds,
}

/// `trial.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRecord {
    /// `FORMAT`.
    pub format: u32,
    /// 1 for the first of the run.
    pub number: u32,
    /// 1 for the first.
    pub round: u32,
    /// Index in `RunRecord::cases`.
    #[serde(alias = "cell")]
    pub case: usize,
    /// RFC 3339.
    pub started_at: String,
    /// Phases in order: name, begin and end in ns since the trial began.
    pub phases: Vec<PhaseRecord>,
    /// What the load did; `None`: it never started (see `verdict`).
    pub load: Option<LoadRecord>,
    /// What the runtime is and how it was set.
    pub runtime: RuntimeRecord,
    /// What guarded it.
    pub isolation: IsolationRecord,
    /// CPUs of the whole stack's budget: 100 % of CPU.
    pub budget_cpus: u32,
    /// Whether the budget is split by role.
    pub budget_unequal: bool,
    /// How its processes ended.
    pub exits: Vec<Exit>,
    /// The trial's verdict.
    pub verdict: Verdict,
}

impl TrialRecord {
    /// Before anything has happened: whatever is not measured after all is invalid.
    pub fn empty(number: u32, round: u32, case: usize) -> TrialRecord {
        TrialRecord {
            format: FORMAT,
            number,
            round,
            case,
            started_at: String::new(),
            phases: Vec::new(),
            load: None,
            runtime: RuntimeRecord::default(),
            isolation: IsolationRecord::default(),
            budget_cpus: 0,
            budget_unequal: false,
            exits: Vec::new(),
            verdict: Verdict { judged: Judged::Invalid, reasons: Vec::new(), notes: Vec::new() },
        }
    }
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// `start`, `verify`, `warm-up`, `measure`, `drain`, `stop`.
    pub phase: String,
    /// Since the trial began.
    pub begin_ns: u64,
    /// Since the trial began.
    pub end_ns: u64,
}

/// The measured load in total. Histograms are in `seconds.hlog` (tags `response_time`,
/// `service_time`, `connection_wait`, `schedule_lag`) and, merged, in `total.hlog`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadRecord {
    /// By outcome.
    pub counts: Counts,
    /// Length of the schedule.
    pub scheduled_ns: u64,
    /// Until the last answer.
    pub lasted_ns: u64,
    /// Ok requests done inside the schedule.
    pub ok_inside: u64,
    /// Highest number of requests under way.
    pub in_flight_max: u32,
    /// In-flight gauge integrated ÷ `lasted_ns`: requests under way on average; `None`: an earlier
    /// version did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_mean: Option<f64>,
    /// In-flight gauge integrated ÷ (starts × mean service time); 1 is Little's law. NaN,
    /// `null` in the file, where nothing started.
    #[serde(deserialize_with = "number_or_nan")]
    pub littles_law_ratio: f64,
    /// Connections.
    pub connections: Connections,
    /// Busiest load thread, 0 … 1; NaN, `null` in the file, where it cannot be told.
    #[serde(deserialize_with = "number_or_nan")]
    pub busy_share_max: f64,
    /// Real ÷ planned length; NaN, `null` in the file, where nothing was planned.
    #[serde(deserialize_with = "number_or_nan")]
    pub stretched: f64,
    /// p99 of schedule lag; of fewer than 100 requests the longest.
    #[serde(alias = "lateness_ns_p99")]
    pub schedule_lag_ns_p99: u64,
    /// Schedule lag at the same rank, or at the highest that ten requests lie beyond, as they do
    /// beyond every percentile that is printed. Of fewer than 20 requests the median.
    #[serde(default, alias = "lateness_ns_sure")]
    pub schedule_lag_ns_sure: u64,
    /// Requests that took longer than an hour and are counted as an hour.
    #[serde(default)]
    pub clipped: u64,
    /// Median service time, of ok requests.
    pub service_time_ns_p50: u64,
    /// Timeout of a request.
    pub timeout_ns: u64,
    /// Whether connections were kept.
    pub keep_alive: bool,
    /// Client's name.
    pub client: String,
    /// How it came to its end.
    pub end: End,
}

impl LoadRecord {
    /// Of a closed load: whether it could not have been more, for a load thread had no time left.
    /// Of a shorter one than 100 ms that cannot be said: beginning counts as busy.
    pub fn is_generators_limit(&self) -> bool {
        self.busy_share_max > BUSY_CLOSED && self.lasted_ns >= SURELY_BUSY_NS
    }
}

/// Beyond it a closed load measures the generator.
const BUSY_CLOSED: f64 = 0.95;
/// Shorter loads are busy with beginning.
const SURELY_BUSY_NS: u64 = 100_000_000;

/// What the runtime is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RuntimeRecord {
    /// Title for people.
    pub title: String,
    /// `per-request`, `worker` or `event-loop`.
    pub mode: String,
    /// Program → version as printed.
    pub versions: BTreeMap<String, String>,
    /// Those of them that are no upstream release: program → what it is instead.
    #[serde(
        default,
        deserialize_with = "known_values",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub custom_builds: BTreeMap<String, CustomBuild>,
    /// Settings in force, defaults included.
    pub settings: BTreeMap<String, Value>,
    /// Rendered file → text.
    pub files: BTreeMap<String, String>,
    /// Command lines by role, as started.
    pub commands: Vec<String>,
    /// From start to the first correct answer.
    pub first_answer_ns: u64,
    /// How long the request took that got it; 0: not known.
    #[serde(default)]
    pub first_request_ns: u64,
    /// What explains what it shows of itself.
    #[serde(default)]
    pub given: Given,
    /// Worker threads that began anew under load; processes show in the resource series.
    #[serde(default)]
    pub thread_restarts: u64,
    /// What verification found before load.
    pub before: Option<Observed>,
    /// And after it.
    pub after: Option<Observed>,
    /// What its logs said under load that tells of a limit or of a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Said>,
}

/// What was put together by stampede and is no upstream release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CustomBuild {
    /// A program, of upstream's modules.
    Assembled,
    /// A program around upstream's library.
    Library,
}

impl CustomBuild {
    const ALL: [CustomBuild; 2] = [CustomBuild::Assembled, CustomBuild::Library];

    /// Behind names in tables: ` (assembled)`.
    pub const fn mark(self) -> &'static str {
        match self {
            CustomBuild::Assembled => " (assembled)",
            CustomBuild::Library => " (library)",
        }
    }

    /// What a program says of itself where its version is asked for: such a build has its mark in
    /// it.
    pub fn of_version(printed: &str) -> Option<CustomBuild> {
        CustomBuild::ALL.into_iter().find(|build| printed.contains(build.mark()))
    }
}

/// Lines of a program's log that mean the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Whose words they are: the need's name in `runtime.yaml`.
    pub program: String,
    /// What they mean.
    pub means: LogSignal,
    /// How many there were.
    pub lines: u64,
    /// The first of them, secrets masked.
    pub first: String,
}

/// What a line of a log means, as `runtimes/common/log-patterns.yaml` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogSignal {
    /// The web server takes no more connections.
    WebServerLimit,
    /// All of the web server's workers are taken. It says so whether or not a request waits for
    /// one.
    WebServerFull,
    /// The pool of workers is as large as it may be.
    WorkerLimit,
    /// A queue of connections is full.
    Backlog,
    /// PHP, or what is before it, went away in a request, or was not there.
    UpstreamGone,
    /// The same, of a web server that answers 500 for it.
    #[serde(rename = "upstream-gone-500")]
    UpstreamGone500,
    /// It did not answer in the time that the web server gives it.
    UpstreamTimeout,
    /// PHP's own memory limit was reached.
    PhpMemory,
    /// By a later version: it cannot be said here.
    #[serde(other)]
    Other,
}

/// Where a runtime comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Programs of this machine, started by stampede.
    #[default]
    Native,
    /// Already running: nothing of it is stampede's.
    #[serde(alias = "live")]
    External,
}

/// What explains what a runtime shows: what was asked of it, and what its SAPI decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// Where the runtime comes from.
    pub provider: Provider,
    /// Workers asked for; 0: not told.
    pub workers: u32,
    /// Whether it starts with fewer workers and adds them under load.
    pub grows: bool,
    /// Whether PHP goes on from request to request, by the runtime's nature.
    pub keeps_memory: bool,
    /// Whether its workers are threads, which want a thread-safe PHP.
    pub threads: bool,
    /// php.ini keys that the plan or a setting decides → what was asked for.
    pub ini: BTreeMap<String, String>,
    /// Extensions that its SAPI has by itself. A trailing `*` stands for any rest.
    pub forced_extensions: Vec<String>,
    /// php.ini keys that its SAPI has or sets by itself. A trailing `*` stands for any rest.
    pub forced_ini: Vec<String>,
}

/// What the runtime showed of itself, asked through its own door.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// `PHP_VERSION`.
    pub php_version: String,
    /// `PHP_SAPI`.
    pub sapi: String,
    /// ZTS or NTS.
    pub thread_safe: bool,
    /// Loaded extensions, sorted, lower case.
    pub extensions: Vec<String>,
    /// `ini_get_all()`: key → value in force.
    pub ini: BTreeMap<String, String>,
    /// OPcache on in this SAPI.
    pub opcache: bool,
    /// JIT on in this SAPI.
    pub jit: bool,
    /// Files that OPcache preloaded.
    #[serde(default)]
    pub preloaded: u32,
    /// How full OPcache is; `None`: it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opcache_state: Option<OpcacheState>,
    /// Workers seen; 0: could not be told.
    pub workers: u32,
    /// SHA-256 of the masked answer (status, headers, body).
    pub answer_sha256: String,
    /// Whether that answer changes by itself: asked again, and a second later, it was another one.
    #[serde(default)]
    pub answer_changes: bool,
    /// The masked answer, to show where a later one differs. In memory only.
    #[serde(skip)]
    pub answer: String,
    /// Requests of the load, each as often as its list has it; 0: not told.
    #[serde(default)]
    pub requests: u64,
    /// What the requests of the load were answered with before it, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageRecord>,
    /// Nothing of an earlier request was visible in a later one.
    pub isolated: bool,
    /// What else the reader should know.
    #[serde(default, deserialize_with = "observation::read")]
    pub notices: Vec<Fact<Observation>>,
}

/// What a request was answered with, as far as it should be the same on every runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageRecord {
    /// Path and query, secrets masked.
    pub path: String,
    /// HTTP status; 0: no answer came.
    pub status: u16,
    /// Where a redirect leads, as the header says it, secrets masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The page's title, else its first line: 120 characters at most.
    pub title: String,
    /// Of the body.
    pub bytes: u64,
    /// Whether it was another one when it was asked for again, or may be.
    #[serde(default)]
    pub changes: bool,
    /// Whether its title was.
    #[serde(default)]
    pub title_changes: bool,
    /// The PHP error that it shows at its end, which a status of 200 hides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub php_error: Option<String>,
}

/// How full OPcache is, of the worker that answered: `opcache_get_status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpcacheState {
    /// It takes no more files.
    pub full: bool,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes that it has.
    pub memory_bytes: u64,
    /// Files that it has.
    pub files: u64,
    /// Files that it may have.
    pub files_max: u64,
    /// Files that were not in it when they were asked for.
    pub misses: u64,
    /// How often it was emptied for want of memory or of room for files.
    pub restarts: u64,
}

/// Whether a trial counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// How it is judged.
    pub judged: Judged,
    /// Why; empty for `valid`.
    pub reasons: Vec<Fact<Reason>>,
    /// What is worth knowing and weighs nothing, whatever the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Fact<Reason>>,
}

/// Valid, suspect or invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// Counts.
    Valid,
    /// Counts, with a mark.
    Suspect,
    /// Does not count, never averaged in.
    Invalid,
}

/// A row of `seconds.ndjson`: counts of one second (its times are in `seconds.hlog`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondRecord {
    /// 0 for the first.
    pub second: u32,
    /// Requests.
    pub counts: Counts,
    /// Highest number under way.
    pub in_flight_max: u32,
    /// CPU time of the load threads.
    pub busy_ns: u64,
}

/// A row of `errors.ndjson`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// 0 for the first.
    pub second: u32,
    /// As the keys of `Counts::failed`, and `dropped`.
    pub kind: String,
    /// How many in this second.
    pub count: u64,
}

/// JSON has no NaN: `serde_json` writes `null` for it, and would refuse to read it back.
fn number_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
