//! Searches for the highest rate that meets the expectations, with short trials whose results may
//! be wrong.
//!
//! The method follows RFC 9971 (*Multiple Loss Ratio Search*). An exponential probe brackets the
//! rate. Short trials at chosen and repeated rates narrow the bracket roughly. Longer trials, in
//! which a slow growth of a backlog shows, narrow it further and confirm it. A rate counts as met
//! if more than half of its trials meet the expectations (the RFC's exceed ratio of 50 %). The RFC
//! sorts each load into a lower or an upper bound. Here, Bayes' rule weighs all trials together (as
//! in QUEST, Watson and Pelli, *Perception & Psychophysics*, 1983). Only this gives the bracket a
//! stated chance of being right. One trial that a cron job spoils moves the bracket a little and
//! decides nothing.

/// The limits and the precision of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// First rate of the probe, per second.
    pub first: f64,
    /// Lowest rate that is tried.
    pub lowest: f64,
    /// Highest rate that is tried.
    pub highest: f64,
    /// Wanted width of the interval: with 0.05, the upper end is 5 % above the lower.
    pub precision: f64,
    /// Whether longer trials confirm the result.
    pub confirm: bool,
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialResult {
    /// The expectations were met.
    Met,
    /// They were not met.
    Missed,
    /// The generator could not keep the rate, so the trial says nothing about the runtime.
    Generator,
}

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Doubles or halves the rate until one rate is met and another is not.
    Probe,
    /// Narrows the interval roughly.
    Search,
    /// A longer trial that narrows the interval further.
    Narrow,
    /// A longer trial at the capacity.
    Confirm,
    /// A longer trial 10 % above the capacity.
    Beyond,
}

impl Purpose {
    /// Returns whether the trial is [`LONGER`].
    pub fn is_longer(self) -> bool {
        match self {
            Purpose::Probe | Purpose::Search => false,
            Purpose::Narrow | Purpose::Confirm | Purpose::Beyond => true,
        }
    }
}

/// What the remaining time allows: this many short trials, or this many longer ones instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Trials of normal length.
    pub short: u32,
    /// Trials that are [`LONGER`].
    pub longer: u32,
}

/// One trial of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Offered rate per second.
    pub rate: f64,
    /// The purpose of the trial.
    pub purpose: Purpose,
    /// The result of the trial.
    pub result: TrialResult,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NextTrial {
    /// Measure this rate.
    Measure {
        /// The rate per second.
        rate: f64,
        /// The purpose of the trial.
        purpose: Purpose,
    },
    /// Measure nothing more: see [`Search::answer`].
    Nothing,
}

/// How a search has ended, or would end now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The interval is as narrow as wanted. The capacity was met, and 10 % above it was not.
    Found,
    /// The interval is as narrow as wanted. But the longer trials contradict the short ones, or
    /// there was no time for them.
    Unconfirmed,
    /// The interval is wider than wanted: the best result so far.
    Wide,
    /// Everything that the generator can offer, or up to the highest allowed rate, is met. Only
    /// `lower` is known.
    AtLeast,
    /// Even the lowest rate is not met.
    Below,
    /// Too little was measured.
    Unknown,
}

/// The result of a search so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// How certain the result is.
    pub ending: Ending,
    /// The capacity: the highest rate that is very likely met. `None` if no rate is known to be
    /// met.
    pub lower: Option<f64>,
    /// The lowest rate that is very likely not met. With `lower` it forms the 95 % interval.
    pub upper: Option<f64>,
}

/// A search. It does no I/O: [`Search::next`] says what to measure, [`Search::record`] takes the
/// result.
#[derive(Clone, Debug)]
pub struct Search {
    goal: Goal,
    steps: Vec<Step>,
    belief: Option<Belief>,
}

impl Search {
    /// Returns a search without any trial.
    pub fn new(goal: Goal) -> Search {
        Search { goal, steps: Vec::new(), belief: None }
    }

    /// Sets whether longer trials confirm the result from now on.
    pub fn set_confirm(&mut self, confirm: bool) {
        self.goal.confirm = confirm;
    }

    /// Returns all trials so far.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns what to measure next if the budget allows it.
    pub fn next(&self, budget: Budget) -> NextTrial {
        let ask = match (&self.belief, self.repeated()) {
            (_, Some(ask)) => ask,
            (None, None) => self.probe(),
            (Some(belief), None) => self.narrow(belief, budget),
        };
        let fits = |purpose: Purpose| match purpose.is_longer() {
            true => budget.longer > 0,
            false => budget.short > 0,
        };
        match ask {
            NextTrial::Measure { purpose, .. } if !fits(purpose) => NextTrial::Nothing,
            ask => ask,
        }
    }

