//! Chooses rates that are a share of the baseline's peak. The peak is measured before the
//! comparison begins.
//!
//! A rate that all runtimes can serve shows how long answers take without queues. That rate depends
//! on the app and the machine, so nobody can name it beforehand.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use stampede_linux::interrupt;
use stampede_model::event::Event;
use stampede_model::fact::{NoPeak, Notice};
use stampede_model::load::{Model, Until};
use stampede_model::record::{PeakRate, PeakRecord, Validity};
use stampede_model::schedule::{MicroRate, Segments};
use stampede_model::time::Nanos;
use stampede_monitor::machine;
use stampede_plan::AT_A_TIME;
use stampede_plan::model::{LoadChoice, Plan};
use stampede_plan::parts::{SearchLoad, SearchPlan};
use stampede_results::store::RunDirectory;
use stampede_stack::{Catalogue, SearchPaths};

use super::Failure;
use super::fail::CommandError;
use crate::progress;
use stampede_trial::search_context::{SearchContext, SearchRun};

/// Why the rates of a plan cannot be chosen.
#[derive(Debug, thiserror::Error)]
enum PeakError {
    /// The plan has more than one app.
    #[error("a rate that is a share of the peak needs a plan with one app")]
    SeveralApps,
    /// The peak could not be measured, and every load needs it.
    #[error("{notice}")]
    NoPeak {
        /// The loads that are left out, and the reason.
        notice: Box<Notice>,
    },
}

impl CommandError for PeakError {
    fn hint(&self) -> Option<String> {
        match self {
            PeakError::SeveralApps => Some(
                "each app has a peak of its own: name rates, such as `rate: 200`, or write a plan for each app"
                    .to_owned(),
            ),
            PeakError::NoPeak { .. } => None,
        }
    }
}

/// Sets the rate of every load that asks for a share of the peak. If the peak cannot be measured,
/// these loads are left out, and a notice says why. If no load remains, that is a failure.
pub fn choose_rates(plan: &mut Plan) -> Result<(), Failure> {
    if plan.loads.iter().all(|load| load.rate_share.is_none()) {
        return Ok(());
    }
    if plan.stack.apps.choices.len() > 1 {
        return Err(PeakError::SeveralApps.into());
    }
    match measured(plan)? {
        Ok(peak) => set_rates(plan, peak),
        Err(why) => {
            let runtime = plan.baseline.clone();
            let (left_out, kept): (Vec<LoadChoice>, Vec<LoadChoice>) =
                std::mem::take(&mut plan.loads)
                    .into_iter()
                    .partition(|load| load.rate_share.is_some());
            let loads = left_out.into_iter().map(|load| load.name).collect();
            let notice = Notice::NoPeak { runtime, loads, why };
            if kept.is_empty() {
                return Err(PeakError::NoPeak { notice: Box::new(notice) }.into());
            }
            plan.loads = kept;
            plan.notices.push(notice);
        }
    }
    Ok(())
}

/// The peak of the baseline.
struct Peak {
    throughput_per_second: f64,
    length: Nanos,
}

fn set_rates(plan: &mut Plan, peak: Peak) {
    let mut rates = Vec::new();
    for load in &mut plan.loads {
        let Some(share) = load.rate_share.take() else { continue };
        let rate = rounded((peak.throughput_per_second * share).max(SLOWEST));
        if let Model::Open { schedule, .. } = &mut load.model {
            *schedule = Segments::constant(MicroRate((rate * 1e6) as u64), schedule.length());
        }
        rates.push(PeakRate { load: load.name.clone(), share, rate_per_second: rate });
    }
    plan.peak = Some(PeakRecord {
        runtime: plan.baseline.clone(),
        throughput_per_second: peak.throughput_per_second,
        length_ns: peak.length.0,
        rates,
    });
}

/// Rounds to two digits. Nobody needs 1 237.5 requests per second.
fn rounded(rate: f64) -> f64 {
    let step = 10_f64.powf(rate.log10().floor() - 1.0);
    (rate / step).round() * step
}

/// The lowest rate: one request in two seconds.
const SLOWEST: f64 = 0.5;

