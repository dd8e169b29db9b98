//! The data model of `summary.json`: what a run found by case. Docs: `docs/reading-a-report.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::cpus::CpuCount;
use stampede_model::fact::{self, Fact, Mismatch, Notice, Php, Reason};
use stampede_model::lag::LagMark;
use stampede_model::record::{AutoRecord, ProviderKind, Validity as Verdict};
use stampede_stats::estimate::Estimate;

use super::agents::AgentFigures;
use super::breaking::{Breaking, BreakingPoint};
use super::exhausted::Exhausted;
use super::in_flight::InFlight;
use super::kept_up::KeptUp;
use super::over_time::{ErrorSpan, OverTime};
use super::pages::Pages;
use super::steady::Steady;
use super::why::LimitingCause;

pub use super::compared::{Comparison, Drift, Standing};
pub use super::judged::{CaseVerdict, ExpectedOutcome, Found, Validity};
pub use stampede_model::primary::Primary;
pub use stampede_model::record::{LoadModel, LoadShape};
pub use stampede_model::stat::Stat;

/// Version of the format. It is raised when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// The summary of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The format's version, [`FORMAT`].
    pub format: u32,
    /// The run's id, which is the name of its directory.
    pub run: String,
    /// The version of stampede that measured the run.
    pub stampede: String,
    /// When the run started, in RFC 3339.
    pub started_at: String,
    /// Seed of the order of trials.
    pub seed: u64,
    /// Number of planned rounds.
    pub rounds: u32,
    /// Notices about the run as a whole, such as decisions for all cases.
    pub notices: Vec<Fact<Notice>>,
    /// The parameters and findings of `rounds: auto`. `None`: the number of rounds was fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoRecord>,
    /// One group for each app and load, in the plan's order.
    pub groups: Vec<Group>,
    /// All cases, by group, the best first.
    #[serde(alias = "cells")]
    pub cases: Vec<CaseSummary>,
    /// Published tables beside the figures. `None`: the plan names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<stampede_published::PublishedComparison>,
}

impl Summary {
    /// The cases of a group that are ranked, the best first.
    pub fn cases_of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a CaseSummary> {
        let is_own = |case: &&CaseSummary| case.app == group.app && case.load == group.load;
        self.cases.iter().filter(is_own).filter(|case| !case.is_noise)
    }

    /// Whether every case has a result: none is refused, missing or invalid, and no planned trial
    /// is missing. Otherwise the exit code is 3. A case with trials that count has a result even if
    /// it also has invalid trials; those are shown.
    pub fn is_whole(&self) -> bool {
        self.cases.iter().all(|case| {
            matches!(case.verdict, CaseVerdict::Valid | CaseVerdict::Suspect)
                && case.trials_missing == 0
        })
    }
}

/// All runtimes under one app and one load: the rows that may be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The app's name.
    pub app: String,
    /// The load's name.
    pub load: String,
    /// A description of the load.
    pub load_text: String,
    /// The load as data. `None`: it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<LoadShape>,
    /// Whether the load is open or closed.
    pub model: LoadModel,
    /// Requests per second. `None`: the load has no single rate from start to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_second: Option<f64>,
    /// The figure by which the cases are sorted and compared.
    pub primary: Primary,
    /// Sentences on how the rows compare with the baseline, and how certain that is.
    pub sentence: String,
    /// The row that the others are compared with, chosen before the run. `None`: nothing is
    /// compared.
    pub baseline: Option<String>,
    /// The comparison of each other measured row with the baseline, the best first.
    pub comparisons: Vec<Comparison>,
}

