//! `summary.json`: what a run found, case by case. Docs: `docs/reading-a-report.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stampede_stats::estimate::Estimate;

use super::breaking::{Breaking, BreakingPoint};
pub use super::compared::{Comparison, Drift, Primary, Standing};
use super::exhausted::Exhausted;
use super::in_flight::InFlight;
pub use super::judged::{Expected, Found, Judged};
use super::kept_up::KeptUp;
use super::over_time::{ErrorSpan, OverTime};
use super::pages::Pages;
use super::steady::Steady;
use super::why::Why;
use crate::fact::{self, Fact, Mismatch, Notice, Php, Reason};
use crate::store::record::{AutoRecord, Judged as Verdict, Provider};
pub use crate::store::record::{LoadModel, LoadShape};

/// Raised when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// A whole run, computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// The run's id: its directory's name.
    pub run: String,
    /// stampede's version that measured it.
    pub stampede: String,
    /// RFC 3339.
    pub started_at: String,
    /// Seed of the order of trials.
    pub seed: u64,
    /// Rounds planned.
    pub rounds: u32,
    /// What was decided for all cases.
    pub notices: Vec<Fact<Notice>>,
    /// What `rounds: auto` was told and found; `None`: the plan says how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoRecord>,
    /// One for each app and load, in the plan's order.
    pub groups: Vec<Group>,
    /// All cases: by group, the best first.
    #[serde(alias = "cells")]
    pub cases: Vec<CaseSummary>,
}

impl Summary {
    /// The cases of a group, the best first.
    pub fn cases_of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a CaseSummary> {
        self.cases.iter().filter(|case| case.app == group.app && case.load == group.load)
    }

    /// Whether every case has an answer: none refused, missing or invalid, and no trial of
    /// the plan left out. If not, the exit code is 3. A case with trials that count has one,
    /// beside invalid trials that do not; they are shown.
    pub fn is_whole(&self) -> bool {
        self.cases.iter().all(|case| {
            matches!(case.verdict, CaseVerdict::Valid | CaseVerdict::Suspect)
                && case.trials_missing == 0
        })
    }
}

/// All runtimes under one app and one load: what may be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// App's name.
    pub app: String,
    /// Load's name.
    pub load: String,
    /// The load in words.
    pub load_text: String,
    /// The same as data; left out where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<LoadShape>,
    /// Open or closed.
    pub model: LoadModel,
    /// Requests a second, where the load has one rate from its begin to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_second: Option<f64>,
    /// The figure that the cases are sorted by and compared in.
    pub primary: Primary,
    /// How the rows compare with the baseline, and how sure that is.
    pub sentence: String,
    /// The row that the others are compared with, chosen before the run; `None`: nothing is
    /// compared.
    pub baseline: Option<String>,
    /// Each other row that was measured, compared with the baseline; the best first.
    pub comparisons: Vec<Comparison>,
}

