//! Every case against one baseline that was chosen before the run: ratio, interval and word.
//!
//! The word and the interval come from one test, so they never contradict each other. The unit is
//! the trial. Rounds are randomized complete blocks: logs are case + round + noise, by least
//! squares ([`Blocked`]). A trial that is missing is left out of the fit, and its round's other
//! trials stay comparable.
//!
//! An interval is the widest of three ([`Bounds`]), and each guards against something else. The
//! alternative, to test first whether variances differ and then choose, was simulated and
//! rejected: with three to five rounds such a test misses a threefold standard deviation too
//! often. The example `baseline` counts how often intervals and words are right.

use serde::{Deserialize, Serialize};

use crate::dunnett;
use crate::estimate::{FEWEST, Logs};
use crate::letters::Blocked;
use crate::normal;
use crate::rounds::MOST;

/// A case compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Case ÷ baseline, of geometric means; differences between rounds do not enter.
    pub ratio: f64,
    /// All 95 % intervals of one call hold the truth together in 95 % of runs. `None` with fewer
    /// than three rounds.
    pub interval: Option<(f64, f64)>,
    /// What the interval says.
    pub relation: Relation,
    /// Rounds that have both the case and the baseline.
    pub rounds: u32,
    /// What the interval's width is made of; `None` where there is no interval.
    pub bounds: Option<Bounds>,
    /// The ratio, above 1, up to which a difference does not matter.
    margin: f64,
}

/// How a case's values compare with the baseline's. Whether higher is better is the caller's to
/// know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The 95 % interval lies above 1, and the ratio beyond the margin.
    Higher,
    /// The 95 % interval lies below 1, and the ratio beyond the margin.
    Lower,
    /// The 90 % interval lies within the margin.
    Equivalent,
    /// None of these.
    Inconclusive,
    /// Fewer than three rounds: a first impression.
    TooFewRounds,
}

/// How many rounds in all would settle a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoundsNeeded {
    /// About this many.
    About(u32),
    /// More than this: the ratio lies too close to the margin, or trials vary too much.
    MoreThan(u32),
}

/// Compares each case with the baseline. `values[case][round]`; `None` is a trial that is missing
/// or not valid. `margin`: the ratio, above 1, up to which a difference does not matter
/// ([`MARGIN`](crate::compare::MARGIN)).
///
/// An element is `None` for the baseline itself, for a case that shares no round with it, and
/// where the case or the baseline has a value that is not positive (it has no log). A case that
/// shares one or two rounds has a ratio and no interval, and says nothing about the others.
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

/// The largest possible difference of all cases from the baseline, as a share: 0.09 is 9 %. `None`
/// where nothing was compared, and where a comparison has no interval.
pub fn largest_difference(comparisons: &[Option<Comparison>]) -> Option<f64> {
    let all: Option<Vec<f64>> =
        comparisons.iter().flatten().map(Comparison::largest_difference).collect();
    all?.into_iter().reduce(f64::max)
}

/// Rounds in all that would settle every comparison that is inconclusive; `None` where none is.
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
        let reach = bounds.reach(0.95);
        let within = |reach: f64| difference.abs() + reach <= margin.ln();
        let relation = if difference.abs() > reach.max(margin.ln()) {
            if difference > 0.0 { Relation::Higher } else { Relation::Lower }
        } else if within(bounds.reach(0.90)) {
            Relation::Equivalent
        } else {
            Relation::Inconclusive
        };
        let interval = Some(((difference - reach).exp(), (difference + reach).exp()));
        let bounds = Some(bounds);
        Comparison { ratio: difference.exp(), interval, relation, rounds, bounds, margin }
    }

    /// How far from the baseline the truth may lie, as a share of the baseline: 0.09 is 9 %. That
    /// is the end of the interval further from 1. `None` without an interval.
    pub fn largest_difference(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (1.0 - low).max(high - 1.0))
    }

    /// Rounds in all after which this comparison would not be inconclusive in four of five runs, if
    /// the ratio is what it looks like now, and trials vary as they did. `None`: it is not
    /// inconclusive. Both are estimates from few rounds, so the number is a rough one.
    pub fn rounds_needed(&self) -> Option<RoundsNeeded> {
        if self.relation != Relation::Inconclusive {
            return None;
        }
        let bounds = self.bounds?;
        // Nothing that is inconclusive now is settled by the rounds there are.
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

    /// Chance that a comparison with these bounds is not inconclusive, the ratio being what it is.
    fn chance_of_settling(&self, bounds: &Bounds) -> f64 {
        let (difference, margin) = (self.ratio.ln().abs(), self.margin.ln());
        let error = bounds.error();
        let found = normal::cdf((difference - bounds.reach(0.95).max(margin)) / error);
        let room = (margin - bounds.reach(0.90)).max(0.0);
        let equivalent =
            normal::cdf((room - difference) / error) - normal::cdf((-room - difference) / error);
        found + equivalent
    }
}

