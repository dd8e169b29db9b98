//! Listens to a load: what is shown, what is written, and what the summary needs.

use stampede_load::Listener;
use stampede_load::report::{RequestRecord, Second};
use stampede_load::time::Nanos;

use super::files::Files;
use super::screen::Shown;

/// What was seen while a load ran.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    /// CPU time of the load threads.
    pub busy: Nanos,
}

/// The listener of a measured load.
pub struct Watch<'a> {
    /// The screen, or nothing.
    pub shown: &'a mut Shown,
    /// What is written each second.
    pub files: &'a mut Files,
    /// What the summary needs.
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

/// The listener of a warm-up: shown and thrown away.
pub struct Warming<'a>(pub &'a mut Shown);

impl Listener for Warming<'_> {
    fn second(&mut self, second: &Second) {
        self.0.second(second);
    }
}