/// Measures the baseline under the plan's first closed load. The trial's directory is deleted.
fn measured(plan: &Plan) -> Result<Result<Peak, NoPeak>, Failure> {
    let context = SearchContext::new(
        baseline_search(plan),
        Catalogue::load(SearchPaths::from_env()),
        machine::facts(),
    )?;
    if let Some(why) = &context.refused[0] {
        return Ok(Err(NoPeak::Refused { reason: why.clone() }));
    }
    stampede_keeper::sweep().map_err(|error| Failure::new(&error))?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    let directory = tempfile::Builder::new()
        .prefix("stampede-peak-")
        .rand_bytes(RANDOM_LETTERS)
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| Failure::new(&error))?;
    let record = context.run_record();
    let out = directory.path().join("peak");
    let directory = RunDirectory::create(Some(&out), &record)?;
    let mut progress = progress::for_stderr();
    let (name, length) = (context.plan.load.name.clone(), MEASURED);
    let concurrency = context.plan.load.max_in_flight;
    let load = context.load(name, Model::Closed { concurrency, until: Until::For(length) });
    progress.event(&Event::Notice(&format!("measuring the peak of {} first", plan.baseline)));
    let mut run = SearchRun::new(record, directory, progress.as_mut());
    for tries_left in (0..TRIES).rev() {
        let trial = context.measure(&mut run, &context.plan.stack.runtimes[0], &load, length)?;
        let throughput = trial.case.figures.throughput_per_second.value();
        let is_valid = trial.record.verdict.judged != Validity::Invalid;
        let Some(throughput_per_second) = throughput.filter(|rate| is_valid && *rate > 0.0) else {
            return Ok(Err(NoPeak::Invalid { reasons: trial.record.verdict.reasons.clone() }));
        };
        let ok = trial.case.trials.first().map_or(&[][..], |trial| &trial.over_time.ok);
        if tries_left == 0 || !is_rising(ok) {
            return Ok(Ok(Peak { throughput_per_second, length }));
        }
        let text = "the peak was still rising, because something was cold: it is measured again";
        run.listener.event(&Event::Notice(text));
    }
    Ok(Err(NoPeak::Invalid { reasons: Vec::new() }))
}

/// Whether the answers per second grew from the first half of the load to the second, as they do
/// while files come from the disk for the first time.
fn is_rising(ok: &[u64]) -> bool {
    // The last second may be a part of one.
    let whole = &ok[..ok.len().saturating_sub(1)];
    let (first, second) = whole.split_at(whole.len() / 2);
    let mean = |half: &[u64]| half.iter().sum::<u64>() as f64 / half.len().max(1) as f64;
    !first.is_empty() && mean(second) > RISING * mean(first)
}

/// Returns a search on the baseline alone, with what the load sends that shows its peak. That
/// load's concurrency is its `max_in_flight`.
fn baseline_search(plan: &Plan) -> SearchPlan {
    let mut stack = plan.stack.clone();
    stack.runtimes.retain(|runtime| runtime.name == plan.baseline);
    stack.apps.choices.truncate(1);
    let is_closed = |load: &&LoadChoice| matches!(load.model, Model::Closed { .. });
    let load = plan.loads.iter().find(is_closed).unwrap_or(&plan.loads[0]);
    let concurrency = match load.model {
        Model::Closed { concurrency, .. } => concurrency,
        Model::Open { .. } => AT_A_TIME.parse().unwrap_or(1),
    };
    SearchPlan {
        stack,
        load: SearchLoad::of(load, concurrency),
        begin: plan.begin,
        load_from: plan.load_from.clone(),
        expect: Vec::new(),
        seed: plan.seed,
        out: None,
        notices: Vec::new(),
    }
}

/// About 128 random bits.
const RANDOM_LETTERS: usize = 22;

/// How often the peak is measured until it no longer rises.
const TRIES: u32 = 3;
/// By how much the answers of the second half must outnumber those of the first.
const RISING: f64 = 1.25;

/// Enough for some thousand answers of most apps, and short compared with the comparison.
const MEASURED: Nanos = Nanos::from_secs(5);

#[cfg(test)]
mod tests {
    use super::is_rising;

    #[test]
    fn a_peak_of_a_cold_machine_rises() {
        assert!(!is_rising(&[]));
        assert!(!is_rising(&[900]), "a part of a second");
        assert!(!is_rising(&[1000, 1010, 990, 1005, 1000, 3]), "the last second is cut off");
        assert!(is_rising(&[2, 5, 11, 60, 900, 40]));
        assert!(!is_rising(&[1200, 1100, 900, 900, 880, 900]), "it falls");
    }
}
