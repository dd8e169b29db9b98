//! The load threads: they start on a common clock, stop together, and are joined.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use stampede_linux::guarded_thread::GuardedThread;
use stampede_model::part::Part;
use stampede_model::stop::Stop;

use super::LoadError;
use super::thread::{ThreadLoad, engine, pin, run_loads};
use crate::check::Check;
use crate::collector::{Collected, collect};
use crate::driver::{LoadParts, ThreadReport};
use crate::recorder::{IntervalStats, Message, ReturnedBuffer};
use crate::report::Listener;
use crate::sched;
use crate::spec::Load;

/// The load threads, set up and waiting for the start. Dropping this ends them and waits for their
/// end.
pub(super) struct LoadThreads {
    stop: Stop,
    /// For each thread, where emptied buffers of its next load are returned; loads in reverse order.
    back: Vec<Vec<Sender<ReturnedBuffer>>>,
    begin: Vec<Sender<Instant>>,
    /// A thread returns `None` if it was told to end before the start.
    threads: Vec<GuardedThread<Option<ThreadReport>>>,
    /// The numbers of threads that have panicked.
    gone: Arc<Mutex<Vec<usize>>>,
}

impl LoadThreads {
    /// No thread yet. `stop` is asked for if one panics.
    pub(super) fn new(stop: &Stop) -> LoadThreads {
        LoadThreads {
            stop: stop.clone(),
            back: Vec::new(),
            begin: Vec::new(),
            threads: Vec::new(),
            gone: Arc::default(),
        }
    }

    /// Starts a load thread, and returns once it is pinned and has all it needs. It runs its loads
    /// one after the other, each when it is told to begin.
    pub(super) fn spawn_thread(
        &mut self,
        load: &Load,
        share: Part,
        loads: Vec<ThreadLoad>,
        to_us: Sender<Message>,
    ) -> Result<(), LoadError> {
        let stop = self.stop.clone();
        let thread = share.index() as usize;
        // Unlike the threads of other agents, too.
        let turn = load.part.nth(u64::from(share.index())) as usize;
        let load = Load { target: load.target.clone().for_thread(turn), ..load.clone() };
        let count = loads.len();
        self.spawn(count, to_us, move |ends| {
            sched::unshare_descriptors();
            sched::reduce_wakeup_delay();
            let pinned = load.cpus.get(thread).map_or(Ok(()), |cpu| pin(*cpu));
            match pinned.and_then(|()| engine(&load)) {
                Ok(engine) => {
                    let loads = loads.into_iter().zip(ends.empty);
                    let set_up = |(one, empty): (ThreadLoad, _)| {
                        one.set_up(share, ends.to_us.clone(), empty)
                    };
                    let loads: Vec<LoadParts> = loads.map(set_up).collect();
                    let _ = ends.ready.send(Ok(()));
                    run_loads(&load, engine, loads, &stop, &ends.starts)
                }
                Err(error) => {
                    let _ = ends.ready.send(Err(error));
                    None
                }
            }
        })
    }

    /// Starts a thread that does `work` for this many loads, and returns once it is ready. If it
    /// panics, the whole load is stopped.
    pub(super) fn spawn(
        &mut self,
        loads: usize,
        to_us: Sender<Message>,
        work: impl FnOnce(ThreadEnds) -> Option<ThreadReport> + Send + 'static,
    ) -> Result<(), LoadError> {
        let (back, empty) = (0..loads).map(|_| buffers()).unzip();
        let (begin, starts) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let thread = self.threads.len();
        let at_panic = self.at_panic(thread, &ready, &to_us);
        let ends = ThreadEnds { empty, starts, ready, to_us };
        let name = format!("load {thread}");
        let thread = GuardedThread::spawn(name, || work(ends), at_panic);
        let thread = thread.map_err(LoadError::Thread)?;
        let mut back: Vec<_> = back;
        back.reverse();
        self.back.push(back);
        self.begin.push(begin);
        self.threads.push(thread);
        is_ready.recv().unwrap_or(Ok(()))
    }

    /// What a thread does at its panic. It stops the load, because the other threads would send on
    /// to the end of the schedule, and says that it sends no more.
    fn at_panic(
        &self,
        thread: usize,
        ready: &Sender<Result<(), LoadError>>,
        to_us: &Sender<Message>,
    ) -> impl FnOnce() + Send + use<> {
        let (stop, gone) = (self.stop.clone(), Arc::clone(&self.gone));
        let (ready, to_us) = (ready.clone(), to_us.clone());
        move || {
            stop.ask();
            gone.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
            let _ = ready.send(Ok(()));
            let _ = to_us.send(Message::Finished { thread });
        }
    }

    /// Starts the next load of all threads, at `begin` or at once. Returns what was measured when all
    /// have finished it.
    pub(super) fn run(
        &mut self,
        begin: Option<Instant>,
        messages: &Receiver<Message>,
        check: &Check,
        listener: &mut dyn Listener,
    ) -> Collected {
        let soonest = Instant::now() + HEAD_ROOM;
        let epoch = begin.map_or(soonest, |begin| begin.max(soonest));
        // A thread that has ended by now has panicked; joining it reports the panic. One that panics
        // after this look says that it has finished.
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.begin.iter().for_each(|begin| {
            let _ = begin.send(epoch);
        });
        listener.began(epoch);
        let back: Vec<_> = self.back.iter_mut().filter_map(Vec::pop).collect();
        collect(messages, &back, &gone, check, listener)
    }

    /// Waits for the threads' end, after their last load.
    pub(super) fn join(mut self) -> Result<Vec<ThreadReport>, LoadError> {
        let joined = self.threads.drain(..).map(|thread| {
            let name = thread.name().to_owned();
            thread.join().map_err(|panicked| LoadError::of_panic(&name, panicked))
        });
        // All are joined before the first error is returned.
        let joined: Vec<_> = joined.collect();
        let reports: Vec<Option<ThreadReport>> = joined.into_iter().collect::<Result<_, _>>()?;
        Ok(reports.into_iter().flatten().collect())
    }
}

impl Drop for LoadThreads {
    fn drop(&mut self) {
        // Here the panic is the listener's.
        if thread::panicking() {
            self.stop.ask();
        }
        self.begin.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What connects a load thread with the thread that called `run_load`.
pub(super) struct ThreadEnds {
    /// Buffers that come back, for each load.
    pub(super) empty: Vec<Receiver<ReturnedBuffer>>,
    /// The zero of each load's clock.
    pub(super) starts: Receiver<Instant>,
    /// Whether the thread could be set up.
    pub(super) ready: Sender<Result<(), LoadError>>,
    pub(super) to_us: Sender<Message>,
}

/// The buffers of a load thread, which circulate. There are three, one of them in the recorder. So a
/// load thread allocates none, even when a listener is a second late.
fn buffers() -> (Sender<ReturnedBuffer>, Receiver<ReturnedBuffer>) {
    let (back, empty) = mpsc::channel();
    for _ in 0..2 {
        let _ = back.send(ReturnedBuffer::IntervalStats(Box::new(IntervalStats::new())));
    }
    (back, empty)
}

/// From the call that starts the load to the zero of its clock. Waking all load threads takes up to
/// 0.2 ms each. Without this time, the first request of each load would be late.
const HEAD_ROOM: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests;
