//! What a comparison of two runs, or of two versions within one, found. Docs: `docs/diff.md`.

use std::fmt;

use serde::Serialize;
use stampede_stats::estimate::Estimate;

use super::Measure;
use crate::fact::{ChangeFound, Fact, NoChange, Notice};
use crate::summary::model::{CaseReason, Figure, LoadModel};

/// Raised when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// Two sides compared, case by case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// What the other is held against.
    pub base: Side,
    /// The other.
    pub other: Side,
    /// What the two share.
    pub pairing: Pairing,
    /// What the sides do not have alike and should; empty: nothing.
    pub differences: Vec<Differs>,
    /// What the reader should know.
    pub notices: Vec<Fact<Notice>>,
    /// Cases that both sides have, in the order of the other's summary.
    pub cases: Vec<CaseDiff>,
    /// Cases that one side alone has.
    pub only: Vec<OnlyIn>,
}

impl Diff {
    /// Whether an expectation is broken, or could not be shown to hold: exit code 1.
    pub fn breaks_an_expectation(&self) -> bool {
        let mut judged = self.cases.iter().flat_map(|case| &case.expectations);
        judged.any(|one| one.outcome != Outcome::Met)
    }

    /// Whether every case that both sides have has a trial that counts on both: else exit code 3.
    pub fn is_whole(&self) -> bool {
        self.cases.iter().all(|case| case.trials.iter().all(|trials| *trials > 0))
    }
}

/// One side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// What it is called here: `A`, or a version of an app.
    pub label: String,
    /// The run's id.
    pub run: String,
    /// RFC 3339.
    pub started_at: String,
    /// stampede's version that measured it.
    pub stampede: String,
    /// Rounds planned.
    pub rounds: u32,
}

/// What the two sides share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Rounds: what disturbs the machine disturbs both.
    WithinRounds,
    /// Nothing but the machine.
    BetweenRuns,
}

/// Something that is not alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Differs {
    /// What.
    pub what: String,
    /// Of which runtimes; empty: of the runs.
    pub of: Vec<String>,
    /// As the base has it; empty: it has none.
    pub base: String,
    /// As the other has it.
    pub other: String,
}

/// A case of one side alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OnlyIn {
    /// That side's label.
    pub label: String,
    /// Runtime's or variant's name.
    pub runtime: String,
    /// App's name.
    pub app: String,
    /// Load's name.
    pub load: String,
}

/// One case of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseDiff {
    /// Runtime's or variant's name.
    pub runtime: String,
    /// App's name.
    pub app: String,
    /// Load's name.
    pub load: String,
    /// The load in words, as the other has it.
    pub load_text: String,
    /// Open or closed.
    pub model: LoadModel,
    /// Trials that count: of the base, of the other.
    pub trials: [u32; 2],
    /// The figure that the sentence is about.
    pub primary: String,
    /// Whether the other is slower, and how sure that is.
    pub sentence: String,
    /// Figure by figure.
    pub figures: Vec<FigureDiff>,
    /// Expectations about the change, judged.
    pub expectations: Vec<Expected>,
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

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureDiff {
    /// As expectations name it.
    pub figure: String,
    #[serde(skip)]
    pub(super) measure: Measure,
    /// Of the base, over its trials.
    pub base: Figure,
    /// Of the other.
    pub other: Figure,
    /// Other ÷ base, over rounds or trials; of shares their difference.
    pub ratio: Option<Estimate>,
    /// Other less base, of a share.
    pub points: Option<Estimate>,
    /// The same as a share by which the other is worse; negative: better.
    pub worse: Option<Worse>,
    /// What may be said of it.
    pub judged: Option<Change>,
    /// Why nothing may.
    pub why_not: Option<Fact<NoChange>>,
}

impl FigureDiff {
    /// What is compared.
    pub fn measure(&self) -> Measure {
        self.measure
    }
}

/// By which share the other is worse: 0.05 is 5 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Worse {
    /// Estimate.
    pub share: f64,
    /// 95 % interval; `None` below three trials.
    pub interval: Option<(f64, f64)>,
    /// Rounds, or trials of the side with fewer.
    pub trials: u32,
}

/// What may be said of a figure's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Surely worse, by more than the margin.
    Worse,
    /// Surely better, by more than the margin.
    Better,
    /// Surely within the margin.
    Equivalent,
    /// Neither can be said.
    Inconclusive,
    /// Fewer than three trials: a first impression.
    TooFewRounds,
}

/// An expectation about a change, judged for a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// As written.
    pub text: String,
    /// How it came out.
    pub outcome: Outcome,
    /// By how much the figure changed.
    pub found: Fact<ChangeFound>,
}

/// How an expectation about a change came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The whole 95 % interval keeps it.
    Met,
    /// The whole 95 % interval breaks it.
    Broken,
    /// The interval has both, or there is none.
    NotShown,
}
