//! Finds what a pass shows. It compares each answer with the reference's answer at the same step of
//! the same pass. It also reads the records of the watch in the workers. All functions are pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::harness::StepResult;
use super::kinds::FindingKind;
use super::model::{CheckRequest, Step};
use super::nondeterminism::{Nondeterminism, NondeterminismStore};
use super::orders;
use super::sapi;
use super::signs::{self, Signs};
use super::subject::{StateName, Subject};
use super::users;
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

/// State that libraries change on first use and that no answer depends on. A session that is still
/// open or still has an id is not harmless: PHP uses that id instead of the next user's cookie.
const HARMLESS: [&str; 6] =
    ["ini:session.", "autoloaders", "constants", "gc", "streams", "shutdown"];

/// State that is reset before the next request begins, so it is judged at the end of a request.
const RESET_BETWEEN_REQUESTS: [&str; 2] = ["cwd", "ob_level"];

/// A superglobal that Octane's RoadRunner client keeps, and replaces completely at the next
/// request: no user ever sees its old content.
const REPLACED_BY_EACH_REQUEST: &str = "$_SERVER";

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

/// Returns what the answers of a pass show, the most severe of each step first.
pub fn answer_deviations(pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation> {
    let turns = turns(&pass_result.workers);
    let mut all = Vec::new();
    for (at, actual) in pass_result.actual.iter().enumerate() {
        let Some(reference) = pass_result.reference.get(at) else { break };
        let step = &pass_result.steps[at];
        let is_at_once = orders::moment(&pass_result.steps, at).len() > 1;
        let death = match is_at_once {
            true => unanswered(known, step, actual, reference, at),
            false => worker_deaths(known, pass_result, &turns, at),
        };
        let leak = leaked_token(known, pass_result, at);
        // A step that ended its worker gave no answer that could be compared.
        let answer = match death.is_none() && leak.is_none() {
            true => differs(known, step, actual, reference, at),
            false => None,
        };
        let answer = answer.filter(|_| !is_at_once || differs_reversed(known, pass_result, at));
        let of_answer = leak.into_iter().chain(death).chain(answer);
        all.extend(
            of_answer.map(|deviation| if is_at_once { deviation.at_once() } else { deviation }),
        );
    }
    all
}

/// Returns the state that stays in the workers of a pass.
pub fn state_leaks(pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation> {
    let turns = turns(&pass_result.workers);
    let mut all = Vec::new();
    for (at, (actual, step)) in pass_result.actual.iter().zip(&pass_result.steps).enumerate() {
        // If requests overlap, it is not known which of them did something.
        let is_alone = orders::moment(&pass_result.steps, at).len() == 1;
        if let Some(turn) = turns.get(&actual.number).filter(|_| is_alone) {
            all.extend(kept_tokens(known, step, turn, at));
            all.extend(changed_state(known, step, turn, at));
            all.extend(state_left_behind(step, turn, at));
        }
    }
    all
}

/// Returns everything that a pass shows.
pub fn deviations(pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation> {
    [answer_deviations(pass_result, known), state_leaks(pass_result, known)].concat()
}

impl Deviation {
    fn at_once(self) -> Deviation {
        Deviation { what: format!("{}, when several ask at once", self.what), ..self }
    }
}

/// The turn of a worker that served one request.
struct ServedTurn<'a> {
    turn: &'a Turn,
    worker: &'a Worker,
    is_last: bool,
}

fn turns(workers: &[Worker]) -> HashMap<u64, ServedTurn<'_>> {
    let all = workers.iter().flat_map(|worker| {
        let last = worker.turns.len().saturating_sub(1);
        let turns = worker.turns.iter().enumerate();
        turns.filter_map(move |(at, turn)| {
            Some((turn.number?, ServedTurn { turn, worker, is_last: at == last }))
        })
    });
    all.collect()
}

fn leaked_token(known: &ReferenceModel, pass_result: &PassResult, at: usize) -> Option<Deviation> {
    let (step, actual) = (&pass_result.steps[at], &pass_result.actual[at]);
    let reference =
        [pass_result.reference.get(at), pass_result.reversed.get(at)].into_iter().flatten();
    let (text, deviation) =
        (actual.text(), reference.clone().map(StepResult::text).collect::<String>());
    let legal = users::tokens(&deviation);
    let is_legal = |user: &u32| reference.clone().any(|actual| actual.shows.contains(user));
    let foreign = users::tokens(&text).into_iter().find_map(|token| {
        let (user, token_place) = users::owner(known.seed, known.users, token)?;
        (user != step.user && !legal.contains(&token)).then_some((user, token_place, token))
    });
    let others = actual.shows.iter().find(|user| !is_legal(user));
    let (user, what, evidence) = match (foreign, others) {
        (Some((user, token_place, token)), _) => {
            (user, token_place.words().to_owned(), around(&text, token))
        }
        (None, Some(&user)) => (user, "value of a cookie".to_owned(), String::new()),
        (None, None) => return None,
    };
    Some(Deviation {
        kind: FindingKind::Leak,
        subject: Subject::request(&step.request),
        what: format!(
            "the answer to {} shows {} what belongs to {}: the {what}",
            name(&step.request),
            user_name(step.user),
            user_name(user)
        ),
        evidence,
        signs: Signs::from([what]),
        at,
    })
}

/// Returns up to three lines that contain the token, cut to the text around it.
fn around(text: &str, token: &str) -> String {
    let lines = text.lines().filter(|line| line.contains(token)).take(3);
    let cut = lines.map(|line| {
        let at = line.find(token).unwrap_or(0);
        let begin = line[..at].char_indices().rev().nth(60).map_or(0, |(begin, _)| begin);
        let end = at + token.len();
        let end = line[end..].char_indices().nth(60).map_or(line.len(), |(more, _)| end + more);
        let dots = |is_cut: bool| if is_cut { "…" } else { "" };
        let (before, after) = (dots(begin > 0), dots(end < line.len()));
        format!("  + {before}{}{after}", line[begin..end].trim())
    });
    cut.collect::<Vec<_>>().join("\n")
}

/// Returns a user's name for people: user A, user B …
pub fn user_name(user: u32) -> String {
    format!("user {}", char::from(b'A' + (user % 26) as u8))
}

fn worker_deaths(
    known: &ReferenceModel,
    pass_result: &PassResult,
    turns: &HashMap<u64, ServedTurn<'_>>,
    at: usize,
) -> Option<Deviation> {
    let (step, actual, reference) =
        (&pass_result.steps[at], &pass_result.actual[at], &pass_result.reference[at]);
    let served = turns.get(&actual.number);
    let next = pass_result.actual.get(at + 1).and_then(|next| turns.get(&next.number));
    let how = match (served, next) {
        // FrankenPHP's worker continues after an `exit`.
        (Some(served), _) if served.turn.after.is_none() && !served.is_last => {
            "ends PHP, and its worker cannot clean up"
        }
        (Some(served), _) if served.turn.after.is_none() => "ends the worker before it is done",
        // Another worker served the next request, so this one has ended after its answer.
        (Some(served), Some(next))
            if served.is_last && !std::ptr::eq(served.worker, next.worker) =>
        {
            "ends the worker after its answer"
        }
        _ => match (&actual.outcome, &reference.outcome) {
            (Err(_), Ok(_)) => "gets no answer",
            _ => return None,
        },
    };
    Some(death(known, step, how, [actual, reference], at))
}

/// Returns that a step sent with others got no answer. Which of them ended the worker is not known.
fn unanswered(
    known: &ReferenceModel,
    step: &Step,
    actual: &StepResult,
    reference: &StepResult,
    at: usize,
) -> Option<Deviation> {
    let is_gone = actual.outcome.is_err() && reference.outcome.is_ok();
    is_gone.then(|| death(known, step, "gets no answer", [actual, reference], at))
}

fn death(
    known: &ReferenceModel,
    step: &Step,
    how: &str,
    [actual, reference]: [&StepResult; 2],
    at: usize,
) -> Deviation {
    let got = match &actual.outcome {
        Ok(_) => format!("the client saw {}", actual.status()),
        Err(problem) => format!("the client saw no answer: {problem}"),
    };
    let otherwise = match &reference.outcome {
        Ok(_) => format!("{} under {}", reference.status(), known.reference),
        Err(_) => format!("no answer under {} either", known.reference),
    };
    Deviation {
        kind: FindingKind::Death,
        subject: Subject::request(&step.request),
        what: format!("{} {how}", name(&step.request)),
        evidence: format!("  {got}, instead of {otherwise}"),
        // Whether the answer was sent before the end depends on chance, so it is not a sign.
        signs: Signs::new(),
        at,
    }
}

fn differs(
    known: &ReferenceModel,
    step: &Step,
    actual: &StepResult,
    reference: &StepResult,
    at: usize,
) -> Option<Deviation> {
    if reference.outcome.is_err() {
        return None;
    }
    let nondeterminism = known.nondeterminism(&step.request);
    let difference = sapi::difference(&nondeterminism, &reference.text(), &actual.text())?;
    let what = match actual.status() == reference.status() {
        true => {
            format!(
                "the answer to {} differs from that under {}",
                name(&step.request),
                known.reference
            )
        }
        false => format!(
            "{} answers {} instead of {}",
            name(&step.request),
            actual.status(),
            reference.status()
        ),
    };
    let signs = signs::of_answer(&difference, reference, actual);
    let (subject, evidence) = (Subject::request(&step.request), difference.text);
    Some(Deviation { kind: FindingKind::Answer, subject, what, evidence, signs, at })
}

/// Returns whether the answer also differs from the reference's answer to the steps in reverse
/// order.
fn differs_reversed(known: &ReferenceModel, pass_result: &PassResult, at: usize) -> bool {
    let (step, actual) = (&pass_result.steps[at], &pass_result.actual[at]);
    let at_once = known.nondeterminism_at_once.get(&step.request);
    let nondeterminism = at_once.unwrap_or_else(|| known.nondeterminism(&step.request));
    let references = [pass_result.reference.get(at), pass_result.reversed.get(at)];
    let differs = |other: &StepResult| {
        sapi::difference(&nondeterminism, &other.text(), &actual.text()).is_some()
    };
    references.into_iter().flatten().all(differs)
}

fn kept_tokens(
    known: &ReferenceModel,
    step: &Step,
    served: &ServedTurn<'_>,
    at: usize,
) -> Vec<Deviation> {
    let mut all: Vec<Deviation> = Vec::new();
    let held = served.turn.held.iter().filter(|held| held.place != REPLACED_BY_EACH_REQUEST);
    for held in held {
        let owner = users::owner(known.seed, known.users, &held.token);
        let Some((user, token_place)) = owner else { continue };
        let subject = Subject::Kept { place: held.place.clone() };
        if all.iter().any(|deviation| deviation.subject == subject) {
            continue;
        }
        all.push(Deviation {
            kind: FindingKind::Kept,
            subject,
            what: format!(
                "after {} the worker keeps what belongs to {} in {}",
                name(&step.request),
                user_name(user),
                held.place
            ),
            evidence: format!("  {}: the {}, `{}`", held.place, token_place.words(), held.token),
            signs: Signs::new(),
            at,
        });
    }
    all
}

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

#[cfg(test)]
#[path = "analyze_tests.rs"]
mod tests;
