//! The capacity search of one runtime. It decides what to measure next and for how long, and states
//! the result so far. It does no I/O; its clock is the time that trials took.

use stampede_model::expectation::{Expectation, Figure};
use stampede_model::fact::search::Limited;
use stampede_model::fact::{Fact, Reason};
use stampede_stats::knee::knee;
use stampede_stats::search::{self, Budget, Goal, LONGER, NextTrial, Search, Step};

use stampede_results::capacity::{Ending, Limit, Point, Purpose, TrialOutcome};

/// The goal of a search.
#[derive(Clone, Debug)]
pub struct CapacityGoal {
    /// The expectations that must hold.
    pub expect: Vec<Expectation>,
    /// Wanted width of the interval: 0.1 for 10 %.
    pub precision: f64,
    /// Longest time for all its trials together, in s.
    pub max_time_s: f64,
    /// Shortest length of a short trial's load, in s.
    pub trial_s: f64,
    /// Length of the discarded load before each trial, in s.
    pub warm_up_s: f64,
    /// Concurrency of the trial that determines the first rate.
    pub saturation_concurrency: u32,
    /// Whether longer trials confirm the result.
    pub confirm: bool,
}

impl CapacityGoal {
    /// Returns the requests that a trial needs: ten must lie beyond every percentile of the
    /// expectations.
    fn needed_requests(&self) -> f64 {
        let beyond = |expected: &Expectation| {
            let Figure::Percentile(percent) = expected.bound.figure else { return None };
            Some(BEYOND / (1.0 - percent.value() / 100.0))
        };
        self.expect.iter().filter_map(beyond).fold(REQUESTS_LEAST, f64::max)
    }

    /// Returns the length of a trial at this rate, in s.
    pub fn length_s(&self, rate: f64) -> f64 {
        // 10 % more than needed, rounded up to tenths of a second, so that the printed length is
        // exact.
        let needed = (self.needed_requests() / rate * 11.0).ceil() / 10.0;
        self.trial_s.max(needed.min(LENGTH_MOST_S))
    }

    /// Returns the length of a longer trial at this rate, in s. A trial that its percentile already
    /// makes long is not extended beyond [`LENGTH_MOST_S`].
    fn longer_s(&self, rate: f64) -> f64 {
        let short = self.length_s(rate);
        (short * f64::from(LONGER)).min(short.max(LENGTH_MOST_S))
    }
}

/// The trial to measure next.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialSpec {
    /// The purpose of the trial.
    pub purpose: Purpose,
    /// A concurrency or a rate.
    pub level: LoadLevel,
    /// Length of its load, in s.
    pub length_s: f64,
    /// Time left for this trial and all that follow, in s.
    pub left_s: f64,
}

/// A closed or an open load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadLevel {
    /// The number of requests at a time; each next one is sent after an answer.
    Concurrency(u32),
    /// The scheduled requests per second.
    Rate(f64),
}

/// The search of one runtime.
#[derive(Clone, Debug)]
pub struct CapacitySearch {
    runtime: String,
    goal: CapacityGoal,
    stage: Stage,
    points: Vec<Point>,
}

#[derive(Clone, Debug)]
enum Stage {
    SingleUser,
    Saturation,
    Searching(Search),
    Over(Ending, Limited),
}

impl CapacitySearch {
    /// Returns a search that begins with one user alone.
    pub fn new(runtime: String, goal: CapacityGoal) -> CapacitySearch {
        CapacitySearch { runtime, goal, stage: Stage::SingleUser, points: Vec::new() }
    }

    /// Returns the search of a runtime that will not be measured, with the reason.
    pub fn skipped(runtime: String, goal: CapacityGoal, why: &Fact<Reason>) -> CapacitySearch {
        let reasons = vec![why.clone()];
        let stage = Stage::Over(Ending::NotMeasured, Limited::NotMeasured { reasons });
        CapacitySearch { stage, ..CapacitySearch::new(runtime, goal) }
    }

