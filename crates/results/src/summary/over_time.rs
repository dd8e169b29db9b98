//! Divides a trial into seconds, and assigns requests to the second in which they were due.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::counts::Counts;
use stampede_model::failure::FailureKind;
use stampede_model::record::{SecondRecord, Validity};

use super::input::TrialData;
use super::model::CaseSummary;

/// A trial by second, one column per figure: entry 0 is the first second. `offered` counts a
/// request in the second in which it was due (closed model: started). All other columns count it in
/// the second in which it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OverTime {
    /// Requests due.
    pub offered: Vec<u64>,
    /// Correct answers.
    pub ok: Vec<u64>,
    /// Failed requests by kind of failure. Kinds that did not occur are left out.
    pub failed: BTreeMap<String, Vec<u64>>,
    /// Requests that were due but never started.
    pub dropped: Vec<u64>,
    /// The highest number of requests in flight.
    pub in_flight_max: Vec<u32>,
}

impl OverTime {
    /// Whether nothing was sent.
    pub fn is_empty(&self) -> bool {
        self.offered.is_empty()
    }

    /// Makes the columns from the rows of `seconds.ndjson`.
    pub fn of(seconds: &[SecondRecord]) -> OverTime {
        let column = |count: fn(&Counts) -> u64| {
            seconds.iter().map(|second| count(&second.counts)).collect::<Vec<u64>>()
        };
        let mut failed: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (place, second) in seconds.iter().enumerate() {
            for (kind, count) in second.counts.failed.iter().filter(|(_, count)| **count > 0) {
                let column = failed.entry(kind.clone());
                column.or_insert_with(|| vec![0; seconds.len()])[place] = *count;
            }
        }
        OverTime {
            offered: column(|counts| counts.planned),
            ok: column(|counts| counts.ok),
            failed,
            dropped: column(|counts| counts.dropped),
            in_flight_max: seconds.iter().map(|second| second.in_flight_max).collect(),
        }
    }
}

/// The seconds in which requests ended without a correct answer, for one kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorSpan {
    /// The earliest of these seconds over the trials that count. 0 is a trial's first second.
    pub first_second: u32,
    /// The latest of these seconds.
    pub last_second: u32,
    /// The number of such seconds in a trial: the largest among the trials.
    pub seconds_max: u32,
}

/// The spans by kind of failure, including `dropped`.
pub fn errors_of(case: &CaseSummary) -> BTreeMap<String, ErrorSpan> {
    let mut spans: BTreeMap<String, ErrorSpan> = BTreeMap::new();
    for trial in case.trials.iter().filter(|trial| trial.verdict != Validity::Invalid) {
        let dropped = ("dropped", &trial.over_time.dropped);
        let failed = trial.over_time.failed.iter().map(|(kind, column)| (kind.as_str(), column));
        for (kind, column) in failed.chain([dropped]) {
            let hit = (0_u32..).zip(column).filter(|(_, count)| **count > 0);
            let hit: Vec<u32> = hit.map(|(second, _)| second).collect();
            let (Some(first), Some(last)) = (hit.first(), hit.last()) else { continue };
            let span = spans.entry(kind.to_owned()).or_insert(ErrorSpan {
                first_second: *first,
                last_second: *last,
                seconds_max: 0,
            });
            span.first_second = span.first_second.min(*first);
            span.last_second = span.last_second.max(*last);
            span.seconds_max = span.seconds_max.max(hit.len() as u32);
        }
    }
    spans
}

/// The requests that were due in one second, as far as this can be determined.
#[derive(Clone, Debug, Default)]
pub struct DueSecond {
    /// Number of requests due.
    pub planned: u64,
    /// Correct answers: pairs of a response time in ns and the number of requests that took it.
    pub answered: Vec<(u64, u64)>,
    /// Requests without a correct answer, by kind of failure, including `dropped`.
    pub lost: BTreeMap<String, u64>,
}

/// All requests of a trial of the open model, by the second in which they were due. The due time
/// follows from the time of the end:
///
/// - A correct answer was due its response time before it ended. This is exact to a second, because
///   the histograms hold one second each.
/// - A timeout counts as due one timeout before its end, which is the latest possible due time.
/// - Any other failed request counts in the second in which it ended.
/// - Requests dropped after the schedule are those that were due last.
///
/// Each request is in exactly one second.
pub fn by_due_second(trial: &TrialData, timeout_ns: u64) -> Vec<DueSecond> {
    let planned = |row: &SecondRecord| row.counts.planned > 0;
    let length = trial.seconds.iter().rposition(planned).map_or(0, |last| last + 1);
    let mut due: Vec<DueSecond> = vec![DueSecond::default(); length];
    let Some(last) = length.checked_sub(1) else { return due };
    for (second, row) in due.iter_mut().zip(&trial.seconds) {
        second.planned = row.counts.planned;
    }
    // The middle of the second stands for the exact time at which the request ended.
    let before = |second: u32, ns: u64| {
        let ended = u64::from(second) * SECOND_NS + SECOND_NS / 2;
        usize::try_from(ended.saturating_sub(ns) / SECOND_NS).unwrap_or(last).min(last)
    };
    for answered in &trial.answered {
        for (ns, count) in &answered.times {
            due[before(answered.second, *ns)].answered.push((*ns, *count));
        }
    }
    for row in &trial.seconds {
        for (kind, count) in &row.counts.failed {
            let is_timeout = FailureKind::of(kind) == FailureKind::TIMEOUT;
            let took = if is_timeout { timeout_ns } else { 0 };
            *due[before(row.second, took)].lost.entry(kind.clone()).or_default() += count;
        }
        if row.counts.dropped > 0 {
            drop_requests(&mut due, row);
        }
    }
    due.iter_mut().for_each(|second| second.lost.retain(|_, count| *count > 0));
    due
}

fn drop_requests(due: &mut [DueSecond], row: &SecondRecord) {
    let mut left = row.counts.dropped;
    let at = row.second as usize;
    if at >= due.len() {
        for second in due.iter_mut().rev() {
            let dropped = second.lost.entry("dropped".to_owned()).or_default();
            let here = left.min(second.planned.saturating_sub(*dropped));
            *dropped += here;
            left -= here;
        }
    }
    if left > 0 {
        let at = at.min(due.len() - 1);
        *due[at].lost.entry("dropped".to_owned()).or_default() += left;
    }
}

const SECOND_NS: u64 = 1_000_000_000;
