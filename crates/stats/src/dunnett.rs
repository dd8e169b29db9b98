//! Computes Dunnett's distribution: how far the furthest of several equal means may lie from a
//! common baseline by chance.
//!
//! With it, intervals of several comparisons with one baseline hold together. Source: Dunnett, *A
//! Multiple Comparison Procedure for Comparing Several Treatments with a Control*, Journal of the
//! American Statistical Association 50, 1955; *New Tables for Multiple Comparisons with a Control*,
//! Biometrics 20, 1964.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::{chi, normal, t};

/// Correlation of two comparisons with the same baseline if no round lacks a case. Half of the
/// variance of each comparison comes from the baseline.
pub const BALANCED: f64 = 0.5;

/// Returns the chance that the furthest of `comparisons` (1 or more) t variables is further from
/// zero than `t`. Each two have this correlation (0 to [`CLOSEST`]). All share one error, estimated
/// with `freedom` degrees of freedom. The absolute error of the result is below 1e-6.
pub fn upper_tail(t: f64, comparisons: u32, freedom: u32, correlation: f64) -> f64 {
    if t <= 0.0 {
        return 1.0;
    }
    if comparisons <= 1 {
        return 2.0 * t::upper_tail(t, freedom);
    }
    ChanceTable::new(comparisons, correlation).exceeded(t, freedom)
}

/// Returns the t within which all of `comparisons` lie with chance `level` (above 0, below 1).
///
/// The correlation is rounded down to hundredths. That makes the quantile a little too large, never
/// too small, as two-sided chances grow with the correlation (Šidák, *Annals of Mathematical
/// Statistics* 39, 1968). A report needs the same few quantiles again and again, so each thread
/// caches them.
pub fn quantile(level: f64, comparisons: u32, freedom: u32, correlation: f64) -> f64 {
    assert!(level > 0.0 && level < 1.0, "a level lies between 0 and 1, not {level}");
    let comparisons = comparisons.max(1);
    // The small addend keeps 0.29 from becoming 28 hundredths.
    let hundredths = (correlation.clamp(0.0, CLOSEST) * 100.0 + 1e-9) as u32;
    CACHE.with_borrow_mut(|kept| {
        let law = kept
            .entry((comparisons, hundredths))
            .or_insert_with(|| Distribution::new(comparisons, f64::from(hundredths) / 100.0));
        law.quantile(level, freedom)
    })
}

/// The largest correlation: at 1, all comparisons would be the same one.
pub const CLOSEST: f64 = 0.99;

thread_local! {
    /// Cached distributions by number of comparisons and hundredths of correlation.
    static CACHE: RefCell<BTreeMap<(u32, u32), Distribution>> = const { RefCell::new(BTreeMap::new()) };
}

/// The distribution for one number of comparisons and one correlation, with the quantiles found so
/// far.
struct Distribution {
    /// `None` for one comparison, which has Student's distribution.
    within: Option<ChanceTable>,
    /// Quantiles by degrees of freedom and the bits of the level.
    quantiles: BTreeMap<(u32, u64), f64>,
}

impl Distribution {
    fn new(comparisons: u32, correlation: f64) -> Distribution {
        let within = (comparisons > 1).then(|| ChanceTable::new(comparisons, correlation));
        Distribution { within, quantiles: BTreeMap::new() }
    }

    fn quantile(&mut self, level: f64, freedom: u32) -> f64 {
        let within = &self.within;
        let find = || match within {
            None => t::quantile(0.5 + level / 2.0, freedom),
            Some(within) => within.quantile(level, freedom),
        };
        *self.quantiles.entry((freedom, level.to_bits())).or_insert_with(find)
    }
}

/// Chance that all comparisons lie within ± a width if the error were known, as a table over
/// widths.
struct ChanceTable(Vec<f64>);