    /// Returns a search that begins with many users, because one user alone is known to be served
    /// well.
    pub fn from_saturation(runtime: String, goal: CapacityGoal) -> CapacitySearch {
        CapacitySearch { stage: Stage::Saturation, ..CapacitySearch::new(runtime, goal) }
    }

    /// Returns the trials so far.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the next trial; `None` if the search or its time is over.
    pub fn next(&self) -> Option<TrialSpec> {
        let spec = |purpose, level, length_s| Some(self.trial_spec(purpose, level, length_s));
        match &self.stage {
            Stage::Over(..) => None,
            // This trial runs even without time left: otherwise nothing would be known.
            Stage::SingleUser => spec(Purpose::Alone, LoadLevel::Concurrency(1), self.goal.trial_s),
            Stage::Saturation
                if self.trials_that_fit(self.goal.trial_s) == 0 && !self.points.is_empty() =>
            {
                None
            }
            Stage::Saturation => spec(
                Purpose::Crowd,
                LoadLevel::Concurrency(self.goal.saturation_concurrency),
                self.goal.trial_s,
            ),
            Stage::Searching(search) => {
                let next_rate = self.next_rate(search);
                let budget = Budget {
                    short: self.trials_that_fit(self.goal.length_s(next_rate)),
                    longer: self.trials_that_fit(self.goal.longer_s(next_rate)),
                };
                match search.next(budget) {
                    NextTrial::Nothing => self.curve_trial(search),
                    NextTrial::Measure { rate, purpose } => {
                        let length_s = match purpose.is_longer() {
                            true => self.goal.longer_s(rate),
                            false => self.goal.length_s(rate),
                        };
                        spec(recorded(purpose), LoadLevel::Rate(rate), length_s)
                    }
                }
            }
        }
    }

    /// Takes the result of a trial.
    pub fn add_result(&mut self, spec: &TrialSpec, point: Point) {
        let stage = std::mem::replace(&mut self.stage, Stage::Saturation);
        self.stage = match stage {
            Stage::SingleUser => self.after_single_user(&point),
            Stage::Saturation => self.after_saturation(&point),
            Stage::Searching(search) => self.after_search(search, spec, &point),
            over @ Stage::Over(..) => over,
        };
        self.points.push(point);
    }

    fn after_single_user(&self, point: &Point) -> Stage {
        let before = self.points.iter().filter(|before| before.seen == point.seen).count();
        match point.seen {
            TrialOutcome::Met => Stage::Saturation,
            // The machine may have been busy, so the trial is repeated once.
            _ if before == 0 => Stage::SingleUser,
            TrialOutcome::Missed => Stage::Over(
                Ending::NotMetAlone,
                Limited::NotMetAlone { reasons: point.why.clone() },
            ),
            TrialOutcome::Generator | TrialOutcome::NotMeasured => not_measured(point),
        }
    }

    fn after_saturation(&self, point: &Point) -> Stage {
        let alone = self.points.iter().filter_map(|point| point.throughput_per_second);
        let alone = alone.fold(0.0, f64::max);
        let many = point.throughput_per_second.filter(|rate| *rate > 0.0);
        if many.is_none() && alone == 0.0 {
            return not_measured(point);
        }
        let first = many.map_or(alone, |many| many * BELOW_MANY).max(LOWEST);
        Stage::Searching(Search::new(Goal {
            first,
            lowest: (first / DOWN_TO).max(LOWEST).min(first),
            highest: HIGHEST,
            precision: self.goal.precision,
            confirm: self.goal.confirm,
        }))
    }

    fn after_search(&self, mut search: Search, spec: &TrialSpec, point: &Point) -> Stage {
        let LoadLevel::Rate(rate) = spec.level else { return Stage::Searching(search) };
        let Some(purpose) = of_search(spec.purpose) else { return Stage::Searching(search) };
        let seen = match point.seen {
            TrialOutcome::Met => search::TrialResult::Met,
            // The runtime has run before, so the cause is the rate, or an accident that the search
            // tolerates.
            TrialOutcome::Missed | TrialOutcome::NotMeasured => search::TrialResult::Missed,
            TrialOutcome::Generator => search::TrialResult::Generator,
        };
        search.record(Step { rate, purpose, result: seen });
        Stage::Searching(search)
    }

