//! What an estimated error does: averages over the error that few trials show, true being 1.

use crate::t::ln_gamma;

/// Average of `of(s)`, s being the estimate of a standard deviation of 1 with `freedom` degrees
/// of freedom (the root of χ² ÷ ν).
///
/// Over u = ln s the density is e^(ν(u − e^(2u)/2)) up to a factor, which runs out smoothly on
/// both sides: the trapezoid rule is exact there to more digits than any table has.
pub fn average(freedom: u32, of: impl Fn(f64) -> f64) -> f64 {
    let freedom = f64::from(freedom.max(1));
    // Where the density is e^−FAR of its peak the rest is nothing.
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
/// Enough for one degree of freedom, whose density is the widest.
const STEPS: u32 = 160;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_moments_are_those_of_chi() {
        // What is cut off of one degree is e^-15 of its density's side: 1e-6.
        for (freedom, exact) in [(1, 1e-6), (2, 1e-9), (3, 1e-9), (100, 1e-9), (10_000, 1e-9)] {
            let (all, square) = (average(freedom, |_| 1.0), average(freedom, |s| s * s));
            assert!(
                (all - 1.0).abs() < exact && (square - 1.0).abs() < exact,
                "{freedom}: {all} {square}"
            );
        }
        // Of two degrees s is Rayleigh's: √π ÷ 2.
        let mean = average(2, |s| s);
        assert!((mean - std::f64::consts::PI.sqrt() / 2.0).abs() < 1e-9, "{mean}");
    }
}
