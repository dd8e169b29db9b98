//! Computes Student's t distribution: how far a mean of few trials may be off.

use std::f64::consts::PI;

/// Returns the chance that a t variable with `freedom` degrees of freedom (1 or more) is at most
/// `t`.
///
/// Uses the regularized incomplete beta function (Abramowitz and Stegun, 26.7.1); absolute error
/// below 1e-12.
pub fn cdf(t: f64, freedom: u32) -> f64 {
    let upper = upper_tail(t.abs(), freedom);
    if t < 0.0 { upper } else { 1.0 - upper }
}

/// Returns the chance that a t variable exceeds `t`, which is zero or more. It is separate from
/// `cdf`, because `1 - cdf` has no digits left for a small chance.
pub fn upper_tail(t: f64, freedom: u32) -> f64 {
    let freedom = f64::from(freedom);
    if t.is_infinite() {
        return 0.0;
    }
    0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// Returns the t below which a share `p` (above 0, below 1) of the distribution lies.
///
/// Uses bisection on the tail: it always converges, and its 100 steps are fast enough.
pub fn quantile(p: f64, freedom: u32) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a quantile is asked for a share between 0 and 1, not {p}");
    let tail = p.min(1.0 - p);
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    // With one degree of freedom, a tail of 1e-9 begins at 3e8, so this ends soon.
    while upper_tail(high, freedom) > tail {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if upper_tail(middle, freedom) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = 0.5 * (low + high);
    if p < 0.5 { -t } else { t }
}

/// Number of halvings: more than the 53 bits of a double, whatever the bracket.
const STEPS: u32 = 100;

/// Returns the regularized incomplete beta function I_x(a, b), from its continued fraction
/// (Abramowitz and Stegun, 26.5.8) with Lentz's method.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast only on this side of the mean; symmetry gives the other side.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..=TERMS_MAX {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        fraction *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

/// Most terms: the fraction needs about √max(a, b), so this is enough for a million trials.
const TERMS_MAX: u32 = 10_000;

/// Returns `x`, or a tiny number for zero: Lentz's method divides by its partial terms.
fn away_from_zero(x: f64) -> f64 {
    if x.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { x }
}

/// Returns the logarithm of the gamma function for `x` > 0: Lanczos' approximation with g = 7 and
/// nine terms, relative error below 1e-14.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let sum = LANCZOS[1..]
        .iter()
        .zip(1_u32..)
        .fold(LANCZOS[0], |sum, (term, i)| sum + term / (x + f64::from(i)));
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Lanczos' coefficients for g = 7, n = 9.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Share, degrees of freedom, quantile: from printed tables with more digits than the test
    /// needs.
    const TABLE: [(f64, u32, f64); 16] = [
        (0.975, 1, 12.706_204_736_2),
        (0.975, 2, 4.302_652_729_7),
        (0.975, 3, 3.182_446_305_3),
        (0.975, 4, 2.776_445_105_2),
        (0.975, 5, 2.570_581_835_6),
        (0.975, 9, 2.262_157_162_8),
        (0.975, 10, 2.228_138_852_0),
        (0.975, 19, 2.093_024_054_4),
        (0.975, 30, 2.042_272_456_3),
        (0.975, 100, 1.983_971_518_5),
        (0.95, 1, 6.313_751_514_7),
        (0.95, 2, 2.919_985_580_4),
        (0.95, 4, 2.131_846_786_3),
        (0.95, 10, 1.812_461_122_8),
        (0.995, 4, 4.604_094_871_4),
        (0.995, 10, 3.169_272_672_6),
    ];

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, freedom, expected) in TABLE {
            let t = quantile(p, freedom);
            assert!((t - expected).abs() < 1e-6, "p {p}, {freedom} degrees: {t}, not {expected}");
            assert!((quantile(1.0 - p, freedom) + expected).abs() < 1e-6);
        }
    }

    #[test]
    fn one_and_two_degrees_have_closed_forms() {
        for p in [0.6, 0.9, 0.99, 0.9999, 0.999_999_9] {
            let one = (PI * (p - 0.5)).tan();
            assert!((quantile(p, 1) / one - 1.0).abs() < 1e-7, "{p}");
            let two = (2.0 * p - 1.0) * (1.0 / (2.0 * p * (1.0 - p))).sqrt();
            assert!((quantile(p, 2) / two - 1.0).abs() < 1e-7, "{p}");
        }
    }

    #[test]
    fn the_cdf_inverts_the_quantile() {
        for freedom in [1, 2, 3, 7, 50, 1_000, 100_000] {
            for p in [0.001, 0.2, 0.5, 0.8, 0.999] {
                assert!((cdf(quantile(p, freedom), freedom) - p).abs() < 1e-9, "{freedom} {p}");
            }
        }
    }
}
