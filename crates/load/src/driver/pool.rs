//! The connections of a load thread, and which of them the next request takes.

use super::requests::RequestsInFlight;
use crate::engine::Slot;
use crate::index_list::IndexList;
use crate::protocol::{Protocol, RequestId};
use crate::time::Nanos;

/// One place for a connection. The place stays when its connection is replaced.
#[derive(Debug)]
pub(crate) struct Connection<P> {
    pub(crate) protocol: P,
    pub(crate) state: State,
    /// Under way on it, in the order of their start.
    pub(crate) requests: Vec<RequestId>,
    /// Whether any byte of an answer ever came here.
    pub(crate) answered: bool,
    /// How often one was opened here.
    pub(crate) opened: u64,
    /// For how long requests were under way here on opened connections without an answer.
    pub(crate) waited: Nanos,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// None, or no more.
    Closed,
    /// Asked for.
    Opening,
    /// There.
    Open,
}

/// All of them. Grows as requests are under way at once, up to what the caller starts.
#[derive(Debug)]
pub(crate) struct Pool<P> {
    all: Vec<Connection<P>>,
    /// Open with room for a request, the one used last at the end.
    roomy: IndexList,
    closed: Vec<Slot>,
}

impl<P: Protocol> Pool<P> {
    pub(crate) fn new() -> Pool<P> {
        Pool { all: Vec::new(), roomy: IndexList::default(), closed: Vec::new() }
    }

    /// A connection for a request: the open one that was used last (a small load then stays on
    /// few connections, as with any client's pool), else a closed place, else a new one.
    pub(crate) fn take(&mut self, make: impl FnOnce() -> P) -> Slot {
        if let Some(last) = self.roomy.last() {
            self.roomy.remove(last);
            return Slot(last);
        }
        if let Some(slot) = self.closed.pop() {
            return slot;
        }
        let slot = Slot(self.all.len() as u32);
        self.all.push(Connection {
            protocol: make(),
            state: State::Closed,
            requests: Vec::with_capacity(1),
            answered: false,
            opened: 0,
            waited: Nanos(0),
        });
        slot
    }

    /// The connection may carry a further request.
    pub(crate) fn offer(&mut self, slot: Slot) {
        self.roomy.remove(slot.0);
        self.roomy.push(slot.0);
    }

    /// The connection is gone.
    pub(crate) fn closed(&mut self, slot: Slot) {
        self.roomy.remove(slot.0);
        self.all[slot.index()].state = State::Closed;
        self.closed.push(slot);
    }

    pub(crate) fn at(&mut self, slot: Slot) -> &mut Connection<P> {
        &mut self.all[slot.index()]
    }

    /// Connections opened in places that had requests for at least half of `length` in all, and
    /// never a byte of an answer.
    pub(crate) fn never_answered(&self, length: Nanos) -> u64 {
        let starved = self.all.iter().filter(|connection| {
            let waited = connection.waited.0;
            !connection.answered && waited > 0 && waited.saturating_mul(2) >= length.0
        });
        starved.map(|connection| connection.opened).sum()
    }
}

impl<P> Connection<P> {
    /// When the first of the requests under way here started.
    pub(crate) fn waiting_since(&self, requests: &RequestsInFlight) -> Option<Nanos> {
        self.requests.first().map(|request| requests.at(*request).times.started)
    }
}
