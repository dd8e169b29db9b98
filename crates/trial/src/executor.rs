//! Executes a run: every trial of every round in order, and as many rounds as `rounds` asks for.

use std::time::Instant;

use stampede_linux::interrupt;
use stampede_model::causes::chain;
use stampede_model::event::{Event, EventListener, RemainingTime, RemainingUntil};
use stampede_model::fact::{Fact, Look, Notice};
use stampede_model::record::{
    AutoCheckRecord, AutoEnd, AutoRecord, RunRecord, Starts, TrialRecord, Validity,
};
use stampede_model::time::Nanos;
use stampede_plan::model::Rounds;
use stampede_results::store::{self, RunDirectory, StoreError};
use stampede_results::summary::{RunData, narrow, summarize};
use stampede_stats::rounds::{LOOKS, next_look};

use super::comparison::Comparison;
use super::time_left::TimeLeft;
use super::{Retry, SharedStart, Subject, cases, look, trial};

/// The number of rounds that are planned before the first trial, and the initial record of `auto`.
pub fn first_rounds(rounds: Rounds) -> (u32, Option<AutoRecord>) {
    match rounds {
        Rounds::Fixed(rounds) => (rounds, None),
        Rounds::Auto { precision, max_time } => {
            let auto = AutoRecord {
                precision_share: precision,
                max_time_ns: max_time.0,
                looks: Vec::new(),
                ended: None,
            };
            (next_look(0).unwrap_or(1), Some(auto))
        }
    }
}

/// The notice about what `rounds: auto` will do. The length shown before the run reaches only to
/// the first look.
pub fn auto_rounds_notice(rounds: Rounds) -> Option<Notice> {
    let Rounds::Auto { precision, max_time } = rounds else { return None };
    Some(Notice::RoundsAuto { looks: LOOKS.to_vec(), precision, max_time_ns: max_time.0 })
}

impl Comparison {
    /// Runs every trial and writes each as it ends. Ctrl-C ends the run early and in order.
    ///
    /// # Errors
    /// Only when results cannot be written: the record is the purpose of the run.
    pub fn run(
        &self,
        directory: &mut RunDirectory,
        listener: &mut dyn EventListener,
    ) -> Result<(), StoreError> {
        let (first, others): (Vec<_>, Vec<_>) = self
            .record
            .notices
            .iter()
            .partition(|one| one.known().is_some_and(Notice::comes_first));
        for notice in first {
            listener.event(&Event::Notice(&notice.to_string()));
        }
        listener.event(&Event::RunStarted {
            run: &self.record,
            trials: self.trials(),
            expected: self.expected(),
            warm_up: self.warm_up(),
        });
        for notice in others {
            listener.event(&Event::Notice(&notice.to_string()));
        }
        if self.seams.sends_here
            && let Err(error) = stampede_keeper::place_self(&self.places.split.load)
        {
            listener.event(&Event::Notice(&chain(&error)));
        }
        let mut executor = RunExecutor {
            comparison: self,
            directory,
            listener,
            record: self.record.clone(),
            left: TimeLeft::new((0..self.cases.len()).map(|case| self.expected_trial_length(case))),
            counted: vec![0; self.cases.len()],
            given_up: Vec::new(),
            start: SharedStart::default(),
            number: 0,
            begun: Instant::now(),
        };
        let ended = executor.rounds();
        // A round that was interrupted leaves a stack for a load that does not come.
        let stopped = executor.start.stop();
        ended?;
        if let Err(error) = stopped {
            listener.event(&Event::Notice(&chain(&error)));
        }
        listener.event(&Event::RunEnded);
        Ok(())
    }
}

/// A run in progress.
struct RunExecutor<'a> {
    comparison: &'a Comparison,
    directory: &'a mut RunDirectory,
    listener: &'a mut dyn EventListener,
    /// The run's record as on disk. Its `order` grows during the run.
    record: RunRecord,
    left: TimeLeft,
    /// The number of trials that count, by case.
    counted: Vec<u32>,
    /// The cases that would end the same way however often they are tried.
    given_up: Vec<usize>,
    /// The stack that the next trial goes on with.
    start: SharedStart,
    /// The number of the last trial that began; the first trial has 1.
    number: u32,
    begun: Instant,
}

