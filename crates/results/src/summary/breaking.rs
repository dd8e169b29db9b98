//! Finds the breaking point of a rising load: the target rate from which an expectation stays
//! unmet. The rule is in `docs/reading-a-report.md`.

use std::collections::BTreeMap;
use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::expectation as asked;
use stampede_model::expectation::{Bound, Expectation, Relation, Side};
use stampede_model::failure::FailureKind;
use stampede_model::load::Arrivals;
use stampede_model::record::{CaseRecord, Validity};
use stampede_model::schedule::{Segment, Segments};
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{CutOff, Ranked, rank};

use super::input::TrialData;
use super::model::{CaseSummary, Figure, TimeFigures};
use super::over_time::{DueSecond, by_due_second};
use super::trial::time_figures;

/// The breaking point of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreakingPoint {
    /// The first second whose requests broke the expectation. 0 is the trial's first second.
    pub second: u32,
    /// The schedule's rate in that second.
    pub offered_per_second: f64,
    /// The expectation that broke, as written.
    pub lost: String,
    /// Requests due from then on without a correct answer, by kind of failure, including `dropped`.
    pub failed: BTreeMap<String, u64>,
    /// The highest number of requests in flight before that second.
    pub in_flight_max_before: u32,
    /// The highest number of requests in flight from that second on.
    pub in_flight_max_after: u32,
    /// Response times of all requests that were due before that second.
    pub response_time_ns: TimeFigures,
    /// Response times of the ok requests among them.
    pub response_time_ns_ok: TimeFigures,
}

/// The breaking points of a case with a rising load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Breaking {
    /// The expectations that were judged, as written.
    pub judged: Vec<String>,
    /// Number of trials that count and were judged.
    pub trials: u32,
    /// Number of these trials that broke. 0: none did. All fields below are over these.
    pub trials_broken: u32,
    /// The second in which each of them broke.
    pub seconds: Vec<u32>,
    /// The schedule's rate in that second.
    pub offered_per_second: Figure,
    /// The expectations that broke, each once.
    pub lost: Vec<String>,
    /// Requests due from then on without a correct answer, by kind of failure, including `dropped`:
    /// sums over the trials.
    pub failed: BTreeMap<String, u64>,
    /// The highest number of requests in flight before that second.
    pub in_flight_max_before: u32,
    /// The highest number of requests in flight from that second on.
    pub in_flight_max_after: u32,
    /// Response times of all requests that were due before that second.
    pub response_time_ns: TimeFigures,
    /// Response times of the ok requests among them.
    pub response_time_ns_ok: TimeFigures,
}

/// A load that rises, and the expectations that are judged by second.
#[derive(Clone, Debug)]
pub struct Rising {
    schedule: Segments,
    /// Number of requests up to the end of the rise. `None`: the rate does not fall afterwards.
    rise: Option<u64>,
    expected: Vec<SecondExpectation>,
}

/// The schedule of a case, if the model is open and the rate rises.
pub fn rising_schedule(case: &CaseRecord) -> Option<Segments> {
    let schedule = case.schedule.clone()?;
    let mut lowest = f64::INFINITY;
    let rises = schedule.segments().iter().map(ends).any(|(from, to)| {
        lowest = lowest.min(from);
        let rises = from > lowest || to > lowest;
        lowest = lowest.min(to);
        rises
    });
    rises.then_some(schedule)
}

/// The rates at which a segment begins and ends, per second.
fn ends(segment: &Segment) -> (f64, f64) {
    match *segment {
        Segment::Const { rate, .. } => (rate.per_second(), rate.per_second()),
        Segment::Line { from, to, .. } | Segment::Step { from, to, .. } => {
            (from.per_second(), to.per_second())
        }
    }
}

