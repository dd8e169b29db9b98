//! Makes Ctrl-C and SIGTERM an ordinary way to end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use stampede_load::Stop;

/// Handles the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP) from now on. The first
/// signal asks the running load to stop. The third ends the process at once, and the keeper then
/// ends the stack.
///
/// # Errors
/// Another handler is installed already, which is a bug of ours.
pub fn listen() -> Result<(), ctrlc::Error> {
    // A command that tunes and then compares calls this twice.
    if LISTENS.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        let earlier = ASKED.fetch_add(1, Ordering::Relaxed);
        if let Some(stop) = &*LOAD.lock().unwrap_or_else(PoisonError::into_inner) {
            stop.ask();
        }
        if earlier >= 2 {
            if let Some(last) = *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) {
                last();
            }
            std::process::exit(INTERRUPTED);
        }
    })
}

/// Whether a signal has asked the process to end.
pub fn is_requested() -> bool {
    ASKED.load(Ordering::Relaxed) > 0
}

/// Returns the stop flag for the next load. The flag is already set if an end was asked for.
pub fn stop_for_load() -> Stop {
    let stop = Stop::default();
    let mut load = LOAD.lock().unwrap_or_else(PoisonError::into_inner);
    if is_requested() {
        stop.ask();
    }
    *load = Some(stop.clone());
    stop
}

/// Sets a function to call before a third signal ends the process, because no destructor runs then.
pub fn before_exit(last: fn()) {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
}

static BEFORE_EXIT: Mutex<Option<fn()>> = Mutex::new(None);
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Whether the handler is installed.
static LISTENS: AtomicBool = AtomicBool::new(false);
static LOAD: Mutex<Option<Stop>> = Mutex::new(None);
/// Exit code as shells report it: 128 + SIGINT.
const INTERRUPTED: i32 = 130;