/// Whether the run goes on.
#[derive(PartialEq, Eq)]
enum Continue {
    On,
    End,
}

impl RunExecutor<'_> {
    fn rounds(&mut self) -> Result<(), StoreError> {
        let mut round = 0;
        while round < self.record.order.len() {
            let mut place = 0;
            while place < self.record.order[round].len() {
                if interrupt::is_requested() {
                    self.listener.event(&Event::Notice("interrupted: the results so far are kept"));
                    return Ok(());
                }
                self.one(round, place)?;
                place += 1;
            }
            round += 1;
            if self.record.auto.is_some()
                && !interrupt::is_requested()
                && self.decide_after(round)? == Continue::End
            {
                break;
            }
        }
        Ok(())
    }

    fn one(&mut self, round: usize, place: usize) -> Result<(), StoreError> {
        let comparison = self.comparison;
        let index = self.record.order[round][place];
        let case = &comparison.cases[index];
        let named = &comparison.record.cases[index];
        let placement = &comparison.places.placements[case.cpus];
        self.number += 1;
        let after = self.record.order[round][place + 1..]
            .iter()
            .chain(self.record.order[round + 1..].iter().flatten());
        self.listener.event(&Event::TrialStarted {
            number: self.number,
            trials: u32::try_from(self.record.trials()).unwrap_or(u32::MAX),
            round: round as u32 + 1,
            case: named,
            budget_cpus: placement.budget_cpus(),
            left: RemainingTime {
                trial: self.left.of(index),
                after: after.fold(Nanos(0), |sum, &case| sum.plus(self.left.of(case))),
                until: if self.record.auto.is_some() {
                    RemainingUntil::RoundsCheck
                } else {
                    RemainingUntil::End
                },
            },
        });
        let name = format!("{}-{}-{}", named.runtime, named.app, named.load);
        let mut record = comparison.empty_record(self.number, round as u32 + 1, index);
        let mut trial_directory = self.directory.trial(&record, &name)?;
        let load = &comparison.plan.loads[case.load];
        let alike = comparison.cases.iter().filter(|other| other.has_the_stack_of(case));
        let subject = Subject {
            runtime: &comparison.plan.stack.runtimes[case.runtime],
            app: &comparison.apps[case.app],
            load,
            others: look::others(load, alike.map(|other| &comparison.plan.loads[other.load])),
        };
        let ctx = comparison.ctx(placement);
        self.start.set_keeps(self.goes_on(round, place));
        let sent = trial(
            &ctx,
            &subject,
            &mut self.start,
            &mut record,
            &mut trial_directory,
            self.listener,
        );
        // Written before the trial is finished on disk, so that an incomplete run never looks
        // complete.
        match &sent {
            Err(error) if error.retry() == Retry::Futile => self.give_up(round, index)?,
            _ => self.repeat(round, &record)?,
        }
        trial_directory.finish(&record, sent.as_ref().ok().map(|sent| &sent.times))?;
        self.listener.event(&Event::TrialEnded { record: &record, case: named });
        self.left.record_trial(index, &record);
        Ok(())
    }

    /// Whether the next trial of the round goes on with the start of this one: it has a later load
    /// for the same stack. A repeated trial of an earlier load has a start of its own.
    fn goes_on(&self, round: usize, place: usize) -> bool {
        let (order, cases) = (&self.record.order[round], &self.comparison.cases);
        let this = &cases[order[place]];
        let next = order.get(place + 1).map(|&next| &cases[next]);
        self.record.starts == Starts::PerRound
            && next.is_some_and(|next| next.has_the_stack_of(this) && next.load > this.load)
    }

    /// Repeats an invalid trial at the end of its round, when the disturbance may be over. A case
    /// that had no valid trial in the earlier rounds is not repeated.
    fn repeat(&mut self, round: usize, ended: &TrialRecord) -> Result<(), StoreError> {
        let case = ended.case;
        if ended.verdict.judged != Validity::Invalid {
            self.counted[case] += 1;
            return Ok(());
        }
        let tried = self.record.order[round].iter().filter(|other| **other == case).count();
        let may_be_chance = round == 0 || self.counted[case] > 0;
        if tried > self.comparison.plan.repeat_invalid as usize
            || !may_be_chance
            || interrupt::is_requested()
        {
            return Ok(());
        }
        self.record.order[round].push(case);
        self.directory.rewrite(&self.record)
    }

    /// Leaves a case whose trial would end the same way again out of all later rounds.
    fn give_up(&mut self, round: usize, case: usize) -> Result<(), StoreError> {
        self.given_up.push(case);
        if self.leave_out(round + 1) { self.directory.rewrite(&self.record) } else { Ok(()) }
    }

    /// Removes the cases that were given up from this round and all later ones. Returns whether any
    /// was removed.
    fn leave_out(&mut self, from: usize) -> bool {
        let before = self.record.trials();
        for round in self.record.order.iter_mut().skip(from) {
            round.retain(|case| !self.given_up.contains(case));
        }
        self.record.trials() < before
    }

    /// Decides after a number of rounds of `auto` whether another one begins.
    fn decide_after(&mut self, rounds: usize) -> Result<Continue, StoreError> {
        let planned = rounds == self.record.order.len();
        if planned && self.check_precision(rounds as u32)? == Continue::End {
            return Ok(Continue::End);
        }
        let Some(auto) = &self.record.auto else { return Ok(Continue::On) };
        let next = self.record.order[rounds]
            .iter()
            .fold(Nanos(0), |sum, &case| sum.plus(self.left.of(case)));
        let spent = self.begun.elapsed().as_nanos() as u64;
        if spent + next.0 <= auto.max_time_ns {
            return Ok(Continue::On);
        }
        let rounds_done = rounds as u32;
        let (next_round_ns, max_time_ns) = (next.0, auto.max_time_ns);
        let found = Look::MaxTime { rounds: rounds_done, next_round_ns, max_time_ns };
        self.end(rounds, AutoEnd::MaxTime, found)
    }

    /// Summarizes what is on disk, as the report will, and decides whether the result is precise
    /// enough.
    fn check_precision(&mut self, rounds: u32) -> Result<Continue, StoreError> {
        let Some(auto) = &self.record.auto else { return Ok(Continue::End) };
        let precision = auto.precision_share;
        let stored = store::read_run(self.directory.path())?;
        let summary = summarize(&RunData::read(&stored)?);
        let widest = narrow::widest(&summary, precision);
        if widest.is_narrow() {
            let found = Look::Enough { rounds, widest };
            return self.end(rounds as usize, AutoEnd::Precision, found);
        }
        let Some(next) = next_look(rounds) else {
            let found = Look::Over { rounds, widest };
            return self.end(rounds as usize, AutoEnd::Rounds, found);
        };
        let how = (self.record.seed, self.record.starts);
        self.record.order =
            cases::extend_order(&self.comparison.cases, &self.record.order, next, how);
        self.leave_out(rounds as usize);
        self.record.rounds = next;
        self.record_look(rounds, Look::GoesOn { rounds, next, widest });
        self.directory.rewrite(&self.record)?;
        Ok(Continue::On)
    }

    fn end(&mut self, rounds: usize, why: AutoEnd, found: Look) -> Result<Continue, StoreError> {
        // Rounds that were planned and not begun do not count as missing.
        self.record.order.truncate(rounds);
        self.record.rounds = rounds as u32;
        self.record_look(rounds as u32, found);
        if let Some(auto) = &mut self.record.auto {
            auto.ended = Some(why);
        }
        self.directory.rewrite(&self.record)?;
        Ok(Continue::End)
    }

    fn record_look(&mut self, rounds: u32, found: Look) {
        let found = Fact::from(found);
        self.listener.event(&Event::Notice(&found.to_string()));
        if let Some(auto) = &mut self.record.auto {
            auto.looks.push(AutoCheckRecord { rounds, found });
        }
    }
}
