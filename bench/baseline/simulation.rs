//! Simulates runs that are compared with a baseline, to count how often intervals and words are
//! right.
//!
//! The simulated truth is known, so each answer can be checked. `crates/stats/tests/it/baseline.rs`
//! counts few runs in every test run; `bench/baseline/main.rs` counts many and prints tables.

use stampede_stats::baseline::{Comparison, Relation, RoundsNeeded, with_baseline};
use stampede_stats::compare::MARGIN;
use stampede_stats::random::Random;

/// A kind of run.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The number of runtimes, including the baseline.
    pub runtimes: usize,
    pub rounds: usize,
    pub spread: Spread,
    pub shape: Shape,
    /// The share of trials that are missing.
    pub missing: f64,
}

/// How the noise of runtimes differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// All vary equally.
    Equal,
    /// The last runtime varies three times as much as the others.
    OneVaries,
    /// The baseline varies three times as much as the others.
    BaselineVaries,
}

/// The shape of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Normal on logs.
    Normal,
    /// Most trials alike, now and then one much slower: exponential on logs.
    Skewed,
}

/// Noise of a trial: standard deviation of the log.
pub const NOISES: [f64; 3] = [0.01, 0.02, 0.05];

/// The difference that a run should find.
pub const SLOWER: f64 = 1.05;

/// Standard deviation of the log of a round's effect, which is the same for all its trials.
const ROUND: f64 = 0.1;

impl Case {
    pub fn normal(runtimes: usize, rounds: usize, spread: Spread) -> Case {
        Case { runtimes, rounds, spread, shape: Shape::Normal, missing: 0.0 }
    }

    /// Draws the noise of each trial, in units of the noise's standard deviation, and each round's
    /// effect.
    fn draw(&self, random: &mut Random) -> Drawn {
        let rounds = (0..self.rounds).map(|_| ROUND * random.normal()).collect();
        let mut trials = vec![Vec::with_capacity(self.rounds); self.runtimes];
        for (runtime, trials) in trials.iter_mut().enumerate() {
            let spread = match self.spread {
                Spread::OneVaries if runtime + 1 == self.runtimes => 3.0,
                Spread::BaselineVaries if runtime == 0 => 3.0,
                _ => 1.0,
            };
            for _ in 0..self.rounds {
                let noise = match self.shape {
                    Shape::Normal => random.normal(),
                    // Exponential minus its mean: variance 1, skew 2.
                    Shape::Skewed => -random.share().ln() - 1.0,
                };
                trials.push((random.share() >= self.missing).then_some(spread * noise));
            }
        }
        Drawn { rounds, trials }
    }
}

struct Drawn {
    rounds: Vec<f64>,
    trials: Vec<Vec<Option<f64>>>,
}

impl Drawn {
    /// Compares all runtimes with the first. The second is slower than the others by this factor.
    fn compared(&self, noise: f64, slower: f64) -> Vec<Comparison> {
        let value = |runtime: usize, trial: &Option<f64>, round: &f64| {
            let truth = if runtime == 1 { slower } else { 1.0 };
            trial.map(|trial| truth * (round + noise * trial).exp())
        };
        let values: Vec<Vec<Option<f64>>> = self
            .trials
            .iter()
            .enumerate()
            .map(|(runtime, trials)| {
                trials.iter().zip(&self.rounds).map(|(t, round)| value(runtime, t, round)).collect()
            })
            .collect();
        with_baseline(&values, 0, MARGIN).into_iter().flatten().collect()
    }
}

/// The results: shares of runs, unless stated otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shares {
    /// All intervals of a run contain the truth.
    pub all_hold: f64,
    /// The share of intervals that contain the truth.
    pub each_holds: f64,
    /// All intervals would contain the truth if only the pooled bound were used.
    pub pooled_alone: f64,
    /// All intervals would contain the truth if the baseline's own bound were left out.
    pub pooled_and_pair: f64,
    /// Half the width of an interval, on average, in units of a trial's noise: as it is, with the
    /// pooled bound alone, and with Student's t on the pair's ratios, adjusted for the number of
    /// comparisons (Bonferroni).
    pub half_widths: [f64; 3],
    /// The words, by noise ([`NOISES`]).
    pub words: [Words; 3],
}

/// How often words are right.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    /// All runtimes are equal, and at least one is called higher or lower.
    pub false_alarm: f64,
    /// The share of comparisons of equal runtimes that are called equivalent.
    pub equivalent: f64,
    /// The second runtime is slower by [`SLOWER`], and is called higher.
    pub found: f64,
}

