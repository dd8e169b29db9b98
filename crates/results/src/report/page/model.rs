//! The data of the page, as JSON. `cargo xtask types` writes the page's own types of it,
//! `report-ui/src/data.generated.ts`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::Value;
use stampede_model::fact::{Fact, Observation, Reason};
use stampede_model::record::Validity;

use super::versions::ComparedVersions;
use crate::store::RunState;
use crate::summary::Summary;

/// Version of the format. It is raised when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// All data of the page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Page {
    /// The format's version, [`FORMAT`].
    pub format: u32,
    /// The version of stampede that wrote the page.
    pub stampede: String,
    /// The runs that the page shows. Several runs are overlaid.
    pub runs: Vec<Run>,
    /// For several runs: maps a name in the summary to the runtime and its run. Empty for a single
    /// run, in which names are the runtimes' own.
    pub names: BTreeMap<String, OverlaidRuntime>,
    /// The content of `summary.json`, without the seconds of the trials.
    pub summary: Summary,
    /// The answer for each app. Empty if several runs are combined.
    pub headlines: Vec<Headline>,
    /// Two versions of the apps. `None`: the run has only one, or there are several runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<ComparedVersions>,
    /// One for each trial that has a load, and one for each trial that has not ended.
    pub series: Vec<Series>,
    /// One for each case with a trial that counts.
    pub curves: Vec<Curve>,
    /// The evidence behind the figures.
    pub evidence: Evidence,
    /// Files that the page offers for download.
    pub downloads: Vec<Download>,
    /// The progress of a run that has not ended. `None`: it has ended, or there are several runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The addresses of `stampede serve`. `None`: the page is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<ServerLinks>,
}

/// The answer for an app, in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Headline {
    /// The app's name.
    pub app: String,
    /// How the rows compare with the baseline. It has several lines if loads have separate
    /// sentences.
    pub text: String,
    /// Sentences that hold for all rows.
    pub facts: Vec<String>,
}

/// A run, and the command that repeats it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Run {
    /// `A`, `B` … Empty: there is only one run.
    pub label: String,
    /// The run's id.
    pub run: String,
    /// When the run started, in RFC 3339.
    pub started_at: String,
    /// The version of stampede that measured the run.
    pub stampede: String,
    /// Seed of the order of trials.
    pub seed: u64,
    /// Number of planned rounds.
    pub rounds: u32,
    /// Whether the run ended, is in progress, or was cut off.
    pub state: RunState,
    /// The names of its runtimes in the summary, in the plan's order.
    pub runtimes: Vec<String>,
    /// The plan as it was run. Empty: it was made of flags alone.
    pub plan_text: String,
    /// The flags that changed the plan.
    pub flags: Vec<String>,
    /// The command that repeats the run.
    pub command: String,
    /// The machine, as pairs of a label and a value.
    pub machine: Vec<(String, String)>,
}

/// The runtime that a name in the summary stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OverlaidRuntime {
    /// The runtime's or variant's own name.
    pub runtime: String,
    /// Index in [`Page::runs`].
    pub run: usize,
}

/// The progress of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Progress {
    /// Number of trials that have ended.
    pub ended: usize,
    /// Number of planned trials.
    pub planned: usize,
    /// The current trial. `None`: there is none.
    pub under_way: Option<CurrentTrial>,
}

/// The data that changes each second while a run is in progress.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LiveUpdate {
    /// The progress of the run. `None`: it has ended.
    pub progress: Option<Progress>,
    /// The current trial so far. `None`: there is none.
    pub series: Option<Series>,
}

/// The current trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurrentTrial {
    /// The trial's number in the run, counted from 1.
    pub trial: u32,
    /// The index of its case in `Summary::cases`.
    pub case: usize,
    /// Seconds of the load so far. 0: the runtime starts, or is verified or warmed up.
    pub seconds: u32,
}

/// Addresses on the server that sent the page, `stampede serve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerLinks {
    /// The list of runs.
    pub home: String,
    /// Server-sent events. `None`: nothing will change.
    pub events: Option<String>,
}

