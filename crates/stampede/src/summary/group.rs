//! Cells under the same app and load: the best first, each compared with the baseline.

use std::cmp::Ordering;

use stampede_load::schedule::{Segment, Segments};
use stampede_stats::compare::MARGIN;
use stampede_stats::letters::letters;
use stampede_stats::{baseline, drift};

use super::model::{
    CellSummary, CellVerdict, Comparison, Drift, Figure, Figures, Group, LoadModel, Primary,
};
use crate::fact::NotCompared;
use crate::store::record::{Judged, RunRecord};

/// The groups of a run in the plan's order, nothing compared yet.
pub fn of(record: &RunRecord) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for cell in &record.cells {
        if groups.iter().any(|group| group.app == cell.app && group.load == cell.load) {
            continue;
        }
        groups.push(Group {
            app: cell.app.clone(),
            load: cell.load.clone(),
            load_text: cell.load_text.clone(),
            model: cell.model,
            rate_per_second: cell.schedule.as_ref().and_then(constant),
            primary: match cell.model {
                LoadModel::Closed => Primary::Throughput,
                LoadModel::Open => Primary::ResponseTimeP95,
            },
            sentence: String::new(),
            baseline: None,
            comparisons: Vec::new(),
        });
    }
    groups
}

/// The rate of a schedule that has one; `None`: it changes.
fn constant(schedule: &Segments) -> Option<f64> {
    match schedule.segments() {
        [Segment::Const { rate, .. }] => Some(rate.per_second()),
        _ => None,
    }
}

/// Sorts a group's cells, the best first, by the figure that all of them have.
pub fn sort(group: &mut Group, cells: &mut [CellSummary]) {
    group.primary = primary(group.model, cells);
    cells.sort_by(|a, b| order(group.primary, a, b));
}

/// Sorts a group's cells, compares each with the baseline, groups all pairs, and looks for drift.
pub fn compare(group: &mut Group, cells: &mut [CellSummary], chosen: Option<&str>) {
    let baseline = chosen_of(cells, chosen).map(|cell| cell.runtime.clone());
    sort(group, cells);
    let values: Vec<Vec<Option<f64>>> =
        cells.iter().map(|cell| by_round(group.primary, cell)).collect();
    for (cell, groups) in cells.iter_mut().zip(letters(&values)) {
        cell.significance_groups = groups;
    }
    let drifts: Vec<_> = values.iter().map(|values| drift_of(values)).collect();
    for (cell, drift) in cells.iter_mut().zip(drift::told(&drifts)) {
        cell.drift = drift.map(|drift| Drift { ratio: drift.ratio, chance: drift.chance });
    }
    group.comparisons = match cells.iter().position(|cell| Some(&cell.runtime) == baseline.as_ref())
    {
        Some(place) => with_baseline(group.primary, cells, values, place),
        None => Vec::new(),
    };
    group.baseline = baseline;
}

/// The row that was chosen; where this group has not got it, the first of the plan that it has. `cells` are in the plan's
/// order.
fn chosen_of<'a>(cells: &'a [CellSummary], chosen: Option<&str>) -> Option<&'a CellSummary> {
    let is_it = |cell: &&CellSummary| Some(cell.runtime.as_str()) == chosen;
    cells.iter().find(is_it).or_else(|| cells.first())
}

/// Every other row that was measured.
fn with_baseline(
    primary: Primary,
    cells: &[CellSummary],
    mut values: Vec<Vec<Option<f64>>>,
    baseline: usize,
) -> Vec<Comparison> {
    let reasons: Vec<Option<NotCompared>> =
        cells.iter().map(|cell| why_not(primary, cell)).collect();
    for (values, why_not) in values.iter_mut().zip(&reasons) {
        if why_not.is_some() {
            values.clear();
        }
    }
    let compared = baseline::with_baseline(&values, baseline, MARGIN);
    let others = (0..cells.len())
        .filter(|place| *place != baseline && cells[*place].trials_counted > 0);
    others
        .map(|place| {
            let runtime = &cells[place].runtime;
            let why_not = reasons[place].clone().or_else(|| {
                reasons[baseline].is_some().then_some(NotCompared::Baseline {})
            });
            match (why_not, &compared[place]) {
                (Some(why), _) => Comparison::none(runtime, why),
                (None, None) => Comparison::none(runtime, NotCompared::NoCommonRound {}),
                (None, Some(compared)) => Comparison::of(runtime, compared),
            }
        })
        .collect()
}

