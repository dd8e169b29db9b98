//! The events of a run. Each event is sent once, and the terminal, the JSON log and the recorder
//! all listen to it.

use serde::Serialize;

use crate::counts::Second;
use crate::cpus::CpuCount;
use crate::record::{CaseRecord, RunRecord, TrialRecord};
use crate::sample::ResourceSample;
use crate::time::Nanos;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Sent before the first trial.
    RunStarted {
        /// The record as written to `run.json`.
        run: &'a RunRecord,
        /// Number of all trials.
        trials: u32,
        /// Expected duration of the whole run.
        expected: Nanos,
        /// Warm-up of each trial. It is part of `expected`.
        warm_up: Nanos,
    },
    /// A message for the user.
    Notice(&'a str),
    /// A trial begins.
    TrialStarted {
        /// Number of the trial, from 1.
        number: u32,
        /// Number of all trials; 0 if it is not known beforehand.
        trials: u32,
        /// Number of the round, from 1.
        round: u32,
        /// The row that is measured.
        case: &'a CaseRecord,
        /// CPUs of the stack's budget. All of them busy is 100 % of CPU.
        budget_cpus: CpuCount,
        /// How long this trial and the rest will take.
        left: RemainingTime,
    },
    /// A phase of the trial begins.
    Phase {
        /// The phase.
        phase: Phase,
        /// How long the phase takes; `None` if that is not known.
        expected: Option<Nanos>,
    },
    /// One second of the load is over.
    Second(&'a Second),
    /// A reading of the monitor.
    Resources(&'a ResourceSample),
    /// A trial ended, for whatever reason.
    TrialEnded {
        /// The record as written to `trial.json`.
        record: &'a TrialRecord,
        /// The row that was measured.
        case: &'a CaseRecord,
    },
    /// Sent after the last trial.
    RunEnded,
}

/// Time left, estimated from the trials so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemainingTime {
    /// Time for the trial that begins.
    pub trial: Nanos,
    /// Time for the trials after it.
    pub after: Nanos,
    /// What happens at the end of this time.
    pub until: RemainingUntil,
}

/// The point up to which the time left is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemainingUntil {
    /// The end of the last trial.
    #[default]
    End,
    /// The moment at which `rounds: auto` decides whether to add more rounds.
    RoundsCheck,
    /// The time limit of a search. The search may end earlier.
    Budget,
}

/// A phase of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Processes start. The phase lasts until the first correct answer.
    Start,
    /// The runtime proves that it serves the same app, before the load and after it.
    Verify,
    /// Load whose results are discarded.
    WarmUp,
    /// Load that is measured.
    Measure,
    /// Requests in flight end.
    Drain,
    /// Processes end.
    Stop,
}

impl Phase {
    /// The word for the phase, in records and on the terminal.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Start => "start",
            Phase::Verify => "verify",
            Phase::WarmUp => "warm-up",
            Phase::Measure => "measure",
            Phase::Drain => "drain",
            Phase::Stop => "stop",
        }
    }
}

/// Receives events in order. A listener never fails: a recorder that cannot write remembers why.
pub trait EventListener {
    /// Receives one event.
    fn event(&mut self, event: &Event<'_>);
}
