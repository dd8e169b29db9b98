//! Makes Ctrl-C and SIGTERM an ordinary way to end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Handles the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP) from now on. The first
/// signal calls the function of [`on_request`]. The third ends the process at once, and the keeper then
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
        if let Some(ask) = &*ON_REQUEST.lock().unwrap_or_else(PoisonError::into_inner) {
            ask();
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

/// Sets a function to call at each signal, such as one that stops the running load. It replaces the
/// function before. It is called at once if an end was asked for already.
pub fn on_request(ask: impl Fn() + Send + 'static) {
    let mut on_request = ON_REQUEST.lock().unwrap_or_else(PoisonError::into_inner);
    if is_requested() {
        ask();
    }
    *on_request = Some(Box::new(ask));
}

/// Sets a function to call before a third signal ends the process, because no destructor runs then.
pub fn before_exit(last: fn()) {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
}

static BEFORE_EXIT: Mutex<Option<fn()>> = Mutex::new(None);
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Whether the handler is installed.
static LISTENS: AtomicBool = AtomicBool::new(false);
static ON_REQUEST: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);
/// Exit code as shells report it: 128 + SIGINT.
const INTERRUPTED: i32 = 130;
