//! Tracks the state of a comparison from its events. It reads no clock. The time left is estimated
//! from the trials so far.

use stampede_model::counts::Second;
use stampede_model::cpus::CpuCount;
use stampede_model::record::SecondRecord;
use stampede_model::time::Nanos;
use stampede_stats::histogram::Times;

use stampede_model::event::{Event, Phase, RemainingTime};

/// The state of a comparison.
#[derive(Debug, Default)]
pub struct ComparisonState {
    /// Number of the trial, from 1; 0 before the first.
    pub number: u32,
    /// Number of all trials; 0 if it is not known.
    pub trials: u32,
    /// Runtime · app · load, and the round.
    pub title: String,
    /// Current phase.
    pub phase: Option<Phase>,
    /// Expected length of the phase, where it is known.
    pub phase_expected: Option<Nanos>,
    /// Seconds of load so far in this phase.
    pub seconds: u32,
    /// CPUs of the stack's budget.
    pub budget_cpus: CpuCount,
    /// Measured seconds of this trial, merged.
    pub measured: LoadFigures,
    /// The same seconds one by one.
    pub rows: Vec<SecondRecord>,
    /// The last second alone.
    pub last: LoadFigures,
    /// CPU use of the stack at the last reading, as a share of one CPU.
    pub cpu_share: Option<f64>,
    /// Expected length of this trial and of those after it.
    pub expected: RemainingTime,
    /// Known lengths of this trial's ended phases.
    pub passed: Nanos,
}

/// Figures of one or several seconds.
#[derive(Debug, Default)]
pub struct LoadFigures {
    /// Number of seconds in the figures.
    pub seconds: u32,
    /// Planned requests.
    pub planned: u64,
    /// Correct answers.
    pub ok: u64,
    /// Failed and dropped requests.
    pub not_ok: u64,
    /// Response times. In a closed load: service times.
    pub times: Times,
}

impl LoadFigures {
    /// Adds a second.
    pub fn add(&mut self, second: &Second) {
        self.seconds += 1;
        self.planned += second.counts.planned;
        self.ok += second.counts.ok;
        self.not_ok += second.counts.failed_total() + second.counts.dropped;
        let open = !second.times.response_time.is_empty();
        let times = if open { &second.times.response_time } else { &second.times.service_time };
        self.times.merge(times);
    }

    fn clear(&mut self) {
        let mut times = std::mem::take(&mut self.times);
        times.clear();
        *self = LoadFigures { times, ..LoadFigures::default() };
    }

    /// Converts a count to a rate per second; 0 before the first second.
    pub fn rate(&self, count: u64) -> f64 {
        count as f64 / f64::from(self.seconds.max(1))
    }
}

impl ComparisonState {
    /// Takes in an event.
    pub fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::RunStarted { trials, expected, .. } => {
                self.trials = *trials;
                self.expected = RemainingTime { after: *expected, ..RemainingTime::default() };
            }
            Event::TrialStarted { number, trials, round, case, budget_cpus, left } => {
                self.expected = *left;
                self.budget_cpus = *budget_cpus;
                self.number = *number;
                self.trials = *trials;
                self.title = format!("{} · {} · {}", case.runtime, case.app, case.load);
                if *round > 1 || *trials != 1 {
                    self.title.push_str(&format!(" · round {round}"));
                }
                self.measured.clear();
                self.rows.clear();
                self.cpu_share = None;
                self.phase_expected = None;
                self.seconds = 0;
                self.passed = Nanos(0);
            }
            Event::Phase { phase, expected } => {
                self.passed = self.passed.plus(self.phase_expected.unwrap_or_default());
                self.phase = Some(*phase);
                self.phase_expected = *expected;
                self.seconds = 0;
            }
            Event::Second(second) => {
                self.seconds += 1;
                self.last.clear();
                self.last.add(second);
                if matches!(self.phase, Some(Phase::Measure | Phase::Drain)) {
                    self.measured.add(second);
                    self.rows.push(SecondRecord::from(*second));
                }
            }
            // The last reading of a load may be of milliseconds.
            Event::Resources(sample) if !sample.is_short() => {
                let cpu: u64 = sample.roles.values().map(|role| role.cpu_ns).sum();
                let share = cpu as f64 / sample.interval_ns.max(1) as f64;
                // Without a role nothing is monitored.
                self.cpu_share = (!sample.roles.is_empty()).then_some(share);
            }
            Event::Resources(_) | Event::Notice(_) | Event::TrialEnded { .. } | Event::RunEnded => {
            }
        }
    }

    /// Returns the trial's number, with the number of all trials where it is known: `3/36`, or `3`.
    pub fn of(&self, number: u32) -> String {
        match self.trials {
            0 => number.to_string(),
            trials => format!("{number}/{trials}"),
        }
    }

    /// Returns the time left: the time of the later trials, and the rest of this trial's expected
    /// time, which is at least the rest of its phase.
    pub fn left(&self) -> Nanos {
        let done = Nanos::from_secs(u64::from(self.seconds));
        let known = self.phase_expected.unwrap_or_default();
        let phase = known.since(done);
        let spent = self.passed.plus(if known < done { known } else { done });
        let trial = self.expected.trial.since(spent);
        self.expected.after.plus(if trial > phase { trial } else { phase })
    }
}

