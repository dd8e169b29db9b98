//! Records times in a histogram of fixed size.

mod data;

pub use data::{PackedTimes, UnpackError, Unpacker};
pub use hdrhistogram::Counter;
use hdrhistogram::Histogram;

/// Times up to 1 h in steps of 64 ns or 0.1 % of the time, whichever is larger. Longer times are
/// counted and clipped to 1 h. The histogram never grows. `C` is the type of a count:
///
/// - `u64`, the default, for merged sets (about 220 KB);
/// - `u32` for one second of one load thread ([`IntervalTimes`], about 110 KB), which cannot
///   overflow.
///
/// Every result is the middle of its step. So it is at most half a step (32 ns or 0.05 %) off, and
/// not too long on average. The top of the step, as HdrHistogram returns it, would add half a step
/// to every figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Times<C: Counter = u64> {
    histogram: Histogram<C>,
    clipped: u64,
}

/// The times of one second of one load thread.
pub type IntervalTimes = Times<u32>;

impl Times {
    /// Returns an empty histogram.
    pub fn new() -> Times {
        Times::with_digits(DIGITS)
    }

    /// Returns an empty histogram with two significant digits (1 %, about 31 KB), for tables of
    /// many.
    pub fn coarse() -> Times {
        Times::with_digits(COARSE_DIGITS)
    }

    /// Adds all times of one second. Both histograms have the same steps: nothing is rounded twice.
    pub fn merge_interval(&mut self, interval: &IntervalTimes) {
        for step in interval.histogram.iter_recorded() {
            let count = u64::from(step.count_at_value());
            self.histogram.saturating_record_n(recorded(step.value_iterated_to()), count);
        }
        self.clipped += interval.clipped;
    }

    /// Converts a histogram that was read from a file. `None`: stampede does not write such bounds.
    /// Results of earlier versions had steps of 512 ns and began at 1 µs; their times become the
    /// middle of those steps.
    pub fn from_histogram(read: &Histogram<u64>) -> Option<Times> {
        let mut times = Times::new();
        match (read.low(), read.sigfig()) {
            (STEP_NS, DIGITS) => times.histogram.add(read).ok()?,
            (EARLIER_STEP_NS, DIGITS) => {
                for step in read.iter_recorded() {
                    let middle = recorded(read.median_equivalent(step.value_iterated_to()));
                    times.histogram.saturating_record_n(middle, step.count_at_value());
                }
            }
            _ => return None,
        }
        Some(times)
    }
}

impl IntervalTimes {
    /// Returns an empty histogram for one second.
    pub fn interval() -> IntervalTimes {
        Times::with_digits(DIGITS)
    }

    /// Returns an empty histogram for one second with two significant digits (about 15 KB).
    pub fn coarse_interval() -> IntervalTimes {
        Times::with_digits(COARSE_DIGITS)
    }
}

impl<C: Counter> Times<C> {
    fn with_digits(digits: u8) -> Times<C> {
        let histogram = Histogram::new_with_bounds(STEP_NS, LONGEST_NS, digits)
            .expect("the bounds are constants that hdrhistogram accepts");
        Times { histogram, clipped: 0 }
    }

    /// Records one time in ns. Does not allocate.
    pub fn record(&mut self, ns: u64) {
        self.clipped += u64::from(ns > LONGEST_NS);
        self.histogram.saturating_record(recorded(ns));
    }

    /// Records the same time `count` times.
    pub fn record_many(&mut self, ns: u64, count: C) {
        self.clipped += if ns > LONGEST_NS { count.as_u64() } else { 0 };
        self.histogram.saturating_record_n(recorded(ns), count);
    }

    /// Adds all times of `other`. All histograms have the same bounds. With equal digits, nothing
    /// is rounded twice.
    pub fn merge(&mut self, other: &Times<C>) {
        if other.is_empty() {
            return;
        }
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
        self.histogram.median_equivalent(self.histogram.value_at_quantile(quantile))
    }

    /// Returns the longest time in ns; zero when empty.
    pub fn max(&self) -> u64 {
        if self.is_empty() { 0 } else { self.histogram.median_equivalent(self.histogram.max()) }
    }

