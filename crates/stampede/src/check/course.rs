//! A runtime from its first tour to its verdict.

use std::collections::{BTreeMap, HashMap};

use super::look::{self, Known, Shown, Toured};
use super::model::{Asked, Finding, FindingKind, Step};
use super::moving::Moving;
use super::orders::{self, Tour};
use super::sessions;
use super::stand::{Bench, Seen};
use super::watch::Worker;
use crate::interrupt;
use crate::plan::model::RuntimeChoice;
use crate::runtime::{RuntimeError, WatchMode};
use crate::store::mask_secrets;

/// The runtime that forgets, and what it has answered so far.
pub struct Reference<'a> {
    bench: &'a Bench,
    choice: &'a RuntimeChoice,
    /// Each tour's answers, in the order of the tours.
    tours: Vec<Vec<Seen>>,
    /// Answers to shorter lists of steps, by the list.
    asked: HashMap<Vec<Step>, Vec<Seen>>,
    /// What is known before a worker is looked at.
    pub known: Known,
    /// Requests sent to it.
    pub sent: u64,
}

/// How often the reference goes the same way, so that what moves is seen to move.
const TIMES: usize = 2;
/// Fresh starts that one finding may take until its fewest steps are known.
const TRIALS: usize = 8;
/// Findings of a kind of which the fewest steps are looked for; the others are listed as they were seen.
const SETTLED: usize = 8;

impl<'a> Reference<'a> {
    /// Before it has answered.
    pub fn new(bench: &'a Bench, choice: &'a RuntimeChoice) -> Reference<'a> {
        let users = bench.users.len() as u32;
        let known = Known { seed: bench.seed, users, ..Known::default() };
        Reference { bench, choice, tours: Vec::new(), asked: HashMap::new(), known, sent: 0 }
    }

    /// Goes a tour, and learns what moves.
    ///
    /// # Errors
    /// It does not start.
    pub fn tour(&mut self, steps: &[Step]) -> Result<(), RuntimeError> {
        let seen = self.go(steps)?;
        self.tours.push(seen);
        Ok(())
    }

    fn go(&mut self, steps: &[Step]) -> Result<Vec<Seen>, RuntimeError> {
        let mut first: Option<Vec<Seen>> = None;
        for _ in 0..TIMES {
            let mut stand = self.bench.up(self.choice, WatchMode::Full)?;
            let seen = stand.tour(steps);
            stand.stop()?;
            self.sent += seen.len() as u64;
            match &first {
                None => first = Some(seen),
                Some(first) => learn(&mut self.known.moving, steps, first, &seen),
            }
        }
        Ok(first.unwrap_or_default())
    }

    /// Its answers to these steps, sent to a fresh start.
    ///
    /// # Errors
    /// It does not start.
    pub fn answers(&mut self, steps: &[Step]) -> Result<Vec<Seen>, RuntimeError> {
        if let Some(seen) = self.asked.get(steps) {
            return Ok(seen.clone());
        }
        let seen = self.go(steps)?;
        self.asked.insert(steps.to_vec(), seen.clone());
        Ok(seen)
    }
}

fn learn(moving: &mut HashMap<Asked, Moving>, steps: &[Step], one: &[Seen], other: &[Seen]) {
    for ((step, one), other) in steps.iter().zip(one).zip(other) {
        let known = moving.entry(step.request.clone()).or_default();
        known.learn(&one.text(), &other.text());
    }
}

/// Tours as steps.
pub fn steps(tour: &Tour, requests: &[Asked]) -> Vec<Step> {
    let step = |&(user, request): &(u32, usize)| Step { user, request: requests[request].clone() };
    tour.steps.iter().map(step).collect()
}

