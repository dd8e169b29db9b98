//! Passes a load's events to the screen and the files, and collects figures for the summary.

use std::time::Instant;

use stampede_load::Listener;
use stampede_load::report::RequestRecord;
use stampede_model::counts::Second;
use stampede_model::event::Phase;
use stampede_model::load::Model;
use stampede_model::record::SecondRecord;
use stampede_model::sample::ResourceSample;
use stampede_model::time::Nanos;
use stampede_monitor::InterferenceMeter;

use super::files::Files;
use super::screen::LoadDisplay;
use super::server::{ServerReadings, WatchedServer};

/// Figures collected during a load.
#[derive(Clone, Debug, Default)]
pub struct LoadSeconds {
    /// CPU time of the load threads.
    pub busy: Nanos,
    /// The counts of each second.
    pub rows: Vec<SecondRecord>,
}

/// The listener of a load and of its warm-up, which is shown and otherwise discarded.
pub struct LoadListener<'a> {
    display: &'a mut LoadDisplay,
    files: &'a mut Files,
    model: &'a Model,
    seconds: LoadSeconds,
    /// What disturbs the generator from outside; measured from the start of the load on.
    aside: InterferenceMeter,
    /// The server whose use is read; `None`: nobody asked for it.
    server: Option<WatchedServer>,
}

impl<'a> LoadListener<'a> {
    /// Passes the events of a load of this model to the screen or the lines, and to the files.
    pub fn new(
        display: &'a mut LoadDisplay,
        files: &'a mut Files,
        model: &'a Model,
        server: Option<WatchedServer>,
    ) -> LoadListener<'a> {
        let (seconds, aside) = (LoadSeconds::default(), InterferenceMeter::begin());
        LoadListener { display, files, model, seconds, aside, server }
    }

    /// What the generator used, what disturbed it, and what the server used.
    pub fn end(self) -> (LoadSeconds, ResourceSample, Option<ServerReadings>) {
        let remote = &mut self.files.remote;
        let live =
            |sample: ResourceSample| remote.iter_mut().for_each(|one| one.resources(&sample));
        (self.seconds, self.aside.end(), self.server.map(|server| server.end(live)))
    }

    /// Sends on what the server used since the last call.
    fn pass_on_readings(&mut self) {
        let (Some(server), remote) = (&self.server, &mut self.files.remote) else { return };
        for sample in server.live() {
            remote.iter_mut().for_each(|remote| remote.resources(&sample));
        }
    }
}

impl Listener for LoadListener<'_> {
    fn warm_up_second(&mut self, second: &Second) {
        self.display.second(second);
        if let Some(remote) = &mut self.files.remote {
            remote.second(second);
        }
        self.pass_on_readings();
    }

    fn before_load(&mut self) -> Option<Instant> {
        self.display.enter(Phase::Measure, self.model);
        if let Some(remote) = &mut self.files.remote {
            remote.measure();
        }
        if let Some(run) = &mut self.files.run {
            run.measure();
        }
        self.aside = InterferenceMeter::begin();
        if let Some(server) = &mut self.server {
            server.begin(0);
        }
        None
    }

    fn began(&mut self, at: Instant) {
        self.files.began(at);
    }

    fn requests(&mut self, requests: &[RequestRecord]) {
        self.files.requests(requests);
    }

    fn second(&mut self, second: &Second) {
        // Agents do not say when they begin, only what each second brought.
        if let Some(server) = &mut self.server {
            server.begin(second.index.saturating_add(1));
        }
        self.seconds.busy = self.seconds.busy.plus(second.busy);
        self.seconds.rows.push(SecondRecord::from(second));
        self.display.second(second);
        self.files.second(second);
        self.pass_on_readings();
    }
}