impl ChanceTable {
    /// Builds the table. Given the baseline's contribution (z), comparisons are independent, so one
    /// integral over z is enough. Its integrand is even and falls smoothly to zero, so evenly
    /// spaced points on one side suffice.
    fn new(comparisons: u32, correlation: f64) -> ChanceTable {
        let correlation = correlation.clamp(0.0, CLOSEST);
        let (shared, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
        // A steeper integrand needs a smaller step.
        let step = Z_STEP / (shared / own).max(1.0);
        let places = (EDGE / step) as u32;
        let nodes: Vec<(f64, f64)> = (0..=places)
            .map(|i| {
                let z = step * f64::from(i);
                let sides = if i == 0 { 1.0 } else { 2.0 };
                (shared * z, sides * step * normal::density(z))
            })
            .collect();
        let power = i32::try_from(comparisons).unwrap_or(i32::MAX);
        let at = |width: f64| -> f64 {
            let of = |(shift, weight): &(f64, f64)| {
                let inside =
                    normal::cdf((width + shift) / own) - normal::cdf((shift - width) / own);
                weight * inside.powi(power)
            };
            nodes.iter().map(of).sum::<f64>().min(1.0)
        };
        let widths = (EDGE / WIDTH_STEP) as u32;
        ChanceTable((0..=widths).map(|i| at(WIDTH_STEP * f64::from(i))).collect())
    }

    /// Returns the chance for a width; between table entries, from the cubic through the four
    /// nearest.
    fn chance(&self, width: f64) -> f64 {
        let place = width / WIDTH_STEP;
        let last = self.0.len() - 1;
        if place >= last as f64 {
            return 1.0;
        }
        let first = (place as usize).saturating_sub(1).min(last - 3);
        let x = place - first as f64;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| self.0[first + i]);
        -a * (x - 1.0) * (x - 2.0) * (x - 3.0) / 6.0 + b * x * (x - 2.0) * (x - 3.0) / 2.0
            - c * x * (x - 1.0) * (x - 3.0) / 2.0
            + d * x * (x - 1.0) * (x - 2.0) / 6.0
    }

    fn exceeded(&self, t: f64, freedom: u32) -> f64 {
        chi::average(freedom, |error| 1.0 - self.chance(t * error)).clamp(0.0, 1.0)
    }

