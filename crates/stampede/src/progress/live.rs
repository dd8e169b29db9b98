//! Draws the live picture: up to four lines at the bottom of the terminal, with the ended trials
//! above.

use std::sync::atomic::{AtomicUsize, Ordering};

use console::{Term, style};
use stampede_mask::mask_known;
use stampede_model::event::{Event, EventListener, Phase, RemainingUntil};
use stampede_model::record::Validity;

use super::plain;
use super::so_far::FiguresSoFar;
use super::tally::ComparisonState;
use crate::progress::words;

/// A listener that draws on a terminal.
pub struct TerminalProgress {
    term: Term,
    tally: ComparisonState,
    so_far: FiguresSoFar,
    /// App and load of the trial in progress.
    shown: (String, String),
}

/// How many lines the picture has on the terminal now.
static DRAWN: AtomicUsize = AtomicUsize::new(0);

/// Writes a line where the picture is. It is drawn again below it at the next event.
pub fn print_in_place(term: &Term, line: &str) {
    let _ = term.clear_last_lines(DRAWN.swap(0, Ordering::SeqCst));
    let _ = term.write_line(&mask_known(line));
}

impl TerminalProgress {
    /// A listener that draws on `term`.
    pub fn new(term: Term) -> TerminalProgress {
        let (tally, so_far) = (ComparisonState::default(), FiguresSoFar::default());
        TerminalProgress { term, tally, so_far, shown: Default::default() }
    }

    /// Draws the picture. Errors are ignored, because a closed terminal must not cost the trials.
    fn draw(&mut self, lines: &[String]) {
        self.erase();
        let width = usize::from(self.term.size().1);
        for line in lines {
            let line = mask_known(line);
            let _ = self.term.write_line(&console::truncate_str(&line, width, "…"));
        }
        DRAWN.store(lines.len(), Ordering::SeqCst);
    }

    fn erase(&mut self) {
        let _ = self.term.clear_last_lines(DRAWN.swap(0, Ordering::SeqCst));
    }

    fn print_above(&mut self, line: &str) {
        print_in_place(&self.term, line);
    }
}

impl EventListener for TerminalProgress {
    fn event(&mut self, event: &Event<'_>) {
        self.tally.take(event);
        match event {
            Event::RunStarted { trials, expected, warm_up, .. } => {
                self.print_above(&words::announcement(*trials, *expected, *warm_up));
            }
            Event::Notice(text) => self.print_above(&format!("{} {text}", style("note:").cyan())),
            Event::TrialStarted { case, .. } => {
                self.shown = (case.app.clone(), case.load.clone());
            }
            Event::TrialEnded { record, case } => {
                self.so_far.add(&self.tally, record, case);
                let line = plain::line(&self.tally, record, case);
                let mark = match record.verdict.judged {
                    Validity::Valid => style("✔").green(),
                    Validity::Suspect => style("?").yellow(),
                    Validity::Invalid => style("✘").red(),
                };
                self.print_above(&format!("{mark} {line}"));
            }
            Event::RunEnded => return self.erase(),
            _ => {}
        }
        if self.tally.number > 0 {
            let (rows, columns) = self.term.size();
            let (app, load) = &self.shown;
            let mut lines = match rows {
                HIGH.. => self.so_far.bars(app, load, usize::from(columns)),
                _ => Vec::new(),
            };
            lines.extend(picture(&self.tally, usize::from(columns)));
            self.draw(&lines);
        }
    }
}

/// Returns the picture's lines for a terminal of `width` columns. Without colour if colour is off.
pub fn picture(tally: &ComparisonState, width: usize) -> Vec<String> {
    let phase = tally.phase.map_or("", Phase::word);
    let head = format!(
        "{} {}",
        style(format!("[{}]", tally.of(tally.number))).bold(),
        style(&tally.title).bold()
    );
    let until = match tally.expected.until {
        RemainingUntil::End => "left",
        RemainingUntil::RoundsCheck => "to the next check",
        RemainingUntil::Budget => "left at most",
    };
    let left = format!("{} {until}", words::length(tally.left()));
    let room = width.saturating_sub(phase.len().max(8) + left.len() + 4).min(BAR);
    let bar = format!("{phase:<8} {}  {left}", bar(tally, room));
    let sending = matches!(tally.phase, Some(Phase::WarmUp | Phase::Measure | Phase::Drain));
    let mut lines = vec![head, bar];
    if sending && tally.seconds > 0 {
        let figures = figures(tally);
        let (parts, indent) = match width {
            WIDE.. => (figures.len(), 9),
            NARROW.. => (3, 9),
            _ => (2, 1),
        };
        let indent = " ".repeat(indent);
        lines.extend(figures.chunks(parts).map(|part| format!("{indent}{}", part.join("  "))));
    }
    lines
}

fn bar(tally: &ComparisonState, room: usize) -> String {
    let Some(expected) = tally.phase_expected.filter(|expected| expected.0 > 0) else {
        return " ".repeat(room);
    };
    let share = (f64::from(tally.seconds) / expected.as_secs_f64()).min(1.0);
    let full = (share * room as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(room - full))
}

fn figures(tally: &ComparisonState) -> [String; 5] {
    let last = &tally.last;
    let errors = match last.not_ok {
        0 => "errors 0".to_owned(),
        count => style(format!("errors {}/s", words::rate(last.rate(count)))).red().to_string(),
    };
    let cpus = if tally.budget_cpus.is_zero() { 1.0 } else { tally.budget_cpus.as_f64() };
    let cpu =
        tally.cpu_share.map_or("—".to_owned(), |share| words::percent(100.0 * share / cpus));
    let p95 = last.times.at_rank((last.times.len() as f64 * 0.95).ceil() as u64);
    [
        format!("target {}/s", words::rate(last.rate(last.planned))),
        format!("answered {}/s", words::rate(last.rate(last.ok))),
        errors,
        format!("CPU {cpu}"),
        format!("p95 {}", words::time_ns(p95)),
    ]
}

/// Rows that the bars need beside the picture and the ended trials.
const HIGH: u16 = 20;
/// Columns that all figures need on one line.
const WIDE: usize = 80;
/// Columns that three figures need.
const NARROW: usize = 56;
/// Longest progress bar in characters.
const BAR: usize = 24;
