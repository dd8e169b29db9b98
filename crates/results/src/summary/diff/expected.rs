//! Judges whether a change meets an expectation: `p95 worse < 5%`.

use stampede_model::expectation::{Bound, Expectation, Figure, Side};
use stampede_model::fact::{ChangeFound, ChangeUnit, NoChange};

use super::model::{ChangeExpectation, Outcome, Pairing, Worse};
use super::{CasePair, Measure, figures};

/// An expectation that a comparison cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The expectation is about one run.
    #[error("`{text}` is about one run, not about a change")]
    OneRun {
        /// The expectation as written.
        text: String,
        /// The figure that it is about.
        figure: Figure,
    },
}

impl Unfit {
    /// What the user can do instead.
    pub fn hint(&self) -> String {
        let Unfit::OneRun { text, figure } = self;
        format!(
            "to limit a change write `{figure} worse < 5%`; to check one run use `stampede compare --expect \
             '{text}'`"
        )
    }
}

/// Refuses an expectation that is not about a change.
pub(super) fn fit(expect: &[Expectation]) -> Result<(), Unfit> {
    match expect.iter().find(|one| !one.bound.worse) {
        Some(Expectation { text, bound }) => {
            Err(Unfit::OneRun { text: text.clone(), figure: bound.figure })
        }
        None => Ok(()),
    }
}

/// Judges one expectation for every pair of cases.
pub(super) fn judge(
    expectation: &Expectation,
    pairs: &[CasePair<'_>],
    pairing: Pairing,
) -> Vec<ChangeExpectation> {
    let Expectation { text, bound } = expectation;
    let measure = Measure::from(bound.figure);
    let figures = figures(pairs, measure, pairing);
    let one = |figure: super::FigureDiff| {
        let (outcome, found) = match figure.worse {
            Some(worse) => (outcome(&worse, bound), found(&worse, bound, measure)),
            None => {
                let why = figure.why_not.unwrap_or(NoChange::NoCommonRound {}.into());
                (Outcome::NotShown, ChangeFound::Unknown { why })
            }
        };
        ChangeExpectation { text: text.clone(), outcome, found: found.into() }
    };
    figures.into_iter().map(one).collect()
}

/// The outcome of an expectation. It is met only if the whole 95 % interval is within the bound.
/// Whoever asks whether a change is harmless wants proof, and an interval that is too wide proves
/// nothing. With fewer than three trials there is no interval.
fn outcome(worse: &Worse, bound: &Bound) -> Outcome {
    let Some((low, high)) = worse.interval else { return Outcome::NotShown };
    match (bound.holds(low), bound.holds(high)) {
        (true, true) => Outcome::Met,
        (false, false) => Outcome::Broken,
        _ => Outcome::NotShown,
    }
}

fn found(worse: &Worse, bound: &Bound, measure: Measure) -> ChangeFound {
    let is_open = worse.interval.is_some() && outcome(worse, bound) == Outcome::NotShown;
    ChangeFound::WorseBy {
        figure: measure.name(),
        unit: if measure == Measure::Ok { ChangeUnit::Points } else { ChangeUnit::Share },
        worse: worse.share,
        interval: worse.interval,
        rounds_needed: if is_open { rounds_needed(worse, bound) } else { None },
    }
}

/// Number of rounds after which an interval around the same estimate would meet the bound. The
/// interval narrows with the square root of the number of rounds. `None`: the estimate itself
/// breaks the bound, or the rounds would be too many.
fn rounds_needed(worse: &Worse, bound: &Bound) -> Option<u32> {
    let (low, high) = worse.interval?;
    let room = (bound.limit - worse.share).abs();
    let half = match bound.relation.side() {
        Side::Low => high - worse.share,
        Side::High => worse.share - low,
    };
    // The subtraction removes rounding errors, which would turn 16 into 17.
    let rounds = (f64::from(worse.trials) * (half / room).powi(2) - 1e-9).ceil();
    (bound.holds(worse.share) && rounds <= MOST_ROUNDS).then_some(rounds as u32)
}

/// The most rounds to suggest. More would take a day.
const MOST_ROUNDS: f64 = 200.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn worse(share: f64, interval: Option<(f64, f64)>) -> Worse {
        Worse { share, interval, trials: 4 }
    }

    fn judged(worse: &Worse, text: &str) -> (Outcome, String) {
        let expectation: Expectation = text.parse().expect(text);
        let (bound, measure) = (&expectation.bound, Measure::from(expectation.bound.figure));
        (outcome(worse, bound), found(worse, bound, measure).to_string())
    }

    #[test]
    fn only_a_whole_interval_keeps_or_breaks_a_bound() {
        let texts = [
            (worse(0.02, Some((0.01, 0.03))), "p95 worse < 5%"),
            (worse(0.24, Some((0.20, 0.28))), "p95 worse < 5%"),
            // 4 · (0.06 / 0.03)².
            (worse(0.02, Some((-0.04, 0.08))), "p95 worse < 5%"),
            (worse(0.07, Some((0.04, 0.10))), "p95 worse < 5%"),
            (worse(-0.10, Some((-0.12, -0.08))), "throughput worse <= 0%"),
            (worse(0.05, Some((0.05, 0.05))), "memory worse < 5%"),
            (worse(0.05, Some((0.05, 0.05))), "memory worse <= 5%"),
            (worse(0.001, Some((0.0, 0.002))), "ok worse < 1%"),
            (worse(0.02, None), "p95 worse < 5%"),
        ]
        .map(|(worse, text)| {
            let (outcome, found) = judged(&worse, text);
            format!("{text}: {outcome:?}: {found}\n")
        });
        insta::assert_snapshot!(texts.concat(), @r"
        p95 worse < 5%: Met: p95 2.00 % worse (1.00 % to 3.00 % worse)
        p95 worse < 5%: Broken: p95 24.0 % worse (20.0 % to 28.0 % worse)
        p95 worse < 5%: NotShown: p95 2.00 % worse (4.00 % better to 8.00 % worse); about 16 rounds would prove it
        p95 worse < 5%: NotShown: p95 7.00 % worse (4.00 % to 10.0 % worse)
        throughput worse <= 0%: Met: throughput 10.0 % better (8.00 % to 12.0 % better)
        memory worse < 5%: Broken: memory 5.00 % worse (5.00 % to 5.00 % worse)
        memory worse <= 5%: Met: memory 5.00 % worse (5.00 % to 5.00 % worse)
        ok worse < 1%: Met: ok 0.10 points worse (0.00 points to 0.20 points worse)
        p95 worse < 5%: NotShown: p95 2.00 % worse; with fewer than three rounds there is no interval, so it is not proven
        ");
    }
}
