//! Passes requests from the thread that reads a file to the load threads. The reader puts batches
//! on a board that all threads see, and a thread finds each request by its number. Memory is
//! reused.
//!
//! The lock is taken once per batch, not per request. A slow load thread delays no other: it keeps
//! one batch, and the board has room for more batches than there are threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stampede_model::stop::Stop;

use super::feed::FeedStatus;
use crate::request::Request;

/// Consecutive requests. Their memory is reused.
#[derive(Debug, Default)]
pub struct Batch {
    /// Requests from index `count` on are only spare memory.
    pub requests: Vec<Request>,
    /// How many requests it has.
    pub count: usize,
    /// Number of its first request in the load.
    first: u64,
    /// How many of its requests were taken.
    taken: AtomicUsize,
}

impl Batch {
    fn index_of(&self, number: u64) -> Option<usize> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (index < self.count).then_some(index)
    }

    fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.count
    }
}

/// The batches that are ready to be sent.
#[derive(Debug)]
pub struct BatchQueue {
    state: Mutex<QueueState>,
    /// Signals the reader: a batch was taken, or a load thread has ended.
    taken: Condvar,
    /// Signals the start of the load: a batch was put here, or there will be none.
    added: Condvar,
    /// Most batches that are not completely taken.
    capacity: usize,
}

#[derive(Debug)]
struct QueueState {
    batches: VecDeque<Arc<Batch>>,
    /// Requests that were put on the board so far.
    count: u64,
    is_over: bool,
    /// Load threads that may still take requests.
    threads: usize,
    spare: Vec<Batch>,
}

/// All load threads have ended: nobody is left to send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoThreadsLeft;

impl BatchQueue {
    /// A board for `threads` threads, with room for `batches` batches per thread.
    pub fn new(threads: usize, batches: usize) -> BatchQueue {
        let capacity = threads * batches;
        // Each thread keeps a batch that is completely taken, and the reader fills another one.
        let spare = Vec::with_capacity(capacity + threads + 1);
        let batches = VecDeque::with_capacity(capacity);
        let state = QueueState { batches, count: 0, is_over: false, threads, spare };
        BatchQueue {
            state: Mutex::new(state),
            taken: Condvar::new(),
            added: Condvar::new(),
            capacity,
        }
    }

    /// Waits for room, then adds a batch. Returns an empty batch to fill next, used or new.
    ///
    /// # Errors
    /// No load thread is left to take it.
    pub fn push(&self, batch: Batch) -> Result<Batch, NoThreadsLeft> {
        let mut state = self.state();
        loop {
            state.remove_taken();
            if state.threads == 0 {
                return Err(NoThreadsLeft);
            }
            if state.batches.len() < self.capacity {
                break;
            }
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let first = state.count;
        state.count += batch.count as u64;
        state.batches.push_back(Arc::new(Batch { first, ..batch }));
        self.added.notify_all();
        let mut spare = state.spare.pop().unwrap_or_default();
        spare.count = 0;
        *spare.taken.get_mut() = 0;
        Ok(spare)
    }

    /// Ends the traffic: no further batch will be added.
    pub fn end(&self) {
        self.state().is_over = true;
        self.added.notify_all();
    }

    /// Waits for the first batch, the end of the traffic or a stop, so that a load begins with
    /// traffic at hand.
    pub fn wait(&self, stop: &Stop) {
        let mut state = self.state();
        while state.count == 0 && !state.is_over && !stop.is_asked() {
            let waited = self.added.wait_timeout(state, STOP_CHECK_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Removes the batches that are completely taken.
    fn remove_taken(&mut self) {
        for index in (0..self.batches.len()).rev() {
            if self.batches[index].is_taken()
                && let Some(batch) = self.batches.remove(index)
            {
                self.reuse(batch);
            }
        }
    }

    /// Keeps the batch's memory for reuse if no thread holds it any more. Otherwise the last thread
    /// that holds it gives it back.
    fn reuse(&mut self, batch: Arc<Batch>) {
        if let Some(batch) = Arc::into_inner(batch)
            && self.spare.len() < self.spare.capacity()
            && batch.requests.capacity() > 0
        {
            self.spare.push(batch);
        }
    }
}

/// A load thread's view of the board.
#[derive(Debug)]
pub struct Stream {
    queue: Arc<BatchQueue>,
    batch: Arc<Batch>,
    late: bool,
}

impl Stream {
    /// The stream of one of the load threads that the board was made for.
    pub fn new(queue: &Arc<BatchQueue>) -> Stream {
        Stream { queue: Arc::clone(queue), batch: Arc::default(), late: false }
    }

    /// Whether this request is ready.
    pub(super) fn poll(&mut self, number: u64) -> FeedStatus {
        let status = match self.batch.index_of(number) {
            Some(_) => FeedStatus::Ready,
            None => self.find(number),
        };
        self.late = status == FeedStatus::Late;
        status
    }

    fn find(&mut self, number: u64) -> FeedStatus {
        let mut state = self.queue.state();
        let found = state.batches.iter().find(|batch| batch.index_of(number).is_some());
        let status = match found.map(Arc::clone) {
            Some(batch) => {
                let before = std::mem::replace(&mut self.batch, batch);
                state.remove_taken();
                state.reuse(before);
                FeedStatus::Ready
            }
            None if state.is_over && number >= state.count => FeedStatus::Ended,
            None => {
                state.remove_taken();
                FeedStatus::Late
            }
        };
        drop(state);
        self.queue.taken.notify_all();
        status
    }

    pub(super) fn was_late(&self) -> bool {
        self.late
    }

    /// This request; it must be ready.
    pub(super) fn at(&mut self, number: u64) -> &Request {
        let index = self.batch.index_of(number).expect("it is there");
        self.batch.taken.fetch_add(1, Ordering::Relaxed);
        &self.batch.requests[index]
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.queue.state().threads -= 1;
        self.queue.taken.notify_all();
    }
}

/// Longest time for which a stop may go unnoticed before the first batch.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);
