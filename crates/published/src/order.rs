//! Compares the published order of rows with the measured one: pairs, tau and verdict.

use std::cmp::Ordering;

use stampede_stats::kendall::KendallPairs;

use crate::comparison::{Order, OrderVerdict, Pair, PairCounts, PairOutcome};
use crate::figure::Better;
use crate::measured::MeasuredFigure;
use crate::pairs::{Apart, Cases};

/// A row that takes part in an order.
pub(crate) struct Place {
    /// Its index in the table.
    pub row: usize,
    /// The published value.
    pub published: f64,
}

/// Two published values this close are a tie: the publication makes no claim. 1 % is below what
/// repeated tests of one server differ by.
const PUBLISHED_TIE: f64 = 1.01;
/// Fewest pairs for a tau: those of four rows. With three rows it can only be ±1 and ±1/3.
const TAU_PAIRS_MIN: u32 = 6;
/// Of the pairs that were told apart, the share that agrees from which the order agrees. Of five
/// rows, one exchange of neighbours is allowed.
const AGREES: f64 = 0.9;
/// The share up to which the order disagrees: half of the pairs agree by chance.
const DISAGREES: f64 = 0.5;

/// Compares the order of `places`. `figures` are their measured figures, in the same order.
/// `reason` explains why a pair disagrees: the row that is better in the publication, and the
/// other.
pub(crate) fn order(
    places: &[Place],
    figures: &[Option<MeasuredFigure>],
    better: Better,
    reason: impl Fn(usize, usize) -> Option<String>,
) -> Order {
    let cases = Cases::new(figures, better);
    let mut pairs = Vec::new();
    for one in 0..places.len() {
        for other in one + 1..places.len() {
            let Some((first, second)) = published_order(places, (one, other), better) else {
                continue;
            };
            let outcome = outcome(cases.compare(first, second));
            let (better, worse) = (places[first].row, places[second].row);
            let reason = match outcome {
                PairOutcome::Disagree => reason(better, worse),
                _ => None,
            };
            pairs.push(Pair { better, worse, outcome, reason });
        }
    }
    let counts = counts(&pairs);
    let verdict = verdict(&counts);
    let has_tau = matches!(
        verdict,
        OrderVerdict::Agrees | OrderVerdict::PartlyAgrees | OrderVerdict::Disagrees
    );
    let tau = if has_tau { tau(&pairs) } else { None };
    Order { load: None, verdict, counts, tau, pairs, sentence: String::new() }
}

/// Returns the better and the worse of two places in the publication. `None`: a tie.
fn published_order(
    places: &[Place],
    (one, other): (usize, usize),
    better: Better,
) -> Option<(usize, usize)> {
    let (a, b) = (places[one].published, places[other].published);
    if a.max(b) <= a.min(b) * PUBLISHED_TIE {
        return None;
    }
    let first_is_better = (a < b) == (better == Better::Lower);
    Some(if first_is_better { (one, other) } else { (other, one) })
}

fn outcome(apart: Apart) -> PairOutcome {
    match apart {
        Apart::FirstBetter => PairOutcome::Agree,
        Apart::SecondBetter => PairOutcome::Disagree,
        Apart::NoDifference => PairOutcome::NoDifference,
        Apart::TooFewRounds => PairOutcome::TooFewRounds,
        Apart::NotMeasured => PairOutcome::NotMeasured,
    }
}

fn counts(pairs: &[Pair]) -> PairCounts {
    let mut counts = PairCounts::default();
    for pair in pairs {
        *match pair.outcome {
            PairOutcome::Agree => &mut counts.agree,
            PairOutcome::Disagree => &mut counts.disagree,
            PairOutcome::NoDifference => &mut counts.no_difference,
            PairOutcome::TooFewRounds => &mut counts.too_few_rounds,
            PairOutcome::NotMeasured => &mut counts.not_measured,
        } += 1;
    }
    counts
}

fn verdict(counts: &PairCounts) -> OrderVerdict {
    let (pairs, told_apart) = (counts.measured(), counts.told_apart());
    let share = f64::from(counts.agree) / f64::from(told_apart.max(1));
    match () {
        () if pairs == 0 => OrderVerdict::NoPairs,
        () if told_apart * 2 < pairs => OrderVerdict::CannotBeJudged { told_apart, pairs },
        () if pairs < TAU_PAIRS_MIN => OrderVerdict::TooFewPairs,
        () if share >= AGREES => OrderVerdict::Agrees,
        () if share > DISAGREES => OrderVerdict::PartlyAgrees,
        () => OrderVerdict::Disagrees,
    }
}

