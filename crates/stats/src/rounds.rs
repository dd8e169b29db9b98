//! Decides when a run has enough rounds.

use crate::compare::MARGIN;
use crate::estimate::{Estimate, INTERVAL_VALUES_MIN, Logs};
use crate::{chi, normal, t};

/// Numbers of rounds after which `auto` may stop. Each look is another chance to stop where the
/// values happen to lie close together. So with a look after each round, intervals would cover less
/// than they promise. With these three looks, at least 93.1 % cover. With a fourth (8 and 12
/// instead of 10), 92.7 % cover where rounds vary by 4 %.
pub const LOOKS: [u32; 3] = [5, 10, 20];

/// Returns the first look after more than `done` rounds; `None` if there is none, because 20 rounds
/// are enough.
pub fn next_look(done: u32) -> Option<u32> {
    LOOKS.into_iter().find(|look| *look > done)
}

/// Returns the width of an estimate's interval as a share of its value: 0.05 is from 2.5 % below to
/// 2.5 % above. `None` if it has no interval.
pub fn width(estimate: &Estimate) -> Option<f64> {
    let (low, high) = estimate.interval?;
    Some((high - low) / estimate.value)
}

/// Returns the standard deviation of the logs of ratios within rounds. It shows how much the rounds
/// of a machine disagree about the same two cases. `None` with fewer than three.
pub fn noise(ratios: &[f64]) -> Option<f64> {
    let logs = Logs::of(ratios).filter(|logs| logs.freedom + 1 >= INTERVAL_VALUES_MIN)?;
    Some(logs.error * f64::from(logs.freedom + 1).sqrt())
}

/// Returns the number of rounds that finds a slow-down of [`FOUND`] in nine of ten runs. `noise` is
/// the standard deviation of the logs of ratios within rounds. `None` if more than [`MOST`] are
/// needed.
pub fn needed(noise: f64) -> Option<u32> {
    (INTERVAL_VALUES_MIN..=MOST).find(|rounds| power(*rounds, noise) >= 0.9)
}

/// Returns the chance that `compare` calls a slow-down of [`FOUND`] different, as the only
/// comparison. The mean must lie beyond the margin, and beyond Student's quantile of the estimated
/// error.
pub fn power(rounds: u32, noise: f64) -> f64 {
    let error = noise / f64::from(rounds).sqrt();
    let sure = t::quantile(0.975, rounds - 1);
    chi::average(rounds - 1, |seen| {
        let least = MARGIN.ln().max(sure * error * seen);
        normal::cdf((FOUND.ln() - least) / error)
    })
}

/// The slow-down that a run should find: 5 %.
pub const FOUND: f64 = 1.05;

/// Largest number of rounds: nobody waits for more.
pub const MOST: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisier_machine_needs_more_rounds() {
        let needed = [0.005, 0.02, 0.05, 0.1, 0.5].map(needed);
        // With 10 % the margin alone requires (1.2816 × 0.1 ÷ ln(1.05 ÷ 1.03))² = 44.4 rounds.
        assert_eq!(needed, [Some(3), Some(5), Some(15), Some(49), None]);
    }

    #[test]
    fn the_noise_is_the_deviation_of_logs() {
        let e = std::f64::consts::E;
        assert!((noise(&[1.0, e, e * e]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(noise(&[1.0, 2.0]), None);
    }

    #[test]
    fn looks_are_after_5_10_and_20_rounds() {
        let looks: Vec<Option<u32>> = [0, 4, 5, 10, 19, 20].map(next_look).to_vec();
        assert_eq!(looks, [Some(5), Some(5), Some(10), Some(20), Some(20), None]);
    }

    #[test]
    fn the_width_is_that_of_the_whole_interval() {
        let estimate = |interval| Estimate { value: 10.0, interval, trials: 3 };
        assert_eq!(width(&estimate(Some((9.75, 10.25)))), Some(0.05));
        assert_eq!(width(&estimate(None)), None);
    }
}
