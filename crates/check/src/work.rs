//! Runs a whole check: the reference first, then one runtime after another.

use std::sync::Arc;
use std::time::Instant;

use stampede_linux::interrupt;
use stampede_model::causes::chain;
use stampede_model::words;
use stampede_php::CodeScan;
use stampede_plan::model::RuntimeChoice;
use stampede_stack::RuntimeError;

use super::baseline::Baseline;
use super::detectors::{DETECTORS, Target};
use super::grow;
use super::harness::Harness;
use super::investigation::{self, Investigation, Reference};
use super::model::{
    CheckReport, CheckRequest, Coverage, FORMAT, RuntimeResult, SkippedRequest, Step, Verdict,
};
use super::orders::{self, Pass};
use super::signs::stable_fingerprint;

/// What to check.
pub struct CheckOptions {
    /// The check's id.
    pub name: String,
    /// The app as the user named it.
    pub app: String,
    /// The app's kind.
    pub kind: String,
    /// Requests, in their order.
    pub requests: Vec<Arc<CheckRequest>>,
    /// Requests that are not sent.
    pub skipped: Vec<SkippedRequest>,
    /// How growth is measured; `None` if it is not.
    pub growth: Option<grow::GrowthOptions>,
    /// Names of the passes to run; empty for all.
    pub passes: Vec<String>,
    /// The accepted findings.
    pub baseline: Baseline,
}

/// Receives progress, as lines of text.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

/// Runs all passes and returns what was found.
///
/// # Errors
/// The reference does not start, so that nothing can be compared. Problems of another runtime are
/// in its part of the report.
pub fn check(
    harness: &Harness,
    reference: &RuntimeChoice,
    runtimes: &[RuntimeChoice],
    options: CheckOptions,
    progress: Progress<'_>,
) -> Result<CheckReport, RuntimeError> {
    let begun = Instant::now();
    let overlap: Vec<String> =
        overlapping(harness, runtimes).map(|choice| choice.name.clone()).collect();
    let passes = passes(harness, runtimes, &options);
    let step_lists: Vec<Vec<Step>> =
        passes.iter().map(|pass| investigation::steps(pass, &options.requests)).collect();
    let mut report = new_report(harness, reference, &options);
    let mut reference_run = Reference::new(harness, reference);
    for (pass, steps) in passes.iter().zip(&step_lists) {
        progress(&format!("{}: {}, {} requests, twice", reference.name, pass.name, steps.len()));
        reference_run.pass(steps)?;
    }
    for choice in runtimes {
        // In workers with one request at a time nothing overlaps, so the overlapping pass is left
        // out there.
        let can_overlap = overlap.contains(&choice.name);
        let own_passes =
            passes.iter().zip(&step_lists).filter(|(pass, _)| can_overlap || pass.at_once == 1);
        let step_lists: Vec<&[Step]> = own_passes.map(|(_, steps)| &steps[..]).collect();
        let mut checked =
            check_runtime(harness, choice, &step_lists, &mut reference_run, &options, progress);
        let before = report.runtimes.iter().map(|one| one.findings.len()).sum::<usize>();
        number_findings(&mut checked, before as u32, &options.baseline);
        report.runtimes.push(checked);
    }
    report.tried.sent =
        reference_run.sent + report.runtimes.iter().map(|one| one.sent).sum::<u64>();
    let all = overlap.len() == runtimes.len();
    let named = |pass: &Pass| match pass.at_once > 1 && !all {
        true => format!("{} on {}", pass.name, words::list(&overlap)),
        false => pass.name.to_owned(),
    };
    report.tried.passes = passes.iter().map(named).collect();
    report.tried.growth_requests = report.runtimes.iter().map(|one| one.growth_sent).sum();
    report.tried.seconds = begun.elapsed().as_secs_f64();
    report.interrupted = interrupt::is_requested();
    Ok(report)
}

/// Returns the runtimes in whose workers requests overlap.
fn overlapping<'a>(
    harness: &Harness,
    runtimes: &'a [RuntimeChoice],
) -> impl Iterator<Item = &'a RuntimeChoice> {
    runtimes.iter().filter(|choice| harness.overlaps(choice))
}

