//! What the page is given, as JSON. `report-ui/src/page.ts` has the same types.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::fact::{Fact, Observation, Reason};
use crate::store::RunState;
use crate::store::record::Judged;
use crate::summary::Summary;

/// Raised when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// [`FORMAT`].
    pub format: u32,
    /// Version that wrote the page.
    pub stampede: String,
    /// The runs that it shows; more than one are laid over each other.
    pub runs: Vec<Run>,
    /// Of several runs: a name as it stands in the summary → the runtime and its run. Empty
    /// for a single run, whose names are the runtimes' own.
    pub names: BTreeMap<String, Named>,
    /// As in `summary.json`, without the seconds of its trials.
    pub summary: Summary,
    /// The answer for each app; empty where several runs are combined.
    pub headlines: Vec<Headline>,
    /// One for each trial that has a load, and one for a trial that has not ended.
    pub series: Vec<Series>,
    /// One for each case with a trial that counts.
    pub curves: Vec<Curve>,
    /// What a sceptic asks for.
    pub evidence: Evidence,
    /// Files that the page offers.
    pub downloads: Vec<Download>,
    /// How far a run is that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Where it comes from; `None`: it is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
}

/// What a run found for an app, in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// The app's name.
    pub app: String,
    /// How the rows compare with the baseline; lines where several loads have their own.
    pub text: String,
    /// What holds for all rows, a sentence each.
    pub facts: Vec<String>,
}

/// A run, and how to run it again.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// `A`, `B` … where there are several; empty for a single one.
    pub label: String,
    /// Its id.
    pub run: String,
    /// RFC 3339.
    pub started_at: String,
    /// Version that measured it.
    pub stampede: String,
    /// Seed of the order of trials.
    pub seed: u64,
    /// Rounds planned.
    pub rounds: u32,
    /// Whether it came to its end.
    pub state: RunState,
    /// Its runtimes as the summary names them, in the plan's order.
    pub runtimes: Vec<String>,
    /// The plan as it was run; empty: flags alone.
    pub plan_text: String,
    /// Flags that changed it.
    pub flags: Vec<String>,
    /// How to run it again.
    pub command: String,
    /// Label and value.
    pub machine: Vec<(String, String)>,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Runtime's or variant's own name.
    pub runtime: String,
    /// Index in [`Page::runs`].
    pub run: usize,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Trials that ended.
    pub ended: usize,
    /// Trials of the plan.
    pub planned: usize,
    /// The one that runs now.
    pub under_way: Option<UnderWay>,
}

/// What changes each second while a run is under way.
#[derive(Clone, Debug, Serialize)]
pub struct Now {
    /// How far it is.
    pub progress: Option<Progress>,
    /// The trial that runs now, as far as it is.
    pub series: Option<Series>,
}

/// The trial that runs now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnderWay {
    /// 1 for the first of the run.
    pub trial: u32,
    /// Index in `Summary::cases`.
    pub case: usize,
    /// Seconds of the load so far; 0: it starts, verifies or warms up.
    pub seconds: u32,
}

/// Addresses of `stampede serve`, on the server that the page came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Served {
    /// The list of runs.
    pub home: String,
    /// Server-sent events; `None`: nothing will change.
    pub events: Option<String>,
}

/// A trial over time; a column each, one entry a row. Row `i` covers the seconds from `i × step`
/// to `(i + 1) × step` of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Index in `Summary::cases`.
    pub case: usize,
    /// Number of the trial.
    pub trial: u32,
    /// 1 for the first.
    pub round: u32,
    /// It has not ended: its run is under way, or was cut off in it. It counts for nothing.
    pub unfinished: bool,
    /// Seconds that one row covers; 1 unless thinned.
    pub step: f64,
    /// Times in µs of the ok requests that ended in the row; `None`: none did. Response time in the
    /// open model, service time in the closed one.
    #[serde(flatten)]
    pub times: Times,
    /// Requests due, per second.
    pub offered: Vec<Number>,
    /// Correct answers, per second.
    pub ok: Vec<Number>,
    /// Due, never started, per second.
    pub dropped: Vec<Number>,
    /// Failed by kind, per second.
    pub failed: BTreeMap<String, Vec<Number>>,
    /// Highest number of requests under way.
    pub in_flight: Vec<Number>,
    /// What the stack spent.
    pub resources: Resources,
}

/// Times over time, in µs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Arithmetic mean.
    pub mean: Vec<Option<Number>>,
    /// Median.
    pub p50: Vec<Option<Number>>,
    /// 95 % are at most this.
    pub p95: Vec<Option<Number>>,
    /// 99 %.
    pub p99: Vec<Option<Number>>,
    /// The longest.
    pub max: Vec<Option<Number>>,
}