/// The summary of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseSummary {
    /// The name of the runtime or the variant.
    pub runtime: String,
    /// Whether the case measures the other version a second time. Only its difference from the
    /// first time is of interest, so it is in no ranking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_noise: bool,
    /// The app's name.
    pub app: String,
    /// The load's name.
    pub load: String,
    /// Whether the load is open or closed.
    pub model: LoadModel,
    /// The worst verdict among the trials that count, or why no trial counts.
    pub verdict: CaseVerdict,
    /// The reasons for the verdict, each with its trials, also those of trials that do not count.
    pub reasons: Vec<CaseReason>,
    /// Why its figures may not be compared with the other cases of this app. Empty: they may.
    pub not_comparable: Vec<Fact<Mismatch>>,
    /// Differences from the other cases that the plan asked for, as observed. They are settings and
    /// no reason against a comparison.
    #[serde(default)]
    pub asked: Vec<Fact<Php>>,
    /// Differences from the other cases that its SAPI causes: no reason against a comparison.
    #[serde(default)]
    pub forced: Vec<Fact<Php>>,
    /// State of one request that a later request sees, where that is the runtime's nature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// What the runtime is known to do with a request in another way than nginx with PHP-FPM: a
    /// sentence for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// The provider of the runtime.
    #[serde(default)]
    pub provider: ProviderKind,
    /// The runtime's title for people. Empty: it never started.
    pub title: String,
    /// `per-request`, `worker` or `event-loop`. Empty: it never started.
    pub mode: String,
    /// Maps each program to its version.
    pub versions: BTreeMap<String, String>,
    /// The PHP version that was observed. Empty: none was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub php_version: String,
    /// PHP extensions that the app needs and that are not loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions_missing: Vec<String>,
    /// The number of PHP workers that was observed. `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// CPUs of the whole stack: 100 % CPU use. A fraction is a quota.
    pub budget_cpus: CpuCount,
    /// Memory limit of the whole stack in bytes. 0: no limit.
    pub budget_memory_bytes: u64,
    /// Whether the budget is split by role, or single services have limits of their own.
    pub budget_unequal: bool,
    /// Timeout of a request. 0: nothing was sent.
    pub timeout_ns: u64,
    /// Actual ÷ planned length of the schedule, the largest among the trials. 1 unless the client
    /// stretches the schedule.
    pub stretched_max: f64,
    /// Number of trials that count: valid and suspect ones.
    pub trials_counted: u32,
    /// Number of trials that do not count: invalid ones.
    pub trials_invalid: u32,
    /// Number of planned trials that are not on disk.
    pub trials_missing: u32,
    /// Sums over the trials that count.
    pub counts: CaseCounts,
    /// Estimates over the trials that count.
    #[serde(flatten)]
    pub figures: Figures,
    /// Every trial on disk with its own figures, including invalid ones.
    pub trials: Vec<TrialSummary>,
    /// Significance groups as letters. Rows without a common letter differ, with all pairs taken
    /// together (Tukey). Empty with fewer than three rounds.
    #[serde(default, alias = "letters", skip_serializing_if = "String::is_empty")]
    pub significance_groups: String,
    /// How the primary figure changes from round to round. `None`: no significant change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// The plan's expectations with their outcomes.
    pub expectations: Vec<Validity>,
    /// The rate at which a rising load broke it. `None`: the load does not rise, or no trial
    /// counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaking: Option<Breaking>,
    /// When requests ended without a correct answer, by kind of failure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_over_time: BTreeMap<String, ErrorSpan>,
    /// What limited it, the most direct cause first. Empty: not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<LimitingCause>,
    /// Which resources of its stack were exhausted under a closed load. Empty: none, so its
    /// throughput is a lower bound. `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Vec<Exhausted>>,
    /// Whether it kept up with a constant target rate. `None`: the load has none, or it cannot be
    /// determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_up: Option<KeptUp>,
    /// The agents that sent the load, over the trials that count. Empty: stampede sent it itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentFigures>,
    /// The check by Little's law. `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// Its answers when each page was requested before the load.
    #[serde(default)]
    pub pages: Pages,
}

impl CaseSummary {
    /// Whether the case is a load on a URL alone: nothing is known of the server's budget, and
    /// nothing was to be compared.
    pub fn is_load_on_url(&self) -> bool {
        self.provider == ProviderKind::External && self.budget_cpus.is_zero()
    }
}