/// Returns the passes that at least one of these runtimes runs.
pub fn passes(harness: &Harness, runtimes: &[RuntimeChoice], options: &CheckOptions) -> Vec<Pass> {
    let users = harness.users.len() as u32;
    let mut passes = orders::passes(options.requests.len(), users, harness.seed);
    let overlap = overlapping(harness, runtimes).next().is_some();
    passes.retain(|pass| pass.at_once == 1 || overlap);
    passes.retain(|pass| {
        options.passes.is_empty() || options.passes.iter().any(|one| one == pass.name)
    });
    passes
}

fn new_report(harness: &Harness, reference: &RuntimeChoice, options: &CheckOptions) -> CheckReport {
    CheckReport {
        format: FORMAT,
        stampede: env!("CARGO_PKG_VERSION").to_owned(),
        name: options.name.clone(),
        started_at: stampede_linux::clock::now(),
        asked: Vec::new(),
        app: options.app.clone(),
        kind: options.kind.clone(),
        reference: reference.name.clone(),
        seed: harness.seed,
        tried: Coverage {
            requests: options.requests.len() as u64,
            users: harness.users.len() as u32,
            ..Coverage::default()
        },
        skipped: options.skipped.clone(),
        runtimes: Vec::new(),
        code: CodeScan::default(),
        interrupted: false,
    }
}

/// Returns everything that is found on one runtime.
fn check_runtime(
    harness: &Harness,
    choice: &RuntimeChoice,
    step_lists: &[&[Step]],
    reference_run: &mut Reference<'_>,
    options: &CheckOptions,
    progress: Progress<'_>,
) -> RuntimeResult {
    let mut checked = run_passes(harness, choice, step_lists, reference_run, progress);
    let steps = step_lists.first().copied().unwrap_or_default();
    let target = Target { harness, choice, steps, growth: options.growth };
    for detector in DETECTORS {
        if checked.problem.is_some() || interrupt::is_requested() {
            break;
        }
        if let Err(error) = detector.measure(&target, &mut checked, progress) {
            checked.problem = Some(chain(&error));
        }
    }
    if interrupt::is_requested() {
        checked.problem.get_or_insert("ended early".to_owned());
    }
    checked
}

/// Returns what the passes have shown. If a pass fails, those before it count.
fn run_passes(
    harness: &Harness,
    choice: &RuntimeChoice,
    step_lists: &[&[Step]],
    reference_run: &mut Reference<'_>,
    progress: Progress<'_>,
) -> RuntimeResult {
    let mut investigation = Investigation::new(harness, choice);
    let outcome = step_lists.iter().zip(1..).try_for_each(|(steps, pass)| {
        let (name, passes) = (&choice.name, step_lists.len());
        progress(&format!("{name}: pass {pass} of {passes}, {} requests", steps.len()));
        investigation.pass(steps, reference_run)
    });
    let (findings, failed) =
        investigation.findings(reference_run, |what| progress(&format!("{}: {what}", choice.name)));
    // Without any record of the watch, the absence of findings is no proof.
    let unwatched = (investigation.unwatched > 0).then(|| {
        format!(
            "its workers wrote no record of their state for {} requests; look at its log with `stampede up {}`",
            investigation.unwatched, choice.name
        )
    });
    RuntimeResult {
        runtime: choice.name.clone(),
        verdict: Verdict::NotChecked,
        findings,
        growth: Vec::new(),
        workers_lost: investigation.lost,
        passes: investigation.pass_count(),
        sent: investigation.sent,
        growth_sent: 0,
        not_again: investigation.chance,
        not_compared: reference_run.known.not_compared.take(),
        problem: outcome.err().or(failed).map(|error| chain(&error)).or(unwatched),
    }
}

/// Numbers the findings after those of the earlier runtimes, and sets the verdict.
fn number_findings(checked: &mut RuntimeResult, before: u32, baseline: &Baseline) {
    checked.findings.sort_by_key(|finding| finding.kind.rank());
    for (finding, number) in checked.findings.iter_mut().zip(before + 1..) {
        finding.number = number;
        finding.fingerprint =
            stable_fingerprint(&format!("{} {}", checked.runtime, finding.fingerprint));
        finding.is_accepted = baseline.accepts(finding);
    }
    checked.verdict = verdict(checked);
}