/// What the stack spent over time, by role.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Resources {
    /// Seconds since the load began.
    pub at: Vec<Number>,
    /// Of the whole stack's budget.
    pub cpu_percent: BTreeMap<String, Vec<Option<Number>>>,
    /// MiB; `None`: not read in that row.
    pub memory_mib: BTreeMap<String, Vec<Option<Number>>>,
}

/// Percentiles of a case, over all planned requests of the trials that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Index in `Summary::cases`.
    pub case: usize,
    /// Percentile (0 to 100) and µs, ascending.
    pub points: Vec<(f64, Number)>,
    /// From this percentile on there is no correct answer.
    pub failed_from: Option<f64>,
}

/// What a sceptic asks for.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evidence {
    /// Those that started, in the plan's order.
    pub runtimes: Vec<RuntimeEvidence>,
    /// Every case that was measured.
    pub cases: Vec<CaseEvidence>,
    /// Every trial on disk.
    pub trials: Vec<TrialEvidence>,
}

/// What a case's figures rest on: what was exhausted, Little's law, the pages.
#[derive(Clone, Debug, Serialize)]
pub struct CaseEvidence {
    /// Index in `Summary::cases`.
    pub case: usize,
    /// Label and value.
    pub figures: Vec<(String, String)>,
}

/// One runtime, as it was started and as it showed itself.
#[derive(Clone, Debug, Serialize)]
pub struct RuntimeEvidence {
    /// Index in [`Page::runs`].
    pub run: usize,
    /// Runtime's or variant's name.
    pub name: String,
    /// For people.
    pub title: String,
    /// `per-request`, `worker` or `event-loop`.
    pub mode: String,
    /// Program → version.
    pub versions: BTreeMap<String, String>,
    /// Settings in force.
    pub settings: BTreeMap<String, Value>,
    /// Command lines as started.
    pub commands: Vec<String>,
    /// Rendered file and its text.
    pub files: Vec<(String, String)>,
    /// As the runtime showed itself; `None`: it never answered.
    pub observed: Option<ObservedEvidence>,
    /// What guarded it: label and value.
    pub isolation: Vec<(String, String)>,
}

/// What a runtime showed of itself.
#[derive(Clone, Debug, Serialize)]
pub struct ObservedEvidence {
    /// `PHP_VERSION`.
    pub php_version: String,
    /// `PHP_SAPI`.
    pub sapi: String,
    /// ZTS or NTS.
    pub thread_safe: bool,
    /// OPcache on in this SAPI.
    pub opcache: bool,
    /// JIT on in this SAPI.
    pub jit: bool,
    /// Workers seen; 0: could not be told.
    pub workers: u32,
    /// Loaded.
    pub extensions: Vec<String>,
    /// Key → value in force.
    pub ini: BTreeMap<String, String>,
    /// What else the reader should know.
    pub notices: Vec<Fact<Observation>>,
}

/// One trial's own evidence.
#[derive(Clone, Debug, Serialize)]
pub struct TrialEvidence {
    /// Index in [`Page::runs`].
    pub run: usize,
    /// 1 for the first of the run.
    pub number: u32,
    /// 1 for the first.
    pub round: u32,
    /// Index in `Summary::cases`; -1: of none.
    pub case: i64,
    /// Its verdict.
    pub verdict: Judged,
    /// Why.
    pub reasons: Vec<Fact<Reason>>,
    /// What is worth knowing and weighs nothing.
    pub notes: Vec<Fact<Reason>>,
    /// Name, begin and end in ms since the trial began.
    pub phases: Vec<(String, f64, f64)>,
    /// What the verdict was made of: label and value.
    pub figures: Vec<(String, String)>,
    /// Kind of failure, and how many when.
    pub errors: Vec<(String, String)>,
    /// Log file and a line of it that tells of an error.
    pub log_lines: Vec<(String, String)>,
}

/// A file that the page offers.
#[derive(Clone, Debug, Serialize)]
pub struct Download {
    /// Suggested.
    pub name: String,
    /// MIME type.
    pub r#type: String,
    /// All of it.
    pub text: String,
}

/// A number that is written as short as it can be: three digits are what histograms keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Number(pub f64);

impl Number {
    /// To three significant digits.
    pub fn short(value: f64) -> Number {
        if value == 0.0 || !value.is_finite() {
            return Number(0.0);
        }
        let digits = 2 - value.abs().log10().floor() as i32;
        let shift = 10_f64.powi(digits);
        // Dividing by a power of ten below one multiplies: 300 and not 299.99999999999994.
        let scaled = (value * shift).round();
        Number(if digits < 0 { scaled * 10_f64.powi(-digits) } else { scaled / shift })
    }

    /// A time in ns as µs.
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
