//! How long what is still to come will take, by what the trials so far took.

use stampede_load::time::Nanos;

use crate::store::record::{Judged, TrialRecord};

/// Lengths of trials, by case.
#[derive(Clone, Debug)]
pub struct TimeLeft {
    cases: Vec<Taken>,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    /// By the plan.
    planned: Nanos,
    /// Sum of the trials so far.
    took: Nanos,
    trials: u64,
}

impl TimeLeft {
    /// By the plan alone.
    pub fn new(planned: impl Iterator<Item = Nanos>) -> TimeLeft {
        let case = |planned| Taken { planned, took: Nanos(0), trials: 0 };
        TimeLeft { cases: planned.map(case).collect() }
    }

    /// A trial has ended. An invalid one may have been cut short, and says nothing.
    pub fn took(&mut self, case: usize, record: &TrialRecord) {
        let ended = record.phases.last().map_or(0, |phase| phase.end_ns);
        if record.verdict.judged != Judged::Invalid && ended > 0 {
            let case = &mut self.cases[case];
            case.took = case.took.plus(Nanos(ended));
            case.trials += 1;
        }
    }

    /// Length of the next trial of a case: that of its trials so far; before the first, what the
    /// plan says and what the others' took beside that.
    pub fn of(&self, case: usize) -> Nanos {
        let own = &self.cases[case];
        if let Some(mean) = own.took.0.checked_div(own.trials) {
            return Nanos(mean);
        }
        let measured = || self.cases.iter().filter(|case| case.trials > 0);
        let took: u64 = measured().map(|case| case.took.0 / case.trials).sum();
        let planned: u64 = measured().map(|case| case.planned.0).sum();
        let count = measured().count().max(1) as u64;
        Nanos((own.planned.0 + took / count).saturating_sub(planned / count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trials_so_far_tell_more_than_the_plan() {
        let seconds = Nanos::from_secs;
        let mut left = TimeLeft::new([10, 10, 20].into_iter().map(seconds));
        assert_eq!(left.of(0), seconds(10));
        // The first took 12 and 14 s: 3 s more than planned, and so will those not yet measured.
        left.cases[0] = Taken { planned: seconds(10), took: seconds(26), trials: 2 };
        assert_eq!([left.of(0), left.of(1), left.of(2)], [13, 13, 23].map(seconds));
        left.cases[1] = Taken { planned: seconds(10), took: seconds(9), trials: 1 };
        assert_eq!([left.of(1), left.of(2)], [9, 21].map(seconds), "half of 3 and -1 more");
    }
}
