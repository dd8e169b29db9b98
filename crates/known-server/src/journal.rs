//! Records what a server received, for tests.

use std::sync::{Mutex, PoisonError};

/// Counts and times since the server's start. Times are ns on the server's clock (see
/// [`crate::ClockZero`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Requests received completely.
    pub requests: u64,
    /// When each of the first million requests was received, in the order of their numbers.
    pub arrivals_ns: Vec<u64>,
    /// Accepted connections.
    pub connections: u64,
    /// Most connections that were open at once.
    pub connections_open_max: u64,
    /// Most requests that were received and not yet answered at once.
    pub in_flight_max: u64,
}

/// A journal that many threads write to.
#[derive(Debug, Default)]
pub(crate) struct SharedJournal(Mutex<JournalState>);

#[derive(Debug, Default)]
struct JournalState {
    journal: Journal,
    connections_open: u64,
    in_flight: u64,
}

impl SharedJournal {
    pub(crate) fn read(&self) -> Journal {
        self.with(|open| open.journal.clone())
    }

    /// Notes a connection. It is open until the guard is dropped, which must happen before the
    /// client can see the close. Then a test that has seen it reads final numbers.
    pub(crate) fn accepted(&self) -> OpenConnection<'_> {
        self.with(|open| {
            open.journal.connections += 1;
            open.connections_open += 1;
            let most = &mut open.journal.connections_open_max;
            *most = open.connections_open.max(*most);
        });
        OpenConnection(self)
    }

    /// Notes a request. `at` is called under the lock, so that numbers and times have the same
    /// order. The request is in flight until the guard is dropped, which must happen before the
    /// client can see the end of the answer.
    pub(crate) fn received(&self, at: impl FnOnce() -> u64) -> InFlightGuard<'_> {
        self.with(|open| {
            let at_ns = at();
            open.journal.requests += 1;
            if open.journal.arrivals_ns.len() < ARRIVALS_MAX {
                open.journal.arrivals_ns.push(at_ns);
            }
            open.in_flight += 1;
            open.journal.in_flight_max = open.in_flight.max(open.journal.in_flight_max);
            InFlightGuard { journal: self, number: open.journal.requests, at_ns }
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut JournalState) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Guard of one open connection.
#[derive(Debug)]
pub(crate) struct OpenConnection<'a>(&'a SharedJournal);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.with(|open| open.connections_open -= 1);
    }
}

/// Guard of one request in flight.
#[derive(Debug)]
pub(crate) struct InFlightGuard<'a> {
    journal: &'a SharedJournal,
    /// Number of the request; the first one is 1.
    pub(crate) number: u64,
    /// When it was received, in ns on the server's clock.
    pub(crate) at_ns: u64,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.journal.with(|open| open.in_flight -= 1);
    }
}

/// Most arrivals that are kept: 8 MB, more than any test needs.
const ARRIVALS_MAX: usize = 1_000_000;