/// Simulates `runs` runs of a kind and counts.
pub fn shares(case: &Case, runs: u32, seed: u64) -> Shares {
    let mut random = Random::with_seed(seed);
    let mut sums = Shares::default();
    let (mut intervals, mut compared) = (0.0, 0.0);
    for _ in 0..runs {
        let drawn = case.draw(&mut random);
        for (noise, words) in NOISES.into_iter().zip(&mut sums.words) {
            let equal = drawn.compared(noise, 1.0);
            words.false_alarm += one_if(equal.iter().any(|one| is_different(one.relation)));
            words.equivalent += count(&equal, |one| one.relation == Relation::Equivalent);
            let slower = drawn.compared(noise, SLOWER);
            words.found +=
                one_if(slower.first().is_some_and(|one| one.relation == Relation::Higher));
        }
        // Intervals scale with the noise, so the result is the same for all noises.
        let equal = drawn.compared(NOISES[1], 1.0);
        let within = |one: &Comparison, half_width: f64| one.ratio.ln().abs() <= half_width;
        let bounds = || equal.iter().filter_map(|one| Some((one, one.bounds?)));
        sums.all_hold += one_if(equal.iter().all(holds_1));
        sums.each_holds += count(&equal, |one| one.interval.is_some() && holds_1(one));
        sums.pooled_alone +=
            one_if(bounds().all(|(one, bounds)| within(one, bounds.pooled.half_width(0.95))));
        sums.pooled_and_pair += one_if(bounds().all(|(one, bounds)| {
            within(one, bounds.pooled.half_width(0.95).max(bounds.pair.half_width(0.95)))
        }));
        for (_, bounds) in bounds() {
            let adjusted = 1.0 - 0.05 / equal.len() as f64;
            let reaches = [
                bounds.half_width(0.95),
                bounds.pooled.half_width(0.95),
                bounds.pair.half_width(adjusted),
            ];
            for (sum, half_width) in sums.half_widths.iter_mut().zip(reaches) {
                *sum += half_width / NOISES[1];
            }
        }
        intervals += count(&equal, |one| one.interval.is_some());
        compared += equal.len() as f64;
    }
    sums.scaled(f64::from(runs), intervals, compared)
}

/// What inconclusive runs ask for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// The share of runs that are inconclusive about the second runtime.
    pub inconclusive: f64,
    /// Of these, the share that asks for more rounds than anybody would wait for.
    pub too_many: f64,
    /// Of those that name a number of rounds, the median of these numbers.
    pub rounds: u32,
    /// Of those that name a number of rounds, the share that a run with that number settles.
    pub settled: f64,
}

/// Simulates `runs` runs of a kind whose second runtime is slower by this factor. Counts how many
/// rounds they ask for, and whether another run with so many rounds settles the question.
pub fn asked(case: &Case, noise: f64, slower: f64, runs: u32, seed: u64) -> Asked {
    let mut random = Random::with_seed(seed);
    let (mut inconclusive, mut settled) = (0_u32, 0_u32);
    let mut asked: Vec<u32> = Vec::new();
    for _ in 0..runs {
        let first = case.draw(&mut random).compared(noise, slower)[0];
        inconclusive += u32::from(first.relation == Relation::Inconclusive);
        if let Some(RoundsNeeded::About(rounds)) = first.rounds_needed() {
            asked.push(rounds);
            let again = Case { rounds: rounds as usize, ..*case };
            let again = again.draw(&mut random).compared(noise, slower)[0];
            settled += u32::from(again.relation != Relation::Inconclusive);
        }
    }
    asked.sort_unstable();
    let share = |count: u32, of: u32| f64::from(count) / f64::from(of.max(1));
    let numbers = asked.len() as u32;
    Asked {
        inconclusive: share(inconclusive, runs),
        too_many: share(inconclusive - numbers, inconclusive),
        rounds: asked.get(asked.len() / 2).copied().unwrap_or(0),
        settled: share(settled, numbers),
    }
}

impl Shares {
    fn scaled(mut self, runs: f64, intervals: f64, compared: f64) -> Shares {
        self.all_hold /= runs;
        self.each_holds /= intervals;
        self.pooled_alone /= runs;
        self.pooled_and_pair /= runs;
        self.half_widths.iter_mut().for_each(|sum| *sum /= intervals);
        for words in &mut self.words {
            words.false_alarm /= runs;
            words.equivalent /= compared;
            words.found /= runs;
        }
        self
    }
}

fn is_different(relation: Relation) -> bool {
    matches!(relation, Relation::Higher | Relation::Lower)
}

/// Without an interval, nothing is promised.
fn holds_1(one: &Comparison) -> bool {
    one.interval.is_none_or(|(low, high)| low <= 1.0 && 1.0 <= high)
}

fn count(all: &[Comparison], is: impl Fn(&Comparison) -> bool) -> f64 {
    all.iter().filter(|one| is(one)).count() as f64
}

fn one_if(is: bool) -> f64 {
    f64::from(u8::from(is))
}
