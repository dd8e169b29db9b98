//! What [`crate::detectors`] read and what they return: a pass with that of the reference, what is
//! known before it is judged, and deviations. All functions are pure.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::harness::StepResult;
use super::kinds::FindingKind;
use super::model::{CheckRequest, Step};
use super::nondeterminism::{Nondeterminism, NondeterminismStore};
use super::orders;
use super::signs::Signs;
use super::subject::Subject;
use super::watch::{Turn, Values, Worker};

/// A pass of a worker runtime, with that of the reference.
#[derive(Clone, Debug, Default)]
pub struct PassResult {
    /// The steps that were sent.
    pub steps: Vec<Step>,
    /// The worker runtime's answers; fewer than steps if the pass was ended early.
    pub actual: Vec<StepResult>,
    /// The reference's answers.
    pub reference: Vec<StepResult>,
    /// The reference's answers with the steps that the worker gets at once sent in reverse order;
    /// empty if there are none. Which of them is first depends on chance, and answers may show it.
    pub reversed: Vec<StepResult>,
    /// What the watch recorded in the workers.
    pub workers: Vec<Worker>,
}

/// What is known before a pass is judged.
#[derive(Debug, Default)]
pub struct ReferenceModel {
    /// The reference's name.
    pub reference: String,
    /// Seed of the users' tokens.
    pub seed: u64,
    /// Number of users.
    pub users: u32,
    /// What varies in the answers to a request.
    pub nondeterminism: NondeterminismStore,
    /// What varies in the answers if several requests are sent at once.
    pub nondeterminism_at_once: NondeterminismStore,
    /// Names of surviving state → requests that leave it as it was at the boot.
    pub exonerated: BTreeMap<String, BTreeSet<Arc<CheckRequest>>>,
    /// State that workers have only after a first request: settings of connections, and handlers.
    pub first_use_state: Values,
    /// Answers that were too long to be compared to their end, and show no other user's token.
    pub not_compared: Cell<u32>,
}

impl ReferenceModel {
    /// Returns what varies in the answers to a request.
    pub fn nondeterminism(&self, request: &CheckRequest) -> Nondeterminism {
        self.nondeterminism.get(request).unwrap_or_default()
    }
}

/// A deviation from the reference that a step shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Its kind.
    pub kind: FindingKind,
    /// What it is about; the same each time the deviation is seen.
    pub subject: Subject,
    /// A description in one sentence.
    pub what: String,
    /// The text that shows it.
    pub evidence: String,
    /// What distinguishes it from other deviations of this kind about the same subject.
    pub signs: Signs,
    /// Index of the step that shows it.
    pub at: usize,
}

/// Returns method and target.
pub fn name(request: &CheckRequest) -> String {
    format!("{} {}", request.method, request.target)
}

impl PassResult {
    /// Returns whether some steps were sent at once: then it is not known which request did what.
    pub fn has_overlaps(&self) -> bool {
        self.steps.iter().any(|step| step.with_next)
    }
}

/// The turn of a worker that served one request.
#[derive(Clone, Copy, Debug)]
pub struct ServedTurn<'a> {
    /// What the watch recorded.
    pub turn: &'a Turn,
    /// The worker.
    pub worker: &'a Worker,
    /// Whether the worker has served no later request.
    pub is_last: bool,
}

/// Returns the turns of all workers, by the request's number.
pub fn turns(workers: &[Worker]) -> HashMap<u64, ServedTurn<'_>> {
    let all = workers.iter().flat_map(|worker| {
        let last = worker.turns.len().saturating_sub(1);
        let turns = worker.turns.iter().enumerate();
        turns.filter_map(move |(at, turn)| {
            Some((turn.number?, ServedTurn { turn, worker, is_last: at == last }))
        })
    });
    all.collect()
}

/// Returns the steps that were sent alone and that a worker served: index, step and turn. If
/// requests overlap, it is not known which of them did something.
pub fn served_alone(pass_result: &PassResult) -> Vec<(usize, &Step, ServedTurn<'_>)> {
    let turns = turns(&pass_result.workers);
    let answered = pass_result.actual.iter().zip(&pass_result.steps).enumerate();
    let alone = answered.filter(|(at, _)| orders::moment(&pass_result.steps, *at).len() == 1);
    let served =
        alone.filter_map(|(at, (actual, step))| Some((at, step, *turns.get(&actual.number)?)));
    served.collect()
}

/// Returns a user's name for people: user A, user B …
pub fn user_name(user: u32) -> String {
    format!("user {}", char::from(b'A' + (user % 26) as u8))
}

/// Returns whether a step's request reached a worker. Otherwise the server answered, or nobody.
pub fn has_reached(pass_result: &PassResult, at: usize) -> bool {
    let turns = pass_result.workers.iter().flat_map(|worker| &worker.turns);
    let number = pass_result.actual.get(at).map(|actual| actual.number);
    turns.map(|turn| turn.number).any(|turn| turn.is_some() && turn == number)
}

/// Returns the number of answers of a pass if the watch recorded no turn at all; else 0. A single
/// unrecorded answer may be the server's own, in place of a worker that died.
pub fn unwatched(pass_result: &PassResult) -> usize {
    let count = pass_result.actual.iter().filter(|actual| actual.outcome.is_ok()).count();
    if turns(&pass_result.workers).is_empty() { count } else { 0 }
}

/// Returns how many workers ended unexpectedly: all that served a request, less one.
pub fn lost(pass_result: &PassResult) -> u64 {
    let busy = pass_result.workers.iter().filter(|worker| !worker.turns.is_empty());
    (busy.count() as u64).saturating_sub(1)
}
