//! Compares every case with one baseline that was chosen before the run: ratio, interval and
//! relation.
//!
//! The relation and the interval come from one test, so they never contradict each other. The unit
//! is the trial. Rounds are randomized complete blocks: the log of a value is case + round + noise,
//! fitted by least squares ([`BlockFit`]). A missing trial is left out of the fit, and the other
//! trials of its round stay comparable.
//!
//! An interval is the widest of three ([`Bounds`]); each of them guards against another error. The
//! alternative is to test first whether variances differ, and then to choose one interval. It was
//! simulated and rejected: with three to five rounds, such a test misses a threefold standard
//! deviation too often. The example `baseline` counts how often intervals and relations are right.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dunnett;
use crate::estimate::{INTERVAL_VALUES_MIN, Logs};
use crate::letters::BlockFit;
use crate::normal;
use crate::rounds::MOST;

/// A case compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Case ÷ baseline, of geometric means. Differences between rounds do not affect it.
    pub ratio: f64,
    /// The 95 % interval of the ratio. All intervals of one call contain the true ratios together
    /// in 95 % of runs. `None` with fewer than three rounds.
    pub interval: Option<(f64, f64)>,
    /// What follows from the interval and the ratio.
    pub relation: Relation,
    /// Rounds that have both the case and the baseline.
    pub rounds: u32,
    /// What determines the interval's width; `None` without an interval.
    pub bounds: Option<Bounds>,
    /// The ratio, above 1, up to which a difference does not matter.
    margin: f64,
}

/// How a case's values compare with the baseline's. The caller knows whether higher is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The 95 % interval lies above 1, and the ratio beyond the margin.
    #[serde(alias = "larger")]
    Higher,
    /// The 95 % interval lies below 1, and the ratio beyond the margin.
    #[serde(alias = "smaller")]
    Lower,
    /// The 90 % interval lies within the margin.
    #[serde(alias = "same")]
    Equivalent,
    /// None of the relations above.
    #[serde(alias = "not_told_apart")]
    Inconclusive,
    /// Fewer than three rounds: a first impression.
    #[serde(alias = "hint")]
    TooFewRounds,
}

/// Estimated total number of rounds that would settle a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoundsNeeded {
    /// About this many.
    About(u32),
    /// More than this: the ratio lies too close to the margin, or trials vary too much.
    MoreThan(u32),
}

/// Compares each case with the baseline. In `values[case][round]`, `None` is a missing or invalid
/// trial. `margin` is the ratio, above 1, up to which a difference does not matter
/// ([`MARGIN`](crate::compare::MARGIN)).
///
/// An element of the result is `None` for the baseline itself and for a case that shares no round
/// with it. It is also `None` if the case or the baseline has a value that is not positive and has
/// no log. A case that shares one or two rounds has a ratio without an interval, and does not
/// affect other cases.
pub fn with_baseline(
    values: &[Vec<Option<f64>>],
    baseline: usize,
    margin: f64,
) -> Vec<Option<Comparison>> {
    let ratios = |case: usize| -> Option<Logs> {
        let (case, base) = (values.get(case)?, values.get(baseline)?);
        let positive = |value: &f64| *value > 0.0 && value.is_finite();
        if !case.iter().chain(base).flatten().all(positive) {
            return None;
        }
        let shared: Vec<f64> =
            case.iter().zip(base).filter_map(|(a, b)| Some((*a)? / (*b)?)).collect();
        Logs::of(&shared)
    };
    let paired: Vec<Option<Logs>> =
        (0..values.len()).map(|case| if case == baseline { None } else { ratios(case) }).collect();
    let analysis = Analysis::new(values, baseline, &paired);
    paired
        .iter()
        .enumerate()
        .map(|(case, logs)| {
            let logs = logs.as_ref()?;
            let fitted = analysis.as_ref().and_then(|analysis| analysis.compared(case, logs));
            Some(Comparison::new(logs, fitted, margin))
        })
        .collect()
}

