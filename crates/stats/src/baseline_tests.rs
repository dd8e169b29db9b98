use proptest::prelude::*;

use super::*;
use crate::compare::MARGIN;
use crate::random::Random;
use crate::t;

fn whole(values: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
    values.iter().map(|row| row.iter().map(|value| Some(*value)).collect()).collect()
}

fn compared(values: &[&[f64]]) -> Vec<Option<Comparison>> {
    with_baseline(&whole(values), 0, MARGIN)
}

fn relations(values: &[&[f64]]) -> Vec<Relation> {
    compared(values).iter().flatten().map(|one| one.relation).collect()
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9 * expected.abs().max(1.0)
}

/// Logs are 0, 0.1 and 0.5, plus noise whose rows and columns sum to zero.
fn by_hand() -> Vec<Vec<Option<f64>>> {
    let noise = [[0.01_f64, -0.01, 0.0, 0.0], [-0.01, 0.01, 0.0, 0.0], [0.0; 4]];
    [0.0, 0.1, 0.5]
        .iter()
        .zip(noise)
        .map(|(effect, noise)| noise.map(|noise| Some((effect + noise).exp())).to_vec())
        .collect()
}

/// The whole fit has squares 4e-4 and 6 degrees of freedom. Without the baseline, the other two
/// cases differ by ±0.01 in two rounds: squares 4 × 0.005² = 1e-4, 3 degrees. So the baseline's
/// mean square is 3e-4/3.
#[test]
fn bounds_by_hand() {
    let compared = with_baseline(&by_hand(), 0, MARGIN);
    assert_eq!(compared[0], None);
    let (one, two) = (compared[1].unwrap(), compared[2].unwrap());
    assert!(is_near(one.ratio.ln(), 0.1) && is_near(two.ratio.ln(), 0.5));
    assert_eq!((one.rounds, one.relation), (4, Relation::Higher));

    let bounds = one.bounds.unwrap();
    let pooled = dunnett::quantile(0.95, 2, 6, 0.5) * (4e-4_f64 / 6.0 * 2.0 / 4.0).sqrt();
    assert!(is_near(bounds.pooled.half_width(0.95), pooled));
    // Differences within rounds: 0.1 plus ∓0.02, ±0.02, 0, 0. Squares 8e-4, 3 degrees of freedom.
    let pair = t::quantile(0.975, 3) * (8e-4_f64 / 3.0 / 4.0).sqrt();
    assert!(is_near(bounds.pair.half_width(0.95), pair));
    // Variance: (1e-4 × 3/2 + 1e-4/3 × 1/2) ÷ 2. With 3 degrees of freedom each, the sum has 3 (9 +
    // 1)² ÷ (9² + 1²) = 3.6585; in 1/ν that is 72 % of the way from 3 to 4.
    let variance = (1.5e-4 + 1e-4 / 6.0) / 2.0;
    let share = (1.0 / 3.0 - 82.0 / 300.0) * 12.0;
    let [three, four] = [3, 4].map(|freedom| dunnett::quantile(0.95, 2, freedom, 0.5));
    let baseline = (three + share * (four - three)) * (variance * 2.0_f64 / 4.0).sqrt();
    assert!(is_near(bounds.baseline.unwrap().half_width(0.95), baseline));

    // For the first case the pair bound is the widest, for the second the baseline's bound.
    let (low, high) = one.interval.unwrap();
    assert!(is_near(low.ln(), 0.1 - pair) && is_near(high.ln(), 0.1 + pair));
    let (low, high) = two.interval.unwrap();
    assert!(is_near(low.ln(), 0.5 - baseline) && is_near(high.ln(), 0.5 + baseline));
}

