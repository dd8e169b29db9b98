//! Computes the standard normal distribution.

use std::f64::consts::PI;

/// Returns the density at `x`.
pub fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Returns the chance that a standard normal variable is at most `x`; absolute error below 1e-15.
///
/// Uses the series of Marsaglia (*Evaluating the Normal Distribution*, Journal of Statistical
/// Software 11, 2004).
pub fn cdf(x: f64) -> f64 {
    if x.abs() > FURTHEST {
        return if x < 0.0 { 0.0 } else { 1.0 };
    }
    let (mut sum, mut term, mut last, mut odd) = (x, x, 0.0, 1.0);
    while sum != last {
        odd += 2.0;
        term *= x * x / odd;
        (last, sum) = (sum, sum + term);
    }
    0.5 + sum * density(x)
}

/// Beyond this, the chance is 0 or 1 up to 1e-16.
const FURTHEST: f64 = 8.3;

/// Returns the x below which a share `p` (above 0, below 1) of the distribution lies, by bisection.
pub fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-FURTHEST, FURTHEST);
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Number of halvings: 17 ÷ 2⁴⁸ is 6e-14.
const STEPS: u32 = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_the_tables() {
        let table = [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_543),
            (1.959_963_984_540_054, 0.975),
            (-3.0, 0.001_349_898_031_630),
            (6.0, 0.999_999_999_013_412),
        ];
        for (x, p) in table {
            assert!((cdf(x) - p).abs() < 1e-14, "{x}: {}", cdf(x));
            assert!((quantile(p) - x).abs() < 1e-6, "{p}: {}", quantile(p));
        }
        assert_eq!((cdf(-40.0), cdf(40.0)), (0.0, 1.0));
    }
}
