//! Runs one trial of a search and summarizes it as a [`Point`].

use stampede_linux::interrupt;
use stampede_model::counts::End;
use stampede_model::fact::{Behind, Fact, Reason, Traffic};
use stampede_model::load::{Model, Until};
use stampede_model::schedule::{MicroRate, Segments};
use stampede_model::time::Nanos;
use stampede_plan::model::{LoadChoice, RuntimeChoice};
use stampede_results::capacity::{LimitingFactor, Point, TrialOutcome};
use stampede_results::store::StoreError;
use stampede_results::summary::agents::AgentFigures;
use stampede_results::summary::kept_up::KeptUp;
use stampede_results::summary::model::{CaseSummary, ExpectedOutcome, Found, LoadModel};
use stampede_results::summary::why::Cause;
use stampede_verdict::{self as verdict, Fault};

use super::capacity_search::{LoadLevel, TrialSpec};
use stampede_trial::search_context::{SearchContext, SearchRun, TrialResult, trial_length};

/// Measures one trial. Returns `None` if the user wanted to end before the trial was over.
///
/// # Errors
/// Only if results cannot be written.
pub fn measure(
    context: &SearchContext,
    run: &mut SearchRun<'_>,
    choice: &RuntimeChoice,
    spec: &TrialSpec,
) -> Result<Option<(Point, TrialResult)>, StoreError> {
    if interrupt::is_requested() {
        return Ok(None);
    }
    let load = load(context, spec);
    let result = context.measure(run, choice, &load, Nanos((spec.left_s * 1e9) as u64))?;
    let stopped = result.record.load.as_ref().is_some_and(|load| load.end == End::Stopped);
    if interrupt::is_requested() && (stopped || result.record.load.is_none()) {
        return Ok(None);
    }
    Ok(Some((point(&result, spec), result)))
}

/// Returns the plan's load with the rate or the concurrency of `spec`.
fn load(context: &SearchContext, spec: &TrialSpec) -> LoadChoice {
    let length = Nanos((spec.length_s * 1e9).round() as u64);
    match spec.level {
        LoadLevel::Concurrency(concurrency) => {
            let name =
                if concurrency == 1 { "1 user".to_owned() } else { format!("{concurrency} users") };
            context.load(name, Model::Closed { concurrency, until: Until::For(length) })
        }
        LoadLevel::Rate(rate) => {
            let schedule = Segments::constant(MicroRate((rate * 1e6).round() as u64), length);
            let name = format!("{}/s", stampede_model::words::target_rate(rate).replace(' ', ""));
            context.load(name, context.plan.load.open(schedule))
        }
    }
}

fn point(result: &TrialResult, spec: &TrialSpec) -> Point {
    let (case, record) = (&result.case, &result.record);
    // The figures of this trial, whether or not the trial counts.
    let figures = &case.figures;
    let times = match case.model {
        LoadModel::Open => &figures.response_time_ns,
        LoadModel::Closed => &figures.service_time_ns,
    };
    let (seen, why) = judge(result);
    Point {
        trial: record.number,
        purpose: spec.purpose,
        concurrency: match spec.level {
            LoadLevel::Concurrency(concurrency) => Some(concurrency),
            LoadLevel::Rate(_) => None,
        },
        offered_per_second: match spec.level {
            LoadLevel::Concurrency(_) => None,
            LoadLevel::Rate(rate) => Some(rate),
        },
        length_s: spec.length_s,
        took_s: trial_length(record).as_secs_f64(),
        seen,
        why,
        throughput_per_second: figures.throughput_per_second.value(),
        time_ns_mean: times.mean.known(),
        time_ns_p50: times.p50.known(),
        time_ns_p95: times.p95.known(),
        time_ns_p99: times.p99.known(),
        ok_share: figures.ok_share.known(),
        cpu_percent: figures.cpu_percent_median.known(),
        cpu_cost_us: figures.cpu_cost_us.known(),
        memory_bytes_max: figures.memory_bytes_max.known(),
        out_of_memory: verdict::out_of_memory(&record.verdict).cloned(),
        held_back: held_back(case, seen),
        agents: AgentFigures::of(record.load.as_ref()),
    }
}

/// Returns the most direct reason why the trial missed. "No limit was reached" is not a reason.
fn held_back(case: &CaseSummary, seen: TrialOutcome) -> Option<LimitingFactor> {
    let mut reasons = case.why.iter().filter(|why| why.cause != Cause::BelowLimits);
    let why = reasons.next().filter(|_| seen == TrialOutcome::Missed)?;
    Some(LimitingFactor { cause: Some(why.cause), found: why.found.clone() })
}

/// Returns what the trial shows about the runtime, with the reasons.
fn judge(result: &TrialResult) -> (TrialOutcome, Vec<Fact<Reason>>) {
    let record = &result.record;
    let Some(load) = &record.load else {
        return (TrialOutcome::NotMeasured, record.verdict.reasons.clone());
    };
    let not_met = |expectation: &str, found: Option<&Fact<Found>>| {
        let expectation = expectation.to_owned();
        Fact::from(Traffic::NotMet { expectation, found: found.cloned() })
    };
    // At a rate at which more and more requests wait, only time is missing until they wait too long.
    let growing = match result.case.kept_up {
        Some(KeptUp::No { why: why @ Behind::Growing { .. }, .. }) => {
            Some(Traffic::FellBehind { why }.into())
        }
        _ => None,
    };
    let missed = result.case.expectations.iter().filter_map(|judged| match &judged.outcome {
        ExpectedOutcome::Met => None,
        ExpectedOutcome::NotMet { figure } => Some(not_met(&judged.text, Some(figure))),
        ExpectedOutcome::Unknown { .. } => Some(not_met(&judged.text, None)),
    });
    let missed: Vec<Fact<Reason>> = missed.chain(growing).collect();
    let fault = verdict::generators_fault(&record.verdict);
    // If a load thread is fully busy, a slow generator and a slow runtime look the same.
    let is_full = is_open(result) && load.busy_share_max > GENERATOR_FULL;
    if let Some(killed) = verdict::out_of_memory(&record.verdict) {
        return (TrialOutcome::Missed, vec![killed.clone()]);
    }
    let reasons = || record.verdict.reasons.clone();
    match (fault, missed.is_empty()) {
        (Some(Fault::Short), _) => (TrialOutcome::Generator, reasons()),
        // Late requests arrive together and are harder to answer, so an expectation that is met
        // still counts.
        (Some(Fault::Late), true) => (TrialOutcome::Met, reasons()),
        (Some(Fault::Late), false) => (TrialOutcome::Generator, reasons()),
        (None, true) => (TrialOutcome::Met, Vec::new()),
        (None, false) if is_full => (TrialOutcome::Generator, reasons()),
        (None, false) => (TrialOutcome::Missed, missed),
    }
}

fn is_open(result: &TrialResult) -> bool {
    result.case.model == LoadModel::Open
}

/// Share of its time for which a load thread is busy, above which it counts as full.
const GENERATOR_FULL: f64 = 0.95;
