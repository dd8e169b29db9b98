//! Simulates runs whose truth is known, to count whether `compare`, estimates and `rounds: auto`
//! keep their promises. `crates/stats/tests/it/simulated.rs` counts 2 000 runs of each kind in every
//! test run; `bench/sure/main.rs` counts 100 000 and prints tables.

use stampede_stats::baseline::Relation;
use stampede_stats::compare::compare;
use stampede_stats::estimate::Estimate;
use stampede_stats::letters::significance_groups;
use stampede_stats::random::Random;
use stampede_stats::rounds::{LOOKS, width};
use stampede_stats::unpaired::PairComparison;

/// A kind of run. Cell 0 is the baseline, whose truth is 1.
#[derive(Clone, Debug)]
pub struct Case {
    /// The true value of each cell.
    pub true_values: Vec<f64>,
    /// Standard deviation of the log ratio of two cells within a round.
    pub noise: f64,
    /// The shape of that noise.
    pub shape: Shape,
    /// Standard deviation of the log of a round's effect, which is the same for all its cells. It
    /// cancels out in ratios within a round.
    pub mood: f64,
}

/// The shape of noise.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Normal on logs.
    Normal,
    /// Most trials alike, now and then one much slower: exponential on logs.
    Skewed,
}

impl Case {
    /// Two cells, the second slower by this factor, on a machine whose rounds vary by 10 %.
    pub fn two(ratio: f64, noise: f64) -> Case {
        Case { true_values: vec![1.0, ratio], noise, shape: Shape::Normal, mood: 0.1 }
    }

    /// `values[case][round]` of one run.
    pub fn run(&self, rounds: u32, random: &mut Random) -> Vec<Vec<f64>> {
        let mut values = vec![Vec::new(); self.true_values.len()];
        for _ in 0..rounds {
            let mood = self.mood * random.normal();
            for (case, truth) in values.iter_mut().zip(&self.true_values) {
                case.push(truth * (mood + self.noise_of_case(random)).exp());
            }
        }
        values
    }

    /// The noise of one cell. The noises of two cells make up the noise of their ratio.
    fn noise_of_case(&self, random: &mut Random) -> f64 {
        let drawn = match self.shape {
            Shape::Normal => random.normal(),
            // Exponential minus its mean: variance 1, skew 2.
            Shape::Skewed => -random.share().ln() - 1.0,
        };
        self.noise / 2.0_f64.sqrt() * drawn
    }
}

/// The ratios of each other cell to this one.
pub fn ratios(values: &[Vec<f64>], baseline: usize) -> Vec<Vec<f64>> {
    let others = (0..values.len()).filter(|case| *case != baseline);
    others
        .map(|case| values[case].iter().zip(&values[baseline]).map(|(a, b)| a / b).collect())
        .collect()
}

/// Compares as the program does: each cell with the one that has the best result.
pub fn against_the_best(values: &[Vec<f64>]) -> Vec<PairComparison> {
    let mean = |case: &usize| values[*case].iter().map(|value| value.ln()).sum::<f64>();
    let best = (0..values.len()).min_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(0);
    compare(&ratios(values, best))
}

/// Whether any cell is called different.
pub fn calls_different(compared: &[PairComparison]) -> bool {
    let is = |one: &PairComparison| matches!(one.relation, Relation::Higher | Relation::Lower);
    compared.iter().any(is)
}

/// The share of `runs` for which `is` is true.
pub fn share(runs: u32, seed: u64, mut is: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random::with_seed(seed);
    let count = (0..runs).filter(|_| is(&mut random)).count();
    count as f64 / f64::from(runs)
}

/// The share of runs that call no cell different.
pub fn not_different(case: &Case, rounds: u32, runs: u32, seed: u64) -> f64 {
    share(runs, seed, |random| !calls_different(&against_the_best(&case.run(rounds, random))))
}

