//! Finds lasting changes of a figure over runs.
//!
//! A change is only told where two detectors that have little in common agree: PELT ([`pelt`]),
//! which assumes a level with noise around it, and E-divisive ([`energy`]), which assumes nothing
//! and permutes. Daly, Brown, Ingo, O'Leary and Bradford (change points in continuous integration,
//! ICPE 2020) report what one detector alone costs: most of what it finds must be sorted out by a
//! person.

use crate::compare::MARGIN;
use crate::estimate::Estimate;
use crate::unpaired::Shift;
use crate::{energy, pelt};

/// What a series of runs shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Changes {
    /// There are fewer than [`RUNS_MIN`] runs, or a value is not positive.
    TooFew,
    /// The changes, in order. Empty: none is beyond the margin.
    Found(Vec<Step>),
}

/// A lasting change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The index of the first run after the change.
    pub at: usize,
    /// After ÷ before, of the geometric means of the levels on both sides. The interval is Welch's
    /// on logs. It is of the place that was found, and so a little too narrow.
    pub ratio: Estimate,
}

/// Fewest runs that can show a change: with five runs on each side, 2 of 252 orders are as well
/// sorted, which is just below [`energy::CHANCE`].
pub const RUNS_MIN: usize = 10;

/// Most runs that are looked at, the last ones: the permutations take quadratic time.
pub const RUNS_MAX: usize = 100;

