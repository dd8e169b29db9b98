//! Requests on their way from the thread that reads a file to the load threads: in batches on a
//! board that all see, each request by its number. Memory comes back.
//!
//! The lock is taken for a batch, not for a request. A thread that is slow holds up nobody: it
//! keeps one batch, and the reader has room for more than there are threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::feed::Stock;
use crate::Stop;
use crate::traffic::Request;

/// Some requests that follow each other. Their memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Those from `count` on are memory only.
    pub(crate) requests: Vec<Request>,
    pub(crate) count: usize,
    /// The number of its first one.
    first: u64,
    /// How many were taken.
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

/// What is ready to be sent.
#[derive(Debug)]
pub(crate) struct Board {
    state: Mutex<State>,
    /// A batch was taken, or a thread has ended: the reader waits for it.
    taken: Condvar,
    /// A batch was put here, or none will be: the beginning of the load waits for it.
    put: Condvar,
    /// Batches that are not wholly taken, at most.
    most: usize,
}

#[derive(Debug)]
struct State {
    batches: VecDeque<Arc<Batch>>,
    /// Requests put here so far.
    count: u64,
    is_over: bool,
    /// Load threads that may still take some.
    threads: usize,
    spare: Vec<Batch>,
}

/// Nobody is left to fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

impl Board {
    /// For so many threads, and so many batches for each.
    pub(crate) fn new(threads: usize, batches: usize) -> Board {
        let most = threads * batches;
        // A thread keeps one that is wholly taken, and the reader fills one.
        let spare = Vec::with_capacity(most + threads + 1);
        let batches = VecDeque::with_capacity(most);
        let state = State { batches, count: 0, is_over: false, threads, spare };
        Board { state: Mutex::new(state), taken: Condvar::new(), put: Condvar::new(), most }
    }

    /// Waits for room and puts a batch there; gives an emptied one back, or a new one.
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

    /// No further batch will be put there.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.put.notify_all();
    }

    /// Waits for the first batch, or the end, or until told to stop: a load begins with traffic in
    /// the hand.
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
    /// Takes away what is wholly taken.
    fn sweep(&mut self) {
        for place in (0..self.batches.len()).rev() {
            if self.batches[place].is_taken()
                && let Some(batch) = self.batches.remove(place)
            {
                self.give_back(batch);
            }
        }
    }

    /// Keeps the memory, if nobody looks at it any more: else it comes back from who does.
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
    /// One of as many as the board was made for.
    pub(crate) fn new(board: &Arc<Board>) -> Stream {
        Stream { board: Arc::clone(board), batch: Arc::default(), late: false }
    }

    /// Whether this request is there.
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

    /// This request, which is there.
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

/// How long a stop may go unseen before the first batch.
const LOOK: Duration = Duration::from_millis(20);
