//! Builds the percentile curve of each case from all planned requests of its trials, merged.

use stampede_model::record::Validity;
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{Percentile, Ranked};

use super::model::{Curve, Number};
use crate::summary::model::{CaseSummary, LoadModel};
use crate::summary::{RunData, Summary, TrialData};

/// One curve for each case with a trial that counts.
pub fn of_run(data: &RunData, summary: &Summary) -> Vec<Curve> {
    let cases = summary.cases.iter().enumerate();
    cases.filter_map(|(index, case)| curve(index, case, data)).collect()
}

fn curve(index: usize, case: &CaseSummary, data: &RunData) -> Option<Curve> {
    let counted = |trial: &&TrialData| {
        trial.record.verdict.judged != Validity::Invalid
            && case.trials.iter().any(|one| one.number == trial.record.number)
    };
    let (mut answered, mut planned) = (Times::new(), 0);
    for trial in data.trials.iter().filter(counted) {
        let (Some(load), Some(times)) = (&trial.record.load, &trial.times) else { continue };
        planned += load.counts.planned;
        answered.merge(match case.model {
            LoadModel::Open => &times.response_time,
            LoadModel::Closed => &times.service_time,
        });
    }
    let failed = planned.saturating_sub(answered.len());
    (planned > 0).then(|| Curve {
        case: index,
        points: points(Ranked { answered: &answered, failed }),
        failed_from: (failed > 0).then(|| answered.len() as f64 / planned as f64 * 100.0),
    })
}

/// The points as long as ten requests lie beyond. The slowest request follows, if all were
/// answered.
fn points(ranked: Ranked<'_>) -> Vec<(f64, Number)> {
    let known = percents().map_while(|percent| match ranked.percentile(percent) {
        Percentile::At(ns) => Some((percent, Number::us(ns as f64))),
        Percentile::Failed | Percentile::TooFew => None,
    });
    let mut points: Vec<(f64, Number)> = known.collect();
    let slowest = ranked.planned();
    if ranked.failed == 0 && slowest > 1 {
        let percent = 100.0 * (1.0 - 1.0 / slowest as f64);
        points.push((percent, Number::us(ranked.answered.max() as f64)));
    }
    points
}

/// The percentiles of a curve, about ten for each decade of the remaining share: 5, 10 … 90, 91 …
/// 99, 99.1 … 99.9, 99.91 …
fn percents() -> impl Iterator<Item = f64> {
    let first = (1..=17).map(|step| f64::from(step) * 5.0);
    let decades = (1..=DECADES).flat_map(|decade| {
        let scale = 10_f64.powi(decade);
        (0..9).map(move |step| (1.0 - f64::from(10 - step) / (10.0 * scale)) * 100.0)
    });
    first.chain(decades.map(|percent| (percent * 1e6).round() / 1e6))
}

/// Up to 99.99999 %, for a hundred million requests.
const DECADES: i32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_ascend_and_include_the_round_ones() {
        let all: Vec<f64> = percents().collect();
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        for percent in [50.0, 90.0, 95.0, 99.0, 99.9, 99.99] {
            assert!(all.contains(&percent), "{percent}: {all:?}");
        }
    }

    #[test]
    fn a_curve_ends_at_the_slowest_or_where_too_few_requests_are_left() {
        let mut times = Times::new();
        (1..=1_000).for_each(|ms| times.record(ms * 1_000_000));
        let all = points(Ranked { answered: &times, failed: 0 });
        let [.., (p99, at), (last, slowest)] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((*p99, at.0, *last), (99.0, 990_000.0, 99.9));
        assert_eq!(slowest.0, 1_000_000.0);
        let half = points(Ranked { answered: &times, failed: 1_000 });
        assert_eq!(half.last().map(|(percent, _)| *percent), Some(50.0), "the rest failed");
    }
}