impl Rising {
    /// The rising load of a case, with its expectations. `None`: its load does not rise.
    pub fn of<'a>(
        case: &CaseRecord,
        expect: impl IntoIterator<Item = &'a Expectation>,
    ) -> Option<Rising> {
        let schedule = rising_schedule(case)?;
        let mut expected: Vec<SecondExpectation> =
            expect.into_iter().filter_map(SecondExpectation::of).collect();
        if expected.is_empty() {
            expected.push(SecondExpectation::by_default());
        }
        Some(Rising { rise: rise(&schedule), schedule, expected })
    }

    /// The breaking point of a trial. `None`: it did not break, or there is no load to judge.
    pub fn find(&self, trial: &TrialData) -> Option<BreakingPoint> {
        let load = trial.record.load.as_ref()?;
        let due = by_due_second(trial, load.timeout_ns);
        let length = self.length(&due);
        let broken = self.expected.iter().filter_map(|expected| {
            Some((lost_for_good(expected, &due[..length], load.timeout_ns)?, expected))
        });
        // Of expectations that break in the same second, the plan's first counts.
        let (second, expected) = broken.min_by_key(|(second, _)| *second)?;
        let (before, after) = due.split_at(second);
        let (response_time_ns, response_time_ns_ok) = times(before, load.timeout_ns);
        let in_flight = |rows: &[stampede_model::record::SecondRecord]| {
            rows.iter().map(|row| row.in_flight_max).max().unwrap_or(0)
        };
        let (earlier, later) = trial.seconds.split_at(second);
        Some(BreakingPoint {
            second: u32::try_from(second).unwrap_or(u32::MAX),
            offered_per_second: self.rate(before, after[0].planned),
            lost: expected.text.clone(),
            failed: failures_by_kind(after),
            in_flight_max_before: in_flight(earlier),
            in_flight_max_after: in_flight(later),
            response_time_ns,
            response_time_ns_ok,
        })
    }

    /// Number of seconds up to the end of the rise. It is counted in requests, because a client may
    /// stretch the schedule.
    fn length(&self, due: &[DueSecond]) -> usize {
        let Some(rise) = self.rise else { return due.len() };
        let mut planned = 0;
        due.iter()
            .take_while(|second| {
                let before = planned < rise;
                planned += second.planned;
                before
            })
            .count()
    }

    /// The schedule's rate at the middle request of a second.
    fn rate(&self, before: &[DueSecond], planned: u64) -> f64 {
        let request = before.iter().map(|second| second.planned).sum::<u64>() + planned / 2;
        let request = usize::try_from(request).unwrap_or(usize::MAX);
        let due = self.schedule.due_times(Arrivals::Uniform).nth(request);
        due.map_or(self.schedule.max_rate(), |due| self.schedule.rate_at(due))
    }
}

/// Number of requests up to the end of the last segment that reaches or holds the highest rate.
/// `None`: this is the end of the schedule.
fn rise(schedule: &Segments) -> Option<u64> {
    let segments = schedule.segments();
    let highest = schedule.max_rate();
    let reaches = |segment: &Segment| ends(segment).0.max(ends(segment).1) >= highest;
    let last = segments.iter().rposition(reaches)?;
    let falls = ends(&segments[last]).1 < highest;
    let kept = if falls { last } else { last + 1 };
    if kept == segments.len() {
        return None;
    }
    Some(Segments::new(segments[..kept].to_vec()).map_or(0, |part| part.planned()))
}

/// An expectation that can be judged by second.
#[derive(Clone, Debug)]
struct SecondExpectation {
    text: String,
    what: SecondFigure,
    bound: Bound,
}

#[derive(Clone, Copy, Debug)]
enum SecondFigure {
    Ok,
    Mean,
    Percentile(f64),
}

