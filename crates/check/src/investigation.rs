//! Investigates one runtime, from its first pass to its findings.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use stampede_linux::interrupt;
use stampede_mask::mask_secrets;
use stampede_plan::model::RuntimeChoice;
use stampede_stack::RuntimeError;

use super::analyze::{self, Deviation, PassResult, ReferenceModel};
use super::collateral::{is_collateral, remove_follow_up_deaths};
use super::detectors::{self, state};
use super::harness::{PassRecord, PassRunner, SendOrder, StepResult};
use super::kinds::FindingKind;
use super::model::{CheckRequest, Finding, Step};
use super::nondeterminism::{Nondeterminism, NondeterminismStore};
use super::orders::{self, Pass};
use super::sessions;
use super::subject::{StateName, Subject};

/// The reference, and what it has answered so far.
pub struct Reference<'a> {
    runner: &'a dyn PassRunner,
    choice: &'a RuntimeChoice,
    /// The answers of each pass, in the order of the passes.
    passes: Vec<Answers>,
    /// Answers to shorter lists of steps, by the list.
    known_answers: HashMap<Vec<Step>, Answers>,
    /// What is known before a worker is judged.
    pub known: ReferenceModel,
    /// Number of requests sent to it.
    pub sent: u64,
}

/// The reference's two answers to the same steps.
#[derive(Clone, Debug, Default)]
struct Answers {
    in_turn: Vec<StepResult>,
    /// The answers with the steps of each moment sent in reverse order; empty if no steps are sent
    /// at once.
    reversed: Vec<StepResult>,
}

/// Largest number of fresh starts to find the fewest steps of one finding: enough to find one of a
/// hundred earlier requests.
const TRIALS: usize = 20;
/// Fresh starts to show a finding of requests sent at once again: whether they overlap is chance.
const OVERLAP_TRIALS: usize = 3;
/// Fresh starts to show that a worker ends after its answer: it may have begun the next request by
/// then.
const DEATH_TRIALS: usize = 2;
/// Findings of a kind whose fewest steps are searched for. Others are listed with the steps that
/// showed them.
const MINIMIZED_MAX: usize = 8;
/// Longest list of steps whose answers are kept for the next runtime.
const KEPT: usize = 16;

impl<'a> Reference<'a> {
    /// Returns a reference without any answer.
    pub fn new(runner: &'a dyn PassRunner, choice: &'a RuntimeChoice) -> Reference<'a> {
        let new_store = || NondeterminismStore::new(runner.spill_file());
        let known = ReferenceModel {
            reference: choice.name.clone(),
            nondeterminism: new_store(),
            nondeterminism_at_once: new_store(),
            seed: runner.seed(),
            users: runner.users(),
            ..ReferenceModel::default()
        };
        Reference {
            runner,
            choice,
            passes: Vec::new(),
            known_answers: HashMap::new(),
            known,
            sent: 0,
        }
    }

    /// Runs a pass, and learns what varies in its answers.
    ///
    /// # Errors
    /// The reference does not start.
    pub fn pass(&mut self, steps: &[Step]) -> Result<(), RuntimeError> {
        let answers = self.run_steps(steps)?;
        self.passes.push(answers);
        Ok(())
    }

    /// Runs the steps twice, so that what varies is seen to vary. The reference has one worker too,
    /// so the order of steps sent at once would be chance: they are sent in both orders.
    fn run_steps(&mut self, steps: &[Step]) -> Result<Answers, RuntimeError> {
        let in_turn = self.runner.run_steps(self.choice, steps, SendOrder::InTurn)?.results;
        let reversed = self.runner.run_steps(self.choice, steps, SendOrder::Reversed)?.results;
        self.sent += (in_turn.len() + reversed.len()) as u64;
        learn(&mut self.known, steps, &in_turn, &reversed);
        let is_at_once = steps.iter().any(|step| step.with_next);
        Ok(Answers { in_turn, reversed: if is_at_once { reversed } else { Vec::new() } })
    }

    /// Returns its answers to these steps, sent one after another.
    ///
    /// # Errors
    /// The reference does not start.
    pub fn in_turn(&mut self, steps: &[Step]) -> Result<Vec<StepResult>, RuntimeError> {
        Ok(self.answers(steps)?.in_turn)
    }

    /// Returns its answers to these steps, sent to fresh starts or kept from before.
    fn answers(&mut self, steps: &[Step]) -> Result<Answers, RuntimeError> {
        if let Some(answers) = self.known_answers.get(steps) {
            return Ok(answers.clone());
        }
        let answers = self.run_steps(steps)?;
        if steps.len() <= KEPT {
            self.known_answers.insert(steps.to_vec(), answers.clone());
        }
        Ok(answers)
    }
}