/// A runtime under check.
pub struct Course<'a> {
    bench: &'a Bench,
    choice: &'a RuntimeChoice,
    /// Requests sent to its workers.
    pub sent: u64,
    /// Workers that ended unasked.
    pub lost: u64,
    /// Answers of which the workers' watch has no word.
    pub unwatched: usize,
    /// What was seen once and by no fresh start again.
    pub chance: u32,
    toured: Vec<Toured>,
}

/// Something found, before its steps are as few as may be.
struct Candidate {
    shown: Shown,
    tour: usize,
}

impl<'a> Course<'a> {
    /// Before its first tour.
    pub fn new(bench: &'a Bench, choice: &'a RuntimeChoice) -> Course<'a> {
        Course { bench, choice, sent: 0, lost: 0, unwatched: 0, chance: 0, toured: Vec::new() }
    }

    /// Goes a tour that the reference has gone.
    ///
    /// # Errors
    /// It does not start.
    pub fn tour(&mut self, steps: &[Step], reference: &Reference<'_>) -> Result<(), RuntimeError> {
        let (seen, workers) = self.go(steps)?;
        let reference = reference.tours[self.toured.len()].clone();
        let toured = Toured { steps: steps.to_vec(), seen, reference, workers };
        self.lost += look::lost(&toured);
        self.unwatched += look::unwatched(&toured);
        self.toured.push(toured);
        Ok(())
    }

    fn go(&mut self, steps: &[Step]) -> Result<(Vec<Seen>, Vec<Worker>), RuntimeError> {
        let mut stand = self.bench.up(self.choice, WatchMode::Full)?;
        let seen = stand.tour(steps);
        self.sent += seen.len() as u64;
        let workers = stand.workers();
        stand.stop()?;
        Ok((seen, workers))
    }

    /// What the tours have shown, each with the fewest steps that show it again. `told` hears of each
    /// before it is looked into. Where a fresh start fails, or a person wants an end, the others are as they
    /// were seen; the error is beside them.
    pub fn findings(
        &mut self,
        reference: &mut Reference<'_>,
        mut told: impl FnMut(&str),
    ) -> (Vec<Finding>, Option<RuntimeError>) {
        reference.known.made = sessions::made(&self.toured);
        for toured in &mut self.toured {
            sessions::fill(&mut toured.workers, &reference.known.made);
            look::innocent(toured, &mut reference.known.innocent);
        }
        let mut settled: BTreeMap<FindingKind, usize> = BTreeMap::new();
        let (mut findings, mut failed) = (Vec::new(), None);
        for candidate in self.candidates(&reference.known) {
            let count = settled.entry(candidate.shown.kind).or_default();
            *count += 1;
            if interrupt::asked() || failed.is_some() || *count > SETTLED {
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
        (findings, failed)
    }

    /// Each thing once, where it was shown with the fewest steps before it.
    fn candidates(&self, known: &Known) -> Vec<Candidate> {
        let mut first: BTreeMap<(FindingKind, String), Candidate> = BTreeMap::new();
        for (tour, toured) in self.toured.iter().enumerate() {
            let all = look::shown(toured, known);
            for shown in all.iter().filter(|shown| !is_collateral(shown, &all, toured)) {
                let key = (shown.kind, shown.subject.clone());
                let is_better = first.get(&key).is_none_or(|known| shown.at < known.shown.at);
                if is_better {
                    first.insert(key, Candidate { shown: shown.clone(), tour });
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
        keys.into_iter().filter_map(|key| first.remove(&key)).collect()
    }

    fn prefix(&self, candidate: &Candidate) -> &[Step] {
        &self.toured[candidate.tour].steps[..=candidate.shown.at]
    }

    fn as_seen(&self, candidate: &Candidate) -> Finding {
        finding(&candidate.shown, self.prefix(candidate).to_vec(), false)
    }

    /// Shows it again with as few steps as may be. What no fresh start shows again was chance, unless it is
    /// too grave to be kept quiet.
    fn settle(
        &mut self,
        candidate: &Candidate,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Finding>, RuntimeError> {
        let steps = self.prefix(candidate).to_vec();
        let mut last = None;
        let fewest = orders::shrink(&steps, TRIALS, |steps| {
            let again = self.again(steps, &candidate.shown, reference)?;
            let shows = again.is_some();
            last = again.or(last.take());
            Ok::<bool, RuntimeError>(shows)
        })?;
        Ok(match last {
            Some(shown) if fewest.is_shown => Some(finding(&shown, fewest.steps, true)),
            _ if candidate.shown.kind <= FindingKind::Death => Some(self.as_seen(candidate)),
            _ => None,
        })
    }

    /// Whether a finding of an earlier check shows again, by its steps alone.
    ///
    /// # Errors
    /// A fresh start fails.
    pub fn shows(
        &mut self,
        finding: &Finding,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Shown>, RuntimeError> {
        let Some(last) = finding.steps.last() else { return Ok(None) };
        // That this request does not set it was seen then.
        let innocent = &mut reference.known.innocent;
        innocent.entry(finding.about.clone()).or_default().insert(last.request.clone());
        if finding.about.starts_with(sessions::CONNECTION) {
            // Alone it shows what it would begin with.
            let steps = vec![last.clone()];
            let (seen, workers) = self.go(&steps)?;
            let alone = Toured { steps, seen, workers, ..Toured::default() };
            reference.known.made = sessions::made([&alone]);
        }
        let sought = Shown {
            kind: finding.kind,
            subject: finding.about.clone(),
            what: String::new(),
            evidence: String::new(),
            at: 0,
        };
        self.again(&finding.steps, &sought, reference)
    }

    /// Whether the last of these steps, sent to a fresh start, shows the same thing.
    fn again(
        &mut self,
        steps: &[Step],
        sought: &Shown,
        reference: &mut Reference<'_>,
    ) -> Result<Option<Shown>, RuntimeError> {
        let mut sent = steps.to_vec();
        // Whether a worker ended after its answer is told by who has the next request.
        if sought.kind == FindingKind::Death {
            let steps = self.toured.first().map_or(&[][..], |toured| &toured.steps);
            let other = steps.iter().find(|step| look::name(&step.request) != sought.subject);
            sent.push(other.cloned().unwrap_or_else(first_page));
        }
        let (seen, mut workers) = self.go(&sent)?;
        sessions::fill(&mut workers, &reference.known.made);
        let answers = reference.answers(&sent)?;
        let toured = Toured { steps: sent, seen, reference: answers, workers };
        let all = look::shown(&toured, &reference.known).into_iter();
        let mut same =
            all.filter(|shown| (shown.kind, &shown.subject) == (sought.kind, &sought.subject));
        Ok(same.find(|shown| shown.at + 1 == steps.len()))
    }
}

fn first_page() -> Step {
    let (method, target) = ("GET".to_owned(), "/".to_owned());
    Step { user: 0, request: Asked { method, target, ..Asked::default() } }
}

/// The next request of a worker that is being replaced may fail, and is not to blame.
fn is_collateral(shown: &Shown, all: &[Shown], toured: &Toured) -> bool {
    let died_before =
        all.iter().any(|other| other.kind == FindingKind::Death && other.at + 1 == shown.at);
    let is_blamed = matches!(shown.kind, FindingKind::Death | FindingKind::Answer);
    died_before
        && is_blamed
        && toured.seen[shown.at].status() != toured.reference[shown.at].status()
}

fn finding(shown: &Shown, steps: Vec<Step>, is_repeatable: bool) -> Finding {
    Finding {
        number: 0,
        kind: shown.kind,
        about: shown.subject.clone(),
        what: shown.what.clone(),
        evidence: shown.evidence.clone(),
        steps,
        is_repeatable,
        places: Vec::new(),
        fingerprint: mask_secrets(&format!("{:?} {}", shown.kind, shown.subject).to_lowercase()),
        is_accepted: false,
    }
}