/// Returns the largest possible difference of all cases from the baseline, as a share: 0.09 is 9 %.
/// `None` where nothing was compared, and where a comparison has no interval.
pub fn largest_difference(comparisons: &[Option<Comparison>]) -> Option<f64> {
    let all: Option<Vec<f64>> =
        comparisons.iter().flatten().map(Comparison::largest_difference).collect();
    all?.into_iter().reduce(f64::max)
}

/// Returns the total number of rounds that would settle every inconclusive comparison; `None` if
/// there is no such comparison.
pub fn rounds_needed(comparisons: &[Option<Comparison>]) -> Option<RoundsNeeded> {
    comparisons.iter().flatten().filter_map(Comparison::rounds_needed).max()
}

impl Comparison {
    fn new(paired: &Logs, fitted: Option<(f64, Bounds)>, margin: f64) -> Comparison {
        let rounds = paired.freedom + 1;
        let Some((difference, bounds)) = fitted else {
            let ratio = paired.mean.exp();
            let relation = Relation::TooFewRounds;
            return Comparison { ratio, interval: None, relation, rounds, bounds: None, margin };
        };
        let half_width = bounds.half_width(0.95);
        let within = |half_width: f64| difference.abs() + half_width <= margin.ln();
        let relation = if difference.abs() > half_width.max(margin.ln()) {
            if difference > 0.0 { Relation::Higher } else { Relation::Lower }
        } else if within(bounds.half_width(0.90)) {
            Relation::Equivalent
        } else {
            Relation::Inconclusive
        };
        let interval = Some(((difference - half_width).exp(), (difference + half_width).exp()));
        let bounds = Some(bounds);
        Comparison { ratio: difference.exp(), interval, relation, rounds, bounds, margin }
    }

    /// Returns how far from the baseline the true value may lie, as a share of the baseline: 0.09
    /// is 9 %. That is the end of the interval further from 1. `None` without an interval.
    pub fn largest_difference(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (1.0 - low).max(high - 1.0))
    }

    /// Returns the total number of rounds after which four of five runs would settle this
    /// comparison. That assumes that the ratio stays as it is now, and that trials vary as before.
    /// Both are estimates from few rounds, so the number is a rough one. `None` for a comparison
    /// that is not inconclusive.
    pub fn rounds_needed(&self) -> Option<RoundsNeeded> {
        if self.relation != Relation::Inconclusive {
            return None;
        }
        let bounds = self.bounds?;
        // A comparison that is inconclusive now needs more rounds than there are.
        let (mut few, mut enough) = (self.rounds, MOST + 1);
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            let chance = self.chance_of_settling(&bounds.after(self.rounds, middle));
            if chance < SETTLED { few = middle } else { enough = middle }
        }
        Some(match enough {
            enough if enough > MOST => RoundsNeeded::MoreThan(MOST),
            enough => RoundsNeeded::About(enough),
        })
    }

    /// Returns the chance that a comparison with these bounds is not inconclusive if its ratio is
    /// the true one.
    fn chance_of_settling(&self, bounds: &Bounds) -> f64 {
        let (difference, margin) = (self.ratio.ln().abs(), self.margin.ln());
        let error = bounds.error();
        let found = normal::cdf((difference - bounds.half_width(0.95).max(margin)) / error);
        let room = (margin - bounds.half_width(0.90)).max(0.0);
        let equivalent =
            normal::cdf((room - difference) / error) - normal::cdf((-room - difference) / error);
        found + equivalent
    }
}

/// The share of runs that must settle a comparison: four of five.
const SETTLED: f64 = 0.8;

/// The three bounds of one comparison's interval. The interval is the widest of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Assumes that all cases vary equally. Uses the variance of the whole fit, for all comparisons
    /// together (Dunnett).
    pub pooled: Bound,
    /// Allows for a case that varies more than others. Uses the variance of its own ratios within
    /// rounds, for this comparison alone (Student). Where only one case varies more, the pooled
    /// bound is too wide for all other cases, so all comparisons together still hold.
    pub pair: Bound,
    /// Allows for a baseline that varies more than others, which would spoil all comparisons at
    /// once. Uses the baseline's variance apart from that of the others, for all comparisons
    /// together (Dunnett, with Satterthwaite's degrees of freedom). `None` with one comparison,
    /// where the data cannot separate the two variances.
    pub baseline: Option<Bound>,
}