/// Reasons for a verdict that several trials share. With the verdict `Valid` they are notes that do
/// not affect it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReason {
    /// The verdict that the reasons led to. `None`: they are about the case itself.
    pub judged: Option<Verdict>,
    /// The numbers of those trials.
    pub trials: Vec<u32>,
    /// The reasons in words.
    pub text: String,
    /// The reasons as data.
    #[serde(default)]
    pub reasons: Vec<Fact<Reason>>,
}

impl CaseReason {
    /// Makes a reason whose text joins the sentences of `reasons`.
    pub fn of(judged: Option<Verdict>, trials: Vec<u32>, reasons: Vec<Fact<Reason>>) -> CaseReason {
        CaseReason { judged, trials, text: fact::joined(&reasons), reasons }
    }
}

impl std::fmt::Display for CaseReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(judged) = self.judged else { return f.write_str(&self.text) };
        let trials = stampede_model::words::number_list("trial", &self.trials);
        let judged = match judged {
            Verdict::Valid => "",
            Verdict::Suspect => " suspect",
            Verdict::Invalid => " invalid, not counted",
        };
        write!(f, "{trials}{judged}: {}", self.text)
    }
}

/// The summary of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSummary {
    /// The number in the run, counted from 1.
    pub number: u32,
    /// The round, counted from 1.
    pub round: u32,
    /// The trial's verdict.
    pub verdict: Verdict,
    /// The reasons for the verdict.
    pub reasons: Vec<Fact<Reason>>,
    /// Notes that do not affect the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Fact<Reason>>,
    /// Whether the load was stopped before its end. Requests not due by then count as `dropped`.
    #[serde(default)]
    pub stopped: bool,
    /// The time from the trial's start to the end of its last phase.
    #[serde(default)]
    pub lasted_ns: u64,
    /// Counts of requests and events.
    pub counts: CaseCounts,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// The target rate at which a rising load broke it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaking_point: Option<BreakingPoint>,
    /// What limited it, the most direct cause first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<LimitingCause>,
    /// The same as `exhausted` of a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Vec<Exhausted>>,
    /// The same as `kept_up` of a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_up: Option<KeptUp>,
    /// The agents that sent the load. Empty: stampede sent it itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentFigures>,
    /// The same as `in_flight` of a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// Whether answers to a constant load were stable over time. `None`: it is not constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// The figures by second.
    #[serde(default, skip_serializing_if = "OverTime::is_empty")]
    pub over_time: OverTime,
}

/// Counts of requests by outcome, and of other events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseCounts {
    /// Requests in the schedule. In the closed model: requests started.
    pub planned: u64,
    /// Correct answers.
    pub ok: u64,
    /// Failed requests by kind of failure.
    pub failed: BTreeMap<String, u64>,
    /// Requests that were due but never started.
    pub dropped: u64,
    /// Processes that started after the runtime's start.
    pub restarts: u64,
    /// Voluntary and involuntary, of the whole stack (at most 64 processes per role).
    pub context_switches: u64,
    /// The highest number of requests in flight, over all trials.
    #[serde(default)]
    pub in_flight_max: u32,
}

impl CaseCounts {
    /// All failed requests.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }

    /// The most frequent kinds of failure, including `dropped`: two at most, the most frequent
    /// first.
    pub fn worst_kinds(&self) -> Vec<String> {
        let mut kinds: Vec<(String, u64)> =
            self.failed.iter().map(|(kind, count)| (kind.clone(), *count)).collect();
        kinds.push(("dropped".to_owned(), self.dropped));
        kinds.retain(|(_, count)| *count > 0);
        kinds.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        kinds.into_iter().take(2).map(|(kind, _)| kind).collect()
    }

    /// Correct answers ÷ planned requests. `None`: no request was planned.
    pub fn ok_share(&self) -> Option<f64> {
        (self.planned > 0).then(|| self.ok as f64 / self.planned as f64)
    }

    /// Adds the counts of another trial.
    pub fn add(&mut self, other: &CaseCounts) {
        self.planned += other.planned;
        self.ok += other.ok;
        self.dropped += other.dropped;
        self.restarts += other.restarts;
        self.context_switches += other.context_switches;
        self.in_flight_max = self.in_flight_max.max(other.in_flight_max);
        for (kind, count) in &other.failed {
            *self.failed.entry(kind.clone()).or_default() += count;
        }
    }
}

