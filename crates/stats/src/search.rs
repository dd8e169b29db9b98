//! The highest rate that meets what is expected, found by short trials that may err.
//!
//! After RFC 9971 (*Multiple Loss Ratio Search*): an exponential probe brackets the rate, short
//! trials at chosen and repeated loads narrow the bracket roughly, and longer ones, which forgive
//! no backlog that grows slowly, narrow it further and confirm it. A rate counts
//! as met where more than half of its trials meet (the RFC's exceed ratio of 50 %). Where the RFC
//! sorts each load into a lower or an upper bound, all trials are weighed together here, by Bayes'
//! rule (as in QUEST, Watson and Pelli, *Perception & Psychophysics*, 1983): only so has the
//! bracket a chance of being right that can be stated, and one trial that a cron job has spoilt
//! moves it a little and decides nothing.

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Where the probe begins, per second.
    pub first: f64,
    /// No rate below it is asked for.
    pub lowest: f64,
    /// No rate above it is asked for.
    pub highest: f64,
    /// How wide the interval may be: 0.05 for an upper end 5 % above the lower.
    pub precision: f64,
    /// Whether longer trials confirm what was found.
    pub confirm: bool,
}

/// What a trial has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// What is expected held.
    Met,
    /// It did not.
    Missed,
    /// The generator could not keep the rate: nothing of the runtime was seen.
    Generator,
}

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Doubles, or halves, until the rate is between two trials.
    Probe,
    /// Narrows the interval roughly.
    Search,
    /// A longer one, which narrows it further.
    Narrow,
    /// A longer one at the capacity.
    Confirm,
    /// A longer one 10 % above it.
    Beyond,
}

impl Purpose {
    /// Whether its trial is [`LONGER`].
    pub fn is_longer(self) -> bool {
        match self {
            Purpose::Probe | Purpose::Search => false,
            Purpose::Narrow | Purpose::Confirm | Purpose::Beyond => true,
        }
    }
}

/// What can still be afforded: so many short trials, or so many longer ones instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Trials of the usual length.
    pub short: u32,
    /// Trials that are [`LONGER`].
    pub longer: u32,
}

/// One trial of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Offered rate per second.
    pub rate: f64,
    /// Why it was asked for.
    pub purpose: Purpose,
    /// What it has shown.
    pub seen: Seen,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
    /// Measure this rate.
    Measure {
        /// Per second.
        rate: f64,
        /// Why.
        purpose: Purpose,
    },
    /// Nothing: see [`Search::answer`].
    Nothing,
}

/// How a search has ended, or stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The interval is as narrow as wanted, met at the capacity and missed 10 % above it.
    Found,
    /// It is as narrow, and the longer trials do not agree with the short ones, or there was no
    /// time for them.
    Unconfirmed,
    /// It is wider than wanted: the best so far.
    Wide,
    /// All that the generator can offer is met, or all that may be asked for: `lower` is what is
    /// known.
    AtLeast,
    /// Not even the lowest rate is met.
    Below,
    /// Too little was measured.
    Unknown,
}

/// What is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// How sure that is.
    pub ending: Ending,
    /// The highest rate that is met in all likelihood: the capacity. `None`: none is known.
    pub lower: Option<f64>,
    /// The lowest that is not, in all likelihood; with `lower` the 95 % interval.
    pub upper: Option<f64>,
}

/// A search. Pure: [`Search::next`] asks, [`Search::told`] takes what was seen.
#[derive(Clone, Debug)]
pub struct Search {
    goal: Goal,
    steps: Vec<Step>,
    belief: Option<Belief>,
}

impl Search {
    /// Before any trial.
    pub fn new(goal: Goal) -> Search {
        Search { goal, steps: Vec::new(), belief: None }
    }

    /// Whether longer trials confirm what is found, from now on.
    pub fn confirms(&mut self, confirm: bool) {
        self.goal.confirm = confirm;
    }