/// A trial over time, one column per figure and one entry per row. Row `i` covers the seconds from
/// `i × step` to `(i + 1) × step` of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// The index of its case in `Summary::cases`.
    pub case: usize,
    /// The trial's number.
    pub trial: u32,
    /// The round, counted from 1.
    pub round: u32,
    /// Whether the trial has not ended: its run is in progress, or was cut off during the trial.
    /// Such a trial does not count.
    pub unfinished: bool,
    /// Seconds that one row covers. 1 unless the series is thinned.
    pub step: f64,
    /// Times in µs of the ok requests that ended in the row. `None`: no request did. Response time
    /// in the open model, service time in the closed one.
    #[serde(flatten)]
    pub times: Times,
    /// Requests due per second.
    pub offered: Vec<Number>,
    /// Correct answers per second.
    pub ok: Vec<Number>,
    /// Requests per second that were due but never started.
    pub dropped: Vec<Number>,
    /// Failed requests per second, by kind of failure.
    pub failed: BTreeMap<String, Vec<Number>>,
    /// The highest number of requests in flight.
    pub in_flight: Vec<Number>,
    /// The resource use of the stack.
    pub resources: Resources,
}

/// Times by row, in µs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Times {
    /// Arithmetic mean.
    pub mean: Vec<Option<Number>>,
    /// Median.
    pub p50: Vec<Option<Number>>,
    /// 95 % of the times are at most this.
    pub p95: Vec<Option<Number>>,
    /// 99 %.
    pub p99: Vec<Option<Number>>,
    /// The longest time.
    pub max: Vec<Option<Number>>,
}

/// The resource use of the stack over time, by role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Resources {
    /// Seconds since the load began.
    pub at: Vec<Number>,
    /// Share of the whole stack's CPU budget, in per cent.
    pub cpu_percent: BTreeMap<String, Vec<Option<Number>>>,
    /// Memory in MiB. `None`: not read in that row.
    pub memory_mib: BTreeMap<String, Vec<Option<Number>>>,
    /// Bytes per second that were read from disks and written to them. Empty: none were, or no role
    /// shows them.
    pub disk_bytes_per_second: BTreeMap<String, Vec<Option<Number>>>,
    /// Bytes per second that the network received and sent. Empty: no role has a network of its own.
    pub network_bytes_per_second: BTreeMap<String, Vec<Option<Number>>>,
}

/// The percentiles of a case, over all planned requests of the trials that count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Curve {
    /// The index of the case in `Summary::cases`.
    pub case: usize,
    /// Pairs of a percentile (0 to 100) and a time in µs, ascending.
    pub points: Vec<(f64, Number)>,
    /// The percentile from which on requests have no correct answer. `None`: all have one.
    pub failed_from: Option<f64>,
}

/// The evidence behind the figures, for readers who want to check them.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Evidence {
    /// The runtimes that started, in the plan's order.
    pub runtimes: Vec<RuntimeEvidence>,
    /// Every case that has a trial that counts.
    pub cases: Vec<CaseEvidence>,
    /// Every trial on disk.
    pub trials: Vec<TrialEvidence>,
}

/// The evidence of a case's figures: exhausted resources, Little's law, the pages.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CaseEvidence {
    /// The index of the case in `Summary::cases`.
    pub case: usize,
    /// Pairs of a label and a value.
    pub figures: Vec<(String, String)>,
}

/// The evidence of a runtime: how it was started, and what was observed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RuntimeEvidence {
    /// The index of its run in [`Page::runs`].
    pub run: usize,
    /// The name of the runtime or the variant.
    pub name: String,
    /// The title for people.
    pub title: String,
    /// `per-request`, `worker` or `event-loop`.
    pub mode: String,
    /// Maps each program to its version.
    pub versions: BTreeMap<String, String>,
    /// The settings in force.
    pub settings: BTreeMap<String, Value>,
    /// The command lines that started it.
    pub commands: Vec<String>,
    /// Pairs of a rendered file's name and its text.
    pub files: Vec<(String, String)>,
    /// What was observed of the runtime. `None`: it never answered.
    pub observed: Option<ObservedEvidence>,
    /// How the runtime was isolated: pairs of a label and a value.
    pub isolation: Vec<(String, String)>,
}

