//! Implements `fairness: each-at-its-best`: tunes the workers of each runtime before all are
//! compared.

use stampede_linux::interrupt;
use stampede_load::client::Client;
use stampede_model::fact::Notice;
use stampede_model::fact::app::NotTuned;
use stampede_model::load::Model;
use stampede_monitor::machine;
use stampede_plan::model::{Plan, Scalar};
use stampede_plan::parts::{SearchLoad, SearchPlan};
use stampede_stack::{Catalogue, SearchPaths};

use super::Failure;
use super::capacity::{CapacityError, SearchLimits, begin, is_of_a_search, searchable_plan};
use super::tune::{WORKERS, report, tune, write};
use crate::progress;
use crate::tune::settings::{Setting, variant};
use crate::tune::tuning_search::{Objective, TuningSearch};
use stampede_trial::search_context::{SearchContext, SearchRun};

/// Tunes `workers` of every runtime that stampede starts. Each result becomes a setting and a
/// notice of the plan.
pub fn each_at_its_best(plan: &mut Plan) -> Result<(), Failure> {
    let first_app_alone = plan.stack.apps.choices.len() > 1;
    for index in 0..plan.stack.runtimes.len() {
        if plan.stack.runtimes[index].is_external() || interrupt::is_requested() {
            continue;
        }
        let notice = match best_workers(plan, index)? {
            BestWorkers::Workers(workers, run) => {
                let choice = &mut plan.stack.runtimes[index];
                choice.settings.insert("workers".to_owned(), Scalar::Int(workers.into()));
                let runtime = choice.name.clone();
                Notice::Tuned { runtime, workers, run, first_app_alone }
            }
            BestWorkers::Nothing(why) => {
                Notice::NotTuned { runtime: plan.stack.runtimes[index].name.clone(), why }
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
    let (choice, settings) = (&context.plan.stack.runtimes[0], [setting]);
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

/// Returns a search on this runtime alone, with the plan's first app and what its first load sends.
fn search_plan(plan: &Plan, index: usize) -> Result<SearchPlan, CapacityError> {
    let mut stack = plan.stack.clone();
    stack.runtimes = vec![plan.stack.runtimes[index].clone()];
    stack.apps.choices.truncate(1);
    let load = &plan.loads[0];
    let max_in_flight = match load.model {
        Model::Open { max_in_flight, .. } => max_in_flight,
        Model::Closed { .. } => Client::ALL[0].max_in_flight,
    };
    // Expectations that compare runs or demand throughput cannot be used to search for a capacity.
    let expect = plan.expect.iter().filter(|expected| is_of_a_search(expected)).cloned().collect();
    searchable_plan(SearchPlan {
        stack,
        load: SearchLoad::of(load, max_in_flight),
        begin: plan.begin,
        load_from: plan.load_from.clone(),
        expect,
        seed: plan.seed,
        out: None,
        notices: Vec::new(),
    })
}

/// Time limit for each runtime in seconds. `time_scale` shortens it.
const MAX_TIME_S: f64 = 300.0;
/// Precision of each measured capacity, as a share.
const PRECISION: f64 = 0.1;
/// Length of a short trial in seconds, as in `stampede tune`.
const TRIAL_S: f64 = 2.0;
