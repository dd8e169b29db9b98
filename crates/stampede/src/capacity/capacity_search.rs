//! The search on one runtime: what to measure next, how long, and what is known. Pure; time is what
//! the trials took.

use stampede_stats::knee::knee;
use stampede_stats::search::{self, Ask, Budget, Goal, LONGER, Search, Step};

use super::model::{Ending, Limit, Point, Purpose, Seen};
use super::text;
use crate::fact;
use crate::plan::model::{Expectation, Figure};
use crate::summary::words;

/// What is wanted of a search.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What has to hold.
    pub expect: Vec<Expectation>,
    /// How wide the interval may be: 0.1 for 10 %.
    pub precision: f64,
    /// How long its trials may take in all.
    pub max_time_s: f64,
    /// Of one short trial's load, at least.
    pub trial_s: f64,
    /// Discarded load of each trial.
    pub warm_up_s: f64,
    /// Users of the trial that says where to begin.
    pub crowd: u32,
    /// Whether longer trials confirm what was found.
    pub confirm: bool,
}

impl Wanted {
    /// So many requests that every percentile that is asked for has ten beyond it.
    fn specs(&self) -> f64 {
        let beyond = |expected: &Expectation| {
            let Figure::Percentile(percent) = expected.bound.figure else { return None };
            Some(BEYOND / (1.0 - percent.value() / 100.0))
        };
        self.expect.iter().filter_map(beyond).fold(REQUESTS_LEAST, f64::max)
    }

    /// Length of a trial at this rate.
    pub fn length_s(&self, rate: f64) -> f64 {
        // Whole tenths: what is said is what was done.
        let needed = (self.specs() / rate * 11.0).ceil() / 10.0;
        self.trial_s.max(needed.min(LENGTH_MOST_S))
    }

    /// Length of a longer trial at this rate: one that is long for its percentile's sake is not
    /// made longer than the longest.
    fn longer_s(&self, rate: f64) -> f64 {
        let short = self.length_s(rate);
        (short * f64::from(LONGER)).min(short.max(LENGTH_MOST_S))
    }
}

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialSpec {
    /// What for.
    pub purpose: Purpose,
    /// Users, or a rate.
    pub what: What,
    /// Length of its load.
    pub length_s: f64,
    /// How long it and all that follow may take.
    pub left_s: f64,
}

/// Closed or open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// Each sends the next request after its answer.
    Concurrency(u32),
    /// Requests due per second.
    Rate(f64),
}

/// The search on one runtime.
#[derive(Clone, Debug)]
pub struct CapacitySearch {
    runtime: String,
    wanted: Wanted,
    stage: Stage,
    points: Vec<Point>,
}

#[derive(Clone, Debug)]
enum Stage {
    Alone,
    Crowd,
    Searching(Search),
    Over(Ending, String),
}

impl CapacitySearch {
    /// From one user alone on.
    pub fn new(runtime: String, wanted: Wanted) -> CapacitySearch {
        CapacitySearch { runtime, wanted, stage: Stage::Alone, points: Vec::new() }
    }

    /// Of one that will not be measured, and why.
    pub fn refused(runtime: String, wanted: Wanted, why: &str) -> CapacitySearch {
        let stage = Stage::Over(Ending::NotMeasured, format!("not measured: {why}"));
        CapacitySearch { stage, ..CapacitySearch::new(runtime, wanted) }
    }

    /// From many users on: where it is known that one alone meets what is expected.
    pub fn from_crowd(runtime: String, wanted: Wanted) -> CapacitySearch {
        CapacitySearch { stage: Stage::Crowd, ..CapacitySearch::new(runtime, wanted) }
    }

    /// Trials so far.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The next trial; `None`: it is over, or the time is.
    pub fn next(&self) -> Option<TrialSpec> {
        let spec = |purpose, what, length_s| Some(self.spec(purpose, what, length_s));
        match &self.stage {
            Stage::Over(..) => None,
            // Whatever the time: without it nothing is known.
            Stage::Alone => spec(Purpose::Alone, What::Concurrency(1), self.wanted.trial_s),
            Stage::Crowd if self.fit(self.wanted.trial_s) == 0 && !self.points.is_empty() => None,
            Stage::Crowd => {
                spec(Purpose::Crowd, What::Concurrency(self.wanted.crowd), self.wanted.trial_s)
            }
            Stage::Searching(search) => {
                let about = self.about(search);
                let budget = Budget {
                    short: self.fit(self.wanted.length_s(about)),
                    longer: self.fit(self.wanted.longer_s(about)),
                };
                match search.next(budget) {
                    Ask::Nothing => self.curve(search),
                    Ask::Measure { rate, purpose } => {
                        let length_s = match purpose.is_longer() {
                            true => self.wanted.longer_s(rate),
                            false => self.wanted.length_s(rate),
                        };
                        spec(Purpose::of(purpose), What::Rate(rate), length_s)
                    }
                }
            }
        }
    }

