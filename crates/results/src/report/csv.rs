//! Renders one row per case, for spreadsheets and scripts (RFC 4180).

use stampede_model::fact;
use stampede_model::record::Validity;

use super::csv_fields::{guarded, line, number};
use super::notes::reasons;
use crate::summary::model::{
    CaseSummary, CaseVerdict, Figure, Group, LoadModel, Stat, TimeFigures,
};
use crate::summary::{Summary, steady};

/// Renders a run: a header, then one row per case, by group and the best first. Numbers are plain,
/// with their unit in the header. A percentile that falls on a failed request is `failed`; an
/// unknown value is empty. Only `mean`, `max` and the throughput may be lower bounds, and their
/// `_state` column says so.
pub fn csv(summary: &Summary) -> String {
    let mut out = String::new();
    let mut header = false;
    for group in &summary.groups {
        for case in summary.cases_of(group) {
            let row = row(summary, group, case);
            if !std::mem::replace(&mut header, true) {
                line(row.iter().map(|(name, _)| name.clone()), &mut out);
            }
            line(row.into_iter().map(|(_, value)| value), &mut out);
        }
    }
    out
}

/// Names with their values, so that the two stay together.
type Row = Vec<(String, String)>;

fn row(summary: &Summary, group: &Group, case: &CaseSummary) -> Row {
    let mut row = Row::new();
    about(summary, group, case, &mut row);
    let figures = &case.figures;
    times("response_time_ns", &figures.response_time_ns, &mut row);
    times("service_time_ns", &figures.service_time_ns, &mut row);
    times("response_time_ns_ok", &figures.response_time_ns_ok, &mut row);
    times("service_time_ns_ok", &figures.service_time_ns_ok, &mut row);
    let with_interval = [
        ("response_time_ns_p95", figures.response_time_ns.p95),
        ("throughput_per_second", figures.throughput_per_second),
        ("cpu_cost_us", figures.cpu_cost_us),
    ];
    for (name, figure) in with_interval {
        let (low, high) = figure.interval().unzip();
        row.push((format!("{name}_low"), low.map_or(String::new(), number)));
        row.push((format!("{name}_high"), high.map_or(String::new(), number)));
    }
    let plain = [
        ("ok_share", figures.ok_share),
        ("offered_per_second", figures.offered_per_second),
        ("throughput_per_second", figures.throughput_per_second),
        ("received_bytes_per_second", figures.received_bytes_per_second),
        ("sent_bytes_per_second", figures.sent_bytes_per_second),
        ("cpu_percent_median", figures.cpu_percent_median),
        ("cpu_percent_max", figures.cpu_percent_max),
        ("cpu_cost_us", figures.cpu_cost_us),
        ("memory_bytes_median", figures.memory_bytes_median),
        ("memory_bytes_max", figures.memory_bytes_max),
        ("connection_wait_ns_p99", figures.connection_wait_ns_p99),
        ("schedule_lag_ns_p99", figures.schedule_lag_ns_p99),
        ("first_answer_ns", figures.first_answer_ns),
        ("first_request_ns", figures.first_request_ns),
    ];
    row.extend(plain.map(|(name, figure)| (name.to_owned(), value(figure))));
    row.push(("throughput_state".to_owned(), state(figures.throughput_per_second)));
    breaking(case, &mut row);
    row
}

/// The fields of the breaking point. Empty: the load does not rise. `trials_broken` 0: no trial
/// broke.
fn breaking(case: &CaseSummary, row: &mut Row) {
    let found = case.breaking.clone();
    let trials = found.as_ref().map_or(String::new(), |one| one.trials_broken.to_string());
    let found = found.unwrap_or_default();
    let first = found.seconds.iter().min().map_or(String::new(), ToString::to_string);
    row.push(("trials_broken".to_owned(), trials));
    row.push(("breaking_offered_per_second".to_owned(), value(found.offered_per_second)));
    row.push(("breaking_second_first".to_owned(), first));
    row.push(("breaking_lost".to_owned(), guarded(&found.lost.join("; "))));
    times("up_to_breaking_response_time_ns", &found.response_time_ns, row);
}

