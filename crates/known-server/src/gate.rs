//! A limited number of workers, given out in the order of requests.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Gives out a fixed number of permits, first come first served.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
}

#[derive(Debug)]
struct GateState {
    /// For each free permit, when it was given back, on the server's clock.
    free: Vec<Duration>,
    /// Waiting threads by ticket, in order. Each is woken separately, because waking a thousand for
    /// one permit would leave no time to work.
    waiting: VecDeque<(u64, Arc<Condvar>)>,
    next_ticket: u64,
    closed: bool,
}

impl GateState {
    /// Wakes the first waiting thread, if there is a permit.
    fn wake(&self) {
        if let Some((_, first)) = self.waiting.front().filter(|_| !self.free.is_empty()) {
            first.notify_one();
        }
    }

    fn is_turn_of(&self, ticket: u64) -> bool {
        self.waiting.front().is_some_and(|(first, _)| *first == ticket) && !self.free.is_empty()
    }
}

/// The right to work; it is given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    gate: &'a Gate,
    /// When the worker was free for this request, by arithmetic. So the delays of late wake-ups do
    /// not add up over a queue.
    pub(crate) free_at: Duration,
}

impl Gate {
    pub(crate) fn new(permits: usize) -> Gate {
        let state = GateState {
            free: vec![Duration::ZERO; permits],
            waiting: VecDeque::new(),
            next_ticket: 0,
            closed: false,
        };
        Gate { state: Mutex::new(state) }
    }

    /// Waits for a permit; returns `None` once the gate is closed.
    pub(crate) fn take(&self) -> Option<Permit<'_>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let own = Arc::new(Condvar::new());
        state.waiting.push_back((ticket, Arc::clone(&own)));
        let mut state = own
            .wait_while(state, |state| !state.closed && !state.is_turn_of(ticket))
            .unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return None;
        }
        state.waiting.pop_front();
        let earliest = state.free.iter().enumerate().min_by_key(|(_, free_at)| **free_at);
        let index = earliest.map_or(0, |(index, _)| index);
        let free_at = state.free.swap_remove(index);
        // There may be another free permit for the next thread.
        state.wake();
        Some(Permit { gate: self, free_at })
    }

    /// Closes the gate: all waiting and later callers get `None`.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.waiting.iter().for_each(|(_, own)| own.notify_one());
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.free.push(self.free_at);
        state.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_that_became_free_first_is_taken_first() {
        let gate = Gate::new(2);
        let (mut one, mut two) = (gate.take().unwrap(), gate.take().unwrap());
        one.free_at = Duration::from_secs(5);
        two.free_at = Duration::from_secs(3);
        drop((one, two));
        let taken = [gate.take().unwrap(), gate.take().unwrap()].map(|permit| permit.free_at);
        assert_eq!(taken, [Duration::from_secs(3), Duration::from_secs(5)]);
    }

    #[test]
    fn many_threads_pass_one_after_the_other() {
        let gate = Gate::new(3);
        let working = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..200 {
                scope.spawn(|| {
                    let permit = gate.take().unwrap();
                    let now = working.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
                    assert!(now <= 3, "{now} at once");
                    std::thread::yield_now();
                    working.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(permit);
                });
            }
        });
        assert_eq!(gate.state.lock().unwrap().free.len(), 3);
    }

    #[test]
    fn a_closed_gate_turns_away_waiting_and_later_callers() {
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
