//! Tells measured cases apart, all pairs of one figure at once.
//!
//! Two cases differ if three things hold. Tukey's test on the fit of all cases and rounds finds a
//! difference beyond 3 %, so that many pairs do not produce false ones. The pair's own ratios
//! within rounds (Student's t) exclude 1, because Tukey's test takes all cases as equally noisy,
//! and an overloaded one is not. And the lower of the two values is not a lower bound, whose true
//! value may be the higher one.
//!
//! Tukey's test alone was rejected: of eight equal cases, one of them ten times as noisy as the
//! others, it and the pair's own 95 % interval find a false difference in 10 % of runs of three
//! rounds. With [`Cases::own_level`] it is 2 %.

use stampede_stats::letters::BlockFit;
use stampede_stats::unpaired::Shift;

use crate::figure::Better;
use crate::measured::{MeasuredFigure, RoundValue};

/// How two cases compare in a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// The first is better.
    FirstBetter,
    /// The second is better.
    SecondBetter,
    /// No significant difference.
    NoDifference,
    /// Fewer than three rounds have both.
    TooFewRounds,
    /// One has no value.
    NotMeasured,
}

/// The cases of one figure, fitted together.
pub(crate) struct Cases<'a> {
    figures: &'a [Option<MeasuredFigure>],
    better: Better,
    /// `None` where fewer than two cases have three rounds of positive values.
    fit: Option<BlockFit>,
}

/// Fewest rounds for an interval: two values have one degree of freedom, and an interval that is of
/// no use.
pub(crate) const ROUNDS_MIN: usize = 3;

