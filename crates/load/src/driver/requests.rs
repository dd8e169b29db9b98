//! The requests in flight of a load thread, in the order of their start.

use crate::engine::Slot;
use crate::index_list::IndexList;
use crate::protocol::RequestId;
use crate::recorder::SentRequest;
use crate::time::Nanos;
use crate::traffic::Tag;

/// One request in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    pub(crate) times: SentRequest,
    pub(crate) slot: Slot,
    pub(crate) tag: Tag,
}

/// How far a request has come; kept only where requests are recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) line: Line,
    pub(crate) sent: Option<Nanos>,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

/// The connection that a request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A connection that was already open.
    Kept,
    /// A new connection, and when it was established; `None`: not yet.
    New(Option<Nanos>),
}

impl Progress {
    pub(crate) const fn on(line: Line) -> Progress {
        Progress { line, sent: None, bytes_sent: 0, bytes_received: 0 }
    }
}

/// All requests in flight. The memory grows to the highest number in flight, then stays.
#[derive(Debug, Default)]
pub(crate) struct RequestsInFlight {
    all: Vec<UnderWay>,
    /// The progress of each request in `all`; empty where requests are not recorded.
    progress: Vec<Progress>,
    unused: Vec<RequestId>,
    order: IndexList,
    count: u32,
}

impl RequestsInFlight {
    pub(crate) fn add(&mut self, under_way: UnderWay) -> RequestId {
        let id = match self.unused.pop() {
            Some(id) => {
                self.all[id.0 as usize] = under_way;
                id
            }
            None => {
                self.all.push(under_way);
                RequestId(self.all.len() as u32 - 1)
            }
        };
        self.order.push(id.0);
        self.count += 1;
        id
    }

    pub(crate) fn remove(&mut self, id: RequestId) -> UnderWay {
        self.order.remove(id.0);
        self.unused.push(id);
        self.count -= 1;
        self.all[id.0 as usize]
    }

    pub(crate) fn at(&self, id: RequestId) -> &UnderWay {
        &self.all[id.0 as usize]
    }

    /// From now on the progress of this request is kept.
    pub(crate) fn follow(&mut self, id: RequestId, line: Line) {
        if self.progress.len() < self.all.len() {
            self.progress.resize(self.all.len(), Progress::on(Line::Kept));
        }
        self.progress[id.0 as usize] = Progress::on(line);
    }

    /// The progress of a request that `follow` was called for.
    pub(crate) fn progress(&mut self, id: RequestId) -> &mut Progress {
        &mut self.progress[id.0 as usize]
    }

    /// The request that started first, which is the next to time out.
    pub(crate) fn first(&self) -> Option<&UnderWay> {
        self.order.first().map(|id| self.at(RequestId(id)))
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}