    /// Adds the result of a trial.
    pub fn record(&mut self, step: Step) {
        self.steps.push(step);
        let evidence = self.evidence(self.steps.len() - 1);
        match (&mut self.belief, evidence) {
            (Some(belief), Some(is_met)) => belief.update(step.rate, is_met, weight(step.purpose)),
            (Some(_), None) => {}
            (None, _) => self.belief = self.bracketed(),
        }
    }

    /// Returns the result so far.
    pub fn answer(&self) -> Answer {
        let met = self
            .rates_with(TrialResult::Met)
            .fold(None, |most: Option<f64>, rate| Some(most.map_or(rate, |most| most.max(rate))));
        let limited = self.generators_limit();
        let Some(belief) = &self.belief else {
            let missed = self.rates_with(TrialResult::Missed).reduce(f64::min);
            let ending = match (met, limited) {
                (None, _) if self.is_exhausted() => Ending::Below,
                (None, _) if missed.is_some() => Ending::Wide,
                (None, _) => Ending::Unknown,
                (Some(_), Some(_)) => Ending::AtLeast,
                (Some(_), None) if self.is_exhausted() => Ending::AtLeast,
                (Some(_), None) => Ending::Wide,
            };
            let upper = missed.filter(|_| ending == Ending::Wide);
            return Answer { ending, lower: met, upper };
        };
        let (low, high) = self.interval(belief);
        if let Some(limit) = limited {
            match self.rates_with(TrialResult::Missed).reduce(f64::min) {
                // The runtime never missed the expectations.
                None => return Answer { ending: Ending::AtLeast, lower: met, upper: None },
                // The runtime missed them at a rate above one that the generator could not keep. So
                // the generator was disturbed; that rate is not its limit.
                Some(missed) if missed > limit.min(high) => {
                    let upper = Some(missed.max(high));
                    return Answer { ending: Ending::Wide, lower: Some(low), upper };
                }
                Some(_) => {}
            }
        }
        let is_narrow = self.is_narrow((low, high), self.goal.precision);
        let is_sure = !self.goal.confirm || self.confirmed(low) && self.refuted(low, high);
        let ending = match (is_narrow, is_sure) {
            (true, true) => Ending::Found,
            (true, false) => Ending::Unconfirmed,
            (false, _) => Ending::Wide,
        };
        Answer { ending, lower: Some(low), upper: Some(high) }
    }

    fn rates_with(&self, result: TrialResult) -> impl Iterator<Item = f64> {
        self.steps.iter().filter(move |step| step.result == result).map(|step| step.rate)
    }

    /// Returns the last trial again if its result is doubtful. The generator may have been
    /// disturbed when it failed once. So may the runtime have been when it missed, which would end
    /// the probe.
    fn repeated(&self) -> Option<NextTrial> {
        let last = self.steps.last()?;
        let is_doubtful = match last.result {
            TrialResult::Met => false,
            TrialResult::Missed => last.purpose == Purpose::Probe,
            TrialResult::Generator => true,
        };
        let before = self.steps.iter().rev().nth(1);
        let is_again =
            before.is_some_and(|before| (before.rate, before.result) == (last.rate, last.result));
        let ask = NextTrial::Measure { rate: last.rate, purpose: last.purpose };
        (is_doubtful && !is_again).then_some(ask)
    }

    /// Returns the lowest rate that the generator failed to offer twice in a row.
    fn generators_limit(&self) -> Option<f64> {
        let pairs = self.steps.windows(2).filter(|pair| {
            pair.iter().all(|step| step.result == TrialResult::Generator)
                && pair[0].rate == pair[1].rate
        });
        pairs.map(|pair| pair[0].rate).reduce(f64::min)
    }

    /// Returns whether a step shows that its rate is met; `None` if the generator failed only once.
    fn evidence(&self, index: usize) -> Option<bool> {
        let step = &self.steps[index];
        match step.result {
            TrialResult::Met => Some(true),
            TrialResult::Missed => Some(false),
            TrialResult::Generator => {
                let before = index.checked_sub(1).map(|before| &self.steps[before]);
                let twice = before.is_some_and(|before| {
                    before.result == TrialResult::Generator && before.rate == step.rate
                });
                twice.then_some(false)
            }
        }
    }

    fn known_rates(&self) -> impl Iterator<Item = (f64, bool)> {
        (0..self.steps.len())
            .filter_map(|index| Some((self.steps[index].rate, self.evidence(index)?)))
    }

    fn probe(&self) -> NextTrial {
        let met = self.known_rates().filter(|(_, met)| *met).map(|(rate, _)| rate).reduce(f64::max);
        let missed =
            self.known_rates().filter(|(_, met)| !met).map(|(rate, _)| rate).reduce(f64::min);
        let rate = match (met, missed) {
            (Some(met), None) => (met * PROBE_FACTOR).min(self.goal.highest),
            (None, Some(missed)) => (missed / PROBE_FACTOR).max(self.goal.lowest),
            _ => self.goal.first.clamp(self.goal.lowest, self.goal.highest),
        };
        match self.is_exhausted() {
            true => NextTrial::Nothing,
            false => NextTrial::Measure {
                rate: rounded(rate, self.goal.precision),
                purpose: Purpose::Probe,
            },
        }
    }

