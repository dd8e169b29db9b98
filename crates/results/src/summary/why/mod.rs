//! Determines what limited a case, from the evidence on disk. The result is a list of causes with
//! the most direct one first.
//!
//! ```text
//! trial.json, resources.ndjson, histograms ─▶ Facts ─▶ each cause: does it hold? ─▶ in order
//! ```
//! A cause is reported only if its own evidence is present, never because no other cause was found.
//! A cause that several trials of a case share is reported once.

pub(super) mod facts;
pub(super) mod limits;
mod php;
pub(super) mod server;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::fact::{Fact, LimitFound};

use super::input::TrialData;
use super::model::LoadModel;
use facts::Facts;

/// What limited a case, ordered by how directly it explains the figures.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The load threads of the generator. The runtime's own limit is higher.
    Generator,
    /// The memory limit of the stack, or PHP's own.
    Memory,
    /// The web server accepts no more connections.
    WebServer,
    /// The web server got no answer from PHP: status 502, 503 or 504.
    Upstream,
    /// A listen queue was full.
    Backlog,
    /// The app itself gave the failing answers, such as 404.
    App,
    /// A CPU quota stopped the processes at times.
    Throttled,
    /// All workers were busy, but the CPU was not.
    Workers,
    /// Nagle's algorithm together with delayed acknowledgements.
    Nagle,
    /// Xdebug is loaded.
    Xdebug,
    /// OPcache is off, full, or checks its files for changes.
    Opcache,
    /// The whole CPU budget was used.
    Cpu,
    /// None of the monitored limits was reached.
    BelowLimits,
}

/// One cause that limited a trial or a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitingCause {
    /// The cause.
    pub cause: Cause,
    /// The numbers of the trials in which it was found.
    pub trials: Vec<u32>,
    /// What was found, with figures.
    #[serde(flatten)]
    pub found: Fact<LimitFound>,
    /// The evidence: figures and log lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The first item of evidence that says more than the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// All causes that limited a trial, the most direct one first. Empty: not known.
pub fn of_trial(trial: &TrialData, model: LoadModel) -> Vec<LimitingCause> {
    let Some(facts) = Facts::of(trial, model) else { return Vec::new() };
    let mut found: Vec<Diagnosis> = ALL.iter().filter_map(|judge| judge(&facts)).collect();
    if found.is_empty() {
        found.extend(limits::none(&facts));
    }
    let mut why: Vec<LimitingCause> = found
        .into_iter()
        .map(|Diagnosis { cause, found, evidence, proof }| LimitingCause {
            cause,
            trials: vec![trial.record.number],
            found: found.into(),
            evidence,
            proof,
        })
        .collect();
    // A stable sort. `Cause` is ordered by how directly it explains the figures.
    why.sort_by_key(|one| one.cause);
    why
}

/// The causes over several trials, each once, with the words of the first trial that has it. Causes
/// of more than half of the trials come first.
pub fn of_case<'a>(trials: impl Iterator<Item = &'a Vec<LimitingCause>>) -> Vec<LimitingCause> {
    let mut case: Vec<LimitingCause> = Vec::new();
    let mut count = 0;
    for one in trials.inspect(|_| count += 1).flatten() {
        match case.iter_mut().find(|known| known.cause == one.cause) {
            Some(known) => known.trials.extend(&one.trials),
            None => case.push(one.clone()),
        }
    }
    // `BelowLimits` in one trial means nothing if another trial has a cause.
    if case.iter().any(|one| one.cause != Cause::BelowLimits) {
        case.retain(|one| one.cause != Cause::BelowLimits);
    }
    case.sort_by_key(|one| (2 * one.trials.len() <= count, one.cause));
    case
}

/// One cause that was found.
pub(super) struct Diagnosis {
    cause: Cause,
    found: LimitFound,
    evidence: Vec<String>,
    proof: Option<String>,
}

impl Diagnosis {
    fn new(cause: Cause, found: LimitFound) -> Diagnosis {
        Diagnosis { cause, found, evidence: Vec::new(), proof: None }
    }

    /// Adds evidence that says more than the text.
    fn with(self, evidence: impl IntoIterator<Item = String>) -> Diagnosis {
        self.with_all(evidence.into_iter().map(|one| (Novelty::More, one)))
    }

    /// Adds evidence, some of which the text may already say.
    fn with_all(mut self, evidence: impl IntoIterator<Item = (Novelty, String)>) -> Diagnosis {
        for (says, one) in evidence {
            if says == Novelty::More && self.proof.is_none() {
                self.proof = Some(one.clone());
            }
            self.evidence.push(one);
        }
        self
    }
}

/// Whether evidence says more than the text of its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Novelty {
    More,
    TheSame,
}

impl Novelty {
    fn more_if(condition: bool) -> Novelty {
        if condition { Novelty::More } else { Novelty::TheSame }
    }
}

type CauseCheck = fn(&Facts<'_>) -> Option<Diagnosis>;

/// All causes, each judged by its own evidence.
const ALL: [CauseCheck; 12] = [
    limits::generator,
    limits::memory,
    server::limit,
    server::upstream,
    server::backlog,
    server::app,
    limits::throttled,
    limits::workers,
    server::nagle,
    php::xdebug,
    php::opcache,
    limits::cpu,
];
