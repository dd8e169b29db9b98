//! The requests of a load thread, in the order in which it fires them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

use crate::ammo::Request;

/// What one load thread fires.
#[derive(Debug)]
pub(crate) enum Feed {
    /// Its share of a list in memory.
    List(List),
    /// Its share of what a reader prepares.
    Stream(Stream),
}

/// What there is to fire now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stock {
    /// A request: `next` gives it.
    There,
    /// None yet: the reader was not fast enough.
    Late,
    /// None any more.
    Over,
}

impl Feed {
    /// What there is. Takes what the reader has prepared, never waits for it.
    pub(crate) fn stock(&mut self) -> Stock {
        match self {
            Feed::List(list) if list.left > 0 => Stock::There,
            Feed::List(_) => Stock::Over,
            Feed::Stream(stream) => stream.stock(),
        }
    }

    /// Whether there was none yet when last looked.
    pub(crate) fn was_late(&self) -> bool {
        match self {
            Feed::List(_) => false,
            Feed::Stream(stream) => stream.late,
        }
    }

    /// The next one; only while there is one.
    pub(crate) fn next(&mut self) -> &Request {
        match self {
            Feed::List(list) => list.next(),
            Feed::Stream(stream) => stream.next(),
        }
    }
}

/// Of a list each `stride`-th, from the first again after the last.
#[derive(Debug)]
pub(crate) struct List {
    ammo: Arc<[Request]>,
    next: usize,
    stride: usize,
    left: u64,
}

impl List {
    /// From the `first`-th on, `count` in all; `None`: as many as are wanted. The list is not
    /// empty.
    pub(crate) fn new(
        ammo: Arc<[Request]>,
        first: usize,
        stride: usize,
        count: Option<u64>,
    ) -> List {
        let next = first % ammo.len();
        List { ammo, next, stride, left: count.unwrap_or(u64::MAX) }
    }

    fn next(&mut self) -> &Request {
        // Without a count it lasts for 584 years at one a nanosecond.
        self.left -= 1;
        let at = self.next;
        self.next = (at + self.stride) % self.ammo.len();
        &self.ammo[at]
    }
}

/// Some requests on their way from the reader. Their memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Those from `count` on are memory only.
    pub(crate) requests: Vec<Request>,
    pub(crate) count: usize,
    /// Whether no further batch follows.
    pub(crate) last: bool,
}

/// Batches from the reader, which go back to it once they are fired.
#[derive(Debug)]
pub(crate) struct Stream {
    thread: usize,
    prepared: Receiver<Batch>,
    back: SyncSender<(usize, Batch)>,
    batch: Batch,
    at: usize,
    late: bool,
}

impl Stream {
    pub(crate) fn new(
        thread: usize,
        prepared: Receiver<Batch>,
        back: SyncSender<(usize, Batch)>,
    ) -> Stream {
        Stream { thread, prepared, back, batch: Batch::default(), at: 0, late: false }
    }

    /// Waits for the first batch: a load begins with ammo in the hand.
    pub(crate) fn wait(&mut self) {
        match self.prepared.recv() {
            Ok(batch) => self.batch = batch,
            Err(_) => self.batch.last = true,
        }
    }

    fn stock(&mut self) -> Stock {
        while self.at == self.batch.count {
            if self.batch.last {
                return Stock::Over;
            }
            match self.prepared.try_recv() {
                Ok(batch) => {
                    let fired = std::mem::replace(&mut self.batch, batch);
                    // There is room for all that exist. The reader is gone once it has given
                    // its last batch: then nobody wants it back.
                    let _ = self.back.try_send((self.thread, fired));
                    self.at = 0;
                }
                Err(TryRecvError::Empty) => {
                    self.late = true;
                    return Stock::Late;
                }
                // It says so before it ends in order: it has panicked.
                Err(TryRecvError::Disconnected) => self.batch.last = true,
            }
        }
        self.late = false;
        Stock::There
    }

    fn next(&mut self) -> &Request {
        self.at += 1;
        &self.batch.requests[self.at - 1]
    }
}
