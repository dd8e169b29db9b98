//! A check in words.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::code::Suspect;
use super::look::{name, person};
use super::model::{CheckReport, Checked, Finding, FindingKind, Growth, GrowthOf, Step, Verdict};
use crate::summary::words;

/// Lines of code that are listed.
const SUSPECTS_MAX: usize = 10;
/// Requests that are listed as skipped; the others are counted.
const SKIPPED_MAX: usize = 8;
/// Beside every count of what was tried.
pub const NO_PROOF: &str = "what was not found is not proven absent";
/// Of a finding that its steps did not show a second time.
pub const NOT_AGAIN: &str = "not seen again on a fresh worker";

/// The report as text: the answer first, then each finding with its evidence. `command` is that which
/// sends a finding again, but for `--finding N`.
pub fn text(report: &CheckReport, command: &str) -> String {
    let mut text = String::new();
    for checked in &report.runtimes {
        let _ = writeln!(text, "{}: {}", checked.runtime, answer(checked));
    }
    let _ = writeln!(text, "\n{}", tried(report));
    for checked in &report.runtimes {
        for finding in &checked.findings {
            let _ = write!(text, "\n{}", one(checked, finding, command));
        }
    }
    for checked in &report.runtimes {
        for growth in checked.growth.iter().filter(|one| !one.grows) {
            let _ = write!(text, "\n{}: {}", checked.runtime, steady(growth));
        }
    }
    text.push_str(&of_code(report));
    if !report.skipped.is_empty() {
        let _ = write!(text, "\n\nnot asked:");
        for skipped in report.skipped.iter().take(SKIPPED_MAX) {
            let _ = write!(text, "\n  {}: {}", skipped.request, skipped.why);
        }
        let more = report.skipped.len().saturating_sub(SKIPPED_MAX);
        if more > 0 {
            let _ = write!(text, "\n  … {more} more");
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// The verdict in words.
pub fn answer(checked: &Checked) -> String {
    let open = checked.findings.iter().filter(|finding| !finding.is_accepted).count();
    let accepted = checked.findings.len() - open;
    let said = match &checked.verdict {
        Verdict::Safe => "nothing unsafe was found".to_owned(),
        Verdict::SafeWith { max_requests } => {
            format!("safe with max_requests = {max_requests}: it grows")
        }
        Verdict::NotSafe => {
            format!("NOT SAFE: {}{}", words::number_of(open as u32, "finding"), lost(checked))
        }
        Verdict::NotChecked => "not checked".to_owned(),
    };
    let known = match accepted {
        0 => String::new(),
        count => format!(" ({count} accepted by the baseline)"),
    };
    let chance = match checked.not_again {
        0 => String::new(),
        count => format!("; {} seen once and not again", words::number_of(count, "difference")),
    };
    let problem = checked.problem.as_ref().map_or(String::new(), |why| format!(": {why}"));
    said + &known + &chance + &problem
}

/// How many workers the tours have cost.
fn lost(checked: &Checked) -> String {
    match checked.workers_lost {
        0 => String::new(),
        lost => {
            let share = lost as f64 * 1000.0 / checked.sent.max(1) as f64;
            format!(
                ", {} lost ({share:.0} per 1 000 requests)",
                words::number_of(lost as u32, "worker")
            )
        }
    }
}

fn tried(report: &CheckReport) -> String {
    let tried = &report.tried;
    let ended = if report.interrupted { "; ended early" } else { "" };
    format!(
        "tried: {} in {} ({}) by {}, {} sent, {} for growth, in {:.0} s, against {}{ended}\n\
         {NO_PROOF}; seed {}",
        words::number_of(tried.requests as u32, "request"),
        words::number_of(tried.tours.len() as u32, "tour"),
        tried.tours.join(", "),
        words::number_of(tried.users, "user"),
        words::count(tried.sent),
        words::count(tried.growth_requests),
        tried.seconds,
        report.reference,
        report.seed,
    )
}

fn one(checked: &Checked, finding: &Finding, command: &str) -> String {
    let mut text = String::new();
    let accepted = if finding.is_accepted { ", accepted" } else { "" };
    let _ = writeln!(
        text,
        "{}. {} on {}{accepted}: {}",
        finding.number,
        title(finding.kind),
        checked.runtime,
        finding.what
    );
    if !finding.evidence.is_empty() {
        let _ = writeln!(text, "{}", finding.evidence);
    }
    let steps: Vec<String> = finding
        .steps
        .iter()
        .map(|step| format!("{} ({})", name(&step.request), person(step.user)))
        .collect();
    let shown = match steps.len() {
        0..=4 => in_order(&steps, &finding.steps),
        many => format!("{many} requests, the last {}", steps[many - 1]),
    };
    let again = match finding.is_repeatable {
        true => format!("{command} --finding {}", finding.number),
        false => NOT_AGAIN.to_owned(),
    };
    let _ = writeln!(text, "  to see it: {shown} ({again})");
    for place in &finding.places {
        let _ = writeln!(text, "  look at {}:{}: {}", place.file, place.line, place.what);
    }
    let _ = writeln!(text, "  why it matters: {}", why(finding.kind));
    let _ = writeln!(text, "  the usual mend: {}", mend(finding.kind));
    text
}

/// Steps one after the other, or at once.
fn in_order(names: &[String], steps: &[Step]) -> String {
    let between = |step: &Step| if step.with_next { ", at once with " } else { ", then " };
    let before = steps.iter().map(between);
    let between = std::iter::once("").chain(before);
    names.iter().zip(between).map(|(name, between)| format!("{between}{name}")).collect()
}

/// A kind's name.
pub fn title(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Leak => "one user sees another's data",
        FindingKind::Death => "a worker dies",
        FindingKind::Answer => "another answer",
        FindingKind::Kept => "a user's data stays",
        FindingKind::State => "a setting stays",
        FindingKind::Growth => "it grows",
    }
}

/// Why a kind matters.
pub fn why(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Leak => "whoever asks next may be shown what is private",
        FindingKind::Death => {
            "a new worker has to boot while clients wait, and the next request may fail"
        }
        FindingKind::Answer => "clients get something else than before the move",
        FindingKind::Kept => "any later request of the same worker can come to show it",
        FindingKind::State => "later requests behave differently, depending on who came before",
        FindingKind::Growth => "the worker fills its memory limit and dies, or takes the machine's",
    }
}

/// What usually mends a kind.
pub fn mend(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Leak | FindingKind::Kept => {
            "keep nothing of a request in statics, globals or shared services; pass it as an argument, or reset \
             it at the request's end"
        }
        FindingKind::Death => {
            "return an answer or throw; no exit, die or fatal error in request code"
        }
        FindingKind::Answer => {
            "let the framework's request and response carry it; initialise what changes in each request"
        }
        FindingKind::State => "set it once at boot, or set it back at the request's end",
        FindingKind::Growth => {
            "bound what is kept, or let the worker be replaced in time (max_requests)"
        }
    }
}

