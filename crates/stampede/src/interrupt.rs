//! Ctrl-C and SIGTERM as an ordinary way to end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use stampede_load::Stop;

/// Takes the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP) from now on. The
/// first asks the load under way to stop; the third ends the process at once, and the
/// keeper ends the rest.
///
/// # Errors
/// When another handler is there already: a bug of ours.
pub fn listen() -> Result<(), ctrlc::Error> {
    // What tunes before it compares begins twice.
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

/// Whether an end was asked for.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed) > 0
}

/// The stop flag of the load about to be run: already asked when an end was.
pub fn stop_for_load() -> Stop {
    let stop = Stop::default();
    let mut load = LOAD.lock().unwrap_or_else(PoisonError::into_inner);
    if asked() {
        stop.ask();
    }
    *load = Some(stop.clone());
    stop
}

/// What is done before a third signal ends the process: nothing is dropped then.
pub fn before_exit(last: fn()) {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
}

static BEFORE_EXIT: Mutex<Option<fn()>> = Mutex::new(None);
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Whether the handler is there.
static LISTENS: AtomicBool = AtomicBool::new(false);
static LOAD: Mutex<Option<Stop>> = Mutex::new(None);
/// 128 + SIGINT, as shells report it.
const INTERRUPTED: i32 = 130;
