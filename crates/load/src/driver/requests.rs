//! The requests in flight of a load thread, in the order of their start, and how they ended.

use stampede_model::time::Nanos;

use crate::engine::Token;
use crate::index_list::IndexList;
use crate::outcome::Outcome;
use crate::protocol::RequestId;
use crate::recorder::SentRequest;
use crate::report::RequestRecord;
use stampede_traffic::answer::BodyLengths;
use stampede_traffic::line::RequestLine;
use stampede_traffic::tag::Tag;

/// One request in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlightRequest {
    pub(crate) times: SentRequest,
    pub(crate) token: Token,
    pub(crate) tag: Tag,
    pub(crate) lengths: BodyLengths,
    pub(crate) line: RequestLine,
}

/// How far a request has come; kept only where requests are recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) connection_use: ConnectionUse,
    pub(crate) sent: Option<Nanos>,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

/// The connection that a request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// A connection that was already open.
    Reused,
    /// A new connection, and when it was established; `None`: not yet.
    New(Option<Nanos>),
}

impl Progress {
    pub(crate) const fn new(connection_use: ConnectionUse) -> Progress {
        Progress { connection_use, sent: None, bytes_sent: 0, bytes_received: 0 }
    }
}

/// All requests in flight. The memory grows to the highest number in flight, then stays.
#[derive(Debug, Default)]
pub(crate) struct RequestsInFlight {
    all: Vec<InFlightRequest>,
    /// The progress of each request in `all`; empty where requests are not recorded.
    progress: Vec<Progress>,
    unused: Vec<RequestId>,
    order: IndexList,
    count: u32,
}

impl RequestsInFlight {
    pub(crate) fn add(&mut self, in_flight: InFlightRequest) -> RequestId {
        let id = match self.unused.pop() {
            Some(id) => {
                self.all[id.0 as usize] = in_flight;
                id
            }
            None => {
                self.all.push(in_flight);
                RequestId(self.all.len() as u32 - 1)
            }
        };
        self.order.push(id.0);
        self.count += 1;
        id
    }

    pub(crate) fn remove(&mut self, id: RequestId) -> InFlightRequest {
        self.order.remove(id.0);
        self.unused.push(id);
        self.count -= 1;
        self.all[id.0 as usize]
    }

    pub(crate) fn at(&self, id: RequestId) -> &InFlightRequest {
        &self.all[id.0 as usize]
    }

    /// From now on the progress of this request is kept.
    pub(crate) fn track_progress(&mut self, id: RequestId, connection_use: ConnectionUse) {
        self.progress.resize(self.all.len(), Progress::new(ConnectionUse::Reused));
        self.progress[id.0 as usize] = Progress::new(connection_use);
    }

    /// The progress of a request that `track_progress` was called for.
    pub(crate) fn progress(&mut self, id: RequestId) -> &mut Progress {
        &mut self.progress[id.0 as usize]
    }

    /// The request that started first, which is the next to time out.
    pub(crate) fn first(&self) -> Option<RequestId> {
        self.order.first().map(RequestId)
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestEnding {
    pub(crate) outcome: Outcome,
    pub(crate) first_byte: Option<Nanos>,
    pub(crate) status: Option<u16>,
}

/// The record of a request. All its times lie between start and end: events that we saw late were
/// noted later than the end, which may be a kernel timestamp.
pub(crate) fn request_record(
    sent_request: &SentRequest,
    tag: Tag,
    progress: Progress,
    ending: RequestEnding,
    done: Nanos,
) -> RequestRecord {
    let noted = |at: Option<Nanos>| at.unwrap_or(done).min(done);
    RequestRecord {
        due: sent_request.due,
        started: sent_request.started,
        connected: match progress.connection_use {
            ConnectionUse::Reused => None,
            ConnectionUse::New(there) => Some(noted(there)),
        },
        sent: noted(progress.sent),
        first_byte: ending.first_byte.map(|at| at.clamp(sent_request.started, done)),
        done,
        bytes_sent: progress.bytes_sent,
        bytes_received: progress.bytes_received,
        tag,
        outcome: ending.outcome,
        status: ending.status,
    }
}
