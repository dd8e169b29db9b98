//! Determines whether a server kept up with a constant target rate, or more and more requests were
//! in flight.
//!
//! `fire`, `compare` and `capacity` all judge by it. It needs only the totals of a load and its
//! seconds. In an open load a request is in flight from its scheduled time until its end, so
//! waiting for a connection counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::counts::{Counts, End};
use stampede_model::fact::Behind;
use stampede_model::record::{CaseRecord, LoadModel, LoadRecord, SecondRecord, Validity};
use stampede_model::schedule::Segments;
use stampede_stats::t;

use super::input::TrialData;
use super::model::TrialSummary;
use super::steady::has_one_rate;
use super::why::facts::{SECOND, turned_away};
use super::why::limits;

/// Whether a server kept up with a constant target rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kept_up", rename_all = "snake_case")]
pub enum KeptUp {
    /// It answered the requests, and the number in flight did not grow.
    Yes,
    /// It did not keep up.
    No {
        /// The reason.
        why: Behind,
        /// Answers per second that the server gave itself, right or wrong, while requests were
        /// due.
        answered_per_second: f64,
        /// Requests due per second.
        offered_per_second: f64,
    },
    /// The load was too short to tell.
    TooShort,
}

impl KeptUp {
    /// Judges a trial, as [`KeptUp::of_load`] does.
    pub fn of(trial: &TrialData, case: &CaseRecord) -> Option<KeptUp> {
        let schedule = case.schedule.as_ref().filter(|_| case.model == LoadModel::Open);
        KeptUp::of_load(trial.record.load.as_ref()?, schedule, &trial.seconds)
    }

    /// Judges an open load by its seconds from the first. `None`: the load is closed (it has no
    /// schedule), changes its rate or was stopped; its seconds are not known; or it looks behind,
    /// but the generator was late.
    pub fn of_load(
        load: &LoadRecord,
        schedule: Option<&Segments>,
        seconds: &[SecondRecord],
    ) -> Option<KeptUp> {
        if !schedule.is_some_and(has_one_rate) || load.end == End::Stopped || seconds.is_empty() {
            return None;
        }
        // Later seconds only wait for the last answers.
        let whole = usize::try_from(load.scheduled_ns / SECOND).unwrap_or(usize::MAX);
        let rows = &seconds[..seconds.len().min(whole)];
        let (first, second) = rows.split_at(rows.len() / 2);
        if second.len() < SECONDS_MIN {
            return Some(KeptUp::TooShort);
        }
        let why = match lost(load).or_else(|| stretched(load)) {
            Some(why) => why,
            None => match Growth::of(first, second) {
                Growth::No => return Some(KeptUp::Yes),
                Growth::Unknown => return Some(KeptUp::TooShort),
                Growth::Yes(why) => why,
            },
        };
        let answered: u64 = rows.iter().map(|row| of_its_own(&row.counts)).sum();
        (!limits::is_late(load)).then(|| KeptUp::No {
            why,
            answered_per_second: answered as f64 / rows.len() as f64,
            offered_per_second: load.counts.planned as f64 / planned_s(load),
        })
    }

    /// Judges a case from the trials that count. If any trial fell behind, the result is the one
    /// with the lowest rate of answers. It is `Yes` if all kept up.
    pub fn over(trials: &[TrialSummary]) -> Option<KeptUp> {
        let counted = trials.iter().filter(|trial| trial.verdict != Validity::Invalid);
        let each: Vec<Option<KeptUp>> = counted.map(|trial| trial.kept_up).collect();
        let rate = |one: &KeptUp| match one {
            KeptUp::No { answered_per_second, .. } => Some(*answered_per_second),
            KeptUp::Yes | KeptUp::TooShort => None,
        };
        let behind = each.iter().copied().flatten().filter_map(|one| Some((rate(&one)?, one)));
        if let Some((_, worst)) = behind.min_by(|a, b| a.0.total_cmp(&b.0)) {
            return Some(worst);
        }
        let all: Option<Vec<KeptUp>> = each.into_iter().collect();
        let all = all.filter(|all| !all.is_empty())?;
        Some(if all.contains(&KeptUp::TooShort) { KeptUp::TooShort } else { KeptUp::Yes })
    }
}

