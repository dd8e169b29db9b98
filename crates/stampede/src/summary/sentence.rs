//! The first sentence: who is ahead, by how much, and how sure that is.

use stampede_stats::compare::Difference;

use super::model::{CaseSummary, CaseVerdict, Comparison, Figure, Group, Primary};
use super::words;

/// One sentence about a group whose cases are sorted, the best first.
pub fn of(group: &Group, cases: &[CaseSummary]) -> String {
    let measured: Vec<&CaseSummary> = cases.iter().filter(|case| case.trials_counted > 0).collect();
    let (Some(best), Some(_)) = (measured.first(), &group.baseline) else {
        let is_tried = cases.iter().any(|case| !case.trials.is_empty());
        return without_a_best(&measured, is_tried);
    };
    let figure = figure(group.primary, best);
    if measured.len() == 1 {
        let (noun, sure) = (noun(group.primary), by_itself(group.primary, best));
        let only = format!("only {} was measured", best.runtime);
        return format!("{only}: {noun} {figure}{sure}; nothing to compare it with.");
    }
    let Head { text, verdict } = head(group, best, &figure);
    let others = others(group, &measured, verdict);
    format!("{text}; {others}{}.", how_sure(group))
}

fn without_a_best(measured: &[&CaseSummary], is_tried: bool) -> String {
    match measured {
        [] if is_tried => "no trial counts: see below why.".to_owned(),
        [] => "nothing was measured: see below why.".to_owned(),
        cases if cases.iter().all(|case| case.counts.ok == 0) => {
            "no runtime gave a correct answer: see below what they gave.".to_owned()
        }
        cases => {
            let share = cases[0].figures.ok_share.value().unwrap_or(0.0);
            let best = format!("{} has {}", cases[0].runtime, words::share(share));
            format!("too many requests failed to compare times; most correct answers: {best}.")
        }
    }
}

/// How sure the figure of a case is that is held against nothing.
fn by_itself(primary: Primary, case: &CaseSummary) -> String {
    let trials = case.trials_counted;
    match own_interval(primary, case) {
        Some((low, high)) => format!(" ({low} to {high} over {trials} rounds)"),
        None if trials < FEWEST => format!("; {}: no interval", words::number_of(trials, "trial")),
        // It failed, or is a bound: the figure itself says so.
        None => String::new(),
    }
}

/// How the sentence begins.
struct Head {
    text: String,
    /// What it says of the others that it is about; of the rest each has its own said.
    verdict: Difference,
}