/// One case, computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// Runtime's or variant's name.
    pub runtime: String,
    /// App's name.
    pub app: String,
    /// Load's name.
    pub load: String,
    /// Open or closed.
    pub model: LoadModel,
    /// The worst of its trials that count; or why there is none.
    pub verdict: CaseVerdict,
    /// Why, each with its trials; those of trials that do not count too.
    pub reasons: Vec<CaseReason>,
    /// Why its figures may not be held against the others' of this app; empty: they may.
    pub not_comparable: Vec<Fact<Mismatch>>,
    /// What the plan asked of it otherwise than of the others, as observed: a setting, not
    /// against anyone.
    #[serde(default)]
    pub asked: Vec<Fact<Php>>,
    /// What its SAPI has or sets otherwise than the others': not against anyone.
    #[serde(default)]
    pub forced: Vec<Fact<Php>>,
    /// What of one request a later one sees, where that is the runtime's nature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// Where the runtime comes from.
    #[serde(default)]
    pub provider: Provider,
    /// The runtime's title for people; empty where it never started.
    pub title: String,
    /// `per-request`, `worker` or `event-loop`; empty where it never started.
    pub mode: String,
    /// Program → version.
    pub versions: BTreeMap<String, String>,
    /// Version of PHP that it showed; empty: it showed none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub php_version: String,
    /// PHP workers that it showed; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// CPUs of the whole stack: 100 % of CPU.
    pub budget_cpus: u32,
    /// Bytes of the whole stack; 0: no limit.
    pub budget_memory_bytes: u64,
    /// Whether the budget is split by role.
    pub budget_unequal: bool,
    /// A request's timeout; 0 where nothing was sent.
    pub timeout_ns: u64,
    /// Real ÷ planned length of the schedule, the largest of the trials; 1 unless the
    /// client stretches.
    pub stretched_max: f64,
    /// Trials that count: valid and suspect ones.
    pub trials_counted: u32,
    /// Trials that do not: invalid ones.
    pub trials_invalid: u32,
    /// Trials of the plan that are not on disk.
    pub trials_missing: u32,
    /// Sums over the trials that count.
    pub counts: CaseCounts,
    /// Estimates over the trials that count.
    #[serde(flatten)]
    pub figures: Figures,
    /// Every trial on disk, invalid ones too, with its own figures.
    pub trials: Vec<TrialSummary>,
    /// Significance groups: rows without a letter in common differ, all pairs taken together
    /// (Tukey); empty below three rounds.
    #[serde(default, alias = "letters", skip_serializing_if = "String::is_empty")]
    pub significance_groups: String,
    /// How the primary figure moves from round to round, where it surely does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// The plan's expectations, judged.
    pub expectations: Vec<Judged>,
    /// Where a rising load broke it; `None`: its load does not rise, or no trial counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaking: Option<Breaking>,
    /// When requests ended without a correct answer, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_over_time: BTreeMap<String, ErrorSpan>,
    /// What held it back, the most direct first; empty: not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Why>,
    /// What of its stack had nothing left under a closed load; empty: nothing, so its throughput is
    /// a lower bound; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Vec<Exhausted>>,
    /// Whether it kept up with a constant offered rate; `None`: there is none, or it cannot be
    /// told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_up: Option<KeptUp>,
    /// Little's law; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// What it answered when each page was asked for before the load.
    #[serde(default)]
    pub pages: Pages,
}

/// How a case is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseVerdict {
    /// All its trials that count are valid.
    Valid,
    /// A trial that counts is suspect: it has a mark.
    Suspect,
    /// It has trials, and all are invalid: none counts.
    Invalid,
    /// No trial of it is on disk.
    Missing,
    /// It was not to be measured.
    Refused,
}

/// Reasons for a verdict that several trials have alike; or notes, whose trials they weigh nothing
/// in (`Valid`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseReason {
    /// How it made its trials be judged; `None`: it is about the case itself.
    pub judged: Option<Verdict>,
    /// Numbers of those trials.
    pub trials: Vec<u32>,
    /// In words.
    pub text: String,
    /// As data.
    #[serde(default)]
    pub reasons: Vec<Fact<Reason>>,
}

impl CaseReason {
    /// With their sentences.
    pub fn of(judged: Option<Verdict>, trials: Vec<u32>, reasons: Vec<Fact<Reason>>) -> CaseReason {
        CaseReason { judged, trials, text: fact::joined(&reasons), reasons }
    }
}

impl std::fmt::Display for CaseReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(judged) = self.judged else { return f.write_str(&self.text) };
        let trials = super::words::number_list("trial", &self.trials);
        let judged = match judged {
            Verdict::Valid => "",
            Verdict::Suspect => " suspect",
            Verdict::Invalid => " invalid, not counted",
        };
        write!(f, "{trials}{judged}: {}", self.text)
    }
}