/// p95 where trials have enough shots for it in every cell, else what they have enough for.
fn primary(model: LoadModel, cells: &[CellSummary]) -> Primary {
    if model == LoadModel::Closed {
        return Primary::Throughput;
    }
    let too_few =
        |primary: Primary| cells.iter().any(|cell| primary.figure(&cell.figures) == Figure::TooFew);
    if !too_few(Primary::ResponseTimeP95) {
        Primary::ResponseTimeP95
    } else if !too_few(Primary::ResponseTimeP50) {
        Primary::ResponseTimeP50
    } else {
        Primary::ResponseTimeMean
    }
}

impl Primary {
    /// This figure.
    pub fn figure(self, figures: &Figures) -> Figure {
        match self {
            Primary::ResponseTimeP95 => figures.response_time_ns.p95,
            Primary::ResponseTimeP50 => figures.response_time_ns.p50,
            Primary::ResponseTimeMean => figures.response_time_ns.mean,
            Primary::Throughput => figures.throughput_per_second,
        }
    }
}

/// Whether the cell may be the best: the figure exists, and something was answered.
fn has(primary: Primary, cell: &CellSummary) -> bool {
    cell.counts.ok > 0 && primary.figure(&cell.figures).value().is_some()
}

/// Cells with the figure, the best first; then those where it failed, by their share of
/// correct answers; then those without trials that count; refused ones last.
fn order(primary: Primary, a: &CellSummary, b: &CellSummary) -> Ordering {
    let class = |cell: &CellSummary| match (cell.verdict, cell.trials_counted) {
        (CellVerdict::Refused, _) => 4,
        (CellVerdict::Missing, _) => 3,
        (_, 0) => 2,
        _ if has(primary, cell) => 0,
        _ => 1,
    };
    class(a).cmp(&class(b)).then_with(|| {
        let value = |cell: &CellSummary| match class(cell) {
            0 if primary == Primary::Throughput => {
                primary.figure(&cell.figures).value().map(|value| -value)
            }
            0 => primary.figure(&cell.figures).value(),
            _ => cell.counts.ok_share().map(|share| -share),
        };
        value(a).unwrap_or(0.0).total_cmp(&value(b).unwrap_or(0.0))
    })
}

/// The figure in a round: of the trial that counts, which may be a repeated one.
fn known(primary: Primary, cell: &CellSummary, round: u32) -> Option<f64> {
    cell.trials
        .iter()
        .find(|trial| trial.round == round && trial.verdict != Judged::Invalid)
        .and_then(|trial| primary.figure(&trial.figures).known())
        .filter(|value| *value > 0.0)
}

/// The figure by round, of the trials that count.
fn by_round(primary: Primary, cell: &CellSummary) -> Vec<Option<f64>> {
    let rounds = cell.trials.iter().map(|trial| trial.round).max().unwrap_or(0);
    (1..=rounds).map(|round| known(primary, cell, round)).collect()
}

fn drift_of(values: &[Option<f64>]) -> Option<drift::Drift> {
    let rounds = (1..).map(f64::from).zip(values);
    let known: Vec<(f64, f64)> =
        rounds.filter_map(|(round, value)| Some((round, (*value)?))).collect();
    drift::drift(&known)
}

/// Why a row has no figure that can be compared; `None`: it has.
pub fn why_not(primary: Primary, cell: &CellSummary) -> Option<NotCompared> {
    if cell.counts.ok == 0 {
        return Some(NotCompared::NoCorrectAnswer {});
    }
    let failed_share = 1.0 - cell.counts.ok_share().unwrap_or(0.0);
    let too_many = (cell.counts.planned - cell.counts.ok) * ONE_IN > cell.counts.planned;
    // A rising load is meant to break it.
    if too_many && cell.breaking.is_none() {
        return Some(NotCompared::Failed { failed_share, kinds: cell.counts.worst_kinds() });
    }
    match primary.figure(&cell.figures) {
        Figure::Exact(_) => None,
        Figure::AtLeast(_) => Some(NotCompared::LowerBound {}),
        Figure::Failed => Some(NotCompared::PercentileFailed {}),
        Figure::TooFew | Figure::None => Some(NotCompared::NoFigure {}),
    }
}

/// One request in so many may fail in a row that is compared. Errors are quick and cost little, so a runtime that fails
/// more looks better than it is.
const ONE_IN: u64 = 100;
