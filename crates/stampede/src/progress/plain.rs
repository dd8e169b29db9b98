//! Writes one plain line per trial, for pipes and CI.

use std::io::Write;

use stampede_model::event::{Event, EventListener};
use stampede_model::fact;
use stampede_model::record::{CaseRecord, TrialRecord, Validity};
use stampede_results::summary::kept_up::{KeptUp, throughput};
use stampede_stats::percentile::Ranked;

use super::tally::ComparisonState;
use crate::progress::words;

/// A listener that writes lines to `out`.
pub struct LineProgress<W: Write> {
    out: W,
    tally: ComparisonState,
}

impl<W: Write> LineProgress<W> {
    /// A listener that writes to `out`.
    pub fn new(out: W) -> LineProgress<W> {
        LineProgress { out, tally: ComparisonState::default() }
    }
}

impl<W: Write> EventListener for LineProgress<W> {
    fn event(&mut self, event: &Event<'_>) {
        self.tally.take(event);
        let line = match event {
            Event::RunStarted { trials, expected, warm_up, .. } => {
                words::announcement(*trials, *expected, *warm_up)
            }
            Event::Notice(text) => format!("note: {text}"),
            Event::TrialEnded { record, case } => line(&self.tally, record, case),
            _ => return,
        };
        // Errors are ignored: if nobody reads stderr any more, the trials must go on.
        let _ = self.out.write_all(format!("{line}\n").as_bytes());
    }
}

/// Returns the line for a trial.
pub fn line(tally: &ComparisonState, record: &TrialRecord, case: &CaseRecord) -> String {
    let number = tally.of(record.number);
    let head = format!("{number} {} {} {}", case.runtime, case.app, case.load);
    let figures = match &record.load {
        Some(load) => {
            let measured = &tally.measured;
            let failed = load.counts.planned - load.counts.ok.min(load.counts.planned);
            let p95 = Ranked { answered: &measured.times, failed }.percentile(95.0);
            let kept_up = KeptUp::of_load(load, case.schedule.as_ref(), &tally.rows);
            let throughput = throughput(load, case.model, kept_up).unwrap_or(0.0);
            let ok = load.counts.ok as f64 / load.counts.planned.max(1) as f64;
            format!(
                ": p95 {}, {} answers/s, ok {}",
                words::percentile(p95),
                words::rate(throughput),
                words::share(ok),
            )
        }
        None => String::new(),
    };
    format!("{head}{figures}, {}", verdict(record))
}

fn verdict(record: &TrialRecord) -> String {
    let word = match record.verdict.judged {
        Validity::Valid => "valid",
        Validity::Suspect => "suspect",
        Validity::Invalid => "INVALID",
    };
    let reasons = match record.verdict.reasons.as_slice() {
        [] => String::new(),
        reasons => format!(": {}", fact::joined(reasons)),
    };
    let notes: String = record.verdict.notes.iter().map(|note| format!("; note: {note}")).collect();
    format!("{word}{reasons}{notes}")
}
