//! The first sentence: who is ahead, by how much, and how sure that is.

use stampede_stats::compare::Difference;

use super::model::{CellSummary, CellVerdict, Comparison, Figure, Group, Primary};
use super::words;

/// One sentence about a group whose cells are sorted, the best first.
pub fn of(group: &Group, cells: &[CellSummary]) -> String {
    let measured: Vec<&CellSummary> = cells.iter().filter(|cell| cell.trials_counted > 0).collect();
    let (Some(best), Some(_)) = (measured.first(), &group.baseline) else {
        let is_tried = cells.iter().any(|cell| !cell.trials.is_empty());
        return without_a_best(&measured, is_tried);
    };
    let figure = figure(group.primary, best);
    if measured.len() == 1 {
        let only = format!("only {} was measured", best.runtime);
        return format!("{only}: {} {figure}; nothing to compare it with.", noun(group.primary));
    }
    let rounds = group.comparisons.iter().filter_map(|other| other.ratio).map(|ratio| ratio.trials);
    let head = head(group, best, &figure);
    let others = others(group, &measured);
    format!("{head}; {others}{}.", how_sure(group, rounds.max().unwrap_or(0)))
}

fn without_a_best(measured: &[&CellSummary], is_tried: bool) -> String {
    match measured {
        [] if is_tried => "no trial counts: see below why.".to_owned(),
        [] => "nothing was measured: see below why.".to_owned(),
        cells if cells.iter().all(|cell| cell.counts.ok == 0) => {
            "no runtime gave a correct answer: see below what they gave.".to_owned()
        }
        cells => {
            let share = cells[0].figures.ok_share.value().unwrap_or(0.0);
            let best = format!("{} has {}", cells[0].runtime, words::share(share));
            format!("too many shots failed to compare times; most correct answers: {best}.")
        }
    }
}

/// `a is ahead`, or whom it cannot be told apart from.
fn head(group: &Group, best: &CellSummary, figure: &str) -> String {
    let best_is = format!("{} {figure}", noun(group.primary));
    let with = |wanted: Difference| -> Vec<String> {
        let close = group.comparisons.iter().filter(|other| other.judged == Some(wanted));
        close.map(|other| other.runtime.clone()).collect()
    };
    let same = with(Difference::Same);
    let close = with(Difference::NotToldApart);
    let level: Vec<String> = group
        .comparisons
        .iter()
        .filter(|other| other.judged == Some(Difference::Hint) && is_level(other))
        .map(|other| other.runtime.clone())
        .collect();
    let name = &best.runtime;
    if !same.is_empty() {
        format!("{name} and {} are the same within 3 %: {best_is}", words::list(&same))
    } else if !close.is_empty() {
        format!("{name} is not told apart from {}: {best_is}", words::list(&close))
    } else if !level.is_empty() {
        format!("{name} and {} are within 3 %: {best_is}", words::list(&level))
    } else if !with(Difference::Larger).is_empty() || !with(Difference::Smaller).is_empty() {
        format!("{name} is faster: {best_is}")
    } else {
        format!("{name} is ahead: {best_is}")
    }
}

fn is_level(other: &Comparison) -> bool {
    let margin = stampede_stats::compare::MARGIN;
    other.ratio.is_some_and(|ratio| (1.0 / margin..=margin).contains(&ratio.value))
}

/// The nearest few others, each with its ratio.
fn others(group: &Group, measured: &[&CellSummary]) -> String {
    let verb = match group.primary {
        Primary::Throughput => "reaches",
        _ => "takes",
    };
    let mut first = true;
    let mut parts: Vec<String> = Vec::new();
    for other in group.comparisons.iter().take(MOST_OTHERS) {
        let Some(ratio) = other.ratio else {
            let why = other.why_not.as_deref().unwrap_or("no round has both");
            parts.push(format!("{} is not compared, because {why}", other.runtime));
            continue;
        };
        let verb = if std::mem::take(&mut first) { format!("{verb} ") } else { String::new() };
        let interval = interval(ratio.interval);
        let times = words::ratio(ratio.value);
        let of_what = of_what(group.primary, &verb);
        let cell = measured.iter().find(|cell| cell.runtime == other.runtime);
        let doubt = cell.map_or("", |cell| doubt(cell));
        parts.push(format!("{} {verb}{times}{of_what}{interval}{doubt}", other.runtime));
    }
    let more = measured.len().saturating_sub(1 + MOST_OTHERS);
    if more > 0 {
        parts.push(format!("{more} more below"));
    }
    parts.join(", ")
}

fn of_what(primary: Primary, verb: &str) -> &'static str {
    match (primary, verb.is_empty()) {
        (_, true) => "",
        (Primary::Throughput, false) => " of that",
        (_, false) => " as long",
    }
}

fn interval(interval: Option<(f64, f64)>) -> String {
    interval.map_or(String::new(), |(low, high)| {
        format!(" ({} to {})", words::significant(low), words::significant(high))
    })
}

fn how_sure(group: &Group, rounds: u32) -> String {
    let doubtful = group.comparisons.iter().any(|other| other.judged.is_some());
    match rounds {
        _ if !doubtful => String::new(),
        1 => "; one trial each: no interval, treat as a hint".to_owned(),
        2 => "; two trials each: no interval, treat as a hint".to_owned(),
        rounds => format!("; 95 % intervals over {rounds} rounds"),
    }
}

/// The figure of a cell, with what is to be known of the number.
fn figure(primary: Primary, cell: &CellSummary) -> String {
    let words = |value: f64| match primary {
        Primary::Throughput => format!("{} /s", words::rate(value)),
        _ => words::time(value),
    };
    let text = match primary.figure(&cell.figures) {
        Figure::Exact(estimate) => words(estimate.value),
        Figure::AtLeast(estimate) => format!("at least {}", words(estimate.value)),
        Figure::Failed | Figure::TooFew | Figure::None => "unknown".to_owned(),
    };
    text + doubt(cell)
}

/// Why the figure is to be read with care, in short.
fn doubt(cell: &CellSummary) -> &'static str {
    match cell.verdict {
        _ if !cell.not_comparable.is_empty() => " (not comparable)",
        CellVerdict::Suspect => " (suspect)",
        _ if cell.trials_invalid == 1 => " (a trial of it was invalid)",
        _ if cell.trials_invalid > 1 => " (trials of it were invalid)",
        _ => "",
    }
}

/// The primary figure in words.
pub fn noun(primary: Primary) -> &'static str {
    match primary {
        Primary::ResponseTimeP95 => "p95 of response time",
        Primary::ResponseTimeP50 => "median of response time",
        Primary::ResponseTimeMean => "mean response time",
        Primary::Throughput => "throughput",
    }
}

/// Others that the sentence names; the table has all.
const MOST_OTHERS: usize = 3;
