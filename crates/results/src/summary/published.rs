//! Sets published tables beside the figures of a run.

use std::collections::BTreeMap;

use serde_json::Value;
use stampede_published::{
    BeforeBreaking, Budget, Figure as Column, Measured, MeasuredCase, MeasuredFigure,
    PublishedComparison, RoundValue,
};

use super::input::RunData;
use super::model::{CaseSummary, Figure, LoadModel, Summary, TimeFigures, TrialSummary};
use super::why::LimitingCause;
use stampede_model::counts::Counts;
use stampede_model::fact::{Fact, LimitFound, Notice};
use stampede_model::record::{CustomBuild, Validity};
use stampede_model::stat::Stat;
use stampede_model::words;

/// Compares the tables that the plan names with the run. `None`: it names none.
pub fn beside(summary: &Summary, run: &RunData) -> Option<PublishedComparison> {
    let record = run.record.published.as_ref()?;
    // The text was checked before the run began.
    let tables = stampede_published::parse(&record.text, &record.file).ok()?;
    let cases = summary.cases.iter().map(|case| measured(case, summary, run)).collect();
    let mut notices = run.record.notices.iter().filter_map(Fact::known);
    let time_scale = notices.find_map(|notice| match notice {
        Notice::TimeScale { scale } => Some(*scale),
        _ => None,
    });
    let measured = Measured { rounds: summary.rounds, time_scale, cases };
    Some(stampede_published::compare(&tables, &measured))
}

fn measured(case: &CaseSummary, summary: &Summary, run: &RunData) -> MeasuredCase {
    let by_round: Vec<Option<&TrialSummary>> =
        (1..=summary.rounds).map(|round| of_round(case, round)).collect();
    let is_limit = |why: &&LimitingCause| {
        !matches!(why.found.known(), Some(LimitFound::NoLimitReached { .. }))
    };
    let limit = case.why.iter().find(is_limit);
    let limit = limit.map(|why| format!("was limited here: {}", why.found));
    let is_beside = |other: &&CaseSummary| (&other.app, &other.load) == (&case.app, &case.load);
    let beside: Vec<&CaseSummary> = summary.cases.iter().filter(is_beside).collect();
    MeasuredCase {
        // Tables have the names of the plan.
        runtime: CustomBuild::without_mark(&case.runtime).to_owned(),
        app: case.app.clone(),
        load: case.load.clone(),
        figures: figures(&by_round, |trial| of_trial(trial, case.model, run)),
        before_breaking: before_breaking(case, &by_round),
        limit,
        differences: differences(case, &beside, run),
        budget: if case.budget_unequal { Budget::Unequal } else { Budget::Equal },
    }
}

/// What of a row's setup is not alike in the rows beside it: only that may explain a difference.
fn differences(case: &CaseSummary, beside: &[&CaseSummary], run: &RunData) -> Vec<String> {
    let has_other_workers = beside.iter().any(|other| other.workers != case.workers);
    let workers = case.workers.filter(|_| has_other_workers);
    let workers = workers.map(|workers| format!("had {}", words::number_of(workers, "worker")));
    let own = settings(case, run);
    let differs = |key: &&str| {
        let value = own?.get(*key)?;
        let mut others = beside.iter().filter_map(|other| settings(other, run)?.get(*key));
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        others.any(|other| other != value).then(|| format!("had `{key}: {text}`"))
    };
    workers.into_iter().chain(SETTINGS.iter().filter_map(differs)).collect()
}

/// The settings that a row ran with. `None`: it did not start.
fn settings<'a>(case: &CaseSummary, run: &'a RunData) -> Option<&'a BTreeMap<String, Value>> {
    let number = case.trials.first()?.number;
    let stored = run.trials.iter().find(|one| one.record.number == number)?;
    Some(&stored.record.runtime.settings)
}

/// Settings that decide how much work a request is.
const SETTINGS: [&str; 9] = [
    "socket",
    "pm",
    "opcache",
    "jit",
    "compression",
    "access_log",
    "keep_alive",
    "max_requests",
    "reboot_kernel",
];

/// The trial of a round that counts. An invalid one may have been repeated.
fn of_round(case: &CaseSummary, round: u32) -> Option<&TrialSummary> {
    let counts = |trial: &&TrialSummary| trial.round == round && trial.verdict != Validity::Invalid;
    case.trials.iter().rev().find(counts)
}

