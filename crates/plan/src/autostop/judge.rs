//! Decides whether a criterion is met. It is fed with seconds and reads no clock.

use std::collections::VecDeque;

use stampede_load::spec::Load;
use stampede_model::counts::Second;
use stampede_model::load::Model;
use stampede_model::quantity::LengthText;
use stampede_model::time::Nanos;
use stampede_model::words;
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{BoundedValue, CutOff, Ranked, rank};

use super::codes::net_code;
use super::{Autostop, Codes, Criterion, Level, Mask, Over, Percent};

/// Judges a load, second by second.
#[derive(Clone, Debug)]
pub struct Judge {
    context: LoadContext,
    criteria: Vec<CriterionState>,
    met: Option<usize>,
}

/// A criterion that cannot be judged for this load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{criterion}`: stampede counts all correct answers together, so it cannot tell those with status `{mask}` from \
     the others"
)]
pub struct UnsupportedMask {
    /// The criterion, written without blanks.
    pub criterion: String,
    /// Its mask.
    pub mask: String,
}

impl UnsupportedMask {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        "set the correct statuses, such as `--status 200`"
    }
}

/// What a judge must know about the load.
#[derive(Clone, Debug)]
struct LoadContext {
    timeout: Nanos,
    /// Most requests in flight at once.
    in_flight_limit: u32,
    judged_time: JudgedTime,
    /// Correct statuses; empty: 200 to 299.
    statuses: Vec<u16>,
}

/// The time that criteria judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JudgedTime {
    ResponseTime,
    ServiceTime,
}

impl Judge {
    /// A judge for `load`. Correct answers are counted together, whatever their status. So a mask
    /// must match all correct statuses or none.
    ///
    /// # Errors
    /// [`UnsupportedMask`]: some of the correct statuses match a mask and some do not.
    pub fn new(autostop: &Autostop, load: &Load) -> Result<Judge, UnsupportedMask> {
        let (in_flight_limit, judged_time) = match load.model {
            Model::Open { max_in_flight, .. } => (max_in_flight, JudgedTime::ResponseTime),
            Model::Closed { concurrency, .. } => (concurrency, JudgedTime::ServiceTime),
        };
        let (timeout, statuses) = (load.timeout, load.check.statuses.clone());
        let context = LoadContext { timeout, in_flight_limit, judged_time, statuses };
        let state = |criterion: &Criterion| CriterionState::new(criterion.clone(), &context);
        let criteria: Result<Vec<CriterionState>, UnsupportedMask> =
            autostop.criteria().iter().map(state).collect();
        Ok(Judge { criteria: criteria?, context, met: None })
    }

    /// Judges the next second. Returns why the load must end: the criterion as written, and what
    /// was found. Every second must be given, also after that.
    pub fn second(&mut self, second: &Second) -> Option<String> {
        let view = SecondView { second, context: &self.context };
        for (index, state) in self.criteria.iter_mut().enumerate() {
            if let Some(found) = state.second(&view) {
                self.met = self.met.or(Some(index));
                return Some(format!("{}: {found}", state.criterion));
            }
        }
        None
    }

    /// The first criterion that was met.
    pub fn met(&self) -> Option<&Criterion> {
        self.met.map(|index| &self.criteria[index].criterion)
    }
}

/// One criterion, and what it remembers.
#[derive(Clone, Debug)]
struct CriterionState {
    criterion: Criterion,
    /// Whether correct answers match its mask.
    ok_matches: bool,
    /// Number of consecutive seconds in which it held.
    consecutive: u32,
    /// For each of the last seconds: how many requests matched, and of how many.
    window: VecDeque<(f64, f64)>,
    /// All requests so far, and their percentiles a second ago.
    all: Option<(Times, Vec<u64>)>,
}

impl CriterionState {
    fn new(criterion: Criterion, context: &LoadContext) -> Result<CriterionState, UnsupportedMask> {
        let ok_matches = match &criterion {
            Criterion::Codes { of: Codes::Http, mask, .. } | Criterion::HttpTrend { mask, .. } => {
                let unsupported =
                    || UnsupportedMask { criterion: criterion.to_string(), mask: mask.to_string() };
                context.ok_matches(mask).ok_or_else(unsupported)?
            }
            _ => false,
        };
        let all = matches!(criterion, Criterion::SteadyCumulative { .. });
        let all = all.then(|| (Times::new(), Vec::new()));
        Ok(CriterionState { criterion, ok_matches, consecutive: 0, window: VecDeque::new(), all })
    }

