//! What held a case back: one line of why from the evidence on disk, and what else holds.
//!
//! ```text
//! trial.json, resources.ndjson, histograms ─▶ Facts ─▶ each cause: does it hold? ─▶ in order
//! ```
//! A cause is said where its own evidence is there, and never for want of another. What
//! several trials of a case have alike is one line.

pub(super) mod facts;
pub(super) mod limits;
mod php;
pub(super) mod server;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::TrialData;
use super::model::LoadModel;
use facts::Facts;

/// What held a case back, ordered by how directly it explains the figures.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The load threads: the runtime's limit lies further up.
    Generator,
    /// The stack's limit, or PHP's own.
    Memory,
    /// It takes no more connections.
    WebServer,
    /// 502, 503, 504.
    Upstream,
    /// A queue of connections was full.
    Backlog,
    /// What the app answered itself: 404, say.
    App,
    /// A CPU quota.
    Throttled,
    /// All of them were busy, and the CPU was not.
    Workers,
    /// Nagle's algorithm against delayed acknowledgements.
    Nagle,
    /// It is loaded.
    Xdebug,
    /// Off, full, or looking at its files again.
    Opcache,
    /// The whole budget was used.
    Cpu,
    /// No limit was reached that is watched.
    BelowLimits,
}

/// One line of why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// What it was.
    pub cause: Cause,
    /// Numbers of the trials in which it was found.
    pub trials: Vec<u32>,
    /// In words, with figures.
    pub text: String,
    /// What it was read from: figures and lines of logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The first of the evidence that says more than the text does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// All that held a trial back, the most direct first; nothing: it is not known.
pub fn of_trial(trial: &TrialData, model: LoadModel) -> Vec<Why> {
    let Some(facts) = Facts::of(trial, model) else { return Vec::new() };
    let mut found: Vec<Found> = ALL.iter().filter_map(|judge| judge(&facts)).collect();
    if found.is_empty() {
        found.extend(limits::none(&facts));
    }
    let mut why: Vec<Why> = found
        .into_iter()
        .map(|Found { cause, text, evidence, proof }| Why {
            cause,
            trials: vec![trial.record.number],
            text,
            evidence,
            proof,
        })
        .collect();
    // Stable: `Cause` is ordered by how directly it explains.
    why.sort_by_key(|one| one.cause);
    why
}

/// Of several trials: what most of them have first, each cause once, in the words of the first
/// trial that has it.
pub fn of_case<'a>(trials: impl Iterator<Item = &'a Vec<Why>>) -> Vec<Why> {
    let mut case: Vec<Why> = Vec::new();
    let mut count = 0;
    for one in trials.inspect(|_| count += 1).flatten() {
        match case.iter_mut().find(|known| known.cause == one.cause) {
            Some(known) => known.trials.extend(&one.trials),
            None => case.push(one.clone()),
        }
    }
    // That nothing held one trial back says nothing where something did another.
    if case.iter().any(|one| one.cause != Cause::BelowLimits) {
        case.retain(|one| one.cause != Cause::BelowLimits);
    }
    case.sort_by_key(|one| (2 * one.trials.len() <= count, one.cause));
    case
}

/// One cause that holds.
pub(super) struct Found {
    cause: Cause,
    text: String,
    evidence: Vec<String>,
    proof: Option<String>,
}

impl Found {
    fn new(cause: Cause, text: String) -> Found {
        Found { cause, text, evidence: Vec::new(), proof: None }
    }

    /// Adds evidence that says more than the text does.
    fn with(self, evidence: impl IntoIterator<Item = String>) -> Found {
        self.with_all(evidence.into_iter().map(|one| (Says::More, one)))
    }

    /// Adds evidence, of which some is in the text.
    fn with_all(mut self, evidence: impl IntoIterator<Item = (Says, String)>) -> Found {
        for (says, one) in evidence {
            if says == Says::More && self.proof.is_none() {
                self.proof = Some(one.clone());
            }
            self.evidence.push(one);
        }
        self
    }
}

/// What evidence says beside the text of its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    More,
    TheSame,
}

impl Says {
    fn more_if(condition: bool) -> Says {
        if condition { Says::More } else { Says::TheSame }
    }
}

type Judge = fn(&Facts<'_>) -> Option<Found>;

/// Every cause, each with evidence of its own.
const ALL: [Judge; 12] = [
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
