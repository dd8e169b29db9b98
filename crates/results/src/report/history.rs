//! Renders the list of runs for a terminal as `git log` lists commits, the newest first.

use stampede_model::words;

use super::Style;
use super::layout::Tone;
use crate::history::{Entry, State};

/// Renders the list. Empty: there are no runs.
pub fn history(entries: &[Entry], style: &Style) -> String {
    let lines: Vec<Vec<String>> = entries.iter().map(|entry| lines(entry, style)).collect();
    let mut text = String::new();
    for (number, lines) in lines.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text.replace('\u{a0}', " ")
}

fn lines(entry: &Entry, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |text: &str, tone: Tone, first: &str| {
        let wrapped = style.wrap(&format!("{first}{text}"), INDENT + 2);
        lines.extend(wrapped.iter().map(|line| style.paint(line, tone)));
    };
    let indent = "\u{a0}".repeat(INDENT);
    // Without the offset, because the time is local to the machine that measured.
    let when = entry.started_at.get(..19).unwrap_or_default().replace('T', " ");
    let head = [entry.name.as_str(), when.as_str()];
    let head: Vec<&str> = head.into_iter().filter(|part| !part.is_empty()).collect();
    add(&head.join(" · "), Tone::Strong, "");
    let (how_far, tone) = how_far(entry);
    add(&how_far, tone, &indent);
    if !entry.runtimes.is_empty() {
        let what = [entry.apps.join(", "), entry.loads.join(", "), entry.runtimes.join(", ")];
        add(&what.join(" · "), Tone::Faint, &indent);
    }
    let several = entry.answers.len() > 1;
    for answer in &entry.answers {
        let of =
            if several { format!("{} · {}: ", answer.app, answer.load) } else { String::new() };
        add(&format!("{of}{}", answer.sentence), Tone::Plain, &indent);
    }
    lines
}

fn how_far(entry: &Entry) -> (String, Tone) {
    let Entry { trials_ended: ended, trials_planned: planned, trials_invalid: invalid, .. } = entry;
    let all = words::number_of(u32::try_from(*planned).unwrap_or(u32::MAX), "trial");
    let some = format!("{ended} of {planned} trials");
    let invalid = match invalid {
        0 => String::new(),
        some => format!(", {some} invalid"),
    };
    match entry.state {
        State::Ended => (format!("{all}{invalid}"), Tone::Plain),
        State::UnderWay => (format!("under way: {some} ended{invalid}"), Tone::Warning),
        State::CutOff => (format!("ended early: {some} finished{invalid}"), Tone::Warning),
        State::Unreadable => (format!("cannot be read: {}", entry.why), Tone::Bad),
    }
}

/// Indentation of the lines below a run's name.
const INDENT: usize = 2;
