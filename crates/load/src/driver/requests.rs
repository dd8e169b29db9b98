//! The requests under way, in the order of their start.

use crate::engine::Slot;
use crate::index_list::IndexList;
use crate::protocol::RequestId;
use crate::recorder::SentRequest;
use crate::time::Nanos;
use crate::traffic::Tag;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    pub(crate) times: SentRequest,
    pub(crate) slot: Slot,
    pub(crate) tag: Tag,
}

/// How far a request is, for its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) line: Line,
    pub(crate) sent: Option<Nanos>,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

/// The connection of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// One that was there.
    Kept,
    /// A new one, and when it was there.
    New(Option<Nanos>),
}

impl Progress {
    pub(crate) const fn on(line: Line) -> Progress {
        Progress { line, sent: None, bytes_sent: 0, bytes_received: 0 }
    }
}

/// All of them. Memory grows to the highest number under way, then stays.
#[derive(Debug, Default)]
pub(crate) struct RequestsInFlight {
    all: Vec<UnderWay>,
    /// Of each in `all`, where requests are recorded; else empty.
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

    /// From now on `progress` is kept of this request.
    pub(crate) fn follow(&mut self, id: RequestId, line: Line) {
        if self.progress.len() < self.all.len() {
            self.progress.resize(self.all.len(), Progress::on(Line::Kept));
        }
        self.progress[id.0 as usize] = Progress::on(line);
    }

    /// How far a followed request is.
    pub(crate) fn progress(&mut self, id: RequestId) -> &mut Progress {
        &mut self.progress[id.0 as usize]
    }

    /// The one that started first: the next to time out.
    pub(crate) fn first(&self) -> Option<&UnderWay> {
        self.order.first().map(|id| self.at(RequestId(id)))
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}
