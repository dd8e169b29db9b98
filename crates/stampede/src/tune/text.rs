//! Formats a tuning as text: the chosen settings, the lines to copy, the table of points.

use stampede_model::words;
use stampede_model::words::target_rate;
use stampede_results::capacity::held_back;
use stampede_results::tune::{TunePoint, TuneReport};

use crate::capacity::text::waiting;

/// Returns the text for the terminal.
pub fn text(report: &TuneReport) -> String {
    let memory = match report.budget_memory_bytes {
        0 => String::new(),
        bytes => format!(", {}", words::bytes(bytes as f64)),
    };
    let cpus = report.budget_cpus.spelled();
    let objective = match report.rate_per_second {
        None => "the highest capacity".to_owned(),
        Some(at) => format!("the least p95 at {}/s", target_rate(at)),
    };
    let mut text = format!(
        "{} · {} · {cpus}{memory} · {objective} · {}\n\n{}\n",
        report.runtime,
        report.app,
        report.expect.join(", "),
        report.said
    );
    for remark in remarks(report) {
        text.push_str(&format!("  {remark}\n"));
    }
    let mut file = "";
    for line in &report.lines {
        if line.file != file {
            text.push_str(&format!("\n# {}\n", line.file));
            file = &line.file;
        }
        text.push_str(&format!("{}\n", line.text));
    }
    text.push('\n');
    text.push_str(&table(report));
    if report.interrupted {
        text.push_str("\nended early: what was measured so far\n");
    } else if report.out_of_time {
        text.push_str("\nthe time was over before all points were measured (--max-time)\n");
    }
    text
}

fn remarks(report: &TuneReport) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(bytes) = report.memory_bytes_per_worker {
        remarks.push(format!("one more worker takes {}", words::bytes(bytes)));
    }
    if let Some(share) = report.waiting_share {
        remarks.push(waiting(share));
    }
    if let Some(scaling) = &report.scaling {
        remarks.push(format!(
            "as measured, one worker handles {}/s; contention {:.3}, coherency {:.5}",
            target_rate((scaling.one_worker_per_second * 10.0).round() / 10.0),
            scaling.contention,
            scaling.coherency
        ));
    }
    let best = report.points.iter().find(|point| report.best.as_ref() == Some(&point.settings));
    // With a given rate, `low` is a time, not a rate; the trials that missed ran at the given rate.
    let sustained = |best: &TunePoint| best.low.filter(|_| report.rate_per_second.is_none());
    if let Some(why) = best.and_then(|best| held_back(&best.trials, sustained(best))) {
        remarks.push(format!("limited by: {}", why.found));
    }
    remarks
}

fn table(report: &TuneReport) -> String {
    let mut points: Vec<&TunePoint> = report.points.iter().collect();
    points.sort_by_key(|point| {
        let key = |value: &String| (value.parse::<u64>().ok(), value.clone());
        point.settings.values().rev().map(key).collect::<Vec<_>>()
    });
    let names: Vec<String> = points.iter().map(|point| name(point)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(8);
    let words_of = |value: f64| match report.rate_per_second {
        None => target_rate(value.round()),
        Some(_) => words::time(value),
    };
    let head = if report.rate_per_second.is_none() { "capacity/s" } else { "p95" };
    let mut text = format!(
        "  {:<width$}  {head:>19}  {:>9}  {:>6}  {:>7}\n",
        "settings", "memory", "CPU", "waiting"
    );
    for (point, name) in points.into_iter().zip(names) {
        let value = match (point.value, point.low, point.high) {
            (_, Some(low), Some(high)) => format!("{} … {}", words_of(low), words_of(high)),
            (Some(value), ..) if report.rate_per_second.is_none() => {
                format!("{} or more", words_of(value))
            }
            (Some(value), ..) => words_of(value),
            (None, ..) => "failed".to_owned(),
        };
        let memory = point.memory_bytes_max.map_or("—".to_owned(), words::bytes);
        let percent = |value: Option<f64>| value.map_or("—".to_owned(), |v| format!("{v:.0} %"));
        let waiting = percent(point.waiting_share.map(|share| share * 100.0));
        let chosen = if report.best.as_ref() == Some(&point.settings) { "  best" } else { "" };
        let why = point.failed.as_ref().map_or(String::new(), |why| format!("  {why}"));
        text.push_str(&format!(
            "  {name:<width$}  {value:>19}  {memory:>9}  {:>6}  {waiting:>7}{chosen}{why}\n",
            percent(point.cpu_percent)
        ));
    }
    text
}

fn name(point: &TunePoint) -> String {
    let each = point.settings.iter().map(|(name, value)| format!("{name}={value}"));
    each.collect::<Vec<_>>().join(" ")
}
