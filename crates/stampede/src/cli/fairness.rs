//! `fairness: each-at-its-best`: the workers of each runtime are tuned before all are compared.

use stampede_load::schedule::{MicroRate, Segments};
use stampede_load::spec::{Arrivals, Model, WhenFull};
use stampede_load::time::Nanos;

use super::Failure;
use super::capacity::{Numbers, begin, is_of_a_search, settled};
use super::tune::{WORKERS, report, tune, write};
use crate::fact::Notice;
use crate::plan::model::{Plan, Scalar};
use crate::runtime::{Catalogue, Places};
use crate::trial::search_context::{Run, SearchContext};
use crate::tune::settings::{Setting, variant};
use crate::tune::tuning_search::{Objective, TuningSearch};
use crate::{interrupt, machine, progress};

/// Tunes `workers` of every runtime of the catalogue that has them; what was found is a setting and
/// a notice of the plan.
pub fn each_at_its_best(plan: &mut Plan) -> Result<(), Failure> {
    let app = if plan.apps.len() > 1 { " with the plan's first app" } else { "" };
    for index in 0..plan.runtimes.len() {
        if plan.runtimes[index].is_external() || interrupt::asked() {
            continue;
        }
        let said = match best_workers(plan, index)? {
            Found::Workers(workers, run) => {
                let choice = &mut plan.runtimes[index];
                choice.settings.insert("workers".to_owned(), Scalar::Int(workers.into()));
                let by = format!("`{run}`{app}");
                Notice::Tuned { runtime: choice.name.clone(), workers, by }
            }
            Found::Nothing(why) => {
                Notice::NotTuned { runtime: plan.runtimes[index].name.clone(), why }
            }
        };
        plan.notices.push(said);
    }
    Ok(())
}

enum Found {
    /// So many, and the run that shows it.
    Workers(u32, String),
    /// Why there is no best.
    Nothing(String),
}

fn best_workers(plan: &Plan, index: usize) -> Result<Found, Failure> {
    let catalogue = Catalogue::load(Places::from_env());
    let context = SearchContext::new(alone(plan, index)?, catalogue, machine::facts())
        .map_err(|refusal| Failure::from_refusal(&refusal))?;
    if let Some(why) = &context.refused[0] {
        return Ok(Found::Nothing(why.to_string()));
    }
    let setting = Setting::read(WORKERS).map_err(|error| Failure::new(&error))?;
    let (choice, settings) = (&context.plan.runtimes[0], [setting]);
    let takes = |value| context.check(&variant(choice, &settings, &[value])).is_ok();
    if !settings[0].ends().into_iter().all(takes) {
        return Ok(Found::Nothing("its workers are not a number to choose".to_owned()));
    }
    let max_time_s = MAX_TIME_S * plan.time_scale;
    let numbers = Numbers { max_time_s, precision: PRECISION, trial_s: TRIAL_S };
    let objective = Objective { wanted: numbers.of(&context), rate: None, max_time_s };
    let record = context.run_record();
    let directory = begin(&context, &record)?;
    let path = directory.path().to_owned();
    let mut progress = progress::for_stderr();
    context.begin(progress.as_mut());
    let run = Run::new(record.clone(), directory, progress.as_mut());
    let tuned = tune(&context, run, TuningSearch::new(objective, settings.to_vec()), |tuned| {
        write(&path, &report(&context, &record, tuned))
    });
    let (tuned, _) = tuned.map_err(|error| Failure::from_store(&error))?;
    let report = report(&context, &record, &tuned);
    write(&path, &report).map_err(|error| Failure::from_store(&error))?;
    let best = report.best.as_ref().and_then(|best| best.get("workers")?.parse().ok());
    Ok(match best {
        Some(workers) => Found::Workers(workers, path.display().to_string()),
        None => Found::Nothing(report.said),
    })
}

/// The plan with this runtime alone, its first app, and an open load that the search fills.
fn alone(plan: &Plan, index: usize) -> Result<Plan, Failure> {
    let mut alone = plan.clone();
    alone.runtimes = vec![plan.runtimes[index].clone()];
    alone.apps.truncate(1);
    alone.loads.truncate(1);
    alone.notices.clear();
    alone.out = None;
    // What compares, or says how much, is no help in finding how much.
    alone.expect.retain(is_of_a_search);
    let load = &mut alone.loads[0];
    (load.only, load.except, load.expect) = (Vec::new(), Vec::new(), Vec::new());
    if let Model::Closed { .. } = load.model {
        load.model = Model::Open {
            schedule: Segments::constant(MicroRate::ONE, Nanos::SECOND),
            arrivals: Arrivals::Uniform,
            max_in_flight: stampede_load::client::Client::ALL[0].max_in_flight,
            when_full: WhenFull::Queue,
        };
    }
    settled(alone)
}

/// For each runtime, at most; `time_scale` shortens it.
const MAX_TIME_S: f64 = 300.0;
/// Of each point's capacity.
const PRECISION: f64 = 0.1;
/// As `stampede tune`.
const TRIAL_S: f64 = 2.0;