/// Returns tau-b over the pairs that were measured. A pair that was not told apart is a tie on our
/// side. Published ties are no pairs: the publication says nothing that could be wrong.
fn tau(pairs: &[Pair]) -> Option<f64> {
    let relation = |pair: &Pair| match pair.outcome {
        PairOutcome::Agree => Some((Ordering::Less, Ordering::Less)),
        PairOutcome::Disagree => Some((Ordering::Less, Ordering::Greater)),
        PairOutcome::NoDifference | PairOutcome::TooFewRounds => {
            Some((Ordering::Less, Ordering::Equal))
        }
        PairOutcome::NotMeasured => None,
    };
    KendallPairs::of(pairs.iter().filter_map(relation)).tau()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An order of times: published ones, and the measured ones, which are alike in three rounds.
    fn times(published: &[f64], measured: &[Option<f64>]) -> Order {
        let figures: Vec<Option<MeasuredFigure>> =
            measured.iter().map(|value| value.map(|v| MeasuredFigure::of_values([v; 3]))).collect();
        of(published, &figures)
    }

    fn of(published: &[f64], figures: &[Option<MeasuredFigure>]) -> Order {
        let places: Vec<Place> = (0..)
            .zip(published)
            .map(|(row, published)| Place { row, published: *published })
            .collect();
        order(&places, figures, Better::Lower, |better, worse| Some(format!("{better}/{worse}")))
    }

    #[test]
    fn five_rows_with_one_exchange_agree() {
        let order = times(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 2.0, 3.0, 5.0, 4.0].map(Some));
        assert_eq!((order.verdict, order.counts.agree), (OrderVerdict::Agrees, 9));
        assert!((order.tau.expect("ten pairs") - 0.8).abs() < 1e-12);
        let wrong: Vec<_> = order.pairs.iter().filter(|pair| pair.reason.is_some()).collect();
        assert_eq!(wrong.len(), 1);
        assert_eq!((wrong[0].better, wrong[0].worse), (3, 4));
        assert_eq!(wrong[0].reason.as_deref(), Some("3/4"));
    }

    /// Eight of ten pairs agree, then half of six, then none.
    #[test]
    fn fewer_agree_in_part_or_disagree() {
        let partly = times(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 1.0, 3.0, 5.0, 4.0].map(Some));
        assert_eq!((partly.verdict, partly.counts.agree), (OrderVerdict::PartlyAgrees, 8));
        let half = times(&[1.0, 2.0, 3.0, 4.0], &[3.0, 2.0, 1.0, 4.0].map(Some));
        assert_eq!((half.verdict, half.counts.agree), (OrderVerdict::Disagrees, 3));
        let turned = times(&[1.0, 2.0, 3.0, 4.0], &[4.0, 3.0, 2.0, 1.0].map(Some));
        assert_eq!((turned.verdict, turned.tau), (OrderVerdict::Disagrees, Some(-1.0)));
    }

    #[test]
    fn published_values_within_one_percent_are_no_pair() {
        let order = times(&[100.0, 101.0, 102.0], &[3.0, 2.0, 1.0].map(Some));
        assert_eq!(order.pairs.len(), 1, "100 and 102 only");
        assert_eq!(order.counts.disagree, 1);
        assert_eq!(times(&[0.0, 0.0], &[1.0, 2.0].map(Some)).verdict, OrderVerdict::NoPairs);
    }

    #[test]
    fn three_rows_have_no_tau() {
        let order = times(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0].map(Some));
        assert_eq!((order.verdict, order.tau), (OrderVerdict::TooFewPairs, None));
        assert_eq!(order.counts.agree, 3);
    }

    /// Of six pairs, the three of the fourth row can be told apart: that is half. With one more
    /// equal value it is fewer.
    #[test]
    fn an_order_of_equal_values_cannot_be_judged() {
        let published = [1.0, 2.0, 3.0, 4.0];
        let half = times(&published, &[1.0, 1.0, 1.0, 9.0].map(Some));
        assert_eq!(half.verdict, OrderVerdict::Agrees);
        assert!((half.tau.expect("six pairs") - 3.0 / 18.0_f64.sqrt()).abs() < 1e-12);
        let all = times(&published, &[1.0; 4].map(Some));
        assert_eq!(all.verdict, OrderVerdict::CannotBeJudged { told_apart: 0, pairs: 6 });
        assert_eq!(all.tau, None);
    }

    #[test]
    fn one_round_cannot_be_judged() {
        let figures: Vec<_> =
            [1.0, 2.0, 3.0, 4.0].map(|value| Some(MeasuredFigure::of_values([value]))).into();
        let order = of(&[1.0, 2.0, 3.0, 4.0], &figures);
        assert_eq!(order.verdict, OrderVerdict::CannotBeJudged { told_apart: 0, pairs: 6 });
        assert_eq!(order.counts.too_few_rounds, 6);
    }

    #[test]
    fn what_was_not_measured_is_no_evidence() {
        let order =
            times(&[1.0, 2.0, 3.0, 4.0, 5.0], &[Some(1.0), None, Some(3.0), Some(4.0), Some(5.0)]);
        assert_eq!((order.verdict, order.counts.not_measured), (OrderVerdict::Agrees, 4));
        assert_eq!(order.tau, Some(1.0));
        assert_eq!(times(&[1.0, 2.0], &[Some(1.0), None]).verdict, OrderVerdict::NoPairs);
    }

    proptest! {
        /// Counts, verdict and tau belong together for any values.
        #[test]
        fn counts_verdict_and_tau_agree(
            rows in prop::collection::vec((1_u8..9, prop::option::of(1_u8..9)), 0..8),
        ) {
            let published: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let measured: Vec<Option<f64>> = rows.iter().map(|row| row.1.map(f64::from)).collect();
            let order = times(&published, &measured);
            let counts = order.counts;
            prop_assert_eq!(
                counts.measured() + counts.not_measured,
                u32::try_from(order.pairs.len()).unwrap()
            );
            for pair in &order.pairs {
                prop_assert!(published[pair.better] < published[pair.worse]);
                let (Some(better), Some(worse)) = (measured[pair.better], measured[pair.worse])
                else {
                    prop_assert_eq!(pair.outcome, PairOutcome::NotMeasured);
                    continue;
                };
                let expected = match better.total_cmp(&worse) {
                    Ordering::Less => PairOutcome::Agree,
                    Ordering::Greater => PairOutcome::Disagree,
                    Ordering::Equal => PairOutcome::NoDifference,
                };
                prop_assert_eq!(pair.outcome, expected);
            }
            match order.verdict {
                OrderVerdict::Agrees => prop_assert!(order.tau.unwrap() > 0.0),
                OrderVerdict::PartlyAgrees => prop_assert!(order.tau.unwrap() > 0.0),
                OrderVerdict::Disagrees => prop_assert!(order.tau.unwrap() <= 0.0),
                _ => prop_assert_eq!(order.tau, None),
            }
        }
    }
}
