//! The simulated engine with what it does not do by itself.

use super::*;

/// Busy for a quarter of the time.
pub(super) struct Altered {
    pub(super) engine: Simulated,
    /// No send is ever complete.
    pub(super) unsent: bool,
    /// What has happened by now is reported without a wait, as where operations complete in the call.
    pub(super) prompt: bool,
}

impl Altered {
    pub(super) fn new(script: &Script) -> Altered {
        Altered { engine: Simulated::new(script.clone()), unsent: false, prompt: false }
    }
}

impl Engine for Altered {
    fn begin(&mut self, epoch: Instant) {
        self.engine.begin(epoch);
    }

    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn refresh(&mut self) -> Nanos {
        self.engine.refresh()
    }

    fn send_buffer(&mut self, token: Token) -> &mut Vec<u8> {
        self.engine.send_buffer(token)
    }

    fn unsent(&mut self, _: Token) -> bool {
        self.unsent
    }

    fn submit(&mut self, token: Token, op: Op) {
        self.engine.submit(token, op);
    }

    fn wait(&mut self, until: Nanos, in_flight: u32) {
        self.engine.wait(until, in_flight);
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        if self.prompt {
            self.engine.wait(self.engine.now(), 0);
        }
        self.engine.next()
    }

    fn busy(&self) -> Nanos {
        Nanos(self.now().0 / 4)
    }
}