/// Observed properties of a runtime.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ObservedEvidence {
    /// `PHP_VERSION`.
    pub php_version: String,
    /// `PHP_SAPI`.
    pub sapi: String,
    /// Whether PHP is thread-safe (ZTS) or not (NTS).
    pub thread_safe: bool,
    /// Whether OPcache is on in this SAPI.
    pub opcache: bool,
    /// Whether JIT is on in this SAPI.
    pub jit: bool,
    /// Number of workers that were observed. 0: not known.
    pub workers: u32,
    /// Loaded extensions.
    pub extensions: Vec<String>,
    /// Maps each php.ini key to its value in force.
    pub ini: BTreeMap<String, String>,
    /// Further observations for the reader.
    pub notices: Vec<Fact<Observation>>,
}

/// The evidence of one trial.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrialEvidence {
    /// The index of its run in [`Page::runs`].
    pub run: usize,
    /// The trial's number in the run, counted from 1.
    pub number: u32,
    /// The round, counted from 1.
    pub round: u32,
    /// The index of its case in `Summary::cases`. -1: the summary has no such case.
    pub case: i64,
    /// The trial's verdict.
    pub verdict: Validity,
    /// The reasons for the verdict.
    pub reasons: Vec<Fact<Reason>>,
    /// Notes that do not affect the verdict.
    pub notes: Vec<Fact<Reason>>,
    /// The phases: name, begin and end in ms since the trial began.
    pub phases: Vec<(String, f64, f64)>,
    /// The figures that the verdict is based on: pairs of a label and a value.
    pub figures: Vec<(String, String)>,
    /// Pairs of a kind of failure and a text with its meaning, count and seconds.
    pub errors: Vec<(String, String)>,
    /// Pairs of a log file and one of its lines that reports an error.
    pub log_lines: Vec<(String, String)>,
}

/// A file that the page offers for download.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Download {
    /// The suggested name.
    pub name: String,
    /// MIME type.
    pub r#type: String,
    /// The file's content.
    pub text: String,
}

/// A number that is serialized as short as possible. Three digits suffice: histograms keep no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Number(pub f64);

impl Number {
    /// Rounds to three significant digits.
    pub fn short(value: f64) -> Number {
        if value == 0.0 || !value.is_finite() {
            return Number(0.0);
        }
        let digits = 2 - value.abs().log10().floor() as i32;
        let shift = 10_f64.powi(digits);
        // Multiplying is more exact than dividing by a power of ten below one: it gives 300 and not
        // 299.99999999999994.
        let scaled = (value * shift).round();
        Number(if digits < 0 { scaled * 10_f64.powi(-digits) } else { scaled / shift })
    }

    /// Converts a time from ns to µs.
    pub fn us(ns: f64) -> Number {
        Number::short(ns / 1e3)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const WHOLE: f64 = (1_u64 << 53) as f64;
        match self.0 {
            whole if whole.fract() == 0.0 && whole.abs() < WHOLE => {
                serializer.serialize_i64(whole as i64)
            }
            other => serializer.serialize_f64(other),
        }
    }
}

/// A number like any other.
impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        f64::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_their_digits() {
        let written = |value| serde_json::to_string(&Number::short(value)).unwrap();
        for (value, text) in [
            (0.0, "0"),
            (562.4, "562"),
            (1_234_567.0, "1230000"),
            (0.012_345, "0.0123"),
            (299.96, "300"),
            (9.999, "10"),
            (f64::NAN, "0"),
            (-1.234_5, "-1.23"),
        ] {
            assert_eq!(written(value), text, "{value}");
        }
    }
}