fn verdict(checked: &RuntimeResult) -> Verdict {
    let mut open = checked.findings.iter().filter(|finding| !finding.is_accepted).peekable();
    if open.peek().is_none() {
        return if checked.problem.is_some() { Verdict::NotChecked } else { Verdict::Safe };
    }
    // Growth without `max_requests` is not fixed by a new worker.
    let growing = checked.growth.iter().filter(|one| one.grows);
    let recycled: Option<Vec<u64>> = growing.map(|one| one.max_requests).collect();
    let is_recyclable = open.all(|finding| finding.kind.row().is_fixed_by_recycling);
    match recycled.and_then(|all| all.into_iter().min()) {
        Some(max_requests) if is_recyclable && checked.problem.is_none() => {
            Verdict::SafeWith { max_requests }
        }
        _ => Verdict::NotSafe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::FindingKind;
    use crate::model::{Finding, Growth, GrowthOf};
    use crate::sample::{self, growth};

    fn finding(kind: FindingKind) -> Finding {
        let fingerprint = format!("{kind:?} get /").to_lowercase();
        Finding { kind, fingerprint, ..sample::finding() }
    }

    fn checked(kinds: &[FindingKind], growth: Vec<Growth>) -> RuntimeResult {
        let findings = kinds.iter().copied().map(finding).collect();
        RuntimeResult { findings, growth, ..sample::checked("roadrunner") }
    }

    #[test]
    fn recycling_fixes_what_grows_and_nothing_else() {
        let heap = || growth(GrowthOf::Heap, Some(500));
        let files = || growth(GrowthOf::Descriptors, Some(90));
        let left = || growth(GrowthOf::TemporaryFiles, None);
        let grows = [FindingKind::Growth];
        assert_eq!(verdict(&checked(&[], vec![])), Verdict::Safe);
        let safe_with = |max_requests| Verdict::SafeWith { max_requests };
        assert_eq!(verdict(&checked(&grows, vec![heap()])), safe_with(500));
        assert_eq!(verdict(&checked(&grows, vec![heap(), files()])), safe_with(90));
        assert_eq!(verdict(&checked(&grows, vec![heap(), left()])), Verdict::NotSafe);
        let both = [FindingKind::Growth, FindingKind::State];
        assert_eq!(verdict(&checked(&both, vec![heap()])), Verdict::NotSafe);
        for kind in [FindingKind::Leak, FindingKind::Death, FindingKind::Answer, FindingKind::Kept]
        {
            assert_eq!(verdict(&checked(&[kind], vec![])), Verdict::NotSafe);
        }
    }

    #[test]
    fn an_unfinished_check_is_not_called_safe() {
        let problem = Some("ended early".to_owned());
        let ended = RuntimeResult { problem: problem.clone(), ..checked(&[], vec![]) };
        assert_eq!(verdict(&ended), Verdict::NotChecked);
        let growing = checked(&[FindingKind::Growth], vec![growth(GrowthOf::Heap, Some(5))]);
        assert_eq!(verdict(&RuntimeResult { problem, ..growing }), Verdict::NotSafe);
    }

    #[test]
    fn the_most_severe_finding_comes_first_and_the_baseline_is_per_runtime() {
        let mut one = checked(&[FindingKind::State, FindingKind::Leak], vec![]);
        let mut earlier = checked(&[FindingKind::State], vec![]);
        number_findings(&mut earlier, 0, &Baseline::default());
        let runtimes = vec![earlier];
        let baseline = Baseline::of(&CheckReport { runtimes, ..sample::report() });
        number_findings(&mut one, 3, &baseline);
        let reported: Vec<_> =
            one.findings.iter().map(|one| (one.number, one.kind, one.is_accepted)).collect();
        assert_eq!(reported, [(4, FindingKind::Leak, false), (5, FindingKind::State, true)]);
        assert_eq!(one.verdict, Verdict::NotSafe);
        let mut known = checked(&[FindingKind::State], vec![]);
        number_findings(&mut known, 0, &baseline);
        assert_eq!(known.verdict, Verdict::Safe, "only what is accepted");
    }
}
