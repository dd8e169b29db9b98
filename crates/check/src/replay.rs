//! Sends the requests of one finding again, to a fresh worker and to the reference.

use std::fmt::Write as _;

use stampede_model::words;
use stampede_plan::model::RuntimeChoice;
use stampede_stack::RuntimeError;

use super::analyze::{name, user_name};
use super::detectors;
use super::harness::{Harness, PassRunner as _, SendOrder, StepResult};
use super::investigation::Reference;
use super::model::{Finding, Step};
use super::sapi;

/// The result of a replay.
#[derive(Debug)]
pub struct ReplayResult {
    /// The result as text.
    pub text: String,
    /// Whether the finding has shown again.
    pub shows: bool,
}

/// Returns what both answer, request by request, and whether the finding shows again: in an answer,
/// in what the worker keeps, or in growth.
///
/// # Errors
/// One of them does not start.
pub fn replay(
    harness: &Harness,
    reference: &RuntimeChoice,
    runtime: &RuntimeChoice,
    finding: &Finding,
) -> Result<ReplayResult, RuntimeError> {
    let mut reference_run = Reference::new(harness, reference);
    let answers = reference_run.in_turn(&finding.steps)?;
    let actual = harness.run_steps(runtime, &finding.steps, SendOrder::AtOnce)?.results;
    let detector = detectors::of(finding.kind);
    let again = detector.reproduce(harness, runtime, finding, &mut reference_run)?;
    let compared_steps: Vec<ComparedStep<'_>> = finding
        .steps
        .iter()
        .zip(answers.iter().zip(&actual))
        .map(|(step, (expected, actual))| {
            let nondeterminism = reference_run.known.nondeterminism(&step.request);
            let difference = sapi::difference(&nondeterminism, &expected.text(), &actual.text());
            let difference = difference.map(|difference| difference.text);
            ComparedStep { step, answers: [expected, actual], difference }
        })
        .collect();
    let text = text(finding, [&reference.name, &runtime.name], &compared_steps, again.as_deref());
    Ok(ReplayResult { text, shows: again.is_some() })
}

/// A request with both answers.
struct ComparedStep<'a> {
    step: &'a Step,
    /// The answers of the reference and of the worker.
    answers: [&'a StepResult; 2],
    /// Their difference, apart from nondeterministic content; `None` if there is none.
    difference: Option<String>,
}

/// Returns the result as text. In `names`, the reference's name is first, like its answer.
fn text(
    finding: &Finding,
    names: [&str; 2],
    compared_steps: &[ComparedStep<'_>],
    again: Option<&str>,
) -> String {
    let mut text = format!("finding {} on {}: {}\n", finding.number, names[1], finding.what);
    if !finding.is_repeatable {
        text.push_str("a fresh worker has not shown it a second time when it was checked\n");
    }
    let width = names.map(str::len).into_iter().max().unwrap_or_default();
    let mut same = 0;
    for (at, compared) in compared_steps.iter().enumerate() {
        // Of many earlier requests, only those with a difference are shown.
        if compared.difference.is_none()
            && at + 1 < compared_steps.len()
            && compared_steps.len() > ALL
        {
            same += 1;
            continue;
        }
        if same > 0 {
            let _ = writeln!(text, "\n… {} answered the same", words::number_of(same, "request"));
            same = 0;
        }
        let _ = writeln!(
            text,
            "\n{} ({})",
            name(&compared.step.request),
            user_name(compared.step.user)
        );
        for (name, actual) in names.iter().zip(compared.answers) {
            let _ = writeln!(text, "  {name:width$}  {}", status(actual));
        }
        match &compared.difference {
            Some(difference) => difference.lines().for_each(|line| {
                let _ = writeln!(text, "    {line}");
            }),
            None => text.push_str("  the same answer, but for nondeterministic content\n"),
        }
    }
    let _ = match again {
        Some(evidence) => write!(text, "\nit shows again:\n{evidence}"),
        None => writeln!(
            text,
            "\nit does not show again. Either it is fixed, or it needs more than these requests: only a whole \
             check tells"
        ),
    };
    text
}

fn status(actual: &StepResult) -> String {
    match actual.answer() {
        Ok(answer) => format!("{}, {} bytes", answer.status, answer.body.len()),
        Err(problem) => format!("no answer: {problem}"),
    }
}

/// Largest number of requests that are all shown: as many as a person reads.
const ALL: usize = 6;

#[cfg(test)]
mod tests {
    use stampede_stack::Answer;

    use super::*;
    use crate::sample;

    fn actual(status: u16, body: &str) -> StepResult {
        let answer = Answer::of_text(status, Vec::new(), body);
        StepResult::of(1, Ok(answer), Vec::new())
    }

    fn finding(what: &str) -> Finding {
        Finding { number: 2, what: what.to_owned(), ..sample::finding() }
    }

    const NAMES: [&str; 2] = ["nginx-fpm", "frankenphp-worker"];

    #[test]
    fn what_shows_again_is_told_request_by_request() {
        let steps = [sample::step(0, "/berlin"), sample::step(1, "/")];
        let (plain, other) = (actual(200, "12:00 UTC\n"), actual(200, "13:00 CET\n"));
        let compared = |at: usize, keeps, difference: Option<&str>| ComparedStep {
            step: &steps[at],
            answers: [&plain, keeps],
            difference: difference.map(str::to_owned),
        };
        let compared_steps =
            [compared(0, &plain, None), compared(1, &other, Some("- … UTC\n+ … CET"))];
        let finding = finding("the answer to GET / differs from that under nginx-fpm");
        let again = Some(
            "  the answer to GET / differs from that under nginx-fpm\n    - … UTC\n    + … CET\n",
        );
        insta::assert_snapshot!(text(&finding, NAMES, &compared_steps, again));
    }

    #[test]
    fn of_many_requests_those_that_differ_are_told_and_the_last() {
        let steps: Vec<Step> = (0..9).map(|at| sample::step(0, &format!("/{at}"))).collect();
        let plain = actual(200, "ok");
        let none = StepResult::of(1, Err(sample::reset()), Vec::new());
        let compared_steps: Vec<ComparedStep<'_>> = steps
            .iter()
            .enumerate()
            .map(|(at, step)| match at {
                4 => ComparedStep {
                    step,
                    answers: [&plain, &none],
                    difference: Some("- 200".to_owned()),
                },
                _ => ComparedStep { step, answers: [&plain, &plain], difference: None },
            })
            .collect();
        let once = Finding { is_repeatable: false, ..finding("GET /8 ends the worker") };
        insta::assert_snapshot!(text(&once, NAMES, &compared_steps, None));
    }
}
