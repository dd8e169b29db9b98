//! One finding's requests, sent again to a fresh worker and to the reference.

use std::fmt::Write as _;

use super::course::{Course, Reference};
use super::grow;
use super::look::{name, person};
use super::model::{Finding, FindingKind};
use super::stand::{Bench, Seen, Starts as _, Way};
use crate::plan::model::RuntimeChoice;
use crate::runtime::{RuntimeError, diff};

/// What came of it.
#[derive(Debug)]
pub struct Replayed {
    /// In words.
    pub text: String,
    /// Whether the finding has shown again.
    pub shows: bool,
}

/// What both answer, request by request, and whether the finding shows again: by an answer, by what the worker
/// keeps, or by what grows.
///
/// # Errors
/// One of them does not start.
pub fn replay(
    bench: &Bench,
    reference: &RuntimeChoice,
    runtime: &RuntimeChoice,
    finding: &Finding,
) -> Result<Replayed, RuntimeError> {
    let forgets = bench.go(reference, &finding.steps, Way::InTurn)?.seen;
    let keeps = bench.go(runtime, &finding.steps, Way::AtOnce)?.seen;
    let mut text = format!("{}. {}\n", finding.number, finding.what);
    for ((step, forgets), keeps) in finding.steps.iter().zip(&forgets).zip(&keeps) {
        let _ = writeln!(text, "\n{} ({})", name(&step.request), person(step.user));
        let _ = writeln!(text, "  {}: {}", reference.name, status(forgets));
        let _ = writeln!(text, "  {}: {}", runtime.name, status(keeps));
        let (one, other) = (forgets.text(), keeps.text());
        if one != other {
            let _ = writeln!(text, "{}", diff(&one, &other));
        }
    }
    let again = again(bench, reference, runtime, finding)?;
    let _ = match &again {
        Some(evidence) => writeln!(text, "\nit shows again:\n{evidence}"),
        None => writeln!(text, "\nit does not show again"),
    };
    Ok(Replayed { text, shows: again.is_some() })
}

/// The evidence, where it is there again.
fn again(
    bench: &Bench,
    reference: &RuntimeChoice,
    runtime: &RuntimeChoice,
    finding: &Finding,
) -> Result<Option<String>, RuntimeError> {
    if finding.kind == FindingKind::Growth {
        return grow::again(bench, runtime, finding);
    }
    let mut forgets = Reference::new(bench, reference);
    let shown = Course::new(bench, runtime).shows(finding, &mut forgets)?;
    Ok(shown.map(|shown| format!("{}\n{}", shown.what, shown.evidence)))
}

fn status(seen: &Seen) -> String {
    match &seen.outcome {
        Ok(answer) => format!("{}, {} bytes", answer.status, answer.body.len()),
        Err(problem) => format!("no answer: {problem}"),
    }
}
