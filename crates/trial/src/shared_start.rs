//! A start that serves several loads: the stack between two trials of a round.

use stampede_linux::interrupt;
use stampede_model::record::{RuntimeRecord, TrialRecord, Validity};
use stampede_stack::{RuntimeError, Stack};

use super::look::Looks;
use super::{NotMeasured, Subject, page};

/// The stack of an earlier trial, if this one goes on with it, and whether the next trial goes on
/// with this one's.
#[derive(Default)]
pub struct SharedStart {
    kept: Option<KeptStack>,
    keeps: bool,
    /// The pages that were asked earlier in the run.
    pub(super) looks: Looks,
}

struct KeptStack {
    stack: Box<dyn Stack>,
    /// Number of the trial that started it.
    started_by: u32,
}

impl SharedStart {
    /// Says whether the next trial goes on with the stack of the one that begins now.
    pub(super) fn set_keeps(&mut self, keeps: bool) {
        self.keeps = keeps;
    }

    /// Whether the trial that begins goes on with a stack.
    pub(super) fn has_stack(&self) -> bool {
        self.kept.is_some()
    }

    /// Takes the stack, if there is one, and notes whose it is.
    pub(super) fn take(&mut self, record: &mut TrialRecord) -> Option<Box<dyn Stack>> {
        let KeptStack { stack, started_by } = self.kept.take()?;
        record.continues = Some(started_by);
        Some(stack)
    }

    /// Keeps the stack for the next trial. Returns it if it is to be stopped: there is no next one,
    /// or this trial has shown that the stack is no longer as it was started.
    pub(super) fn keep<T>(
        &mut self,
        stack: Box<dyn Stack>,
        record: &TrialRecord,
        result: &Result<T, NotMeasured>,
    ) -> Option<Box<dyn Stack>> {
        let is_whole = stack.exited().is_empty() && stack.oom_kills() == 0;
        let is_fit = result.is_ok() && record.verdict.judged != Validity::Invalid && is_whole;
        if !self.keeps || !is_fit || interrupt::is_requested() {
            return Some(stack);
        }
        let started_by = record.continues.unwrap_or(record.number);
        self.kept = Some(KeptStack { stack, started_by });
        None
    }

    /// Stops the stack that no trial goes on with.
    ///
    /// # Errors
    /// The stack was lost before.
    pub(super) fn stop(&mut self) -> Result<(), RuntimeError> {
        self.kept.take().map_or(Ok(()), |kept| kept.stack.stop().map(drop))
    }
}

/// Lets a stack that an earlier load has used answer the page of this one.
///
/// # Errors
/// The page has no answer.
pub(super) fn turn_to(
    stack: &mut dyn Stack,
    subject: &Subject<'_>,
    record: &TrialRecord,
) -> Result<(), NotMeasured> {
    // Who has to log in asks for the page afterwards.
    if record.continues.is_some() && subject.app.manifest.settings.login.is_none() {
        stack.use_page(page(subject))?;
    }
    Ok(())
}

/// The record of a runtime without what only the load that started it has measured.
pub(super) fn of_this_load(runtime: RuntimeRecord, record: &TrialRecord) -> RuntimeRecord {
    match record.continues {
        Some(_) => RuntimeRecord { first_answer_ns: 0, first_request_ns: 0, ..runtime },
        None => runtime,
    }
}