impl Bounds {
    /// Returns half the width, on logs, of an interval with this chance of containing the true
    /// ratio.
    pub fn half_width(&self, level: f64) -> f64 {
        self.all().map(|bound| bound.half_width(level)).fold(0.0, f64::max)
    }

    /// Returns the standard error of the bound with the widest 95 % interval.
    fn error(&self) -> f64 {
        let widest = |a: &Bound, b: &Bound| a.half_width(0.95).total_cmp(&b.half_width(0.95));
        self.all().max_by(widest).map_or(0.0, |bound| bound.error)
    }

    /// Returns the bounds to expect after `other` rounds in place of `rounds`.
    fn after(&self, rounds: u32, other: u32) -> Bounds {
        let after = |bound: Bound| bound.after(rounds, other);
        Bounds {
            pooled: after(self.pooled),
            pair: after(self.pair),
            baseline: self.baseline.map(after),
        }
    }

    fn all(&self) -> impl Iterator<Item = Bound> {
        [Some(self.pooled), Some(self.pair), self.baseline].into_iter().flatten()
    }
}

/// One estimate of the error of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Standard error of the log ratio.
    error: f64,
    /// Degrees of freedom of that error; not a whole number where two variances were added.
    freedom: f64,
    /// Number of comparisons that hold together.
    comparisons: u32,
    /// Correlation of those comparisons.
    correlation: f64,
}

impl Bound {
    /// Returns half the width, on logs, of an interval with this chance of containing the true
    /// ratio.
    pub fn half_width(&self, level: f64) -> f64 {
        let of = |freedom: f64| {
            // The number is whole here, and far below 2³²: trials take seconds.
            dunnett::quantile(level, self.comparisons, freedom as u32, self.correlation)
        };
        let (below, above) = (self.freedom.floor().max(1.0), self.freedom.ceil());
        let t = if above > below {
            // Between whole numbers, quantiles lie nearly on a straight line in 1/ν.
            let share = (1.0 / below - 1.0 / self.freedom) / (1.0 / below - 1.0 / above);
            of(below) + share * (of(above) - of(below))
        } else {
            of(below)
        };
        self.error * t
    }

    /// Returns the bound to expect after `other` rounds in place of `rounds` (both are three or
    /// more).
    fn after(self, rounds: u32, other: u32) -> Bound {
        let (rounds, other) = (f64::from(rounds), f64::from(other));
        Bound {
            error: self.error * (rounds / other).sqrt(),
            freedom: self.freedom * (other - 1.0) / (rounds - 1.0),
            ..self
        }
    }
}

/// The fit of the baseline and of all cases that share three or more rounds with it.
struct Analysis {
    fit: BlockFit,
    /// Position of the baseline in the fit.
    base: usize,
    comparisons: u32,
    correlation: f64,
    /// Half the variance of a difference from the baseline in one round, with its degrees of
    /// freedom. It allows the baseline's noise to differ from that of the others.
    baseline: Option<(f64, f64)>,
}

impl Analysis {
    fn new(
        values: &[Vec<Option<f64>>],
        baseline: usize,
        paired: &[Option<Logs>],
    ) -> Option<Analysis> {
        let is_compared = |case: usize| {
            paired[case].as_ref().is_some_and(|logs| logs.freedom + 1 >= INTERVAL_VALUES_MIN)
        };
        // The fit leaves out a case without values, so indices stay those of `values`.
        let only = |is_in: &dyn Fn(usize) -> bool| -> Option<BlockFit> {
            let of = |case| if is_in(case) { values[case].clone() } else { Vec::new() };
            BlockFit::fit(&(0..values.len()).map(of).collect::<Vec<_>>())
        };
        let fit = only(&|case| case == baseline || is_compared(case))?;
        let base = fit.cases.iter().position(|case| *case == baseline)?;
        let comparisons = u32::try_from(fit.cases.len() - 1).ok()?;
        let correlation = smallest_correlation(&fit, base);
        let others = only(&is_compared);
        let baseline = others.and_then(|others| noise_with_baseline_apart(&fit, &others));
        Some(Analysis { fit, base, comparisons, correlation, baseline })
    }

