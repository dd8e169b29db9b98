//! The measured load with the monitor beside it: both are recorded second by second.

use std::sync::mpsc::{Receiver, channel};

use stampede_load::report::{Fired, Second};
use stampede_load::spec::Load;
use stampede_load::{Listener, Stop, time::Nanos};

use super::cells;
use super::measured::Measured;
use super::{NotMeasured, Phases};
use crate::event::{Event, Listen, Phase};
use crate::interrupt;
use crate::monitor::Monitor;
use crate::monitor::sample::ResourceSample;
use crate::runtime::Pool;
use crate::store::TrialFolder;

/// Fires `load` while watching what is measured. The load is stopped when that is gone.
///
/// # Errors
/// Nothing watches, or the load cannot be fired.
pub fn fire(
    load: &Load,
    measured: &Measured,
    folder: &mut TrialFolder,
    phases: &mut Phases<'_>,
) -> Result<(Fired, Vec<ResourceSample>), NotMeasured> {
    let (sender, readings) = channel();
    // PHP-FPM starts a process for the first question: before it is watched, or it were one
    // that was started under load.
    let pool = measured.pool();
    pool.as_ref().map(Pool::ask);
    let sink = move |sample: &mut ResourceSample| {
        sample.pool = pool.as_ref().and_then(Pool::ask);
        // A send fails only when the load is over and nobody listens any more.
        drop(sender.send(sample.clone()));
    };
    let (group, workers) = (measured.group(), measured.workers());
    let monitor = Monitor::watch_with(group, workers, Nanos::SECOND, sink)?;
    let stop = interrupt::stop_for_load();
    let mut both = Both {
        folder,
        phases,
        readings,
        measured,
        stop: stop.clone(),
        length: cells::length(&load.model),
    };
    let fired = stampede_load::fire(load, &stop, &mut both);
    let resources = monitor.finish()?;
    both.drain();
    Ok((fired?, resources))
}

/// Tells folder and listener of seconds and readings, from the thread that fires.
struct Both<'a, 'b> {
    folder: &'a mut TrialFolder,
    phases: &'a mut Phases<'b>,
    readings: Receiver<ResourceSample>,
    measured: &'a Measured,
    stop: Stop,
    /// Of the schedule, where it is known.
    length: Option<Nanos>,
}

impl Both<'_, '_> {
    fn tell(&mut self, event: &Event<'_>) {
        self.folder.event(event);
        self.phases.listener.event(event);
    }

    fn drain(&mut self) {
        while let Ok(sample) = self.readings.try_recv() {
            self.tell(&Event::Resources(&sample));
        }
    }
}

impl Listener for Both<'_, '_> {
    fn second(&mut self, second: &Second) {
        self.tell(&Event::Second(second));
        self.drain();
        let passed = Nanos::from_secs(u64::from(second.index) + 1);
        if self
            .length
            .is_some_and(|length| passed >= length && passed.since(length) < Nanos::SECOND)
        {
            self.phases.listener.event(&Event::Phase { phase: Phase::Drain, expected: None });
        }
        if self.measured.gone().is_some() {
            self.stop.ask();
        }
    }
}
