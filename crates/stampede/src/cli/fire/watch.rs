//! Passes a load's events to the screen and the files, and collects figures for the summary.

use stampede_load::Listener;
use stampede_load::report::{RequestRecord, Second};
use stampede_load::time::Nanos;

use super::files::Files;
use super::screen::Shown;

/// Figures collected during a load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    /// CPU time of the load threads.
    pub busy: Nanos,
}

/// The listener of a measured load.
pub struct Watch<'a> {
    /// The screen or lines.
    pub shown: &'a mut Shown,
    /// The files that are written.
    pub files: &'a mut Files,
    /// Figures for the summary.
    pub watched: Watched,
}

impl Listener for Watch<'_> {
    fn requests(&mut self, requests: &[RequestRecord]) {
        self.files.requests(requests);
    }

    fn second(&mut self, second: &Second) {
        self.watched.busy = self.watched.busy.plus(second.busy);
        self.shown.second(second);
        self.files.second(second);
    }
}

/// The listener of a warm-up, which is shown and otherwise discarded.
pub struct Warming<'a>(pub &'a mut Shown);

impl Listener for Warming<'_> {
    fn second(&mut self, second: &Second) {
        self.0.second(second);
    }
}
