//! Estimates how long the remaining trials of a run will take, from the lengths of the trials that
//! have ended.

use stampede_model::time::Nanos;

use stampede_model::record::{TrialRecord, Validity};

/// The planned and the measured trial lengths, by case.
#[derive(Clone, Debug)]
pub struct TimeLeft {
    cases: Vec<CaseDurations>,
}

#[derive(Clone, Copy, Debug)]
struct CaseDurations {
    /// The trial's length by the plan.
    planned: Nanos,
    /// The sum of the lengths of the trials so far.
    took: Nanos,
    trials: u64,
}

impl TimeLeft {
    /// Starts with the planned lengths only, in the order of the cases.
    pub fn new(planned: impl Iterator<Item = Nanos>) -> TimeLeft {
        let case = |planned| CaseDurations { planned, took: Nanos(0), trials: 0 };
        TimeLeft { cases: planned.map(case).collect() }
    }

    /// Records a trial that has ended. An invalid trial is ignored: it may have been cut short.
    pub fn record_trial(&mut self, case: usize, record: &TrialRecord) {
        let ended = record.phases.last().map_or(0, |phase| phase.end_ns);
        if record.verdict.judged != Validity::Invalid && ended > 0 {
            let case = &mut self.cases[case];
            case.took = case.took.plus(Nanos(ended));
            case.trials += 1;
        }
    }

    /// The expected length of the next trial of a case: the mean of the case's trials so far.
    /// Before the first one it is the planned length plus the mean overrun of the other cases.
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
    fn measured_trial_lengths_take_precedence_over_planned_ones() {
        let seconds = Nanos::from_secs;
        let mut left = TimeLeft::new([10, 10, 20].into_iter().map(seconds));
        assert_eq!(left.of(0), seconds(10));
        // The first case took 12 and 14 s: 3 s more than planned. The same overrun is expected of
        // the cases not yet measured.
        left.cases[0] = CaseDurations { planned: seconds(10), took: seconds(26), trials: 2 };
        assert_eq!([left.of(0), left.of(1), left.of(2)], [13, 13, 23].map(seconds));
        left.cases[1] = CaseDurations { planned: seconds(10), took: seconds(9), trials: 1 };
        assert_eq!([left.of(1), left.of(2)], [9, 21].map(seconds), "half of 3 and -1 more");
    }
}
