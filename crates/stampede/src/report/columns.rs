//! The columns of a group's table.

use super::layout::{Column, Field, Section, Sign, Tone};
use super::notes::mark;
use crate::summary::breaking::Breaking;
use crate::summary::model::{
    CellSummary, CellVerdict, Comparison, Figure, Group, LoadModel, Primary, Stat, TimeFigures,
};
use crate::summary::headline::{noun, own_interval};
use crate::summary::{steady, words};

/// Cells that have a row of figures: all but those that were refused or are missing, and
/// those whose trials were all invalid. They are listed below the table.
pub fn rows<'a>(cells: &[&'a CellSummary]) -> Vec<&'a CellSummary> {
    cells.iter().copied().filter(|cell| cell.trials_counted > 0).collect()
}

/// The names, with their marks.
pub fn names(rows: &[&CellSummary]) -> Column {
    let fields = rows.iter().map(|cell| Field {
        text: format!("{}{}", cell.runtime, mark(cell)),
        tone: match cell.verdict {
            _ if cell.trials_invalid > 0 => Tone::Bad,
            CellVerdict::Valid if cell.not_comparable.is_empty() => Tone::Plain,
            _ => Tone::Warning,
        },
        sign: None,
    });
    Column { title: "runtime".to_owned(), fields: fields.collect() }
}

/// All sections of a group, in reading order.
pub fn sections(group: &Group, rows: &[&CellSummary]) -> Vec<Section> {
    let mut sections = vec![main_times(group, rows)];
    if group.model == LoadModel::Closed {
        // What the cells are sorted by comes first.
        sections.insert(0, rates(group, rows));
    }
    if group.comparisons.is_empty() {
        sections.splice(1..1, alone(group, rows));
    } else {
        sections.insert(1, against(group, rows));
    }
    sections.extend(up_to_breaking(rows));
    sections.push(shots(rows));
    if group.model == LoadModel::Open {
        sections.push(rates(group, rows));
    }
    sections.extend(spent(rows));
    if rows.iter().any(|cell| cell.counts.ok < cell.counts.planned) {
        sections.push(ok_alone(group, rows));
    }
    if group.model == LoadModel::Open {
        let title = "service time";
        sections.push(times(title, rows, &FEW, |cell| &cell.figures.service_time_ns));
    }
    sections.push(beside(group, rows));
    sections.extend(by_role(rows));
    sections
}

fn main_times(group: &Group, rows: &[&CellSummary]) -> Section {
    let mut section = match group.model {
        LoadModel::Open => {
            times("response time", rows, &Stat::ALL, |cell| &cell.figures.response_time_ns)
        }
        LoadModel::Closed => {
            times("service time", rows, &Stat::ALL, |cell| &cell.figures.service_time_ns)
        }
    };
    let primary = match group.primary {
        Primary::ResponseTimeP95 => Stat::Percentile(950),
        Primary::ResponseTimeP50 => Stat::Percentile(500),
        Primary::ResponseTimeMean => Stat::Mean,
        Primary::Throughput => return section,
    };
    for (column, stat) in section.columns.iter_mut().zip(Stat::ALL) {
        if stat == primary {
            strengthen(column);
        }
    }
    section
}

/// The column that the rows are sorted by.
fn strengthen(column: &mut Column) {
    for field in column.fields.iter_mut().filter(|field| field.tone == Tone::Plain) {
        field.tone = Tone::Strong;
    }
}

/// Percentiles of times that stand beside the headline.
const FEW: [Stat; 5] =
    [Stat::Mean, Stat::Percentile(500), Stat::Percentile(950), Stat::Percentile(990), Stat::Max];

fn ok_alone(group: &Group, rows: &[&CellSummary]) -> Section {
    match group.model {
        LoadModel::Open => times("response time, ok alone", rows, &Stat::ALL, |cell| {
            &cell.figures.response_time_ns_ok
        }),
        LoadModel::Closed => times("service time, ok alone", rows, &Stat::ALL, |cell| {
            &cell.figures.service_time_ns_ok
        }),
    }
}

fn times(
    title: &str,
    rows: &[&CellSummary],
    stats: &[Stat],
    of: fn(&CellSummary) -> &TimeFigures,
) -> Section {
    let columns = stats.iter().map(|stat| {
        column(&stat.to_string(), rows, |cell| figure(of(cell).get(*stat), words::time))
    });
    Section { title: title.to_owned(), columns: columns.collect() }
}

