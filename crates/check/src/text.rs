//! Formats a check as text.

use std::collections::HashSet;
use std::fmt::Write as _;

use stampede_model::words;
use stampede_php::Suspect;

use super::amount::amount;
use super::analyze::{name, user_name};
use super::model::{CheckReport, Finding, Growth, GrowthOf, RuntimeResult, Step, Verdict};

/// Most lines of code that are listed: they fit on a screen beside the findings.
const SUSPECTS_MAX: usize = 10;
/// Most skipped requests that are listed: enough to recognize the rule; the others are counted.
const SKIPPED_MAX: usize = 8;
/// Most requests of a finding that are named; the others are in `check.json`.
const STEPS_MAX: usize = 4;
/// Stands beside every count of what was tried.
pub const NO_PROOF: &str =
    "this check cannot prove that the app is safe: other requests may still show problems";
/// Stands at a finding that its steps did not show a second time.
pub const NOT_AGAIN: &str = "these requests alone did not reproduce it on a newly started worker";

/// Returns the report as text: the answer first, then each finding with its evidence. `command`
/// sends a finding again, with `--finding N` added.
pub fn text(report: &CheckReport, command: &str) -> String {
    let mut text = String::new();
    for checked in &report.runtimes {
        let _ = writeln!(text, "{}: {}", checked.runtime, answer(report, checked));
    }
    let _ = writeln!(text, "\n{}", tried(report));
    for checked in &report.runtimes {
        for finding in &checked.findings {
            let _ = write!(text, "\n{}", finding_text(checked, finding, command));
        }
    }
    for checked in &report.runtimes {
        for growth in checked.growth.iter().filter(|one| !one.grows) {
            let _ = write!(text, "\n{}: {}", checked.runtime, steady(growth));
        }
    }
    text.push_str(&of_code(report));
    if !report.skipped.is_empty() {
        let _ = write!(text, "\n\nnot sent:");
        for skipped in report.skipped.iter().take(SKIPPED_MAX) {
            let _ = write!(text, "\n  {skipped}");
        }
        let more = report.skipped.len().saturating_sub(SKIPPED_MAX);
        if more > 0 {
            let _ = write!(text, "\n  … {more} more in check.json");
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// Returns the verdict as one line of text.
pub fn answer(report: &CheckReport, checked: &RuntimeResult) -> String {
    let VerdictText { message, separator, more } = verdict(report, checked);
    if more.is_empty() { message } else { message + separator + &more }
}

/// A verdict: a few words, and an explanation.
pub struct VerdictText {
    /// `no problem found`.
    pub message: String,
    /// The text that joins both in one line.
    separator: &'static str,
    /// What was tried, or why the result is unknown; may be empty.
    pub more: String,
}

/// Returns the verdict. "Nothing was found" always stands beside what was tried.
pub fn verdict(report: &CheckReport, checked: &RuntimeResult) -> VerdictText {
    let open = checked.findings.iter().filter(|finding| !finding.is_accepted).count();
    let within = within(report, checked);
    let problem = checked.problem.as_deref().unwrap_or("why is not known");
    let answer = |message: &str, separator, more: &[&str]| VerdictText {
        message: message.to_owned(),
        separator,
        more: more.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("; "),
    };
    let (known, chance) = (known(checked), chance(checked));
    match &checked.verdict {
        Verdict::Safe => answer("no problem found", " in ", &[&within, &known, &chance]),
        Verdict::SafeWith { max_requests } => {
            let grows = "memory or open files grow, so replace a worker after this many requests";
            let others = format!("no other problem found in {within}");
            let message = format!("safe with max_requests = {max_requests}");
            answer(&message, ": ", &[grows, &others, &known, &chance])
        }
        Verdict::NotSafe => {
            let early =
                checked.problem.as_ref().map(|_| format!("not checked to its end: {problem}"));
            let message = format!("NOT SAFE: {}", words::number_of(open as u32, "finding"));
            answer(&message, "; ", &[&lost(checked), &known, &chance, &early.unwrap_or_default()])
        }
        Verdict::NotChecked if checked.sent == 0 => answer("not checked", ": ", &[problem]),
        Verdict::NotChecked => {
            let until = format!("no problem found until then in {within}");
            answer("not checked to its end", ": ", &[problem, &until, &known, &chance])
        }
    }
}

/// Returns how many findings the baseline accepts, as text.
fn known(checked: &RuntimeResult) -> String {
    match checked.findings.iter().filter(|finding| finding.is_accepted).count() {
        0 => String::new(),
        count => format!("{} accepted by the baseline", words::number_of(count as u32, "finding")),
    }
}

/// Returns how many differences no fresh start has shown again, and how many answers were too long,
/// as text.
fn chance(checked: &RuntimeResult) -> String {
    let again = match checked.not_again {
        0 => String::new(),
        count => format!("{} seen once and not again", words::number_of(count, "difference")),
    };
    let whole = match checked.not_compared {
        0 => String::new(),
        count => format!("{} too long to compare to the end", words::number_of(count, "answer")),
    };
    let separator = if again.is_empty() || whole.is_empty() { "" } else { ", " };
    again + separator + &whole
}

/// Returns what a runtime was tried with, as text.
fn within(report: &CheckReport, checked: &RuntimeResult) -> String {
    let tried = &report.tried;
    let growth = match checked.growth_sent {
        0 => String::new(),
        sent => format!(
            " and in {} more that looked for growing memory and open files",
            words::count(sent)
        ),
    };
    format!(
        "{} requests ({} different, {}, {}){growth}",
        words::count(checked.sent),
        words::count(tried.requests),
        words::number_of(tried.users, "user"),
        words::number_of(checked.passes, "pass"),
    )
}

/// Returns how many workers the passes have lost, as text.
fn lost(checked: &RuntimeResult) -> String {
    match checked.workers_lost {
        0 => String::new(),
        lost => {
            let share = lost as f64 * 1000.0 / checked.sent.max(1) as f64;
            format!(
                "{} lost ({share:.0} per 1 000 requests)",
                words::number_of(lost as u32, "worker")
            )
        }
    }
}

/// Formats the duration: `61 s`, `4.2 minutes`.
pub fn took(seconds: f64) -> String {
    match seconds {
        short if short < SECONDS_UP_TO => format!("{short:.0} s"),
        long => format!("{:.1} minutes", long / 60.0),
    }
}

/// From this duration on, minutes are easier to read.
const SECONDS_UP_TO: f64 = 119.5;

fn tried(report: &CheckReport) -> String {
    let tried = &report.tried;
    let ended = if report.interrupted { "; ended early" } else { "" };
    format!(
        "tried: {} in {} ({}) by {}, {} sent, {} more for growth, in {}, against {}{ended}\n\
         {NO_PROOF}; seed {}",
        words::number_of(tried.requests as u32, "request"),
        words::number_of(tried.passes.len() as u32, "pass"),
        tried.passes.join(", "),
        words::number_of(tried.users, "user"),
        words::count(tried.sent),
        words::count(tried.growth_requests),
        took(tried.seconds),
        report.reference,
        report.seed,
    )
}

fn finding_text(checked: &RuntimeResult, finding: &Finding, command: &str) -> String {
    let (mut text, kind) = (String::new(), finding.kind.row());
    let accepted = if finding.is_accepted { ", accepted" } else { "" };
    let _ = writeln!(
        text,
        "{}. {} on {}{accepted}: {}",
        finding.number, kind.title, checked.runtime, finding.what
    );
    text.push_str(&indented(&finding.evidence));
    let steps: Vec<String> = finding
        .steps
        .iter()
        .map(|step| format!("{} ({})", name(&step.request), user_name(step.user)))
        .collect();
    let shown = match steps.len() {
        0..=STEPS_MAX => in_order(&steps, &finding.steps),
        many => format!("{many} requests, the last {}", steps[many - 1]),
    };
    let _ = writeln!(text, "  requests that show it: {shown}");
    let _ = match finding.is_repeatable {
        true => writeln!(text, "  reproduce: {command} --finding {}", finding.number),
        false => writeln!(text, "  {NOT_AGAIN}"),
    };
    for place in &finding.places {
        let begin = if place.is_named { "look at" } else { "possible cause:" };
        let _ = writeln!(text, "  {begin} {}:{}: {}", place.file, place.line, place.what);
    }
    let _ = writeln!(text, "  why it matters: {}", kind.why);
    let _ = writeln!(text, "  the usual fix: {}", kind.fix);
    text
}

/// Indents the lines of evidence below the finding.
pub fn indented(evidence: &str) -> String {
    let lines = evidence.lines().filter(|line| !line.trim().is_empty());
    let indent = lines.clone().map(|line| line.len() - line.trim_start_matches(' ').len()).min();
    lines.fold(String::new(), |text, line| text + "    " + &line[indent.unwrap_or(0)..] + "\n")
}

/// Formats steps with "then" or "at once with" between them.
fn in_order(names: &[String], steps: &[Step]) -> String {
    let between = |step: &Step| if step.with_next { ", at once with " } else { ", then " };
    let before = steps.iter().map(between);
    let between = std::iter::once("").chain(before);
    names.iter().zip(between).map(|(name, between)| format!("{between}{name}")).collect()
}

/// Lists suspects that no finding names.
fn of_code(report: &CheckReport) -> String {
    let others = unnamed_suspects(report);
    if others.is_empty() {
        return String::new();
    }
    let mut text = "\n\nin the code; no request showed a problem with it:".to_owned();
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

/// Returns the suspects whose line no finding names.
pub fn unnamed_suspects(report: &CheckReport) -> Vec<&Suspect> {
    let findings = report.runtimes.iter().flat_map(|one| &one.findings);
    let named: HashSet<_> = findings
        .flat_map(|finding| &finding.places)
        .map(|place| (&place.file, place.line))
        .collect();
    let suspects = report.code.suspects.iter();
    suspects.filter(|one| !named.contains(&(&one.file, one.line))).collect()
}

fn steady(growth: &Growth) -> String {
    let [begin, end] = [growth.begin, growth.end].map(|value| amount(growth.of, value));
    let over = words::count(growth.requests);
    let does = match growth.of {
        GrowthOf::Heap | GrowthOf::Memory => "does",
        _ => "do",
    };
    format!("{} {does} not grow: {begin} → {end} over {over} requests", what(growth.of))
}

/// Returns words for what may grow.
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

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