/// Learns what varies: what differs between two answers. For steps sent at once, that includes what
/// depends on which was first. It is learnt apart, because it would hide what depends on the order
/// in other passes.
fn learn(known: &mut ReferenceModel, steps: &[Step], one: &[StepResult], other: &[StepResult]) {
    for (at, (one, other)) in one.iter().zip(other).enumerate() {
        let request = &steps[at].request;
        let (one, other) = (one.text(), other.text());
        match orders::moment(steps, at).len() {
            1 => known.nondeterminism.learn(request, &one, &other, Nondeterminism::new),
            _ => {
                let before = || known.nondeterminism.get(request).unwrap_or_default();
                known.nondeterminism_at_once.learn(request, &one, &other, before);
            }
        }
    }
}

/// Returns a pass as steps.
pub fn steps(pass: &Pass, requests: &[Arc<CheckRequest>]) -> Vec<Step> {
    let step = |(at, &(user, request)): (usize, &(u32, usize))| Step {
        user,
        request: Arc::clone(&requests[request]),
        with_next: (at + 1) % pass.at_once != 0,
    };
    pass.steps.iter().enumerate().map(step).collect()
}

/// The investigation of one runtime.
pub struct Investigation<'a> {
    runner: &'a dyn PassRunner,
    choice: &'a RuntimeChoice,
    /// Number of requests sent to its workers.
    pub sent: u64,
    /// Number of workers that ended unexpectedly.
    pub lost: u64,
    /// Number of answers without any record of the watch.
    pub unwatched: usize,
    /// Number of deviations that were seen once, but that no fresh start showed again.
    pub chance: u32,
    /// All passes so far.
    pass_results: Vec<PassResult>,
}

/// A deviation before its fewest steps are known.
struct Candidate {
    deviation: Deviation,
    pass: usize,
}

impl Candidate {
    /// Adds another sighting of the same deviation. The better of both is kept, with the signs of
    /// both.
    fn merge(&mut self, other: &Candidate, is_better: bool) {
        let mut signs = std::mem::take(&mut self.deviation.signs);
        signs.extend(other.deviation.signs.iter().cloned());
        if is_better {
            (self.deviation, self.pass) = (other.deviation.clone(), other.pass);
        }
        self.deviation.signs = signs;
    }
}

