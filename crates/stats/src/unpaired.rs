//! Compares the trials of two runs that were measured at different times. No round contains both,
//! so disturbances of the machine do not cancel out.

use crate::baseline::Relation;
use crate::compare::MARGIN;
use crate::estimate::{Estimate, INTERVAL_VALUES_MIN};
use crate::t;

/// The values of one case in two runs, one for each trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnpairedSamples {
    /// Values of the run that the other is compared with.
    pub base: Vec<f64>,
    /// Values of the other run.
    pub other: Vec<f64>,
}

/// The comparison of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairComparison {
    /// Other ÷ base. The 95 % intervals of all pairs that were compared in one call hold together.
    /// `None` where a side has no value.
    pub ratio: Option<Estimate>,
    /// The 95 % interval of this pair alone, regardless of the other pairs.
    pub alone: Option<(f64, f64)>,
    /// What follows from the interval.
    pub relation: Relation,
}

/// Compares cases of two runs, other ÷ base, with Welch's t on logs: the two sides may vary
/// differently and have different numbers of trials (Welch, Biometrika, 1947). An estimate's number
/// of trials is that of the side with fewer. The relation follows [`judge`].
pub fn compare(pairs: &[UnpairedSamples]) -> Vec<PairComparison> {
    let ln = |values: &[f64]| -> Option<Vec<f64>> {
        let fit = values.iter().all(|value| *value > 0.0 && value.is_finite());
        fit.then(|| values.iter().map(|value| value.ln()).collect())
    };
    let shift = |pair: &UnpairedSamples| Shift::between(&ln(&pair.base)?, &ln(&pair.other)?);
    comparisons_of_shifts(&pairs.iter().map(shift).collect::<Vec<_>>())
}

/// Converts shifts of logs to ratios, and judges them.
pub(crate) fn comparisons_of_shifts(shifts: &[Option<Shift>]) -> Vec<PairComparison> {
    let exp = |(low, high): (f64, f64)| (low.exp(), high.exp());
    let judged = judge(shifts, MARGIN.ln());
    let one = |(shift, judged): (&Option<Shift>, JudgedShift)| PairComparison {
        ratio: shift.map(|shift| Estimate {
            value: shift.mean.exp(),
            interval: judged.interval.map(exp),
            trials: shift.trials,
        }),
        alone: shift.and_then(|shift| shift.interval(0.95)).map(exp),
        relation: judged.relation,
    };
    shifts.iter().zip(judged).map(one).collect()
}

/// The difference between the values of two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Difference of the means, other − base.
    pub mean: f64,
    /// Number of trials of the side with fewer; number of rounds for differences within rounds.
    pub trials: u32,
    error: f64,
    freedom: u32,
}

impl Shift {
    /// Returns the shift of two independent sides; `None` if one is empty.
    pub fn between(base: &[f64], other: &[f64]) -> Option<Shift> {
        let (base, other) = (MeanAndVariance::of(base)?, MeanAndVariance::of(other)?);
        let (a, b) = (base.of_mean(), other.of_mean());
        // Welch and Satterthwaite's degrees of freedom are rounded down: an interval that is too
        // wide is better than one that is too narrow. Sides without variation give 0 ÷ 0.
        let of =
            |part: f64, spread: &MeanAndVariance| part * part / f64::from(spread.count.max(2) - 1);
        let freedom = (a + b).powi(2) / (of(a, &base) + of(b, &other));
        let fewest = base.count.min(other.count);
        let freedom = if freedom.is_finite() { freedom as u32 } else { fewest - 1 };
        Some(Shift {
            mean: other.mean - base.mean,
            trials: fewest,
            error: (a + b).sqrt(),
            freedom: freedom.max(1),
        })
    }

    /// Returns the shift from differences within rounds, one for each round; `None` without any.
    pub fn within(differences: &[f64]) -> Option<Shift> {
        let spread = MeanAndVariance::of(differences)?;
        Some(Shift {
            mean: spread.mean,
            trials: spread.count,
            error: spread.of_mean().sqrt(),
            freedom: spread.count.max(2) - 1,
        })
    }

    /// Returns the two-sided interval with coverage `level`; `None` with fewer than three trials a
    /// side.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        self.interval_of(level, 1)
    }

    /// Returns the interval if `intervals` intervals are to hold together (Šidák, *Journal of the
    /// American Statistical Association* 62, 1967).
    fn interval_of(&self, level: f64, intervals: u32) -> Option<(f64, f64)> {
        (self.trials >= INTERVAL_VALUES_MIN).then(|| {
            let each = level.powf(1.0 / f64::from(intervals.max(1)));
            let reach = t::quantile(0.5 + each / 2.0, self.freedom) * self.error;
            (self.mean - reach, self.mean + reach)
        })
    }
}

