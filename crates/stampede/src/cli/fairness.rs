//! Implements `fairness: each-at-its-best`: tunes the workers of each runtime before all are
//! compared.

use stampede_linux::interrupt;
use stampede_model::fact::Notice;
use stampede_model::fact::app::NotTuned;
use stampede_model::load::{Arrivals, Model, WhenFull};
use stampede_model::schedule::{MicroRate, Segments};
use stampede_model::time::Nanos;
use stampede_monitor::machine;
use stampede_plan::model::{Plan, Scalar};
use stampede_stack::{Catalogue, SearchPaths};

use super::Failure;
use super::capacity::{CapacityError, SearchLimits, begin, is_of_a_search, searchable_plan};
use super::tune::{WORKERS, report, tune, write};
use crate::progress;
use crate::trial::search_context::{SearchContext, SearchRun};
use crate::tune::settings::{Setting, variant};
use crate::tune::tuning_search::{Objective, TuningSearch};

/// Tunes `workers` of every runtime that stampede starts. Each result becomes a setting and a
/// notice of the plan.
pub fn each_at_its_best(plan: &mut Plan) -> Result<(), Failure> {
    let first_app_alone = plan.apps.len() > 1;
    for index in 0..plan.runtimes.len() {
        if plan.runtimes[index].is_external() || interrupt::is_requested() {
            continue;
        }
        let notice = match best_workers(plan, index)? {
            BestWorkers::Workers(workers, run) => {
                let choice = &mut plan.runtimes[index];
                choice.settings.insert("workers".to_owned(), Scalar::Int(workers.into()));
                let runtime = choice.name.clone();
                Notice::Tuned { runtime, workers, run, first_app_alone }
            }
            BestWorkers::Nothing(why) => {
                Notice::NotTuned { runtime: plan.runtimes[index].name.clone(), why }
            }
        };
        plan.notices.push(notice);
    }
    Ok(())
}

enum BestWorkers {
    /// The best number of workers, and the run that shows it.
    Workers(u32, String),
    /// Why there is no best number.
    Nothing(NotTuned),
}

fn best_workers(plan: &Plan, index: usize) -> Result<BestWorkers, Failure> {
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let context = SearchContext::new(search_plan(plan, index)?, catalogue, machine::facts())?;
    if let Some(why) = &context.refused[0] {
        return Ok(BestWorkers::Nothing(NotTuned::Refused { reason: Box::new(why.clone()) }));
    }
    let setting = Setting::read(WORKERS).map_err(|error| Failure::new(&error))?;
    let (choice, settings) = (&context.plan.runtimes[0], [setting]);
    let takes = |value| context.check(&variant(choice, &settings, &[value])).is_ok();
    if !settings[0].ends().into_iter().all(takes) {
        return Ok(BestWorkers::Nothing(NotTuned::NoNumber {}));
    }
    let max_time_s = MAX_TIME_S * plan.time_scale;
    let numbers = SearchLimits { max_time_s, precision: PRECISION, trial_s: TRIAL_S };
    let objective = Objective { goal: numbers.of(&context), rate: None, max_time_s };
    let record = context.run_record();
    let directory = begin(&context, &record)?;
    let path = directory.path().to_owned();
    let mut progress = progress::for_stderr();
    context.begin(progress.as_mut());
    let run = SearchRun::new(record.clone(), directory, progress.as_mut());
    let tuned = tune(&context, run, TuningSearch::new(objective, settings.to_vec()), |tuned| {
        write(&path, &report(&context, &record, tuned))
    });
    let (tuned, _) = tuned?;
    let report = report(&context, &record, &tuned);
    write(&path, &report)?;
    let best = report.best.as_ref().and_then(|best| best.get("workers")?.parse().ok());
    Ok(match best {
        Some(workers) => BestWorkers::Workers(workers, path.display().to_string()),
        None => BestWorkers::Nothing(NotTuned::NotFound { result: Box::new(report.said) }),
    })
}

/// Returns the plan with only this runtime, its first app, and an open load whose rate the search
/// sets.
fn search_plan(plan: &Plan, index: usize) -> Result<Plan, CapacityError> {
    let mut search_plan = plan.clone();
    search_plan.runtimes = vec![plan.runtimes[index].clone()];
    search_plan.apps.truncate(1);
    search_plan.loads.truncate(1);
    search_plan.notices.clear();
    search_plan.out = None;
    // Expectations that compare runs or demand throughput cannot be used to search for a capacity.
    search_plan.expect.retain(is_of_a_search);
    let load = &mut search_plan.loads[0];
    (load.only, load.except, load.expect) = (Vec::new(), Vec::new(), Vec::new());
    if let Model::Closed { .. } = load.model {
        load.model = Model::Open {
            schedule: Segments::constant(MicroRate::ONE, Nanos::SECOND),
            arrivals: Arrivals::Uniform,
            max_in_flight: stampede_load::client::Client::ALL[0].max_in_flight,
            when_full: WhenFull::Queue,
        };
    }
    searchable_plan(search_plan)
}

/// Time limit for each runtime in seconds. `time_scale` shortens it.
const MAX_TIME_S: f64 = 300.0;
/// Precision of each measured capacity, as a share.
const PRECISION: f64 = 0.1;
/// Length of a short trial in seconds, as in `stampede tune`.
const TRIAL_S: f64 = 2.0;