/// One trial, computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSummary {
    /// 1 for the first of the run.
    pub number: u32,
    /// 1 for the first.
    pub round: u32,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why.
    pub reasons: Vec<Fact<Reason>>,
    /// What is worth knowing and weighs nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Fact<Reason>>,
    /// Whether its load was stopped before its end: requests not due by then are `dropped`.
    #[serde(default)]
    pub stopped: bool,
    /// From its start to the end of its last phase.
    #[serde(default)]
    pub lasted_ns: u64,
    /// Its requests and events.
    pub counts: CaseCounts,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Where a rising load broke it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaking_point: Option<BreakingPoint>,
    /// What held it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Why>,
    /// As a case's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Vec<Exhausted>>,
    /// As a case's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_up: Option<KeptUp>,
    /// As a case's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// Whether a constant load was answered evenly; `None`: it is not constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// Its seconds.
    #[serde(default, skip_serializing_if = "OverTime::is_empty")]
    pub over_time: OverTime,
}

/// Requests by outcome, and what happened beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseCounts {
    /// Requests that the schedule holds (closed model: requests started).
    pub planned: u64,
    /// Correct answers.
    pub ok: u64,
    /// Failed by kind.
    pub failed: BTreeMap<String, u64>,
    /// Due, never started.
    pub dropped: u64,
    /// Processes that were started after the start.
    pub restarts: u64,
    /// Voluntary and involuntary, of the whole stack (at most 64 processes a role).
    pub context_switches: u64,
    /// Highest number of requests under way, of any trial.
    #[serde(default)]
    pub in_flight_max: u32,
}

impl CaseCounts {
    /// All failed requests.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }

    /// The kinds of failure that most requests ended with, two at most, the most frequent first;
    /// `dropped` among them.
    pub fn worst_kinds(&self) -> Vec<String> {
        let mut kinds: Vec<(String, u64)> =
            self.failed.iter().map(|(kind, count)| (kind.clone(), *count)).collect();
        kinds.push(("dropped".to_owned(), self.dropped));
        kinds.retain(|(_, count)| *count > 0);
        kinds.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        kinds.into_iter().take(2).map(|(kind, _)| kind).collect()
    }

    /// Correct answers ÷ planned; `None` where nothing was planned.
    pub fn ok_share(&self) -> Option<f64> {
        (self.planned > 0).then(|| self.ok as f64 / self.planned as f64)
    }

    /// Adds another trial's.
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

/// All figures of a trial or, over trials, of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Over all planned requests; open model only.
    pub response_time_ns: TimeFigures,
    /// Of the ok requests alone; open model only.
    pub response_time_ns_ok: TimeFigures,
    /// Over all planned requests.
    pub service_time_ns: TimeFigures,
    /// Of the ok requests alone.
    pub service_time_ns_ok: TimeFigures,
    /// Wait for a connection that was not busy: the runtime's doing.
    pub connection_wait_ns_p99: Figure,
    /// The generator's own fault.
    #[serde(alias = "lateness_ns_p99")]
    pub schedule_lag_ns_p99: Figure,
    /// From start to the first correct answer.
    pub first_answer_ns: Figure,
    /// How long the request took that got it: a cold start, seen by a client.
    pub first_request_ns: Figure,
    /// Correct answers ÷ planned requests, 0 to 1.
    pub ok_share: Figure,
    /// Requests due a second; open model only.
    pub offered_per_second: Figure,
    /// Correct answers done inside the schedule ÷ its length.
    pub throughput_per_second: Figure,
    /// Bytes of answers, heads included, until the last answer.
    pub received_bytes_per_second: Figure,
    /// Bytes of requests, heads included, until the last answer.
    pub sent_bytes_per_second: Figure,
    /// Of the whole stack's budget, median of the readings inside the schedule.
    pub cpu_percent_median: Figure,
    /// The highest of those readings.
    pub cpu_percent_max: Figure,
    /// CPU time of the whole stack per correct answer.
    pub cpu_cost_us: Figure,
    /// Of the whole stack, median of the readings.
    pub memory_bytes_median: Figure,
    /// The highest reading.
    pub memory_bytes_max: Figure,
    /// The same by role.
    pub roles: BTreeMap<String, RoleFigures>,
}

