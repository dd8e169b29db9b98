//! Determines whether a runtime kept up with a fixed rate: whether it answered the requests that
//! were due, or a backlog grew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::counts::{Counts, End};
use stampede_model::record::{CaseRecord, LoadModel, LoadRecord, SecondRecord, Validity};

use super::input::TrialData;
use super::model::TrialSummary;
use super::steady::is_constant;
use super::why::facts::{Facts, SECOND, turned_away};
use super::why::limits;

/// Whether a runtime kept up with a constant target rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kept_up", rename_all = "snake_case")]
pub enum KeptUp {
    /// It answered the requests, and no backlog grew.
    Yes,
    /// It did not keep up.
    No {
        /// Answers per second that the runtime gave itself, right or wrong, while requests were
        /// due.
        answered_per_second: f64,
        /// Requests due per second.
        offered_per_second: f64,
    },
}

impl KeptUp {
    /// Judges a trial. `None`: its load is closed, changes its rate, was stopped, or is too short.
    /// Also `None` if the trial looks behind but the generator itself was at its limit.
    pub fn of(trial: &TrialData, case: &CaseRecord) -> Option<KeptUp> {
        let facts = Facts::of(trial, case.model)?;
        let load = facts.load;
        let rows = window(trial, load);
        if case.model == LoadModel::Closed
            || !is_constant(case)
            || load.end == End::Stopped
            || rows.len() < FEWEST_SECONDS
        {
            return None;
        }
        let lost = facts.turned_away() as f64 > load.counts.planned as f64 * LOST_SHARE;
        // A client that stretches its schedule waits for the runtime.
        let is_stretched = load.stretched > 1.0 + LOST_SHARE;
        if !(lost || is_stretched || grows(rows)) {
            return Some(KeptUp::Yes);
        }
        limits::generator(&facts).is_none().then(|| KeptUp::No {
            answered_per_second: answered(rows) as f64 / rows.len() as f64,
            offered_per_second: load.counts.planned as f64 / planned_s(load),
        })
    }

    /// Judges a case from the trials that count. If any trial fell behind, the result is the one
    /// with the lowest rate of answers. It is `Yes` if all kept up.
    pub fn over(trials: &[TrialSummary]) -> Option<KeptUp> {
        let counted = || trials.iter().filter(|trial| trial.verdict != Validity::Invalid);
        let behind = counted().filter_map(|trial| match trial.kept_up {
            Some(KeptUp::No { answered_per_second, .. }) => {
                Some((answered_per_second, trial.kept_up))
            }
            _ => None,
        });
        let worst = behind.min_by(|a, b| a.0.total_cmp(&b.0)).and_then(|(_, worst)| worst);
        let all = || counted().all(|trial| trial.kept_up == Some(KeptUp::Yes));
        worst.or_else(|| (counted().next().is_some() && all()).then_some(KeptUp::Yes))
    }
}

/// The whole seconds in which requests were due. Later seconds only wait for the last answers.
fn window<'a>(trial: &'a TrialData, load: &LoadRecord) -> &'a [SecondRecord] {
    let whole = usize::try_from(load.scheduled_ns / SECOND).unwrap_or(usize::MAX);
    &trial.seconds[..trial.seconds.len().min(whole)]
}

/// Length of the schedule in seconds as planned, before any stretching.
fn planned_s(load: &LoadRecord) -> f64 {
    let stretched = if load.stretched > 1.0 { load.stretched } else { 1.0 };
    load.scheduled_ns as f64 / SECOND as f64 / stretched
}

fn answered(rows: &[SecondRecord]) -> u64 {
    rows.iter().map(|row| of_its_own(&row.counts)).sum()
}

/// Answers that the runtime itself gave, including wrong ones.
fn of_its_own(counts: &Counts) -> u64 {
    counts.ok + (counts.failed_total() + counts.dropped).saturating_sub(turned_away(counts))
}

/// Whether the backlog grew in the second half by more than chance explains. The backlog is the
/// requests that were due and have not ended. It has grown if its minimum in the last quarter
/// exceeds its minimum in the quarter before. The first half does not count: requests in flight
/// accumulate there for as long as an answer takes. A pause that is caught up afterwards is no
/// growth either.
fn grows(rows: &[SecondRecord]) -> bool {
    let mut left = 0_u64;
    let backlog: Vec<u64> = rows
        .iter()
        .map(|row| {
            let ended = row.counts.ok + row.counts.failed_total() + row.counts.dropped;
            left = (left + row.counts.planned).saturating_sub(ended);
            left
        })
        .collect();
    let middle = backlog.len() / 2;
    let third = middle..middle + (backlog.len() - middle) / 2;
    let least = |part: &[u64]| part.iter().copied().min().unwrap_or(0);
    let grown = least(&backlog[third.end..]).saturating_sub(least(&backlog[third.clone()]));
    let planned: u64 = rows[third].iter().map(|row| row.counts.planned).sum();
    grown > GROWN_REQUESTS && grown as f64 > planned as f64 * LOST_SHARE
}

