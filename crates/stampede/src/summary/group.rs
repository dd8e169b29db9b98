//! Cells under the same app and load: the best first, each against the best.

use std::cmp::Ordering;

use stampede_stats::compare::compare as compare_ratios;
use stampede_stats::letters::letters;
use stampede_stats::{drift, rounds};

use super::model::{
    CellSummary, CellVerdict, Comparison, Drift, Figure, Figures, Group, LoadModel, Primary,
};
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
            shape: cell.shape(),
            model: cell.model,
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

/// Sorts a group's cells, the best first, by the figure that all of them have.
pub fn sort(group: &mut Group, cells: &mut [CellSummary]) {
    group.primary = primary(group.model, cells);
    cells.sort_by(|a, b| order(group.primary, a, b));
}

/// Sorts a group's cells, compares each with the best and all with all, and looks for drift.
pub fn compare(group: &mut Group, cells: &mut [CellSummary]) {
    sort(group, cells);
    let values: Vec<Vec<Option<f64>>> =
        cells.iter().map(|cell| by_round(group.primary, cell)).collect();
    for (cell, letters) in cells.iter_mut().zip(letters(&values)) {
        cell.letters = letters;
    }
    let drifts: Vec<_> = values.iter().map(|values| drift_of(values)).collect();
    for (cell, drift) in cells.iter_mut().zip(drift::told(&drifts)) {
        cell.drift = drift.map(|drift| Drift { ratio: drift.ratio, chance: drift.chance });
    }
    let Some((best, others)) = cells.split_first().filter(|(best, _)| has(group.primary, best))
    else {
        return;
    };
    group.baseline = Some(best.runtime.clone());
    let others: Vec<&CellSummary> = others.iter().filter(|cell| cell.trials_counted > 0).collect();
    let ratios: Vec<Vec<f64>> =
        others.iter().map(|other| ratios(group.primary, best, other)).collect();
    group.comparisons = others
        .iter()
        .zip(ratios.iter().zip(compare_ratios(&ratios)))
        .map(|(other, (ratios, compared))| {
            let why_not = why_not(group.primary, best, other);
            let noise = rounds::noise(ratios).filter(|_| why_not.is_none());
            Comparison {
                runtime: other.runtime.clone(),
                ratio: compared.ratio.filter(|_| why_not.is_none()),
                judged: why_not.is_none().then_some(compared.judged),
                why_not,
                noise,
                rounds_needed: noise.and_then(rounds::needed),
            }
        })
        .collect();
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

/// Other ÷ best, for each round in which both have a trial that counts and the figure.
fn ratios(primary: Primary, best: &CellSummary, other: &CellSummary) -> Vec<f64> {
    let rounds: std::collections::BTreeSet<u32> =
        best.trials.iter().map(|trial| trial.round).collect();
    rounds
        .into_iter()
        .filter_map(|round| Some(known(primary, other, round)? / known(primary, best, round)?))
        .collect()
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

/// Why nothing may be said of the two.
fn why_not(primary: Primary, best: &CellSummary, other: &CellSummary) -> Option<String> {
    let bounded = |cell: &CellSummary| {
        matches!(primary.figure(&cell.figures), Figure::AtLeast(_))
            .then(|| format!("of {} only a lower bound is known", cell.runtime))
    };
    if other.counts.ok == 0 {
        return Some("it gave no correct answer".to_owned());
    }
    if primary.figure(&other.figures) == Figure::Failed {
        return Some("too many of its shots had no correct answer".to_owned());
    }
    bounded(other).or_else(|| bounded(best)).or_else(|| {
        let apart = ratios(primary, best, other).is_empty();
        apart.then(|| "no round has a trial of both that counts".to_owned())
    })
}
