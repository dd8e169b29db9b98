//! The data model of a comparison of two runs, or of two versions within one run. Docs:
//! `docs/diff.md`.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_model::fact::{ChangeFound, Fact, NoChange, Notice};
use stampede_stats::estimate::Estimate;

use super::Measure;
use crate::summary::model::{CaseReason, Figure, LoadModel};

/// Version of the format. It is raised when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// The comparison of two sides, case by case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// The side that the other is compared with.
    pub base: Side,
    /// The other side.
    pub other: Side,
    /// How the two sides were measured together.
    pub pairing: Pairing,
    /// Circumstances that should be the same on both sides but are not. Empty: none.
    pub differences: Vec<Difference>,
    /// Notices for the reader.
    pub notices: Vec<Fact<Notice>>,
    /// The cases that both sides have, in the order of the other side's summary.
    pub cases: Vec<CaseDiff>,
    /// The cases that only one side has.
    pub only: Vec<OnlyIn>,
    /// The base compared with itself, measured twice in the same rounds: noise alone. Empty: it was
    /// measured once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<CaseDiff>,
}

impl Diff {
    /// Whether an expectation is broken, or could not be shown to hold. If so, the exit code is 1.
    pub fn breaks_an_expectation(&self) -> bool {
        let mut judged = self.cases.iter().flat_map(|case| &case.expectations);
        judged.any(|one| one.outcome != Outcome::Met)
    }

    /// Whether every case that both sides have has a trial that counts on both. If not, the exit
    /// code is 3.
    pub fn is_whole(&self) -> bool {
        self.cases.iter().all(|case| case.trials.iter().all(|trials| *trials > 0))
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The side's name: `A`, or a version of an app.
    pub label: String,
    /// The run's id.
    pub run: String,
    /// When the run started, in RFC 3339.
    pub started_at: String,
    /// The version of stampede that measured the run.
    pub stampede: String,
    /// Number of planned rounds.
    pub rounds: u32,
}

/// How the two sides were measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// In the same rounds: a disturbance of the machine affects both.
    WithinRounds,
    /// In separate runs on the same machine.
    BetweenRuns,
}

/// A circumstance that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    /// The name of the circumstance.
    pub what: String,
    /// The runtimes that it applies to. Empty: it applies to the runs.
    pub of: Vec<String>,
    /// The value of the base. Empty: it has none.
    pub base: String,
    /// The value of the other side.
    pub other: String,
}

/// A case that only one side has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OnlyIn {
    /// The label of that side.
    pub label: String,
    /// The name of the runtime or the variant.
    pub runtime: String,
    /// The app's name.
    pub app: String,
    /// The load's name.
    pub load: String,
}

/// The comparison of one case that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseDiff {
    /// The name of the runtime or the variant.
    pub runtime: String,
    /// The app's name.
    pub app: String,
    /// The load's name.
    pub load: String,
    /// A description of the other side's load.
    pub load_text: String,
    /// Whether the load is open or closed.
    pub model: LoadModel,
    /// Number of trials that count: of the base, then of the other side.
    pub trials: [u32; 2],
    /// Name of the figure that the sentence is about.
    pub primary: String,
    /// Whether the other side is slower, and how certain that is.
    pub sentence: String,
    /// The comparisons of single figures.
    pub figures: Vec<FigureDiff>,
    /// The expectations about the change, with their outcomes.
    pub expectations: Vec<ChangeExpectation>,
    /// Why trials of either side do not count, or count with doubt.
    pub notes: Vec<SideNote>,
}

/// Why trials of one side do not count, or count with doubt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideNote {
    /// That side's label.
    pub side: String,
    /// The trials and the reasons.
    pub reason: CaseReason,
}

impl fmt::Display for SideNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.side, self.reason)
    }
}

/// The comparison of one figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureDiff {
    /// The figure's name, as in expectations.
    pub figure: String,
    #[serde(skip)]
    pub(super) measure: Measure,
    /// The base's figure over its trials.
    pub base: Figure,
    /// The other side's figure over its trials.
    pub other: Figure,
    /// Other ÷ base, over rounds or trials. `None` for a share, which has `points` instead.
    pub ratio: Option<Estimate>,
    /// Other − base, for a share. `None` for any other figure.
    pub points: Option<Estimate>,
    /// The change as a share by which the other side is worse. Negative: it is better.
    pub worse: Option<Worse>,
    /// The verdict on the change.
    pub judged: Option<Change>,
    /// Why nothing may.
    pub why_not: Option<Fact<NoChange>>,
}

impl FigureDiff {
    /// The measure that is compared.
    pub fn measure(&self) -> Measure {
        self.measure
    }
}

/// The share by which the other side is worse: 0.05 is 5 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Worse {
    /// The estimate.
    pub share: f64,
    /// The 95 % interval. `None`: there are fewer than three trials.
    pub interval: Option<(f64, f64)>,
    /// Number of rounds, or of trials on the side with fewer.
    pub trials: u32,
}

/// The verdict on a figure's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Worse by more than the margin, with statistical certainty.
    Worse,
    /// Better by more than the margin, with statistical certainty.
    Better,
    /// Within the margin, with statistical certainty.
    Equivalent,
    /// None of these can be claimed.
    Inconclusive,
    /// Fewer than three trials: a first impression.
    TooFewRounds,
}

/// An expectation about a change, with its outcome for a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeExpectation {
    /// The expectation as written.
    pub text: String,
    /// The outcome.
    pub outcome: Outcome,
    /// By how much the figure changed.
    pub found: Fact<ChangeFound>,
}

/// The outcome of an expectation about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The whole 95 % interval meets it.
    Met,
    /// The whole 95 % interval breaks it.
    Broken,
    /// Only a part of the interval meets it, or there is no interval.
    NotShown,
}