/// The judgement of a shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedShift {
    /// One of 95 % intervals that all hold together; `None` with fewer than three trials a side.
    pub interval: Option<(f64, f64)>,
    /// What follows from the interval.
    pub relation: Relation,
}

/// Judges shifts with a margin on either side of zero. *Higher* and *lower*: the interval lies
/// beyond zero and the shift beyond the margin. To require the interval beyond the margin was
/// rejected: that finds a 5 % slow-down in five rounds of 2 % noise in only a third of all runs.
/// This rule finds it in 97 % (`tests/simulated.rs`). *Equivalent*: the 90 % interval lies inside
/// the margin (two one-sided tests at 5 %; Schuirmann, *Journal of Pharmacokinetics and
/// Biopharmaceutics* 15, 1987).
pub fn judge(shifts: &[Option<Shift>], margin: f64) -> Vec<JudgedShift> {
    let has_interval =
        |shift: &&Option<Shift>| shift.is_some_and(|shift| shift.trials >= INTERVAL_VALUES_MIN);
    let intervals = u32::try_from(shifts.iter().filter(has_interval).count()).unwrap_or(u32::MAX);
    let one = |shift: &Option<Shift>| {
        let Some(shift) = shift else {
            return JudgedShift { interval: None, relation: Relation::Inconclusive };
        };
        let interval = shift.interval_of(0.95, intervals);
        let relation = match (interval, shift.interval_of(0.90, intervals)) {
            (Some((low, _)), _) if low > 0.0 && shift.mean > margin => Relation::Higher,
            (Some((_, high)), _) if high < 0.0 && shift.mean < -margin => Relation::Lower,
            (Some(_), Some((low, high))) if low >= -margin && high <= margin => {
                Relation::Equivalent
            }
            (Some(_), _) => Relation::Inconclusive,
            (None, _) => Relation::TooFewRounds,
        };
        JudgedShift { interval, relation }
    };
    shifts.iter().map(one).collect()
}

/// Mean and variance of one side.
struct MeanAndVariance {
    mean: f64,
    /// Variance of a value.
    variance: f64,
    count: u32,
}

impl MeanAndVariance {
    fn of(values: &[f64]) -> Option<MeanAndVariance> {
        let count = u32::try_from(values.len()).ok().filter(|count| *count > 0)?;
        let mean = values.iter().sum::<f64>() / f64::from(count);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // A single value has no measurable variation.
        Some(MeanAndVariance { mean, variance: squares / f64::from(count.max(2) - 1), count })
    }