/// Times up to where a rising load broke a cell; those that held have them above.
fn up_to_breaking(rows: &[&CellSummary]) -> Option<Section> {
    rows.iter().copied().find_map(broken)?;
    let rate = |cell: &CellSummary| match (broken(cell), &cell.breaking) {
        (Some(broken), _) => figure(broken.offered_per_second, words::rate),
        (None, Some(_)) => Field::plain("held"),
        (None, None) => none(),
    };
    let mut columns = vec![column("* up to /s", rows, rate)];
    columns.extend(FEW.iter().map(|stat| {
        column(&stat.to_string(), rows, |cell| {
            broken(cell).map_or_else(Field::default, |broken| {
                figure(broken.response_time_ns.get(*stat), words::time)
            })
        })
    }));
    Some(Section { title: "* up to the breaking point".to_owned(), columns })
}

/// Where a rising load broke the cell.
pub fn broken(cell: &CellSummary) -> Option<&Breaking> {
    cell.breaking.as_ref().filter(|breaking| breaking.trials_broken > 0)
}

fn shots(rows: &[&CellSummary]) -> Section {
    let columns = vec![
        column("ok %", rows, |cell| Field {
            tone: if cell.counts.ok < cell.counts.planned { Tone::Warning } else { Tone::Plain },
            ..figure(cell.figures.ok_share, |share| words::share(share).replace(" %", ""))
        }),
        column("ok", rows, |cell| Field::plain(words::count(cell.counts.ok))),
        column("failed", rows, |cell| wrong(cell.counts.failed_total())),
        column("dropped", rows, |cell| wrong(cell.counts.dropped)),
        column("in flight", rows, |cell| {
            Field::plain(words::count(cell.counts.in_flight_max.into()))
        }),
        column("planned", rows, |cell| Field::plain(words::count(cell.counts.planned))),
        column("trials", rows, |cell| Field::plain(words::count(cell.trials_counted.into()))),
    ];
    Section { title: "shots".to_owned(), columns }
}

fn wrong(count: u64) -> Field {
    let tone = if count > 0 { Tone::Bad } else { Tone::Plain };
    Field { tone, ..Field::plain(words::count(count)) }
}

fn rates(group: &Group, rows: &[&CellSummary]) -> Section {
    let mut columns = Vec::new();
    if group.model == LoadModel::Open {
        columns.push(column("offered /s", rows, |cell| {
            figure(cell.figures.offered_per_second, words::rate)
        }));
    }
    let mut throughput = column("throughput /s", rows, |cell| {
        figure(cell.figures.throughput_per_second, words::rate)
    });
    if group.primary == Primary::Throughput {
        strengthen(&mut throughput);
    }
    columns.push(throughput);
    columns.push(column("bytes /s", rows, |cell| {
        figure(cell.figures.received_bytes_per_second, words::bytes)
    }));
    Section { title: "rates".to_owned(), columns }
}

fn spent(rows: &[&CellSummary]) -> [Section; 2] {
    let cpu = |cell: &CellSummary, of: Figure| Field {
        tone: if cell.budget_unequal { Tone::Warning } else { Tone::Plain },
        ..figure(of, words::significant)
    };
    let cpu = vec![
        column("median", rows, |cell| cpu(cell, cell.figures.cpu_percent_median)),
        column("max", rows, |cell| cpu(cell, cell.figures.cpu_percent_max)),
        column("CPU cost", rows, |cell| {
            figure(cell.figures.cpu_cost_us, |us| words::time(us * 1e3))
        }),
    ];
    let memory = vec![
        column("median", rows, |cell| figure(cell.figures.memory_bytes_median, words::bytes)),
        column("max", rows, |cell| figure(cell.figures.memory_bytes_max, words::bytes)),
    ];
    [
        Section { title: "CPU % of the budget".to_owned(), columns: cpu },
        Section { title: "memory".to_owned(), columns: memory },
    ]
}