impl SecondExpectation {
    /// `None` for a figure that cannot be judged by second, or a bound of the opposite direction
    /// (`p95 > 1s`).
    fn of(expectation: &Expectation) -> Option<SecondExpectation> {
        let bound = expectation.bound;
        let (what, side) = match bound.figure {
            asked::Figure::Ok => (SecondFigure::Ok, Side::High),
            asked::Figure::Mean => (SecondFigure::Mean, Side::Low),
            asked::Figure::Max => (SecondFigure::Percentile(100.0), Side::Low),
            asked::Figure::Percentile(percent) => {
                (SecondFigure::Percentile(percent.value()), Side::Low)
            }
            asked::Figure::Throughput | asked::Figure::CpuCost | asked::Figure::Memory => {
                return None;
            }
        };
        let judged = !bound.worse && bound.relation.side() == side;
        judged.then(|| SecondExpectation { text: expectation.text.clone(), what, bound })
    }

    /// The expectation that is judged if the plan has none that can be judged by second.
    fn by_default() -> SecondExpectation {
        let (figure, relation) = (asked::Figure::Ok, Relation::AtLeast);
        let bound = Bound { figure, worse: false, relation, limit: 0.99 };
        SecondExpectation { text: "ok >= 99%".to_owned(), what: SecondFigure::Ok, bound }
    }

    fn tally(&self, second: &DueSecond, timeout_ns: u64) -> Tally {
        let answered = || second.answered.iter().map(|(ns, count)| (*ns as f64, *count));
        let lost: u64 = second.lost.values().sum();
        let timeouts = FailureKind::TIMEOUT.count(&second.lost);
        let correct: u64 = answered().map(|(_, count)| count).sum();
        let good = match self.what {
            SecondFigure::Ok => correct,
            _ => answered().filter(|(ns, _)| self.bound.holds(*ns)).map(|(_, count)| count).sum(),
        };
        let longest = answered().map(|(ns, _)| ns).fold(0.0, f64::max);
        // As in the mean of all figures: a request without a correct answer took at least as long
        // as the longest answer. If there is no answer, there is no bound.
        let otherwise = match (lost - timeouts, correct) {
            (0, _) => 0.0,
            (_, 0) => f64::INFINITY,
            (lost, _) => lost as f64 * longest,
        };
        let sum_ns = answered().map(|(ns, count)| ns * count as f64).sum::<f64>()
            + timeouts as f64 * longest.max(timeout_ns as f64)
            + otherwise;
        Tally { requests: correct + lost, good, sum_ns }
    }

    /// Whether these requests break it. `None`: there are none. A small number of requests does not
    /// matter here: an expectation that stays broken is not broken by chance.
    fn broken(&self, tally: Tally) -> Option<bool> {
        if tally.requests == 0 {
            return None;
        }
        let requests = tally.requests as f64;
        Some(match self.what {
            SecondFigure::Ok => !self.bound.holds(tally.good as f64 / requests),
            SecondFigure::Mean => !self.bound.holds(tally.sum_ns / requests),
            SecondFigure::Percentile(percent) => tally.good < rank(percent, tally.requests),
        })
    }
}

/// The counts of one second, or of several, that decide on an expectation.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    requests: u64,
    /// Requests with a correct answer; for a percentile, only those within the bound.
    good: u64,
    sum_ns: f64,
}

impl Add for Tally {
    type Output = Tally;

    fn add(self, other: Tally) -> Tally {
        Tally {
            requests: self.requests + other.requests,
            good: self.good + other.good,
            sum_ns: self.sum_ns + other.sum_ns,
        }
    }
}

/// Number of seconds that are judged together.
const WINDOW: usize = 5;

/// The first second from which every window up to the end breaks the expectation.
fn lost_for_good(
    expected: &SecondExpectation,
    due: &[DueSecond],
    timeout_ns: u64,
) -> Option<usize> {
    let tallies: Vec<Tally> = due.iter().map(|second| expected.tally(second, timeout_ns)).collect();
    let width = WINDOW.min(tallies.len());
    if width == 0 {
        return None;
    }
    let mut first = None;
    for (start, window) in tallies.windows(width).enumerate().rev() {
        match broken_without_any(expected, window) {
            Some(true) => first = Some(start),
            Some(false) => break,
            None => {}
        }
    }
    // The window begins before the second that broke it.
    let start = first?;
    let alone = |second: &usize| expected.broken(tallies[*second]) == Some(true);
    (start..start + width).find(alone)
}