    /// Returns the variance of the mean.
    fn of_mean(&self) -> f64 {
        self.variance / f64::from(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(base: &[f64], other: &[f64]) -> UnpairedSamples {
        UnpairedSamples { base: base.to_vec(), other: other.to_vec() }
    }

    fn judged(pairs: &[UnpairedSamples]) -> Vec<Relation> {
        compare(pairs).iter().map(|compared| compared.relation).collect()
    }

    /// Base 1, 2, 3: mean 2, variance 1, variance of the mean 1/3. Other 4, 6, 8, 10: mean 7,
    /// variance 20/3, variance of the mean 5/3. Standard error √2. Degrees of freedom 4 ÷ ((1/9)/2
    /// + (25/9)/3) = 4 ÷ (53/54) = 4.08, rounded down.
    #[test]
    fn welch_by_hand() {
        let shift = Shift::between(&[1.0, 2.0, 3.0], &[4.0, 6.0, 8.0, 10.0]).expect("values");
        assert_eq!((shift.mean, shift.trials, shift.freedom), (5.0, 3, 4));
        assert!((shift.error - 2.0_f64.sqrt()).abs() < 1e-12);
        let reach = 2.776_445_105_2 * 2.0_f64.sqrt();
        let (low, high) = shift.interval(0.95).expect("enough trials");
        assert!((low - (5.0 - reach)).abs() < 1e-8 && (high - (5.0 + reach)).abs() < 1e-8);
    }

    /// The same on logs: the ratio of geometric means, with its interval transformed back from
    /// logs.
    #[test]
    fn ratios_are_of_geometric_means() {
        let e = |values: &[f64]| values.iter().map(|value| value.exp()).collect::<Vec<_>>();
        let pair = sides(&e(&[1.0, 2.0, 3.0]), &e(&[4.0, 6.0, 8.0, 10.0]));
        let ratio = compare(&[pair])[0].ratio.expect("a ratio");
        let reach = 2.776_445_105_2 * 2.0_f64.sqrt();
        let (low, high) = ratio.interval.expect("enough trials");
        assert!((ratio.value / 5.0_f64.exp() - 1.0).abs() < 1e-9);
        assert!((low / (5.0 - reach).exp() - 1.0).abs() < 1e-7, "{low}");
        assert!((high / (5.0 + reach).exp() - 1.0).abs() < 1e-7, "{high}");
        assert_eq!(ratio.trials, 3);
    }

    #[test]
    fn relations_follow_the_same_rules_as_within_rounds() {
        use Relation::{Equivalent, Higher, Inconclusive, Lower, TooFewRounds};
        let near = [1.00, 1.001, 0.999, 1.00];
        let cases: [(&[f64], &[f64], Relation); 8] = [
            (&near, &[1.30, 1.31, 1.29, 1.30], Higher),
            (&near, &[0.70, 0.71, 0.69, 0.70], Lower),
            (&near, &[1.00, 1.01, 0.99, 1.00], Equivalent),
            (&near, &[1.00, 1.50, 0.80, 1.20], Inconclusive),
            // Surely above 1, and the ratio is 1.037.
            (&near, &[1.03, 1.04, 1.05, 1.03], Higher),
            // Surely above 1 too, but the ratio is 1.02: not beyond the margin, and not surely
            // within it.
            (&near, &[1.01, 1.02, 1.035, 1.02], Inconclusive),
            (&near, &[2.0, 2.0], TooFewRounds),
            (&near, &[], Inconclusive),
        ];
        for (base, other, expected) in cases {
            assert_eq!(judged(&[sides(base, other)]), [expected], "{other:?}");
        }
        assert_eq!(judged(&[sides(&[0.0, 0.0, 0.0], &near)]), [Inconclusive]);
    }

    /// Effects of a round on both sides cancel out within rounds, but not between runs. The same
    /// trials are compared once paired and once unpaired.
    #[test]
    fn unpaired_is_weaker_than_paired() {
        let machine = [1.0, 1.4, 0.8, 1.2, 0.9];
        let slower = machine.map(|value| value * 1.1);
        let unpaired = compare(&[sides(&machine, &slower)])[0];
        let paired = crate::compare::compare(&[vec![1.1; 5]])[0];
        assert_eq!(unpaired.relation, Relation::Inconclusive);
        assert_eq!(paired.relation, Relation::Higher);
        assert!((unpaired.ratio.expect("a ratio").value - 1.1).abs() < 1e-12);
    }

    /// Alone, the difference is significant (p = 0.04); as one of three it is not (0.12).
    #[test]
    fn many_pairs_need_stronger_evidence() {
        let base = [1.00, 1.02, 0.98, 1.00];
        let weak = sides(&base, &[1.10, 1.15, 1.05, 1.045]);
        let noise = sides(&base, &[1.00, 1.50, 0.80, 1.20]);
        let alone = judged(std::slice::from_ref(&weak))[0];
        let among = judged(&[weak, noise.clone(), noise])[0];
        assert_eq!((alone, among), (Relation::Higher, Relation::Inconclusive));
    }

    #[test]
    fn identical_trials_are_still_compared() {
        let pair = sides(&[2.0; 3], &[3.0; 4]);
        assert_eq!(judged(&[pair]), [Relation::Higher]);
        assert_eq!(judged(&[sides(&[2.0; 3], &[2.0; 3])]), [Relation::Equivalent]);
    }

    #[test]
    fn shifts_within_rounds_have_students_interval() {
        let shift = Shift::within(&[1.0, 2.0, 3.0]).expect("values");
        let (low, high) = shift.interval(0.95).expect("enough");
        let reach = 4.302_652_729_7 / 3.0_f64.sqrt();
        assert!((low - (2.0 - reach)).abs() < 1e-8 && (high - (2.0 + reach)).abs() < 1e-8);
        let relation = |shift| judge(&[shift], 0.001)[0].relation;
        assert_eq!(relation(Some(shift)), Relation::Inconclusive);
        assert_eq!(relation(Shift::within(&[0.5; 3])), Relation::Higher);
        assert_eq!(Shift::within(&[]), None);
    }
}
