//! Searches for the best settings: decides which point is next. Its caller measures the points.

use stampede_model::fact::Fact;
use stampede_model::fact::search::{ChoiceFailed, Limited};
use stampede_results::capacity::{Ending, Limit, Point, Purpose, TrialOutcome};
use stampede_results::tune::TunePoint;
use stampede_stats::best::{Gain, Point as MeasuredPoint, Tuner, Value};
use stampede_stats::estimate::Estimate;

use super::settings::{Setting, named};
use crate::capacity::capacity_search::{CapacityGoal, CapacitySearch, LoadLevel, TrialSpec};

/// The goal of a tuning.
#[derive(Clone, Debug)]
pub struct Objective {
    /// The goal of each point's search. Its time is a part of the whole time.
    pub goal: CapacityGoal,
    /// The rate at which p95 shall be lowest; `None` if the capacity shall be highest.
    pub rate: Option<f64>,
    /// Longest time for all points.
    pub max_time_s: f64,
}

/// The state of a tuning.
#[derive(Clone, Debug)]
pub struct TuningSearch {
    objective: Objective,
    settings: Vec<Setting>,
    best: Tuner,
    /// Points, with the number or index of each value.
    pub points: Vec<(Vec<Value>, TunePoint)>,
    /// The search of each point, if the capacity is the goal.
    searches: Vec<(Vec<Value>, CapacitySearch)>,
    /// Whether longer trials confirm the capacity of the best settings.
    pub confirmed: bool,
    /// Why no settings help: the expectations are not met even for one user alone.
    pub hopeless: Option<Fact<Limited>>,
    /// Whether the time was over before enough was known.
    pub out_of_time: bool,
    waiting_share: Option<f64>,
}

impl TuningSearch {
    /// Returns a tuning without any trial.
    pub fn new(objective: Objective, settings: Vec<Setting>) -> TuningSearch {
        let best = Tuner::new(settings.iter().map(Setting::axis).collect());
        TuningSearch {
            objective,
            settings,
            best,
            points: Vec::new(),
            searches: Vec::new(),
            confirmed: false,
            hopeless: None,
            out_of_time: false,
            waiting_share: None,
        }
    }

    /// Measures points until enough is known or the time is over. `measure` returns `None` if the
    /// user wants to end; then the points so far are kept.
    ///
    /// # Errors
    /// The error of `measure` or `after`.
    pub fn run<E>(
        &mut self,
        mut measure: impl FnMut(&[Value], &TrialSpec) -> Result<Option<Point>, E>,
        mut after: impl FnMut(&TuningSearch) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(at) = self.best.next() {
            let left = self.objective.max_time_s - self.reserved_s() - self.spent_s();
            let share = self.objective.max_time_s / POINTS_USUAL;
            if !self.points.is_empty() && left < share * LEAST_SHARE {
                self.out_of_time = true;
                break;
            }
            let left_s = self.left_s();
            let mut one = |spec: &TrialSpec| measure(&at, &TrialSpec { left_s, ..spec.clone() });
            let measured = match self.objective.rate {
                None => self.capacity(&at, left.min(share.max(self.least_s())), &mut one)?,
                Some(rate) => self.p95(&at, rate, &mut one)?,
            };
            let Some(point) = measured else { return Ok(()) };
            let gain = self.gain(&point);
            self.points.push((at.clone(), point));
            self.best.add(MeasuredPoint { at, gain });
            after(self)?;
            if self.hopeless.is_some() {
                return Ok(());
            }
        }
        self.confirm(&mut measure)?;
        after(self)
    }

    /// Returns the time reserved for confirming the best settings, in s.
    fn reserved_s(&self) -> f64 {
        let confirms = self.objective.goal.confirm && self.objective.rate.is_none();
        if confirms { self.objective.max_time_s * CONFIRMING_SHARE } else { 0.0 }
    }

    /// Continues the search of the best settings with longer trials.
    fn confirm<E>(
        &mut self,
        measure: &mut impl FnMut(&[Value], &TrialSpec) -> Result<Option<Point>, E>,
    ) -> Result<(), E> {
        let Some((at, _)) = self.chosen().cloned().filter(|_| self.reserved_s() > 0.0) else {
            return Ok(());
        };
        let known = self.searches.iter().find(|(searched, _)| *searched == at);
        let Some((_, mut capacity_search)) = known.cloned() else { return Ok(()) };
        let trial_s = self.objective.goal.trial_s * LONGER_TRIALS;
        let max_time_s = capacity_search.spent_s() + self.left_s();
        capacity_search.resume(CapacityGoal { trial_s, max_time_s, ..self.objective.goal.clone() });
        while let Some(spec) = capacity_search.next().filter(|spec| spec.purpose != Purpose::Curve)
        {
            let Some(point) = measure(&at, &spec)? else { break };
            capacity_search.add_result(&spec, point);
        }
        let limit = capacity_search.limit();
        self.confirmed = limit.ending == Ending::Found;
        let point = self.point(&at, &limit, failed(&limit.points));
        self.points.iter_mut().filter(|(known, _)| *known == at).for_each(|(_, one)| {
            *one = point.clone();
        });
        Ok(())
    }

