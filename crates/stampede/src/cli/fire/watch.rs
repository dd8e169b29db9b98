//! Passes a load's events to the screen and the files, and collects figures for the summary.

use stampede_load::Listener;
use stampede_load::report::RequestRecord;
use stampede_model::counts::Second;
use stampede_model::time::Nanos;

use super::files::Files;
use super::screen::LoadDisplay;

/// Figures collected during a load.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeneratorUsage {
    /// CPU time of the load threads.
    pub busy: Nanos,
}

/// The listener of a measured load.
pub struct LoadListener<'a> {
    /// The screen or lines.
    pub display: &'a mut LoadDisplay,
    /// The files that are written.
    pub files: &'a mut Files,
    /// Figures for the summary.
    pub usage: GeneratorUsage,
}

impl Listener for LoadListener<'_> {
    fn requests(&mut self, requests: &[RequestRecord]) {
        self.files.requests(requests);
    }

    fn second(&mut self, second: &Second) {
        self.usage.busy = self.usage.busy.plus(second.busy);
        self.display.second(second);
        self.files.second(second);
    }
}

/// The listener of a warm-up, which is shown and otherwise discarded.
pub struct WarmUpListener<'a>(pub &'a mut LoadDisplay);

impl Listener for WarmUpListener<'_> {
    fn second(&mut self, second: &Second) {
        self.0.second(second);
    }
}
