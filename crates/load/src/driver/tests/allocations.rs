//! Tests that the hot path does not allocate: ten times the requests need not one more allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use super::*;
use crate::collector::Collector;
use crate::recorder::IntervalStats;
use stampede_traffic::stream::{Batch, BatchQueue, Stream};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts per thread.
struct Counting;

// SAFETY: everything is passed on to the system's allocator unchanged. The counter is a
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
    load_result(case);
    COUNT.get() - before
}

#[test]
fn ten_times_as_many_requests_allocate_no_more() {
    // Within one second, because passing on a second allocates a little, but no request does.
    let of = |requests, habit| {
        let mut case = Case { habit, ..closed(4, Until::Requests(requests)) };
        case.script.service_time = Nanos(100_000);
        allocations(&case)
    };
    assert!(of(1_000, ConnectionHabit::KeepAlive) > 0, "nothing is counted");
    for habit in [ConnectionHabit::KeepAlive, ConnectionHabit::PerRequest] {
        assert_eq!(of(1_000, habit), of(10_000, habit), "{habit:?}");
    }
}

#[test]
fn each_tag_allocates_once() {
    let of = |requests, tags| {
        let mut case = Case { tags, ..closed(4, Until::Requests(requests)) };
        case.script.service_time = Nanos(100_000);
        allocations(&case)
    };
    assert_eq!(of(1_000, 300), of(10_000, 300));
    assert!(of(1_000, 300) > of(1_000, 2));
}

#[test]
fn an_hour_allocates_no_more_than_a_minute() {
    let (check, mut listener) = (Check::default(), Count(0));
    let mut collector = Collector::new(1);
    let mut stats = IntervalStats::new();
    let mut index = 0;
    let mut seconds = |until: u32| {
        let before = COUNT.get();
        while index < until {
            stats.times.response_time.record(u64::from(index) * 1_000_000);
            collector.add(0, &stats, &check);
            stats.clear();
            index += 1;
            collector.report_complete(&mut listener);
        }
        COUNT.get() - before
    };
    assert!(seconds(60) > 0, "nothing is counted");
    assert_eq!(seconds(3_600), 0);
    assert_eq!(listener.0, 3_600);
}

/// No buffers for the ten minutes, only their 600 small messages.
#[test]
fn a_stop_of_ten_minutes_allocates_hardly_more_than_one_of_ten_seconds() {
    let of = |seconds| {
        let mut case = open(every(ms(100), 30), 10);
        let from = ms(1_950);
        case.script.stops = vec![Freeze { from, until: from.plus(Nanos::from_secs(seconds)) }];
        case.script.timestamps = Timestamps::Kernel;
        allocations(&case)
    };
    let (short, long) = (of(10), of(600));
    assert!(long < short + 100, "{long} after {short}");
}

/// Two threads were stopped together, and one is heard first.
#[test]
fn empty_seconds_wait_for_other_threads_without_histograms() {
    let (mut collector, mut reported) = (Collector::new(2), ReportedSeconds::default());
    let before = COUNT.get();
    for thread in 0..2 {
        for _ in 0..600 {
            collector.add_empty(thread, 1, 0);
            collector.report_complete(&mut reported);
        }
    }
    let allocations = COUNT.get() - before;
    assert!(allocations < 50, "{allocations}");
    assert!(reported.seconds.iter().all(|second| second.counts.planned == 2));
    assert_eq!(reported.seconds.len(), 600);
}

struct Count(u32);

impl Listener for Count {
    fn second(&mut self, second: &Second) {
        assert_eq!((second.index, second.times.response_time.len()), (self.0, 1));
        self.0 += 1;
    }
}

#[test]
fn a_feed_sends_batches_without_allocating() {
    let queue = Arc::new(BatchQueue::new(1, 2));
    let mut feed = Feed::new(&Arc::default(), Origin::Stream(Stream::new(&queue)));
    let mut batch = Batch::default();
    let (mut sent, mut allocations) = (0_u32, 0);
    for _ in 0..100 {
        batch.count = 256;
        batch.requests.resize_with(256, Request::default);
        batch = queue.push(batch).unwrap();
        let before = COUNT.get();
        while feed.poll() == FeedStatus::Ready {
            sent += u32::from(feed.take().bytes.is_empty());
        }
        allocations += COUNT.get() - before;
    }
    assert_eq!((sent, allocations), (25_600, 0));
}

#[test]
fn a_list_is_sent_in_any_order_without_allocating() {
    for seed in [None, Some(1)] {
        let traffic: Vec<Request> = (0..3).map(|_| Request::default()).collect();
        let mut feed =
            Feed::new(&Arc::default(), Origin::List(List::new(traffic.into(), seed, None)));
        let before = COUNT.get();
        for _ in 0..1_000 {
            assert_eq!(feed.poll(), FeedStatus::Ready);
            assert!(feed.take().bytes.is_empty());
        }
        assert_eq!(COUNT.get(), before);
    }
}