    /// Returns the shortest time in which the search of a point can find anything, in s.
    fn least_s(&self) -> f64 {
        SEARCH_TRIALS * (self.objective.goal.trial_s + self.objective.goal.warm_up_s + OVERHEAD_S)
    }

    fn spent_s(&self) -> f64 {
        let trials = self.points.iter().flat_map(|(_, point)| &point.trials);
        trials.map(|trial| trial.took_s).sum()
    }

    fn left_s(&self) -> f64 {
        (self.objective.max_time_s - self.spent_s()).max(0.0)
    }

    /// Returns the settings to choose, with their point; `None` if no point has a value.
    pub fn chosen(&self) -> Option<&(Vec<Value>, TunePoint)> {
        let at = &self.best.best()?.at;
        self.points.iter().find(|(known, _)| known == at)
    }

    /// Returns the share of time that one user alone waits; `None` if it is not known.
    pub fn waiting_share(&self) -> Option<f64> {
        self.waiting_share
    }

    /// Returns the settings whose highest value is in `at`, so that higher values were not tried.
    pub fn at_end(&self, at: &[Value]) -> Vec<&Setting> {
        let each = self.settings.iter().zip(at);
        each.filter(|(setting, value)| setting.is_at_end(**value)).map(|(one, _)| one).collect()
    }

    /// Returns the settings that are tried.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Returns the goal.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// Converts a point to a gain, where more is better.
    fn gain(&self, point: &TunePoint) -> Option<Gain> {
        let value = point.value?;
        Some(match self.objective.rate {
            None => Gain { value, high: point.high.unwrap_or(value) },
            Some(_) => Gain { value: 1.0 / value, high: 1.0 / point.low.unwrap_or(value) },
        })
    }

    fn capacity<E>(
        &mut self,
        at: &[Value],
        max_time_s: f64,
        measure: &mut impl FnMut(&TrialSpec) -> Result<Option<Point>, E>,
    ) -> Result<Option<TunePoint>, E> {
        let goal = CapacityGoal { confirm: false, max_time_s, ..self.objective.goal.clone() };
        // After the first point it is known that one user alone is served well enough.
        let mut capacity_search = match self.waiting_share.is_some() || !self.points.is_empty() {
            true => CapacitySearch::from_saturation(String::new(), goal),
            false => CapacitySearch::new(String::new(), goal),
        };
        while let Some(spec) = capacity_search.next() {
            let Some(point) = measure(&spec)? else { return Ok(None) };
            capacity_search.add_result(&spec, point);
        }
        let limit = capacity_search.limit();
        self.searches.push((at.to_vec(), capacity_search));
        self.waiting_share = self.waiting_share.or(limit.waiting_share);
        if limit.ending == Ending::NotMetAlone {
            self.hopeless = Some(limit.said.clone());
        }
        let failed = failed(&limit.points).or_else(|| match limit.capacity_per_second {
            Some(_) => None,
            None => Some(ChoiceFailed::NoCapacity { result: Box::new(limit.said.clone()) }.into()),
        });
        Ok(Some(self.point(at, &limit, failed)))
    }

    fn point(&self, at: &[Value], limit: &Limit, failed: Option<Fact<ChoiceFailed>>) -> TunePoint {
        let (low, high) = (limit.capacity_per_second, limit.upper_per_second);
        let middle = low.map(|low| (low * high.unwrap_or(low)).sqrt());
        let value = if failed.is_some() { None } else { middle };
        self.tune_point(at, value, value.and(low), value.and(high), failed, limit.points.clone())
    }

