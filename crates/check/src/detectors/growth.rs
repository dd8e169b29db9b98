//! Finds what grows over thousands of requests to one worker.

use std::sync::Arc;

use stampede_linux::interrupt;
use stampede_model::words;
use stampede_plan::model::RuntimeChoice;
use stampede_stack::RuntimeError;

use super::{Detector, Target};
use crate::amount::amount;
use crate::grow::{self, GrowthCause, GrowthResult, Series, grown_amounts};
use crate::harness::Harness;
use crate::investigation::Reference;
use crate::kinds::FindingKind;
use crate::model::{CheckRequest, Finding, Growth, GrowthOf, RuntimeResult, Step};
use crate::orders::Culprits;
use crate::signs::of_growth;
use crate::subject::Subject;
use crate::text::{self, indented};
use crate::work::Progress;

/// Sends thousands of requests to one worker and reads its sizes.
pub struct GrowthDetector;

/// Largest number of requests that a finding's text names.
const NAMED: usize = 3;
/// Largest number of requests that a finding contains.
const STEPS_MAX: usize = 10;

impl Detector for GrowthDetector {
    fn kinds(&self) -> &'static [FindingKind] {
        &[FindingKind::Growth]
    }

    fn measure(
        &self,
        target: &Target<'_>,
        checked: &mut RuntimeResult,
        progress: Progress<'_>,
    ) -> Result<(), RuntimeError> {
        let Some(options) = target.growth else { return Ok(()) };
        progress(&format!("{}: growth over {} requests", target.choice.name, options.requests));
        let fatal_requests = fatal_requests(&checked.findings);
        let steps = target.steps.iter().filter(|step| !fatal_requests.contains(&&step.request));
        let steps: Vec<Step> = steps.cloned().collect();
        add(checked, grow::measure(target.harness, target.choice, &steps, options)?);
        Ok(())
    }

    fn reproduce(
        &self,
        harness: &Harness,
        runtime: &RuntimeChoice,
        finding: &Finding,
        _reference: &mut Reference<'_>,
    ) -> Result<Option<String>, RuntimeError> {
        let (growing, series) = grow::measure_again(harness, runtime, &finding.steps)?;
        let lines = growing
            .iter()
            .map(|one| format!("{}\n{}", text::what(one.of), evidence(one, &series)))
            .collect::<Vec<_>>();
        Ok((!lines.is_empty()).then(|| indented(&lines.join("\n"))))
    }
}

/// Returns requests that end a worker: with them, no worker would live long enough to show growth.
fn fatal_requests(findings: &[Finding]) -> Vec<&Arc<CheckRequest>> {
    let deaths = findings.iter().filter(|finding| finding.kind.row().ends_worker);
    deaths.filter_map(|finding| finding.steps.last()).map(|step| &step.request).collect()
}

fn add(checked: &mut RuntimeResult, grown: GrowthResult) {
    checked.growth_sent = grown.sent;
    if grown.growth.is_empty() && !interrupt::is_requested() {
        let few = format!("growth was not measured: {} requests were answered", grown.sent);
        checked.problem.get_or_insert(few);
    }
    checked.growth = grown.growth;
    checked.findings.extend(grown.causes.into_iter().map(finding));
}

fn finding(cause: GrowthCause) -> Finding {
    let GrowthCause { growth, culprits, series, is_repeatable } = cause;
    let what = match growth.of {
        GrowthOf::Heap => "PHP's memory grows",
        GrowthOf::Memory => "the worker's memory grows outside PHP's own",
        GrowthOf::Descriptors => "open files and connections grow",
        GrowthOf::Connections => "connections to databases grow",
        GrowthOf::TemporaryFiles => "temporary files are left behind",
        GrowthOf::Entries => "what the app's code keeps grows",
    };
    let subject = match &culprits.all[..] {
        [one] => Subject::request(&one.request),
        _ => Subject::AnyRequest,
    };
    let (each, with) = (amount(growth.of, growth.per_request), named(&culprits));
    Finding {
        number: 0,
        kind: FindingKind::Growth,
        about: subject.to_string(),
        what: format!("{what}: {each} with {with}"),
        evidence: evidence(&growth, &series),
        steps: culprits.all.into_iter().take(STEPS_MAX).collect(),
        is_repeatable,
        places: Vec::new(),
        fingerprint: format!("growth {:?} {subject}", growth.of).to_lowercase(),
        subject,
        signs: of_growth(grown_amounts(&series).iter().map(|one| one.name)),
        is_accepted: false,
    }
}

/// Returns words for the requests that make something grow.
fn named(culprits: &Culprits<Step>) -> String {
    let name = |step: &Step| crate::analyze::name(&step.request);
    match &culprits.all[..] {
        [one] => format!("each {}", name(one)),
        many if culprits.is_each_alone && many.len() <= NAMED => {
            format!("each {}", words::list(&many.iter().map(name).collect::<Vec<_>>()))
        }
        many if culprits.is_each_alone => {
            let first: Vec<String> = many[..NAMED].iter().map(name).collect();
            format!("each of {} requests: {} …", many.len(), first.join(", "))
        }
        many => format!("each request, whichever of {} it is", many.len()),
    }
}

fn evidence(growth: &Growth, series: &Series) -> String {
    let amount = |value| amount(growth.of, value);
    let mut lines = vec![format!(
        "  {} → {} over {} requests: {} each (95 %: {} to {})",
        amount(growth.begin),
        amount(growth.end),
        words::count(growth.requests),
        amount(growth.per_request),
        amount(growth.per_request_low),
        amount(growth.per_request_high),
    )];
    lines.extend(
        series.failing_from.map(|sent| format!("  after {sent} requests answers begin to fail")),
    );
    lines.extend(grown_amounts(series).iter().map(|one| format!("  {one}")));
    lines.join("\n")
}