    /// What was found, if the criterion is met.
    fn second(&mut self, view: &SecondView<'_>) -> Option<String> {
        let criterion = self.criterion.clone();
        let passed_over = view.ended() == 0.0;
        match &criterion {
            Criterion::Limit { length } => {
                let over = Nanos::from_secs(u64::from(view.second.index) + 1);
                (over >= *length).then(|| format!("{} are over", LengthText(*length)))
            }
            Criterion::Instances { level, seconds } => self.instances(view, *level, *seconds),
            _ if passed_over => None,
            Criterion::Time { above, seconds } => {
                let mean = view.mean_ns();
                let bound = above.0 as f64 * (1.0 + PRECISION);
                let is_met = mean.is_some_and(|mean| mean > bound);
                self.in_a_row(is_met, *seconds).then(|| {
                    format!("the mean was {}, for {seconds} s", words::time(mean.unwrap_or(0.0)))
                })
            }
            Criterion::Quantile { percentile, above, seconds } => {
                let slow = view.percentile(*percentile);
                let is_met = slow.is_none_or(|ns| view.is_above(ns, *above));
                self.in_a_row(is_met, *seconds).then(|| {
                    let ns = slow.map(|ns| words::time(ns as f64));
                    let ns = ns.unwrap_or_else(|| "that of a failed request".to_owned());
                    format!("p{percentile} was {ns}, for {seconds} s")
                })
            }
            Criterion::Codes { of, over, mask, level, seconds } => {
                let matching = view.matching(*of, mask, self.ok_matches);
                match over {
                    Over::Each => self.codes_each(view, matching, mask, *level, *seconds),
                    Over::Total => {
                        self.codes_total(view, matching, &format!("`{mask}`"), *level, *seconds)
                    }
                    Over::Negative => {
                        let others = view.ended() - matching;
                        self.codes_total(
                            view,
                            others,
                            &format!("other than `{mask}`"),
                            *level,
                            *seconds,
                        )
                    }
                }
            }
            Criterion::SteadyCumulative { percentile, seconds } => {
                self.steady(view, *percentile, *seconds)
            }
            Criterion::TotalTime { above, share, seconds } => {
                self.total_time(view, *above, *share, *seconds)
            }
            Criterion::HttpTrend { mask, seconds } => {
                self.trend(view.matching(Codes::Http, mask, self.ok_matches), mask, *seconds)
            }
        }
    }

    /// Counts a second in which the criterion held; any other second resets the count.
    fn in_a_row(&mut self, has_it: bool, seconds: u32) -> bool {
        self.consecutive = if has_it { self.consecutive.saturating_add(1) } else { 0 };
        self.consecutive >= seconds
    }

    fn instances(&mut self, view: &SecondView<'_>, level: Level, seconds: u32) -> Option<String> {
        let (most, limit) = (view.second.in_flight_max, view.context.in_flight_limit);
        let is_met = match level {
            Level::Count(count) => most > count,
            Level::Share(share) => {
                u64::from(most) * u64::from(Percent::WHOLE.0)
                    > u64::from(share.0) * u64::from(limit)
            }
        };
        self.in_a_row(is_met, seconds)
            .then(|| format!("{most} of {limit} requests were under way, for {seconds} s"))
    }

    fn codes_each(
        &mut self,
        view: &SecondView<'_>,
        matching: f64,
        mask: &Mask,
        level: Level,
        seconds: u32,
    ) -> Option<String> {
        let (found, bound) = measured(level, matching, view.ended());
        self.in_a_row(found >= bound, seconds)
            .then(|| format!("{} `{mask}`, for {seconds} s", describe_count(level, found)))
    }

