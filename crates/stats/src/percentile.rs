//! Computes percentiles that rank every planned request, also those without a correct answer.

use crate::histogram::Times;

/// The times of all correct answers, and the number of planned requests without one.
///
/// Each planned request has a rank. A request without a correct answer (failed or dropped) ranks
/// slower than all answers: an error page after 100 µs must not improve the figure.
#[derive(Clone, Copy, Debug)]
pub struct Ranked<'a> {
    /// Times of the requests with the outcome `ok`.
    pub answered: &'a Times,
    /// Planned requests without a correct answer.
    pub failed: u64,
}

/// The value at a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    /// A correct answer that took this many ns.
    At(u64),
    /// A request without a correct answer has this rank, or the rank of a lower percentile that
    /// [`BEYOND`] requests lie beyond.
    Failed,
    /// Fewer than [`BEYOND`] requests lie beyond it: the next trial would not repeat the figure. An
    /// empty set has this value too.
    TooFew,
}

/// A mean or a maximum over all planned requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoundedValue {
    /// The value in ns; every planned request had a correct answer.
    Exactly(f64),
    /// A lower bound in ns; some requests had no correct answer.
    AtLeast(f64),
    /// A request had no correct answer, and no lower bound of its time is known.
    Failed,
    /// No request was planned.
    Empty,
}

/// Requests that a timeout ended: they would have taken at least that long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// Number of these requests, which `Ranked::failed` counts too.
    pub requests: u64,
    /// The timeout in ns.
    pub after_ns: u64,
}

/// Requests that must lie beyond a percentile, so that it does not depend on chance.
pub const BEYOND: u64 = 10;

