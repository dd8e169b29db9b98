//! Compares pairs within rounds, several pairs at once.

use crate::unpaired::{self, PairComparison, Shift};

/// The ratio up to which a difference does not matter: 3 % or less is of no use to anybody, and
/// rarely caused by the runtime.
pub const MARGIN: f64 = 1.03;

/// Compares pairs. `ratios[i]` are the ratios of pair `i`, one for each round, so that the effect
/// of a round on both cancels out (randomized blocks; Abedi and Brecht, ICPE 2017). Relation and
/// interval come from one test: [`unpaired::judge`], Student's t on logs.
pub fn compare(ratios: &[Vec<f64>]) -> Vec<PairComparison> {
    let shift = |ratios: &Vec<f64>| {
        let fit = ratios.iter().all(|ratio| *ratio > 0.0 && ratio.is_finite());
        fit.then(|| Shift::within(&ratios.iter().map(|ratio| ratio.ln()).collect::<Vec<_>>()))?
    };
    unpaired::comparisons_of_shifts(&ratios.iter().map(shift).collect::<Vec<_>>())
}

/// Returns chances with Holm's step-down adjustment: the k-th smallest of n is multiplied by n − k
/// + 1, and is never less than the one before (Holm, Scandinavian Journal of Statistics, 1979).
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
    use crate::baseline::Relation;

    fn judged(ratios: &[&[f64]]) -> Vec<Relation> {
        let ratios: Vec<Vec<f64>> = ratios.iter().map(|ratios| ratios.to_vec()).collect();
        compare(&ratios).iter().map(|compared| compared.relation).collect()
    }

    #[test]
    fn one_and_two_rounds_are_a_first_impression() {
        assert_eq!(
            judged(&[&[2.0], &[2.0, 2.1], &[]]),
            [Relation::TooFewRounds, Relation::TooFewRounds, Relation::Inconclusive]
        );
    }

    #[test]
    fn significant_and_beyond_the_margin_is_different_and_wholly_inside_is_equivalent() {
        assert_eq!(judged(&[&[1.30, 1.31, 1.29, 1.30]]), [Relation::Higher]);
        assert_eq!(judged(&[&[0.70, 0.71, 0.69, 0.70]]), [Relation::Lower]);
        assert_eq!(judged(&[&[1.00, 1.01, 0.99, 1.00]]), [Relation::Equivalent]);
        assert_eq!(judged(&[&[1.00, 1.50, 0.80, 1.20]]), [Relation::Inconclusive]);
        // Surely above 1, and the ratio is 1.037.
        assert_eq!(judged(&[&[1.03, 1.04, 1.05, 1.03]]), [Relation::Higher]);
        // Surely above 1 too, but the ratio is 1.02: not beyond the margin, and not surely within
        // it.
        assert_eq!(judged(&[&[1.01, 1.02, 1.035, 1.02]]), [Relation::Inconclusive]);
    }

    #[test]
    fn identical_trials_are_still_compared() {
        assert_eq!(judged(&[&[2.0; 3], &[1.0; 3]]), [Relation::Higher, Relation::Equivalent]);
    }

    #[test]
    fn holm_multiplies_and_never_falls() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    /// Alone, the difference is significant. As one of three it is not, and its interval agrees.
    #[test]
    fn many_comparisons_need_stronger_evidence() {
        let weak = vec![1.10, 1.15, 1.05, 1.045];
        let noise = vec![1.00, 1.50, 0.80, 1.20];
        let alone = compare(std::slice::from_ref(&weak))[0];
        let among = compare(&[weak, noise.clone(), noise])[0];
        assert_eq!((alone.relation, among.relation), (Relation::Higher, Relation::Inconclusive));
        let low = |one: &PairComparison| {
            one.ratio.and_then(|ratio| ratio.interval).expect("four rounds").0
        };
        assert!(low(&alone) > 1.0 && low(&among) < 1.0);
        assert_eq!(alone.alone, among.alone, "what it says by itself stays");
    }
}
