//! The data of `capacity.json`, which `stampede capacity --json` prints too. The format is
//! described in `docs/capacity.schema.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::cpus::CpuCount;
use stampede_model::fact::search::Limited;
use stampede_model::fact::{Fact, LimitFound, Reason};

use crate::summary::agents::AgentFigures;
use crate::summary::why::Cause;

/// Version of the format; it increases when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// A whole search. Times are in ns, lengths in s, rates per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityReport {
    /// Version of this format.
    pub format: u32,
    /// Version of stampede.
    pub stampede: String,
    /// The run's id: its directory's name.
    pub run: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// The app's name.
    pub app: String,
    /// What has to hold, as written.
    pub expect: Vec<String>,
    /// CPUs of the whole stack.
    pub budget_cpus: CpuCount,
    /// Memory of the whole stack; 0: no limit.
    pub budget_memory_bytes: u64,
    /// How wide the interval was to be: 0.1 for 10 %.
    pub precision: f64,
    /// How long each runtime could be searched.
    pub max_time_s: f64,
    /// Whether it was ended early, by Ctrl-C.
    pub interrupted: bool,
    /// Each runtime, in the order in which they were named.
    pub runtimes: Vec<Limit>,
}

/// A runtime's limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Its name.
    pub runtime: String,
    /// How the search ended.
    pub ending: Ending,
    /// The same with its figures, and as a sentence.
    pub said: Fact<Limited>,
    /// The highest rate that meets the expectations in all likelihood; null: none is known.
    pub capacity_per_second: Option<f64>,
    /// The lowest rate that does not, in all likelihood: with the capacity the 95 % interval; null:
    /// none is known.
    pub upper_per_second: Option<f64>,
    /// Where response time starts to bend: the measured throughput with the most throughput for its
    /// mean response time; null: no bend was measured.
    pub knee_per_second: Option<f64>,
    /// What one user alone waits for: 1 − CPU time ÷ service time; null: not known.
    pub waiting_share: Option<f64>,
    /// How long its trials took, starts included.
    pub spent_s: f64,
    /// Its trials, in the order in which they ran.
    pub points: Vec<Point>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As narrow as wanted, met by longer trials at the capacity and not by one 10 % above it.
    Found,
    /// As narrow, but longer trials did not agree, or there was no time for them.
    Unconfirmed,
    /// The time was over before it was as narrow as wanted: the best so far.
    Wide,
    /// More than the generator can offer: the capacity is a lower bound.
    AtLeast,
    /// One user alone does not meet the expectations: no rate can.
    NotMetAlone,
    /// One user alone does, and not the lowest rate that was tried.
    Below,
    /// It was not measured.
    NotMeasured,
    /// Ended before anything was known.
    Unknown,
}

/// What a trial was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// One user alone.
    Alone,
    /// Many users: about where to begin.
    Crowd,
    /// Doubles or halves the rate.
    Probe,
    /// Narrows the interval roughly.
    Search,
    /// A longer trial, which narrows it further.
    Narrow,
    /// A longer trial at the capacity.
    Confirm,
    /// A longer trial 10 % above it.
    Beyond,
    /// Below the capacity, for the chart and the knee.
    Curve,
}

/// What a trial has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    /// The expectations are met.
    Met,
    /// They are not.
    Missed,
    /// The generator could not keep the rate: nothing of the runtime was seen.
    Generator,
    /// The runtime did not start, or ended before the load.
    NotMeasured,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Its number: the directory `trials/<number>-…` of the run.
    pub trial: u32,
    /// What it was for.
    pub purpose: Purpose,
    /// Users of a closed load; null: it has a rate.
    #[serde(alias = "users")]
    pub concurrency: Option<u32>,
    /// Offered rate; null: it has users.
    pub offered_per_second: Option<f64>,
    /// Length of its load.
    pub length_s: f64,
    /// How long it took in all, start and end included.
    pub took_s: f64,
    /// What it has shown.
    pub seen: TrialOutcome,
    /// Why it is not met; of one that is met, what the generator did wrong meanwhile.
    pub why: Vec<Fact<Reason>>,
    /// Correct answers.
    pub throughput_per_second: Option<f64>,
    /// Mean of response time; with users, of service time.
    pub time_ns_mean: Option<f64>,
    /// Its median.
    pub time_ns_p50: Option<f64>,
    /// 95 % are at most this; null: too few requests, or one without a correct answer stands there.
    pub time_ns_p95: Option<f64>,
    /// 99 % are at most this.
    pub time_ns_p99: Option<f64>,
    /// Correct answers ÷ planned requests, 0 to 1.
    pub ok_share: Option<f64>,
    /// CPU of the whole stack: 100 is its budget.
    pub cpu_percent: Option<f64>,
    /// CPU time of the whole stack for a correct answer.
    pub cpu_cost_us: Option<f64>,
    /// The most memory of the whole stack.
    pub memory_bytes_max: Option<f64>,
    /// Why processes of it were ended for want of memory; null: none was.
    pub out_of_memory: Option<Fact<Reason>>,
    /// What held it back, where it is not met: the most direct reason; null: not known.
    #[serde(default)]
    pub held_back: Option<LimitingFactor>,
    /// The agents that sent the load. Empty: stampede sent it itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentFigures>,
}

/// What held a runtime back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenHeldBack")]
pub struct LimitingFactor {
    /// What it was; null: an earlier version wrote the sentence alone.
    pub cause: Option<Cause>,
    /// What was found, with figures.
    #[serde(flatten)]
    pub found: Fact<LimitFound>,
}

/// As it may be on disk.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenHeldBack {
    Text(String),
    Known {
        cause: Option<Cause>,
        #[serde(flatten)]
        found: Fact<LimitFound>,
    },
}

impl From<WrittenHeldBack> for LimitingFactor {
    fn from(written: WrittenHeldBack) -> LimitingFactor {
        match written {
            WrittenHeldBack::Text(text) => LimitingFactor { cause: None, found: Fact::bare(text) },
            WrittenHeldBack::Known { cause, found } => LimitingFactor { cause, found },
        }
    }
}

/// Returns what held the runtime back, at the lowest missed rate for which that is known. Trials
/// below `sustained` (1/s) are ignored: there, a single missed trial is chance.
pub fn held_back(points: &[Point], sustained: Option<f64>) -> Option<&LimitingFactor> {
    let rate = |point: &Point| point.offered_per_second.unwrap_or(f64::INFINITY);
    let missed = points.iter().filter(|point| rate(point) >= sustained.unwrap_or(0.0));
    let known = missed.filter_map(|point| Some((point, point.held_back.as_ref()?)));
    known.min_by(|(one, _), (other, _)| rate(one).total_cmp(&rate(other))).map(|(_, why)| why)
}

impl Point {
    /// Returns 1 − CPU time ÷ time: the share that an answer spent waiting and not computing.
    pub fn waiting_share(&self) -> Option<f64> {
        let (cost, time) = (self.cpu_cost_us? * 1e3, self.time_ns_mean?);
        (time > 0.0).then(|| (1.0 - cost / time).clamp(0.0, 1.0))
    }
}
