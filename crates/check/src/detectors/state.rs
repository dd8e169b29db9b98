//! Finds state of the process that a request changed for those after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::Detector;
use crate::analyze::{
    Deviation, PassResult, ReferenceModel, ServedTurn, name, served_alone, turns,
};
use crate::kinds::FindingKind;
use crate::model::{CheckRequest, Step};
use crate::signs::Signs;
use crate::subject::{StateName, Subject};
use crate::watch::Worker;

/// Compares the state before and after each request with that of the worker's boot.
pub struct StateDetector;

impl Detector for StateDetector {
    fn kinds(&self) -> &'static [FindingKind] {
        &[FindingKind::State]
    }

    fn deviations(&self, pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation> {
        let all = served_alone(pass_result).into_iter();
        all.flat_map(|(at, step, served)| {
            let mut own = changed_state(known, step, &served, at);
            own.extend(state_left_behind(step, &served, at));
            own
        })
        .collect()
    }
}

/// State that libraries change on first use and that no answer depends on. A session that is still
/// open or still has an id is not harmless: PHP uses that id instead of the next user's cookie.
const HARMLESS: [&str; 6] =
    ["ini:session.", "autoloaders", "constants", "gc", "streams", "shutdown"];

/// State that is reset before the next request begins, so it is judged at the end of a request.
const RESET_BETWEEN_REQUESTS: [&str; 2] = ["cwd", "ob_level"];

/// Returns the state that a request leaves behind: only stampede's own worker resets it.
fn state_left_behind(step: &Step, served: &ServedTurn<'_>, at: usize) -> Vec<Deviation> {
    let Some(after) = &served.turn.after else { return Vec::new() };
    let boot = &served.worker.boot;
    let left =
        RESET_BETWEEN_REQUESTS.into_iter().filter(|state| boot.get(state) != after.get(state));
    let deviations = left.map(|state| Deviation {
        kind: FindingKind::State,
        subject: Subject::Left {
            state: StateName::from(state.to_owned()),
            request: (&*step.request).into(),
        },
        what: format!(
            "{} leaves {} behind: {}",
            name(&step.request),
            state_words(state),
            value(after.get(state))
        ),
        evidence: format!("  {state}: {} → {}", value(boot.get(state)), value(after.get(state))),
        signs: Signs::new(),
        at,
    });
    deviations.collect()
}

/// Returns the state with which a request begins although it did not cause it.
fn changed_state(
    known: &ReferenceModel,
    step: &Step,
    served: &ServedTurn<'_>,
    at: usize,
) -> Vec<Deviation> {
    let (boot, before) = (&served.worker.boot, &served.turn.before);
    let names = before.differing().map(|(name, _)| name);
    let is_innocent = |name: &String| {
        known.exonerated.get(name).is_some_and(|requests| requests.contains(&step.request))
    };
    let names =
        names.filter(|name| is_relevant(name) && !RESET_BETWEEN_REQUESTS.contains(&name.as_str()));
    let names = names.filter(|name| is_innocent(name));
    let deviations = names.map(|state| Deviation {
        kind: FindingKind::State,
        subject: Subject::State { state: StateName::from(state.clone()) },
        what: format!(
            "{} begins with {} of an earlier request: {} instead of {}",
            name(&step.request),
            state_words(state),
            apart(before.get(state), boot.get(state)),
            apart(boot.get(state), before.get(state))
        ),
        evidence: format!(
            "  {state}: {} → {}",
            apart(boot.get(state), before.get(state)),
            apart(before.get(state), boot.get(state))
        ),
        signs: Signs::new(),
        at,
    });
    deviations.collect()
}

/// Formats a value. Of a list with semicolons, such as a locale's, it keeps the parts that `other`
/// lacks.
fn apart(one: Option<&Value>, other: Option<&Value>) -> String {
    let (Some(Value::String(text)), Some(Value::String(other))) = (one, other) else {
        return value(one);
    };
    let others: Vec<&str> = other.split(';').collect();
    let own: Vec<&str> = text.split(';').filter(|part| !others.contains(part)).collect();
    if own.is_empty() { value(one) } else { format!("`{}`", own.join(";")) }
}

fn is_relevant(name: &str) -> bool {
    !HARMLESS.iter().any(|harmless| name.starts_with(harmless))
}

fn value(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => format!("`{text}`"),
        Some(other) => format!("`{other}`"),
    }
}

/// Returns words for a name of state.
fn state_words(state: &str) -> String {
    match state.split_once(':') {
        Some(("ini", name)) => format!("the ini setting `{name}`"),
        Some(("env", name)) => format!("the environment variable `{name}`"),
        Some(("globals", name)) => format!("the global variable `${name}`"),
        Some(("db", name)) => {
            let (setting, connection) = name.split_once(' ').unwrap_or((name, "a connection"));
            format!("`{setting}` of the database connection `{connection}`")
        }
        Some(("server", name)) => format!("`$_SERVER['{name}']`"),
        _ => match state {
            "cwd" => "the working directory".to_owned(),
            "ob_level" => "open output buffers".to_owned(),
            "headers" => "headers".to_owned(),
            other => format!("the {}", other.replace('_', " ")),
        },
    }
}

/// Returns, for each state that differs at the beginning of some request, the requests that leave
/// it as it was at the boot. If they later begin with a difference, they have not caused it.
pub fn exonerated(passes: &[PassResult]) -> BTreeMap<String, BTreeSet<Arc<CheckRequest>>> {
    let workers = || passes.iter().flat_map(|pass_result| &pass_result.workers);
    let names: BTreeSet<&String> = workers().flat_map(altered_state).collect();
    let mut exonerated: BTreeMap<String, BTreeSet<Arc<CheckRequest>>> = BTreeMap::new();
    for pass_result in passes.iter().filter(|pass_result| !pass_result.has_overlaps()) {
        let turns = turns(&pass_result.workers);
        for (step, actual) in pass_result.steps.iter().zip(&pass_result.actual) {
            let Some(served) = turns.get(&actual.number) else { continue };
            let Some(after) = &served.turn.after else { continue };
            let states = [&served.worker.boot, &served.turn.before, after];
            for name in &names {
                let [boot, before, after] = states.map(|state| state.get(name));
                if boot == before && boot == after {
                    let requests = exonerated.entry((*name).clone()).or_default();
                    requests.insert(Arc::clone(&step.request));
                }
            }
        }
    }
    exonerated
}

/// Returns the names of state that differs from the boot at the beginning of some turn.
fn altered_state(worker: &Worker) -> impl Iterator<Item = &String> {
    let names = worker.turns.iter().flat_map(|turn| turn.before.differing());
    names.map(|(name, _)| name).filter(|name| is_relevant(name))
}
