//! Builds the columns of a group's table.

use stampede_model::primary::Primary;
use stampede_model::primary::{noun, short};
use stampede_model::words;

use super::layout::{Column, Field, Section, Sign, Tone};
use super::notes::mark;
use crate::summary::breaking::Breaking;
use crate::summary::headline::own_interval;
use crate::summary::model::{
    CaseSummary, CaseVerdict, Comparison, Figure, Group, LoadModel, Stat, TimeFigures,
};
use crate::summary::steady;

/// The cases that have a row of figures. Refused and missing cases, and those with only invalid
/// trials, are listed below the table.
pub fn rows<'a>(cases: &[&'a CaseSummary]) -> Vec<&'a CaseSummary> {
    cases.iter().copied().filter(|case| case.trials_counted > 0).collect()
}

/// The column of names with their marks.
pub fn names(rows: &[&CaseSummary]) -> Column {
    let fields = rows.iter().map(|case| Field {
        text: format!("{}{}", case.runtime, mark(case)),
        tone: match case.verdict {
            _ if case.trials_invalid > 0 => Tone::Bad,
            CaseVerdict::Valid if case.not_comparable.is_empty() => Tone::Plain,
            _ => Tone::Warning,
        },
        sign: None,
    });
    Column { title: "runtime".to_owned(), fields: fields.collect() }
}

/// All sections of a group, in reading order.
pub fn sections(group: &Group, rows: &[&CaseSummary]) -> Vec<Section> {
    let mut sections = vec![main_times(group, rows)];
    if group.model == LoadModel::Closed {
        // The figure that the cases are sorted by comes first.
        sections.insert(0, rates(group, rows));
    }
    if group.comparisons.is_empty() {
        sections.splice(1..1, alone(group, rows));
    } else {
        sections.insert(1, against(group, rows));
    }
    sections.extend(up_to_breaking(rows));
    sections.push(requests(rows));
    if group.model == LoadModel::Open {
        sections.push(rates(group, rows));
    }
    sections.extend(cpu_and_memory(rows));
    if rows.iter().any(|case| case.counts.ok < case.counts.planned) {
        sections.push(ok_alone(group, rows));
    }
    if group.model == LoadModel::Open {
        let title = "service time";
        sections.push(times(title, rows, &FEW, |case| &case.figures.service_time_ns));
    }
    sections.push(beside(group, rows));
    sections.extend(by_role(rows));
    sections
}

fn main_times(group: &Group, rows: &[&CaseSummary]) -> Section {
    let title = match group.model {
        LoadModel::Open => "response time",
        LoadModel::Closed => "service time",
    };
    let of =
        |stat: Stat| column(&stat.to_string(), rows, |case| shown_time(group.model, case, stat));
    let columns = Stat::ALL.into_iter().map(of).collect();
    let mut section = Section { title: title.to_owned(), columns };
    let primary = match group.primary {
        Primary::ResponseTimeP95 => Stat::Percentile(950),
        Primary::ResponseTimeP50 => Stat::Percentile(500),
        Primary::ResponseTimeMean => Stat::Mean,
        Primary::Throughput => return section,
    };
    for (column, stat) in section.columns.iter_mut().zip(Stat::ALL) {
        if stat == primary {
            emphasize(column);
        }
    }
    section
}

/// A figure of response time in the open model, of service time in the closed one, with `†` if the
/// generator's own delay makes much of it.
pub fn shown_time(model: LoadModel, case: &CaseSummary, stat: Stat) -> Field {
    let times = match model {
        LoadModel::Open => &case.figures.response_time_ns,
        LoadModel::Closed => &case.figures.service_time_ns,
    };
    let known = figure(times.get(stat), words::time);
    match case.figures.lag_marks.iter().any(|mark| mark.figure == stat) {
        true => Field { text: format!("{}†", known.text), tone: Tone::Warning, ..known },
        false => known,
    }
}

/// Emphasises the column that the rows are sorted by.
fn emphasize(column: &mut Column) {
    for field in column.fields.iter_mut().filter(|field| field.tone == Tone::Plain) {
        field.tone = Tone::Strong;
    }
}

/// The percentiles of secondary times.
const FEW: [Stat; 5] =
    [Stat::Mean, Stat::Percentile(500), Stat::Percentile(950), Stat::Percentile(990), Stat::Max];

fn ok_alone(group: &Group, rows: &[&CaseSummary]) -> Section {
    match group.model {
        LoadModel::Open => times("response time, correct answers only", rows, &Stat::ALL, |case| {
            &case.figures.response_time_ns_ok
        }),
        LoadModel::Closed => {
            times("service time, correct answers only", rows, &Stat::ALL, |case| {
                &case.figures.service_time_ns_ok
            })
        }
    }
}

fn times(
    title: &str,
    rows: &[&CaseSummary],
    stats: &[Stat],
    of: fn(&CaseSummary) -> &TimeFigures,
) -> Section {
    let columns = stats.iter().map(|stat| {
        column(&stat.to_string(), rows, |case| figure(of(case).get(*stat), words::time))
    });
    Section { title: title.to_owned(), columns: columns.collect() }
}

