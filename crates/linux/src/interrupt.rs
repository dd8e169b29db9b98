//! Makes Ctrl-C and SIGTERM an ordinary way to end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Handles the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP) from now on. The first
/// signal sets the flag of [`new_flag`]. The third ends the process at once, and the keeper then
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
        if let Some(flag) = &*FLAG.lock().unwrap_or_else(PoisonError::into_inner) {
            flag.store(true, Ordering::Relaxed);
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

/// Returns a flag that the next signal sets, for example to stop a load. It is already set if an end
/// was asked for. It takes the place of the flag before.
pub fn new_flag() -> Arc<AtomicBool> {
    let mut flag = FLAG.lock().unwrap_or_else(PoisonError::into_inner);
    let new = Arc::new(AtomicBool::new(is_requested()));
    *flag = Some(Arc::clone(&new));
    new
}

/// Looks again and again, with `pause` between two looks, until `look` finds something. `None`: the
/// time is over, or a signal has asked for the end.
pub fn wait_for<T>(
    within: Duration,
    pause: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Option<T> {
    let begun = Instant::now();
    while begun.elapsed() < within && !is_requested() {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(pause);
    }
    None
}

/// Sets a function to call before a third signal ends the process, because no destructor runs then.
pub fn before_exit(last: fn()) {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
}

static BEFORE_EXIT: Mutex<Option<fn()>> = Mutex::new(None);
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Whether the handler is installed.
static LISTENS: AtomicBool = AtomicBool::new(false);
static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);
/// Exit code as shells report it: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_returned_at_once_and_the_time_ends_the_wait() {
        let mut looks = 0;
        let found = wait_for(Duration::from_secs(60), Duration::ZERO, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, Some(3));
        let nothing = || None::<()>;
        assert_eq!(wait_for(Duration::from_millis(5), Duration::from_millis(1), nothing), None);
    }
}
