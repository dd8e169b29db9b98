//! The connections of a load thread, and which of them the next shot takes.

use super::shots::Shots;
use crate::chain::Chain;
use crate::engine::Slot;
use crate::protocol::{Protocol, ShotId};
use crate::time::Nanos;

/// One place for a connection. The place stays when its connection is replaced.
#[derive(Debug)]
pub(crate) struct Connection<P> {
    pub(crate) protocol: P,
    pub(crate) state: State,
    /// Under way on it, in the order of their start.
    pub(crate) shots: Vec<ShotId>,
    /// Whether any byte of an answer ever came here.
    pub(crate) answered: bool,
    /// How often one was opened here.
    pub(crate) opened: u64,
    /// For how long shots were under way here on opened connections without an answer.
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

/// All of them. Grows as shots are under way at once, up to what the caller starts.
#[derive(Debug)]
pub(crate) struct Pool<P> {
    all: Vec<Connection<P>>,
    /// Open with room for a shot, the one used last at the end.
    roomy: Chain,
    closed: Vec<Slot>,
}

impl<P: Protocol> Pool<P> {
    pub(crate) fn new() -> Pool<P> {
        Pool { all: Vec::new(), roomy: Chain::default(), closed: Vec::new() }
    }

    /// A connection for a shot: the open one that was used last (a small load then stays on
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
            shots: Vec::with_capacity(1),
            answered: false,
            opened: 0,
            waited: Nanos(0),
        });
        slot
    }

    /// The connection may carry a further shot.
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

    /// Connections opened in places that had shots for at least half of `length` in all, and
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
    /// When the first of the shots under way here started.
    pub(crate) fn waiting_since(&self, shots: &Shots) -> Option<Nanos> {
        self.shots.first().map(|shot| shots.at(*shot).shot.started)
    }
}
