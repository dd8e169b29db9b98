//! Times in a histogram of fixed size.

use hdrhistogram::Histogram;

/// Times from 1 µs to 1 h at three significant digits, 32-bit saturating counts; what lies
/// outside is clipped to the edge, and counted when it was too long. About 94 KB, never grows.
#[derive(Clone, Debug)]
pub struct Times {
    histogram: Histogram<u32>,
    clipped: u64,
}

impl Times {
    /// Empty.
    pub fn new() -> Times {
        let histogram = Histogram::new_with_bounds(SHORTEST_NS, LONGEST_NS, DIGITS)
            .expect("the bounds are constants that hdrhistogram accepts");
        Times { histogram, clipped: 0 }
    }

    /// Empty, at two significant digits: 1 % and about 13 KB, for tables of many.
    pub fn coarse() -> Times {
        let histogram = Histogram::new_with_bounds(SHORTEST_NS, LONGEST_NS, COARSE_DIGITS)
            .expect("the bounds are constants that hdrhistogram accepts");
        Times { histogram, clipped: 0 }
    }

    /// Takes one time in ns. Does not allocate.
    pub fn record(&mut self, ns: u64) {
        self.clipped += u64::from(ns > LONGEST_NS);
        self.histogram.saturating_record(ns.clamp(SHORTEST_NS, LONGEST_NS));
    }

    /// Takes the same time `count` times.
    pub fn record_many(&mut self, ns: u64, count: u32) {
        self.clipped += if ns > LONGEST_NS { u64::from(count) } else { 0 };
        self.histogram.saturating_record_n(ns.clamp(SHORTEST_NS, LONGEST_NS), count);
    }

    /// Adds all of `other`. All have the same bounds; of the same digits, nothing is rounded
    /// twice.
    pub fn merge(&mut self, other: &Times) {
        self.histogram.add(&other.histogram).expect("all `Times` share their bounds");
        self.clipped += other.clipped;
    }

    /// Empties it; keeps the memory, all of which it has then touched.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.clipped = 0;
    }

    /// How many times it holds.
    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// The time in ns of the `rank`-th shortest, 1 for the shortest; zero when empty.
    pub fn at_rank(&self, rank: u64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        // The middle of the rank's share: its upper edge, rank / len × len, may come out a
        // little above rank, and hdrhistogram's ceiling then takes the next request.
        let quantile = (rank as f64 - 0.5) / self.len() as f64;
        // hdrhistogram answers with the top of the bucket; the largest bucket may reach
        // beyond the largest time recorded.
        self.histogram.value_at_quantile(quantile).min(self.max())
    }

    /// The longest in ns, to three digits; zero when empty.
    pub fn max(&self) -> u64 {
        self.histogram.max()
    }

    /// The shortest in ns, to three digits; zero when empty.
    pub fn min(&self) -> u64 {
        if self.is_empty() { 0 } else { self.histogram.min() }
    }

    /// Arithmetic mean in ns; zero when empty.
    pub fn mean(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.histogram.mean() }
    }

    /// How many were longer than an hour.
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// The histogram itself, for writing (HDR V2).
    pub fn histogram(&self) -> &Histogram<u32> {
        &self.histogram
    }

    /// From a histogram that was read; `None` when its bounds are not ours.
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

/// 1 µs: below it the clock's own cost shows.
const SHORTEST_NS: u64 = 1_000;
/// 1 h: a request's timeout is far below it.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: every printed percentile is within 0.1 %.
const DIGITS: u8 = 3;
/// Two: within 1 %.
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

    /// `rank / len × len` is above `rank` for many pairs; 49 / 90 is one.
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
    fn many_are_as_many_as_one_by_one() {
        let (mut many, mut single) = (Times::new(), Times::new());
        many.record_many(7_000_000, 3);
        many.record_many(u64::MAX, 2);
        (0..3).for_each(|_| single.record(7_000_000));
        (0..2).for_each(|_| single.record(u64::MAX));
        assert_eq!(many.histogram(), single.histogram());
        assert_eq!((many.len(), many.clipped()), (5, 2));
    }

    #[test]
    fn what_is_longer_than_an_hour_is_clipped_and_counted() {
        let mut times = Times::new();
        times.record(u64::MAX);
        assert_eq!((times.len(), times.clipped()), (1, 1));
    }
}
