//! Investigates one runtime, from its first pass to its findings.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::analyze::{self, Known, PassResult, Shown};
use super::harness::{Gone, SendOrder, Starts, StepResult};
use super::model::{Asked, Finding, FindingKind, Step};
use super::nondeterminism::{Learnt, Nondeterminism};
use super::orders::{self, Pass};
use super::sessions;
use super::subject::{StateName, Subject};
use crate::interrupt;
use crate::plan::model::RuntimeChoice;
use crate::runtime::RuntimeError;
use crate::store::mask_secrets;

/// The reference, and what it has answered so far.
pub struct Reference<'a> {
    starts: &'a dyn Starts,
    choice: &'a RuntimeChoice,
    /// The answers of each pass, in the order of the passes.
    passes: Vec<Answers>,
    /// Answers to shorter lists of steps, by the list.
    asked: HashMap<Vec<Step>, Answers>,
    /// What is known before a worker is judged.
    pub known: Known,
    /// Number of requests sent to it.
    pub sent: u64,
}

/// The reference's two answers to the same steps.
#[derive(Clone, Debug, Default)]
struct Answers {
    in_turn: Vec<StepResult>,
    /// The answers with the steps of each moment sent in reverse order; empty if no steps are sent
    /// at once.
    turned: Vec<StepResult>,
}

/// Largest number of fresh starts to find the fewest steps of one finding: enough to find one of a
/// hundred earlier requests.
const TRIALS: usize = 20;
/// Fresh starts to show a finding of requests sent at once again: whether they overlap is chance.
const MEETINGS: usize = 3;
/// Fresh starts to show that a worker ends after its answer: it may have begun the next request by
/// then.
const DEATHS: usize = 2;
/// Findings of a kind whose fewest steps are searched for. Others are listed with the steps that
/// showed them.
const SETTLED: usize = 8;
/// Longest list of steps whose answers are kept for the next runtime.
const KEPT: usize = 16;

impl<'a> Reference<'a> {
    /// Returns a reference without any answer.
    pub fn new(starts: &'a dyn Starts, choice: &'a RuntimeChoice) -> Reference<'a> {
        let learnt = || Learnt::on(starts.spill_file());
        let known = Known {
            reference: choice.name.clone(),
            nondeterminism: learnt(),
            nondeterminism_at_once: learnt(),
            seed: starts.seed(),
            users: starts.users(),
            ..Known::default()
        };
        Reference { starts, choice, passes: Vec::new(), asked: HashMap::new(), known, sent: 0 }
    }

    /// Runs a pass, and learns what varies in its answers.
    ///
    /// # Errors
    /// The reference does not start.
    pub fn pass(&mut self, steps: &[Step]) -> Result<(), RuntimeError> {
        let answers = self.go(steps)?;
        self.passes.push(answers);
        Ok(())
    }

    /// Runs the steps twice, so that what varies is seen to vary. The reference has one worker too,
    /// so the order of steps sent at once would be chance: they are sent in both orders.
    fn go(&mut self, steps: &[Step]) -> Result<Answers, RuntimeError> {
        let in_turn = self.starts.go(self.choice, steps, SendOrder::InTurn)?.seen;
        let turned = self.starts.go(self.choice, steps, SendOrder::Turned)?.seen;
        self.sent += (in_turn.len() + turned.len()) as u64;
        learn(&mut self.known, steps, &in_turn, &turned);
        let is_at_once = steps.iter().any(|step| step.with_next);
        Ok(Answers { in_turn, turned: if is_at_once { turned } else { Vec::new() } })
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
        if let Some(answers) = self.asked.get(steps) {
            return Ok(answers.clone());
        }
        let answers = self.go(steps)?;
        if steps.len() <= KEPT {
            self.asked.insert(steps.to_vec(), answers.clone());
        }
        Ok(answers)
    }
}

/// Learns what varies: what differs between two answers. For steps sent at once, that includes what
/// depends on which was first. It is learnt apart, because it would hide what depends on the order
/// in other passes.
fn learn(known: &mut Known, steps: &[Step], one: &[StepResult], other: &[StepResult]) {
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
pub fn steps(pass: &Pass, requests: &[Arc<Asked>]) -> Vec<Step> {
    let step = |(at, &(user, request)): (usize, &(u32, usize))| Step {
        user,
        request: Arc::clone(&requests[request]),
        with_next: (at + 1) % pass.at_once != 0,
    };
    pass.steps.iter().enumerate().map(step).collect()
}

/// The investigation of one runtime.
pub struct Investigation<'a> {
    starts: &'a dyn Starts,
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
    pass_result: Vec<PassResult>,
    /// What the answers of each pass have shown.
    answered: Vec<Vec<Shown>>,
}

/// A deviation before its fewest steps are known.
struct Candidate {
    shown: Shown,
    pass: usize,
}