/// The times before the breaking point. Cases that did not break have them in the first section.
fn up_to_breaking(rows: &[&CaseSummary]) -> Option<Section> {
    rows.iter().copied().find_map(broken)?;
    let rate = |case: &CaseSummary| match (broken(case), &case.breaking) {
        (Some(broken), _) => figure(broken.offered_per_second, words::rate),
        (None, Some(_)) => Field::plain("did not break"),
        (None, None) => none(),
    };
    let mut columns = vec![column("* breaks at /s", rows, rate)];
    columns.extend(FEW.iter().map(|stat| {
        column(&stat.to_string(), rows, |case| {
            broken(case).map_or_else(Field::default, |broken| {
                figure(broken.response_time_ns.get(*stat), words::time)
            })
        })
    }));
    Some(Section { title: "* before the breaking point".to_owned(), columns })
}

/// The breaking point of a case. `None`: it did not break, or its load does not rise.
pub fn broken(case: &CaseSummary) -> Option<&Breaking> {
    case.breaking.as_ref().filter(|breaking| breaking.trials_broken > 0)
}

fn requests(rows: &[&CaseSummary]) -> Section {
    let columns = vec![
        column("ok %", rows, |case| Field {
            tone: if case.counts.ok < case.counts.planned { Tone::Warning } else { Tone::Plain },
            ..figure(case.figures.ok_share, |share| words::share(share).replace(" %", ""))
        }),
        column("ok", rows, |case| Field::plain(words::count(case.counts.ok))),
        column("failed", rows, |case| wrong(case.counts.failed_total())),
        column("dropped", rows, |case| wrong(case.counts.dropped)),
        column("in flight", rows, |case| {
            Field::plain(words::count(case.counts.in_flight_max.into()))
        }),
        column("planned", rows, |case| Field::plain(words::count(case.counts.planned))),
        column("trials", rows, |case| Field::plain(words::count(case.trials_counted.into()))),
    ];
    Section { title: "requests".to_owned(), columns }
}

fn wrong(count: u64) -> Field {
    let tone = if count > 0 { Tone::Bad } else { Tone::Plain };
    Field { tone, ..Field::plain(words::count(count)) }
}

fn rates(group: &Group, rows: &[&CaseSummary]) -> Section {
    let mut columns = Vec::new();
    if group.model == LoadModel::Open {
        columns.push(column("target rate /s", rows, |case| {
            figure(case.figures.offered_per_second, words::rate)
        }));
    }
    let mut throughput = column("throughput /s", rows, |case| {
        figure(case.figures.throughput_per_second, words::rate)
    });
    if group.primary == Primary::Throughput {
        emphasize(&mut throughput);
    }
    columns.push(throughput);
    columns.push(column("bytes /s", rows, |case| {
        figure(case.figures.received_bytes_per_second, words::bytes)
    }));
    Section { title: "rates".to_owned(), columns }
}

fn cpu_and_memory(rows: &[&CaseSummary]) -> [Section; 2] {
    let cpu = |case: &CaseSummary, of: Figure| Field {
        tone: if case.budget_unequal { Tone::Warning } else { Tone::Plain },
        ..figure(of, words::significant)
    };
    let cpu = vec![
        column("median", rows, |case| cpu(case, case.figures.cpu_percent_median)),
        column("max", rows, |case| cpu(case, case.figures.cpu_percent_max)),
        column("CPU/request", rows, |case| {
            figure(case.figures.cpu_cost_us, |us| words::time(us * 1e3))
        }),
    ];
    let memory = vec![
        column("median", rows, |case| figure(case.figures.memory_bytes_median, words::bytes)),
        column("max", rows, |case| figure(case.figures.memory_bytes_max, words::bytes)),
    ];
    [
        Section { title: "CPU % of the budget".to_owned(), columns: cpu },
        Section { title: "memory".to_owned(), columns: memory },
    ]
}

fn beside(group: &Group, rows: &[&CaseSummary]) -> Section {
    let mut columns = Vec::new();
    if group.model == LoadModel::Open {
        columns.push(column("connection wait p99", rows, |case| {
            figure(case.figures.connection_wait_ns_p99, words::time)
        }));
        columns.push(column("schedule lag p99", rows, |case| {
            figure(case.figures.schedule_lag_ns_p99, words::time)
        }));
    }
    columns.push(column("first answer", rows, |case| {
        figure(case.figures.first_answer_ns, words::time)
    }));
    columns.push(column("first request", rows, |case| {
        figure(case.figures.first_request_ns, words::time)
    }));
    if rows.iter().any(|case| matches!(steady::word(case), Some("yes" | "no"))) {
        columns.push(column("stable", rows, |case| match steady::word(case) {
            Some("no") => Field { tone: Tone::Warning, ..Field::plain("no") },
            word => word.map_or_else(none, Field::plain),
        }));
    }
    columns.push(column("restarts", rows, |case| watched(case, wrong(case.counts.restarts))));
    columns.push(column("context switches", rows, |case| {
        watched(case, Field::plain(words::count(case.counts.context_switches)))
    }));
    Section { title: "details".to_owned(), columns }
}

