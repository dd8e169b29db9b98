//! Threads whose panic ends only their own work, also in builds where a panic ends the process.

use std::cell::Cell;
use std::io;
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

/// A thread that may panic. Release builds cannot unwind its stack, because the tables for that would
/// be a fifth of the binary: there it stands still from its panic until the process ends, and
/// keeps what it holds. So whatever others wait for must be done in `at_panic`.
#[derive(Debug)]
pub struct GuardedThread<T> {
    handle: JoinHandle<()>,
    ended: Receiver<Result<T, Panicked>>,
}

/// A thread panicked, which is a bug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("panicked: {message}")]
pub struct Panicked {
    /// What the panic said; empty where it said nothing.
    pub message: String,
}

impl<T: Send + 'static> GuardedThread<T> {
    /// Starts a thread that does `work`. If it panics, it calls `at_panic` after it has told that.
    ///
    /// # Errors
    /// The system starts no more threads.
    pub fn spawn(
        name: String,
        work: impl FnOnce() -> T + Send + 'static,
        at_panic: impl FnOnce() + Send + 'static,
    ) -> io::Result<GuardedThread<T>> {
        HOOK.call_once(guard_threads);
        let (end, ended) = mpsc::channel();
        let handle = thread::Builder::new().name(name).spawn(move || {
            let of_panic = end.clone();
            LAST_WORDS.set(Some(Box::new(move |panicked| {
                let _ = of_panic.send(Err(panicked));
                at_panic();
            })));
            let _ = end.send(Ok(work()));
        })?;
        Ok(GuardedThread { handle, ended })
    }

    /// The thread's name.
    pub fn name(&self) -> &str {
        self.handle.thread().name().unwrap_or_default()
    }

    /// Waits for the thread's end and returns its result.
    ///
    /// # Errors
    /// The thread panicked.
    pub fn join(self) -> Result<T, Panicked> {
        let gone = |_| Err(Panicked { message: String::new() });
        let result = self.ended.recv().unwrap_or_else(gone);
        if result.is_ok() {
            let _ = self.handle.join();
        }
        result
    }
}

/// What a thread does at its panic.
type LastWords = Box<dyn FnOnce(Panicked)>;

thread_local! {
    static LAST_WORDS: Cell<Option<LastWords>> = const { Cell::new(None) };
}
static HOOK: Once = Once::new();

/// Makes each guarded thread tell of its panic. While a thread stands still in the hook, the hook
/// cannot be changed any more: all hooks are set before.
fn guard_threads() {
    let earlier = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        earlier(panic);
        if let Some(tell) = LAST_WORDS.try_with(Cell::take).ok().flatten() {
            tell(Panicked { message: message(panic) });
            while cfg!(panic = "abort") {
                thread::park();
            }
        }
    }));
}

fn message(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_end_of_a_thread_is_its_result_or_its_panic() {
        let panics = Arc::new(AtomicU32::new(0));
        let spawn = |work: fn() -> u32| {
            let panics = Arc::clone(&panics);
            let at_panic = move || {
                panics.fetch_add(1, Ordering::Relaxed);
            };
            GuardedThread::spawn("guarded".to_owned(), work, at_panic).expect("a thread")
        };
        let threads = [spawn(|| 7), spawn(|| panic!("a number: {}", 8)), spawn(|| panic!("text"))];
        assert!(threads.iter().all(|thread| thread.name() == "guarded"));
        let ends = threads.map(GuardedThread::join);
        let panicked = |message: &str| Err(Panicked { message: message.to_owned() });
        assert_eq!(ends, [Ok(7), panicked("a number: 8"), panicked("text")]);
        // The message is told first: nobody waits for what is done afterwards.
        let is_done = || panics.load(Ordering::Relaxed) == 2;
        assert!((0..1_000).any(|_| {
            thread::sleep(std::time::Duration::from_millis(1));
            is_done()
        }));
    }

    #[test]
    fn other_threads_unwind_as_before() {
        GuardedThread::spawn("guarded".to_owned(), || (), || ())
            .expect("a thread")
            .join()
            .expect("fine");
        assert!(thread::spawn(|| panic!("injected")).join().is_err());
    }
}
