//! The comparison of published tables with a run, as data for JSON, text and pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::Better;
use crate::times::Times;

/// Published tables beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedComparison {
    /// What to call the publication: `article 000`, or its title.
    pub publication: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Number of rounds of the run.
    pub rounds: u32,
    /// The answer in one or two sentences.
    pub sentence: String,
    /// The tables in the order of the publication.
    pub tables: Vec<TableComparison>,
    /// The claims in the order of the publication.
    pub claims: Vec<ClaimComparison>,
}

/// One published table beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableComparison {
    /// Its title.
    pub title: String,
    /// A remark of the publication about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its rows. Cells and pairs name them by index.
    pub rows: Vec<ComparedRow>,
    /// Its columns.
    pub columns: Vec<ColumnComparison>,
    /// What a reader must know of rows: where servers broke, and why figures are missing.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRow {
    /// What the row is called: its name in the publication, or else its runtime.
    pub label: String,
    /// The runtime in the plan.
    pub runtime: String,
    /// The app in the plan. `None`: the table does not say, and no single one was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// The load in the plan. `None`: as for `app`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// For a row that the publication cut off where the server broke: where that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaking: Option<BreakingPoints>,
    /// Why nothing was measured for the row. `None`: something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingRow>,
}

/// Where a server broke in a rising schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreakingPoints {
    /// In the publication: requests per second.
    pub published_per_second: f64,
    /// Here: requests per second. `None`: it did not break, or was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_per_second: Option<f64>,
}

/// Why a row has no measured figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingRow {
    /// The run has no such case.
    NoCase,
    /// The run has the runtime with several apps or loads, and the row does not say which.
    SeveralCases,
    /// The publication cut the row off where the server broke, and here it did not break.
    DidNotBreak,
    /// No trial of the case counts.
    NoTrial,
}

/// One column of a table: its entries, and how well its orders agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnComparison {
    /// Its name.
    pub name: String,
    /// The unit of the publication. All values of the column are in it.
    pub unit: String,
    /// Which values are better. `None`: the figure describes the test, and has no order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// A cell for each row.
    pub entries: Vec<Cell>,
    /// The order of the rows of each load. Empty for a figure without an order.
    pub orders: Vec<Order>,
}

/// A published value beside the measured one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The published value. `None`: the publication prints none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
    /// The measured value.
    pub measured: CellValue,
    /// Measured ÷ published. `None` where either is missing or the published value is 0. If the
    /// measured value is a lower bound, so is the ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// A measured value, in the unit of its column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CellValue {
    /// The value over all rounds.
    Exact {
        /// The value.
        value: f64,
        /// Its 95 % interval over rounds. `None` with fewer than three.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<(f64, f64)>,
    },
    /// A lower bound.
    AtLeast {
        /// The bound.
        value: f64,
    },
    /// The percentile falls on a failed request.
    Failed,
    /// Not measured.
    #[default]
    None,
}

/// How well the published order of the rows of one load agrees with the measured one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// The load in the plan. `None`: the run has only one, or the rows do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// What follows.
    pub verdict: OrderVerdict,
    /// The pairs by outcome.
    pub counts: PairCounts,
    /// Kendall's tau-b over the judged pairs. `None` where the verdict is none of the three about
    /// agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tau: Option<f64>,
    /// The pairs with a published order.
    pub pairs: Vec<Pair>,
    /// The verdict as a sentence.
    pub sentence: String,
}

/// The number of pairs of each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairCounts {
    /// The same order here.
    pub agree: u32,
    /// The opposite order here.
    pub disagree: u32,
    /// No significant difference here.
    pub no_difference: u32,
    /// Fewer than three rounds have both.
    pub too_few_rounds: u32,
    /// One of the two was not measured.
    pub not_measured: u32,
}

impl PairCounts {
    /// Returns the number of pairs of which both were measured.
    pub fn measured(&self) -> u32 {
        self.told_apart() + self.no_difference + self.too_few_rounds
    }

    /// Returns the number of pairs that could be told apart here.
    pub fn told_apart(&self) -> u32 {
        self.agree + self.disagree
    }
}

/// How well an order agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum OrderVerdict {
    /// At least nine in ten of the pairs that could be told apart agree.
    Agrees,
    /// More than half of them agree.
    PartlyAgrees,
    /// At most half of them agree.
    Disagrees,
    /// Fewer than half of the pairs could be told apart.
    CannotBeJudged {
        /// Pairs that could be told apart.
        told_apart: u32,
        /// Pairs of which both were measured.
        pairs: u32,
    },
    /// Fewer than six pairs: there is no tau, only the pairs' outcomes.
    TooFewPairs,
    /// No pair has a published order and was measured.
    NoPairs,
}

/// Two rows that the publication puts in an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The row that is better in the publication, by index.
    pub better: usize,
    /// The other row, by index.
    pub worse: usize,
    /// What was found here.
    pub outcome: PairOutcome,
    /// For a pair that disagrees: why, from evidence. `None`: there is no evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What was found of a pair here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairOutcome {
    /// The same order.
    Agree,
    /// The opposite order.
    Disagree,
    /// No significant difference.
    NoDifference,
    /// Fewer than three rounds have both: a difference cannot be told from noise.
    TooFewRounds,
    /// One of the two was not measured.
    NotMeasured,
}

/// What a text says in numbers, beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimComparison {
    /// The words of the publication.
    pub text: String,
    /// The runtime that it is about.
    pub runtime: String,
    /// How many times, as written.
    pub written: String,
    /// How many times, as a range.
    pub times: Times,
    /// One for each runtime that it is compared with, app and load. Empty: nothing was measured.
    pub checks: Vec<ClaimCheck>,
    /// What follows, as sentences.
    pub sentences: Vec<String>,
}

/// A claim about two runtimes under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimCheck {
    /// The runtime that it is compared with.
    pub against: String,
    /// The app.
    pub app: String,
    /// The load.
    pub load: String,
    /// The measured ratio of throughputs. `None`: they have no common round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Its 95 % interval; those of all claims hold together. `None` with fewer than three rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// What follows.
    pub outcome: ClaimOutcome,
    /// Both had the same budget.
    pub equal_budgets: bool,
}

/// Whether a claim survives.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// The interval lies within the claimed range.
    Survives,
    /// The interval lies below the claimed range: the claim does not survive.
    Smaller,
    /// The interval lies above the claimed range: the difference is larger than claimed.
    Larger,
    /// The interval contains an end of the claimed range.
    TooCloseToCall,
    /// Fewer than three rounds.
    TooFewRounds,
}
