//! One finding's requests, sent again to a fresh worker and to the reference.

use std::fmt::Write as _;

use super::look::{name, person};
use super::model::{Finding, Step};
use super::stand::{Bench, Seen};
use crate::plan::model::RuntimeChoice;
use crate::runtime::{RuntimeError, WatchMode, diff};

/// What both answer, request by request; the last one is where the finding shows.
///
/// # Errors
/// One of them does not start.
pub fn replay(
    bench: &Bench,
    reference: &RuntimeChoice,
    runtime: &RuntimeChoice,
    finding: &Finding,
) -> Result<String, RuntimeError> {
    let forgets = go(bench, reference, &finding.steps)?;
    let keeps = go(bench, runtime, &finding.steps)?;
    let mut text = format!("{}. {}\n", finding.number, finding.what);
    let (forgetful, keeping) = (&reference.name, &runtime.name);
    for ((step, forgets), keeps) in finding.steps.iter().zip(&forgets).zip(&keeps) {
        let _ = writeln!(text, "\n{} ({})", name(&step.request), person(step.user));
        let _ = writeln!(text, "  {forgetful}: {}", status(forgets));
        let _ = writeln!(text, "  {keeping}: {}", status(keeps));
        let (one, other) = (forgets.text(), keeps.text());
        if one != other {
            let _ = writeln!(text, "{}", diff(&one, &other));
        }
    }
    Ok(text)
}

fn go(bench: &Bench, choice: &RuntimeChoice, steps: &[Step]) -> Result<Vec<Seen>, RuntimeError> {
    let mut stand = bench.up(choice, WatchMode::Full)?;
    let seen = stand.tour(steps);
    stand.stop()?;
    Ok(seen)
}

fn status(seen: &Seen) -> String {
    match &seen.outcome {
        Ok(answer) => format!("{}, {} bytes", answer.status, answer.body.len()),
        Err(problem) => format!("no answer: {problem}"),
    }
}