    /// All trials so far.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What to measure next, if so much can still be afforded.
    pub fn next(&self, budget: Budget) -> Ask {
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
            Ask::Measure { purpose, .. } if !fits(purpose) => Ask::Nothing,
            ask => ask,
        }
    }

    /// Takes what a trial has shown.
    pub fn told(&mut self, step: Step) {
        self.steps.push(step);
        let evidence = self.evidence(self.steps.len() - 1);
        match (&mut self.belief, evidence) {
            (Some(belief), Some(is_met)) => belief.weigh(step.rate, is_met, weight(step.purpose)),
            (Some(_), None) => {}
            (None, _) => self.belief = self.bracketed(),
        }
    }

    /// What is known now.
    pub fn answer(&self) -> Answer {
        let met = self
            .of(Seen::Met)
            .fold(None, |most: Option<f64>, rate| Some(most.map_or(rate, |most| most.max(rate))));
        let limited = self.generators_limit();
        let Some(belief) = &self.belief else {
            let missed = self.of(Seen::Missed).reduce(f64::min);
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
            match self.of(Seen::Missed).reduce(f64::min) {
                // The runtime was never seen to fail.
                None => return Answer { ending: Ending::AtLeast, lower: met, upper: None },
                // It was, beyond a rate that the generator could not keep: disturbed, not at its
                // limit.
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

    fn of(&self, seen: Seen) -> impl Iterator<Item = f64> {
        self.steps.iter().filter(move |step| step.seen == seen).map(|step| step.rate)
    }

    /// A generator that could not once may have been disturbed, and so may a runtime whose failing
    /// would end the probe: the same again.
    fn repeated(&self) -> Option<Ask> {
        let last = self.steps.last()?;
        let is_doubtful = match last.seen {
            Seen::Met => false,
            Seen::Missed => last.purpose == Purpose::Probe,
            Seen::Generator => true,
        };
        let before = self.steps.iter().rev().nth(1);
        let is_again =
            before.is_some_and(|before| (before.rate, before.seen) == (last.rate, last.seen));
        let ask = Ask::Measure { rate: last.rate, purpose: last.purpose };
        (is_doubtful && !is_again).then_some(ask)
    }

    /// The lowest rate that the generator failed to offer twice in a row.
    fn generators_limit(&self) -> Option<f64> {
        let pairs = self.steps.windows(2).filter(|pair| {
            pair.iter().all(|step| step.seen == Seen::Generator) && pair[0].rate == pair[1].rate
        });
        pairs.map(|pair| pair[0].rate).reduce(f64::min)
    }

    /// What a step says of the rate; `None`: nothing, for the generator failed, and once only.
    fn evidence(&self, index: usize) -> Option<bool> {
        let step = &self.steps[index];
        match step.seen {
            Seen::Met => Some(true),
            Seen::Missed => Some(false),
            Seen::Generator => {
                let before = index.checked_sub(1).map(|before| &self.steps[before]);
                let twice = before.is_some_and(|before| {
                    before.seen == Seen::Generator && before.rate == step.rate
                });
                twice.then_some(false)
            }
        }
    }

    fn judged(&self) -> impl Iterator<Item = (f64, bool)> {
        (0..self.steps.len())
            .filter_map(|index| Some((self.steps[index].rate, self.evidence(index)?)))
    }

    fn probe(&self) -> Ask {
        let met = self.judged().filter(|(_, met)| *met).map(|(rate, _)| rate).reduce(f64::max);
        let missed = self.judged().filter(|(_, met)| !met).map(|(rate, _)| rate).reduce(f64::min);
        let rate = match (met, missed) {
            (Some(met), None) => (met * FACTOR).min(self.goal.highest),
            (None, Some(missed)) => (missed / FACTOR).max(self.goal.lowest),
            _ => self.goal.first.clamp(self.goal.lowest, self.goal.highest),
        };
        match self.is_exhausted() {
            true => Ask::Nothing,
            false => {
                Ask::Measure { rate: rounded(rate, self.goal.precision), purpose: Purpose::Probe }
            }
        }
    }

    /// Whether the probe has come to an end of what may be asked for, without a bracket.
    fn is_exhausted(&self) -> bool {
        let edge = |rate: f64, edge: f64| (rate / edge - 1.0).abs() < self.goal.precision;
        let mut judged = self.judged();
        self.belief.is_none()
            && judged.any(|(rate, met)| {
                edge(rate, if met { self.goal.highest } else { self.goal.lowest })
            })
    }

    /// A belief, once a rate is met and another is not.
    fn bracketed(&self) -> Option<Belief> {
        let has = |wanted: bool| self.judged().any(|(_, met)| met == wanted);
        if !(has(true) && has(false)) {
            return None;
        }
        let lowest = self.judged().map(|(rate, _)| rate).fold(f64::INFINITY, f64::min);
        let highest = self.judged().map(|(rate, _)| rate).fold(0.0, f64::max);
        let mut belief = Belief::new(
            (lowest / FACTOR).max(self.goal.lowest / FACTOR),
            (highest * FACTOR * FACTOR).min(self.goal.highest * FACTOR),
            self.goal.precision,
        );
        self.judged().for_each(|(rate, met)| belief.weigh(rate, met, 1));
        Some(belief)
    }

    fn narrow(&self, belief: &Belief, budget: Budget) -> Ask {
        let (low, high) = self.interval(belief);
        // Off the middle by turns: trials below show what is met, trials above what is not, and
        // both together how sharply one turns into the other.
        let at = TURNS[self.steps.len() % TURNS.len()];
        let between = |purpose| Ask::Measure {
            rate: rounded(belief.quantile(at), self.goal.precision),
            purpose,
        };
        let is_narrow = self.is_narrow((low, high), self.goal.precision);
        if !self.goal.confirm {
            return if is_narrow { Ask::Nothing } else { between(Purpose::Search) };
        }
        if !self.is_narrow((low, high), self.goal.precision * ROUGHLY) && budget.longer > KEPT {
            return between(Purpose::Search);
        }
        if !is_narrow && budget.longer > CONFIRMING {
            return between(Purpose::Narrow);
        }
        if !self.confirmed(low) {
            return Ask::Measure { rate: low, purpose: Purpose::Confirm };
        }
        if !self.refuted(low, high) {
            let rate = rounded((low * BEYOND).max(high), self.goal.precision);
            return Ask::Measure { rate, purpose: Purpose::Beyond };
        }
        match is_narrow {
            true => Ask::Nothing,
            false => between(Purpose::Narrow),
        }
    }

    /// The 95 % interval, its ends moved outwards to rates that can be said.
    fn interval(&self, belief: &Belief) -> (f64, f64) {
        let step = |rate| grain(rate, self.goal.precision);
        let (low, high) = (belief.quantile(TAIL), belief.quantile(1.0 - TAIL));
        let (low_step, high_step) = (step(low), step(high));
        ((low / low_step).floor() * low_step, (high / high_step).ceil() * high_step)
    }

    fn is_narrow(&self, (low, high): (f64, f64), precision: f64) -> bool {
        // What rounding outwards has added is no doubt.
        let slack = grain(low, self.goal.precision) + grain(high, self.goal.precision);
        high - low <= low * precision + slack
    }

    /// Whether longer trials at this rate, or above it, met twice, and oftener than others at it,
    /// or below it, did not.
    fn confirmed(&self, low: f64) -> bool {
        let met = self.longer(Seen::Met, |rate| rate >= low * ABOUT);
        met >= CONFIRMED && met > self.longer(Seen::Missed, |rate| rate <= low / ABOUT)
    }

    /// Whether a longer trial some 10 % above this rate, or within the interval's upper end, did
    /// not.
    fn refuted(&self, low: f64, high: f64) -> bool {
        self.longer(Seen::Missed, |rate| rate <= (low * BEYOND * BEYOND).max(high)) > 0
    }

    fn longer(&self, seen: Seen, at: impl Fn(f64) -> bool) -> usize {
        let longer = self.steps.iter().filter(|step| step.purpose.is_longer());
        longer.filter(|step| step.seen == seen && at(step.rate)).count()
    }
}

/// How likely each rate is to be the capacity, for each of some sharpnesses.
#[derive(Clone, Debug)]
struct Belief {
    /// Logarithm of the lowest rate.
    from: f64,
    /// Between two rates, in logs.
    step: f64,
    /// One row a sharpness; all together 1.
    rows: Vec<(f64, Vec<f64>)>,
}

impl Belief {
    /// All alike in logs, between two rates.
    fn new(low: f64, high: f64, precision: f64) -> Belief {
        // A tenth of what is to be told apart.
        let step = precision / 10.0;
        let points = ((high / low).ln() / step).ceil() as usize + 1;
        let even = 1.0 / points as f64;
        let rows =
            SPREADS.iter().map(|(spread, chance)| (*spread, vec![even * chance; points])).collect();
        Belief { from: low.ln(), step, rows }
    }

    /// Bayes' rule for one trial, or for a longer one that counts as several.
    fn weigh(&mut self, rate: f64, is_met: bool, times: i32) {
        let mut sum = 0.0;
        for (spread, row) in &mut self.rows {
            for (index, weight) in row.iter_mut().enumerate() {
                let above = self.from + index as f64 * self.step - rate.ln();
                let met = 1.0 / (1.0 + (-above / *spread).exp());
                let likely = if is_met { met } else { 1.0 - met };
                *weight *= (STRAY + (1.0 - 2.0 * STRAY) * likely).powi(times);
                sum += *weight;
            }
        }
        self.rows.iter_mut().flat_map(|(_, row)| row).for_each(|weight| *weight /= sum);
    }

    /// The rate that the capacity is below with this chance.
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

/// A longer one says more, as in RFC 9971's *duration sum*, and not as much more as it is longer:
/// what differs from one start of a runtime to the next is in it once.
fn weight(purpose: Purpose) -> i32 {
    if purpose.is_longer() { 2 } else { 1 }
}

/// A rate that can be said and asked for again: `2350` and not `2347.8`.
fn rounded(rate: f64, precision: f64) -> f64 {
    let grain = grain(rate, precision);
    // Not 0.34500000000000003.
    (((rate / grain).round() * grain).max(grain) * 1e9).round() / 1e9
}

/// 1, 2 or 5 times a power of ten: at most a fifth of what is to be told apart.
fn grain(rate: f64, precision: f64) -> f64 {
    let most = rate * precision / 5.0;
    let ten = 10_f64.powf(most.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|times| times * ten).find(|step| *step <= most).unwrap_or(ten)
}

/// Between two trials of the probe.
const FACTOR: f64 = 2.0;
/// The trial above the capacity.
const BEYOND: f64 = 1.1;
/// Of the interval, on either side.
const TAIL: f64 = 0.025;
/// Where the next trial lies between all and nothing.
const TURNS: [f64; 2] = [0.25, 0.75];
/// How many times as long a longer trial is.
pub const LONGER: u32 = 4;
/// Short trials narrow until the interval is so many times as wide as wanted.
const ROUGHLY: f64 = 2.5;
/// Longer trials that short ones must leave room for.
const KEPT: u32 = 5;
/// Longer trials kept back for confirming.
const CONFIRMING: u32 = 2;
/// Longer trials that have to meet.
const CONFIRMED: usize = 2;
/// At a rate that is no less than this part of another, as much is asked.
const ABOUT: f64 = 0.97;
/// Trials that go wrong, or well, whatever the rate.
const STRAY: f64 = 0.02;
/// From "always met" to "never met", in logs of the rate, and how likely that is beforehand: from a
/// queue that is full at once to a time that grows with every request.
const SPREADS: [(f64, f64); 5] =
    [(0.003, 0.4), (0.015, 0.3), (0.05, 0.2), (0.15, 0.07), (0.4, 0.03)];

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