/// With two cases there is nothing to pool: the result is Student's t on the logs of the ratios
/// within rounds.
#[test]
fn two_cases_give_students_interval() {
    let (base, other) = ([1.0, 3.0, 0.5, 2.0], [1.1, 3.6, 0.54, 2.3]);
    let one = compared(&[&base, &other])[1].unwrap();
    let ratios: Vec<f64> = base.iter().zip(other).map(|(base, other)| other / base).collect();
    let (low, high) = Logs::of(&ratios).unwrap().interval(0.95).unwrap();
    let (found_low, found_high) = one.interval.unwrap();
    assert!(is_near(found_low, low) && is_near(found_high, high));
    assert_eq!(one.bounds.unwrap().baseline, None);
}

#[test]
fn relations_follow_from_the_interval() {
    use Relation::{Equivalent, Higher, Inconclusive, Lower};
    let near: &[f64] = &[1.00, 1.001, 0.999, 1.00];
    assert_eq!(relations(&[near, &[1.30, 1.31, 1.29, 1.30]]), [Higher]);
    assert_eq!(relations(&[near, &[0.70, 0.71, 0.69, 0.70]]), [Lower]);
    assert_eq!(relations(&[near, &[1.00, 1.01, 0.99, 1.00]]), [Equivalent]);
    assert_eq!(relations(&[near, &[1.00, 1.50, 0.80, 1.20]]), [Inconclusive]);
    // The ratio is surely above 1, but it is 1.024: within the margin, and not surely so.
    assert_eq!(relations(&[near, &[1.02, 1.03, 1.015, 1.03]]), [Inconclusive]);
}

#[test]
fn one_and_two_rounds_have_a_ratio_and_no_interval() {
    for rounds in [1, 2] {
        let values = [&[1.0, 2.0][..rounds], &[2.0, 4.0][..rounds]];
        let one = compared(&values)[1].unwrap();
        assert!(is_near(one.ratio, 2.0));
        assert_eq!((one.interval, one.relation), (None, Relation::TooFewRounds));
        assert_eq!(one.rounds as usize, rounds);
        assert_eq!((one.largest_difference(), one.rounds_needed()), (None, None));
    }
}

#[test]
fn identical_trials_are_still_compared() {
    let compared = compared(&[&[2.0; 3], &[2.0; 3], &[3.0; 3], &[1.0; 3]]);
    let relations: Vec<Relation> = compared.iter().flatten().map(|one| one.relation).collect();
    assert_eq!(relations, [Relation::Equivalent, Relation::Higher, Relation::Lower]);
    let (low, high) = compared[2].unwrap().interval.unwrap();
    assert!(is_near(low, 1.5) && is_near(high, 1.5));
}

#[test]
fn a_case_without_values_is_not_compared_and_changes_nothing() {
    let mut values = by_hand();
    let before = with_baseline(&values, 0, MARGIN);
    values.push(vec![None; 4]);
    values.push(Vec::new());
    let after = with_baseline(&values, 0, MARGIN);
    assert_eq!(after[..3], before);
    assert_eq!(after[3..], [None, None]);
}

#[test]
fn a_case_with_two_rounds_or_a_zero_changes_nothing_either() {
    let mut values = by_hand();
    let before = with_baseline(&values, 0, MARGIN);
    values.push(vec![Some(5.0), None, None, Some(5.0)]);
    values.push(vec![Some(5.0), Some(0.0), Some(5.0), Some(5.0)]);
    let after = with_baseline(&values, 0, MARGIN);
    assert_eq!(after[..3], before);
    assert_eq!(after[3].unwrap().relation, Relation::TooFewRounds);
    // The baseline's values in those two rounds are e^0.01 and 1.
    assert!(is_near(after[3].unwrap().ratio.ln(), 5.0_f64.ln() - 0.005));
    assert_eq!(after[4], None);
}

#[test]
fn without_the_baseline_nothing_is_compared() {
    let mut values = by_hand();
    values[0] = vec![None; 4];
    assert!(with_baseline(&values, 0, MARGIN).iter().all(Option::is_none));
    values[0] = vec![Some(1.0), Some(1.0), Some(0.0), Some(1.0)];
    assert!(with_baseline(&values, 0, MARGIN).iter().all(Option::is_none));
    assert!(with_baseline(&values, 7, MARGIN).iter().all(Option::is_none));
    assert!(with_baseline(&[], 0, MARGIN).is_empty());
}

