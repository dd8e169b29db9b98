//! The phases of a trial.

use std::time::Instant;

use stampede_model::event::{Event, EventListener, Phase};
use stampede_model::record::PhaseRecord;
use stampede_model::time::Nanos;

/// The phases of a trial; each is recorded and reported to the listener as it begins.
pub(super) struct Phases<'a> {
    pub(super) listener: &'a mut dyn EventListener,
    began: Instant,
    records: Vec<PhaseRecord>,
}

impl<'a> Phases<'a> {
    pub(super) fn begin(listener: &'a mut dyn EventListener) -> Phases<'a> {
        Phases { listener, began: Instant::now(), records: Vec::new() }
    }

    fn now(&self) -> u64 {
        Nanos::from(self.began.elapsed()).0
    }

    pub(super) fn enter(&mut self, phase: Phase, expected: Option<Nanos>) {
        let now = self.now();
        if let Some(last) = self.records.last_mut() {
            last.end_ns = now;
        }
        let name = phase.word().to_owned();
        self.records.push(PhaseRecord { phase: name, begin_ns: now, end_ns: now });
        self.listener.event(&Event::Phase { phase, expected });
    }

    /// Splits the last phase into measure and drain, by the times of the load's own clock.
    pub(super) fn split_drain(&mut self, scheduled: Nanos, lasted: Nanos) {
        let now = self.now();
        let Some(measure) = self.records.last_mut() else { return };
        measure.end_ns = now.saturating_sub(lasted.since(scheduled).0).max(measure.begin_ns);
        let begin_ns = measure.end_ns;
        self.records.push(PhaseRecord { phase: "drain".to_owned(), begin_ns, end_ns: now });
    }

    pub(super) fn end(mut self) -> Vec<PhaseRecord> {
        let now = self.now();
        if let Some(last) = self.records.last_mut() {
            last.end_ns = now;
        }
        std::mem::take(&mut self.records)
    }
}