/// Four of five.
const SETTLED: f64 = 0.8;

/// What the width of one comparison's interval is made of. The interval is the widest of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// All cases vary equally: the variance of the whole fit, for all comparisons together
    /// (Dunnett).
    pub pooled: Bound,
    /// The case varies more than others: the variance of its own ratios within rounds, for this
    /// comparison alone (Student). Where only one case varies more, the pooled bound is too wide
    /// for all others, so all together still hold.
    pub pair: Bound,
    /// The baseline varies more than others, which would spoil all comparisons at once: its
    /// variance apart from that of the others, for all comparisons together (Dunnett, with
    /// Satterthwaite's degrees of freedom). `None` with one comparison (the two cannot be told
    /// apart).
    pub baseline: Option<Bound>,
}

impl Bounds {
    /// Half the width, on logs, of an interval that holds with this chance.
    pub fn reach(&self, level: f64) -> f64 {
        self.all().map(|bound| bound.reach(level)).fold(0.0, f64::max)
    }

    /// Standard error behind the widest 95 % interval.
    fn error(&self) -> f64 {
        let widest = |a: &Bound, b: &Bound| a.reach(0.95).total_cmp(&b.reach(0.95));
        self.all().max_by(widest).map_or(0.0, |bound| bound.error)
    }

    /// The same after another number of rounds.
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

/// One way to estimate how far a comparison may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Standard error of the log ratio.
    error: f64,
    /// Degrees of freedom of that error; not a whole number where two variances were added.
    freedom: f64,
    /// How many comparisons hold together.
    comparisons: u32,
    /// Their correlation.
    correlation: f64,
}

impl Bound {
    /// Half the width, on logs, of an interval that holds with this chance.
    pub fn reach(&self, level: f64) -> f64 {
        let of = |freedom: f64| {
            // A whole number here, and far below 2³²: trials take seconds.
            dunnett::quantile(level, self.comparisons, freedom as u32, self.correlation)
        };
        let (below, above) = (self.freedom.floor().max(1.0), self.freedom.ceil());
        let t = if above > below {
            // Between whole numbers quantiles lie on a straight line in 1/ν, nearly.
            let share = (1.0 / below - 1.0 / self.freedom) / (1.0 / below - 1.0 / above);
            of(below) + share * (of(above) - of(below))
        } else {
            of(below)
        };
        self.error * t
    }

    /// The same after another number of rounds (both three at least).
    fn after(self, rounds: u32, other: u32) -> Bound {
        let (rounds, other) = (f64::from(rounds), f64::from(other));
        Bound {
            error: self.error * (rounds / other).sqrt(),
            freedom: self.freedom * (other - 1.0) / (rounds - 1.0),
            ..self
        }
    }
}

/// The fit of the baseline and all cases that share three rounds with it.
struct Analysis {
    fit: Blocked,
    /// Place of the baseline in the fit.
    base: usize,
    comparisons: u32,
    correlation: f64,
    /// Variance of the noise in a comparison, half of it the baseline's, if the baseline's may
    /// differ; with its degrees of freedom.
    baseline: Option<(f64, f64)>,
}