    /// Returns a trial below the capacity, for the chart and the knee. It runs only when the search
    /// needs no more trials and time is left, because the search itself has no reason to measure
    /// there.
    fn curve_trial(&self, search: &Search) -> Option<TrialSpec> {
        let capacity = search.answer().lower.filter(|_| self.goal.confirm)?;
        let done = self.points.iter().filter(|point| point.purpose == Purpose::Curve).count();
        let rate = (capacity * CURVE.get(done)?).max(LOWEST);
        let rate =
            if rate > 100.0 { (rate / 10.0).round() * 10.0 } else { (rate * 10.0).round() / 10.0 };
        let length_s = self.goal.length_s(rate);
        let spec = self.trial_spec(Purpose::Curve, LoadLevel::Rate(rate), length_s);
        (self.trials_that_fit(length_s) > 0).then_some(spec)
    }

    /// Returns the time of a trial besides its load, in s: the mean of the trials so far.
    fn overhead_s(&self) -> f64 {
        let overheads = self.points.iter().map(|point| point.took_s - point.length_s);
        match self.points.len() {
            0 => self.goal.warm_up_s + OVERHEAD_S,
            count => (overheads.sum::<f64>() / count as f64).max(0.0),
        }
    }

    /// Returns the rate of the next trial, regardless of the time left.
    fn next_rate(&self, search: &Search) -> f64 {
        match search.next(Budget { short: u32::MAX, longer: u32::MAX }) {
            NextTrial::Measure { rate, .. } => rate,
            NextTrial::Nothing => HIGHEST,
        }
    }

    /// Returns how many trials of this length fit into the time left.
    fn trials_that_fit(&self, length_s: f64) -> u32 {
        (self.left_s() / (self.overhead_s() + length_s)).floor().max(0.0) as u32
    }

    fn trial_spec(&self, purpose: Purpose, level: LoadLevel, length_s: f64) -> TrialSpec {
        TrialSpec { purpose, level, length_s, left_s: self.left_s() }
    }

    /// Returns how long its trials may still take together, in s.
    pub fn left_s(&self) -> f64 {
        (self.goal.max_time_s - self.spent_s()).max(0.0)
    }

    /// Continues with another goal; the results so far are kept.
    pub fn resume(&mut self, goal: CapacityGoal) {
        if let Stage::Searching(search) = &mut self.stage {
            search.set_confirm(goal.confirm);
        }
        self.goal = goal;
    }

    /// Returns how long its trials took, including starts, in s.
    pub fn spent_s(&self) -> f64 {
        self.points.iter().map(|point| point.took_s).sum()
    }

    /// Returns the result so far.
    pub fn limit(&self) -> Limit {
        let answer = match &self.stage {
            Stage::Searching(search) => Some(search.answer()),
            _ => None,
        };
        let (ending, said) = match &self.stage {
            Stage::Over(ending, said) => (*ending, said.clone()),
            Stage::SingleUser => (Ending::Unknown, Limited::Unknown {}),
            Stage::Saturation => (Ending::Unknown, self.single_user_result()),
            Stage::Searching(search) => self.ending(search),
        };
        Limit {
            runtime: self.runtime.clone(),
            ending,
            said: said.into(),
            capacity_per_second: answer.and_then(|answer| answer.lower),
            upper_per_second: answer.and_then(|answer| answer.upper),
            knee_per_second: self.knee(),
            waiting_share: self
                .points
                .iter()
                .rev()
                .find(|point| point.purpose == Purpose::Alone)
                .and_then(Point::waiting_share),
            spent_s: self.spent_s(),
            points: self.points.clone(),
        }
    }

