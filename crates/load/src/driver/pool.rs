//! Manages the connections of a load thread, and chooses the one that the next request uses.

use stampede_model::counts::End;
use stampede_model::failure::Net;
use stampede_model::kept::KeptConnections;
use stampede_model::time::Nanos;

use super::requests::RequestsInFlight;
use crate::engine::Token;
use crate::example::UnusualLengths;
use crate::index_list::IndexList;
use crate::outcome::Outcome;
use crate::protocol::{Aside, Protocol, RequestId};

/// The state of one connection slot. The slot stays when its connection is replaced.
#[derive(Debug)]
pub(crate) struct Connection<P> {
    pub(crate) protocol: P,
    pub(crate) state: ConnectionState,
    /// Requests in flight on it, in the order of their start.
    pub(crate) requests: Vec<RequestId>,
    /// Whether any byte of an answer was ever received in this slot.
    pub(crate) answered: bool,
    /// Whole answers on the present connection.
    pub(crate) answers: u64,
    /// When the last request on the present connection ended. `None`: in the load before.
    idle_since: Option<Nanos>,
    /// For how long the connection was idle before the request in flight. `None`: it was new, or
    /// carried other requests.
    pub(crate) idle: Option<Nanos>,
    /// How many connections were opened in this slot.
    pub(crate) opened: u64,
    /// Total time for which requests were in flight here, on open connections that had never
    /// answered.
    pub(crate) waited: Nanos,
}

/// State of a slot's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    /// Not opened yet, or closed.
    Closed,
    /// Connecting.
    Opening,
    /// Connected.
    Open,
}

/// All slots of a load thread. There are as many as requests were ever in flight at once.
#[derive(Debug)]
pub(crate) struct Pool<P> {
    all: Vec<Connection<P>>,
    /// Slots that can take a further request; the one used last is at the end.
    available: IndexList,
    closed: Vec<Token>,
}

impl<P: Protocol> Pool<P> {
    pub(crate) fn new() -> Pool<P> {
        Pool { all: Vec::new(), available: IndexList::default(), closed: Vec::new() }
    }

    /// Begins another load on the connections that are open, and returns their number.
    pub(crate) fn begin_load(&mut self) -> u64 {
        for connection in &mut self.all {
            (connection.answered, connection.waited) = (false, Nanos(0));
            connection.idle_since = None;
            connection.opened = u64::from(connection.state == ConnectionState::Open);
        }
        self.all.iter().map(|connection| connection.opened).sum()
    }

    /// A connection for a request: the open one that was used last, else a closed slot, else a new
    /// slot. Like any client's pool, this keeps a small load on few connections.
    pub(crate) fn acquire(&mut self, make: impl FnOnce() -> P) -> Token {
        if let Some(last) = self.available.last() {
            self.available.remove(last);
            return Token(last);
        }
        if let Some(token) = self.closed.pop() {
            return token;
        }
        let token = Token(self.all.len() as u32);
        self.all.push(Connection {
            protocol: make(),
            state: ConnectionState::Closed,
            requests: Vec::with_capacity(1),
            answered: false,
            answers: 0,
            idle_since: None,
            idle: None,
            opened: 0,
            waited: Nanos(0),
        });
        token
    }

    /// Marks the connection as able to carry a further request.
    pub(crate) fn mark_available(&mut self, token: Token) {
        self.available.remove(token.0);
        self.available.push(token.0);
    }

    /// Marks the connection as closed.
    pub(crate) fn mark_closed(&mut self, token: Token) {
        self.available.remove(token.0);
        self.all[token.index()].state = ConnectionState::Closed;
        self.closed.push(token);
    }

    pub(crate) fn at(&mut self, token: Token) -> &mut Connection<P> {
        &mut self.all[token.index()]
    }

    /// Number of connections in slots that had requests in flight for at least half of `length` in
    /// all, and never received a byte of an answer.
    pub(crate) fn never_answered(&self, length: Nanos) -> u64 {
        let starved = self.all.iter().filter(|connection| {
            let waited = connection.waited.0;
            !connection.answered && waited > 0 && waited.saturating_mul(2) >= length.0
        });
        starved.map(|connection| connection.opened).sum()
    }
}

impl<P: Protocol> Connection<P> {
    /// A new connection is opened in this slot.
    pub(crate) fn open(&mut self) {
        self.state = ConnectionState::Opening;
        self.protocol.reset();
        self.answers = 0;
    }

    /// Adds a request that starts now.
    pub(crate) fn add(&mut self, id: RequestId, now: Nanos) {
        let is_idle = self.requests.is_empty() && self.answers > 0;
        self.idle = self.idle_since.filter(|_| is_idle).map(|since| now.since(since));
        self.requests.push(id);
    }

    /// Removes a request that has ended at `done`.
    pub(crate) fn remove(&mut self, id: RequestId, done: Nanos) {
        self.requests.retain(|other| *other != id);
        self.idle_since = Some(done);
    }

    /// What a request counts as of which this much arrived. A kept connection may be closed by the
    /// server before the request reaches it, whether we see an orderly close or a reset.
    pub(crate) fn outcome(&self, outcome: Outcome, first_byte: Option<Nanos>) -> Outcome {
        let is_lost = matches!(outcome, Outcome::Net(Net::CutShort | Net::Reset));
        let is_stale = is_lost && self.answers > 0 && first_byte.is_none();
        if is_stale { Outcome::Net(Net::Stale) } else { outcome }
    }

    /// Counts for `kept` whether an idle connection still answered.
    pub(crate) fn count_kept(
        &self,
        outcome: Outcome,
        first_byte: Option<Nanos>,
        kept: &mut KeptConnections,
    ) {
        match (self.idle, outcome) {
            (Some(idle), Outcome::Net(Net::Stale)) => kept.closed(idle, self.answers),
            (Some(idle), _) if first_byte.is_some() => kept.answered(idle),
            _ => {}
        }
    }

    /// When the oldest request in flight here started; `None` where there is none.
    pub(crate) fn waiting_since(&self, requests: &RequestsInFlight) -> Option<Nanos> {
        self.requests.first().map(|request| requests.at(*request).times.started)
    }
}

/// What was observed during a load, besides what the recorder counts.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) opened: u64,
    pub(crate) from_warm_up: u64,
    /// Requests whose bytes could not all be written.
    pub(crate) write_errors: u64,
    pub(crate) kept: KeptConnections,
    pub(crate) aside: Aside,
    pub(crate) unusual: UnusualLengths,
    /// Latest end of an answer of at least one byte, on any connection; `None`: none ended yet.
    /// With kernel timestamps, ends are not seen in their order.
    pub(crate) answered_last: Option<Nanos>,
    pub(crate) not_due: u64,
    pub(crate) end: End,
}

impl Observed {
    /// Nothing yet, but the connections of a warm-up.
    pub(crate) fn new(from_warm_up: u64) -> Observed {
        Observed {
            opened: 0,
            from_warm_up,
            write_errors: 0,
            kept: KeptConnections::default(),
            aside: Aside::default(),
            unusual: UnusualLengths::default(),
            answered_last: None,
            not_due: 0,
            end: End::Complete,
        }
    }
}