    /// Returns a fitted case's difference of logs from the baseline, and its bounds; `None` for a
    /// case outside the fit.
    fn compared(&self, case: usize, paired: &Logs) -> Option<(f64, Bounds)> {
        let place = self.fit.cases.iter().position(|fitted| *fitted == case)?;
        let spread = self.covariance(place, place);
        let together = |variance: f64, freedom: f64| Bound {
            error: (variance * spread).sqrt(),
            freedom,
            comparisons: self.comparisons,
            correlation: self.correlation,
        };
        let bounds = Bounds {
            pooled: together(self.fit.variance, f64::from(self.fit.freedom)),
            pair: Bound {
                error: paired.error,
                freedom: f64::from(paired.freedom),
                comparisons: 1,
                correlation: self.correlation,
            },
            baseline: self.baseline.map(|(variance, freedom)| together(variance, freedom)),
        };
        Some((self.fit.effects[place] - self.fit.effects[self.base], bounds))
    }

    fn covariance(&self, one: usize, other: usize) -> f64 {
        covariance(&self.fit, self.base, one, other)
    }
}

/// Returns the covariance of two cases' differences from the case at `base`, in units of the
/// noise's variance.
fn covariance(fit: &BlockFit, base: usize, one: usize, other: usize) -> f64 {
    let of = &fit.covariance;
    of[one][other] + of[base][base] - of[one][base] - of[other][base]
}

/// Returns the smallest correlation of two comparisons. It is ½ for all if no trial is missing.
/// With missing trials, correlations differ. A smaller one makes intervals a little too wide, never
/// too narrow.
fn smallest_correlation(fit: &BlockFit, base: usize) -> f64 {
    let others: Vec<usize> = (0..fit.cases.len()).filter(|place| *place != base).collect();
    let of = |one: usize, other: usize| covariance(fit, base, one, other);
    let pairs = others
        .iter()
        .enumerate()
        .flat_map(|(index, &one)| others[index + 1..].iter().map(move |&other| (one, other)));
    pairs
        .map(|(one, other)| of(one, other) / (of(one, one) * of(other, other)).sqrt())
        .fold(dunnett::BALANCED, f64::min)
}

/// Returns half the variance of a difference from the baseline in one round, and its degrees of
/// freedom (Satterthwaite, *Biometrics Bulletin* 2, 1946). The baseline's noise may differ from
/// that of the others.
///
/// The sum of squares of the whole fit exceeds that of a fit without the baseline. The excess shows
/// how the baseline varies around the mean of the others. With m others, noise σ² and the
/// baseline's noise σ₀², that mean square is (σ₀² + σ²/m) · m/(m+1).
fn noise_with_baseline_apart(fit: &BlockFit, others: &BlockFit) -> Option<(f64, f64)> {
    let freedom = fit.freedom.checked_sub(others.freedom).filter(|freedom| *freedom > 0)?;
    let squares = |fit: &BlockFit| fit.variance * f64::from(fit.freedom);
    let count = others.cases.len() as f64;
    let around =
        ((squares(fit) - squares(others)).max(0.0) / f64::from(freedom)) * (1.0 + 1.0 / count);
    let rest = others.variance * (1.0 - 1.0 / count);
    let part = |variance: f64, freedom: u32| variance * variance / f64::from(freedom);
    let satterthwaite =
        (around + rest).powi(2) / (part(around, freedom) + part(rest, others.freedom));
    // Trials that agree to the last bit give 0 ÷ 0.
    let freedom = if satterthwaite.is_finite() { satterthwaite } else { f64::from(freedom) };
    Some(((around + rest) / 2.0, freedom))
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod tests;