/// Each figure by round.
fn figures(
    by_round: &[Option<&TrialSummary>],
    of: impl Fn(&TrialSummary) -> Vec<(Column, Figure)>,
) -> BTreeMap<Column, MeasuredFigure> {
    let mut all: BTreeMap<Column, MeasuredFigure> = BTreeMap::new();
    for (round, trial) in by_round.iter().enumerate() {
        for (column, figure) in trial.iter().flat_map(|trial| of(trial)) {
            let rounds = &mut all.entry(column).or_default().rounds;
            rounds.resize(by_round.len(), None);
            rounds[round] = round_value(figure);
        }
    }
    all
}

fn round_value(figure: Figure) -> Option<RoundValue> {
    match figure {
        Figure::Exact(estimate) => Some(RoundValue::Exactly(estimate.value)),
        Figure::AtLeast(estimate) => Some(RoundValue::AtLeast(estimate.value)),
        Figure::Failed => Some(RoundValue::Failed),
        Figure::TooFew | Figure::None => None,
    }
}

fn of_trial(trial: &TrialSummary, model: LoadModel, run: &RunData) -> Vec<(Column, Figure)> {
    let (own, counts) = (&trial.figures, &trial.counts);
    let times = match model {
        LoadModel::Open => &own.response_time_ns,
        LoadModel::Closed => &own.service_time_ns,
    };
    let cpu_ns = match own.cpu_cost_us.known() {
        Some(us) => Figure::exact(us * 1e3),
        None => Figure::None,
    };
    let number = |count: u64| Figure::exact(count as f64);
    let mut all = of_times(times);
    all.extend([
        (Column::Throughput, own.throughput_per_second),
        (Column::OkShare, own.ok_share),
        (Column::CpuMedian, own.cpu_percent_median),
        (Column::CpuMax, own.cpu_percent_max),
        (Column::CpuPerRequest, cpu_ns),
        (Column::MemoryMedian, own.memory_bytes_median),
        (Column::MemoryMax, own.memory_bytes_max),
        (Column::TransferRate, own.received_bytes_per_second),
    ]);
    let stored = run.trials.iter().find(|one| one.record.number == trial.number);
    let load = stored.and_then(|stored| stored.record.load.as_ref());
    all.extend(load.and_then(|load| document_length(&load.counts)));
    if let Some(load) = load.filter(|_| model == LoadModel::Closed) {
        all.push((Column::Concurrency, number(load.in_flight_max.into())));
    }
    all.extend([
        (Column::OkCount, number(counts.ok)),
        (Column::CompleteRequests, number(counts.ok + counts.failed_total())),
        (Column::FailedRequests, number(counts.failed_total())),
    ]);
    if let Some(load) = load {
        all.extend(load.connections.write_errors.map(|count| (Column::WriteErrors, number(count))));
        all.extend([
            (Column::TimeTaken, number(load.lasted_ns)),
            (Column::TotalTransferred, number(load.counts.bytes_received)),
            (Column::HtmlTransferred, number(load.counts.body_bytes)),
        ]);
    }
    all
}

/// The mean length of the bodies of whole answers, right or wrong.
fn document_length(counts: &Counts) -> Option<(Column, Figure)> {
    let is_whole = |kind: &str| kind.starts_with("http:") || kind.starts_with("check");
    let wrong: u64 =
        counts.failed.iter().filter(|(kind, _)| is_whole(kind)).map(|(_, count)| count).sum();
    let whole = counts.ok + wrong;
    let mean = counts.body_bytes as f64 / whole as f64;
    (whole > 0 && counts.body_bytes > 0).then(|| (Column::DocumentLength, Figure::exact(mean)))
}

fn of_times(times: &TimeFigures) -> Vec<(Column, Figure)> {
    let column = |stat| match stat {
        Stat::Mean => Column::TimeMean,
        Stat::Max => Column::TimeMax,
        // The highest is 999.
        Stat::Percentile(tenths) => Column::Percentile(u16::try_from(tenths).unwrap_or(u16::MAX)),
    };
    Stat::ALL.into_iter().map(|stat| (column(stat), times.get(stat))).collect()
}

/// What was measured before the breaking point, where the case broke in each trial that counts.
fn before_breaking(
    case: &CaseSummary,
    by_round: &[Option<&TrialSummary>],
) -> Option<BeforeBreaking> {
    let breaking = case.breaking.as_ref()?;
    let until_per_second = breaking.offered_per_second.value()?;
    let of = |trial: &TrialSummary| {
        let point = trial.breaking_point.as_ref();
        point.map(|point| of_times(&point.response_time_ns)).unwrap_or_default()
    };
    Some(BeforeBreaking { until_per_second, figures: figures(by_round, of) })
}
