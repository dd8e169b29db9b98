//! Cases under the same app and load: the best first, each against the best.

use std::cmp::Ordering;

use stampede_stats::compare::compare as compare_ratios;
use stampede_stats::letters::letters;
use stampede_stats::{drift, rounds};

use super::model::{
    CaseSummary, CaseVerdict, Comparison, Drift, Figure, Figures, Group, LoadModel, Primary,
};
use crate::store::record::{Judged, RunRecord};

/// The groups of a run in the plan's order, nothing compared yet.
pub fn of(record: &RunRecord) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for case in &record.cases {
        if groups.iter().any(|group| group.app == case.app && group.load == case.load) {
            continue;
        }
        groups.push(Group {
            app: case.app.clone(),
            load: case.load.clone(),
            load_text: case.load_text.clone(),
            model: case.model,
            primary: match case.model {
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

/// Sorts a group's cases, the best first, by the figure that all of them have.
pub fn sort(group: &mut Group, cases: &mut [CaseSummary]) {
    group.primary = primary(group.model, cases);
    cases.sort_by(|a, b| order(group.primary, a, b));
}

/// Sorts a group's cases, compares each with the best and all with all, and looks for drift.
pub fn compare(group: &mut Group, cases: &mut [CaseSummary]) {
    sort(group, cases);
    let values: Vec<Vec<Option<f64>>> =
        cases.iter().map(|case| by_round(group.primary, case)).collect();
    for (case, letters) in cases.iter_mut().zip(letters(&values)) {
        case.letters = letters;
    }
    let drifts: Vec<_> = values.iter().map(|values| drift_of(values)).collect();
    for (case, drift) in cases.iter_mut().zip(drift::told(&drifts)) {
        case.drift = drift.map(|drift| Drift { ratio: drift.ratio, chance: drift.chance });
    }
    let Some((best, others)) = cases.split_first().filter(|(best, _)| has(group.primary, best))
    else {
        return;
    };
    group.baseline = Some(best.runtime.clone());
    let others: Vec<&CaseSummary> = others.iter().filter(|case| case.trials_counted > 0).collect();
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

/// p95 where trials have enough requests for it in every case, else what they have enough for.
fn primary(model: LoadModel, cases: &[CaseSummary]) -> Primary {
    if model == LoadModel::Closed {
        return Primary::Throughput;
    }
    let too_few =
        |primary: Primary| cases.iter().any(|case| primary.figure(&case.figures) == Figure::TooFew);
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

/// Whether the case may be the best: the figure exists, and something was answered.
fn has(primary: Primary, case: &CaseSummary) -> bool {
    case.counts.ok > 0 && primary.figure(&case.figures).value().is_some()
}

/// Cases with the figure, the best first; then those where it failed, by their share of
/// correct answers; then those without trials that count; refused ones last.
fn order(primary: Primary, a: &CaseSummary, b: &CaseSummary) -> Ordering {
    let class = |case: &CaseSummary| match (case.verdict, case.trials_counted) {
        (CaseVerdict::Refused, _) => 4,
        (CaseVerdict::Missing, _) => 3,
        (_, 0) => 2,
        _ if has(primary, case) => 0,
        _ => 1,
    };
    class(a).cmp(&class(b)).then_with(|| {
        let value = |case: &CaseSummary| match class(case) {
            0 if primary == Primary::Throughput => {
                primary.figure(&case.figures).value().map(|value| -value)
            }
            0 => primary.figure(&case.figures).value(),
            _ => case.counts.ok_share().map(|share| -share),
        };
        value(a).unwrap_or(0.0).total_cmp(&value(b).unwrap_or(0.0))
    })
}

/// Other ÷ best, for each round in which both have a trial that counts and the figure.
fn ratios(primary: Primary, best: &CaseSummary, other: &CaseSummary) -> Vec<f64> {
    let rounds: std::collections::BTreeSet<u32> =
        best.trials.iter().map(|trial| trial.round).collect();
    rounds
        .into_iter()
        .filter_map(|round| Some(known(primary, other, round)? / known(primary, best, round)?))
        .collect()
}

/// The figure in a round: of the trial that counts, which may be a repeated one.
fn known(primary: Primary, case: &CaseSummary, round: u32) -> Option<f64> {
    case.trials
        .iter()
        .find(|trial| trial.round == round && trial.verdict != Judged::Invalid)
        .and_then(|trial| primary.figure(&trial.figures).known())
        .filter(|value| *value > 0.0)
}

/// The figure by round, of the trials that count.
fn by_round(primary: Primary, case: &CaseSummary) -> Vec<Option<f64>> {
    let rounds = case.trials.iter().map(|trial| trial.round).max().unwrap_or(0);
    (1..=rounds).map(|round| known(primary, case, round)).collect()
}

fn drift_of(values: &[Option<f64>]) -> Option<drift::Drift> {
    let rounds = (1..).map(f64::from).zip(values);
    let known: Vec<(f64, f64)> =
        rounds.filter_map(|(round, value)| Some((round, (*value)?))).collect();
    drift::drift(&known)
}

/// Why nothing may be said of the two.
fn why_not(primary: Primary, best: &CaseSummary, other: &CaseSummary) -> Option<String> {
    let bounded = |case: &CaseSummary| {
        matches!(primary.figure(&case.figures), Figure::AtLeast(_))
            .then(|| format!("of {} only a lower bound is known", case.runtime))
    };
    if other.counts.ok == 0 {
        return Some("it gave no correct answer".to_owned());
    }
    if primary.figure(&other.figures) == Figure::Failed {
        return Some("too many of its requests had no correct answer".to_owned());
    }
    bounded(other).or_else(|| bounded(best)).or_else(|| {
        let apart = ratios(primary, best, other).is_empty();
        apart.then(|| "no round has a trial of both that counts".to_owned())
    })
}
