//! When rounds are enough.

use crate::compare::MARGIN;
use crate::estimate::{Estimate, FEWEST, Logs};
use crate::{chi, normal, t};

/// Rounds after which `auto` looks whether it may stop. Only here, for every look is another
/// chance to stop where the values happen to lie close, and intervals that are looked at after
/// each round cover less than they promise. With a fourth look, at 8 and 12 instead of 10, 92.7 %
/// cover where rounds vary by 4 %; so 93.1 % do at worst.
pub const LOOKS: [u32; 3] = [5, 10, 20];

/// The first look after more than `done` rounds; `None`: there is none, 20 rounds tell what there
/// is to tell.
pub fn next_look(done: u32) -> Option<u32> {
    LOOKS.into_iter().find(|look| *look > done)
}

/// Width of an estimate's interval, as a share of its value: 0.05 is from 2.5 % below to 2.5 %
/// above. `None`: it has no interval.
pub fn width(estimate: &Estimate) -> Option<f64> {
    let (low, high) = estimate.interval?;
    Some((high - low) / estimate.value)
}

/// Standard deviation of the logs of ratios within rounds: how much a machine's rounds disagree
/// about the same two. `None`: fewer than three.
pub fn noise(ratios: &[f64]) -> Option<f64> {
    let logs = Logs::of(ratios).filter(|logs| logs.freedom + 1 >= FEWEST)?;
    Some(logs.error * f64::from(logs.freedom + 1).sqrt())
}

/// Rounds that find a slow-down by [`FOUND`] in nine of ten runs, where ratios within rounds have
/// this standard deviation of logs; `None`: more than [`MOST`].
pub fn needed(noise: f64) -> Option<u32> {
    (FEWEST..=MOST).find(|rounds| power(*rounds, noise) >= 0.9)
}

/// Chance that `compare` calls a slow-down by [`FOUND`] different, as the only comparison: that
/// the mean lies beyond the margin, and beyond Student's quantile of the error that is seen.
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

/// More rounds than this nobody waits for.
pub const MOST: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisier_machine_needs_more_rounds() {
        let needed = [0.005, 0.02, 0.05, 0.1, 0.5].map(needed);
        // With 10 % the margin alone asks for (1.2816 × 0.1 ÷ ln(1.05 ÷ 1.03))² = 44.4.
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
    fn the_width_is_all_of_it() {
        let estimate = |interval| Estimate { value: 10.0, interval, trials: 3 };
        assert_eq!(width(&estimate(Some((9.75, 10.25)))), Some(0.05));
        assert_eq!(width(&estimate(None)), None);
    }
}