impl<'a> Ranked<'a> {
    /// Ranks the correct answers alone.
    pub fn ok_alone(answered: &'a Times) -> Ranked<'a> {
        Ranked { answered, failed: 0 }
    }

    /// Returns the number of requests that have a rank.
    pub fn planned(&self) -> u64 {
        self.answered.len() + self.failed
    }

    /// Returns the value at `percent`, above 0 and at most 100 (`99.9`): that of the request with
    /// rank ceil(percent / 100 × planned), 1 at least. At 100 it is the slowest request, and never
    /// `TooFew` unless nothing was planned. A percentile above a `Failed` one is never `TooFew`
    /// either.
    pub fn percentile(&self, percent: f64) -> Percentile {
        let planned = self.planned();
        if planned == 0 {
            return Percentile::TooFew;
        }
        let rank = rank(percent, planned);
        let is_slowest = percent >= 100.0;
        if rank > self.answered.len() {
            // The highest percentile with enough requests beyond it has failed, so this one has
            // failed too.
            let sure = is_slowest || self.failed > BEYOND || self.answered.is_empty();
            return if sure { Percentile::Failed } else { Percentile::TooFew };
        }
        if planned - rank < BEYOND && !is_slowest {
            return Percentile::TooFew;
        }
        Percentile::At(self.answered.at_rank(rank))
    }

    /// Returns the time of the slowest request. If a timeout ended a request, that is a lower
    /// bound. If requests failed in other ways only, nothing is known: `Failed`.
    pub fn max(&self, cut_off: CutOff) -> BoundedValue {
        let longest = self.answered.max();
        match (self.planned(), self.failed, cut_off.requests) {
            (0, _, _) => BoundedValue::Empty,
            (_, 0, _) => BoundedValue::Exactly(longest as f64),
            (_, _, 0) => BoundedValue::Failed,
            _ => BoundedValue::AtLeast(longest.max(cut_off.after_ns) as f64),
        }
    }

    /// Returns the arithmetic mean over all planned requests. A request without a correct answer
    /// counts with the least time that its rank allows: the longest answer, or the timeout if it is
    /// longer and ended the request. So with such requests the mean is only `AtLeast`. `Failed` if
    /// no request has a time.
    pub fn mean(&self, cut_off: CutOff) -> BoundedValue {
        let answered = self.answered.len();
        let longest = self.answered.max();
        match (self.planned(), answered, self.failed, cut_off.requests) {
            (0, _, _, _) => return BoundedValue::Empty,
            (_, _, 0, _) => return BoundedValue::Exactly(self.answered.mean()),
            (_, 0, _, 0) => return BoundedValue::Failed,
            _ => {}
        }
        let cut = cut_off.requests.min(self.failed);
        let sum = self.answered.mean() * answered as f64
            + longest.max(cut_off.after_ns) as f64 * cut as f64
            + longest as f64 * (self.failed - cut) as f64;
        BoundedValue::AtLeast(sum / self.planned() as f64)
    }
}

/// Returns the rank of a percentile among `planned` requests: from 1 to `planned`, 1 if nothing was
/// planned. It is computed in whole millionths. In floating point, 99.9 / 100 × 1000 is a little
/// more than 999, and its ceiling is wrong by one.
pub fn rank(percent: f64, planned: u64) -> u64 {
    let millionths = (percent.clamp(0.0, 100.0) * 10_000.0).round() as u128;
    let rank = (millionths * u128::from(planned)).div_ceil(1_000_000);
    u64::try_from(rank).unwrap_or(planned).clamp(1, planned.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(ns: impl IntoIterator<Item = u64>) -> Times {
        let mut times = Times::new();
        ns.into_iter().for_each(|ns| times.record(ns));
        times
    }

    const NONE_CUT: CutOff = CutOff { requests: 0, after_ns: 11_000_000_000 };

    #[test]
    fn the_rank_is_exact_where_doubles_are_not() {
        assert_eq!(rank(99.9, 1_000), 999);
        assert_eq!(rank(99.9, 1_001), 1_000);
        assert_eq!(rank(50.0, 1), 1);
        assert_eq!(rank(0.0001, 10), 1);
        assert_eq!(rank(100.0, u64::MAX), u64::MAX);
        assert_eq!(rank(50.0, 0), 1, "of nothing, and no panic");
    }

    #[test]
    fn requests_without_an_answer_rank_slowest() {
        // 900 answers of 1 ms, 100 failed: the first 90 % of ranks are answers, the others are not.
        let answered = times((0..900).map(|_| 1_000_000));
        let ranked = Ranked { answered: &answered, failed: 100 };
        assert!(matches!(ranked.percentile(90.0), Percentile::At(_)));
        assert_eq!(ranked.percentile(90.1), Percentile::Failed);
        assert_eq!(ranked.percentile(98.9), Percentile::Failed);
        assert_eq!(ranked.percentile(100.0), Percentile::Failed);
    }

    #[test]
    fn ten_requests_must_lie_beyond_a_percentile_but_the_maximum_always_exists() {
        let answered = times((1..=100).map(|ms| ms * 1_000_000));
        let ranked = Ranked::ok_alone(&answered);
        assert!(matches!(ranked.percentile(90.0), Percentile::At(_)));
        assert_eq!(ranked.percentile(90.1), Percentile::TooFew);
        assert!(matches!(ranked.percentile(100.0), Percentile::At(_)));
    }

    #[test]
    fn percentiles_above_a_failed_one_are_failed() {
        // The last rank with ten beyond it is the 90th. It has no answer if eleven failed, but one
        // if ten did.
        let at = |answered, failed, percent| {
            let answered = times((0..answered).map(|_| 1_000_000));
            Ranked { answered: &answered, failed }.percentile(percent)
        };
        assert_eq!(at(89, 11, 95.0), Percentile::Failed);
        assert_eq!(at(90, 10, 95.0), Percentile::TooFew);
        assert_eq!(at(89, 11, 89.1), Percentile::Failed);
        // If all of five requests have no answer, nothing else can be said.
        assert_eq!(at(0, 5, 50.0), Percentile::Failed);
        assert_eq!(at(1, 5, 50.0), Percentile::TooFew);
    }

    #[test]
    fn nothing_planned_has_no_figure() {
        let ranked = Ranked { answered: &Times::new(), failed: 0 };
        assert_eq!(ranked.percentile(100.0), Percentile::TooFew);
        assert_eq!(
            (ranked.max(NONE_CUT), ranked.mean(NONE_CUT)),
            (BoundedValue::Empty, BoundedValue::Empty)
        );
    }

    #[test]
    fn a_timeout_gives_a_lower_bound() {
        let answered = times([1_000_000, 3_000_000]);
        let ranked = Ranked { answered: &answered, failed: 2 };
        let cut = CutOff { requests: 1, after_ns: 100_000_000 };
        assert_eq!(ranked.max(cut), BoundedValue::AtLeast(100_000_000.0));
        // (1 + 3 + 100 + 3) ms ÷ 4; the last 3 is for the request that failed without a timeout.
        let BoundedValue::AtLeast(mean) = ranked.mean(cut) else {
            panic!("{:?}", ranked.mean(cut))
        };
        assert!((mean / 26_750_000.0 - 1.0).abs() < 0.001, "{mean}");
    }

    #[test]
    fn without_a_timeout_the_slowest_of_a_failed_set_is_failed() {
        let answered = times([1_000_000]);
        assert_eq!(Ranked { answered: &answered, failed: 1 }.max(NONE_CUT), BoundedValue::Failed);
        let empty = Times::new();
        assert_eq!(Ranked { answered: &empty, failed: 1 }.mean(NONE_CUT), BoundedValue::Failed);
    }

    /// Orders percentiles: times first, then failed. `TooFew` has no place in the order.
    fn order(percentile: Percentile) -> Option<u64> {
        match percentile {
            Percentile::At(ns) => Some(ns),
            Percentile::Failed => Some(u64::MAX),
            Percentile::TooFew => None,
        }
    }

    /// From 1 ns to 1 h, with as many short times as long ones.
    fn log_uniform() -> impl Strategy<Value = u64> {
        (0.0..3.6e12_f64.ln()).prop_map(|log| log.exp() as u64)
    }

    proptest! {
        #[test]
        fn equals_the_sorted_list(
            mut list in prop::collection::vec(log_uniform(), 1..2_000),
            failed in 0_u64..500,
            percent in 0.1_f64..100.0,
        ) {
            let answered = times(list.iter().copied());
            list.sort_unstable();
            let ranked = Ranked { answered: &answered, failed };
            let rank = rank(percent, ranked.planned());
            match ranked.percentile(percent) {
                Percentile::TooFew => prop_assert!(ranked.planned() - rank < BEYOND),
                Percentile::Failed => prop_assert!(rank > list.len() as u64),
                Percentile::At(ns) => {
                    let exact = list[usize::try_from(rank).unwrap() - 1] as f64;
                    let half_a_step = 32.0_f64.max(exact / 2_000.0);
                    prop_assert!((ns as f64 - exact).abs() <= half_a_step, "{} {}", ns, exact);
                }
            }
        }

        #[test]
        fn never_falls_with_the_percentile(
            list in prop::collection::vec(log_uniform(), 1..500),
            failed in 0_u64..50,
            a in 0.1_f64..100.0,
            b in 0.1_f64..100.0,
        ) {
            let answered = times(list);
            let ranked = Ranked { answered: &answered, failed };
            let (low, high) = (ranked.percentile(a.min(b)), ranked.percentile(a.max(b)));
            if let (Some(low), Some(high)) = (order(low), order(high)) {
                prop_assert!(low <= high);
            }
        }

        #[test]
        fn a_merged_set_lies_between_its_parts(
            left in prop::collection::vec(log_uniform(), 20..300),
            right in prop::collection::vec(log_uniform(), 20..300),
            percent in 1.0_f64..100.0,
        ) {
            let (left, right) = (times(left), times(right));
            let mut both = left.clone();
            both.merge(&right);
            let at = |times: &Times| order(Ranked::ok_alone(times).percentile(percent));
            if let (Some(a), Some(b), Some(merged)) = (at(&left), at(&right), at(&both)) {
                prop_assert!(a.min(b) <= merged && merged <= a.max(b), "{} {} {}", a, merged, b);
            }
        }
    }
}
