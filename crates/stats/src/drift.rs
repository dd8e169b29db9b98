//! Detects figures that move from round to round. A machine that heats up, or whose disk fills,
//! makes the figures of every case move. A leak that outlives a runtime makes those of one case
//! move.

use crate::compare::{MARGIN, holm};
use crate::t;

/// How a figure moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Last round ÷ first, along the straight line through the logs.
    pub ratio: f64,
    /// Two-sided chance to see such a slope where there is none (t test of the slope).
    pub chance: f64,
}

/// Fewest rounds for a drift: a slope of three has one degree of freedom, which is too little to
/// judge.
pub const ROUNDS_MIN: usize = 5;

/// Returns the drift of `(round, value)` pairs; `None` with fewer than [`ROUNDS_MIN`] rounds, if a
/// value has no log, or if all rounds are the same.
pub fn drift(values: &[(f64, f64)]) -> Option<Drift> {
    if values.len() < ROUNDS_MIN
        || values.iter().any(|(_, value)| *value <= 0.0 || !value.is_finite())
    {
        return None;
    }
    let count = values.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| values.iter().map(of).sum::<f64>() / count;
    let (round, log) = (mean(&|(round, _)| *round), mean(&|(_, value)| value.ln()));
    let across: f64 = values.iter().map(|(x, _)| (x - round).powi(2)).sum();
    if across == 0.0 {
        return None;
    }
    let slope =
        values.iter().map(|(x, value)| (x - round) * (value.ln() - log)).sum::<f64>() / across;
    let left: f64 =
        values.iter().map(|(x, value)| (value.ln() - log - slope * (x - round)).powi(2)).sum();
    let freedom = values.len() as u32 - 2;
    let error = (left / f64::from(freedom) / across).sqrt();
    let first = values.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let last = values.iter().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
    let chance = if slope == 0.0 { 1.0 } else { 2.0 * t::upper_tail(slope.abs() / error, freedom) };
    Some(Drift { ratio: (slope * (last - first)).exp(), chance })
}

/// Returns which of several drifts to report. They are significant (p < 0.05, adjusted with Holm's
/// method for their number) and exceed [`MARGIN`] from the first round to the last.
pub fn significant(drifts: &[Option<Drift>]) -> Vec<Option<Drift>> {
    let known: Vec<f64> = drifts.iter().flatten().map(|drift| drift.chance).collect();
    let mut adjusted = holm(&known).into_iter();
    let is_told =
        |drift: &Drift, chance: f64| chance < 0.05 && drift.ratio.ln().abs() > MARGIN.ln();
    drifts
        .iter()
        .map(|drift| {
            let drift = (*drift)?;
            let chance = adjusted.next()?;
            is_told(&drift, chance).then_some(Drift { chance, ..drift })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> Vec<(f64, f64)> {
        (1..).map(f64::from).zip(values.iter().copied()).collect()
    }

    #[test]
    fn a_slope_is_found_with_its_p_value() {
        // Logs are 0, 0.1 … 0.4 with noise 0.02 × (1, −2, 0, 2, −1), whose own slope is zero.
        let logs = [0.02, 0.06, 0.2, 0.34, 0.38];
        let found = drift(&rounds(&logs.map(f64::exp))).unwrap();
        assert!((found.ratio.ln() - 0.4).abs() < 1e-9, "{found:?}");
        // Σ noise² = 0.004, standard error √(0.004 ÷ 3 ÷ 10), t = 0.1 ÷ error, 3 degrees of
        // freedom.
        let t = 0.1 / (0.004_f64 / 3.0 / 10.0).sqrt();
        assert!((found.chance - 2.0 * t::upper_tail(t, 3)).abs() < 1e-9);
        assert_eq!(significant(&[Some(found)]), [Some(found)]);
    }

    #[test]
    fn four_rounds_a_flat_line_or_a_small_slope_are_not_significant() {
        assert_eq!(drift(&rounds(&[1.0, 2.0, 3.0, 4.0])), None);
        assert_eq!(drift(&rounds(&[1.0, 0.0, 3.0, 4.0, 5.0])), None);
        let flat = drift(&rounds(&[2.0; 5])).unwrap();
        assert_eq!((flat.ratio, flat.chance), (1.0, 1.0));
        let small = drift(&rounds(&[1.0, 1.005, 1.01, 1.015, 1.02])).unwrap();
        assert!(small.chance < 1e-6);
        assert_eq!(significant(&[Some(small), None]), [None, None]);
    }

    #[test]
    fn among_many_drifts_one_needs_a_smaller_p_value() {
        let weak = Some(Drift { ratio: 1.2, chance: 0.02 });
        let none = Some(Drift { ratio: 1.0, chance: 0.9 });
        assert!(significant(&[weak])[0].is_some());
        assert!(significant(&[weak, none, none])[0].is_none());
    }
}
