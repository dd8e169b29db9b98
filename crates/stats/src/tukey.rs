//! Computes the studentized range: how far apart the furthest of several equal means may lie by
//! chance.

use crate::{chi, normal};

/// Returns the chance that the range of `groups` (2 or more) independent means with equal true
/// values exceeds `q`. The range is in standard errors of one mean, estimated with `freedom`
/// degrees of freedom.
///
/// Uses the double integral (Tukey, *The Problem of Multiple Comparisons*, 1953; Copenhaver and
/// Holland, *Journal of Statistical Computation and Simulation* 30, 1988). Absolute error below
/// 1e-7.
pub fn upper_tail(q: f64, groups: u32, freedom: u32) -> f64 {
    if q <= 0.0 {
        return 1.0;
    }
    let nodes = Nodes::new(groups);
    chi::average(freedom, |error| 1.0 - nodes.within(q * error)).clamp(0.0, 1.0)
}

/// Number of integration steps over the largest mean.
const INNER: u32 = 100;
/// Standard deviations beyond which no mean lies.
const EDGE: f64 = 8.3;

/// Points of the largest mean: place, share below it, density × step.
struct Nodes {
    others: i32,
    places: Vec<(f64, f64, f64)>,
}

impl Nodes {
    /// Builds the points. The density falls smoothly to zero on both sides, so evenly spaced ones
    /// suffice.
    fn new(groups: u32) -> Nodes {
        let step = 2.0 * EDGE / f64::from(INNER);
        let place = |i| {
            let z = -EDGE + step * f64::from(i);
            (z, normal::cdf(z), normal::density(z) * step * f64::from(groups))
        };
        let others = i32::try_from(groups.saturating_sub(1)).unwrap_or(i32::MAX);
        Nodes { others, places: (0..=INNER).map(place).collect() }
    }

    /// Returns the chance that all means lie within `width` of the largest.
    fn within(&self, width: f64) -> f64 {
        let of = |(z, below, weight): &(f64, f64, f64)| {
            weight * (below - normal::cdf(z - width)).powi(self.others)
        };
        self.places.iter().map(of).sum::<f64>().min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::t;

    /// Groups, degrees of freedom, q of 5 % and of 1 %: from printed tables (Pearson and Hartley,
    /// *Biometrika Tables for Statisticians*, table 29).
    const TABLE: [(u32, u32, f64, f64); 10] = [
        (3, 2, 8.33, 19.0),
        (2, 5, 3.64, 5.70),
        (5, 4, 6.29, 9.96),
        (3, 10, 3.88, 5.27),
        (10, 10, 5.60, 7.21),
        (6, 15, 4.59, 5.80),
        (4, 20, 3.96, 5.02),
        (10, 30, 4.82, 5.76),
        (20, 40, 5.36, 6.21),
        (10, 120, 4.56, 5.30),
    ];

    #[test]
    fn the_tail_is_that_of_the_tables() {
        for (groups, freedom, five, one) in TABLE {
            // A table's last digit may be half a unit off.
            for (q, half, p) in
                [(five, 0.006, 0.05), (one, if one > 10.0 { 0.06 } else { 0.006 }, 0.01)]
            {
                let (low, high) =
                    (upper_tail(q + half, groups, freedom), upper_tail(q - half, groups, freedom));
                assert!(low <= p && p <= high, "{groups} groups, {freedom}: {q}: {low} to {high}");
            }
        }
    }

    #[test]
    fn of_two_groups_it_is_students_t() {
        for freedom in [2, 3, 8, 40, 1_000] {
            for q in [0.5, 2.0, 4.0, 9.0] {
                let expected = 2.0 * t::upper_tail(q / 2.0_f64.sqrt(), freedom);
                let found = upper_tail(q, 2, freedom);
                assert!((found - expected).abs() < 1e-7, "{freedom}, {q}: {found}, not {expected}");
            }
        }
    }
}
