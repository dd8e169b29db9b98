//! Averages a function over the distribution of an estimated standard deviation whose true value is
//! 1.

use crate::t::ln_gamma;

/// Returns the average of `of(s)`. s is the estimate of a standard deviation of 1 with `freedom`
/// degrees of freedom (the root of χ² ÷ ν).
///
/// Over u = ln s the density is e^(ν(u − e^(2u)/2)) up to a factor. It falls smoothly to zero on
/// both sides, so the trapezoid rule is exact to more digits than any table has.
pub fn average(freedom: u32, of: impl Fn(f64) -> f64) -> f64 {
    let freedom = f64::from(freedom.max(1));
    // Where the density is e^−FAR of its peak, the rest is negligible.
    let far = FAR / freedom;
    let (from, to) = (-(far.sqrt() + far), far.sqrt());
    let step = (to - from) / f64::from(STEPS);
    let front = 0.5 * freedom * (0.5 * freedom).ln() - ln_gamma(0.5 * freedom);
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let u = from + step * f64::from(i);
            let density = 2.0 * (front + freedom * (u - 0.5 * (2.0 * u).exp())).exp();
            density * of(u.exp())
        })
        .sum();
    sum * step
}

/// e^−30 is 1e-13.
const FAR: f64 = 30.0;
/// Number of steps: enough for one degree of freedom, whose density is the widest.
const STEPS: u32 = 160;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_moments_are_those_of_chi() {
        // With one degree of freedom, the part cut off is e^-15 of one side of the density: 1e-6.
        for (freedom, exact) in [(1, 1e-6), (2, 1e-9), (3, 1e-9), (100, 1e-9), (10_000, 1e-9)] {
            let (all, square) = (average(freedom, |_| 1.0), average(freedom, |s| s * s));
            assert!(
                (all - 1.0).abs() < exact && (square - 1.0).abs() < exact,
                "{freedom}: {all} {square}"
            );
        }
        // With two degrees of freedom, s has Rayleigh's distribution with mean √π ÷ 2.
        let mean = average(2, |s| s);
        assert!((mean - std::f64::consts::PI.sqrt() / 2.0).abs() < 1e-9, "{mean}");
    }
}
