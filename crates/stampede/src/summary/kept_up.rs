//! Whether a runtime kept up with a fixed rate: whether it answered as much as was asked, or a
//! backlog grew.

use serde::{Deserialize, Serialize};

use super::input::TrialData;
use super::model::TrialSummary;
use super::steady::is_constant;
use super::why::facts::{Facts, SECOND, turned_away};
use super::why::limits;
use crate::store::record::{CaseRecord, Judged, LoadModel, LoadRecord, SecondRecord};
use stampede_load::report::{Counts, End};

/// Whether a runtime kept up with a constant offered rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kept_up", rename_all = "snake_case")]
pub enum KeptUp {
    /// It answered what was asked, and no backlog grew.
    Yes,
    /// It did not.
    No {
        /// Answers of its own a second, right or wrong, while requests were due.
        answered_per_second: f64,
        /// Requests due a second.
        offered_per_second: f64,
    },
}

impl KeptUp {
    /// Of a trial; `None`: its load is closed, changes its rate, was stopped, is too short to tell,
    /// or the generator itself was late.
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

    /// Over the trials that count: that of the trial in which least was answered; yes, where it
    /// kept up in all.
    pub fn over(trials: &[TrialSummary]) -> Option<KeptUp> {
        let counted = || trials.iter().filter(|trial| trial.verdict != Judged::Invalid);
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

/// Whole seconds in which requests were due. After them the last answers are waited for.
fn window<'a>(trial: &'a TrialData, load: &LoadRecord) -> &'a [SecondRecord] {
    let whole = usize::try_from(load.scheduled_ns / SECOND).unwrap_or(usize::MAX);
    &trial.seconds[..trial.seconds.len().min(whole)]
}

/// Length of the schedule as it was planned.
fn planned_s(load: &LoadRecord) -> f64 {
    let stretched = if load.stretched > 1.0 { load.stretched } else { 1.0 };
    load.scheduled_ns as f64 / SECOND as f64 / stretched
}

fn answered(rows: &[SecondRecord]) -> u64 {
    rows.iter().map(|row| of_its_own(&row.counts)).sum()
}

/// Answers that the runtime gave itself, wrong ones too.
fn of_its_own(counts: &Counts) -> u64 {
    counts.ok + (counts.failed_total() + counts.dropped).saturating_sub(turned_away(counts))
}

/// Whether the backlog (requests that were due and have not ended) grew through the second half, by
/// more than chance explains: in the last quarter it is never as small as it was in the one before.
/// In the first half it fills: as many requests are under way as answers take long. What a frozen
/// second leaves behind, and is worked off, is no growth.
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

/// Of the requests: less is a moment's doing.
const LOST_SHARE: f64 = 0.01;
/// So many more may be under way by chance.
const GROWN_REQUESTS: u64 = 10;
/// Of fewer the second half has no two of its own.
const FEWEST_SECONDS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of 100 requests due each, and so many that ended.
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
        // 10 more are left each second: 60 after the sixth, 80 after the eighth.
        assert!(grows(&rows(&[90; 10])));
        // 1 more: from 6 to 8, no more than chance.
        assert!(!grows(&rows(&[99; 10])));
    }

    #[test]
    fn what_is_under_way_for_long_is_no_backlog() {
        // Each answer takes 2 s: 200 are under way, always.
        assert!(!grows(&rows(&[0, 0, 100, 100, 100, 100, 100, 100, 100, 100])));
    }

    #[test]
    fn a_frozen_second_that_is_worked_off_is_no_growth() {
        assert!(!grows(&rows(&[100, 100, 100, 100, 100, 100, 0, 150, 150, 100])));
        assert!(grows(&rows(&[100, 100, 100, 100, 0, 0, 0, 0, 0, 0])));
    }

    #[test]
    fn a_wrong_answer_is_an_answer_and_a_server_that_turns_away_gives_none() {
        let failed = [("http:404".to_owned(), 3), ("http:503".to_owned(), 5)];
        let counts = Counts { ok: 90, failed: failed.into(), dropped: 2, ..Counts::default() };
        assert_eq!(of_its_own(&counts), 93);
    }

    /// Ten seconds of a schedule, 100 requests due in each.
    fn of(schedule: &str, change: impl Fn(&mut TrialData)) -> Option<KeptUp> {
        let text = include_str!("../../tests/runs/format-2/trials/001-x/trial.json");
        let mut record: crate::store::record::TrialRecord =
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
        let run: crate::store::record::RunRecord =
            serde_json::from_str(include_str!("../../tests/runs/format-2/run.json"))
                .expect("a run");
        let schedule = stampede_load::schedule::Segments::parse(schedule).ok();
        KeptUp::of(&trial, &CaseRecord { schedule, ..run.cases[0].clone() })
    }

    #[test]
    fn a_constant_rate_is_judged_and_no_other() {
        let schedule = "const(100,10s)";
        let load = |trial: &mut TrialData, change: fn(&mut LoadRecord)| {
            change(trial.record.load.as_mut().expect("a load"));
        };
        assert_eq!(of(schedule, |_| {}), Some(KeptUp::Yes));
        let behind = |answered_per_second| {
            Some(KeptUp::No { answered_per_second, offered_per_second: 100.0 })
        };
        assert_eq!(of(schedule, |trial| trial.seconds = rows(&[80; 10])), behind(80.0));
        // 2 % were turned away.
        let lost = |trial: &mut TrialData| {
            trial.seconds = rows(&[98; 10]);
            load(trial, |load| load.counts.dropped = 20);
        };
        assert_eq!(of(schedule, lost), behind(98.0));
        assert_eq!(of("line(1,200,10s)", |_| {}), None);
        assert_eq!(of(schedule, |trial| load(trial, |load| load.end = End::Stopped)), None);
        assert_eq!(of(schedule, |trial| trial.seconds.truncate(2)), None);
        assert_eq!(of(schedule, |trial| trial.record.load = None), None);
        // It was the generator that did not send them.
        let late = |trial: &mut TrialData| {
            trial.seconds = rows(&[80; 10]);
            load(trial, |load| load.schedule_lag_ns_sure = 1_000_000_000);
        };
        assert_eq!(of(schedule, late), None);
    }
}