fn about(summary: &Summary, group: &Group, case: &CaseSummary, row: &mut Row) {
    let counts = &case.counts;
    let failed: Vec<String> =
        counts.failed.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
    let model = match case.model {
        LoadModel::Open => "open",
        LoadModel::Closed => "closed",
    };
    let comparison = group.comparisons.iter().find(|other| other.runtime == case.runtime);
    let ratio = comparison.and_then(|other| other.ratio);
    let (low, high) = ratio.and_then(|ratio| ratio.interval).unzip();
    let text = |value: Option<f64>| value.map_or(String::new(), number);
    let fields: [(&str, String); 27] = [
        ("run", guarded(&summary.run)),
        ("app", guarded(&case.app)),
        ("load", guarded(&case.load)),
        ("load_text", guarded(&group.load_text)),
        ("model", model.to_owned()),
        ("runtime", guarded(&case.runtime)),
        ("verdict", verdict(case.verdict).to_owned()),
        ("reasons", guarded(&reasons(case))),
        ("not_comparable", guarded(&fact::joined(&case.not_comparable))),
        ("budget_cpus", case.budget_cpus.to_string()),
        ("budget_unequal", case.budget_unequal.to_string()),
        ("budget_memory_bytes", case.budget_memory_bytes.to_string()),
        ("trials_counted", case.trials_counted.to_string()),
        ("trials_suspect", suspect(case).to_string()),
        ("trials_invalid", case.trials_invalid.to_string()),
        ("trials_missing", case.trials_missing.to_string()),
        ("planned", counts.planned.to_string()),
        ("ok", counts.ok.to_string()),
        ("failed", counts.failed_total().to_string()),
        ("failed_by_kind", guarded(&failed.join(" "))),
        ("dropped", counts.dropped.to_string()),
        ("restarts", counts.restarts.to_string()),
        ("ratio_to_baseline", text(ratio.map(|ratio| ratio.value))),
        ("ratio_to_baseline_low", text(low)),
        ("ratio_to_baseline_high", text(high)),
        (
            "standing",
            comparison.map_or("", |other| other.standing(group.primary).words()).to_owned(),
        ),
        ("steady", steady::word(case).unwrap_or_default().to_owned()),
    ];
    row.extend(fields.map(|(name, value)| (name.to_owned(), value)));
}

fn suspect(case: &CaseSummary) -> usize {
    case.trials.iter().filter(|trial| trial.verdict == Validity::Suspect).count()
}

fn times(name: &str, times: &TimeFigures, row: &mut Row) {
    for stat in Stat::ALL {
        let figure = times.get(stat);
        let column = format!("{name}_{stat}");
        row.push((column.clone(), value(figure)));
        if matches!(stat, Stat::Mean | Stat::Max) {
            row.push((format!("{column}_state"), state(figure)));
        }
    }
}

fn value(figure: Figure) -> String {
    match figure {
        Figure::Failed => "failed".to_owned(),
        figure => figure.value().map_or(String::new(), number),
    }
}

fn state(figure: Figure) -> String {
    let state = match figure {
        Figure::Exact(_) => "exact",
        Figure::AtLeast(_) => "at_least",
        Figure::Failed => "failed",
        Figure::TooFew => "too_few",
        Figure::None => "",
    };
    state.to_owned()
}

/// The name of a verdict, the same in every output.
pub fn verdict(verdict: CaseVerdict) -> &'static str {
    match verdict {
        CaseVerdict::Valid => "valid",
        CaseVerdict::Suspect => "suspect",
        CaseVerdict::Invalid => "invalid",
        CaseVerdict::Missing => "missing",
        CaseVerdict::Refused => "refused",
    }
}
