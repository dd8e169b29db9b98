//! Checks whether a constant load was answered evenly from its beginning to its end.
//!
//! Change points only set a flag: no part of a trial is removed because of them. Barrett,
//! Bolz-Tereick, Killick, Mount and Tratt (*Virtual Machine Warmup Blows Hot and Cold*, OOPSLA
//! 2017) show that a third of their benchmarks never reach a steady state. To look for one, and to
//! drop what precedes it, hides that. Change points are found by PELT (Killick, Fearnhead and
//! Eckley, JASA 107, 2012) with their penalty of 15 ln n.

use crate::compare::MARGIN;
use crate::pelt;

/// Whether the level of a series changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Steadiness {
    /// No level differs by more than [`MARGIN`] from the last one.
    Steady,
    /// At least one level differs by more. Holds all levels in order, two at least.
    NotSteady(Vec<Level>),
    /// The series has fewer than [`SECONDS_MIN`] seconds, or too few of them have a value.
    TooShort,
}

/// A section of the series between two change points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Index of its first second.
    pub from: usize,
    /// Geometric mean of its values.
    pub value: f64,
}

/// Seconds that a load must last to be judged.
pub const SECONDS_MIN: usize = 60;

/// Judges the values of seconds (medians of service time). Seconds without a value belong to the
/// level before them.
pub fn steadiness(seconds: &[Option<f64>]) -> Steadiness {
    if seconds.len() < SECONDS_MIN {
        return Steadiness::TooShort;
    }
    // A long load is judged in steps of several seconds: finding change points takes quadratic
    // time.
    let step = seconds.len().div_ceil(VALUES_MAX);
    let steps = seconds.chunks(step).enumerate();
    let (places, logs): (Vec<usize>, Vec<f64>) =
        steps.filter_map(|(place, seconds)| Some((place * step, mean_log(seconds)?))).unzip();
    if logs.len() < SECONDS_MIN / 2 {
        return Steadiness::TooShort;
    }
    let logs = without_outliers(&logs);
    let penalty = 15.0 * (logs.len() as f64).ln();
    let begins = pelt::begins(&logs, penalty, LEVEL_SECONDS_MIN);
    let ends = begins.iter().skip(1).copied().chain([logs.len()]);
    let levels: Vec<Level> = begins
        .iter()
        .zip(ends)
        .map(|(&from, to)| {
            let mean = logs[from..to].iter().sum::<f64>() / (to - from) as f64;
            Level { from: places[from], value: mean.exp() }
        })
        .collect();
    let last = levels.last().map_or(1.0, |level| level.value);
    let differs = |level: &Level| (level.value / last).ln().abs() > MARGIN.ln();
    if levels.iter().any(differs) { Steadiness::NotSteady(levels) } else { Steadiness::Steady }
}

fn mean_log(seconds: &[Option<f64>]) -> Option<f64> {
    let logs: Vec<f64> =
        seconds.iter().flatten().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

/// Most values that PELT gets: ten minutes of one value a second.
const VALUES_MAX: usize = 600;

/// Replaces each value beyond three interquartile ranges of its neighbours by their median
/// (Barrett's outliers, after Tukey): a single pause is not a level.
fn without_outliers(logs: &[f64]) -> Vec<f64> {
    let around = |at: usize| {
        let from = at.saturating_sub(NEIGHBOURS).min(logs.len().saturating_sub(2 * NEIGHBOURS + 1));
        let mut near = logs[from..(from + 2 * NEIGHBOURS + 1).min(logs.len())].to_vec();
        near.sort_by(f64::total_cmp);
        let at = |share: f64| near[((near.len() - 1) as f64 * share).round() as usize];
        (at(0.25), at(0.5), at(0.75))
    };
    logs.iter()
        .enumerate()
        .map(|(at, &log)| {
            let (low, middle, high) = around(at);
            let reach = 3.0 * (high - low);
            if log < low - reach || log > high + reach { middle } else { log }
        })
        .collect()
}

/// Seconds on each side with which an outlier is compared. They are enough for quartiles, and few
/// enough that a level of a quarter of a minute is kept.
const NEIGHBOURS: usize = 10;

/// Fewest seconds of a level: a shorter one is a hiccup.
const LEVEL_SECONDS_MIN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Returns seconds of 10 ms × the current level, with 1 % of noise.
    fn series(levels: &[(usize, f64)], seed: u64) -> Vec<Option<f64>> {
        let mut random = Random::with_seed(seed);
        let of = |(seconds, level): &(usize, f64)| {
            (0..*seconds)
                .map(|_| Some(1e7 * level * (0.01 * random.normal()).exp()))
                .collect::<Vec<_>>()
        };
        levels.iter().flat_map(of).collect()
    }

    #[test]
    fn noise_around_one_level_is_steady() {
        for seed in 0..100 {
            assert_eq!(steadiness(&series(&[(120, 1.0)], seed)), Steadiness::Steady, "{seed}");
        }
        assert_eq!(steadiness(&vec![Some(1e6); 60]), Steadiness::Steady);
    }

    #[test]
    fn a_step_is_found_at_its_position() {
        for seed in 0..100 {
            let found = steadiness(&series(&[(30, 1.1), (50, 1.0)], seed));
            let Steadiness::NotSteady(levels) = found else { panic!("{seed}: {found:?}") };
            let begins: Vec<usize> = levels.iter().map(|level| level.from).collect();
            assert!(begins.len() == 2 && begins[1].abs_diff(30) <= 1, "{seed}: {levels:?}");
            assert!((levels[0].value / levels[1].value - 1.1).abs() < 0.01, "{seed}: {levels:?}");
        }
    }

    #[test]
    fn a_step_within_the_margin_a_hiccup_and_gaps_do_not_matter() {
        assert_eq!(steadiness(&series(&[(40, 1.015), (40, 1.0)], 1)), Steadiness::Steady);
        let mut hiccup = series(&[(90, 1.0)], 2);
        hiccup[40] = Some(9e9);
        hiccup[60] = None;
        assert_eq!(steadiness(&hiccup), Steadiness::Steady);
    }

    #[test]
    fn a_step_after_a_gap_is_found_at_its_position() {
        let mut seconds = series(&[(60, 1.2), (60, 1.0)], 6);
        seconds[20..40].fill(None);
        let Steadiness::NotSteady(levels) = steadiness(&seconds) else { panic!("a step of 20 %") };
        assert!(levels.len() == 2 && levels[1].from.abs_diff(60) <= 1, "{levels:?}");
    }

    #[test]
    fn constant_growth_is_not_steady() {
        let leak: Vec<(usize, f64)> = (0..90).map(|s| (1, 1.0 + s as f64 / 300.0)).collect();
        assert!(matches!(steadiness(&series(&leak, 3)), Steadiness::NotSteady(_)));
    }

    #[test]
    fn less_than_a_minute_is_too_short_to_tell() {
        assert_eq!(steadiness(&series(&[(59, 1.0)], 4)), Steadiness::TooShort);
        assert_eq!(steadiness(&vec![None; 100]), Steadiness::TooShort, "nothing was answered");
    }

    #[test]
    fn an_hour_is_sampled_in_steps() {
        let Steadiness::NotSteady(levels) = steadiness(&series(&[(1_800, 1.2), (1_800, 1.0)], 5))
        else {
            panic!("a step of 20 %");
        };
        assert_eq!((levels.len(), levels[1].from), (2, 1_800));
    }
}
