//! Finds what the answers of a pass show: another user's data, a worker that ended, an answer that
//! the reference does not give.

use std::collections::HashMap;

use super::Detector;
use crate::analyze::{Deviation, PassResult, ReferenceModel, ServedTurn, name, turns, user_name};
use crate::harness::StepResult;
use crate::kinds::FindingKind;
use crate::model::Step;
use crate::orders;
use crate::sapi;
use crate::signs::{self, Signs};
use crate::subject::Subject;
use crate::users;

/// Compares each answer with the reference's answer at the same step of the same pass.
pub struct AnswerDetector;

impl Detector for AnswerDetector {
    fn kinds(&self) -> &'static [FindingKind] {
        &[FindingKind::Leak, FindingKind::Death, FindingKind::Answer]
    }

    fn deviations(&self, pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation> {
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
                of_answer.map(|deviation| if is_at_once { at_once(deviation) } else { deviation }),
            );
        }
        all
    }
}

fn at_once(deviation: Deviation) -> Deviation {
    Deviation { what: format!("{}, when several ask at once", deviation.what), ..deviation }
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
    let is_certain = difference.is_whole || difference.shows_user();
    if !is_certain && actual.status() == reference.status() {
        known.not_compared.set(known.not_compared.get() + 1);
        return None;
    }
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
