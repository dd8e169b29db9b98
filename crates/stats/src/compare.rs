//! Which of two is faster, and how sure that is.

use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, FEWEST, Logs};
use crate::t;

/// One other, compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Other ÷ baseline, over the rounds that have both; its 95 % interval stands alone,
    /// whatever else was compared. `None` without such a round.
    pub ratio: Option<Estimate>,
    /// What may be said.
    pub judged: Difference,
}

/// What may be said of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// Surely above 1, and by more than [`MARGIN`] as far as can be seen.
    Larger,
    /// Surely below 1, likewise.
    Smaller,
    /// Surely within [`MARGIN`].
    Same,
    /// Neither can be said.
    NotToldApart,
    /// Fewer than three rounds: a hint, nothing more.
    Hint,
}

/// A difference of 3 % or less is of no use to anybody, and rarely the runtime's doing.
pub const MARGIN: f64 = 1.03;

/// Compares others with one baseline. `ratios[i]` are other `i`'s values ÷ the baseline's,
/// one a round, so that what a round does to both cancels out (randomized blocks; Abedi
/// and Brecht, ICPE 2017).
///
/// *Larger* and *smaller*: p < 0.05 against a ratio of 1 (Student's t on logs), adjusted by Holm's
/// method for the number of others, and the ratio itself beyond the margin. Not: surely beyond the
/// margin. That would find a 5 % slow-down in five rounds of 2 % noise in a third of all runs
/// only, this finds it in 97 % (`tests/simulated.rs`).
/// *Same*: the 90 % interval lies wholly inside the margin (two one-sided tests at 5 %; Schuirmann,
/// *Journal of Pharmacokinetics and Biopharmaceutics* 15, 1987).
pub fn compare(ratios: &[Vec<f64>]) -> Vec<Compared> {
    let chances: Vec<f64> = ratios.iter().map(|ratios| chance_of_no_difference(ratios)).collect();
    ratios
        .iter()
        .zip(holm(&chances))
        .map(|(ratios, chance)| Compared {
            ratio: Estimate::of(ratios),
            judged: judge(ratios, chance),
        })
        .collect()
}

fn judge(ratios: &[f64], chance: f64) -> Difference {
    if ratios.len() < FEWEST as usize {
        return if ratios.is_empty() { Difference::NotToldApart } else { Difference::Hint };
    }
    let Some(logs) = Logs::of(ratios) else { return Difference::NotToldApart };
    if chance < 0.05 && logs.mean.abs() > MARGIN.ln() {
        return if logs.mean > 0.0 { Difference::Larger } else { Difference::Smaller };
    }
    match logs.interval(0.90) {
        Some((low, high)) if low >= 1.0 / MARGIN && high <= MARGIN => Difference::Same,
        _ => Difference::NotToldApart,
    }
}

/// Two-sided chance to see this if there were no difference; 1 where none can be told.
fn chance_of_no_difference(ratios: &[f64]) -> f64 {
    let Some(logs) = Logs::of(ratios).filter(|logs| logs.freedom + 1 >= FEWEST) else { return 1.0 };
    if logs.mean == 0.0 {
        return 1.0;
    }
    // Trials that agree to the last bit have no error: the quotient is infinite, the chance 0.
    2.0 * t::upper_tail(logs.mean.abs() / logs.error, logs.freedom)
}

/// Holm's step-down adjustment: the k-th smallest of n is multiplied by n − k + 1, and is
/// never less than the one before (Holm, Scandinavian Journal of Statistics, 1979).
pub(crate) fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut adjusted = vec![1.0; chances.len()];
    let mut least = 0.0_f64;
    for (place, index) in order.into_iter().enumerate() {
        least = least.max(chances[index] * (chances.len() - place) as f64).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ratios: &[&[f64]]) -> Vec<Difference> {
        let ratios: Vec<Vec<f64>> = ratios.iter().map(|ratios| ratios.to_vec()).collect();
        compare(&ratios).iter().map(|compared| compared.judged).collect()
    }

    #[test]
    fn one_and_two_rounds_are_a_hint() {
        assert_eq!(
            judged(&[&[2.0], &[2.0, 2.1], &[]]),
            [Difference::Hint, Difference::Hint, Difference::NotToldApart]
        );
    }

    #[test]
    fn surely_apart_and_beyond_the_margin_is_different_wholly_inside_is_the_same() {
        assert_eq!(judged(&[&[1.30, 1.31, 1.29, 1.30]]), [Difference::Larger]);
        assert_eq!(judged(&[&[0.70, 0.71, 0.69, 0.70]]), [Difference::Smaller]);
        assert_eq!(judged(&[&[1.00, 1.01, 0.99, 1.00]]), [Difference::Same]);
        assert_eq!(judged(&[&[1.00, 1.50, 0.80, 1.20]]), [Difference::NotToldApart]);
        // Sure to be above 1, and 1.037 itself.
        assert_eq!(judged(&[&[1.03, 1.04, 1.05, 1.03]]), [Difference::Larger]);
        // As sure, and 1.02: of no use to anybody, and not wholly inside either.
        assert_eq!(judged(&[&[1.01, 1.02, 1.035, 1.02]]), [Difference::NotToldApart]);
    }

    #[test]
    fn trials_that_agree_exactly_are_judged_all_the_same() {
        assert_eq!(judged(&[&[2.0; 3], &[1.0; 3]]), [Difference::Larger, Difference::Same]);
    }

    #[test]
    fn holm_multiplies_and_never_falls() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    /// Alone the difference is sure (p = 0.04); as one of three it is not (0.11).
    #[test]
    fn many_comparisons_ask_for_more() {
        let weak = [1.10, 1.15, 1.05, 1.045];
        let noise = [1.00, 1.50, 0.80, 1.20];
        let alone = judged(&[&weak]);
        let among = judged(&[&weak, &noise, &noise]);
        assert_eq!((alone[0], among[0]), (Difference::Larger, Difference::NotToldApart));
    }
}
