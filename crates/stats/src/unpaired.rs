//! Trials of two runs, measured at different times: no round holds both, so nothing that
//! disturbed the machine cancels out.

use crate::compare::{Compared, Difference, MARGIN, holm};
use crate::estimate::{Estimate, FEWEST};
use crate::t;

/// The values of one cell in two runs, one a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sides {
    /// Of the run that the other is held against.
    pub base: Vec<f64>,
    /// Of the other.
    pub other: Vec<f64>,
}

/// Compares cells of two runs, other ÷ base, by Welch's t on logs: the two sides may scatter
/// differently and have different numbers of trials (Welch, Biometrika, 1947). What may be said
/// follows the rules of [`compare`](crate::compare::compare), Holm's adjustment over the cells
/// among them. An estimate's number of trials is that of the side with fewer.
pub fn compare(cells: &[Sides]) -> Vec<Compared> {
    let ln = |values: &[f64]| -> Option<Vec<f64>> {
        let fit = values.iter().all(|value| *value > 0.0 && value.is_finite());
        fit.then(|| values.iter().map(|value| value.ln()).collect())
    };
    let shifts: Vec<Option<Shift>> =
        cells.iter().map(|cell| Shift::between(&ln(&cell.base)?, &ln(&cell.other)?)).collect();
    let judged = judge(&shifts, MARGIN.ln());
    shifts
        .iter()
        .zip(judged)
        .map(|(shift, judged)| Compared {
            ratio: shift.map(|shift| Estimate {
                value: shift.mean.exp(),
                interval: shift.interval(0.95).map(|(low, high)| (low.exp(), high.exp())),
                trials: shift.trials,
            }),
            judged,
        })
        .collect()
}

/// How far the values of one side lie from those of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Difference of the means, other less base.
    pub mean: f64,
    /// Trials of the side with fewer; of rounds their number.
    pub trials: u32,
    error: f64,
    freedom: u32,
}

impl Shift {
    /// Of two sides that share nothing; `None` where one is empty.
    pub fn between(base: &[f64], other: &[f64]) -> Option<Shift> {
        let (base, other) = (Spread::of(base)?, Spread::of(other)?);
        let (a, b) = (base.of_mean(), other.of_mean());
        // Welch and Satterthwaite's degrees of freedom, rounded down: rather too wide than too
        // narrow. Sides that do not scatter leave 0 ÷ 0.
        let of = |part: f64, spread: &Spread| part * part / f64::from(spread.count.max(2) - 1);
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

    /// Of differences within rounds, one each; `None` without any.
    pub fn within(differences: &[f64]) -> Option<Shift> {
        let spread = Spread::of(differences)?;
        Some(Shift {
            mean: spread.mean,
            trials: spread.count,
            error: spread.of_mean().sqrt(),
            freedom: spread.count.max(2) - 1,
        })
    }

    /// Two-sided interval that covers with this chance; `None` below three trials a side.
    pub fn interval(&self, covers: f64) -> Option<(f64, f64)> {
        (self.trials >= FEWEST).then(|| {
            let reach = t::quantile(0.5 + covers / 2.0, self.freedom) * self.error;
            (self.mean - reach, self.mean + reach)
        })
    }

    /// Two-sided chance to see this if there were no difference; 1 where none can be told.
    fn chance(&self) -> f64 {
        if self.trials < FEWEST || self.mean == 0.0 {
            return 1.0;
        }
        // Sides that do not scatter have no error: the quotient is infinite, the chance 0.
        2.0 * t::upper_tail(self.mean.abs() / self.error, self.freedom)
    }
}

/// What may be said of shifts with a margin on either side of zero. *Larger* and *smaller*: p <
/// 0.05, adjusted for their number, and the shift itself beyond the margin; *same*: the 90 %
/// interval inside it.
pub fn judge(shifts: &[Option<Shift>], margin: f64) -> Vec<Difference> {
    let chances: Vec<f64> =
        shifts.iter().map(|shift| shift.map_or(1.0, |shift| shift.chance())).collect();
    let adjusted = holm(&chances);
    let one = |(shift, chance): (&Option<Shift>, f64)| match shift {
        None => Difference::NotToldApart,
        Some(shift) if shift.trials < FEWEST => Difference::Hint,
        Some(shift) if chance < 0.05 && shift.mean > margin => Difference::Larger,
        Some(shift) if chance < 0.05 && shift.mean < -margin => Difference::Smaller,
        Some(shift) => match shift.interval(0.90) {
            Some((low, high)) if low >= -margin && high <= margin => Difference::Same,
            _ => Difference::NotToldApart,
        },
    };
    shifts.iter().zip(adjusted).map(one).collect()
}

/// Values of one side.
struct Spread {
    mean: f64,
    /// Of a value.
    variance: f64,
    count: u32,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Spread> {
        let count = u32::try_from(values.len()).ok().filter(|count| *count > 0)?;
        let mean = values.iter().sum::<f64>() / f64::from(count);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // One value does not scatter, as far as can be told.
        Some(Spread { mean, variance: squares / f64::from(count.max(2) - 1), count })
    }

