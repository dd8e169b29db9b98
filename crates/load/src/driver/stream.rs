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

use super::feed::Stock;
use crate::Stop;
use crate::traffic::Request;

/// Consecutive requests. Their memory is reused.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Requests from index `count` on are only spare memory.
    pub(crate) requests: Vec<Request>,
    pub(crate) count: usize,
    /// Number of its first request in the load.
    first: u64,
    /// How many of its requests were taken.
    taken: AtomicUsize,
}

impl Batch {
    fn place(&self, number: u64) -> Option<usize> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (place < self.count).then_some(place)
    }

    fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.count
    }
}

/// The batches that are ready to be sent.
#[derive(Debug)]
pub(crate) struct Board {
    state: Mutex<State>,
    /// Signals the reader: a batch was taken, or a load thread has ended.
    taken: Condvar,
    /// Signals the start of the load: a batch was put here, or there will be none.
    put: Condvar,
    /// Most batches that are not completely taken.
    most: usize,
}

#[derive(Debug)]
struct State {
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
pub(crate) struct Gone;

impl Board {
    /// A board for `threads` threads, with room for `batches` batches per thread.
    pub(crate) fn new(threads: usize, batches: usize) -> Board {
        let most = threads * batches;
        // Each thread keeps a batch that is completely taken, and the reader fills another one.
        let spare = Vec::with_capacity(most + threads + 1);
        let batches = VecDeque::with_capacity(most);
        let state = State { batches, count: 0, is_over: false, threads, spare };
        Board { state: Mutex::new(state), taken: Condvar::new(), put: Condvar::new(), most }
    }

    /// Waits for room, then adds a batch. Returns an empty batch to fill next, used or new.
    pub(crate) fn put(&self, batch: Batch) -> Result<Batch, Gone> {
        let mut state = self.state();
        loop {
            state.sweep();
            if state.threads == 0 {
                return Err(Gone);
            }
            if state.batches.len() < self.most {
                break;
            }
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let first = state.count;
        state.count += batch.count as u64;
        state.batches.push_back(Arc::new(Batch { first, ..batch }));
        self.put.notify_all();
        let mut spare = state.spare.pop().unwrap_or_default();
        spare.count = 0;
        *spare.taken.get_mut() = 0;
        Ok(spare)
    }

    /// Ends the traffic: no further batch will be added.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.put.notify_all();
    }

    /// Waits for the first batch, the end of the traffic or a stop, so that a load begins with
    /// traffic at hand.
    pub(crate) fn wait(&self, stop: &Stop) {
        let mut state = self.state();
        while state.count == 0 && !state.is_over && !stop.is_asked() {
            let waited = self.put.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Removes the batches that are completely taken.
    fn sweep(&mut self) {
        for place in (0..self.batches.len()).rev() {
            if self.batches[place].is_taken()
                && let Some(batch) = self.batches.remove(place)
            {
                self.give_back(batch);
            }
        }
    }

    /// Keeps the batch's memory for reuse if no thread holds it any more. Otherwise the last thread
    /// that holds it gives it back.
    fn give_back(&mut self, batch: Arc<Batch>) {
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
pub(crate) struct Stream {
    board: Arc<Board>,
    batch: Arc<Batch>,
    late: bool,
}

impl Stream {
    /// The stream of one of the load threads that the board was made for.
    pub(crate) fn new(board: &Arc<Board>) -> Stream {
        Stream { board: Arc::clone(board), batch: Arc::default(), late: false }
    }

    /// Whether this request is ready.
    pub(super) fn stock(&mut self, number: u64) -> Stock {
        let stock = match self.batch.place(number) {
            Some(_) => Stock::There,
            None => self.find(number),
        };
        self.late = stock == Stock::Late;
        stock
    }

    fn find(&mut self, number: u64) -> Stock {
        let mut state = self.board.state();
        let found = state.batches.iter().find(|batch| batch.place(number).is_some());
        let stock = match found.map(Arc::clone) {
            Some(batch) => {
                let before = std::mem::replace(&mut self.batch, batch);
                state.sweep();
                state.give_back(before);
                Stock::There
            }
            None if state.is_over && number >= state.count => Stock::Over,
            None => {
                state.sweep();
                Stock::Late
            }
        };
        drop(state);
        self.board.taken.notify_all();
        stock
    }

    pub(super) fn was_late(&self) -> bool {
        self.late
    }

    /// This request; it must be ready.
    pub(super) fn at(&mut self, number: u64) -> &Request {
        let place = self.batch.place(number).expect("it is there");
        self.batch.taken.fetch_add(1, Ordering::Relaxed);
        &self.batch.requests[place]
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.board.state().threads -= 1;
        self.board.taken.notify_all();
    }
}

/// Longest time for which a stop may go unnoticed before the first batch.
const LOOK: Duration = Duration::from_millis(20);