    /// Returns whether the probe has reached the highest or lowest allowed rate without a bracket.
    fn is_exhausted(&self) -> bool {
        let edge = |rate: f64, edge: f64| (rate / edge - 1.0).abs() < self.goal.precision;
        let mut known_rates = self.known_rates();
        self.belief.is_none()
            && known_rates.any(|(rate, met)| {
                edge(rate, if met { self.goal.highest } else { self.goal.lowest })
            })
    }

    /// Returns a belief once one rate is met and another is not.
    fn bracketed(&self) -> Option<Belief> {
        let has = |wanted: bool| self.known_rates().any(|(_, met)| met == wanted);
        if !(has(true) && has(false)) {
            return None;
        }
        let lowest = self.known_rates().map(|(rate, _)| rate).fold(f64::INFINITY, f64::min);
        let highest = self.known_rates().map(|(rate, _)| rate).fold(0.0, f64::max);
        let mut belief = Belief::new(
            (lowest / PROBE_FACTOR).max(self.goal.lowest / PROBE_FACTOR),
            (highest * PROBE_FACTOR * PROBE_FACTOR).min(self.goal.highest * PROBE_FACTOR),
            self.goal.precision,
        );
        self.known_rates().for_each(|(rate, met)| belief.update(rate, met, 1));
        Some(belief)
    }

    fn narrow(&self, belief: &Belief, budget: Budget) -> NextTrial {
        let (low, high) = self.interval(belief);
        // Trials lie alternately below and above the middle. Those below show which rates are met,
        // those above which are not. Both together show how sharp the transition is.
        let at = QUANTILES_IN_TURN[self.steps.len() % QUANTILES_IN_TURN.len()];
        let between = |purpose| NextTrial::Measure {
            rate: rounded(belief.quantile(at), self.goal.precision),
            purpose,
        };
        let is_narrow = self.is_narrow((low, high), self.goal.precision);
        if !self.goal.confirm {
            return if is_narrow { NextTrial::Nothing } else { between(Purpose::Search) };
        }
        if !self.is_narrow((low, high), self.goal.precision * ROUGH_FACTOR)
            && budget.longer > LONGER_RESERVED
        {
            return between(Purpose::Search);
        }
        if !is_narrow && budget.longer > CONFIRMING_RESERVED {
            return between(Purpose::Narrow);
        }
        if !self.confirmed(low) {
            return NextTrial::Measure { rate: low, purpose: Purpose::Confirm };
        }
        if !self.refuted(low, high) {
            let rate = rounded((low * BEYOND).max(high), self.goal.precision);
            return NextTrial::Measure { rate, purpose: Purpose::Beyond };
        }
        match is_narrow {
            true => NextTrial::Nothing,
            false => between(Purpose::Narrow),
        }
    }

    /// Returns the 95 % interval, its ends rounded outwards to short decimal numbers.
    fn interval(&self, belief: &Belief) -> (f64, f64) {
        let step = |rate| grain(rate, self.goal.precision);
        let (low, high) = (belief.quantile(TAIL_CHANCE), belief.quantile(1.0 - TAIL_CHANCE));
        let (low_step, high_step) = (step(low), step(high));
        ((low / low_step).floor() * low_step, (high / high_step).ceil() * high_step)
    }

    fn is_narrow(&self, (low, high): (f64, f64), precision: f64) -> bool {
        // The width that rounding has added is not uncertainty.
        let slack = grain(low, self.goal.precision) + grain(high, self.goal.precision);
        high - low <= low * precision + slack
    }

    /// Returns whether longer trials at this rate or above met at least twice. They must also have
    /// met more often than longer trials at this rate or below missed.
    fn confirmed(&self, low: f64) -> bool {
        let met = self.longer(TrialResult::Met, |rate| rate >= low * SAME_RATE_FACTOR);
        met >= CONFIRMATIONS_NEEDED
            && met > self.longer(TrialResult::Missed, |rate| rate <= low / SAME_RATE_FACTOR)
    }

    /// Returns whether a longer trial missed at a rate up to `BEYOND`² (21 %) above `low`, or up to
    /// `high`.
    fn refuted(&self, low: f64, high: f64) -> bool {
        self.longer(TrialResult::Missed, |rate| rate <= (low * BEYOND * BEYOND).max(high)) > 0
    }

    fn longer(&self, result: TrialResult, at: impl Fn(f64) -> bool) -> usize {
        let longer = self.steps.iter().filter(|step| step.purpose.is_longer());
        longer.filter(|step| step.result == result && at(step.rate)).count()
    }
}