/// Each round is twice as slow as the one before. The baseline lacks one round and a case lacks
/// another. The pace of neither round affects a ratio.
#[test]
fn a_missing_trial_leaves_its_round_comparable() {
    let mut values = whole(&[
        &[1.0, 2.02, 4.0, 8.0, 16.1],
        &[1.5, 3.00, 6.02, 12.0, 24.0],
        &[1.2, 2.41, 4.8, 9.6, 19.1],
    ]);
    values[0][3] = None;
    values[2][0] = None;
    let compared = with_baseline(&values, 0, MARGIN);
    let (one, two) = (compared[1].unwrap(), compared[2].unwrap());
    assert!((one.ratio - 1.5).abs() < 0.01, "{one:?}");
    assert!((two.ratio - 1.2).abs() < 0.01, "{two:?}");
    assert_eq!((one.rounds, two.rounds), (4, 3));
    assert_eq!((one.relation, two.relation), (Relation::Higher, Relation::Higher));
}

/// A round without the baseline gives information about the other two cases, and so about the
/// variance. It adds only a degree of freedom: 5 instead of 4 (seven of eight more values, less a
/// round).
#[test]
fn a_round_without_the_baseline_still_contributes_to_the_variance() {
    let mut values = by_hand();
    values[0][3] = None;
    let with = with_baseline(&values, 0, MARGIN)[1].unwrap();
    values[1][3] = None;
    values[2][3] = None;
    let without = with_baseline(&values, 0, MARGIN)[1].unwrap();
    assert!(is_near(with.ratio, without.ratio));
    assert_eq!(with.bounds.unwrap().pooled.freedom, 5.0);
    assert_eq!(without.bounds.unwrap().pooled.freedom, 4.0);
}

/// The other cases share no round: there is no fit without the baseline, and the other bounds
/// remain.
#[test]
fn cases_that_meet_only_the_baseline_are_compared() {
    let (here, gone) = (Some(2.0), None);
    let values = [
        vec![Some(1.0), Some(1.01), Some(1.0), Some(1.0), Some(0.99), Some(1.0)],
        vec![here, here, here, gone, gone, gone],
        vec![gone, gone, gone, here, here, here],
    ];
    let compared = with_baseline(&values, 0, MARGIN);
    for one in compared.iter().flatten() {
        assert_eq!((one.relation, one.bounds.unwrap().baseline), (Relation::Higher, None));
        assert!((one.ratio - 2.0).abs() < 0.02);
    }
    assert_eq!(compared.iter().flatten().count(), 2);
    // The two cases share no round, so their differences from the baseline are not correlated.
    assert!(compared[1].unwrap().bounds.unwrap().pooled.correlation.abs() < 1e-9);
}

#[test]
fn the_largest_difference_is_the_end_further_from_1() {
    let of = |low, high| Comparison {
        ratio: 1.0,
        interval: Some((low, high)),
        relation: Relation::Inconclusive,
        rounds: 3,
        bounds: None,
        margin: MARGIN,
    };
    assert!(is_near(of(0.96, 1.09).largest_difference().unwrap(), 0.09));
    assert!(is_near(of(0.88, 1.05).largest_difference().unwrap(), 0.12));
    let (one, two) = (Some(of(0.96, 1.09)), Some(of(0.88, 1.05)));
    assert!(is_near(largest_difference(&[None, one, two]).unwrap(), 0.12));
    let few = Some(Comparison { interval: None, ..of(1.0, 1.0) });
    assert_eq!(largest_difference(&[None, one, few]), None);
    assert_eq!(largest_difference(&[None]), None);
}

/// Returns values of a simulated machine; `noise` is the standard deviation of the logs.
fn simulated(effects: &[f64], rounds: usize, noise: f64, seed: u64) -> Vec<Vec<Option<f64>>> {
    let mut random = Random::with_seed(seed);
    let mut values = vec![Vec::new(); effects.len()];
    for _ in 0..rounds {
        let round = 0.1 * random.normal();
        for (case, effect) in values.iter_mut().zip(effects) {
            case.push(Some((effect + round + noise * random.normal()).exp()));
        }
    }
    values
}

