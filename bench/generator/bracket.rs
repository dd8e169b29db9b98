//! Bounds of a percentile, from the bounds of each request.
//!
//! If every request's true time lies between its own bounds, then each percentile of the true times
//! lies between the same percentiles of the bounds: sorting keeps the order. So a printed
//! percentile outside is wrong, and the width says how much an error must be to be found.

use crate::table::at_share;

/// The bounds of one request's time, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub low_ns: u64,
    pub high_ns: u64,
}

/// The bounds of all requests.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Sorted, in µs.
    lows: Vec<f64>,
    /// Sorted, in µs.
    highs: Vec<f64>,
}

impl Bounds {
    pub fn new(spans: &[Span]) -> Bounds {
        let sorted = |of: fn(&Span) -> u64| micros(spans.iter().map(of));
        Bounds { lows: sorted(|span| span.low_ns), highs: sorted(|span| span.high_ns) }
    }

    /// The bounds of the percentile at this share, 0 to 1.
    pub fn at(&self, share: f64) -> Bracket {
        Bracket { low_us: at_share(&self.lows, share), high_us: at_share(&self.highs, share) }
    }
}

/// Times in µs, sorted.
pub fn micros(ns: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut micros: Vec<f64> = ns.map(|ns| ns as f64 / 1e3).collect();
    micros.sort_by(f64::total_cmp);
    micros
}

/// The bounds of one percentile, in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    pub low_us: f64,
    pub high_us: f64,
}

/// Where a printed percentile lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Inside,
    Below,
    Above,
}

impl Bracket {
    pub fn width_us(self) -> f64 {
        self.high_us - self.low_us
    }

    /// Where a printed percentile lies, when the bracket is widened at both ends by [`SHARE`] or
    /// [`SLACK_US`], whichever is larger. A percentile that was not printed is below.
    pub fn place(self, printed_us: f64) -> Place {
        let slack = |bound: f64| (SHARE * bound).max(SLACK_US);
        if printed_us > self.high_us + slack(self.high_us) {
            Place::Above
        } else if printed_us >= self.low_us - slack(self.low_us) {
            Place::Inside
        } else {
            Place::Below
        }
    }
}

/// Covers the histogram's steps (0.1 %).
const SHARE: f64 = 0.01;
/// Covers two conversions of the kernel's timestamps and the cost of reading a clock.
pub const SLACK_US: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 000 requests of 1 to 1 000 ms, each known to 3 µs.
    fn bounds() -> Bounds {
        let spans = (1..=1_000).rev().map(|ms| ms * 1_000_000);
        let spans = spans.map(|ns| Span { low_ns: ns - 1_000, high_ns: ns + 2_000 });
        Bounds::new(&spans.collect::<Vec<Span>>())
    }

    #[test]
    fn a_percentile_has_the_bounds_of_the_request_with_its_rank() {
        let bracket = bounds().at(0.5);
        assert_eq!((bracket.low_us, bracket.high_us), (499_999.0, 500_002.0));
        assert_eq!(bracket.width_us(), 3.0);
        assert_eq!(bounds().at(0.999).high_us, 999_002.0);
    }

    #[test]
    fn true_percentiles_are_inside_and_those_that_are_two_percent_off_are_not() {
        for share in [0.5, 0.9, 0.99, 0.999] {
            let true_us = share * 1e6;
            let place = |printed| bounds().at(share).place(printed);
            assert_eq!(place(true_us), Place::Inside, "{share}");
            assert_eq!(place(true_us * 1.02), Place::Above, "{share}");
            assert_eq!(place(true_us * 0.98), Place::Below, "{share}");
        }
    }

    #[test]
    fn a_short_time_is_judged_to_five_microseconds() {
        let bracket = Bracket { low_us: 30.0, high_us: 33.0 };
        for (printed, place) in [
            (24.9, Place::Below),
            (25.0, Place::Inside),
            (38.0, Place::Inside),
            (38.1, Place::Above),
            (f64::NAN, Place::Below),
        ] {
            assert_eq!(bracket.place(printed), place, "{printed}");
        }
    }

    #[test]
    fn a_long_time_is_judged_to_one_percent() {
        let bracket = Bracket { low_us: 10_000.0, high_us: 20_000.0 };
        for (printed, place) in [
            (9_899.0, Place::Below),
            (9_901.0, Place::Inside),
            (20_199.0, Place::Inside),
            (20_201.0, Place::Above),
        ] {
            assert_eq!(bracket.place(printed), place, "{printed}");
        }
    }

    #[test]
    fn without_requests_nothing_is_inside() {
        assert_eq!(Bounds::new(&[]).at(0.5).place(1.0), Place::Below);
    }
}
