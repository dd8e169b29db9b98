//! Renders short tables for a pull request: one for each app and load.

use stampede_model::primary::short;
use stampede_model::words;

use super::columns::{broken, figure, interval, rows, shown_time};
use super::notes::{self, mark};
use super::text::title;
use crate::summary::Summary;
use crate::summary::headline::own_interval;
use crate::summary::model::{CaseSummary, Group, LoadModel, Stat};

/// Renders a run as GitHub's Markdown.
pub fn markdown(summary: &Summary) -> String {
    let mut out = String::new();
    for group in &summary.groups {
        let cases: Vec<&CaseSummary> = summary.cases_of(group).collect();
        let shown = rows(&cases);
        out += &format!("### {}\n\n{}\n\n", escape(&title(group, &cases)), escape(&group.sentence));
        if !shown.is_empty() {
            table(group, &shown, &mut out);
            starred(&shown, &mut out);
        }
        let notes: Vec<String> = notes::of(group, &cases)
            .into_iter()
            .map(|note| format!("- {}\n", escape(&note.text)))
            .collect();
        if !notes.is_empty() {
            out += &notes.concat();
            out.push('\n');
        }
    }
    out += &summary.published.as_ref().map(stampede_published::markdown).unwrap_or_default();
    for notice in &summary.notices {
        out += &format!("- {}\n", escape(&notice.to_string()));
    }
    if !summary.notices.is_empty() {
        out.push('\n');
    }
    out += &format!("<sub>{}</sub>\n", escape(&super::heading(summary)));
    out
}

fn table(group: &Group, cases: &[&CaseSummary], out: &mut String) {
    let time = match group.model {
        LoadModel::Open => "response time",
        LoadModel::Closed => "service time",
    };
    let heads = [
        "runtime".to_owned(),
        format!("{time} p50"),
        "p95".to_owned(),
        "p99".to_owned(),
        "max".to_owned(),
        "ok %".to_owned(),
        "throughput /s".to_owned(),
        "CPU %".to_owned(),
        "CPU/request".to_owned(),
        "memory max".to_owned(),
        match (&group.baseline, group.comparisons.is_empty()) {
            (Some(baseline), false) => format!("vs {}", escape(baseline)),
            _ => format!("95 % interval of {}", short(group.primary)),
        },
    ];
    out.push_str(&row(&heads));
    out.push_str("|:--|");
    out.push_str(&"--:|".repeat(heads.len() - 2));
    out.push_str(":--|\n");
    for case in cases {
        out.push_str(&row(&fields(group, case)));
    }
    out.push('\n');
}

/// A table of the times before the breaking point, for the cases that have one.
fn starred(cases: &[&CaseSummary], out: &mut String) {
    let rows: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let broken = broken(case)?;
            let time = |stat| figure(broken.response_time_ns.get(stat), words::time).text;
            Some(row(&[
                escape(&format!("* {}", case.runtime)),
                figure(broken.offered_per_second, words::rate).text,
                time(Stat::Mean),
                time(Stat::Percentile(500)),
                time(Stat::Percentile(950)),
                time(Stat::Percentile(990)),
                time(Stat::Max),
            ]))
        })
        .collect();
    if !rows.is_empty() {
        let heads = ["up to the breaking point", "up to /s", "mean", "p50", "p95", "p99", "max"];
        out.push_str(&row(&heads.map(str::to_owned)));
        out.push_str("|:--|--:|--:|--:|--:|--:|--:|\n");
        out.push_str(&rows.concat());
        out.push('\n');
    }
}

fn fields(group: &Group, case: &CaseSummary) -> [String; 11] {
    let figures = &case.figures;
    let time = |stat| shown_time(group.model, case, stat).text;
    [
        escape(&format!("{}{}", case.runtime, mark(case))),
        time(Stat::Percentile(500)),
        time(Stat::Percentile(950)),
        time(Stat::Percentile(990)),
        time(Stat::Max),
        figure(figures.ok_share, |share| words::share(share).replace(" %", "")).text,
        figure(figures.throughput_per_second, words::rate).text,
        figure(figures.cpu_percent_median, words::significant).text,
        figure(figures.cpu_cost_us, |us| words::time(us * 1e3)).text,
        figure(figures.memory_bytes_max, words::bytes).text,
        against(group, case),
    ]
}

/// The interval of a row's own figure, for a row that is not compared with another.
fn alone(group: &Group, case: &CaseSummary) -> String {
    match (own_interval(group.primary, case), case.trials_counted) {
        (Some((low, high)), _) => format!("{low} – {high}"),
        (None, trials @ 1..=2) => format!("{}: no interval", words::number_of(trials, "trial")),
        (None, _) => "—".to_owned(),
    }
}

fn against(group: &Group, case: &CaseSummary) -> String {
    if group.comparisons.is_empty() {
        return alone(group, case);
    }
    if group.baseline.as_ref() == Some(&case.runtime) {
        return "**baseline**".to_owned();
    }
    let Some(other) = group.comparisons.iter().find(|other| other.runtime == case.runtime) else {
        return "—".to_owned();
    };
    let verdict = other.standing(group.primary).words();
    match other.ratio {
        None => verdict.to_owned(),
        Some(ratio) => {
            let times = words::ratio(ratio.value);
            let sure = ratio.interval.map(|(low, high)| format!(" ({})", interval(low, high)));
            format!("{times}{}, {verdict}", sure.unwrap_or_default())
        }
    }
}

pub(super) fn row(fields: &[String]) -> String {
    // A number and its unit must stay on one line in a narrow column.
    let fields: Vec<String> = fields.iter().map(|field| field.replace(' ', "\u{a0}")).collect();
    format!("| {} |\n", fields.join(" | "))
}

/// Escapes text so that Markdown shows it unchanged, on one line, without control characters.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Between backticks nothing needs a backslash, and a backslash would be visible. Only a pair of
    // backticks begins and ends code.
    let (mut in_code, mut ticks) = (false, text.matches('`').count());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => out.push(' '),
            control if control.is_control() => {}
            '`' if in_code || ticks > 1 => {
                in_code = !in_code;
                ticks -= 1;
                out.push(letter);
            }
            // A `|` ends a cell of a table even in code. Some readers may not see code where we do,
            // so `<` is escaped everywhere.
            other if in_code && !"|<".contains(other) => out.push(other),
            '<' => out.push_str("&lt;"),
            '|' | '\\' | '*' | '_' | '[' | ']' | '#' => out.extend(['\\', letter]),
            letter => out.push(letter),
        }
    }
    out
}