/// `a is ahead`, or whom it cannot be told apart from.
fn head(group: &Group, best: &CaseSummary, figure: &str) -> Head {
    let best_is = format!("{} {figure}", noun(group.primary));
    let with = |wanted: Difference| -> Vec<String> {
        let is_it = |other: &&Comparison| other.ratio.is_some() && other.judged == Some(wanted);
        group.comparisons.iter().filter(is_it).map(|other| other.runtime.clone()).collect()
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
    let slower = slower(group.primary);
    let (says, verdict) = if !same.is_empty() {
        (format!("{name} and {} are the same within 3 %", words::list(&same)), Difference::Same)
    } else if !close.is_empty() {
        let close = words::list(&close);
        (format!("{name} is not told apart from {close}"), Difference::NotToldApart)
    } else if !level.is_empty() {
        (format!("{name} and {} are within 3 %", words::list(&level)), Difference::Hint)
    } else if !with(slower).is_empty() {
        (format!("{name} is faster"), slower)
    } else {
        (format!("{name} is ahead"), Difference::Hint)
    };
    Head { text: format!("{says}: {best_is}"), verdict }
}

/// What a ratio to the best is where the other is slower.
fn slower(primary: Primary) -> Difference {
    match primary {
        Primary::Throughput => Difference::Smaller,
        _ => Difference::Larger,
    }
}

fn is_level(other: &Comparison) -> bool {
    let margin = stampede_stats::compare::MARGIN;
    other.ratio.is_some_and(|ratio| (1.0 / margin..=margin).contains(&ratio.value))
}

/// The nearest few others, each with its ratio, and with what it says where that is not what the
/// sentence begins with: `b takes 1.04 × as long (0.98 to 1.10, not told apart)`.
fn others(group: &Group, measured: &[&CaseSummary], said: Difference) -> String {
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
        let sure = in_brackets(group, other, said);
        let times = words::ratio(ratio.value);
        let of_what = of_what(group.primary, &verb);
        let case = measured.iter().find(|case| case.runtime == other.runtime);
        let doubt = case.map_or("", |case| doubt(case));
        parts.push(format!("{} {verb}{times}{of_what}{sure}{doubt}", other.runtime));
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

/// The interval of a ratio, and its verdict where nothing else in the sentence has it.
fn in_brackets(group: &Group, other: &Comparison, said: Difference) -> String {
    let interval = other.ratio.and_then(|ratio| ratio.interval);
    let interval = interval
        .map(|(low, high)| format!("{} to {}", words::significant(low), words::significant(high)));
    let verdict = match (other.judged, other.ratio) {
        (Some(Difference::Hint), _) if are_hints(group) => None,
        (Some(Difference::Hint), Some(ratio)) => {
            Some(format!("{} in common: a hint only", words::number_of(ratio.trials, "round")))
        }
        (judged, _) if judged == Some(said) => None,
        _ => Some(other.verdict(group.primary).to_owned()),
    };
    let parts: Vec<String> = interval.into_iter().chain(verdict).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Whether no pair has the rounds for more than a hint.
fn are_hints(group: &Group) -> bool {
    let mut judged = group.comparisons.iter().filter(|other| other.ratio.is_some());
    judged.all(|other| other.judged == Some(Difference::Hint))
}

/// Of all pairs; what has fewer rounds than an interval asks for says so beside its ratio.
fn how_sure(group: &Group) -> String {
    let ratios = || group.comparisons.iter().filter_map(|other| other.ratio);
    let sure = || ratios().filter(|ratio| ratio.interval.is_some()).map(|ratio| ratio.trials);
    match (sure().min(), sure().max(), ratios().map(|ratio| ratio.trials).max()) {
        (Some(least), Some(most), _) if least == most => {
            format!("; 95 % intervals over {most} rounds")
        }
        (Some(least), Some(most), _) => format!("; 95 % intervals over {least} to {most} rounds"),
        (_, _, Some(most)) if most < FEWEST => {
            let trials = words::number_of(most, "trial");
            format!("; {trials} each: no interval, treat as a hint")
        }
        _ => String::new(),
    }
}

/// The figure of a case, with what is to be known of the number.
fn figure(primary: Primary, case: &CaseSummary) -> String {
    let words = |value: f64| match primary {
        Primary::Throughput => format!("{} /s", words::rate(value)),
        _ => words::time(value),
    };
    let text = match primary.figure(&case.figures) {
        Figure::Exact(estimate) => words(estimate.value),
        Figure::AtLeast(estimate) => format!("at least {}", words(estimate.value)),
        Figure::Failed | Figure::TooFew | Figure::None => "unknown".to_owned(),
    };
    text + doubt(case)
}

/// Why the figure is to be read with care, in short.
fn doubt(case: &CaseSummary) -> &'static str {
    match case.verdict {
        _ if !case.not_comparable.is_empty() => " (not comparable)",
        CaseVerdict::Suspect => " (suspect)",
        _ if case.trials_invalid == 1 => " (a trial of it was invalid)",
        _ if case.trials_invalid > 1 => " (trials of it were invalid)",
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

/// The interval of the figure that cases are sorted by; a unit that both ends have is said once:
/// `3.41` and `3.78 ms`, `981 µs` and `1.02 ms`.
pub fn own_interval(primary: Primary, case: &CaseSummary) -> Option<(String, String)> {
    let (low, high) = primary.figure(&case.figures).interval()?;
    if primary == Primary::Throughput {
        return Some((words::rate(low), words::rate(high)));
    }
    let (low, high) = (words::time(low), words::time(high));
    // With the space before it: `981 ms` does not end in ` s`.
    let unit = high.rfind(' ').map_or("", |space| &high[space..]);
    let low = low.strip_suffix(unit).unwrap_or(&low).to_owned();
    Some((low, high))
}

/// Fewer rounds than this have no interval, as `stampede_stats` has it.
const FEWEST: u32 = 3;
/// Others that the sentence names; the table has all.
const MOST_OTHERS: usize = 3;