/// All figures of a trial, or of a case over its trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Response time over all planned requests. Open model only.
    pub response_time_ns: TimeFigures,
    /// The same without schedule lag, the generator's own delay. Open model only.
    #[serde(default)]
    pub response_time_without_lag_ns: TimeFigures,
    /// A lower bound of the time that tables show, which is response time in the open model and
    /// service time in the closed one: also without the time for which answers may have been there
    /// before they were seen. Only where nothing stamps what arrives (Unix sockets).
    #[serde(default)]
    pub lower_bound_ns: TimeFigures,
    /// The figures of the time that tables show of which the generator's own delay makes, or may
    /// make, more than 5 % and 20 µs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lag_marks: Vec<LagMark>,
    /// Response time of the ok requests alone. Open model only.
    pub response_time_ns_ok: TimeFigures,
    /// Service time over all planned requests.
    pub service_time_ns: TimeFigures,
    /// Service time of the ok requests alone.
    pub service_time_ns_ok: TimeFigures,
    /// The wait for a free connection, caused by the runtime.
    pub connection_wait_ns_p99: Figure,
    /// The delay in sending, caused by the generator.
    #[serde(alias = "lateness_ns_p99")]
    pub schedule_lag_ns_p99: Figure,
    /// From the runtime's start to the first correct answer.
    pub first_answer_ns: Figure,
    /// Duration of the request that got this first answer: a cold start, as a client sees it.
    pub first_request_ns: Figure,
    /// Correct answers ÷ planned requests, 0 to 1.
    pub ok_share: Figure,
    /// Requests due per second. Open model only.
    pub offered_per_second: Figure,
    /// Correct answers done within the schedule ÷ its length.
    pub throughput_per_second: Figure,
    /// Bytes of answers per second, heads included, until the last answer.
    pub received_bytes_per_second: Figure,
    /// Bytes of requests per second, heads included, until the last answer.
    pub sent_bytes_per_second: Figure,
    /// Share of the whole stack's budget: the median of the readings within the schedule.
    pub cpu_percent_median: Figure,
    /// The highest of those readings.
    pub cpu_percent_max: Figure,
    /// CPU time of the whole stack per correct answer, in µs.
    pub cpu_cost_us: Figure,
    /// CPU time of the container engine beside the budget (its daemon, shims and proxies) per correct
    /// answer, in µs. Rows of containers only.
    #[serde(default, skip_serializing_if = "Figure::is_unknown")]
    pub engine_cost_us: Figure,
    /// Memory of the whole stack: the median of the readings.
    pub memory_bytes_median: Figure,
    /// The highest reading.
    pub memory_bytes_max: Figure,
    /// The figures of each role.
    pub roles: BTreeMap<String, RoleFigures>,
}

/// The resource use of one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleFigures {
    /// Share of the whole stack's budget: the median of the readings.
    pub cpu_percent_median: Figure,
    /// The highest reading.
    pub cpu_percent_max: Figure,
    /// CPU time of the role per correct answer, in µs.
    pub cpu_cost_us: Figure,
    /// Median of the readings.
    pub memory_bytes_median: Figure,
    /// The highest reading.
    pub memory_bytes_max: Figure,
}

/// One figure, and how exactly it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Figure {
    /// The exact value.
    Exact(Estimate),
    /// A lower bound: a timeout cut the value off, or the generator was at its limit.
    AtLeast(Estimate),
    /// A request without a correct answer is at this rank or a lower one, in at least one trial.
    Failed,
    /// Fewer than ten requests lie beyond this rank, so no value is given.
    TooFew,
    /// The figure does not exist here, or could not be read.
    #[default]
    None,
}

impl Figure {
    /// An exact figure of one trial.
    pub fn exact(value: f64) -> Figure {
        Figure::Exact(Estimate { value, interval: None, trials: 1 })
    }

