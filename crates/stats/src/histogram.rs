//! Records times in a histogram of fixed size.

mod data;

use hdrhistogram::Histogram;

/// Times from 1 µs to 1 h at three significant digits, with saturating 32-bit counts. Times outside
/// these bounds are clipped to them; those that are too long are counted. Takes about 94 KB and
/// never grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    histogram: Histogram<u32>,
    clipped: u64,
}

impl Times {
    /// Returns an empty histogram.
    pub fn new() -> Times {
        let histogram = Histogram::new_with_bounds(SHORTEST_NS, LONGEST_NS, DIGITS)
            .expect("the bounds are constants that hdrhistogram accepts");
        Times { histogram, clipped: 0 }
    }

    /// Returns an empty histogram with two significant digits (1 %, about 13 KB), for tables of
    /// many.
    pub fn coarse() -> Times {
        let histogram = Histogram::new_with_bounds(SHORTEST_NS, LONGEST_NS, COARSE_DIGITS)
            .expect("the bounds are constants that hdrhistogram accepts");
        Times { histogram, clipped: 0 }
    }

    /// Records one time in ns. Does not allocate.
    pub fn record(&mut self, ns: u64) {
        self.clipped += u64::from(ns > LONGEST_NS);
        self.histogram.saturating_record(ns.clamp(SHORTEST_NS, LONGEST_NS));
    }

    /// Records the same time `count` times.
    pub fn record_many(&mut self, ns: u64, count: u32) {
        self.clipped += if ns > LONGEST_NS { u64::from(count) } else { 0 };
        self.histogram.saturating_record_n(ns.clamp(SHORTEST_NS, LONGEST_NS), count);
    }

    /// Adds all times of `other`. All histograms have the same bounds. With equal digits, nothing
    /// is rounded twice.
    pub fn merge(&mut self, other: &Times) {
        self.histogram.add(&other.histogram).expect("all `Times` share their bounds");
        self.clipped += other.clipped;
    }

    /// Removes all times. Keeps the memory, all of which it has touched then.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.clipped = 0;
    }

    /// Returns the number of times in the histogram.
    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns whether the histogram is empty.
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// Returns the `rank`-th shortest time in ns; rank 1 is the shortest. Zero when empty.
    pub fn at_rank(&self, rank: u64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        // The quantile is in the middle of the rank's share. At the share's upper edge, rank / len
        // × len may be a little above rank, and hdrhistogram would round up to the next request.
        let quantile = (rank as f64 - 0.5) / self.len() as f64;
        // hdrhistogram returns the top of the bucket; that of the largest bucket may exceed the
        // largest recorded time.
        self.histogram.value_at_quantile(quantile).min(self.max())
    }

    /// Returns the longest time in ns, to three digits; zero when empty.
    pub fn max(&self) -> u64 {
        self.histogram.max()
    }

    /// Returns the shortest time in ns, to three digits; zero when empty.
    pub fn min(&self) -> u64 {
        if self.is_empty() { 0 } else { self.histogram.min() }
    }

    /// Returns the arithmetic mean in ns; zero when empty.
    pub fn mean(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.histogram.mean() }
    }

    /// Returns how many times were longer than an hour.
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// Returns the histogram itself, for writing (HDR V2).
    pub fn histogram(&self) -> &Histogram<u32> {
        &self.histogram
    }

    /// Converts a histogram that was read from a file; `None` if its bounds or digits differ from
    /// ours.
    pub fn from_histogram(read: &Histogram<u32>) -> Option<Times> {
        let mut times = Times::new();
        let same = read.low() == SHORTEST_NS && read.sigfig() == DIGITS;
        (same && times.histogram.add(read).is_ok()).then_some(times)
    }
}

impl Default for Times {
    fn default() -> Times {
        Times::new()
    }
}

/// 1 µs: for shorter times, the clock's own cost is visible.
const SHORTEST_NS: u64 = 1_000;
/// 1 h: a request's timeout is far below that.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: every printed percentile is exact to 0.1 %.
const DIGITS: u8 = 3;
/// Two significant digits: exact to 1 %.
const COARSE_DIGITS: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_the_time_of_that_request() {
        let mut times = Times::new();
        (1..=100).for_each(|ms| times.record(ms * 1_000_000));
        for rank in [1, 50, 95, 100] {
            let expected = rank as f64 * 1e6;
            assert!((times.at_rank(rank) as f64 / expected - 1.0).abs() <= 0.001, "{rank}");
        }
    }

    /// For many pairs, `rank / len × len` is above `rank`; 49 / 90 is one of them.
    #[test]
    fn no_rank_is_rounded_up_to_the_next_request() {
        let mut times = Times::new();
        for len in 1..=300 {
            times.record(len * 1_000_000);
            for rank in 1..=len {
                assert!(
                    times.at_rank(rank).abs_diff(rank * 1_000_000) <= rank * 1_000,
                    "{rank} of {len}"
                );
            }
        }
    }

    #[test]
    fn coarse_times_are_within_a_percent_and_small() {
        let mut times = Times::coarse();
        (1..=100).for_each(|ms| times.record(ms * 1_000_000));
        for rank in [1, 50, 95, 100] {
            let expected = rank as f64 * 1e6;
            assert!((times.at_rank(rank) as f64 / expected - 1.0).abs() <= 0.01, "{rank}");
        }
        assert!(times.histogram().distinct_values() < 4_000);
    }

    #[test]
    fn recording_many_equals_recording_one_by_one() {
        let (mut many, mut single) = (Times::new(), Times::new());
        many.record_many(7_000_000, 3);
        many.record_many(u64::MAX, 2);
        (0..3).for_each(|_| single.record(7_000_000));
        (0..2).for_each(|_| single.record(u64::MAX));
        assert_eq!(many.histogram(), single.histogram());
        assert_eq!((many.len(), many.clipped()), (5, 2));
    }

    #[test]
    fn times_longer_than_an_hour_are_clipped_and_counted() {
        let mut times = Times::new();
        times.record(u64::MAX);
        assert_eq!((times.len(), times.clipped()), (1, 1));
    }
}