/// What no run has shown, and looks as if it could.
fn of_code(report: &CheckReport) -> String {
    let others = unseen(report);
    if others.is_empty() {
        return String::new();
    }
    let mut text = "\n\nin the code, not seen to do harm:".to_owned();
    for suspect in others.iter().take(SUSPECTS_MAX) {
        let _ = write!(
            text,
            "\n  {}:{}: {}: {}",
            suspect.file,
            suspect.line,
            suspect.what,
            suspect.kind.title()
        );
    }
    if others.len() > SUSPECTS_MAX {
        let _ = write!(text, "\n  … {} more in check.json", others.len() - SUSPECTS_MAX);
    }
    text
}

/// Suspects whose line no finding names.
pub fn unseen(report: &CheckReport) -> Vec<&Suspect> {
    let findings = report.runtimes.iter().flat_map(|one| &one.findings);
    let told: HashSet<_> = findings
        .flat_map(|finding| &finding.places)
        .map(|place| (&place.file, place.line))
        .collect();
    let suspects = report.code.suspects.iter();
    suspects.filter(|one| !told.contains(&(&one.file, one.line))).collect()
}

fn steady(growth: &Growth) -> String {
    let [begin, end] = [growth.begin, growth.end].map(|value| size(growth.of, value));
    let over = words::count(growth.requests);
    let does = match growth.of {
        GrowthOf::Heap | GrowthOf::Memory => "does",
        _ => "do",
    };
    format!("{} {does} not grow: {begin} → {end} over {over} requests", what(growth.of))
}

/// What may grow, in words.
pub fn what(of: GrowthOf) -> &'static str {
    match of {
        GrowthOf::Heap => "PHP's memory",
        GrowthOf::Memory => "its memory",
        GrowthOf::Descriptors => "open files",
        GrowthOf::Connections => "database connections",
        GrowthOf::TemporaryFiles => "temporary files",
        GrowthOf::Entries => "entries that the app's code keeps",
    }
}

/// How much of it there is.
pub fn size(of: GrowthOf, value: f64) -> String {
    match of {
        GrowthOf::Heap | GrowthOf::Memory => words::bytes(value),
        _ => format!("{value:.0}"),
    }
}

/// How much of it comes with each request: less than one file may be many.
pub fn rate(of: GrowthOf, value: f64) -> String {
    match of {
        GrowthOf::Heap | GrowthOf::Memory => words::bytes(value),
        _ => format!("{value:.3}"),
    }
}