/// A share of the requests. A smaller share can come from a momentary disturbance.
const LOST_SHARE: f64 = 0.01;
/// Growth in requests that can be chance.
const GROWN_REQUESTS: u64 = 10;
/// The fewest seconds. With fewer, the second half would not contain two.
const FEWEST_SECONDS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds with 100 requests due each; `ok` gives the requests that ended.
    fn rows(ok: &[u64]) -> Vec<SecondRecord> {
        let row = |(second, ok): (usize, &u64)| SecondRecord {
            second: second as u32,
            counts: Counts { planned: 100, ok: *ok, ..Counts::default() },
            in_flight_max: 0,
            busy_ns: 0,
        };
        ok.iter().enumerate().map(row).collect()
    }

    #[test]
    fn a_backlog_that_grows_each_second_is_growth() {
        // 10 more requests remain each second: 60 after the sixth, 80 after the eighth.
        assert!(grows(&rows(&[90; 10])));
        // 1 more request remains each second: from 6 to 8, no more than chance.
        assert!(!grows(&rows(&[99; 10])));
    }

    #[test]
    fn slow_requests_in_flight_are_no_backlog() {
        // Each answer takes 2 s, so 200 requests are always in flight.
        assert!(!grows(&rows(&[0, 0, 100, 100, 100, 100, 100, 100, 100, 100])));
    }

    #[test]
    fn a_pause_that_is_caught_up_is_no_growth() {
        assert!(!grows(&rows(&[100, 100, 100, 100, 100, 100, 0, 150, 150, 100])));
        assert!(grows(&rows(&[100, 100, 100, 100, 0, 0, 0, 0, 0, 0])));
    }

    #[test]
    fn a_wrong_answer_is_an_answer_and_a_server_that_turns_away_gives_none() {
        let failed = [("http:404".to_owned(), 3), ("http:503".to_owned(), 5)];
        let counts = Counts { ok: 90, failed: failed.into(), dropped: 2, ..Counts::default() };
        assert_eq!(of_its_own(&counts), 93);
    }

    /// Judges ten seconds of a schedule with 100 requests due in each.
    fn of(schedule: &str, change: impl Fn(&mut TrialData)) -> Option<KeptUp> {
        let text = include_str!("../../tests/runs/format-2/trials/001-x/trial.json");
        let mut record: stampede_model::record::TrialRecord =
            serde_json::from_str(text).expect("a trial");
        let load = record.load.as_mut().expect("a load");
        (load.counts.planned, load.schedule_lag_ns_sure) = (1_000, 0);
        let mut trial = TrialData {
            record,
            times: None,
            seconds: rows(&[100; 10]),
            answered: vec![],
            service: vec![],
            resources: vec![],
        };
        change(&mut trial);
        let run: stampede_model::record::RunRecord =
            serde_json::from_str(include_str!("../../tests/runs/format-2/run.json"))
                .expect("a run");
        let schedule = stampede_model::schedule::Segments::parse(schedule).ok();
        KeptUp::of(&trial, &CaseRecord { schedule, ..run.cases[0].clone() })
    }

    #[test]
    fn only_a_constant_rate_is_judged() {
        let schedule = "const(100,10s)";
        let load = |trial: &mut TrialData, change: fn(&mut LoadRecord)| {
            change(trial.record.load.as_mut().expect("a load"));
        };
        assert_eq!(of(schedule, |_| {}), Some(KeptUp::Yes));
        let behind = |answered_per_second| {
            Some(KeptUp::No { answered_per_second, offered_per_second: 100.0 })
        };
        assert_eq!(of(schedule, |trial| trial.seconds = rows(&[80; 10])), behind(80.0));
        // 2 % of the requests were turned away.
        let lost = |trial: &mut TrialData| {
            trial.seconds = rows(&[98; 10]);
            load(trial, |load| load.counts.dropped = 20);
        };
        assert_eq!(of(schedule, lost), behind(98.0));
        assert_eq!(of("line(1,200,10s)", |_| {}), None);
        assert_eq!(of(schedule, |trial| load(trial, |load| load.end = End::Stopped)), None);
        assert_eq!(of(schedule, |trial| trial.seconds.truncate(2)), None);
        assert_eq!(of(schedule, |trial| trial.record.load = None), None);
        // The generator did not send these requests in time.
        let late = |trial: &mut TrialData| {
            trial.seconds = rows(&[80; 10]);
            load(trial, |load| load.schedule_lag_ns_sure = 1_000_000_000);
        };
        assert_eq!(of(schedule, late), None);
    }
}
