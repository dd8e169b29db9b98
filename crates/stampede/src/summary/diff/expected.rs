//! Whether a change keeps an expectation: `p95 worse < 5%`.

use std::fmt;

use super::model::{Expected, Outcome, Pairing, Worse};
use super::{Measure, Pair, figures};
use crate::plan::model::{Bound, Expectation, Figure, Side};
use crate::summary::words;

/// An expectation that a comparison cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is about one run.
    #[error("`{text}` is about one run, and not about a change")]
    OneRun {
        /// As written.
        text: String,
        /// What is asked of.
        figure: Figure,
    },
}

impl Unfit {
    /// What to do next.
    pub fn hint(&self) -> String {
        let Unfit::OneRun { text, figure } = self;
        format!(
            "a change is bounded as `{figure} worse < 5%`; `stampede compare --expect '{text}'` \
             bounds one run"
        )
    }
}

/// Refuses what is about no change.
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
    pairs: &[Pair<'_>],
    pairing: Pairing,
) -> Vec<Expected> {
    let Expectation { text, bound } = expectation;
    let measure = Measure::from(bound.figure);
    let figures = figures(pairs, measure, pairing);
    let one = |figure: super::FigureDiff| {
        let (outcome, found) = match figure.worse {
            Some(worse) => (outcome(&worse, bound), found(&worse, bound, measure)),
            None => (Outcome::NotShown, figure.why_not.unwrap_or_default()),
        };
        Expected { text: text.clone(), outcome, found }
    };
    figures.into_iter().map(one).collect()
}

/// Met only where the whole 95 % interval keeps the bound: who asks whether a change is harmless
/// wants it shown, and an interval that is too wide shows nothing. Below three trials there
/// is none.
fn outcome(worse: &Worse, bound: &Bound) -> Outcome {
    let Some((low, high)) = worse.interval else { return Outcome::NotShown };
    match (bound.holds(low), bound.holds(high)) {
        (true, true) => Outcome::Met,
        (false, false) => Outcome::Broken,
        _ => Outcome::NotShown,
    }
}

/// `p95 24.1 % worse (20.3 % to 28.0 % worse)`.
fn found(worse: &Worse, bound: &Bound, measure: Measure) -> String {
    let unit = if measure == Measure::Ok { "points" } else { "%" };
    let of = |share: f64| match share {
        // What rounds to nothing is no better.
        share if share < -5e-5 => (format!("{} {unit}", percent(-share)), Way::Better),
        share => (format!("{} {unit}", percent(share.max(0.0))), Way::Worse),
    };
    let (share, way) = of(worse.share);
    let head = format!("{} {share} {way}", measure.title());
    let Some((low, high)) = worse.interval else {
        return format!("{head}; below three rounds there is no interval, so it is not shown");
    };
    let interval = match (of(low), of(high)) {
        ((low, a), (high, b)) if a != b => format!("{low} {a} to {high} {b}"),
        // The nearer to nothing first.
        ((low, Way::Better), (high, way)) => format!("{high} to {low} {way}"),
        ((low, Way::Worse), (high, way)) => format!("{low} to {high} {way}"),
    };
    let more = match outcome(worse, bound) {
        Outcome::NotShown => rounds_needed(worse, bound).map_or_else(String::new, |rounds| {
            format!("; about {} would show it", words::number_of(rounds, "round"))
        }),
        _ => String::new(),
    };
    format!("{head} ({interval}){more}")
}

/// Which way a figure moved.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Better,
    Worse,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Better => "better",
            Way::Worse => "worse",
        })
    }
}

fn percent(share: f64) -> String {
    words::significant(share * 100.0)
}

/// Rounds after which an interval around the same estimate keeps the bound: it narrows with the
/// root of their number. `None`: the estimate itself breaks it, or nobody would wait for so many.
fn rounds_needed(worse: &Worse, bound: &Bound) -> Option<u32> {
    let (low, high) = worse.interval?;
    let room = (bound.limit - worse.share).abs();
    let half = match bound.relation.side() {
        Side::Low => high - worse.share,
        Side::High => worse.share - low,
    };
    // Without the last bits, which would make 17 of 16.
    let rounds = (f64::from(worse.trials) * (half / room).powi(2) - 1e-9).ceil();
    (bound.holds(worse.share) && rounds <= MOST_ROUNDS).then_some(rounds as u32)
}

/// More would take a day.
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
        (outcome(worse, bound), found(worse, bound, measure))
    }

    #[test]
    fn only_a_whole_interval_keeps_or_breaks_a_bound() {
        let told = [
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
        insta::assert_snapshot!(told.concat(), @r"
        p95 worse < 5%: Met: p95 2.00 % worse (1.00 % to 3.00 % worse)
        p95 worse < 5%: Broken: p95 24.0 % worse (20.0 % to 28.0 % worse)
        p95 worse < 5%: NotShown: p95 2.00 % worse (4.00 % better to 8.00 % worse); about 16 rounds would show it
        p95 worse < 5%: NotShown: p95 7.00 % worse (4.00 % to 10.0 % worse)
        throughput worse <= 0%: Met: throughput 10.0 % better (8.00 % to 12.0 % better)
        memory worse < 5%: Broken: memory max 5.00 % worse (5.00 % to 5.00 % worse)
        memory worse <= 5%: Met: memory max 5.00 % worse (5.00 % to 5.00 % worse)
        ok worse < 1%: Met: ok 0.10 points worse (0.00 points to 0.20 points worse)
        p95 worse < 5%: NotShown: p95 2.00 % worse; below three rounds there is no interval, so it is not shown
        ");
    }
}