#[test]
fn noise_and_nearness_to_the_margin_need_more_rounds() {
    let needed = |ratio: f64, noise: f64| {
        // Standard deviation of the log ratio of two trials with this noise.
        let d = noise * 2.0_f64.sqrt();
        let base = [1.0, 1.0, 1.0];
        let other = [-d, 0.0, d].map(|log| ratio * log.exp());
        compared(&[&base, &other])[1].unwrap().rounds_needed()
    };
    use RoundsNeeded::{About, MoreThan};
    assert_eq!(needed(1.5, 0.02), None, "it is settled");
    let (quiet, noisy) = (needed(1.0, 0.02).unwrap(), needed(1.0, 0.05).unwrap());
    assert!(About(3) < quiet && quiet < noisy && noisy < MoreThan(200), "{quiet:?} {noisy:?}");
    assert!(needed(1.10, 0.05) > needed(1.20, 0.05));
    assert_eq!(needed(1.029, 0.02), Some(MoreThan(200)));
    // The result is the largest number of all inconclusive comparisons.
    let values = simulated(&[0.0, 0.01, 0.0, 1.0], 3, 0.04, 1);
    let all = with_baseline(&values, 0, MARGIN);
    let each: Vec<_> = all.iter().flatten().filter_map(Comparison::rounds_needed).collect();
    assert!(each.len() > 1, "{all:?}");
    assert_eq!(rounds_needed(&all), each.into_iter().max());
    assert_eq!(rounds_needed(&[None]), None);
}

/// The bounds predicted for another number of rounds are those that result once the same noise was
/// seen in that many rounds.
#[test]
fn bounds_after_more_rounds_are_those_of_more_rounds() {
    let values = simulated(&[0.0, 0.04, 0.0, 1.0], 5, 0.02, 2);
    let bounds = with_baseline(&values, 0, MARGIN)[1].unwrap().bounds.unwrap();
    assert_eq!(bounds.after(5, 5), bounds);
    let after = bounds.after(5, 9);
    assert_eq!((after.pooled.freedom, after.pair.freedom), (24.0, 8.0));
    assert!(is_near(after.pooled.error * 3.0, bounds.pooled.error * 5.0_f64.sqrt()));
    assert!(after.half_width(0.95) < bounds.half_width(0.95));
}

prop_compose! {
    /// Two to six cases, three to eight rounds, up to a fifth of the trials missing.
    fn layouts()(cases in 2_usize..7, rounds in 3_usize..9)(
        logs in prop::collection::vec(prop::collection::vec(-0.2_f64..0.2, rounds), cases),
        missing in prop::collection::vec(prop::collection::vec(0_u32..5, rounds), cases),
        keep_all in any::<bool>(),
    ) -> Vec<Vec<Option<f64>>> {
        logs.iter().zip(&missing).map(|(logs, missing)| {
            logs.iter().zip(missing)
                .map(|(log, missing)| (keep_all || *missing > 0).then(|| log.exp()))
                .collect()
        }).collect()
    }
}

