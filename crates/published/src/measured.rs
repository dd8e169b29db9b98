//! What stampede measured, as this crate needs it: figures of cases, by round.
//!
//! The caller fills it from a run's summary. Nothing here reads results, so that a comparison can
//! be tested with numbers that are written down.

use std::collections::BTreeMap;

use stampede_stats::estimate::Estimate;

use crate::figure::Figure;

/// A run's figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Number of rounds of the run. With fewer than three, no two cases can be told apart.
    pub rounds: u32,
    /// The factor of the loads' lengths, above 0. Figures that grow with the length are compared as of a load
    /// without it: divided by it. `None`: the loads had the length of the plan.
    pub time_scale: Option<f64>,
    /// The cases.
    pub cases: Vec<MeasuredCase>,
}

/// One case: a runtime with an app under a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredCase {
    /// The name of the runtime or of the variant in the plan.
    pub runtime: String,
    /// The name of the app.
    pub app: String,
    /// The name of the load.
    pub load: String,
    /// The figures, in base units ([`Figure`]).
    pub figures: BTreeMap<Figure, MeasuredFigure>,
    /// In a rising schedule: what was measured before the breaking point. `None`: it did not break.
    pub before_breaking: Option<BeforeBreaking>,
    /// What limited the case, as words that follow the runtime's name: `was CPU-bound (98 % of its
    /// CPUs)`. `None`: there is no evidence.
    pub limit: Option<String>,
    /// How the case is set up in another way than in the publication or than the other cases, each
    /// as words that follow the runtime's name: `had 2 workers`.
    pub differences: Vec<String>,
    /// The case had a budget that is not equal to the others'.
    pub budget: Budget,
}

/// Whether a case had the same budget as the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Budget {
    /// The same budget.
    #[default]
    Equal,
    /// The row is marked unequal.
    Unequal,
}

/// What was measured before a case broke.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BeforeBreaking {
    /// The breaking point: target rate per second.
    pub until_per_second: f64,
    /// The figures up to there, in base units.
    pub figures: BTreeMap<Figure, MeasuredFigure>,
}

/// One figure of one case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredFigure {
    /// The value of each round of the run. `None`: the round has no valid trial of this case. The
    /// same index is the same round in all cases.
    pub rounds: Vec<Option<RoundValue>>,
}

/// A figure of one trial, in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoundValue {
    /// The exact value.
    Exactly(f64),
    /// A lower bound.
    AtLeast(f64),
    /// A percentile that falls on a failed request: slower than every time.
    Failed,
}

/// One figure over all rounds, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OverRounds {
    Exactly(Estimate),
    AtLeast(Estimate),
    Failed,
}

impl MeasuredFigure {
    /// Makes a figure of exact values, one for each round.
    pub fn of_values(values: impl IntoIterator<Item = f64>) -> MeasuredFigure {
        let rounds = values.into_iter().map(|value| Some(RoundValue::Exactly(value))).collect();
        MeasuredFigure { rounds }
    }

    /// Returns the estimate over rounds. `None`: no round has a value. One failed round makes the
    /// figure a failed one.
    pub(crate) fn over_rounds(&self) -> Option<OverRounds> {
        let rounds: Vec<RoundValue> = self.rounds.iter().flatten().copied().collect();
        if rounds.contains(&RoundValue::Failed) {
            return Some(OverRounds::Failed);
        }
        let estimate = Estimate::of(&rounds.iter().filter_map(value).collect::<Vec<_>>())?;
        let is_bound = rounds.iter().any(|round| matches!(round, RoundValue::AtLeast(_)));
        Some(if is_bound { OverRounds::AtLeast(estimate) } else { OverRounds::Exactly(estimate) })
    }

    /// Returns the values by round, without those of failed rounds.
    pub(crate) fn values(&self) -> Vec<Option<f64>> {
        self.rounds.iter().map(|round| round.as_ref().and_then(value)).collect()
    }

    /// Makes the figure this one × `factor`.
    fn times(&self, factor: f64) -> MeasuredFigure {
        let scale = |round: RoundValue| match round {
            RoundValue::Exactly(value) => RoundValue::Exactly(value * factor),
            RoundValue::AtLeast(value) => RoundValue::AtLeast(value * factor),
            RoundValue::Failed => RoundValue::Failed,
        };
        MeasuredFigure { rounds: self.rounds.iter().map(|round| round.map(scale)).collect() }
    }