fn beside(group: &Group, rows: &[&CellSummary]) -> Section {
    let mut columns = Vec::new();
    if group.model == LoadModel::Open {
        columns.push(column("connection wait p99", rows, |cell| {
            figure(cell.figures.connection_wait_ns_p99, words::time)
        }));
        columns.push(column("lateness p99", rows, |cell| {
            figure(cell.figures.lateness_ns_p99, words::time)
        }));
    }
    columns.push(column("first answer", rows, |cell| {
        figure(cell.figures.first_answer_ns, words::time)
    }));
    columns.push(column("first request", rows, |cell| {
        figure(cell.figures.first_request_ns, words::time)
    }));
    if rows.iter().any(|cell| matches!(steady::word(cell), Some("yes" | "no"))) {
        columns.push(column("steady", rows, |cell| match steady::word(cell) {
            Some("no") => Field { tone: Tone::Warning, ..Field::plain("no") },
            word => word.map_or_else(none, Field::plain),
        }));
    }
    columns.push(column("restarts", rows, |cell| watched(cell, wrong(cell.counts.restarts))));
    columns.push(column("context switches", rows, |cell| {
        watched(cell, Field::plain(words::count(cell.counts.context_switches)))
    }));
    Section { title: "details".to_owned(), columns }
}

/// A counter of the monitor: zero readings are no zero.
fn watched(cell: &CellSummary, field: Field) -> Field {
    if cell.figures.cpu_percent_median == Figure::None { none() } else { field }
}

/// One section a role, where a stack has more than one.
fn by_role(rows: &[&CellSummary]) -> Vec<Section> {
    let mut roles: Vec<&String> = rows.iter().flat_map(|cell| cell.figures.roles.keys()).collect();
    roles.sort();
    roles.dedup();
    if roles.len() < 2 {
        return Vec::new();
    }
    let of_role = |role: &String| {
        let of = |cell: &CellSummary| cell.figures.roles.get(role).cloned().unwrap_or_default();
        let columns = vec![
            column("CPU %", rows, |cell| figure(of(cell).cpu_percent_median, words::significant)),
            column("memory", rows, |cell| figure(of(cell).memory_bytes_median, words::bytes)),
            column("CPU cost", rows, |cell| {
                figure(of(cell).cpu_cost_us, |us| words::time(us * 1e3))
            }),
        ];
        Section { title: format!("role {role}"), columns }
    };
    roles.into_iter().map(of_role).collect()
}

/// Where nothing is compared, how sure each figure is by itself; `None`: no row has an interval.
fn alone(group: &Group, rows: &[&CellSummary]) -> Option<Section> {
    let own = own_intervals(group, rows)?;
    Some(Section { title: noun(group.primary).to_owned(), columns: vec![own] })
}

fn own_intervals(group: &Group, rows: &[&CellSummary]) -> Option<Column> {
    let own = |cell: &CellSummary| own_interval(group.primary, cell);
    rows.iter().find_map(|cell| own(cell))?;
    Some(column("own 95 %", rows, |cell| {
        own(cell).map_or_else(none, |(low, high)| Field::plain(format!("{low} – {high}")))
    }))
}

fn against(group: &Group, rows: &[&CellSummary]) -> Section {
    let of =
        |cell: &CellSummary| group.comparisons.iter().find(|other| other.runtime == cell.runtime);
    let ratio = column("ratio", rows, |cell| vs(group, cell));
    let interval = column("95 % interval", rows, |cell| vs_interval(group, cell));
    let standing = column("it is", rows, |cell| match of(cell) {
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

/// `2.92 ×` of the baseline, or that it is the baseline.
pub fn vs(group: &Group, cell: &CellSummary) -> Field {
    let of = group.comparisons.iter().find(|other| other.runtime == cell.runtime);
    match of.and_then(|other| other.ratio) {
        _ if group.baseline.as_ref() == Some(&cell.runtime) => Field::plain("baseline"),
        Some(ratio) => Field::plain(words::ratio(ratio.value)),
        None => none(),
    }
}

/// The interval of that ratio.
pub fn vs_interval(group: &Group, cell: &CellSummary) -> Field {
    let of = group.comparisons.iter().find(|other| other.runtime == cell.runtime);
    match of.and_then(|other| other.ratio).and_then(|ratio| ratio.interval) {
        Some((low, high)) => Field::plain(interval(low, high)),
        None => Field::plain(""),
    }
}

/// `1.18 – 1.31`.
pub fn interval(low: f64, high: f64) -> String {
    format!("{} – {}", words::significant(low), words::significant(high))
}

fn column(title: &str, rows: &[&CellSummary], field: impl Fn(&CellSummary) -> Field) -> Column {
    let fields = rows.iter().map(|cell| field(cell)).collect();
    Column { title: title.to_owned(), fields }
}

/// A figure as it is printed.
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