    /// Returns the shortest time in ns; zero when empty.
    pub fn min(&self) -> u64 {
        if self.is_empty() { 0 } else { self.histogram.median_equivalent(self.histogram.min()) }
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
    pub fn histogram(&self) -> &Histogram<C> {
        &self.histogram
    }
}

impl<C: Counter> Default for Times<C> {
    fn default() -> Times<C> {
        Times::with_digits(DIGITS)
    }
}

/// The value that is recorded for a time. All times of the first step are recorded as its top,
/// because hdrhistogram knows no other maximum there once the histogram was written and read.
fn recorded(ns: u64) -> u64 {
    ns.clamp(STEP_NS - 1, LONGEST_NS)
}

/// The smallest step. It is a power of two, because hdrhistogram rounds the lower bound down to
/// one. A reading of the clock costs about as much.
const STEP_NS: u64 = 64;
/// 1 h: a request's timeout is far below that.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: a step of 0.1 % of the time.
const DIGITS: u8 = 3;
/// Two significant digits: a step of 1 %.
const COARSE_DIGITS: u8 = 2;
/// The lower bound of histograms that earlier versions wrote.
const EARLIER_STEP_NS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rank_is_the_time_of_that_request() {
        let mut times = Times::new();
        (1..=100).for_each(|ms| times.record(ms * 1_000_000));
        for rank in [1, 50, 95, 100] {
            let expected = rank as f64 * 1e6;
            assert!((times.at_rank(rank) as f64 / expected - 1.0).abs() <= 0.0005, "{rank}");
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
    fn a_time_is_the_middle_of_its_step() {
        let at = |ns| {
            let mut times = Times::new();
            times.record(ns);
            assert_eq!([times.min(), times.max(), times.mean() as u64], [times.at_rank(1); 3]);
            times.at_rank(1)
        };
        // Steps of 64 ns up to 131 µs, then of 128 ns.
        assert_eq!([at(0), at(63), at(64), at(29_200), at(131_071)], [32, 32, 96, 29_216, 131_040]);
        assert_eq!(at(131_072), 131_136);
    }

    #[test]
    fn a_histogram_stays_small() {
        let bytes = |values: usize, count: usize| values * count;
        let (interval, merged) = (Times::interval(), Times::new());
        assert!(bytes(interval.histogram().distinct_values(), 4) <= 111_000);
        assert!(bytes(merged.histogram().distinct_values(), 8) <= 222_000);
        assert!(bytes(Times::coarse_interval().histogram().distinct_values(), 4) <= 16_000);
    }

    #[test]
    fn coarse_times_are_within_a_percent() {
        let mut times = Times::coarse();
        (1..=100).for_each(|ms| times.record(ms * 1_000_000));
        for rank in [1, 50, 95, 100] {
            let expected = rank as f64 * 1e6;
            assert!((times.at_rank(rank) as f64 / expected - 1.0).abs() <= 0.005, "{rank}");
        }
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

    #[test]
    fn a_histogram_of_an_earlier_version_is_read() {
        let mut earlier = Histogram::<u64>::new_with_bounds(1_000, LONGEST_NS, 3).unwrap();
        // They recorded everything below 1 µs as 1 µs.
        earlier.record_n(1_000, 5).unwrap();
        earlier.record_n(29_200, 1 << 33).unwrap();
        let times = Times::from_histogram(&earlier).unwrap();
        assert_eq!(times.len(), (1 << 33) + 5);
        // The steps of 512 to 1023 ns and of 29 184 to 29 695 ns.
        assert_eq!([times.at_rank(5), times.at_rank(6)], [800, 29_472]);
        let foreign = Histogram::<u64>::new_with_bounds(1, LONGEST_NS, 3).unwrap();
        assert_eq!(Times::from_histogram(&foreign), None);
    }

    /// From 1 ns to 2 h, with as many short times as long ones.
    fn log_uniform() -> impl Strategy<Value = u64> {
        (0.0..7.2e12_f64.ln()).prop_map(|log| log.exp() as u64)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn every_time_is_within_half_a_step(ns in log_uniform()) {
            let mut times = Times::new();
            times.record(ns);
            let exact = ns.min(LONGEST_NS);
            let half_a_step = 32.max(exact / 2_000);
            prop_assert!(times.at_rank(1).abs_diff(exact) <= half_a_step, "{}", times.at_rank(1));
            prop_assert_eq!(times.clipped(), u64::from(ns > LONGEST_NS));
        }

        #[test]
        fn a_merged_set_counts_beyond_32_bits(
            recorded in prop::collection::vec((log_uniform(), 1..u32::MAX / 20), 1..20),
            seconds in 1_u64..200,
        ) {
            let mut interval = Times::interval();
            recorded.iter().for_each(|(ns, count)| interval.record_many(*ns, *count));
            let mut merged = Times::new();
            (0..seconds).for_each(|_| merged.merge_interval(&interval));
            let mut expected = Times::new();
            for (ns, count) in recorded {
                expected.record_many(ns, u64::from(count) * seconds);
            }
            prop_assert_eq!(merged, expected);
        }
    }
}