    /// Makes the figure 1 ÷ this one, in units of `size`.
    fn inverted(&self, size: f64) -> MeasuredFigure {
        let invert = |round: &Option<RoundValue>| match round.as_ref().and_then(value) {
            // The inverse of a lower bound would be an upper one, which is not known here.
            Some(value) if value > 0.0 && !matches!(round, Some(RoundValue::AtLeast(_))) => {
                Some(RoundValue::Exactly(size / value))
            }
            _ => None,
        };
        MeasuredFigure { rounds: self.rounds.iter().map(invert).collect() }
    }
}

fn value(round: &RoundValue) -> Option<f64> {
    match round {
        RoundValue::Exactly(value) | RoundValue::AtLeast(value) => Some(*value),
        RoundValue::Failed => None,
    }
}

/// Finds a figure, as of loads without a time scale. `ab`'s time across all requests follows from
/// the throughput, if it was not given.
pub(crate) fn figure(
    figures: &BTreeMap<Figure, MeasuredFigure>,
    of: Figure,
    time_scale: Option<f64>,
) -> Option<MeasuredFigure> {
    const SECOND_NS: f64 = 1e9;
    let across_all = || match of {
        Figure::TimeAcrossAll => Some(figures.get(&Figure::Throughput)?.inverted(SECOND_NS)),
        _ => None,
    };
    let found = figures.get(&of).cloned().or_else(across_all)?;
    let scale = time_scale.filter(|_| of.grows_with_length());
    Some(scale.map_or_else(|| found.clone(), |scale| found.times(1.0 / scale)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_across_all_follows_from_the_throughput() {
        let throughput = MeasuredFigure {
            rounds: vec![
                Some(RoundValue::Exactly(100.0)),
                None,
                Some(RoundValue::AtLeast(50.0)),
                Some(RoundValue::Exactly(0.0)),
            ],
        };
        let figures = BTreeMap::from([(Figure::Throughput, throughput)]);
        let time = figure(&figures, Figure::TimeAcrossAll, Some(0.5)).expect("a figure");
        assert_eq!(time.values(), [Some(1e7), None, None, None], "the same of half of a load");
        assert_eq!(figure(&figures, Figure::TimeMean, None), None);
    }

    #[test]
    fn what_grows_with_the_length_is_scaled_to_the_whole_load() {
        use RoundValue::{AtLeast, Exactly, Failed};
        let rounds = vec![Some(Exactly(100.0)), None, Some(AtLeast(10.0)), Some(Failed)];
        let of = |of: Figure, share| {
            let figures = BTreeMap::from([(of, MeasuredFigure { rounds: rounds.clone() })]);
            figure(&figures, of, share).expect("a figure").rounds
        };
        let whole = vec![Some(Exactly(400.0)), None, Some(AtLeast(40.0)), Some(Failed)];
        for figure in [Figure::OkCount, Figure::WriteErrors, Figure::TimeTaken] {
            assert_eq!(of(figure, Some(0.25)), whole);
            assert_eq!(of(figure, None), rounds);
        }
        for figure in [Figure::Throughput, Figure::DocumentLength, Figure::Concurrency] {
            assert_eq!(of(figure, Some(0.25)), rounds);
        }
    }

    #[test]
    fn one_failed_round_fails_the_figure_and_one_bound_bounds_it() {
        use RoundValue::{AtLeast, Exactly, Failed};
        let of = |rounds: &[RoundValue]| {
            MeasuredFigure { rounds: rounds.iter().copied().map(Some).collect() }.over_rounds()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Exactly(1.0), Failed]), Some(OverRounds::Failed));
        assert!(matches!(of(&[Exactly(1.0), AtLeast(4.0)]),
            Some(OverRounds::AtLeast(estimate)) if (estimate.value - 2.0).abs() < 1e-12));
        assert!(matches!(of(&[Exactly(3.0)]),
            Some(OverRounds::Exactly(estimate)) if estimate.value == 3.0));
    }
}
