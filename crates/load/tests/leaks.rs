//! Whatever a server does, nothing of it stays: no descriptor, no thread, no memory. Alone
//! in its program: all three are the process's.

mod bad;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use bad::{LONG, SHORT, WAYS, address, broken, endless, load, oversized, whole};
use stampede_known_server::{Behaviour, KnownServer};
use stampede_load::report::Second;
use stampede_load::spec::Rule;
use stampede_load::{Listener, Stop, fire};

static LIVE: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, which knows how many bytes are in use.
struct Weighing;

// SAFETY: hands every call on to the system's allocator unchanged; the counter allocates
// nothing.
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promises are the ones that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above; `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Weighing = Weighing;

struct Nobody;

impl Listener for Nobody {
    fn second(&mut self, _: &Second) {}
}

/// What this process holds.
#[derive(Debug, PartialEq)]
struct Held {
    descriptors: usize,
    threads: usize,
}

fn held() -> Held {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    Held { descriptors: count("/proc/self/fd"), threads: count("/proc/self/task") }
}

/// What is held once the kernel has taken away the thread that was joined last: it is listed
/// for a moment longer.
fn held_at_rest(expected: &Held) -> Held {
    let begun = Instant::now();
    loop {
        let held = held();
        if held == *expected || begun.elapsed() > Duration::from_secs(5) {
            return held;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Every bad answer once, kept and per shot.
fn all() {
    let ways = [WAYS[0], WAYS[3]];
    let rules =
        ["header x-cache", "body ~ /hello/", "json $.ok"].map(|it| Rule::parse(it).unwrap());
    let lists = [(whole(), LONG), (broken(), LONG), (oversized(), LONG), (endless(), SHORT)];
    for (cases, timeout) in lists {
        for (case, (kind, habit)) in cases.iter().flat_map(|case| ways.map(|way| (case, way))) {
            let server = KnownServer::start(Behaviour::answering(case.answer.clone())).unwrap();
            let mut load = load(address(&server), kind, habit, timeout);
            load.check.rules = rules.to_vec();
            let counts = fire(&load, &Stop::default(), &mut Nobody).unwrap().counts;
            let ended = counts.ok + counts.failed_total() + counts.dropped;
            assert_eq!(counts.planned, ended, "{}, {}", case.name, case.counts_as);
        }
    }
}

#[test]
fn nothing_is_left_of_a_bad_server() {
    // The first round fills what a program makes once.
    all();
    std::thread::sleep(Duration::from_millis(100));
    let (before, bytes_before) = (held(), LIVE.load(Ordering::Relaxed));
    all();
    let grown = LIVE.load(Ordering::Relaxed) - bytes_before;
    assert_eq!(held_at_rest(&before), before);
    assert!(grown < GROWN_MAX, "{grown} bytes more than before");
}

/// Less than one connection's buffer, of the thousands that there were.
const GROWN_MAX: i64 = 1024;
