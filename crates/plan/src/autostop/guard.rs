//! A listener that asks a load to stop.

use std::time::Instant;

use stampede_load::report::{Listener, RequestRecord};
use stampede_model::counts::Second;
use stampede_model::stop::Stop;

use super::judge::Judge;

/// Passes everything on to another listener, and asks for a stop once a criterion is met.
pub struct Guard<'a> {
    judge: Judge,
    stop: Stop,
    inner: &'a mut dyn Listener,
    reason: Option<String>,
}

impl<'a> Guard<'a> {
    /// A guard that judges with `judge`, stops the load through `stop`, and passes everything on to
    /// `inner`.
    pub fn new(judge: Judge, stop: Stop, inner: &'a mut dyn Listener) -> Guard<'a> {
        Guard { judge, stop, inner, reason: None }
    }

    /// Why the load was asked to stop; `None`: no criterion was met. A load that had already
    /// reached its end is not a stopped one: see `LoadResult::end`.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The judge, which knows the criterion that was met.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }
}

impl std::fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("judge", &self.judge).field("reason", &self.reason).finish()
    }
}

impl Listener for Guard<'_> {
    fn warm_up_second(&mut self, second: &Second) {
        self.inner.warm_up_second(second);
    }

    fn before_load(&mut self) -> Option<Instant> {
        self.inner.before_load()
    }

    fn began(&mut self, at: Instant) {
        self.inner.began(at);
    }

    fn requests(&mut self, requests: &[RequestRecord]) {
        self.inner.requests(requests);
    }

    fn second(&mut self, second: &Second) {
        self.inner.second(second);
        let met = self.judge.second(second);
        // If somebody else asked for the stop already, what follows is a consequence of that stop.
        if let Some(reason) = met
            && self.reason.is_none()
            && !self.stop.is_asked()
        {
            self.stop.ask();
            self.reason = Some(reason);
        }
    }
}