/// Correct answers per second. `None`: nothing was scheduled.
///
/// In the open model these are the answers to the requests that were scheduled, whenever they came.
/// If the server did not keep up, and in the closed model, they are the answers that ended within
/// the schedule.
pub fn throughput(load: &LoadRecord, model: LoadModel, kept_up: Option<KeptUp>) -> Option<f64> {
    let answers = match (model, kept_up) {
        (LoadModel::Closed, _) | (LoadModel::Open, Some(KeptUp::No { .. })) => load.ok_inside,
        (LoadModel::Open, Some(KeptUp::Yes | KeptUp::TooShort) | None) => load.counts.ok,
    };
    (load.scheduled_ns > 0).then(|| answers as f64 / (load.scheduled_ns as f64 / SECOND as f64))
}

/// Length of the schedule in seconds as planned, before any stretching.
fn planned_s(load: &LoadRecord) -> f64 {
    let stretched = if load.stretched > 1.0 { load.stretched } else { 1.0 };
    load.scheduled_ns as f64 / SECOND as f64 / stretched
}

/// Answers that the server itself gave, including wrong ones.
fn of_its_own(counts: &Counts) -> u64 {
    counts.ok + (counts.failed_total() + counts.dropped).saturating_sub(turned_away(counts))
}

/// Whether the server turned requests away, or they were given up. Without these it would have been
/// further behind.
fn lost(load: &LoadRecord) -> Option<Behind> {
    let (requests, planned) = (turned_away(&load.counts), load.counts.planned);
    (requests as f64 > planned as f64 * LOST_SHARE).then_some(Behind::Lost { requests, planned })
}

/// Whether the client stretched its schedule, which means that it waited for the server.
fn stretched(load: &LoadRecord) -> Option<Behind> {
    let factor = load.stretched;
    (factor > 1.0 + LOST_SHARE).then_some(Behind::Stretched { factor })
}

/// Whether the number of requests in flight grew in the second half.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    No,
    Yes(Behind),
    /// It may have, or it may have been chance.
    Unknown,
}

impl Growth {
    /// Judges by how much the number changed in each second of the second half. The first half does
    /// not count: requests in flight accumulate there for as long as an answer takes.
    ///
    /// The changes of a queue that is steady cancel each other, and those of a queue that wanders by
    /// chance are independent. So the t interval of their mean is right for the latter, and too wide
    /// for the former.
    fn of(first: &[SecondRecord], second: &[SecondRecord]) -> Growth {
        if first.iter().all(|row| ended(&row.counts) == 0) {
            return Growth::Unknown;
        }
        let changes: Vec<f64> = second.iter().map(|row| change(row) as f64).collect();
        let count = changes.len() as f64;
        let mean = changes.iter().sum::<f64>() / count;
        let squares: f64 = changes.iter().map(|change| (change - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt().max(DEVIATION_MIN);
        let reach =
            t::quantile(0.5 + LEVEL / 2.0, changes.len() as u32 - 1) * deviation / count.sqrt();
        let due: u64 = second.iter().map(|row| row.counts.planned).sum();
        let share = mean / (due as f64 / count);
        let at_half = first.iter().map(change).sum::<i64>();
        let at_end = at_half + second.iter().map(change).sum::<i64>();
        match mean > reach {
            true if share > GROWTH_SHARE => Growth::Yes(Behind::Growing {
                in_flight_at_half: u64::try_from(at_half).unwrap_or(0),
                in_flight_at_end: u64::try_from(at_end).unwrap_or(0),
            }),
            false if share > CHANCE_SHARE => Growth::Unknown,
            _ => Growth::No,
        }
    }
}

/// By how much the number of requests in flight grew in a second.
fn change(row: &SecondRecord) -> i64 {
    row.counts.planned as i64 - ended(&row.counts) as i64
}

fn ended(counts: &Counts) -> u64 {
    counts.ok + counts.failed_total() + counts.dropped
}

/// A share of the requests. A smaller share can come from a momentary disturbance.
const LOST_SHARE: f64 = 0.01;
/// Growth per second as a share of the target rate. A server that is slower than the rate by less
/// answers 99.5 % of it.
const GROWTH_SHARE: f64 = 0.005;
/// A growth that large is not called chance, even if its interval includes zero.
const CHANCE_SHARE: f64 = 0.05;
/// Two-sided level of the t interval: one load of 200 is called behind by mistake if its queue
/// wanders by chance, fewer if it is steady.
const LEVEL: f64 = 0.99;
/// Least standard deviation of a change, in requests. Counts are whole, so equal changes do not
/// prove that there is no noise.
const DEVIATION_MIN: f64 = 0.5;
/// The fewest seconds in the second half. With two, the t interval says nothing.
const SECONDS_MIN: usize = 3;

#[cfg(test)]
#[path = "kept_up_tests.rs"]
mod tests;