impl Candidate {
    /// Adds another sighting of the same deviation. The better of both is kept, with the signs of
    /// both.
    fn also(&mut self, other: &Candidate, is_better: bool) {
        let mut signs = std::mem::take(&mut self.shown.signs);
        signs.extend(other.shown.signs.iter().cloned());
        if is_better {
            (self.shown, self.pass) = (other.shown.clone(), other.pass);
        }
        self.shown.signs = signs;
    }
}

impl<'a> Investigation<'a> {
    /// Returns an investigation before its first pass.
    pub fn new(starts: &'a dyn Starts, choice: &'a RuntimeChoice) -> Investigation<'a> {
        let (pass_result, answered) = (Vec::new(), Vec::new());
        Investigation {
            starts,
            choice,
            sent: 0,
            lost: 0,
            unwatched: 0,
            chance: 0,
            pass_result,
            answered,
        }
    }

    /// Runs a pass that the reference has run before.
    ///
    /// # Errors
    /// The runtime does not start.
    pub fn pass(&mut self, steps: &[Step], reference: &Reference<'_>) -> Result<(), RuntimeError> {
        let gone = self.go(steps)?;
        let pass_result =
            pass_result(steps, gone, reference.passes[self.pass_result.len()].clone());
        self.lost += analyze::lost(&pass_result);
        self.unwatched += analyze::unwatched(&pass_result);
        self.answered.push(analyze::answered(&pass_result, &reference.known));
        self.pass_result.push(pass_result);
        Ok(())
    }

    /// Returns the number of passes so far.
    pub fn gone(&self) -> u32 {
        self.pass_result.len() as u32
    }

    fn go(&mut self, steps: &[Step]) -> Result<Gone, RuntimeError> {
        let gone = self.starts.go(self.choice, steps, SendOrder::AtOnce)?;
        self.sent += gone.seen.len() as u64;
        Ok(gone)
    }

    /// Returns the findings of the passes, each with the fewest steps that show it again. Calls
    /// `told` with each before it is investigated. If a fresh start fails, or the user wants to
    /// end, the remaining ones are returned as they were seen, with the error.
    pub fn findings(
        &mut self,
        reference: &mut Reference<'_>,
        mut told: impl FnMut(&str),
    ) -> (Vec<Finding>, Option<RuntimeError>) {
        let in_turn = self.pass_result.iter().filter(|pass_result| !pass_result.has_meetings());
        reference.known.made = sessions::made(in_turn);
        for pass_result in &mut self.pass_result {
            sessions::fill(&mut pass_result.workers, &reference.known.made);
        }
        reference.known.exonerated = analyze::exonerated(&self.pass_result);
        let mut settled: BTreeMap<FindingKind, usize> = BTreeMap::new();
        let (mut findings, mut failed) = (Vec::new(), None);
        for candidate in self.candidates(&reference.known) {
            let count = settled.entry(candidate.shown.kind).or_default();
            *count += 1;
            if *count > SETTLED {
                findings.push(self.unsettled(&candidate));
                continue;
            }
            if interrupt::is_requested() || failed.is_some() {
                findings.push(self.as_seen(&candidate));
                continue;
            }
            told(&candidate.shown.what);
            match self.settle(&candidate, reference) {
                Ok(Some(finding)) => findings.push(finding),
                Ok(None) => self.chance += 1,
                Err(error) => {
                    findings.push(self.as_seen(&candidate));
                    failed = Some(error);
                }
            }
        }
        blamed_alone(&mut findings);
        (findings, failed)
    }

    /// Returns each deviation once: if possible where requests sent one after another showed it,
    /// and there with the fewest steps before it.
    fn candidates(&self, known: &Known) -> Vec<Candidate> {
        let mut first: BTreeMap<(FindingKind, Subject), Candidate> = BTreeMap::new();
        for (pass, pass_result) in self.pass_result.iter().enumerate() {
            let all =
                [&self.answered[pass][..], &analyze::state_leaks(pass_result, known)].concat();
            let deadly = first.keys().filter(|(kind, _)| *kind == FindingKind::Death);
            let deadly: BTreeSet<Subject> = deadly.map(|(_, subject)| subject.clone()).collect();
            let own = all.iter().filter(|shown| !is_collateral(shown, &all, pass_result, &deadly));
            for shown in own {
                let key = (shown.kind, shown.subject.clone());
                match first.entry(key) {
                    Entry::Vacant(place) => {
                        place.insert(Candidate { shown: shown.clone(), pass });
                    }
                    Entry::Occupied(mut known) => {
                        let (known, rank) = (known.get_mut(), |pass, at| self.rank(pass, at));
                        let is_better = rank(pass, shown.at) < rank(known.pass, known.shown.at);
                        known.also(&Candidate { shown: shown.clone(), pass }, is_better);
                    }
                }
            }
        }
        let is_told = |candidate: &Candidate| {
            let subject = &candidate.shown.subject;
            let worse = [FindingKind::Leak, FindingKind::Death];
            candidate.shown.kind == FindingKind::Answer
                && worse.iter().any(|kind| first.contains_key(&(*kind, subject.clone())))
        };
        let keys = first.iter().filter(|(_, one)| !is_told(one)).map(|(key, _)| key.clone());
        let keys: Vec<_> = keys.collect();
        let mut told: Vec<Candidate> =
            keys.into_iter().filter_map(|key| first.remove(&key)).collect();
        // Sorted as people search for them.
        told.sort_by_cached_key(|one| (one.shown.kind, one.shown.subject.to_string()));
        told
    }

    /// Ranks a sighting. Without others sent at once, and with the fewest steps before, it is the
    /// lowest.
    fn rank(&self, pass: usize, at: usize) -> (bool, usize) {
        (orders::moment(&self.pass_result[pass].steps, at).len() > 1, at)
    }

    /// Returns the steps sent until the deviation was shown, moment by moment.
    fn prefix(&self, candidate: &Candidate) -> Vec<Vec<Step>> {
        let steps = &self.pass_result[candidate.pass].steps;
        let end = orders::moment(steps, candidate.shown.at).end;
        let moments = orders::moments(&steps[..end]).into_iter();
        moments.map(|moment| steps[moment].to_vec()).collect()
    }

    /// Returns a finding of which there are many, with only the moment that showed it: otherwise
    /// all steps before would be listed for each.
    fn unsettled(&self, candidate: &Candidate) -> Finding {
        let steps = &self.pass_result[candidate.pass].steps;
        let moment = orders::moment(steps, candidate.shown.at);
        finding(&candidate.shown, steps[moment].to_vec(), false)
    }

    fn as_seen(&self, candidate: &Candidate) -> Finding {
        finding(&candidate.shown, self.prefix(candidate).concat(), false)
    }

    /// Shows the deviation again with as few steps as possible. Returns `None` if no fresh start
    /// shows it again, because it was chance then; very severe kinds are returned as seen.
    fn settle(
        &mut self,
        candidate: &Candidate,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Finding>, RuntimeError> {
        let mut last = None;
        let mut shows = |investigation: &mut Self, steps: &[Step]| -> Result<bool, RuntimeError> {
            let again = investigation.again(steps, &candidate.shown, reference)?;
            let shows = again.is_some();
            last = again.or(last.take());
            Ok(shows)
        };
        let moments = self.prefix(candidate);
        let fewest = orders::shrink(&moments, TRIALS, |moments| shows(self, &moments.concat()))?;
        let mut steps = fewest.steps;
        if let Some(moment) = steps.pop().filter(|_| fewest.is_shown) {
            let before = steps.concat();
            let moment = orders::without(moment, TRIALS, |moment| {
                shows(self, &[&before[..], moment].concat())
            })?;
            steps.push(moment);
        }
        Ok(match last {
            Some(mut shown) if fewest.is_shown => {
                shown.signs.extend(candidate.shown.signs.iter().cloned());
                Some(finding(&shown, steps.concat(), true))
            }
            _ if candidate.shown.kind.is_told_unconfirmed() => Some(self.as_seen(candidate)),
            _ => None,
        })
    }

    /// Returns what shows a finding of an earlier check again, with its steps alone; `None` if
    /// nothing does.
    ///
    /// # Errors
    /// A fresh start fails.
    pub fn shows(
        &mut self,
        finding: &Finding,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Shown>, RuntimeError> {
        let Some(last) = finding.steps.last() else { return Ok(None) };
        let state = finding.subject.state();
        if let Some(state) = state {
            // The earlier check has seen that this request does not set the state.
            let exonerated = &mut reference.known.exonerated;
            exonerated.entry(state.to_string()).or_default().insert(last.request.clone());
        }
        if state.is_some_and(StateName::is_made) {
            // Alone, the request shows the state that it normally begins with, unless it is also
            // the one to blame.
            let before = &finding.steps[..finding.steps.len() - 1];
            let is_blamed = before.iter().any(|step| step.request == last.request);
            let alone = if is_blamed { first_page() } else { last.clone() };
            let steps = vec![Step { with_next: false, ..alone }];
            let alone = pass_result(&steps, self.go(&steps)?, Answers::default());
            reference.known.made = sessions::made([&alone]);
        }
        let sought = Shown {
            kind: finding.kind,
            subject: finding.subject.clone(),
            what: String::new(),
            evidence: String::new(),
            signs: super::signs::Signs::new(),
            at: 0,
        };
        self.again(&finding.steps, &sought, reference)
    }

    /// Returns what shows the same deviation in the last moment of these steps, sent to fresh
    /// starts.
    fn again(
        &mut self,
        steps: &[Step],
        sought: &Shown,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Shown>, RuntimeError> {
        let Some(last) = orders::moments(steps).pop() else { return Ok(None) };
        let mut sent = steps.to_vec();
        // One more request is needed: another worker serves it if the first one ended after its
        // answer.
        if sought.kind == FindingKind::Death {
            let steps = self.pass_result.first().map_or(&[][..], |pass_result| &pass_result.steps);
            let other = steps.iter().find(|step| !sought.subject.is_request(&step.request));
            sent.push(
                other.map_or_else(first_page, |step| Step { with_next: false, ..step.clone() }),
            );
        }
        let answers = reference.answers(&sent)?;
        let times = match sought.kind {
            _ if last.len() > 1 => MEETINGS,
            FindingKind::Death => DEATHS,
            _ => 1,
        };
        for _ in 0..times {
            let mut gone = self.go(&sent)?;
            sessions::fill(&mut gone.workers, &reference.known.made);
            let pass_result = pass_result(&sent, gone, answers.clone());
            let all = analyze::shown(&pass_result, &reference.known).into_iter();
            let mut same =
                all.filter(|shown| (shown.kind, &shown.subject) == (sought.kind, &sought.subject));
            if let Some(shown) = same.find(|shown| last.contains(&shown.at)) {
                return Ok(Some(shown));
            }
        }
        Ok(None)
    }
}

fn pass_result(steps: &[Step], gone: Gone, answers: Answers) -> PassResult {
    let Answers { in_turn: reference, turned } = answers;
    PassResult { steps: steps.to_vec(), seen: gone.seen, reference, turned, workers: gone.workers }
}

fn first_page() -> Step {
    let (method, target) = ("GET".to_owned(), "/".to_owned());
    let request = Arc::new(Asked { method, target, ..Asked::default() });
    Step { user: 0, request, with_next: false }
}

/// Returns whether another request is to blame. While a worker is replaced, the next request may
/// fail, and so may all until one reaches the app again. A request that was sent together with a
/// `deadly` one, or right after it, may fail too.
fn is_collateral(
    shown: &Shown,
    all: &[Shown],
    pass_result: &PassResult,
    deadly: &BTreeSet<Subject>,
) -> bool {
    let is_blamed = matches!(shown.kind, FindingKind::Death | FindingKind::Answer)
        && pass_result.seen[shown.at].status() != pass_result.reference[shown.at].status();
    let own = orders::moment(&pass_result.steps, shown.at);
    if !is_blamed || own.start == 0 && own.len() == 1 {
        return false;
    }
    if own.len() > 1 {
        let near = orders::moment(&pass_result.steps, own.start.saturating_sub(1)).start..own.end;
        return pass_result.steps[near]
            .iter()
            .map(|step| Subject::request(&step.request))
            .any(|near| near != shown.subject && deadly.contains(&near));
    }
    let is_death =
        |at: &usize| all.iter().any(|other| other.kind == FindingKind::Death && other.at == *at);
    let unreached = |at: &usize| !analyze::has_reached(pass_result, *at);
    let until_death = (0..shown.at).rev().find(|at| is_death(at) || !unreached(at));
    let next = shown.at.checked_sub(1).filter(is_death).is_some();
    next || (unreached(&shown.at) && until_death.is_some_and(|at| is_death(&at)))
}

/// Removes deaths right after a request that ends a worker by itself: the worker was about to end,
/// and had begun one more request.
fn blamed_alone(findings: &mut Vec<Finding>) {
    let is_death = |one: &Finding| one.kind == FindingKind::Death && one.is_repeatable;
    let deadly: BTreeSet<Arc<Asked>> = findings
        .iter()
        .filter(|one| is_death(one))
        .filter_map(|one| match &one.steps[..] {
            [only] => Some(only.request.clone()),
            _ => None,
        })
        .collect();
    findings.retain(|one| {
        let before = one.steps.len().checked_sub(2).map(|before| &one.steps[before].request);
        !(is_death(one) && before.is_some_and(|before| deadly.contains(before)))
    });
}

fn finding(shown: &Shown, steps: Vec<Step>, is_repeatable: bool) -> Finding {
    Finding {
        number: 0,
        kind: shown.kind,
        about: shown.subject.to_string(),
        subject: shown.subject.clone(),
        what: shown.what.clone(),
        evidence: shown.evidence.clone(),
        steps,
        is_repeatable,
        places: Vec::new(),
        fingerprint: mask_secrets(&format!("{:?} {}", shown.kind, shown.subject).to_lowercase()),
        signs: shown.signs.clone(),
        is_accepted: false,
    }
}

#[cfg(test)]
#[path = "investigation_tests.rs"]
mod tests;
