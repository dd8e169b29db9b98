//! The hot path does not allocate: ten times the shots take not one allocation more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use super::*;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

// SAFETY: everything is handed to the system's allocator as it came; the counter is a
// constant-initialised thread-local without a destructor, so touching it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract, and `memory` is the system's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps `realloc`'s contract, and `memory` is the system's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of a whole load; the driver runs on the test's own thread.
fn allocations(case: &Case) -> u64 {
    let before = COUNT.get();
    fired(case);
    COUNT.get() - before
}

#[test]
fn ten_times_the_shots_take_no_allocation_more() {
    // Within one second, for handing on a second allocates a little, and no shot does that.
    let of = |requests, habit| {
        let mut case = Case { habit, ..closed(4, Until::Requests(requests)) };
        case.script.service_time = Nanos(100_000);
        allocations(&case)
    };
    assert!(of(1_000, ConnectionHabit::KeepAlive) > 0, "nothing is counted");
    for habit in [ConnectionHabit::KeepAlive, ConnectionHabit::PerShot] {
        assert_eq!(of(1_000, habit), of(10_000, habit), "{habit:?}");
    }
}
