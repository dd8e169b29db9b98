//! A number of workers, taken in the order of asking.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Lets as many through at once as it has permits, first come first served.
#[derive(Debug)]
pub(crate) struct Gate {
    inside: Mutex<Inside>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inside {
    /// When each free permit was given back, on the server's clock.
    free: Vec<Duration>,
    /// The ticket that is next to get one.
    serving: u64,
    next_ticket: u64,
    closed: bool,
}

/// The right to work; goes back when dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    gate: &'a Gate,
    /// When the worker was free for it by arithmetic: by how much a thread woke too late
    /// does not add up over a queue.
    pub(crate) free_at: Duration,
}

impl Gate {
    pub(crate) fn new(permits: usize) -> Gate {
        let inside = Inside {
            free: vec![Duration::ZERO; permits],
            serving: 0,
            next_ticket: 0,
            closed: false,
        };
        Gate { inside: Mutex::new(inside), changed: Condvar::new() }
    }

    /// Waits for a permit; `None` once the gate is closed.
    pub(crate) fn take(&self) -> Option<Permit<'_>> {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = inside.next_ticket;
        inside.next_ticket += 1;
        let mut inside = self
            .changed
            .wait_while(inside, |inside| {
                !inside.closed && (inside.serving != ticket || inside.free.is_empty())
            })
            .unwrap_or_else(PoisonError::into_inner);
        if inside.closed {
            return None;
        }
        inside.serving += 1;
        let earliest = inside.free.iter().enumerate().min_by_key(|(_, free_at)| **free_at);
        let index = earliest.map_or(0, |(index, _)| index);
        let free_at = inside.free.swap_remove(index);
        // The next ticket may find another permit free.
        self.changed.notify_all();
        Some(Permit { gate: self, free_at })
    }

    /// Sends everyone away, now and later.
    pub(crate) fn close(&self) {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_all();
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut inside = self.gate.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.free.push(self.free_at);
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_that_was_free_first_is_taken_first() {
        let gate = Gate::new(2);
        let (mut one, mut two) = (gate.take().unwrap(), gate.take().unwrap());
        one.free_at = Duration::from_secs(5);
        two.free_at = Duration::from_secs(3);
        drop((one, two));
        let taken = [gate.take().unwrap(), gate.take().unwrap()].map(|permit| permit.free_at);
        assert_eq!(taken, [Duration::from_secs(3), Duration::from_secs(5)]);
    }

    #[test]
    fn a_closed_gate_sends_away_who_waits_and_who_comes() {
        let gate = Gate::new(1);
        let held = gate.take().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.take().is_none());
            gate.close();
            assert!(waiting.join().unwrap());
        });
        drop(held);
        assert!(gate.take().is_none());
    }
}