/// A field of the monitor's counters. Without readings a counter is unknown, not 0.
fn watched(case: &CaseSummary, field: Field) -> Field {
    if case.figures.cpu_percent_median == Figure::None { none() } else { field }
}

/// One section for each role, if a stack has more than one role.
fn by_role(rows: &[&CaseSummary]) -> Vec<Section> {
    let mut roles: Vec<&String> = rows.iter().flat_map(|case| case.figures.roles.keys()).collect();
    roles.sort();
    roles.dedup();
    if roles.len() < 2 {
        return Vec::new();
    }
    let of_role = |role: &String| {
        let of = |case: &CaseSummary| case.figures.roles.get(role).cloned().unwrap_or_default();
        let columns = vec![
            column("CPU %", rows, |case| figure(of(case).cpu_percent_median, words::significant)),
            column("memory", rows, |case| figure(of(case).memory_bytes_median, words::bytes)),
            column("CPU/request", rows, |case| {
                figure(of(case).cpu_cost_us, |us| words::time(us * 1e3))
            }),
        ];
        Section { title: format!("role {role}"), columns }
    };
    roles.into_iter().map(of_role).collect()
}

/// The interval of each figure by itself, if nothing is compared. `None`: no row has an interval.
fn alone(group: &Group, rows: &[&CaseSummary]) -> Option<Section> {
    let own = own_intervals(group, rows)?;
    Some(Section { title: noun(group.primary).to_owned(), columns: vec![own] })
}

fn own_intervals(group: &Group, rows: &[&CaseSummary]) -> Option<Column> {
    let own = |case: &CaseSummary| own_interval(group.primary, case);
    rows.iter().find_map(|case| own(case))?;
    let title = format!("{} interval", short(group.primary));
    Some(column(&title, rows, |case| {
        own(case).map_or_else(none, |(low, high)| Field::plain(format!("{low} – {high}")))
    }))
}

fn against(group: &Group, rows: &[&CaseSummary]) -> Section {
    let of =
        |case: &CaseSummary| group.comparisons.iter().find(|other| other.runtime == case.runtime);
    let ratio = column("ratio", rows, |case| vs(group, case));
    let interval = column("95 % interval", rows, |case| vs_interval(group, case));
    let standing = column("result", rows, |case| match of(case) {
        Some(other) => Field::plain(other.standing(group.primary).words()),
        None => Field::plain(""),
    });
    let mut columns = vec![ratio, standing];
    let sure = |other: &Comparison| other.ratio.is_some_and(|ratio| ratio.interval.is_some());
    if group.comparisons.iter().any(sure) {
        columns.insert(1, interval);
    }
    columns.extend(own_intervals(group, rows));
    let baseline = group.baseline.as_deref().unwrap_or("the baseline");
    Section { title: format!("compared with {baseline}"), columns }
}

/// The ratio to the baseline, such as `2.92 ×`, or the word `baseline`.
pub fn vs(group: &Group, case: &CaseSummary) -> Field {
    let of = group.comparisons.iter().find(|other| other.runtime == case.runtime);
    match of.and_then(|other| other.ratio) {
        _ if group.baseline.as_ref() == Some(&case.runtime) => Field::plain("baseline"),
        Some(ratio) => Field::plain(words::ratio(ratio.value)),
        None => none(),
    }
}

/// The interval of the ratio to the baseline.
pub fn vs_interval(group: &Group, case: &CaseSummary) -> Field {
    let of = group.comparisons.iter().find(|other| other.runtime == case.runtime);
    match of.and_then(|other| other.ratio).and_then(|ratio| ratio.interval) {
        Some((low, high)) => Field::plain(interval(low, high)),
        None => Field::plain(""),
    }
}

/// `1.18 – 1.31`.
pub fn interval(low: f64, high: f64) -> String {
    format!("{} – {}", words::significant(low), words::significant(high))
}

fn column(title: &str, rows: &[&CaseSummary], field: impl Fn(&CaseSummary) -> Field) -> Column {
    let fields = rows.iter().map(|case| field(case)).collect();
    Column { title: title.to_owned(), fields }
}

/// A figure as the table prints it.
pub fn figure(figure: Figure, words: impl Fn(f64) -> String) -> Field {
    match figure {
        Figure::Exact(estimate) => Field::plain(words(estimate.value)),
        Figure::AtLeast(estimate) => {
            let text = format!("≥ {}", words(estimate.value));
            Field { text, tone: Tone::Plain, sign: Some(Sign::AtLeast) }
        }
        Figure::Failed => {
            Field { text: "failed".to_owned(), tone: Tone::Bad, sign: Some(Sign::Failed) }
        }
        Figure::TooFew | Figure::None => none(),
    }
}

fn none() -> Field {
    Field { text: "—".to_owned(), tone: Tone::Faint, sign: Some(Sign::Nothing) }
}
