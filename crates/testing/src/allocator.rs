//! An allocator that knows how much memory is in use, for tests of leaks and of the most memory. It counts
//! for the whole process, so such a test is alone in its program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

static LIVE: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

/// The system's allocator with counters. Install it with `#[global_allocator]`.
#[derive(Debug)]
pub struct CountingAllocator;

// SAFETY: passes every call on to the system's allocator unchanged; the counters allocate nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size() as i64;
        let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract that `System` has.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above; `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Bytes in use now.
pub fn live_bytes() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

/// Runs `work`. Returns the most bytes that were in use meanwhile beyond those before, and its result.
pub fn most_bytes<T>(work: impl FnOnce() -> T) -> (i64, T) {
    let before = live_bytes();
    MOST.store(before, Ordering::Relaxed);
    let done = work();
    (MOST.load(Ordering::Relaxed) - before, done)
}