    /// Whether the figure does not exist, or could not be read.
    pub fn is_unknown(&self) -> bool {
        *self == Figure::None
    }

    /// A lower bound from one trial.
    pub fn at_least(value: f64) -> Figure {
        Figure::AtLeast(Estimate { value, interval: None, trials: 1 })
    }

    /// The number, including one that is only a lower bound.
    pub fn value(&self) -> Option<f64> {
        match self {
            Figure::Exact(estimate) | Figure::AtLeast(estimate) => Some(estimate.value),
            Figure::Failed | Figure::TooFew | Figure::None => None,
        }
    }

    /// The number, if it is exact.
    pub fn known(&self) -> Option<f64> {
        match self {
            Figure::Exact(estimate) => Some(estimate.value),
            _ => None,
        }
    }

    /// The interval over trials, if the number is exact.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self {
            Figure::Exact(estimate) => estimate.interval,
            _ => None,
        }
    }

    /// Combines the figures of trials by their geometric mean. If a figure failed or has too few
    /// requests in one trial, the result is the same. Trials without the figure are left out.
    pub fn over(trials: impl IntoIterator<Item = Figure>) -> Figure {
        let read: Vec<Figure> =
            trials.into_iter().filter(|figure| *figure != Figure::None).collect();
        if read.contains(&Figure::Failed) {
            return Figure::Failed;
        }
        if read.contains(&Figure::TooFew) {
            return Figure::TooFew;
        }
        let values: Vec<f64> = read.iter().filter_map(Figure::value).collect();
        let bounded = read.iter().any(|figure| matches!(figure, Figure::AtLeast(_)));
        match Estimate::of(&values) {
            None => Figure::None,
            // An interval made from lower bounds would bound nothing.
            Some(estimate) if bounded => Figure::AtLeast(Estimate { interval: None, ..estimate }),
            Some(estimate) => Figure::Exact(estimate),
        }
    }
}

/// The times of a set of requests, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeFigures {
    /// The arithmetic mean within a trial.
    pub mean: Figure,
    /// The median.
    pub p50: Figure,
    /// 75 % of the requests took at most this time.
    pub p75: Figure,
    /// 80 %.
    pub p80: Figure,
    /// 85 %.
    pub p85: Figure,
    /// 90 %.
    pub p90: Figure,
    /// 95 %.
    pub p95: Figure,
    /// 98 %.
    pub p98: Figure,
    /// 99 %.
    pub p99: Figure,
    /// 99.9 %.
    #[serde(rename = "p99.9")]
    pub p99_9: Figure,
    /// The longest time.
    pub max: Figure,
}

impl TimeFigures {
    /// Builds each figure from its name.
    pub fn build(mut figure: impl FnMut(Stat) -> Figure) -> TimeFigures {
        TimeFigures {
            mean: figure(Stat::Mean),
            p50: figure(Stat::Percentile(500)),
            p75: figure(Stat::Percentile(750)),
            p80: figure(Stat::Percentile(800)),
            p85: figure(Stat::Percentile(850)),
            p90: figure(Stat::Percentile(900)),
            p95: figure(Stat::Percentile(950)),
            p98: figure(Stat::Percentile(980)),
            p99: figure(Stat::Percentile(990)),
            p99_9: figure(Stat::Percentile(999)),
            max: figure(Stat::Max),
        }
    }

    /// The figure of this name, or `Figure::None` for a percentile that is not stored.
    pub fn get(&self, stat: Stat) -> Figure {
        match stat {
            Stat::Mean => self.mean,
            Stat::Percentile(500) => self.p50,
            Stat::Percentile(750) => self.p75,
            Stat::Percentile(800) => self.p80,
            Stat::Percentile(850) => self.p85,
            Stat::Percentile(900) => self.p90,
            Stat::Percentile(950) => self.p95,
            Stat::Percentile(980) => self.p98,
            Stat::Percentile(990) => self.p99,
            Stat::Percentile(999) => self.p99_9,
            Stat::Percentile(_) => Figure::None,
            Stat::Max => self.max,
        }
    }
}
