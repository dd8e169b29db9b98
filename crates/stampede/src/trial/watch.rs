//! Sends the measured load while the monitor watches the runtime. Both are recorded second by
//! second.

use std::sync::mpsc::{Receiver, channel};

use stampede_linux::interrupt;
use stampede_load::{Generator, Listener, Load, LoadResult};
use stampede_model::counts::Second;
use stampede_model::event::{Event, EventListener, Phase};
use stampede_model::sample::ResourceSample;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_monitor::Monitor;
use stampede_results::store::TrialDirectory;
use stampede_stack::{FpmStatusPage, Stack};

use super::cases;
use super::{NotMeasured, Phases};

/// Sends `load` and monitors the runtime meanwhile. The load is stopped if the runtime is gone.
///
/// # Errors
/// The monitor cannot watch, or the load cannot be sent.
pub fn run(
    generator: &dyn Generator,
    load: &Load,
    measured: &dyn Stack,
    directory: &mut TrialDirectory,
    phases: &mut Phases<'_>,
) -> Result<(LoadResult, Vec<ResourceSample>), NotMeasured> {
    let (sender, readings) = channel();
    // PHP-FPM starts a process for the first status request. It is sent before the monitor begins,
    // or that process would count as started under load.
    let pool = measured.status_page();
    pool.as_ref().map(FpmStatusPage::ask);
    let sink = move |sample: &mut ResourceSample| {
        sample.pool = pool.as_ref().and_then(FpmStatusPage::ask);
        // A send fails only when the load is over and the receiver is gone.
        drop(sender.send(sample.clone()));
    };
    let (group, workers) = (measured.group(), measured.workers());
    let monitor = Monitor::watch_with(group, workers, Nanos::SECOND, sink)?;
    let stop = Stop::from(interrupt::new_flag());
    let mut listener = TrialListener {
        directory,
        phases,
        readings,
        measured,
        stop: stop.clone(),
        length: cases::length(&load.model),
    };
    let result = generator.run(load, &stop, &mut listener);
    let resources = monitor.finish()?;
    listener.drain();
    Ok((result?, resources))
}

/// Passes seconds and readings to the directory and the listener, from the thread that sends.
struct TrialListener<'a, 'b> {
    directory: &'a mut TrialDirectory,
    phases: &'a mut Phases<'b>,
    readings: Receiver<ResourceSample>,
    measured: &'a dyn Stack,
    stop: Stop,
    /// The length of the schedule; `None`: it is not known.
    length: Option<Nanos>,
}

impl TrialListener<'_, '_> {
    fn send_event(&mut self, event: &Event<'_>) {
        self.directory.event(event);
        self.phases.listener.event(event);
    }

    fn drain(&mut self) {
        while let Ok(sample) = self.readings.try_recv() {
            self.send_event(&Event::Resources(&sample));
        }
    }
}

impl Listener for TrialListener<'_, '_> {
    fn second(&mut self, second: &Second) {
        self.send_event(&Event::Second(second));
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