/// Finds the changes beyond [`MARGIN`] in the values of consecutive runs.
pub fn changes(values: &[f64]) -> Changes {
    let skipped = values.len().saturating_sub(RUNS_MAX);
    let values = &values[skipped..];
    if values.len() < RUNS_MIN || values.iter().any(|value| *value <= 0.0 || !value.is_finite()) {
        return Changes::TooFew;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let penalty = PENALTY * (logs.len() as f64).ln();
    let mut begins = pelt::begins(&logs, penalty, LEVEL_RUNS_MIN);
    begins.retain(|at| *at > 0);
    if !begins.is_empty() {
        let others = energy::begins(&logs, LEVEL_RUNS_MIN);
        begins.retain(|at| others.iter().any(|other| at.abs_diff(*other) <= 1));
    }
    let mut steps = steps(&logs, &begins);
    // The smallest step goes first: without it, its levels are one, and the steps beside it change.
    while let Some(least) = smallest(&steps).filter(|step| size(step) <= MARGIN.ln()) {
        begins.retain(|at| *at != least.at);
        steps = self::steps(&logs, &begins);
    }
    Changes::Found(steps.into_iter().map(|step| Step { at: step.at + skipped, ..step }).collect())
}

/// Penalty of a level, in ln n and variances of the noise. Twice is what Schwarz's criterion gives
/// for a mean and a place (Yao, *Statistics & Probability Letters* 6, 1988); the third is for the
/// variance, which is only estimated.
const PENALTY: f64 = 3.0;

/// Fewest runs of a level: two wild runs in a row are no change.
const LEVEL_RUNS_MIN: usize = 3;

fn size(step: &Step) -> f64 {
    step.ratio.value.ln().abs()
}

fn smallest(steps: &[Step]) -> Option<Step> {
    steps.iter().copied().min_by(|a, b| size(a).total_cmp(&size(b)))
}

fn steps(logs: &[f64], begins: &[usize]) -> Vec<Step> {
    let starts: Vec<usize> = std::iter::once(0).chain(begins.iter().copied()).collect();
    let ends = begins.iter().copied().skip(1).chain([logs.len()]);
    let one = |((&before, &at), end): ((&usize, &usize), usize)| {
        let shift = Shift::between(&logs[before..at], &logs[at..end])?;
        let interval = shift.interval(0.95).map(|(low, high)| (low.exp(), high.exp()));
        let ratio = Estimate { value: shift.mean.exp(), interval, trials: shift.trials };
        Some(Step { at, ratio })
    };
    starts.iter().zip(begins).zip(ends).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// Runs around a level that changes, with this relative noise.
    fn runs(levels: &[(usize, f64)], noise: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::with_seed(seed);
        let mut of = |&(count, level): &(usize, f64)| {
            (0..count).map(|_| 250.0 * level * (noise * random.normal()).exp()).collect::<Vec<_>>()
        };
        levels.iter().flat_map(&mut of).collect()
    }

    fn found(values: &[f64]) -> Vec<Step> {
        match changes(values) {
            Changes::Found(steps) => steps,
            Changes::TooFew => panic!("too few"),
        }
    }

    /// Noise of the usual size, of a quiet machine, and of a bad one, where 3 % are nothing.
    #[test]
    fn noise_alone_is_no_change_in_49_of_50_series() {
        for noise in [0.005, 0.02, 0.10] {
            let false_alarms =
                (0..300).filter(|seed| !found(&runs(&[(30, 1.0)], noise, *seed)).is_empty());
            let count = false_alarms.count();
            assert!(count <= 300 / 50, "{count} of 300 with noise of {noise}");
        }
    }

    /// The noise of a shared machine has a long tail: every eighth run is slower by up to 60 %.
    #[test]
    fn wild_runs_are_no_change_either() {
        let count = (0..300_u64).filter(|seed| {
            let mut random = Random::with_seed(seed + 1_000);
            let mut values = runs(&[(30, 1.0)], 0.02, *seed);
            for value in &mut values {
                *value *= if random.below(8) == 0 { 1.0 + 0.6 * random.share() } else { 1.0 };
            }
            !found(&values).is_empty()
        });
        let count = count.count();
        assert!(count <= 300 / 50, "{count} of 300");
    }

    #[test]
    fn too_few_runs_show_nothing() {
        assert_eq!(changes(&[]), Changes::TooFew);
        assert_eq!(changes(&[1.0; RUNS_MIN - 1]), Changes::TooFew);
        assert_eq!(changes(&[0.0; 20]), Changes::TooFew);
        assert_eq!(changes(&[f64::NAN; 20]), Changes::TooFew);
        assert_eq!(found(&[3.0; RUNS_MIN]), []);
    }

    /// 2 % are shown by the detectors where noise is small, and are not beyond the margin.
    #[test]
    fn a_step_within_the_margin_is_not_told() {
        for seed in 0..50 {
            assert_eq!(found(&runs(&[(15, 1.0), (15, 1.02)], 0.002, seed)), [], "{seed}");
        }
    }

    /// Two steps of 2 % in one direction are not one of 4 %: each alone is within the margin. But
    /// when one goes, the other is measured against what is left.
    #[test]
    fn small_steps_are_dropped_one_at_a_time() {
        let steps = found(&runs(&[(15, 1.0), (15, 1.025), (15, 1.05)], 0.002, 1));
        let [step] = steps[..] else { panic!("{steps:?}") };
        assert!(step.ratio.value > 1.03 && [15, 30].contains(&step.at), "{step:?}");
    }

    #[test]
    fn only_the_last_runs_count() {
        let values = runs(&[(60, 1.3), (RUNS_MAX - 20, 1.0), (20, 1.2)], 0.01, 4);
        let at: Vec<usize> = found(&values).iter().map(|step| step.at).collect();
        assert_eq!(at, [60 + RUNS_MAX - 20]);
    }

    /// Four deviations: the place is right but for a run, whichever way the step goes. It is wrong
    /// where two neighbours of the step happen to be nearer to the other level.
    #[test]
    fn a_step_of_8_percent_is_found_at_its_place() {
        let mut right = 0;
        for seed in 0..120_usize {
            let before = 6 + seed % 19;
            let level = if seed % 2 == 0 { 1.08 } else { 1.0 / 1.08 };
            let levels = [(before, 1.0), (30 - before, level)];
            let steps = found(&runs(&levels, 0.02, seed as u64));
            let is_it = |step: &Step| {
                let (low, high) = step.ratio.interval.expect("three runs on each side");
                step.at.abs_diff(before) <= 1 && low < step.ratio.value && step.ratio.value < high
            };
            right += usize::from(steps.len() == 1 && is_it(&steps[0]));
        }
        assert!(right >= 120 * 95 / 100, "{right} of 120");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// A machine that became slower is seen in each figure, and not in the ratio to a control.
        #[test]
        fn what_the_control_shares_is_no_change(seed in 0_u64..100_000, slower in 0.05_f64..0.5) {
            let own = runs(&[(30, 1.0)], 0.005, seed);
            let control = runs(&[(30, 1.0)], 0.005, seed + 200_000);
            let mood = |at: usize| if at < 15 { 1.0 } else { 1.0 + slower };
            let alone: Vec<f64> = (0..30).map(|at| own[at] * mood(at)).collect();
            let ratio: Vec<f64> =
                (0..30).map(|at| alone[at] / (control[at] * mood(at))).collect();
            prop_assert_eq!(found(&ratio), vec![]);
            let at: Vec<usize> = found(&alone).iter().map(|step| step.at).collect();
            prop_assert_eq!(at, vec![15]);
        }
    }
}
