//! Scales and arithmetic of charts, the same as on the page.

/// Maps values to positions between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The value at position 0.
    pub low: f64,
    /// The value at position 1.
    pub high: f64,
    /// The kind of mapping.
    pub kind: ScaleKind,
}

/// The kind of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleKind {
    /// Equal differences have equal distances.
    Linear,
    /// Equal ratios have equal distances.
    Log,
}

impl Scale {
    /// A linear scale from `low` to `high`.
    pub fn linear(low: f64, high: f64) -> Scale {
        Scale { low, high: if high > low { high } else { low + 1.0 }, kind: ScaleKind::Linear }
    }

    /// A logarithmic scale between two positive values.
    pub fn log(low: f64, high: f64) -> Scale {
        let low = if low > 0.0 { low } else { 1.0 };
        Scale { low, high: if high > low { high } else { low * 10.0 }, kind: ScaleKind::Log }
    }

    /// A logarithmic scale from the round step below all values to the one above. Values that are
    /// not above 0 are not on the scale and are drawn at its low end.
    pub fn log_around(values: &[f64]) -> Scale {
        let above = || values.iter().copied().filter(|value| *value > 0.0);
        let least = above().fold(f64::INFINITY, f64::min);
        let most = above().fold(0.0, f64::max);
        if most <= 0.0 {
            return Scale::log(1.0, 10.0);
        }
        let steps = log_steps(least / 10.0, most * 10.0, &[1.0, 2.0, 5.0]);
        let below = steps.iter().rfind(|step| **step <= least * 1.000_1);
        let over = steps.iter().find(|step| **step >= most * 0.999_9);
        let (low, high) = (below.copied().unwrap_or(least), over.copied().unwrap_or(most));
        Scale::log(low, if high > low { high } else { low * 2.0 })
    }