fn are_alike(one: &Option<Comparison>, other: &Option<Comparison>) -> bool {
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            let intervals = match (one.interval, other.interval) {
                (None, None) => true,
                (Some(a), Some(b)) => near(a.0, b.0) && near(a.1, b.1),
                _ => false,
            };
            near(one.ratio, other.ratio) && intervals && one.rounds == other.rounds
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn order_of_cases_and_rounds_does_not_matter(values in layouts(), turn in 0_usize..8) {
        let before = with_baseline(&values, 0, MARGIN);
        let (cases, rounds) = (values.len(), values[0].len());
        let place = |case: usize| (case + turn) % cases;
        let mut turned = vec![Vec::new(); cases];
        for (case, row) in values.iter().enumerate() {
            let mut row = row.clone();
            row.rotate_left(turn % rounds);
            turned[place(case)] = row;
        }
        let after = with_baseline(&turned, place(0), MARGIN);
        for (case, before) in before.iter().enumerate() {
            prop_assert!(are_alike(before, &after[place(case)]), "{:?} {:?}", before, after);
        }
    }

    #[test]
    fn units_and_effects_of_rounds_do_not_matter(
        values in layouts(),
        unit in 0.001_f64..1e6,
        paces in prop::collection::vec(0.5_f64..2.0, 8),
    ) {
        let scaled: Vec<Vec<Option<f64>>> = values.iter().map(|row| {
            row.iter().zip(&paces).map(|(value, pace)| value.map(|value| value * unit * pace)).collect()
        }).collect();
        let (before, after) =
            (with_baseline(&values, 0, MARGIN), with_baseline(&scaled, 0, MARGIN));
        prop_assert!(before.iter().zip(&after).all(|(a, b)| are_alike(a, b)), "{:?} {:?}", before, after);
    }

    /// Holds for two cases only: with more, the variance of the others counts besides the
    /// baseline's.
    #[test]
    fn swapping_two_cases_inverts_the_ratio(values in layouts()) {
        let two = &values[..2];
        let (one, other) = (with_baseline(two, 0, MARGIN)[1], with_baseline(two, 1, MARGIN)[0]);
        let turned = other.map(|other| Comparison {
            ratio: 1.0 / other.ratio,
            interval: other.interval.map(|(low, high)| (1.0 / high, 1.0 / low)),
            ..other
        });
        prop_assert!(are_alike(&one, &turned), "{:?} {:?}", one, other);
    }

    /// Half of the rounds with the same trials give the same ratio with a wider interval.
    #[test]
    fn fewer_rounds_make_intervals_wider(values in layouts()) {
        let twice: Vec<Vec<Option<f64>>> =
            values.iter().map(|row| [row.clone(), row.clone()].concat()).collect();
        let (half, all) = (with_baseline(&values, 0, MARGIN), with_baseline(&twice, 0, MARGIN));
        // A case with two rounds enters the fit once it has four, and adds its own noise.
        let takes_part = |one: &Option<Comparison>| one.is_some_and(|one| one.interval.is_some());
        if !half.iter().map(takes_part).eq(all.iter().map(takes_part)) {
            return Ok(());
        }
        for (half, all) in half.iter().zip(&all) {
            let (Some(half), Some(all)) = (half, all) else { continue };
            let (Some(few), Some(many)) = (half.interval, all.interval) else { continue };
            prop_assert!(few.0 < many.0 && many.1 < few.1, "{:?} {:?}", half, all);
        }
    }

    /// No interval beyond the margin is inconclusive, and no other relation contradicts its
    /// interval.
    #[test]
    fn relation_and_interval_agree(values in layouts(), slower in 0.8_f64..1.25) {
        let mut values = values;
        values[1].iter_mut().flatten().for_each(|value| *value *= slower);
        for one in with_baseline(&values, 0, MARGIN).iter().flatten() {
            let Some((low, high)) = one.interval else {
                prop_assert_eq!(one.relation, Relation::TooFewRounds);
                continue;
            };
            prop_assert!(low <= one.ratio && one.ratio <= high);
            let inside = low >= 1.0 / MARGIN && high <= MARGIN;
            match one.relation {
                Relation::Higher => prop_assert!(low > 1.0 && one.ratio > MARGIN),
                Relation::Lower => prop_assert!(high < 1.0 && one.ratio < 1.0 / MARGIN),
                Relation::Equivalent => {
                    prop_assert!(one.ratio < MARGIN && one.ratio > 1.0 / MARGIN);
                }
                Relation::Inconclusive => {
                    prop_assert!(low <= MARGIN && high >= 1.0 / MARGIN && !inside);
                }
                Relation::TooFewRounds => prop_assert!(false, "{:?}", one),
            }
        }
    }
}