#[cfg(test)]
mod tests {
    use stampede_model::event::RemainingUntil;
    use stampede_model::record::{CaseRecord, LoadModel};

    use super::*;

    fn case() -> CaseRecord {
        CaseRecord {
            runtime: "nginx-fpm".to_owned(),
            app: "hello".to_owned(),
            load: "day".to_owned(),
            model: LoadModel::Open,
            load_text: "const(100,8s)".to_owned(),
            schedule: None,
            closed: None,
            refused: None,
            sent: None,
        }
    }

    #[test]
    fn the_time_left_is_that_of_this_phase_and_of_later_trials() {
        let mut tally = ComparisonState { trials: 3, ..ComparisonState::default() };
        let case = case();
        tally.take(&Event::TrialStarted {
            number: 1,
            trials: 3,
            round: 1,
            case: &case,
            budget_cpus: CpuCount::whole(1),
            left: RemainingTime {
                trial: Nanos::from_secs(10),
                after: Nanos::from_secs(20),
                until: RemainingUntil::End,
            },
        });
        let expected = Some(Nanos::from_secs(8));
        let mut left = vec![tally.left().0 / 1_000_000_000];
        for (phase, expected) in [
            (Phase::Start, None),
            (Phase::WarmUp, Some(Nanos::from_secs(1))),
            (Phase::Measure, expected),
            (Phase::Drain, None),
        ] {
            tally.take(&Event::Phase { phase, expected });
            left.push(tally.left().0 / 1_000_000_000);
        }
        assert_eq!(left, [30, 30, 30, 29, 21], "it never rises");
        assert_eq!(tally.title, "nginx-fpm · hello · day · round 1");
        let picture = super::super::live::picture(&tally, 80);
        assert_eq!(picture.len(), 2, "no figures before the first second: {picture:?}");
        assert!(console::strip_ansi_codes(&picture[0]).starts_with("[1/3] nginx-fpm"));
    }

    #[test]
    fn a_narrow_terminal_gets_all_figures_on_two_lines() {
        let mut tally =
            ComparisonState { number: 1, trials: 1, seconds: 3, ..ComparisonState::default() };
        tally.phase = Some(Phase::Drain);
        let lines = |width| {
            let picture = super::super::live::picture(&tally, width);
            picture.iter().map(|line| console::strip_ansi_codes(line).into_owned()).collect()
        };
        let (wide, narrow): (Vec<String>, Vec<String>) = (lines(80), lines(60));
        assert!(wide[1].starts_with("drain"), "{wide:?}");
        assert_eq!((wide.len(), narrow.len()), (3, 4));
        assert_eq!(wide[2].trim(), format!("{}  {}", narrow[2].trim(), narrow[3].trim()));
        assert!(narrow.iter().all(|line| line.chars().count() <= 60), "{narrow:?}");
    }
}