    /// The position of a value, limited to the scale.
    pub fn place(&self, value: f64) -> f64 {
        let of = |value: f64| match self.kind {
            ScaleKind::Linear => value,
            ScaleKind::Log => value.max(self.low).ln(),
        };
        let place = (of(value) - of(self.low)) / (of(self.high) - of(self.low));
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Round values for the axis, about `most` of them.
    pub fn steps(&self, most: usize) -> Vec<f64> {
        match self.kind {
            ScaleKind::Linear => {
                let inside = |step: &f64| *step >= self.low;
                steps(self.high, most).into_iter().filter(inside).collect()
            }
            ScaleKind::Log => {
                let wide = self.high / self.low > 1e3;
                let by: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
                log_steps(self.low * 0.999_9, self.high * 1.000_1, by)
            }
        }
    }
}

/// Round steps from 0 to `high`, at most `most` of them besides 0.
pub fn steps(high: f64, most: usize) -> Vec<f64> {
    let step = step(high, most);
    if step <= 0.0 {
        return vec![0.0];
    }
    let count = (high / step * 1.000_1).floor() as usize;
    (0..=count).map(|place| place as f64 * step).collect()
}

/// A round step: 1, 2 or 5 times a power of ten.
pub fn step(high: f64, most: usize) -> f64 {
    if !(high > 0.0 && high.is_finite()) {
        return 0.0;
    }
    let rough = high / most.max(1) as f64;
    let power = 10_f64.powi(rough.log10().floor() as i32);
    let found = [1.0, 2.0, 5.0, 10.0].into_iter().find(|by| by * power >= rough * 0.999_9);
    let step = found.unwrap_or(10.0) * power;
    if step.is_normal() { step } else { 0.0 }
}

fn log_steps(low: f64, high: f64, by: &[f64]) -> Vec<f64> {
    // Ten times the largest number is infinite, and has no power of ten.
    let power = |end: f64| (end.log10() as i32).clamp(f64::MIN_10_EXP, f64::MAX_10_EXP);
    let powers = power(low) - 1..=power(high) + 1;
    let all = powers.flat_map(|power| by.iter().map(move |by| by * 10_f64.powi(power)));
    all.filter(|step| step.is_finite() && *step >= low && *step <= high).collect()
}

/// `1 / (1 - q)` for a percentile: 1, 2, 10, 100 for 0, 50, 90 and 99. On a logarithmic scale of
/// this value each nine has the same width. The slowest of n requests is at the position of one in
/// n.
pub fn tail(percent: f64, planned: u64) -> f64 {
    if percent >= 100.0 { planned.max(1) as f64 } else { 100.0 / (100.0 - percent) }
}

/// A scale for values and their intervals. It is logarithmic if a linear scale would hide most
/// values. An interval over few trials may be far wider than all values, so intervals are cut off
/// and values are not.
pub fn extent(values: &[f64], intervals: &[(f64, f64)]) -> Scale {
    let above = || values.iter().copied().filter(|value| *value > 0.0 && value.is_finite());
    let least = above().fold(f64::INFINITY, f64::min);
    let most = above().fold(0.0, f64::max);
    if most <= 0.0 {
        return Scale::linear(0.0, 1.0);
    }
    let widest = intervals.iter().fold(most, |widest, (_, high)| widest.max(*high));
    if most / least > 25.0 {
        return Scale::log(least / 2.0, widest.min(most * 4.0) * 1.1);
    }
    Scale::linear(0.0, widest.min(most * 1.6) * 1.04)
}

/// The median. `None`: there are no values. For an even number it is the lower of the middle two,
/// which is a value that was measured.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_round_and_few() {
        assert_eq!(steps(10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(steps(0.0, 5), [0.0]);
        assert_eq!(step(1.0, 5), 0.2);
        let log = Scale::log_around(&[3.0, 0.0, 70.0]);
        assert_eq!((log.low, log.high), (2.0, 100.0));
        assert_eq!(log.steps(5), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
    }

    #[test]
    fn each_nine_of_a_percentile_has_the_same_width() {
        let scale = Scale::log(1.0, 1_000.0);
        let places = [0.0, 90.0, 99.0, 99.9].map(|percent| scale.place(tail(percent, 1_000)));
        for (place, third) in places.iter().zip(0..) {
            assert!((place - f64::from(third) / 3.0).abs() < 1e-9, "{places:?}");
        }
        assert_eq!(tail(100.0, 1_000), 1_000.0);
    }

    #[test]
    fn the_median_is_one_that_was_measured() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn a_scale_that_hides_most_is_logarithmic() {
        assert_eq!(extent(&[1.0, 30.0], &[]).kind, ScaleKind::Log);
        assert_eq!(extent(&[10.0, 30.0], &[(5.0, 900.0)]), Scale::linear(0.0, 30.0 * 1.6 * 1.04));
        assert_eq!(extent(&[0.0], &[]), Scale::linear(0.0, 1.0));
    }

    #[test]
    fn extreme_numbers_have_a_scale_too() {
        let scale = Scale::log_around(&[f64::MIN_POSITIVE, f64::MAX]);
        let steps = scale.steps(6);
        assert!(steps.len() < 700 && steps.iter().all(|step| step.is_finite()), "{steps:?}");
    }

    proptest! {
        #[test]
        fn a_place_is_on_the_scale(values in prop::collection::vec(any::<f64>(), 0..20), one: f64) {
            let finite: Vec<f64> = values.iter().copied().filter(|one| one.is_finite()).collect();
            let most = finite.iter().copied().fold(0.0, f64::max);
            for scale in [Scale::log_around(&finite), Scale::linear(0.0, most), extent(&finite, &[])] {
                prop_assert!((0.0..=1.0).contains(&scale.place(one)), "{:?}", scale);
                prop_assert!(scale.steps(6).iter().all(|step| step.is_finite()));
                prop_assert!(scale.steps(6).len() < 700);
            }
        }
    }
}