    /// Returns the ending, and the same with figures.
    fn ending(&self, search: &Search) -> (Ending, Limited) {
        let answer = search.answer();
        let (capacity_per_second, upper_per_second) = (answer.lower, answer.upper);
        match (answer.ending, capacity_per_second) {
            (search::Ending::Found, Some(capacity_per_second)) => {
                (Ending::Found, Limited::Found { capacity_per_second, upper_per_second })
            }
            (search::Ending::Found | search::Ending::Unconfirmed, _) => (
                Ending::Unconfirmed,
                Limited::Unconfirmed { capacity_per_second, upper_per_second },
            ),
            (search::Ending::Wide, _) => {
                let precision = self.goal.precision;
                (Ending::Wide, Limited::Wide { capacity_per_second, upper_per_second, precision })
            }
            (search::Ending::AtLeast, _) => {
                (Ending::AtLeast, Limited::AtLeast { capacity_per_second })
            }
            (search::Ending::Below, _) => {
                let rates = search.steps().iter().map(|step| step.rate);
                let lowest_per_second = rates.fold(f64::MAX, f64::min);
                (Ending::Below, Limited::Below { lowest_per_second })
            }
            (search::Ending::Unknown, _) => (Ending::Unknown, Limited::Unknown {}),
        }
    }

    /// Returns the result if the time ended after the trial with one user.
    fn single_user_result(&self) -> Limited {
        let throughput_per_second =
            self.points.iter().rev().find_map(|point| point.throughput_per_second);
        Limited::MetAlone { throughput_per_second }
    }

    /// Returns the knee over all trials with a rate.
    fn knee(&self) -> Option<f64> {
        let open = self.points.iter().filter(|point| point.offered_per_second.is_some());
        let figures = |point: &Point| Some((point.throughput_per_second?, point.time_ns_mean?));
        knee(&open.filter_map(figures).collect::<Vec<_>>())
    }
}

/// The purpose of a search's trial, as it is recorded.
fn recorded(purpose: search::Purpose) -> Purpose {
    match purpose {
        search::Purpose::Probe => Purpose::Probe,
        search::Purpose::Search => Purpose::Search,
        search::Purpose::Narrow => Purpose::Narrow,
        search::Purpose::Confirm => Purpose::Confirm,
        search::Purpose::Beyond => Purpose::Beyond,
    }
}

/// The search's purpose of a recorded trial. `None`: it is no trial of the search.
fn of_search(purpose: Purpose) -> Option<search::Purpose> {
    match purpose {
        Purpose::Alone | Purpose::Crowd | Purpose::Curve => None,
        Purpose::Probe => Some(search::Purpose::Probe),
        Purpose::Search => Some(search::Purpose::Search),
        Purpose::Narrow => Some(search::Purpose::Narrow),
        Purpose::Confirm => Some(search::Purpose::Confirm),
        Purpose::Beyond => Some(search::Purpose::Beyond),
    }
}

fn not_measured(point: &Point) -> Stage {
    Stage::Over(Ending::NotMeasured, Limited::NotMeasured { reasons: point.why.clone() })
}

/// Requests beyond a percentile that is printed.
const BEYOND: f64 = 10.0;
/// Fewest requests of a trial: the mean of fewer is not reliable.
const REQUESTS_LEAST: f64 = 100.0;
/// Longest trial for a percentile, in s. If it needs more time, fewer requests lie beyond it.
const LENGTH_MOST_S: f64 = 30.0;
/// Time for start, verification and stop, in s, until trials have shown it.
const OVERHEAD_S: f64 = 1.5;
/// The first rate, as a share of the throughput with many users.
const BELOW_MANY: f64 = 0.8;
/// First rate ÷ lowest rate that is tried.
const DOWN_TO: f64 = 64.0;
/// Rates of the curve's trials, as shares of the capacity.
const CURVE: [f64; 3] = [0.5, 0.25, 0.75];
/// Lowest rate per second: at a lower one, a trial would take too long.
const LOWEST: f64 = 0.5;
/// Highest rate per second: no loopback interface carries more.
const HIGHEST: f64 = 1_000_000.0;

#[cfg(test)]
#[path = "capacity_search_tests.rs"]
mod tests;