    /// Finds the quantile by bisection, which always converges.
    fn quantile(&self, level: f64, freedom: u32) -> f64 {
        let tail = 1.0 - level;
        let (mut low, mut high) = (0.0, 4.0);
        while self.exceeded(high, freedom) > tail {
            (low, high) = (high, high * 2.0);
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if self.exceeded(middle, freedom) > tail { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// Standard deviations beyond which a chance is zero in double precision.
const EDGE: f64 = 8.3;

/// Step over the baseline's contribution, in standard deviations. Here the error of the trapezoid
/// rule is below e^−100.
const Z_STEP: f64 = 0.25;
/// Step of the table's widths: a cubic between the entries is off by less than 1e-7.
const WIDTH_STEP: f64 = 1.0 / 32.0;
/// Number of halvings: 4 ÷ 2⁴⁰ is 4e-12.
const HALVINGS: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    /// Degrees of freedom, and the two-sided 5 % points of 1 to 9 comparisons: Dunnett's table of
    /// 1964, in hundredths as printed there.
    const FIVE_PERCENT: [(u32, [u32; 9]); 5] = [
        (5, [257, 303, 329, 348, 362, 373, 382, 390, 397]),
        (10, [223, 257, 276, 289, 299, 307, 314, 319, 324]),
        (20, [209, 238, 254, 265, 273, 280, 286, 290, 295]),
        (60, [200, 227, 241, 251, 258, 264, 269, 273, 277]),
        (1_000_000, [196, 221, 235, 244, 251, 257, 261, 265, 269]),
    ];

    /// Level, comparisons, degrees of freedom, correlation, quantile. Another program integrated
    /// them with another method (Gauss and Hermite).
    const QUANTILES: [(f64, u32, u32, f64, f64); 7] = [
        (0.95, 2, 2, 0.5, 5.417_85),
        (0.95, 9, 2, 0.5, 7.706_63),
        (0.95, 5, 10, 0.5, 2.990_29),
        (0.90, 4, 8, 0.5, 2.548_42),
        (0.99, 5, 10, 0.5, 3.994_24),
        (0.95, 9, 18, 0.3, 3.059_58),
        (0.95, 3, 12, 0.8, 2.548_44),
    ];

    /// t, comparisons, degrees of freedom, correlation, chance: from another program too (adaptive
    /// integration over χ²).
    const TAILS: [(f64, u32, u32, f64, f64); 5] = [
        (2.5, 2, 4, 0.5, 0.110_668_604),
        (3.0, 5, 10, 0.5, 0.049_220_360),
        (7.5, 9, 2, 0.5, 0.052_684_465),
        (2.9, 4, 18, 0.25, 0.035_249_933),
        (2.0, 3, 40, 0.9, 0.086_418_317),
    ];

    #[test]
    fn quantiles_are_those_of_the_table() {
        for (freedom, row) in FIVE_PERCENT {
            for (comparisons, hundredths) in (1..).zip(row) {
                let found = quantile(0.95, comparisons, freedom, BALANCED);
                let expected = f64::from(hundredths) / 100.0;
                // A table's last digit may be half a unit off.
                assert!((found - expected).abs() < 0.0051, "{comparisons}, {freedom}: {found}");
            }
        }
    }

    #[test]
    fn quantiles_and_tails_are_those_of_another_program() {
        for (level, comparisons, freedom, correlation, expected) in QUANTILES {
            let found = quantile(level, comparisons, freedom, correlation);
            assert!((found - expected).abs() < 2e-5, "{comparisons}, {freedom}: {found}");
        }
        for (t, comparisons, freedom, correlation, expected) in TAILS {
            let found = upper_tail(t, comparisons, freedom, correlation);
            assert!((found - expected).abs() < 1e-6, "{comparisons}, {freedom}: {found}");
        }
    }

    #[test]
    fn one_comparison_has_students_distribution() {
        for freedom in [2, 3, 8, 40, 1_000] {
            let expected = t::quantile(0.975, freedom);
            assert!((quantile(0.95, 1, freedom, BALANCED) - expected).abs() < 1e-9);
            let tail = upper_tail(2.0, 1, freedom, BALANCED);
            assert!((tail - 2.0 * t::upper_tail(2.0, freedom)).abs() < 1e-12);
        }
    }

    /// Without correlation and with a known error, the chance that all comparisons hold is the
    /// product of their chances.
    #[test]
    fn without_correlation_chances_multiply() {
        for comparisons in [2, 5, 20] {
            let alone = 0.95_f64.powf(1.0 / f64::from(comparisons));
            let expected = normal::quantile(0.5 + alone / 2.0);
            let found = quantile(0.95, comparisons, 10_000_000, 0.0);
            assert!((found - expected).abs() < 1e-5, "{comparisons}: {found}, not {expected}");
        }
    }

    #[test]
    fn more_comparisons_and_less_correlation_have_larger_quantiles() {
        let of = |comparisons, correlation| quantile(0.95, comparisons, 6, correlation);
        assert!((1..30).all(|count| of(count, BALANCED) < of(count + 1, BALANCED)));
        assert!([0.0, 0.2, 0.5, 0.9].windows(2).all(|two| of(5, two[0]) > of(5, two[1])));
        // A correlation near 1 is nearly one comparison; it is capped at `CLOSEST`.
        assert!((of(5, CLOSEST) - of(1, CLOSEST)).abs() < 0.3);
        assert_eq!(of(5, 1.0), of(5, CLOSEST));
        // The correlation is rounded down, towards the larger quantile.
        assert_eq!(of(5, 0.509), of(5, 0.5));
        assert_eq!(of(5, 0.29), of(5, 0.299));
    }

    #[test]
    fn the_tail_inverts_the_quantile() {
        for comparisons in [1, 2, 5, 30] {
            for freedom in [1, 2, 7, 100] {
                for level in [0.5, 0.9, 0.95, 0.999] {
                    let t = quantile(level, comparisons, freedom, BALANCED);
                    let tail = upper_tail(t, comparisons, freedom, BALANCED);
                    assert!((tail - (1.0 - level)).abs() < 1e-6, "{comparisons}, {freedom}");
                }
            }
        }
    }

    #[test]
    fn the_tail_at_zero_is_one() {
        assert_eq!(upper_tail(0.0, 3, 4, BALANCED), 1.0);
        assert_eq!(upper_tail(-1.0, 3, 4, BALANCED), 1.0);
    }
}