    fn codes_total(
        &mut self,
        view: &SecondView<'_>,
        matching: f64,
        name: &str,
        level: Level,
        seconds: u32,
    ) -> Option<String> {
        self.push((matching, view.ended()), seconds);
        let each = self.window.iter().map(|&(matching, ended)| measured(level, matching, ended));
        let (sum, bound) = each.fold((0.0, 0.0), |(sum, _), (found, bound)| (sum + found, bound));
        let found = match level {
            Level::Count(_) => sum,
            Level::Share(_) => sum / self.window.len() as f64,
        };
        let is_met = self.window.len() == seconds as usize && found >= bound - ROUNDING;
        is_met.then(|| format!("{} {name}, over {seconds} s", describe_count(level, found)))
    }

    fn total_time(
        &mut self,
        view: &SecondView<'_>,
        above: Nanos,
        share: Percent,
        seconds: u32,
    ) -> Option<String> {
        self.push((view.slower_than(above), view.ended()), seconds);
        let slower: f64 = self.window.iter().map(|(slower, _)| slower).sum();
        let ended: f64 = self.window.iter().map(|(_, ended)| ended).sum();
        let found = slower * 100.0 / ended;
        let is_met = self.window.len() == seconds as usize && found >= share.percent() - ROUNDING;
        is_met
            .then(|| format!("{} % of requests were slower, over {seconds} s", two_decimals(found)))
    }

    fn push(&mut self, second: (f64, f64), seconds: u32) {
        self.window.push_back(second);
        if self.window.len() > seconds as usize {
            self.window.pop_front();
        }
    }

    /// Tank's `http_trend`: the mean change from second to second, plus the standard error of that
    /// mean, is below 0. The first change is the one from 0. Until the window is full, it also
    /// contains a leading 0.
    fn trend(&mut self, now: f64, mask: &Mask, seconds: u32) -> Option<String> {
        let last = self.window.back().map(|(_, count)| *count);
        if last.is_none() {
            self.window.push_back((0.0, 0.0));
        }
        self.push((now - last.unwrap_or(0.0), now), seconds);
        let changes = self.window.len() as f64;
        let mean = self.window.iter().map(|(change, _)| change).sum::<f64>() / changes;
        let squares = self.window.iter().map(|(change, _)| (change - mean).powi(2)).sum::<f64>();
        let error = match self.window.len() {
            1 => 0.0,
            _ => (squares / changes / (changes - 1.0)).sqrt(),
        };
        (mean + error < -ROUNDING).then(|| {
            let fewer = two_decimals(-mean);
            format!(
                "`{mask}` was {fewer} ± {} fewer each second, over {seconds} s",
                two_decimals(error)
            )
        })
    }

    fn steady(
        &mut self,
        view: &SecondView<'_>,
        percentile: Option<Percent>,
        seconds: u32,
    ) -> Option<String> {
        let (all, before) = self.all.as_mut()?;
        all.merge(view.times());
        let one = percentile.map(|percentile| vec![percentile]);
        let percentiles =
            one.unwrap_or_else(|| STEADY.map(|percent| Percent(percent * 10_000)).into());
        let at = |percent: &Percent| two_digits(all.at_rank(rank(percent.percent(), all.len())));
        let now: Vec<u64> = percentiles.iter().map(at).collect();
        let is_same = now == *before;
        *before = now;
        self.in_a_row(is_same, seconds)
            .then(|| format!("percentiles of all requests so far did not change for {seconds} s"))
    }
}

/// A second, as criteria see it.
struct SecondView<'a> {
    second: &'a Second,
    context: &'a LoadContext,
}

