//! Passes a load's events to the screen and the files, and collects figures for the summary.

use stampede_load::Listener;
use stampede_load::report::RequestRecord;
use stampede_model::counts::Second;
use stampede_model::event::Phase;
use stampede_model::load::Model;
use stampede_model::sample::ResourceSample;
use stampede_model::time::Nanos;
use stampede_monitor::InterferenceMeter;

use super::files::Files;
use super::screen::LoadDisplay;

/// Figures collected during a load.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeneratorUsage {
    /// CPU time of the load threads.
    pub busy: Nanos,
}

/// The listener of a load and of its warm-up, which is shown and otherwise discarded.
pub struct LoadListener<'a> {
    display: &'a mut LoadDisplay,
    files: &'a mut Files,
    model: &'a Model,
    usage: GeneratorUsage,
    /// What disturbs the generator from outside; measured from the start of the load on.
    aside: InterferenceMeter,
}

impl<'a> LoadListener<'a> {
    /// Passes the events of a load of this model to the screen or the lines, and to the files.
    pub fn new(
        display: &'a mut LoadDisplay,
        files: &'a mut Files,
        model: &'a Model,
    ) -> LoadListener<'a> {
        let (usage, aside) = (GeneratorUsage::default(), InterferenceMeter::begin());
        LoadListener { display, files, model, usage, aside }
    }

    /// What the generator used, and what disturbed it.
    pub fn end(self) -> (GeneratorUsage, ResourceSample) {
        (self.usage, self.aside.end())
    }
}

impl Listener for LoadListener<'_> {
    fn warm_up_second(&mut self, second: &Second) {
        self.display.second(second);
    }

    fn before_load(&mut self) {
        self.display.enter(Phase::Measure, self.model);
        self.aside = InterferenceMeter::begin();
    }

    fn requests(&mut self, requests: &[RequestRecord]) {
        self.files.requests(requests);
    }

    fn second(&mut self, second: &Second) {
        self.usage.busy = self.usage.busy.plus(second.busy);
        self.display.second(second);
        self.files.second(second);
    }
}