impl<'a> Cases<'a> {
    /// Fits the cases. `None` in `figures` is a case that was not measured.
    pub fn new(figures: &'a [Option<MeasuredFigure>], better: Better) -> Cases<'a> {
        let fitted = |figure: &Option<MeasuredFigure>| match figure {
            // A value without a log would prevent the fit of all others.
            Some(figure) if has_logs(figure) => figure.values(),
            _ => Vec::new(),
        };
        let values: Vec<Vec<Option<f64>>> = figures.iter().map(fitted).collect();
        Cases { figures, better, fit: BlockFit::fit(&values) }
    }

    /// Compares two cases.
    pub fn compare(&self, first: usize, second: usize) -> Apart {
        let (Some(one), Some(other)) = (&self.figures[first], &self.figures[second]) else {
            return Apart::NotMeasured;
        };
        if one.over_rounds().is_none() || other.over_rounds().is_none() {
            return Apart::NotMeasured;
        }
        let shared = one.rounds.iter().zip(&other.rounds);
        let shared: Vec<(RoundValue, RoundValue)> =
            shared.filter_map(|(one, other)| Some(((*one)?, (*other)?))).collect();
        if shared.len() < ROUNDS_MIN {
            return Apart::TooFewRounds;
        }
        let fails = |side: fn(&(RoundValue, RoundValue)) -> RoundValue| {
            shared.iter().filter(|pair| self.is_failure(side(pair))).count()
        };
        match (fails(|pair| pair.0), fails(|pair| pair.1)) {
            (0, 0) => self.compare_values(first, second, &shared),
            // Thousands of requests of each trial decide whether a percentile is a failed one.
            (0, failed) if failed == shared.len() => Apart::FirstBetter,
            (failed, 0) if failed == shared.len() => Apart::SecondBetter,
            _ => Apart::NoDifference,
        }
    }

    /// Whether a value is worse than every measured value.
    fn is_failure(&self, value: RoundValue) -> bool {
        match value {
            RoundValue::Failed => true,
            RoundValue::Exactly(value) => self.better == Better::Higher && value <= 0.0,
            RoundValue::AtLeast(_) => false,
        }
    }

    fn compare_values(
        &self,
        first: usize,
        second: usize,
        shared: &[(RoundValue, RoundValue)],
    ) -> Apart {
        let Some(ratio) = self.significant_ratio(first, second, shared) else {
            return Apart::NoDifference;
        };
        let is_bound = |value: RoundValue| matches!(value, RoundValue::AtLeast(_));
        let (lower_is_bound, lower_is_first) = match ratio < 1.0 {
            true => (shared.iter().any(|pair| is_bound(pair.0)), true),
            false => (shared.iter().any(|pair| is_bound(pair.1)), false),
        };
        match (lower_is_bound, lower_is_first == (self.better == Better::Lower)) {
            // The true value may be the higher one.
            (true, _) => Apart::NoDifference,
            (false, true) => Apart::FirstBetter,
            (false, false) => Apart::SecondBetter,
        }
    }

    /// Returns the coverage of a pair's own interval: those of all pairs that share one case hold
    /// together in 95 % of runs (Šidák, *Journal of the American Statistical Association* 62,
    /// 1967).
    fn own_level(&self) -> f64 {
        let others = self.fit.as_ref().map_or(1, |fit| fit.cases.len() - 1);
        0.95_f64.powf(1.0 / others as f64)
    }

    /// Returns first ÷ second if the two differ significantly.
    fn significant_ratio(
        &self,
        first: usize,
        second: usize,
        shared: &[(RoundValue, RoundValue)],
    ) -> Option<f64> {
        let fit = self.fit.as_ref()?;
        let place = |case: usize| fit.cases.iter().position(|fitted| *fitted == case);
        let (one, other) = (place(first)?, place(second)?);
        let logs: Option<Vec<f64>> = shared
            .iter()
            .map(|(one, other)| Some(plain(*one)?.ln() - plain(*other)?.ln()))
            .collect();
        let (low, high) = Shift::within(&logs?)?.interval(self.own_level())?;
        let excludes_one = low > 0.0 || high < 0.0;
        let ratio = fit.ratio(one, other);
        (excludes_one && fit.differ(one, other) && (ratio > 1.0) == (low > 0.0)).then_some(ratio)
    }
}

/// Whether all values have a log.
fn has_logs(figure: &MeasuredFigure) -> bool {
    let rounds = figure.rounds.iter().flatten();
    rounds.copied().all(|round| plain(round).is_some_and(|value| value > 0.0 && value.is_finite()))
}

fn plain(value: RoundValue) -> Option<f64> {
    match value {
        RoundValue::Exactly(value) | RoundValue::AtLeast(value) => Some(value),
        RoundValue::Failed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stampede_stats::random::Random;

    fn of(values: &[f64]) -> Option<MeasuredFigure> {
        Some(MeasuredFigure::of_values(values.iter().copied()))
    }

    fn first_two(figures: &[Option<MeasuredFigure>], better: Better) -> Apart {
        let cases = Cases::new(figures, better);
        let turned = match cases.compare(1, 0) {
            Apart::FirstBetter => Apart::SecondBetter,
            Apart::SecondBetter => Apart::FirstBetter,
            same => same,
        };
        assert_eq!(cases.compare(0, 1), turned, "the order of the two does not matter");
        turned
    }

    #[test]
    fn a_clear_difference_is_found_in_either_direction() {
        let figures = [of(&[1.0, 1.01, 0.99]), of(&[1.3, 1.31, 1.29])];
        assert_eq!(first_two(&figures, Better::Lower), Apart::FirstBetter);
        assert_eq!(first_two(&figures, Better::Higher), Apart::SecondBetter);
    }

    #[test]
    fn trials_without_any_noise_are_told_apart_beyond_three_percent() {
        let with = |other: f64| first_two(&[of(&[1.0; 3]), of(&[other; 3])], Better::Lower);
        assert_eq!(with(1.2), Apart::FirstBetter);
        assert_eq!(with(1.02), Apart::NoDifference);
        assert_eq!(with(1.0), Apart::NoDifference);
    }

    #[test]
    fn two_rounds_tell_nothing_apart() {
        assert_eq!(first_two(&[of(&[1.0]), of(&[9.0])], Better::Lower), Apart::TooFewRounds);
        let gap = MeasuredFigure {
            rounds: vec![
                Some(RoundValue::Exactly(1.0)),
                None,
                Some(RoundValue::Exactly(1.0)),
                Some(RoundValue::Exactly(1.0)),
            ],
        };
        let short = MeasuredFigure::of_values([9.0, 9.0, 9.0]);
        assert_eq!(first_two(&[Some(gap), Some(short)], Better::Lower), Apart::TooFewRounds);
        assert_eq!(first_two(&[of(&[1.0; 3]), None], Better::Lower), Apart::NotMeasured);
        assert_eq!(first_two(&[of(&[1.0; 3]), of(&[])], Better::Lower), Apart::NotMeasured);
    }

    #[test]
    fn a_percentile_that_always_fails_is_worse_than_any_time() {
        use RoundValue::{Exactly, Failed};
        let failed = Some(MeasuredFigure { rounds: vec![Some(Failed); 3] });
        let mixed =
            Some(MeasuredFigure { rounds: vec![Some(Failed), Some(Failed), Some(Exactly(9.0))] });
        let figures = [of(&[1.0, 5.0, 3.0]), failed.clone()];
        assert_eq!(first_two(&figures, Better::Lower), Apart::FirstBetter);
        assert_eq!(first_two(&[of(&[1.0; 3]), mixed], Better::Lower), Apart::NoDifference);
        assert_eq!(first_two(&[failed.clone(), failed], Better::Lower), Apart::NoDifference);
        // Nothing was answered.
        let figures = [of(&[1.0, 0.9, 0.95]), of(&[0.0; 3])];
        assert_eq!(first_two(&figures, Better::Higher), Apart::FirstBetter);
    }

    #[test]
    fn a_failed_case_does_not_hide_the_others() {
        let failed = Some(MeasuredFigure { rounds: vec![Some(RoundValue::Failed); 3] });
        let figures = [of(&[1.0, 1.01, 0.99]), of(&[1.3, 1.31, 1.29]), failed];
        assert_eq!(first_two(&figures, Better::Lower), Apart::FirstBetter);
    }

    #[test]
    fn a_lower_bound_is_only_surely_the_higher_one() {
        let bound =
            |value: f64| Some(MeasuredFigure { rounds: vec![Some(RoundValue::AtLeast(value)); 3] });
        assert_eq!(first_two(&[bound(9.0), of(&[1.0; 3])], Better::Lower), Apart::SecondBetter);
        assert_eq!(first_two(&[bound(1.0), of(&[9.0; 3])], Better::Lower), Apart::NoDifference);
        assert_eq!(first_two(&[bound(9.0), of(&[1.0; 3])], Better::Higher), Apart::FirstBetter);
    }

    /// Eight cases in so many rounds. Rounds differ by 20 %, the first case is `noisier` times as
    /// noisy as the others, and the last one `slower` on logs.
    fn simulated(
        random: &mut Random,
        rounds: usize,
        (noise, noisier): (f64, f64),
        slower: f64,
    ) -> Vec<Option<MeasuredFigure>> {
        let effects: Vec<f64> = (0..rounds).map(|_| random.normal() * 0.2).collect();
        let mut case = |index: usize| {
            let size = if index == 0 { noise * noisier } else { noise };
            let shift = if index == 7 { slower } else { 0.0 };
            let value = |effect: &f64| (effect + shift + size * random.normal()).exp();
            Some(MeasuredFigure::of_values(effects.iter().map(value).collect::<Vec<_>>()))
        };
        (0..8).map(&mut case).collect()
    }

    /// At most one run in twenty may find any difference among 28 pairs: 20 of 400, and chance adds
    /// up to 13 (three standard deviations).
    #[test]
    fn many_equal_cases_are_not_told_apart() {
        for (rounds, noise, noisier) in [(3, 0.03, 1.0), (3, 0.03, 10.0), (5, 0.10, 10.0)] {
            let mut random = Random::with_seed(7);
            let mut wrong = 0;
            for _ in 0..400 {
                let figures = simulated(&mut random, rounds, (noise, noisier), 0.0);
                let cases = Cases::new(&figures, Better::Lower);
                let differs = |(one, other)| cases.compare(one, other) != Apart::NoDifference;
                let pairs = (0..8).flat_map(|one| (one + 1..8).map(move |other| (one, other)));
                wrong += usize::from(pairs.into_iter().any(differs));
            }
            assert!(wrong <= 33, "{wrong} of 400: {rounds} rounds, {noise} × {noisier}");
        }
    }

    /// A case that is 20 % slower in five rounds of 3 % noise: 6 standard errors of a ratio, which
    /// nearly every run must find.
    #[test]
    fn a_real_difference_among_eight_cases_is_found() {
        let mut random = Random::with_seed(7);
        let found = (0..400).filter(|_| {
            let figures = simulated(&mut random, 5, (0.03, 1.0), 1.2_f64.ln());
            Cases::new(&figures, Better::Lower).compare(1, 7) == Apart::FirstBetter
        });
        let found = found.count();
        assert!(found >= 340, "{found} of 400");
    }
}