    /// Takes what was measured.
    pub fn told(&mut self, spec: &TrialSpec, point: Point) {
        let stage = std::mem::replace(&mut self.stage, Stage::Crowd);
        self.stage = match stage {
            Stage::Alone => self.after_alone(&point),
            Stage::Crowd => self.after_crowd(&point),
            Stage::Searching(search) => self.after_search(search, spec, &point),
            over @ Stage::Over(..) => over,
        };
        self.points.push(point);
    }

    fn after_alone(&self, point: &Point) -> Stage {
        let before = self.points.iter().filter(|before| before.seen == point.seen).count();
        match point.seen {
            Seen::Met => Stage::Crowd,
            // A machine that was busy once is asked again.
            _ if before == 0 => Stage::Alone,
            Seen::Missed => Stage::Over(
                Ending::NotMetAlone,
                format!("one user alone does not meet it: {}", fact::joined(&point.why)),
            ),
            Seen::Generator | Seen::NotMeasured => not_measured(point),
        }
    }

    fn after_crowd(&self, point: &Point) -> Stage {
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
            precision: self.wanted.precision,
            confirm: self.wanted.confirm,
        }))
    }

    fn after_search(&self, mut search: Search, spec: &TrialSpec, point: &Point) -> Stage {
        let What::Rate(rate) = spec.what else { return Stage::Searching(search) };
        let Some(purpose) = spec.purpose.of_search() else { return Stage::Searching(search) };
        let seen = match point.seen {
            Seen::Met => search::Seen::Met,
            // It has run before: what ends it now is the rate, or an accident, which the search
            // bears.
            Seen::Missed | Seen::NotMeasured => search::Seen::Missed,
            Seen::Generator => search::Seen::Generator,
        };
        search.told(Step { rate, purpose, seen });
        Stage::Searching(search)
    }

    /// Where the search has nothing more to ask, and there is time: what lies below the capacity,
    /// where a search has no reason to look.
    fn curve(&self, search: &Search) -> Option<TrialSpec> {
        let capacity = search.answer().lower.filter(|_| self.wanted.confirm)?;
        let done = self.points.iter().filter(|point| point.purpose == Purpose::Curve).count();
        let rate = (capacity * CURVE.get(done)?).max(LOWEST);
        let rate =
            if rate > 100.0 { (rate / 10.0).round() * 10.0 } else { (rate * 10.0).round() / 10.0 };
        let length_s = self.wanted.length_s(rate);
        let spec = self.spec(Purpose::Curve, What::Rate(rate), length_s);
        (self.fit(length_s) > 0).then_some(spec)
    }

    /// What surrounds the load of a trial.
    fn around_s(&self) -> f64 {
        let around = self.points.iter().map(|point| point.took_s - point.length_s);
        match self.points.len() {
            0 => self.wanted.warm_up_s + AROUND_S,
            count => (around.sum::<f64>() / count as f64).max(0.0),
        }
    }

    /// The rate that is asked for next, roughly.
    fn about(&self, search: &Search) -> f64 {
        match search.next(Budget { short: u32::MAX, longer: u32::MAX }) {
            Ask::Measure { rate, .. } => rate,
            Ask::Nothing => HIGHEST,
        }
    }

    /// How many trials of this length fit into what is left.
    fn fit(&self, length_s: f64) -> u32 {
        (self.left_s() / (self.around_s() + length_s)).floor().max(0.0) as u32
    }

    fn spec(&self, purpose: Purpose, what: What, length_s: f64) -> TrialSpec {
        TrialSpec { purpose, what, length_s, left_s: self.left_s() }
    }

    /// How long its trials may still take in all.
    pub fn left_s(&self) -> f64 {
        (self.wanted.max_time_s - self.spent_s()).max(0.0)
    }

    /// Goes on as `wanted`, from what is known.
    pub fn go_on(&mut self, wanted: Wanted) {
        if let Stage::Searching(search) = &mut self.stage {
            search.confirms(wanted.confirm);
        }
        self.wanted = wanted;
    }

    /// How long its trials took, starts included.
    pub fn spent_s(&self) -> f64 {
        self.points.iter().map(|point| point.took_s).sum()
    }

    /// What is known now.
    pub fn limit(&self) -> Limit {
        let answer = match &self.stage {
            Stage::Searching(search) => Some(search.answer()),
            _ => None,
        };
        let (ending, said) = match &self.stage {
            Stage::Over(ending, said) => (*ending, said.clone()),
            Stage::Alone => (Ending::Unknown, "nothing is known yet".to_owned()),
            Stage::Crowd => (Ending::Unknown, self.alone_is_known()),
            Stage::Searching(search) => self.said(search),
        };
        Limit {
            runtime: self.runtime.clone(),
            ending,
            said,
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

    /// The ending, and the same in words.
    fn said(&self, search: &Search) -> (Ending, String) {
        let answer = search.answer();
        let rate = |rate: Option<f64>| rate.map_or("?".to_owned(), text::rate);
        let (low, high) = (rate(answer.lower), rate(answer.upper));
        let between = match (answer.lower, answer.upper) {
            (Some(_), Some(_)) => format!("between {low} and {high}/s"),
            (None, Some(_)) => format!("below {high}/s"),
            (_, None) => format!("{low}/s or more"),
        };
        let wanted = words::percent(self.wanted.precision * 100.0);
        match answer.ending {
            search::Ending::Found => (Ending::Found, format!("{low}/s; surely not {high}/s")),
            search::Ending::Unconfirmed => {
                (Ending::Unconfirmed, format!("{between}, not confirmed by longer trials"))
            }
            search::Ending::Wide => {
                (Ending::Wide, format!("{between}: not known to {wanted} in its time (--max-time)"))
            }
            search::Ending::AtLeast => {
                (Ending::AtLeast, format!("at least {low}/s: the generator's limit"))
            }
            search::Ending::Below => {
                let lowest = search.steps().iter().map(|step| step.rate).fold(f64::MAX, f64::min);
                let lowest = text::rate(lowest);
                (Ending::Below, format!("one user alone meets it, but not even {lowest}/s do"))
            }
            search::Ending::Unknown => (Ending::Unknown, "nothing is known yet".to_owned()),
        }
    }

    /// Where there was no time for more.
    fn alone_is_known(&self) -> String {
        let alone = self.points.iter().rev().find_map(|point| point.throughput_per_second);
        let rate = alone.map_or(String::new(), |rate| format!(" ({}/s)", text::rate(rate.round())));
        format!("one user alone meets it{rate}: no time for more (--max-time)")
    }

    /// Of all trials with a rate.
    fn knee(&self) -> Option<f64> {
        let open = self.points.iter().filter(|point| point.offered_per_second.is_some());
        let figures = |point: &Point| Some((point.throughput_per_second?, point.time_ns_mean?));
        knee(&open.filter_map(figures).collect::<Vec<_>>())
    }
}

impl Purpose {
    fn of(purpose: search::Purpose) -> Purpose {
        match purpose {
            search::Purpose::Probe => Purpose::Probe,
            search::Purpose::Search => Purpose::Search,
            search::Purpose::Narrow => Purpose::Narrow,
            search::Purpose::Confirm => Purpose::Confirm,
            search::Purpose::Beyond => Purpose::Beyond,
        }
    }

    fn of_search(self) -> Option<search::Purpose> {
        match self {
            Purpose::Alone | Purpose::Crowd | Purpose::Curve => None,
            Purpose::Probe => Some(search::Purpose::Probe),
            Purpose::Search => Some(search::Purpose::Search),
            Purpose::Narrow => Some(search::Purpose::Narrow),
            Purpose::Confirm => Some(search::Purpose::Confirm),
            Purpose::Beyond => Some(search::Purpose::Beyond),
        }
    }
}

fn not_measured(point: &Point) -> Stage {
    Stage::Over(Ending::NotMeasured, format!("not measured: {}", fact::joined(&point.why)))
}

/// Requests beyond a percentile that is printed.
const BEYOND: f64 = 10.0;
/// A mean of fewer is no mean.
const REQUESTS_LEAST: f64 = 100.0;
/// Where so many requests take longer, the percentile is judged by its longest.
const LENGTH_MOST_S: f64 = 30.0;
/// Start, verification and stop, before it was measured.
const AROUND_S: f64 = 1.5;
/// The first rate: a little less than what many users get through.
const BELOW_MANY: f64 = 0.8;
/// The lowest rate that is tried, of the first.
const DOWN_TO: f64 = 64.0;
/// Of the capacity.
const CURVE: [f64; 3] = [0.5, 0.25, 0.75];
/// Per second. A trial would be longer than anybody waits.
const LOWEST: f64 = 0.5;
/// Per second. No loopback carries more.
const HIGHEST: f64 = 1_000_000.0;

#[cfg(test)]
#[path = "capacity_search_tests.rs"]
mod tests;