impl Analysis {
    fn new(
        values: &[Vec<Option<f64>>],
        baseline: usize,
        paired: &[Option<Logs>],
    ) -> Option<Analysis> {
        let is_compared =
            |case: usize| paired[case].as_ref().is_some_and(|logs| logs.freedom + 1 >= FEWEST);
        // The fit leaves out a case without values, so places stay those of `values`.
        let only = |is_in: &dyn Fn(usize) -> bool| -> Option<Blocked> {
            let of = |case| if is_in(case) { values[case].clone() } else { Vec::new() };
            Blocked::fit(&(0..values.len()).map(of).collect::<Vec<_>>())
        };
        let fit = only(&|case| case == baseline || is_compared(case))?;
        let base = fit.cells.iter().position(|case| *case == baseline)?;
        let comparisons = u32::try_from(fit.cells.len() - 1).ok()?;
        let correlation = smallest_correlation(&fit, base);
        let others = only(&is_compared);
        let baseline = others.and_then(|others| noise_with_baseline_apart(&fit, &others));
        Some(Analysis { fit, base, comparisons, correlation, baseline })
    }

    /// The difference of logs of a case that is in the fit, and its bounds.
    fn compared(&self, case: usize, paired: &Logs) -> Option<(f64, Bounds)> {
        let place = self.fit.cells.iter().position(|cell| *cell == case)?;
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

/// Covariance of two cases' differences from the one at `base`, in units of the noise's variance.
fn covariance(fit: &Blocked, base: usize, one: usize, other: usize) -> f64 {
    let of = &fit.covariance;
    of[one][other] + of[base][base] - of[one][base] - of[other][base]
}

/// The smallest correlation of two comparisons. It is ½ for all where no trial is missing. Where
/// trials are, correlations differ, and a smaller one makes intervals a little too wide, never too
/// narrow.
fn smallest_correlation(fit: &Blocked, base: usize) -> f64 {
    let others: Vec<usize> = (0..fit.cells.len()).filter(|place| *place != base).collect();
    let of = |one: usize, other: usize| covariance(fit, base, one, other);
    let pairs = others
        .iter()
        .enumerate()
        .flat_map(|(index, &one)| others[index + 1..].iter().map(move |&other| (one, other)));
    pairs
        .map(|(one, other)| of(one, other) / (of(one, one) * of(other, other)).sqrt())
        .fold(dunnett::BALANCED, f64::min)
}

/// Half the variance of a difference from the baseline in one round, where the baseline's noise may
/// differ from that of the others; with its degrees of freedom (Satterthwaite, *Biometrics
/// Bulletin* 2, 1946).
///
/// What the fit's squares have beyond those of a fit without the baseline tells how the
/// baseline varies around the mean of the others. With m others, noise σ² and the baseline's σ₀²
/// that mean square is (σ₀² + σ²/m) · m/(m+1).
fn noise_with_baseline_apart(fit: &Blocked, others: &Blocked) -> Option<(f64, f64)> {
    let freedom = fit.freedom.checked_sub(others.freedom).filter(|freedom| *freedom > 0)?;
    let squares = |fit: &Blocked| fit.variance * f64::from(fit.freedom);
    let count = others.cells.len() as f64;
    let around =
        ((squares(fit) - squares(others)).max(0.0) / f64::from(freedom)) * (1.0 + 1.0 / count);
    let rest = others.variance * (1.0 - 1.0 / count);
    let part = |variance: f64, freedom: u32| variance * variance / f64::from(freedom);
    let satterthwaite =
        (around + rest).powi(2) / (part(around, freedom) + part(rest, others.freedom));
    // Trials that agree to the last bit leave 0 ÷ 0.
    let freedom = if satterthwaite.is_finite() { satterthwaite } else { f64::from(freedom) };
    Some(((around + rest) / 2.0, freedom))
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod tests;
