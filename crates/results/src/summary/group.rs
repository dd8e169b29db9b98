//! Groups the cases with the same app and load, sorts each group with the best first, and compares
//! each case with the baseline.

use std::cmp::Ordering;

use stampede_model::fact::NotCompared;
use stampede_model::primary::Primary;
use stampede_model::record::{RunRecord, Validity};
use stampede_model::schedule::{Segment, Segments};
use stampede_stats::compare::MARGIN;
use stampede_stats::letters::significance_groups;
use stampede_stats::{baseline, drift};

use super::model::{
    CaseSummary, CaseVerdict, Comparison, Drift, Figure, Figures, Group, LoadModel,
};

/// The groups of a run in the plan's order. Nothing is compared yet.
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
            shape: case.shape(),
            model: case.model,
            rate_per_second: case.schedule.as_ref().and_then(constant),
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

/// The rate of a schedule with a single rate. `None`: the rate changes.
fn constant(schedule: &Segments) -> Option<f64> {
    match schedule.segments() {
        [Segment::Const { rate, .. }] => Some(rate.per_second()),
        _ => None,
    }
}

/// Sorts a group's cases, the best first, by a figure that all of them have.
pub fn sort(group: &mut Group, cases: &mut [CaseSummary]) {
    group.primary = primary(group.model, cases);
    cases.sort_by(|a, b| order(group.primary, a, b));
}

/// Sorts a group's cases, compares each with the baseline, groups all pairs, and looks for drift.
pub fn compare(group: &mut Group, cases: &mut [CaseSummary], chosen: Option<&str>) {
    let baseline = chosen_of(cases, chosen).map(|case| case.runtime.clone());
    sort(group, cases);
    let values: Vec<Vec<Option<f64>>> =
        cases.iter().map(|case| by_round(group.primary, case)).collect();
    for (case, groups) in cases.iter_mut().zip(significance_groups(&values)) {
        case.significance_groups = groups;
    }
    let drifts: Vec<_> = values.iter().map(|values| drift_of(values)).collect();
    for (case, drift) in cases.iter_mut().zip(drift::significant(&drifts)) {
        case.drift = drift.map(|drift| Drift { ratio: drift.ratio, chance: drift.chance });
    }
    group.comparisons = match cases.iter().position(|case| Some(&case.runtime) == baseline.as_ref())
    {
        Some(place) => with_baseline(group.primary, cases, values, place),
        None => Vec::new(),
    };
    group.baseline = baseline;
}

/// The chosen row. If the group does not have it, the group's first row in the plan's order.
/// `cases` are in the plan's order.
fn chosen_of<'a>(cases: &'a [CaseSummary], chosen: Option<&str>) -> Option<&'a CaseSummary> {
    let is_it = |case: &&CaseSummary| Some(case.runtime.as_str()) == chosen;
    cases.iter().find(is_it).or_else(|| cases.first())
}

/// Compares every other measured row with the baseline.
fn with_baseline(
    primary: Primary,
    cases: &[CaseSummary],
    mut values: Vec<Vec<Option<f64>>>,
    baseline: usize,
) -> Vec<Comparison> {
    let reasons: Vec<Option<NotCompared>> =
        cases.iter().map(|case| why_not(primary, case)).collect();
    for (values, why_not) in values.iter_mut().zip(&reasons) {
        if why_not.is_some() {
            values.clear();
        }
    }
    let compared = baseline::with_baseline(&values, baseline, MARGIN);
    let others =
        (0..cases.len()).filter(|place| *place != baseline && cases[*place].trials_counted > 0);
    others
        .map(|place| {
            let runtime = &cases[place].runtime;
            let why_not = reasons[place]
                .clone()
                .or_else(|| reasons[baseline].is_some().then_some(NotCompared::Baseline {}));
            match (why_not, &compared[place]) {
                (Some(why), _) => Comparison::none(runtime, why),
                (None, None) => Comparison::none(runtime, NotCompared::NoCommonRound {}),
                (None, Some(compared)) => Comparison::of(runtime, compared),
            }
        })
        .collect()
}

/// The figure to compare by: p95 if every case has enough requests for it, else the median, else
/// the mean. For a closed load it is the throughput.
fn primary(model: LoadModel, cases: &[CaseSummary]) -> Primary {
    if model == LoadModel::Closed {
        return Primary::Throughput;
    }
    let too_few =
        |primary: Primary| cases.iter().any(|case| case.figures.of(primary) == Figure::TooFew);
    if !too_few(Primary::ResponseTimeP95) {
        Primary::ResponseTimeP95
    } else if !too_few(Primary::ResponseTimeP50) {
        Primary::ResponseTimeP50
    } else {
        Primary::ResponseTimeMean
    }
}

impl Figures {
    /// The value of the figure that cases are compared by.
    pub fn of(&self, primary: Primary) -> Figure {
        match primary {
            Primary::ResponseTimeP95 => self.response_time_ns.p95,
            Primary::ResponseTimeP50 => self.response_time_ns.p50,
            Primary::ResponseTimeMean => self.response_time_ns.mean,
            Primary::Throughput => self.throughput_per_second,
        }
    }
}

/// Whether the case can be ranked by the figure: it has the figure and a correct answer.
fn has(primary: Primary, case: &CaseSummary) -> bool {
    case.counts.ok > 0 && case.figures.of(primary).value().is_some()
}

/// The order of cases. First come those with the figure, the best first, then those where it
/// failed, by their share of correct answers. Then come those without trials that count, then
/// missing ones, then refused ones.
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
                case.figures.of(primary).value().map(|value| -value)
            }
            0 => case.figures.of(primary).value(),
            _ => case.counts.ok_share().map(|share| -share),
        };
        value(a).unwrap_or(0.0).total_cmp(&value(b).unwrap_or(0.0))
    })
}

/// The figure in a round, from the trial that counts, which may be a repeated one.
fn known(primary: Primary, case: &CaseSummary, round: u32) -> Option<f64> {
    case.trials
        .iter()
        .find(|trial| trial.round == round && trial.verdict != Validity::Invalid)
        .and_then(|trial| trial.figures.of(primary).known())
        .filter(|value| *value > 0.0)
}

/// The figure by round, from the trials that count.
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

/// Why a row has no figure that can be compared. `None`: it has one.
pub fn why_not(primary: Primary, case: &CaseSummary) -> Option<NotCompared> {
    if case.counts.ok == 0 {
        return Some(NotCompared::NoCorrectAnswer {});
    }
    let failed_share = 1.0 - case.counts.ok_share().unwrap_or(0.0);
    let too_many = (case.counts.planned - case.counts.ok) * ONE_IN > case.counts.planned;
    // A rising load is meant to break the runtime, so its failures do not count here.
    if too_many && case.breaking.is_none() {
        return Some(NotCompared::Failed { failed_share, kinds: case.counts.worst_kinds() });
    }
    match case.figures.of(primary) {
        Figure::Exact(_) => None,
        Figure::AtLeast(_) => Some(NotCompared::LowerBound {}),
        Figure::Failed => Some(NotCompared::PercentileFailed {}),
        Figure::TooFew | Figure::None => Some(NotCompared::NoFigure {}),
    }
}

/// At most one in this many requests may fail in a row that is compared. Errors are quick and cost
/// little, so a runtime that fails more looks better than it is.
const ONE_IN: u64 = 100;
