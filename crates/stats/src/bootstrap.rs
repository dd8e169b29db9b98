//! Computes intervals by resampling, where there are enough trials for that.

use crate::random::Random;
use crate::{normal, t};

/// Fewest values for a bootstrap. With three to five values, its 95 % interval covers 75 to 83 %;
/// Student's t covers its 95 % there.
pub const TRIALS_MIN: usize = 10;

/// Returns a two-sided interval of the mean of `values` (logs) with coverage `level`. It is
/// bias-corrected and accelerated (BCa; Efron, *Better Bootstrap Confidence Intervals*, JASA 82,
/// 1987). So it follows the skew of the values, which Student's t cannot. It is deterministic.
///
/// Resamples vary less than trials do, by √((n − 1) ÷ n), and BCa takes normal quantiles where few
/// values require those of t. Plain BCa covers 90 % of ten values instead of 95. So its normal
/// quantile is expanded to t's × √(n ÷ (n − 1)) (Hesterberg, *What Teachers Should Know About the
/// Bootstrap*, The American Statistician 69, 2015).
pub fn interval(values: &[f64], level: f64) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // Values that are equal up to rounding errors of their sum have nothing to resample.
    if squares <= count * (mean * f64::EPSILON * 4.0).powi(2) {
        return (mean, mean);
    }
    let mut means = resampled(values);
    let below = means.iter().filter(|resampled| **resampled < mean).count() as f64;
    let share =
        (below / RESAMPLES as f64).clamp(1.0 / RESAMPLES as f64, 1.0 - 1.0 / RESAMPLES as f64);
    let bias = normal::quantile(share);
    // For a mean, the jackknife's acceleration is a sixth of the skew of its values.
    let cubes: f64 = values.iter().map(|value| (value - mean).powi(3)).sum();
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    let freedom = u32::try_from(values.len() - 1).unwrap_or(u32::MAX);
    let reach = t::quantile(0.5 + level / 2.0, freedom) * (count / (count - 1.0)).sqrt();
    let mut at = |z: f64| {
        let shifted = bias + z;
        let p = normal::cdf(bias + shifted / (1.0 - acceleration * shifted));
        let rank = ((p * RESAMPLES as f64) as usize).min(RESAMPLES - 1);
        *means.select_nth_unstable_by(rank, f64::total_cmp).1
    };
    (at(-reach), at(reach))
}

/// Returns the means of the resamples. The seed is fixed, so that a run's report is always the
/// same.
fn resampled(values: &[f64]) -> Vec<f64> {
    let mut random = Random::with_seed(SEED);
    let mean = |_| {
        let sum: f64 = (0..values.len()).map(|_| values[random.below(values.len())]).sum();
        sum / values.len() as f64
    };
    (0..RESAMPLES).map(mean).collect()
}

/// Efron and Hesterberg advise some thousands for 95 %: fifty of them lie beyond 2.5 %.
const RESAMPLES: usize = 2_000;

/// An arbitrary number that never changes.
const SEED: u64 = 0x5745_4c4c;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_values_have_about_the_t_interval() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i) - 9.5).collect();
        let (low, high) = interval(&values, 0.95);
        // Standard deviation √35, standard error √(35/20), t = 2.093.
        let reach = 2.093 * (35.0_f64 / 20.0).sqrt();
        assert!((low + reach).abs() < 0.15 * reach && (high - reach).abs() < 0.15 * reach);
        assert_eq!((low, high), interval(&values, 0.95), "the same every time");
    }

    #[test]
    fn a_long_tail_pulls_the_interval_to_its_side() {
        let mut values = vec![0.0; 9];
        values.extend([0.1, 0.2, 3.0]);
        let mean = values.iter().sum::<f64>() / 12.0;
        let (low, high) = interval(&values, 0.95);
        assert!(high - mean > 1.3 * (mean - low), "{low} {mean} {high}");
    }

    #[test]
    fn equal_values_have_an_interval_of_width_zero() {
        let (low, high) = interval(&[0.1; 12], 0.95);
        assert!((low - 0.1).abs() < 1e-12 && (high - 0.1).abs() < 1e-12);
    }
}
