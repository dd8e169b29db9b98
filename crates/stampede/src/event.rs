//! What happens, told once: terminal, JSON log and recorder all listen to this.

use serde::Serialize;
use stampede_load::report::Second;
use stampede_load::time::Nanos;

use crate::monitor::sample::ResourceSample;
use crate::store::record::{CaseRecord, RunRecord, TrialRecord};

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Before the first trial.
    RunStarted {
        /// As written to `run.json`.
        run: &'a RunRecord,
        /// Trials in all.
        trials: u32,
        /// Expected length of the whole run.
        expected: Nanos,
        /// Warm-up of each trial, part of it.
        warm_up: Nanos,
    },
    /// Something that the person should know.
    Notice(&'a str),
    /// A trial begins.
    TrialStarted {
        /// 1 for the first.
        number: u32,
        /// Trials in all; 0: not known before.
        trials: u32,
        /// 1 for the first.
        round: u32,
        /// What is measured.
        case: &'a CaseRecord,
        /// CPUs of its stack's budget: 100 % of CPU.
        budget_cpus: u32,
        /// How long it and the rest will take.
        left: Left,
    },
    /// A phase of the trial begins.
    Phase {
        /// Which.
        phase: Phase,
        /// How long it takes, where that is known.
        expected: Option<Nanos>,
    },
    /// A second of the load is over.
    Second(&'a Second),
    /// A reading of the monitor.
    Resources(&'a ResourceSample),
    /// A trial ended, however.
    TrialEnded {
        /// As written to `trial.json`.
        record: &'a TrialRecord,
        /// What was measured.
        case: &'a CaseRecord,
    },
    /// After the last trial.
    RunEnded,
}

/// What is still to come, by what the trials so far took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The trial that begins.
    pub trial: Nanos,
    /// Those after it.
    pub after: Nanos,
    /// What then is.
    pub until: Until,
}

/// Up to when time left is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// The last trial.
    #[default]
    End,
    /// `rounds: auto` looks whether there are more.
    Look,
    /// The end of what may be spent: it may be over before.
    Budget,
}

/// Phases of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Processes start, until the first correct answer.
    Start,
    /// It proves that it serves the same app (before load, and after it).
    Verify,
    /// Discarded load.
    WarmUp,
    /// Measured load.
    Measure,
    /// Requests under way end.
    Drain,
    /// Processes end.
    Stop,
}

/// Takes events in order; never fails: a recorder that cannot write remembers why.
pub trait Listen {
    /// Takes one.
    fn event(&mut self, event: &Event<'_>);
}
