//! What a server saw, for the test that asks.

use std::sync::{Mutex, PoisonError};

/// Counts and moments, from the server's start. Moments are ns on the server's clock (see
/// [`crate::Zero`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Requests received whole.
    pub requests: u64,
    /// When each was received, in order of their numbers: the first million.
    pub arrivals_ns: Vec<u64>,
    /// Connections accepted.
    pub connections: u64,
    /// Connections open at once, at most.
    pub connections_open_max: u64,
    /// Requests received and not yet answered, at most.
    pub under_way_max: u64,
}

/// A journal that many threads write.
#[derive(Debug, Default)]
pub(crate) struct SharedJournal(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    journal: Journal,
    connections_open: u64,
    under_way: u64,
}

impl SharedJournal {
    pub(crate) fn read(&self) -> Journal {
        self.with(|open| open.journal.clone())
    }

    /// A connection is open until the guard goes, which must be before the client can see
    /// it closed: what a test reads then is settled.
    pub(crate) fn accepted(&self) -> OpenConnection<'_> {
        self.with(|open| {
            open.journal.connections += 1;
            open.connections_open += 1;
            let most = &mut open.journal.connections_open_max;
            *most = open.connections_open.max(*most);
        });
        OpenConnection(self)
    }

    /// A request is there; `at` is called with the clock stopped for all others, so that
    /// numbers and moments have the same order. It is under way until the guard goes, which
    /// must be before the client can see the answer's end.
    pub(crate) fn received(&self, at: impl FnOnce() -> u64) -> UnderWay<'_> {
        self.with(|open| {
            let at_ns = at();
            open.journal.requests += 1;
            if open.journal.arrivals_ns.len() < ARRIVALS_MAX {
                open.journal.arrivals_ns.push(at_ns);
            }
            open.under_way += 1;
            open.journal.under_way_max = open.under_way.max(open.journal.under_way_max);
            UnderWay { journal: self, number: open.journal.requests, at_ns }
        })
    }

    fn with<T>(&self, what: impl FnOnce(&mut Open) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct OpenConnection<'a>(&'a SharedJournal);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.with(|open| open.connections_open -= 1);
    }
}

/// One request.
#[derive(Debug)]
pub(crate) struct UnderWay<'a> {
    journal: &'a SharedJournal,
    /// 1 for the first.
    pub(crate) number: u64,
    /// When it was received.
    pub(crate) at_ns: u64,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.journal.with(|open| open.under_way -= 1);
    }
}

/// 8 MB: more than any test needs, and a bound.
const ARRIVALS_MAX: usize = 1_000_000;