/// What one role spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleFigures {
    /// Of the whole stack's budget.
    pub cpu_percent_median: Figure,
    /// The highest reading.
    pub cpu_percent_max: Figure,
    /// CPU time of the role per correct answer.
    pub cpu_cost_us: Figure,
    /// Median of the readings.
    pub memory_bytes_median: Figure,
    /// The highest reading.
    pub memory_bytes_max: Figure,
}

/// One figure and how far it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Figure {
    /// This is it.
    Exact(Estimate),
    /// At least this: a timeout cut it off, or the generator was at its limit.
    AtLeast(Estimate),
    /// A request without a correct answer stands there or lower (in one of the trials at least).
    Failed,
    /// Else fewer than ten requests lie beyond it.
    TooFew,
    /// Does not exist here, or could not be read.
    #[default]
    None,
}

impl Figure {
    /// Of one trial.
    pub fn exact(value: f64) -> Figure {
        Figure::Exact(Estimate { value, interval: None, trials: 1 })
    }

    /// Of one trial.
    pub fn at_least(value: f64) -> Figure {
        Figure::AtLeast(Estimate { value, interval: None, trials: 1 })
    }

    /// The number, also where it is only a lower bound.
    pub fn value(&self) -> Option<f64> {
        match self {
            Figure::Exact(estimate) | Figure::AtLeast(estimate) => Some(estimate.value),
            Figure::Failed | Figure::TooFew | Figure::None => None,
        }
    }

    /// The number, where it is known.
    pub fn known(&self) -> Option<f64> {
        match self {
            Figure::Exact(estimate) => Some(estimate.value),
            _ => None,
        }
    }

    /// Its interval over trials.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self {
            Figure::Exact(estimate) => estimate.interval,
            _ => None,
        }
    }

    /// Over trials: the geometric mean. What failed in one trial failed; what one trial has
    /// too few requests for has too few; what could not be read in one trial is left out.
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
            // An interval of bounds bounds nothing.
            Some(estimate) if bounded => Figure::AtLeast(Estimate { interval: None, ..estimate }),
            Some(estimate) => Figure::Exact(estimate),
        }
    }
}

/// The times of a set of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeFigures {
    /// Arithmetic mean within a trial.
    pub mean: Figure,
    /// Median.
    pub p50: Figure,
    /// 75 % are at most this.
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
    /// The slowest of all.
    pub max: Figure,
}

/// Names a figure of [`TimeFigures`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stat {
    /// Arithmetic mean.
    Mean,
    /// In tenths of a percent: 999 is p99.9.
    Percentile(u32),
    /// The slowest.
    Max,
}

impl Stat {
    /// All, in the order of tables.
    pub const ALL: [Stat; 11] = [
        Stat::Mean,
        Stat::Percentile(500),
        Stat::Percentile(750),
        Stat::Percentile(800),
        Stat::Percentile(850),
        Stat::Percentile(900),
        Stat::Percentile(950),
        Stat::Percentile(980),
        Stat::Percentile(990),
        Stat::Percentile(999),
        Stat::Max,
    ];

    /// The percentile of this rank; `None`: it is none of them.
    pub fn percentile(percent: f64) -> Option<Stat> {
        let is_it = |stat: &Stat| match stat {
            Stat::Percentile(tenths) => f64::from(*tenths) / 10.0 == percent,
            Stat::Mean | Stat::Max => false,
        };
        Stat::ALL.into_iter().find(is_it)
    }
}

impl std::fmt::Display for Stat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stat::Mean => f.write_str("mean"),
            Stat::Max => f.write_str("max"),
            Stat::Percentile(tenths) if tenths % 10 == 0 => write!(f, "p{}", tenths / 10),
            Stat::Percentile(tenths) => write!(f, "p{}.{}", tenths / 10, tenths % 10),
        }
    }
}

impl TimeFigures {
    /// Each by its name.
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

    /// One by its name; `None` for a percentile that is not kept.
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