impl<'a> Investigation<'a> {
    /// Returns an investigation before its first pass.
    pub fn new(runner: &'a dyn PassRunner, choice: &'a RuntimeChoice) -> Investigation<'a> {
        Investigation {
            runner,
            choice,
            sent: 0,
            lost: 0,
            unwatched: 0,
            chance: 0,
            pass_results: Vec::new(),
        }
    }

    /// Runs a pass that the reference has run before.
    ///
    /// # Errors
    /// The runtime does not start.
    pub fn pass(&mut self, steps: &[Step], reference: &Reference<'_>) -> Result<(), RuntimeError> {
        let record = self.run_steps(steps)?;
        let pass_result =
            pass_result(steps, record, reference.passes[self.pass_results.len()].clone());
        self.lost += analyze::lost(&pass_result);
        self.unwatched += analyze::unwatched(&pass_result);
        self.pass_results.push(pass_result);
        Ok(())
    }

    /// Returns the number of passes so far.
    pub fn pass_count(&self) -> u32 {
        self.pass_results.len() as u32
    }

    fn run_steps(&mut self, steps: &[Step]) -> Result<PassRecord, RuntimeError> {
        let record = self.runner.run_steps(self.choice, steps, SendOrder::AtOnce)?;
        self.sent += record.results.len() as u64;
        Ok(record)
    }

    /// Returns the findings of the passes, each with the fewest steps that show it again. Calls
    /// `announce` with each before it is investigated. If a fresh start fails, or the user wants to
    /// end, the remaining ones are returned as they were seen, with the error.
    pub fn findings(
        &mut self,
        reference: &mut Reference<'_>,
        mut announce: impl FnMut(&str),
    ) -> (Vec<Finding>, Option<RuntimeError>) {
        let in_turn = self.pass_results.iter().filter(|pass_result| !pass_result.has_overlaps());
        reference.known.first_use_state = sessions::first_use_state(in_turn);
        for pass_result in &mut self.pass_results {
            sessions::fill(&mut pass_result.workers, &reference.known.first_use_state);
        }
        reference.known.exonerated = state::exonerated(&self.pass_results);
        let mut minimized: HashMap<FindingKind, usize> = HashMap::new();
        let (mut findings, mut failed) = (Vec::new(), None);
        for candidate in self.candidates(&reference.known) {
            let count = minimized.entry(candidate.deviation.kind).or_default();
            *count += 1;
            if *count > MINIMIZED_MAX {
                findings.push(self.not_minimized(&candidate));
                continue;
            }
            if interrupt::is_requested() || failed.is_some() {
                findings.push(self.as_seen(&candidate));
                continue;
            }
            announce(&candidate.deviation.what);
            match self.minimize(&candidate, reference) {
                Ok(Some(finding)) => findings.push(finding),
                Ok(None) => self.chance += 1,
                Err(error) => {
                    findings.push(self.as_seen(&candidate));
                    failed = Some(error);
                }
            }
        }
        remove_follow_up_deaths(&mut findings);
        (findings, failed)
    }

    /// Returns each deviation once: if possible where requests sent one after another showed it,
    /// and there with the fewest steps before it.
    fn candidates(&self, known: &ReferenceModel) -> Vec<Candidate> {
        let mut first: BTreeMap<(usize, Subject), Candidate> = BTreeMap::new();
        for (pass, pass_result) in self.pass_results.iter().enumerate() {
            let all = detectors::deviations(pass_result, known);
            let seen = first.values().map(|candidate| &candidate.deviation);
            let deadly = seen.filter(|deviation| deviation.kind.row().ends_worker);
            let deadly: BTreeSet<Subject> =
                deadly.map(|deviation| deviation.subject.clone()).collect();
            let own = all
                .iter()
                .filter(|deviation| !is_collateral(deviation, &all, pass_result, &deadly));
            for deviation in own {
                let key = (deviation.kind.rank(), deviation.subject.clone());
                match first.entry(key) {
                    Entry::Vacant(place) => {
                        place.insert(Candidate { deviation: deviation.clone(), pass });
                    }
                    Entry::Occupied(mut known) => {
                        let (known, rank) = (known.get_mut(), |pass, at| self.rank(pass, at));
                        let is_better =
                            rank(pass, deviation.at) < rank(known.pass, known.deviation.at);
                        known.merge(&Candidate { deviation: deviation.clone(), pass }, is_better);
                    }
                }
            }
        }
        let is_implied = |candidate: &Candidate| {
            let Deviation { kind, subject, .. } = &candidate.deviation;
            let mut worse = kind.row().implied_by.iter();
            worse.any(|kind| first.contains_key(&(kind.rank(), subject.clone())))
        };
        let keys = first.iter().filter(|(_, one)| !is_implied(one)).map(|(key, _)| key.clone());
        let keys: Vec<_> = keys.collect();
        let mut candidates: Vec<Candidate> =
            keys.into_iter().filter_map(|key| first.remove(&key)).collect();
        // Sorted as people search for them.
        candidates.sort_by_cached_key(|one| {
            (one.deviation.kind.rank(), one.deviation.subject.to_string())
        });
        candidates
    }

    /// Ranks a sighting. Without others sent at once, and with the fewest steps before, it is the
    /// lowest.
    fn rank(&self, pass: usize, at: usize) -> (bool, usize) {
        (orders::moment(&self.pass_results[pass].steps, at).len() > 1, at)
    }

    /// Returns the steps sent until the deviation was shown, moment by moment.
    fn prefix(&self, candidate: &Candidate) -> Vec<Vec<Step>> {
        let steps = &self.pass_results[candidate.pass].steps;
        let end = orders::moment(steps, candidate.deviation.at).end;
        let moments = orders::moments(&steps[..end]).into_iter();
        moments.map(|moment| steps[moment].to_vec()).collect()
    }

    /// Returns a finding of which there are many, with only the moment that showed it: otherwise
    /// all steps before would be listed for each.
    fn not_minimized(&self, candidate: &Candidate) -> Finding {
        let steps = &self.pass_results[candidate.pass].steps;
        let moment = orders::moment(steps, candidate.deviation.at);
        finding(&candidate.deviation, steps[moment].to_vec(), false)
    }

    fn as_seen(&self, candidate: &Candidate) -> Finding {
        finding(&candidate.deviation, self.prefix(candidate).concat(), false)
    }

    /// Shows the deviation again with as few steps as possible. Returns `None` if no fresh start
    /// shows it again, because it was chance then; very severe kinds are returned as seen.
    fn minimize(
        &mut self,
        candidate: &Candidate,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Finding>, RuntimeError> {
        let mut last = None;
        let mut shows = |investigation: &mut Self, steps: &[Step]| -> Result<bool, RuntimeError> {
            let again = investigation.reproduce_steps(steps, &candidate.deviation, reference)?;
            let shows = again.is_some();
            last = again.or(last.take());
            Ok(shows)
        };
        let moments = self.prefix(candidate);
        let fewest = orders::shrink(&moments, TRIALS, |moments| shows(self, &moments.concat()))?;
        let mut steps = fewest.steps;
        if let Some(moment) = steps.pop().filter(|_| fewest.is_shown) {
            let before = steps.concat();
            let moment = orders::shrink_moment(moment, TRIALS, |moment| {
                shows(self, &[&before[..], moment].concat())
            })?;
            steps.push(moment);
        }
        Ok(match last {
            Some(mut deviation) if fewest.is_shown => {
                deviation.signs.extend(candidate.deviation.signs.iter().cloned());
                Some(finding(&deviation, steps.concat(), true))
            }
            _ if candidate.deviation.kind.row().needs_confirmation => None,
            _ => Some(self.as_seen(candidate)),
        })
    }

    /// Returns what shows a finding of an earlier check again, with its steps alone; `None` if
    /// nothing does.
    ///
    /// # Errors
    /// A fresh start fails.
    pub fn reproduce(
        &mut self,
        finding: &Finding,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Deviation>, RuntimeError> {
        let Some(last) = finding.steps.last() else { return Ok(None) };
        let state = finding.subject.state();
        if let Some(state) = state {
            // The earlier check has seen that this request does not set the state.
            let exonerated = &mut reference.known.exonerated;
            exonerated.entry(state.to_string()).or_default().insert(last.request.clone());
        }
        if state.is_some_and(StateName::is_set_on_first_use) {
            // Alone, the request shows the state that it normally begins with, unless it is also
            // the one to blame.
            let before = &finding.steps[..finding.steps.len() - 1];
            let is_blamed = before.iter().any(|step| step.request == last.request);
            let alone = if is_blamed { first_page() } else { last.clone() };
            let steps = vec![Step { with_next: false, ..alone }];
            let alone = pass_result(&steps, self.run_steps(&steps)?, Answers::default());
            reference.known.first_use_state = sessions::first_use_state([&alone]);
        }
        let sought = Deviation {
            kind: finding.kind,
            subject: finding.subject.clone(),
            what: String::new(),
            evidence: String::new(),
            signs: super::signs::Signs::new(),
            at: 0,
        };
        self.reproduce_steps(&finding.steps, &sought, reference)
    }

    /// Returns what shows the same deviation in the last moment of these steps, sent to fresh
    /// starts.
    fn reproduce_steps(
        &mut self,
        steps: &[Step],
        sought: &Deviation,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Deviation>, RuntimeError> {
        let Some(last) = orders::moments(steps).pop() else { return Ok(None) };
        let mut sent = steps.to_vec();
        // One more request is needed: another worker serves it if the first one ended after its
        // answer.
        let ends_worker = sought.kind.row().ends_worker;
        if ends_worker {
            let steps = self.pass_results.first().map_or(&[][..], |pass_result| &pass_result.steps);
            let other = steps.iter().find(|step| !sought.subject.is_request(&step.request));
            sent.push(
                other.map_or_else(first_page, |step| Step { with_next: false, ..step.clone() }),
            );
        }
        let answers = reference.answers(&sent)?;
        let times = match last.len() {
            2.. => OVERLAP_TRIALS,
            _ if ends_worker => DEATH_TRIALS,
            _ => 1,
        };
        for _ in 0..times {
            let mut record = self.run_steps(&sent)?;
            sessions::fill(&mut record.workers, &reference.known.first_use_state);
            let pass_result = pass_result(&sent, record, answers.clone());
            let all = detectors::deviations(&pass_result, &reference.known).into_iter();
            let mut same = all.filter(|deviation| {
                (deviation.kind, &deviation.subject) == (sought.kind, &sought.subject)
            });
            if let Some(deviation) = same.find(|deviation| last.contains(&deviation.at)) {
                return Ok(Some(deviation));
            }
        }
        Ok(None)
    }
}

fn pass_result(steps: &[Step], record: PassRecord, answers: Answers) -> PassResult {
    let Answers { in_turn: reference, reversed } = answers;
    PassResult {
        steps: steps.to_vec(),
        actual: record.results,
        reference,
        reversed,
        workers: record.workers,
    }
}

fn first_page() -> Step {
    let (method, target) = ("GET".to_owned(), "/".to_owned());
    let request = Arc::new(CheckRequest { method, target, ..CheckRequest::default() });
    Step { user: 0, request, with_next: false }
}

fn finding(deviation: &Deviation, steps: Vec<Step>, is_repeatable: bool) -> Finding {
    Finding {
        number: 0,
        kind: deviation.kind,
        about: deviation.subject.to_string(),
        subject: deviation.subject.clone(),
        what: deviation.what.clone(),
        evidence: deviation.evidence.clone(),
        steps,
        is_repeatable,
        places: Vec::new(),
        fingerprint: mask_secrets(
            &format!("{} {}", deviation.kind.row().id, deviation.subject).to_lowercase(),
        ),
        signs: deviation.signs.clone(),
        is_accepted: false,
    }
}

#[cfg(test)]
#[path = "investigation_tests.rs"]
mod tests;