/// Whether the window breaks the expectation even if any one of its seconds is left out, so that a
/// single bad second never does. `None`: fewer than two of its seconds have requests.
fn broken_without_any(expected: &SecondExpectation, window: &[Tally]) -> Option<bool> {
    let there: Vec<Tally> = window.iter().copied().filter(|tally| tally.requests > 0).collect();
    if there.len() < 2 {
        return None;
    }
    let without = |left_out: usize| {
        let rest = there.iter().enumerate().filter(|(place, _)| *place != left_out);
        rest.fold(Tally::default(), |sum, (_, tally)| sum + *tally)
    };
    // The last index leaves out no second.
    Some((0..=there.len()).all(|place| expected.broken(without(place)) == Some(true)))
}

/// Requests without a correct answer, by kind of failure.
fn failures_by_kind(seconds: &[DueSecond]) -> BTreeMap<String, u64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (kind, count) in seconds.iter().flat_map(|second| &second.lost) {
        *sums.entry(kind.clone()).or_default() += count;
    }
    sums
}

/// Response times of all requests due in these seconds, and of the ok requests alone.
fn times(seconds: &[DueSecond], timeout_ns: u64) -> (TimeFigures, TimeFigures) {
    let mut answered = Times::new();
    for (ns, count) in seconds.iter().flat_map(|second| &second.answered) {
        answered.record_many(*ns, *count);
    }
    let lost = failures_by_kind(seconds);
    let timeouts = FailureKind::TIMEOUT.count(&lost);
    let ranked = Ranked { answered: &answered, failed: lost.values().sum() };
    let none = CutOff { requests: 0, after_ns: 0 };
    (
        time_figures(ranked, CutOff { requests: timeouts, after_ns: timeout_ns }),
        time_figures(Ranked::ok_alone(&answered), none),
    )
}

/// Combines the breaking points of the trials that count.
pub fn over(case: &CaseSummary, rising: &Rising) -> Breaking {
    let looked_at = |trial: &&super::model::TrialSummary| {
        trial.verdict != Validity::Invalid && !trial.over_time.is_empty()
    };
    let counted = case.trials.iter().filter(looked_at);
    let points: Vec<&BreakingPoint> =
        counted.clone().filter_map(|trial| trial.breaking_point.as_ref()).collect();
    let mut failed: BTreeMap<String, u64> = BTreeMap::new();
    let mut lost: Vec<String> = Vec::new();
    for point in &points {
        if !lost.contains(&point.lost) {
            lost.push(point.lost.clone());
        }
        for (kind, count) in &point.failed {
            *failed.entry(kind.clone()).or_default() += count;
        }
    }
    let highest = |of: fn(&BreakingPoint) -> u32| points.iter().map(|point| of(point)).max();
    let times = |of: fn(&BreakingPoint) -> &TimeFigures| {
        TimeFigures::build(|stat| Figure::over(points.iter().map(|point| of(point).get(stat))))
    };
    Breaking {
        judged: rising.expected.iter().map(|expected| expected.text.clone()).collect(),
        trials: counted.count() as u32,
        trials_broken: points.len() as u32,
        seconds: points.iter().map(|point| point.second).collect(),
        offered_per_second: Figure::over(
            points.iter().map(|point| Figure::exact(point.offered_per_second)),
        ),
        lost,
        failed,
        in_flight_max_before: highest(|point| point.in_flight_max_before).unwrap_or(0),
        in_flight_max_after: highest(|point| point.in_flight_max_after).unwrap_or(0),
        response_time_ns: times(|point| &point.response_time_ns),
        response_time_ns_ok: times(|point| &point.response_time_ns_ok),
    }
}

#[cfg(test)]
#[path = "breaking_tests.rs"]
mod tests;