    /// Runs some trials at one rate.
    fn p95<E>(
        &mut self,
        at: &[Value],
        rate: f64,
        measure: &mut impl FnMut(&TrialSpec) -> Result<Option<Point>, E>,
    ) -> Result<Option<TunePoint>, E> {
        let mut trials = Vec::new();
        if self.points.is_empty() && !self.is_served_alone(measure)? {
            return Ok(None);
        }
        for _ in 0..TRIALS {
            let length_s = self.objective.goal.length_s(rate);
            let (purpose, level) = (Purpose::Search, LoadLevel::Rate(rate));
            let spec = TrialSpec { purpose, level, length_s, left_s: 0.0 };
            let Some(point) = measure(&spec)? else { return Ok(None) };
            let is_over = point.time_ns_p95.is_none() && point.seen != TrialOutcome::Generator;
            trials.push(point);
            if is_over {
                break;
            }
        }
        let counted = trials.iter().filter(|point| point.seen != TrialOutcome::Generator);
        let missed: Vec<&Point> =
            counted.clone().filter(|p| p.seen == TrialOutcome::Missed).collect();
        let mostly = missed.len() * 2 > counted.clone().count();
        let missed = missed.last().filter(|_| mostly).map(|point| trial_failure(point));
        let times: Option<Vec<f64>> = counted.map(|point| point.time_ns_p95).collect();
        let estimate = times.as_deref().and_then(Estimate::of);
        let failed = failed(&trials).or(missed).or_else(|| match estimate {
            Some(_) => None,
            None => trials.last().map(trial_failure),
        });
        let estimate = estimate.filter(|_| failed.is_none());
        let interval = estimate.and_then(|estimate| estimate.interval);
        let (low, high) = interval.unzip();
        let value = estimate.map(|estimate| estimate.value);
        Ok(Some(self.tune_point(at, value, low, high, failed, trials)))
    }

    /// Checks whether the expectations are met for one user alone, and measures the share that this
    /// user waits. Returns `false` if they are not met or not measured (then `hopeless` says why),
    /// or if the user wants to end.
    fn is_served_alone<E>(
        &mut self,
        measure: &mut impl FnMut(&TrialSpec) -> Result<Option<Point>, E>,
    ) -> Result<bool, E> {
        let mut capacity_search = CapacitySearch::new(String::new(), self.objective.goal.clone());
        while let Some(spec) = capacity_search.next().filter(|spec| spec.purpose == Purpose::Alone)
        {
            let Some(point) = measure(&spec)? else { return Ok(false) };
            capacity_search.add_result(&spec, point);
        }
        let limit = capacity_search.limit();
        self.waiting_share = limit.waiting_share;
        let is_served = limit.ending != Ending::NotMetAlone && limit.ending != Ending::NotMeasured;
        self.hopeless = (!is_served).then_some(limit.said);
        Ok(is_served)
    }

    fn tune_point(
        &self,
        at: &[Value],
        value: Option<f64>,
        low: Option<f64>,
        high: Option<f64>,
        failed: Option<Fact<ChoiceFailed>>,
        trials: Vec<Point>,
    ) -> TunePoint {
        let met = trials.iter().filter(|point| point.seen == TrialOutcome::Met);
        let fullest = met.filter(|point| point.offered_per_second.is_some()).max_by(|a, b| {
            a.offered_per_second.unwrap_or(0.0).total_cmp(&b.offered_per_second.unwrap_or(0.0))
        });
        TunePoint {
            settings: named(&self.settings, at),
            value,
            low,
            high,
            failed,
            memory_bytes_max: trials.iter().filter_map(|p| p.memory_bytes_max).reduce(f64::max),
            cpu_percent: fullest.and_then(|point| point.cpu_percent),
            waiting_share: fullest.and_then(Point::waiting_share),
            trials,
        }
    }
}

/// Returns the failure of settings that do not fit into the memory. They have failed even if they
/// answered before.
fn failed(trials: &[Point]) -> Option<Fact<ChoiceFailed>> {
    let killed = trials.iter().find_map(|point| point.out_of_memory.clone())?;
    Some(ChoiceFailed::Trials { reasons: vec![killed] }.into())
}

/// Returns the reasons of a trial as a failure.
fn trial_failure(point: &Point) -> Fact<ChoiceFailed> {
    ChoiceFailed::Trials { reasons: point.why.clone() }.into()
}

/// Share of the time that is reserved for longer trials of the best settings.
const CONFIRMING_SHARE: f64 = 0.25;
/// How many times as long these trials are as others.
const LONGER_TRIALS: f64 = 2.0;
/// Points that a tuning of one setting usually needs. Each point gets its share of the time.
const POINTS_USUAL: f64 = 8.0;
/// Smallest part of a point's share with which the point is measured; with less it would show
/// nothing.
const LEAST_SHARE: f64 = 0.5;
/// Trials of a search without noise.
const SEARCH_TRIALS: f64 = 10.0;
/// Time for start, verification and stop, in s.
const OVERHEAD_S: f64 = 1.5;
/// Trials at one rate: the fewest with an interval.
const TRIALS: usize = 3;

#[cfg(test)]
#[path = "tuning_search_tests.rs"]
mod tests;
