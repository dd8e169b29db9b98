//! Sends the measured load while the monitor watches the runtime. Both are recorded second by
//! second.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use stampede_linux::interrupt;
use stampede_load::{Generator, Listener, Load, LoadResult};
use stampede_model::counts::Second;
use stampede_model::event::{Event, EventListener, Phase};
use stampede_model::sample::ResourceSample;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_monitor::{Monitor, MonitorError};
use stampede_results::store::TrialDirectory;
use stampede_stack::{FpmStatusPage, Stack};

use super::cases;
use super::{NotMeasured, Phases};

/// A load that was sent, and what was observed meanwhile.
pub struct WatchedLoad<B> {
    pub result: LoadResult,
    pub resources: Vec<ResourceSample>,
    /// What was noted after the warm-up and before the load.
    pub before: B,
}

/// Sends `load`, after its warm-up if it has one, and monitors the runtime meanwhile. `note` is
/// called between the two, when nothing is in flight. The load is stopped if the runtime is gone.
///
/// # Errors
/// The monitor cannot watch, the load cannot be sent, or the warm-up was interrupted.
pub fn run<B>(
    generator: &dyn Generator,
    load: &Load,
    measured: &dyn Stack,
    (directory, phases): (&mut TrialDirectory, &mut Phases<'_>),
    note: impl FnOnce() -> B,
) -> Result<WatchedLoad<B>, NotMeasured> {
    let (sender, readings) = channel();
    let stop = Stop::from(interrupt::new_flag());
    let mut begun = None;
    let begin = || {
        let before = note();
        let monitor = watch(measured, sender).inspect_err(|_| stop.ask());
        begun = Some((before, monitor));
    };
    let mut listener = TrialListener {
        directory,
        phases,
        readings,
        measured,
        stop: stop.clone(),
        length: cases::length(&load.model),
        begin: Some(begin),
    };
    let result = generator.run(load, &stop, &mut listener)?;
    let TrialListener { directory, phases, readings, .. } = listener;
    let (before, monitor) = begun.ok_or(NotMeasured::Interrupted)?;
    let resources = monitor?.finish()?;
    // Only now the last reading is there, which has the CPU time of the last answers.
    pass_on(&readings, directory, phases);
    Ok(WatchedLoad { result, resources, before })
}

/// Begins to monitor the runtime; each reading goes to `sender`.
fn watch(measured: &dyn Stack, sender: Sender<ResourceSample>) -> Result<Monitor, MonitorError> {
    // PHP-FPM starts a process for the first status request. It is sent before the monitor begins,
    // or that process would count as started under load.
    let pool = measured.status_page();
    pool.as_ref().map(FpmStatusPage::ask);
    let sink = move |sample: &mut ResourceSample| {
        sample.pool = pool.as_ref().and_then(FpmStatusPage::ask);
        // A send fails only when the load is over and the receiver is gone.
        drop(sender.send(sample.clone()));
    };
    Monitor::watch_with(measured.group(), measured.workers(), Nanos::SECOND, sink)
}

/// Passes seconds and readings to the directory and the listener, from the thread that sends.
struct TrialListener<'a, 'b, F> {
    directory: &'a mut TrialDirectory,
    phases: &'a mut Phases<'b>,
    readings: Receiver<ResourceSample>,
    measured: &'a dyn Stack,
    stop: Stop,
    /// The length of the schedule; `None`: it is not known.
    length: Option<Nanos>,
    /// To be called before the load.
    begin: Option<F>,
}

fn send_event(directory: &mut TrialDirectory, phases: &mut Phases<'_>, event: &Event<'_>) {
    directory.event(event);
    phases.listener.event(event);
}

/// Passes on the readings that are there.
fn pass_on(
    readings: &Receiver<ResourceSample>,
    directory: &mut TrialDirectory,
    phases: &mut Phases<'_>,
) {
    for sample in readings.try_iter() {
        send_event(directory, phases, &Event::Resources(&sample));
    }
}

impl<F> TrialListener<'_, '_, F> {
    fn stop_if_gone(&self) {
        if self.measured.gone().is_some() {
            self.stop.ask();
        }
    }
}

impl<F: FnOnce()> Listener for TrialListener<'_, '_, F> {
    /// The seconds of the warm-up are shown and not stored.
    fn warm_up_second(&mut self, second: &Second) {
        self.phases.listener.event(&Event::Second(second));
        self.stop_if_gone();
    }

    fn before_load(&mut self) -> Option<Instant> {
        if interrupt::is_requested() {
            return None;
        }
        self.phases.enter(Phase::Measure, self.length);
        if let Some(begin) = self.begin.take() {
            begin();
        }
        None
    }

    fn second(&mut self, second: &Second) {
        send_event(self.directory, self.phases, &Event::Second(second));
        pass_on(&self.readings, self.directory, self.phases);
        let passed = Nanos::from_secs(u64::from(second.index) + 1);
        if self
            .length
            .is_some_and(|length| passed >= length && passed.since(length) < Nanos::SECOND)
        {
            self.phases.listener.event(&Event::Phase { phase: Phase::Drain, expected: None });
        }
        self.stop_if_gone();
    }
}
