//! The data of a history. Docs: `docs/runs.md`.

use serde::Serialize;
use stampede_model::record::LoadModel;
use stampede_results::history::Entry;
use stampede_results::summary::diff::{Difference, Measure};
use stampede_results::summary::model::{CaseVerdict, Figure};
use stampede_stats::estimate::Estimate;

/// The runs of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The runs, newest first.
    pub runs: Vec<ListedRun>,
    /// Each row over the runs that have it, in the order of the newest run.
    pub series: Vec<Series>,
}

/// A run with its rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedRun {
    /// What the run is.
    #[serde(flatten)]
    pub entry: Entry,
    /// The version of stampede that measured it. Empty: the run cannot be read.
    pub stampede: String,
    /// The commit that the app's working tree was based on. `None`: the app is in no git repository, or
    /// the run did not record it.
    pub commit: Option<String>,
    /// Number of files in the app's directory that differed from that commit. `None`: not known; a run
    /// without another version (`--against`) does not count them.
    pub changed_files: Option<u32>,
    /// The machine: CPU and number of CPUs. Empty: not known.
    pub machine: String,
    /// Its rows. Empty: the run has not ended, or its trials cannot be read.
    pub cases: Vec<CaseOfRun>,
}

/// A row of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseOfRun {
    /// The name of the runtime or the variant.
    pub runtime: String,
    /// The app's name.
    pub app: String,
    /// The load's name.
    pub load: String,
    /// A description of the load.
    pub load_text: String,
    /// The requests, where they are more than one, by their hash. Empty: not known.
    pub requests: String,
    /// Whether the load is open or closed.
    pub model: LoadModel,
    /// The worst verdict among the trials that count, or why none counts.
    pub verdict: CaseVerdict,
    /// Number of trials that count.
    pub trials_counted: u32,
    /// Whether the plan calls this row the control.
    pub is_control: bool,
    /// Runtime and app of the control that its figures are divided by. `None`: the run has none for
    /// this row.
    pub control: Option<[String; 2]>,
    /// Its figures over the trials that count.
    pub figures: Vec<FigureOfRun>,
}

/// A figure of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureOfRun {
    /// The figure's name, as in expectations.
    pub figure: String,
    #[serde(skip)]
    pub(crate) measure: Measure,
    /// The figure over the trials that count.
    #[serde(flatten)]
    pub value: Figure,
    /// The figure ÷ that of the control in the same round, over rounds.
    pub to_control: Option<Estimate>,
    /// A lasting change that begins with this run.
    pub change: Option<Change>,
}

/// A lasting change of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// After ÷ before, with its 95 % interval.
    pub ratio: Estimate,
    /// Whether it is a change of the ratio to the control, rather than of the figure itself.
    pub of_control_ratio: bool,
    /// The last run before the change.
    pub before: String,
    /// Circumstances that also changed between that run and this one.
    pub differences: Vec<Difference>,
}

/// A row over the runs that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Its places, oldest first: the index of a run, and of the case in this run.
    pub places: Vec<(usize, usize)>,
}

impl History {
    /// The cases of a series with their runs, oldest first.
    pub fn cases<'a>(
        &'a self,
        series: &'a Series,
    ) -> impl DoubleEndedIterator<Item = (&'a ListedRun, &'a CaseOfRun)> {
        series.places.iter().map(|&(run, case)| {
            let run = &self.runs[run];
            (run, &run.cases[case])
        })
    }
}

impl CaseOfRun {
    /// The figure of this measure.
    pub fn figure(&self, measure: Measure) -> Option<&FigureOfRun> {
        self.figures.iter().find(|one| one.measure == measure)
    }
}
