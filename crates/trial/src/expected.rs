//! Estimates how long a run takes before it begins, and scales its loads so that it ends in time.

use stampede_model::time::Nanos;
use stampede_plan::model::{StartState, Starts};

use super::cases::{self, Case};
use super::comparison::Comparison;

/// How a run can be made to end in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeScale {
    /// It does so as it is.
    Fits,
    /// With this factor for all lengths.
    Scaled {
        /// Below 1.
        scale: f64,
    },
    /// It cannot: a load would be too short to say anything.
    TooMuch {
        /// The factor that leaves enough of the shortest load.
        scale: f64,
        /// How long the run then takes.
        takes: Nanos,
    },
}

impl Comparison {
    /// The expected length of the whole run.
    pub fn expected(&self) -> Nanos {
        let trials = self.record.order.concat();
        let in_stacks = trials.iter().map(|case| self.length_in_its_stack(*case).0);
        let containers = self.starts(&trials).map(|case| self.of_containers(case).0);
        Nanos(in_stacks.chain(containers).fold(self.looks().0, u64::saturating_add))
    }

    /// The case for which each stack of these trials is started.
    fn starts<'a>(&'a self, trials: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let goes_on = |a: &usize, b: &usize| {
            self.plan.starts == Starts::PerRound && self.cases[*a].has_the_stack_of(&self.cases[*b])
        };
        trials.chunk_by(goes_on).filter_map(|of_one| of_one.first().copied())
    }

    /// How often a stack is started for a trial. Before a cold start it is started once more, to be verified.
    fn starts_each(&self) -> u64 {
        if self.plan.begin == StartState::Cold { 2 } else { 1 }
    }

    /// What a stack's start and end take beyond those of processes of this machine, for each start of a case.
    fn of_containers(&self, case: usize) -> Nanos {
        let runtime = &self.plan.stack.runtimes[self.cases[case].runtime];
        match runtime.has_containers() {
            true => Nanos(CONTAINERS.0 * self.starts_each()),
            false => Nanos(0),
        }
    }

    /// The expected time of the starts on which pages are asked: one for each stack of the run.
    /// Before cold starts a runtime is started once more in any case.
    fn looks(&self) -> Nanos {
        if self.plan.begin == StartState::Cold {
            return Nanos(0);
        }
        let is_ours = |case: &&Case| !self.plan.stack.runtimes[case.runtime].is_external();
        let measured = self.cases.iter().filter(|case| case.refused.is_none());
        let mut stacks: Vec<&Case> = measured.filter(is_ours).collect();
        stacks.sort_unstable_by_key(|case| (case.runtime, case.app));
        stacks.dedup_by_key(|case| (case.runtime, case.app));
        let of_one = |case: &&Case| match self.plan.stack.runtimes[case.runtime].has_containers() {
            true => START.plus(AROUND).plus(CONTAINERS).0,
            false => START.plus(AROUND).0,
        };
        Nanos(stacks.iter().map(of_one).sum())
    }

    /// How the run can be made to end within this time, if each case is measured `arms` times in each
    /// round: once, or also with other versions of the app.
    pub fn scale_to(&self, within: Nanos, arms: u32) -> TimeScale {
        let trials = self.record.order.concat();
        let loads: Vec<Nanos> = trials.iter().map(|case| self.load_length(*case)).collect();
        let arms = f64::from(arms.max(1));
        let sum = loads.iter().fold(Nanos(0), |sum, load| sum.plus(*load)).0;
        let scaled = (sum + self.warm_up().0 * trials.len() as u64) as f64 * arms;
        let around = self.around(&trials).0 as f64 * arms;
        let wanted = (within.0 as f64 - around) / scaled.max(1.0);
        let shortest = loads.iter().map(|load| load.0).min().unwrap_or(0).max(1) as f64;
        let least = (SHORTEST.0 as f64 / shortest).min(1.0);
        let scale = two_digits(wanted.max(least).clamp(LEAST_SCALE, 1.0));
        let takes = Nanos((around + scaled * scale) as u64);
        match takes.0 > within.0.saturating_add(within.0 / 50) {
            true => TimeScale::TooMuch { scale, takes },
            false if scale >= 1.0 => TimeScale::Fits,
            false => TimeScale::Scaled { scale },
        }
    }

    /// How long the load of a case takes; of one that ends after a number of requests, a guess.
    fn load_length(&self, case: usize) -> Nanos {
        cases::length_or_guess(&self.plan.loads[self.cases[case].load].model)
    }

    /// Whether a load ends after a number of requests, so that nobody knows how long the run takes.
    pub fn length_is_guessed(&self) -> bool {
        self.plan.loads.iter().any(|load| cases::length(&load.model).is_none())
    }

    /// The expected time of starts, verifications and stops of these trials.
    fn around(&self, trials: &[usize]) -> Nanos {
        let start = |case| self.starts_each() * START.0 + self.of_containers(case).0;
        let starts: u64 = self.starts(trials).map(start).sum();
        let others = trials.len() as u64 * self.starts_each() * AROUND.0;
        self.looks().plus(Nanos(starts + others))
    }

    /// The expected length of one trial: its load, the warm-up, and the start and stop around them.
    pub fn expected_trial_length(&self, case: usize) -> Nanos {
        self.length_in_its_stack(case).plus(self.of_containers(case))
    }

    fn length_in_its_stack(&self, case: usize) -> Nanos {
        let around = Nanos(AROUND.0 * self.starts_each());
        self.load_length(case).plus(self.warm_up()).plus(around)
    }
}

/// Rounds down to two digits, which are enough and can be read.
fn two_digits(scale: f64) -> f64 {
    let unit = 10_f64.powf(scale.log10().floor() - 1.0);
    // Without the small share 0.29 would become 0.28.
    let digits = (scale / unit + 1e-9).floor();
    (digits * unit * 1e6).round() / 1e6
}

/// The least factor that a plan takes.
const LEAST_SCALE: f64 = 0.001;
/// The expected length of start, verification and stop (`bench/overhead.rs` measures them).
const AROUND: Nanos = Nanos::from_millis(700);
/// What a start of a framework's app takes beyond that.
const START: Nanos = Nanos::from_secs(1);
/// What the start and the end of containers take beyond that: 5 s with two small services, 14 s with a database.
const CONTAINERS: Nanos = Nanos::from_secs(8);
/// The shortest load that still says something.
const SHORTEST: Nanos = Nanos::from_secs(1);

#[cfg(test)]
mod tests {
    use super::two_digits;

    #[test]
    fn a_scale_has_two_digits_and_is_never_larger() {
        for (scale, rounded) in [
            (1.0, 1.0),
            (0.999, 0.99),
            (0.29, 0.29),
            (0.0298, 0.029),
            (0.001, 0.001),
            (0.00199, 0.0019),
        ] {
            assert_eq!(two_digits(scale), rounded);
        }
        for percent in 1..=100 {
            let scale = f64::from(percent) / 100.0;
            assert_eq!(two_digits(scale), scale, "what has two digits stays");
        }
    }
}