    /// Variance of the mean.
    fn of_mean(&self) -> f64 {
        self.variance / f64::from(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(base: &[f64], other: &[f64]) -> Sides {
        Sides { base: base.to_vec(), other: other.to_vec() }
    }

    fn judged(cells: &[Sides]) -> Vec<Difference> {
        compare(cells).iter().map(|compared| compared.judged).collect()
    }

    /// Base 1, 2, 3: mean 2, variance 1, of the mean 1/3. Other 4, 6, 8, 10: mean 7, variance 20/3,
    /// of the mean 5/3. Error √2; degrees of freedom 4 ÷ ((1/9)/2 + (25/9)/3) = 4 ÷ (53/54) = 4.08,
    /// rounded down.
    #[test]
    fn welch_by_hand() {
        let shift = Shift::between(&[1.0, 2.0, 3.0], &[4.0, 6.0, 8.0, 10.0]).expect("values");
        assert_eq!((shift.mean, shift.trials, shift.freedom), (5.0, 3, 4));
        assert!((shift.error - 2.0_f64.sqrt()).abs() < 1e-12);
        let reach = 2.776_445_105_2 * 2.0_f64.sqrt();
        let (low, high) = shift.interval(0.95).expect("enough trials");
        assert!((low - (5.0 - reach)).abs() < 1e-8 && (high - (5.0 + reach)).abs() < 1e-8);
    }

    /// The same on logs: the ratio of geometric means, and its interval back from logs.
    #[test]
    fn ratios_are_of_geometric_means() {
        let e = |values: &[f64]| values.iter().map(|value| value.exp()).collect::<Vec<_>>();
        let cell = sides(&e(&[1.0, 2.0, 3.0]), &e(&[4.0, 6.0, 8.0, 10.0]));
        let ratio = compare(&[cell])[0].ratio.expect("a ratio");
        let reach = 2.776_445_105_2 * 2.0_f64.sqrt();
        let (low, high) = ratio.interval.expect("enough trials");
        assert!((ratio.value / 5.0_f64.exp() - 1.0).abs() < 1e-9);
        assert!((low / (5.0 - reach).exp() - 1.0).abs() < 1e-7, "{low}");
        assert!((high / (5.0 + reach).exp() - 1.0).abs() < 1e-7, "{high}");
        assert_eq!(ratio.trials, 3);
    }

    #[test]
    fn what_may_be_said_is_as_within_rounds() {
        use Difference::{Hint, Larger, NotToldApart, Same, Smaller};
        let near = [1.00, 1.001, 0.999, 1.00];
        let cases: [(&[f64], &[f64], Difference); 8] = [
            (&near, &[1.30, 1.31, 1.29, 1.30], Larger),
            (&near, &[0.70, 0.71, 0.69, 0.70], Smaller),
            (&near, &[1.00, 1.01, 0.99, 1.00], Same),
            (&near, &[1.00, 1.50, 0.80, 1.20], NotToldApart),
            // Sure to be above 1, and 1.037 itself.
            (&near, &[1.03, 1.04, 1.05, 1.03], Larger),
            // As sure, and 1.02: of no use to anybody, and not wholly inside either.
            (&near, &[1.01, 1.02, 1.035, 1.02], NotToldApart),
            (&near, &[2.0, 2.0], Hint),
            (&near, &[], NotToldApart),
        ];
        for (base, other, expected) in cases {
            assert_eq!(judged(&[sides(base, other)]), [expected], "{other:?}");
        }
        assert_eq!(judged(&[sides(&[0.0, 0.0, 0.0], &near)]), [NotToldApart]);
    }

    /// What a round does to both cancels out within rounds and not between runs: the same trials,
    /// once paired and once not.
    #[test]
    fn unpaired_is_weaker_than_paired() {
        let machine = [1.0, 1.4, 0.8, 1.2, 0.9];
        let slower = machine.map(|value| value * 1.1);
        let unpaired = compare(&[sides(&machine, &slower)])[0];
        let paired = crate::compare::compare(&[vec![1.1; 5]])[0];
        assert_eq!(unpaired.judged, Difference::NotToldApart);
        assert_eq!(paired.judged, Difference::Larger);
        assert!((unpaired.ratio.expect("a ratio").value - 1.1).abs() < 1e-12);
    }

    /// Alone the difference is sure (p = 0.04); as one of three it is not (0.12).
    #[test]
    fn many_cells_ask_for_more() {
        let base = [1.00, 1.02, 0.98, 1.00];
        let weak = sides(&base, &[1.10, 1.15, 1.05, 1.045]);
        let noise = sides(&base, &[1.00, 1.50, 0.80, 1.20]);
        let alone = judged(std::slice::from_ref(&weak))[0];
        let among = judged(&[weak, noise.clone(), noise])[0];
        assert_eq!((alone, among), (Difference::Larger, Difference::NotToldApart));
    }

    #[test]
    fn sides_that_do_not_scatter_are_judged_all_the_same() {
        let cell = sides(&[2.0; 3], &[3.0; 4]);
        assert_eq!(judged(&[cell]), [Difference::Larger]);
        assert_eq!(judged(&[sides(&[2.0; 3], &[2.0; 3])]), [Difference::Same]);
    }

    #[test]
    fn shifts_within_rounds_are_students() {
        let shift = Shift::within(&[1.0, 2.0, 3.0]).expect("values");
        let (low, high) = shift.interval(0.95).expect("enough");
        let reach = 4.302_652_729_7 / 3.0_f64.sqrt();
        assert!((low - (2.0 - reach)).abs() < 1e-8 && (high - (2.0 + reach)).abs() < 1e-8);
        assert_eq!(judge(&[Some(shift)], 0.001), [Difference::NotToldApart]);
        assert_eq!(judge(&[Shift::within(&[0.5; 3])], 0.001), [Difference::Larger]);
        assert_eq!(Shift::within(&[]), None);
    }
}
