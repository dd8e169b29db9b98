//! Formats a search as text: each runtime's limit, and a table of its trials by rate.

use stampede_model::words;
use stampede_model::words::target_rate;

use stampede_results::capacity::{
    CapacityReport, Ending, Limit, Point, Purpose, TrialOutcome, held_back,
};
use stampede_results::report::evidence;
use stampede_results::summary::agents::AgentFigures;

/// Returns the text for the terminal.
pub fn text(report: &CapacityReport) -> String {
    let memory = match report.budget_memory_bytes {
        0 => String::new(),
        bytes => format!(", {}", words::bytes(bytes as f64)),
    };
    let cpus = report.budget_cpus.spelled();
    let mut text = format!("{} · {}{memory} · {}\n", report.app, cpus, report.expect.join(", "));
    for limit in &report.runtimes {
        text.push_str(&format!("\n{}", of_runtime(limit)));
    }
    if report.interrupted {
        text.push_str("\nended early: what was measured so far\n");
    }
    text
}

fn of_runtime(limit: &Limit) -> String {
    let mut text = format!("{}: {}\n", limit.runtime, limit.said);
    let mut also = Vec::new();
    if let (Some(low), Some(high)) = (limit.capacity_per_second, limit.upper_per_second) {
        also.push(format!("95 % interval {} to {}/s", target_rate(low), target_rate(high)));
    }
    if let Some(knee) = limit.knee_per_second {
        also.push(format!(
            "response time rises faster above about {}/s",
            target_rate(knee.round())
        ));
    }
    if let Some(share) = limit.waiting_share {
        also.push(waiting(share));
    }
    if !also.is_empty() {
        text.push_str(&format!("  {}\n", also.join("; ")));
    }
    if let Some(why) = held_back(&limit.points, limit.capacity_per_second) {
        text.push_str(&format!("  limited by: {}\n", why.found));
    }
    let rows: Vec<Row> = rows(limit);
    if rows.is_empty() {
        return text;
    }
    text.push_str(&format!(
        "  {:>10}  {:>6}  {:>9}  {:>9}  {:>6}\n",
        "rate/s", "trials", "p50", "p95", "CPU"
    ));
    let longest = rows.iter().filter_map(|row| row.p95).fold(0.0, f64::max);
    for row in &rows {
        let time = |ns: Option<f64>| ns.map_or("failed".to_owned(), words::time);
        let cpu = row.cpu.map_or("—".to_owned(), |cpu| format!("{cpu:.0} %"));
        let line = format!(
            "  {:>10}  {:>6}  {:>9}  {:>9}  {cpu:>6}  {:<BAR$} {}",
            target_rate(row.rate),
            row.trials,
            time(row.p50),
            time(row.p95),
            bar(row.p95, longest),
            row.outcome
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&late(limit));
    for agent in AgentFigures::add_up(limit.points.iter().flat_map(|point| &point.agents)) {
        text.push_str(&format!("  {}\n", evidence::agent(&agent).join(", ")));
    }
    text
}

/// Returns a sentence on how much of an answer's time is spent without a CPU.
pub fn waiting(share: f64) -> String {
    let percent = words::percent(share * 100.0);
    format!("with one request at a time, {percent} of the time is waiting, not CPU")
}

/// Returns a line about trials in which the generator was late, as on a busy machine; else nothing.
fn late(limit: &Limit) -> String {
    let is_late = |point: &&Point| match point.seen {
        TrialOutcome::Met => !point.why.is_empty(),
        TrialOutcome::Generator => true,
        TrialOutcome::Missed | TrialOutcome::NotMeasured => false,
    };
    match limit.points.iter().filter(is_late).count() {
        0 => String::new(),
        late => format!(
            "  in {late} of {} trials the generator was late (is this machine busy?); of these, only trials that \
             met the expectations count\n",
            limit.points.len()
        ),
    }
}

/// All trials at one rate.
struct Row {
    rate: f64,
    trials: usize,
    p50: Option<f64>,
    p95: Option<f64>,
    cpu: Option<f64>,
    outcome: String,
}

fn rows(limit: &Limit) -> Vec<Row> {
    let mut rates: Vec<f64> = limit.points.iter().filter_map(|p| p.offered_per_second).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let row = |rate: f64| {
        let at: Vec<&Point> =
            limit.points.iter().filter(|point| point.offered_per_second == Some(rate)).collect();
        // A trial without the value counts as the largest, instead of being left out.
        let median = |of: fn(&Point) -> Option<f64>| {
            let mut values: Vec<f64> = at.iter().map(|p| of(p).unwrap_or(f64::INFINITY)).collect();
            values.sort_by(f64::total_cmp);
            Some(values[values.len() / 2]).filter(|value| value.is_finite())
        };
        Row {
            rate,
            trials: at.len(),
            p50: median(|point| point.time_ns_p50),
            p95: median(|point| point.time_ns_p95),
            cpu: median(|point| point.cpu_percent),
            outcome: outcome(limit, rate, &at),
        }
    };
    rates.into_iter().map(row).collect()
}

fn outcome(limit: &Limit, rate: f64, at: &[&Point]) -> String {
    let count = |seen: TrialOutcome| at.iter().filter(|point| point.seen == seen).count();
    let missed = count(TrialOutcome::Missed) + count(TrialOutcome::NotMeasured);
    let mut outcome =
        vec![match (count(TrialOutcome::Met), missed, count(TrialOutcome::Generator)) {
            (_, 0, 0) => "met".to_owned(),
            (0, 0, _) => "the generator's limit".to_owned(),
            (0, _, _) => "not met".to_owned(),
            (met, _, _) => format!("met in {met} of {}", at.len()),
        }];
    let confirmed =
        |purpose| at.iter().any(|p| p.purpose == purpose && p.seen == TrialOutcome::Met);
    if limit.ending == Ending::Found && confirmed(Purpose::Confirm) {
        outcome.push("confirmed".to_owned());
    }
    if limit.capacity_per_second == Some(rate) && limit.ending != Ending::Wide {
        outcome.push("capacity".to_owned());
    }
    outcome.join(", ")
}

/// Returns a bar with the length of the time's logarithm, because times span decades.
fn bar(ns: Option<f64>, longest: f64) -> String {
    let length = match ns {
        Some(ns) if longest > LEAST_NS => {
            (ns.max(LEAST_NS) / LEAST_NS).ln() / (longest / LEAST_NS).ln() * BAR as f64
        }
        Some(_) => 0.0,
        None => BAR as f64,
    };
    "#".repeat((length.round() as usize).clamp(1, BAR))
}

/// Columns of the longest bar.
const BAR: usize = 20;
/// Time at which bars begin: no answer over loopback is faster.
const LEAST_NS: f64 = 50e3;