impl SecondView<'_> {
    /// Number of requests that ended; dropped ones do not count, because Tank drops none.
    fn ended(&self) -> f64 {
        (self.second.counts.ok + self.second.counts.failed_total()) as f64
    }

    fn times(&self) -> &Times {
        match self.context.judged_time {
            JudgedTime::ResponseTime => &self.second.times.response_time,
            JudgedTime::ServiceTime => &self.second.times.service_time,
        }
    }

    /// Requests without a correct answer rank as slower than all answers, as everywhere in
    /// stampede.
    fn ranked(&self) -> Ranked<'_> {
        Ranked { answered: self.times(), failed: self.second.counts.failed_total() }
    }

    /// The mean time, or a lower bound of it; `None`: no time of any request is known.
    fn mean_ns(&self) -> Option<f64> {
        let requests = self.second.counts.failed.get("net:timeout").copied().unwrap_or(0);
        let cut_off = CutOff { requests, after_ns: self.context.timeout.0 };
        match self.ranked().mean(cut_off) {
            BoundedValue::Exactly(ns) | BoundedValue::AtLeast(ns) => Some(ns),
            BoundedValue::Failed | BoundedValue::Empty => None,
        }
    }

    /// The percentile, also where few requests lie beyond it, because a second has no more. `None`:
    /// it is that of a failed request.
    fn percentile(&self, percentile: Percent) -> Option<u64> {
        let ranked = self.ranked();
        let rank = rank(percentile.percent(), ranked.planned());
        (rank <= ranked.answered.len()).then(|| ranked.answered.at_rank(rank))
    }

    /// Whether a time from the histogram is certainly above the bound: its bucket begins beyond it.
    fn is_above(&self, ns: u64, above: Nanos) -> bool {
        self.times().histogram().lowest_equivalent(ns) > above.0
    }

    fn slower_than(&self, above: Nanos) -> f64 {
        let histogram = self.times().histogram();
        let next = histogram.next_non_equivalent(above.0);
        let slower = histogram.count_between(next, u64::MAX);
        (slower + self.second.counts.failed_total()) as f64
    }

    /// Number of requests that ended with a matching code.
    fn matching(&self, of: Codes, mask: &Mask, ok_matches: bool) -> f64 {
        let counts = &self.second.counts;
        let matches_key = |key: &str| match (of, key.strip_prefix("http:")) {
            (Codes::Http, Some(status)) => status.parse().is_ok_and(|status| mask.matches(status)),
            (Codes::Http, None) if key.starts_with("net:") => mask.matches(0),
            // A failed check, so the status is one of the correct ones.
            (Codes::Http, None) => ok_matches,
            (Codes::Net, _) => net_matches(mask, net_code(key)),
        };
        let failed: u64 =
            counts.failed.iter().filter(|(key, _)| matches_key(key)).map(|(_, count)| count).sum();
        let ok = match of {
            Codes::Http => ok_matches,
            Codes::Net => net_matches(mask, 0),
        };
        (failed + if ok { counts.ok } else { 0 }) as f64
    }
}

impl LoadContext {
    /// Whether correct answers match `mask`; `None`: some do and some do not.
    fn ok_matches(&self, mask: &Mask) -> Option<bool> {
        let default: Vec<u16>;
        let statuses = match self.statuses.as_slice() {
            [] => {
                default = (200..300).collect();
                &default
            }
            statuses => statuses,
        };
        let matching = statuses.iter().filter(|status| mask.matches(u32::from(**status))).count();
        match matching {
            0 => Some(false),
            all if all == statuses.len() => Some(true),
            _ => None,
        }
    }
}

/// Whether a network code matches. In Tank's documentation `xx` is every code except 0.
fn net_matches(mask: &Mask, code: u32) -> bool {
    if mask.is_any() { code != 0 } else { mask.matches(code) }
}

/// What to compare with the bound, and the bound.
fn measured(level: Level, matching: f64, ended: f64) -> (f64, f64) {
    match level {
        Level::Count(count) => (matching, f64::from(count)),
        Level::Share(share) => (matching * 100.0 / ended, share.percent()),
    }
}

/// The number of requests in words, to be continued with what they were.
fn describe_count(level: Level, found: f64) -> String {
    let number = two_decimals(found);
    match level {
        Level::Share(_) => format!("{number} % of requests were"),
        Level::Count(_) if number == "1" => "1 request was".to_owned(),
        Level::Count(_) => format!("{number} requests were"),
    }
}

/// The first two digits of the number; the rest is zeros.
fn two_digits(ns: u64) -> u64 {
    let unit = 10_u64.pow(ns.max(1).ilog10().saturating_sub(1));
    ns / unit * unit
}

/// The number with at most two decimals.
fn two_decimals(value: f64) -> String {
    format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The percentiles that Tank's aggregator computes.
const STEADY: [u32; 9] = [50, 75, 80, 85, 90, 95, 98, 99, 100];
/// A histogram of three digits knows its mean to this relative precision. A mean that is closer
/// above a bound may be equal to it.
const PRECISION: f64 = 0.000_5;
/// Absolute precision of a sum of shares in floating point.
const ROUNDING: f64 = 1e-9;
