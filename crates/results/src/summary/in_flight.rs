//! Checks Little's law with a trial's own figures: the mean number of requests in flight equals
//! throughput × mean service time.
//!
//! The generator keeps the integrated gauge separate from the recorded times, so if the two
//! disagree, one of them is wrong. In the closed model, N requests at a time without a pause give
//! the same product. It lacks only the time between an answer and the next request on its
//! connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::record::Validity;

use super::input::TrialData;
use super::model::TrialSummary;

/// The mean number of requests in flight, as counted and as Little's law predicts it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// As counted: the gauge of requests in flight, integrated over time.
    pub mean: f64,
    /// As predicted: throughput × mean service time, over all outcomes.
    pub expected: f64,
    /// Counted ÷ predicted. By Little's law it is 1.
    pub ratio: f64,
    /// The highest number of requests in flight. In the closed model it is the concurrency.
    pub max: u32,
}

impl InFlight {
    /// The check for a trial. `None`: nothing was sent, or one of the two values is not known.
    pub fn of(trial: &TrialData) -> Option<InFlight> {
        let load = trial.record.load.as_ref()?;
        let ratio = load.littles_law_ratio;
        if !ratio.is_finite() || ratio <= 0.0 || load.lasted_ns == 0 {
            return None;
        }
        let from_gauge = load.in_flight_mean.map(|mean| mean / ratio);
        let expected = from_gauge.or_else(|| {
            // Earlier results have the times of ok requests only.
            let times = &trial.times.as_ref()?.service_time;
            let is_all = load.counts.started == load.counts.ok && times.len() == load.counts.ok;
            is_all.then(|| times.mean() * times.len() as f64 / load.lasted_ns as f64)
        })?;
        let mean = expected * ratio;
        (expected > 0.0).then_some(InFlight { mean, expected, ratio, max: load.in_flight_max })
    }

    /// The check for a case: arithmetic means over the trials that count.
    pub fn over(trials: &[TrialSummary]) -> Option<InFlight> {
        let counted = trials.iter().filter(|trial| trial.verdict != Validity::Invalid);
        let all: Vec<InFlight> = counted.filter_map(|trial| trial.in_flight).collect();
        let mean_of = |of: fn(&InFlight) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        let max = all.iter().map(|one| one.max).max()?;
        let (mean, expected) = (mean_of(|one| one.mean), mean_of(|one| one.expected));
        Some(InFlight { mean, expected, ratio: mean / expected, max })
    }

    /// Whether the two values agree.
    pub fn holds(&self) -> bool {
        (self.ratio - 1.0).abs() <= OFF_SHARE
    }
}

/// The largest difference that counts as agreement. A larger one is no rounding error: our own
/// counting is wrong.
pub const OFF_SHARE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use stampede_model::record::TrialRecord;

    use super::*;
    use crate::summary::TrialData;

    fn trial(change: impl Fn(&mut TrialRecord)) -> TrialData {
        let text = include_str!("../../tests/runs/format-2/trials/003-x/trial.json");
        let mut record = serde_json::from_str(text).expect("a trial");
        change(&mut record);
        TrialData {
            record,
            times: None,
            seconds: vec![],
            answered: vec![],
            service: vec![],
            resources: vec![],
        }
    }

    #[test]
    fn littles_law_compares_the_gauge_with_throughput_times_mean_time() {
        let of = |ratio, mean| {
            InFlight::of(&trial(|record| {
                let load = record.load.as_mut().expect("a load");
                (load.littles_law_ratio, load.in_flight_mean) = (ratio, mean);
            }))
        };
        // 5 as counted: 1.25 times the predicted value.
        let off = of(1.25, Some(5.0)).expect("known");
        assert_eq!((off.mean, off.expected, off.max), (5.0, 4.0, 4));
        let one = of(1.04, Some(4.16)).expect("known");
        assert!(one.holds() && !of(1.06, Some(4.24)).expect("known").holds());
        assert_eq!([of(f64::NAN, Some(4.0)), of(0.0, Some(0.0)), of(1.0, None)], [None; 3]);
        assert_eq!(InFlight::of(&trial(|record| record.load = None)), None);
    }

    #[test]
    fn an_older_result_has_it_if_every_request_was_answered() {
        let mut one = trial(|_| {});
        let mut times = stampede_model::counts::TimeSet::empty();
        // 300 answers of 40 ms in 10 s: 1.2 requests in flight.
        (0..300).for_each(|_| times.service_time.record(40_000_000));
        one.times = Some(times);
        let known = InFlight::of(&one).expect("known");
        assert!((known.mean - 1.2).abs() < 0.002, "{known:?}");
        let failed =
            |one: &mut TrialData| one.record.load.as_mut().expect("a load").counts.ok = 299;
        failed(&mut one);
        assert_eq!(InFlight::of(&one), None);
    }
}