/// The share of runs that call the second cell slower than the first.
pub fn found(case: &Case, rounds: u32, runs: u32, seed: u64) -> f64 {
    share(runs, seed, |random| {
        compare(&ratios(&case.run(rounds, random), 0))[0].relation == Relation::Higher
    })
}

/// The share of runs whose interval of the ratio contains the truth.
pub fn ratio_covers(case: &Case, rounds: u32, runs: u32, seed: u64) -> f64 {
    share(runs, seed, |random| {
        let ratios = ratios(&case.run(rounds, random), 0);
        Estimate::of(&ratios[0]).is_some_and(|estimate| covers(&estimate, case.true_values[1]))
    })
}

/// The share of runs whose interval of a cell's own value contains the truth, 1.
pub fn value_covers(case: &Case, rounds: u32, runs: u32, seed: u64) -> f64 {
    share(runs, seed, |random| {
        Estimate::of(&case.run(rounds, random)[0]).is_some_and(|estimate| covers(&estimate, 1.0))
    })
}

fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.interval.is_some_and(|(low, high)| (low..=high).contains(&truth))
}

/// The share of runs in which all cells have a common letter.
pub fn letters_shared(case: &Case, rounds: u32, runs: u32, seed: u64) -> f64 {
    share(runs, seed, |random| {
        let values = case.run(rounds, random);
        let values: Vec<Vec<Option<f64>>> =
            values.iter().map(|case| case.iter().map(|value| Some(*value)).collect()).collect();
        significance_groups(&values).iter().all(|letters| letters == "a")
    })
}

/// The results of `rounds: auto` in many runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Auto {
    /// The average number of rounds.
    pub rounds: f64,
    /// The share of runs that ended because all intervals were narrow enough.
    pub narrow: f64,
    /// The share of runs that called the two cells different.
    pub different: f64,
    /// The share of runs whose interval of the ratio contains the truth.
    pub ratio_covers: f64,
    /// The share of runs whose interval of the first cell's own value contains the truth.
    pub value_covers: f64,
}

/// Which intervals must be narrow before a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// As in the program: those of each cell's value, and that of the ratio.
    All,
    /// That of the ratio alone, so that only noise decides when the run ends.
    Ratio,
}

/// Simulates runs of `rounds: auto` with two cells that end once these intervals are narrower than
/// `precision`.
pub fn auto(case: &Case, until: Until, precision: f64, runs: u32, seed: u64) -> Auto {
    let mut random = Random::with_seed(seed);
    let mut sums = Auto::default();
    let last = LOOKS[LOOKS.len() - 1];
    for _ in 0..runs {
        let values = case.run(last, &mut random);
        let ratios = ratios(&values, 0).swap_remove(0);
        let asked: Vec<&Vec<f64>> = match until {
            Until::All => values.iter().chain([&ratios]).collect(),
            Until::Ratio => vec![&ratios],
        };
        let of = |values: &[f64], rounds: u32| Estimate::of(&values[..rounds as usize]);
        let is_narrow = |values: &[f64], rounds| {
            of(values, rounds).and_then(|one| width(&one)).is_some_and(|width| width < precision)
        };
        let narrow = LOOKS.into_iter().find(|look| asked.iter().all(|one| is_narrow(one, *look)));
        let rounds = narrow.unwrap_or(last);
        let holds = |values: &[f64], truth: f64| {
            f64::from(of(values, rounds).is_some_and(|one| covers(&one, truth)))
        };
        sums.rounds += f64::from(rounds);
        sums.narrow += f64::from(narrow.is_some());
        sums.different +=
            f64::from(calls_different(&compare(&[ratios[..rounds as usize].to_vec()])));
        sums.ratio_covers += holds(&ratios, case.true_values[1]);
        sums.value_covers += holds(&values[0], 1.0);
    }
    let runs = f64::from(runs);
    Auto {
        rounds: sums.rounds / runs,
        narrow: sums.narrow / runs,
        different: sums.different / runs,
        ratio_covers: sums.ratio_covers / runs,
        value_covers: sums.value_covers / runs,
    }
}