/// The probability of each rate to be the capacity, for each of some spreads.
#[derive(Clone, Debug)]
struct Belief {
    /// Logarithm of the lowest rate.
    from: f64,
    /// Distance of two neighbouring rates, in logs.
    step: f64,
    /// One row for each spread; all weights add up to 1.
    rows: Vec<(f64, Vec<f64>)>,
}

impl Belief {
    /// Returns equal probabilities for all rates, spaced evenly in logs.
    fn new(low: f64, high: f64, precision: f64) -> Belief {
        // A tenth of the wanted precision.
        let step = precision / 10.0;
        let points = ((high / low).ln() / step).ceil() as usize + 1;
        let even = 1.0 / points as f64;
        let rows = TRANSITION_WIDTHS
            .iter()
            .map(|(spread, chance)| (*spread, vec![even * chance; points]))
            .collect();
        Belief { from: low.ln(), step, rows }
    }

    /// Applies Bayes' rule for one trial; a longer trial counts `times` times.
    fn update(&mut self, rate: f64, is_met: bool, times: i32) {
        let mut sum = 0.0;
        for (spread, row) in &mut self.rows {
            for (index, weight) in row.iter_mut().enumerate() {
                let above = self.from + index as f64 * self.step - rate.ln();
                let met = 1.0 / (1.0 + (-above / *spread).exp());
                let likely = if is_met { met } else { 1.0 - met };
                *weight *= (STRAY_CHANCE + (1.0 - 2.0 * STRAY_CHANCE) * likely).powi(times);
                sum += *weight;
            }
        }
        self.rows.iter_mut().flat_map(|(_, row)| row).for_each(|weight| *weight /= sum);
    }

    /// Returns the rate that the capacity lies below with this chance.
    fn quantile(&self, chance: f64) -> f64 {
        let mut sum = 0.0;
        let points = self.rows[0].1.len();
        for index in 0..points {
            let here: f64 = self.rows.iter().map(|(_, row)| row[index]).sum();
            if sum + here >= chance {
                let part = (chance - sum) / here.max(f64::MIN_POSITIVE) - 0.5;
                return (self.from + (index as f64 + part) * self.step).exp();
            }
            sum += here;
        }
        (self.from + (points - 1) as f64 * self.step).exp()
    }
}

/// Returns how many short trials a trial counts as. A longer one counts more, as in RFC 9971's
/// *duration sum*, but less than its length suggests: it contains the variation between starts only
/// once.
fn weight(purpose: Purpose) -> i32 {
    if purpose.is_longer() { 2 } else { 1 }
}

/// Rounds a rate to a short number that can be repeated: `2350` and not `2347.8`.
fn rounded(rate: f64, precision: f64) -> f64 {
    let grain = grain(rate, precision);
    // Avoids 0.34500000000000003.
    (((rate / grain).round() * grain).max(grain) * 1e9).round() / 1e9
}

/// Returns 1, 2 or 5 times a power of ten: at most a fifth of the wanted precision.
fn grain(rate: f64, precision: f64) -> f64 {
    let most = rate * precision / 5.0;
    let ten = 10_f64.powf(most.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|times| times * ten).find(|step| *step <= most).unwrap_or(ten)
}

/// Factor between two rates of the probe.
const PROBE_FACTOR: f64 = 2.0;
/// Factor from the capacity to the trial above it.
const BEYOND: f64 = 1.1;
/// Chance outside of the interval, on either side.
const TAIL_CHANCE: f64 = 0.025;
/// The quantiles of the belief at which trials are placed, in turns.
const QUANTILES_IN_TURN: [f64; 2] = [0.25, 0.75];
/// How many times as long a longer trial is.
pub const LONGER: u32 = 4;
/// Short trials narrow the interval until it is this many times as wide as wanted.
const ROUGH_FACTOR: f64 = 2.5;
/// Number of longer trials for which short trials must leave time.
const LONGER_RESERVED: u32 = 5;
/// Number of longer trials reserved for confirming.
const CONFIRMING_RESERVED: u32 = 2;
/// Number of longer trials that must meet the expectations.
const CONFIRMATIONS_NEEDED: usize = 2;
/// Rates within this factor of each other count as the same rate.
const SAME_RATE_FACTOR: f64 = 0.97;
/// Chance that a trial misses, or meets, whatever its rate is.
const STRAY_CHANCE: f64 = 0.02;
/// Widths of the transition from "always met" to "never met", in logs of the rate, with their prior
/// probabilities. A queue that is full at once has the smallest; the largest is for a time that
/// grows with every request.
const TRANSITION_WIDTHS: [(f64, f64); 5] =
    [(0.003, 0.4), (0.015, 0.3), (0.05, 0.2), (0.15, 0.07), (0.4, 0.03)];

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
