//! The command `stampede demo`: compares what is installed with the app of a framework, in about
//! three minutes. Before, it makes a runtime that keeps the app in memory, if none is here and Go is.

use clap::Args;
use stampede_compose::engine::Engine;
use stampede_linux::interrupt;
use stampede_model::fact::Notice;
use stampede_monitor::machine;
use stampede_plan::Overrides;
use stampede_plan::model::{AppChoice, Plan, RuntimeChoice, RuntimeSource};
use stampede_stack::{App, Catalogue, RuntimeDirectory, SearchPaths};
use stampede_trial::causes::cause;

use super::fail::CommandError;
use super::get::GetError;
use super::remote::RemoteFlags;
use super::shell::print_message;
use super::{Failure, Outcome, compare, install, peak};

/// Arguments of `demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Write the results to this directory, which must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Set the seed for the order of trials [default: random, stored with the results]
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// Print what would run and how long it would take; start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the summary as JSON instead of the table
    #[arg(long)]
    pub json: bool,
    /// Where live figures go.
    #[command(flatten)]
    pub remote: RemoteFlags,
}

/// The plan, which is also a file of the repository. Its runtimes are in the order of preference.
const PLAN: &str = include_str!("../../../../plans/demo.yaml");
const NAME: &str = "plans/demo.yaml";
/// The app where the framework of the plan's app is not installed.
const WITHOUT_FRAMEWORK: &str = "hello";
/// Most runtimes: more would take more than three minutes.
const RUNTIMES: usize = 5;
/// Fewest of them.
const LEAST: usize = 2;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
enum DemoError {
    /// Fewer than two of its runtimes are installed.
    #[error("the demo compares runtimes, and {} installed", match .found {
        Some(name) => format!("only `{name}` is"),
        None => "none that it knows is".to_owned(),
    })]
    TooFew {
        /// The only one that is installed.
        found: Option<String>,
    },
}

impl CommandError for DemoError {
    fn hint(&self) -> Option<String> {
        Some("stampede install nginx-fpm,apache-modphp".to_owned())
    }
}

/// Runs the demo.
pub fn run(args: &DemoArgs) -> Result<Outcome, Failure> {
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let remote = args.remote.start()?;
    let mut flags =
        Overrides { out: args.out.clone(), seed: args.seed.clone(), ..Overrides::default() };
    let all = stampede_plan::read_ready(NAME, PLAN, &flags)?;
    let app = catalogue.app(&all.stack.apps.choices[0])?;
    let mut notices = Vec::new();
    compare::is_free(all.out.as_deref())?;
    make_one_in_memory(&all, &catalogue, args)?;
    // An engine that hangs takes half a minute, so it is asked only where it matters.
    let has_engine = || Engine::find().is_ok();
    let chosen = match choose(&all, &app, &catalogue, &has_engine) {
        Ok(chosen) => chosen,
        Err(_) => {
            let other = catalogue.app(&AppChoice::named(WITHOUT_FRAMEWORK.to_owned()))?;
            let chosen = choose(&all, &other, &catalogue, &has_engine)?;
            let mut of_chosen =
                all.stack.runtimes.iter().filter(|runtime| chosen.contains(&runtime.name));
            let error = of_chosen.find_map(|runtime| catalogue.check(runtime, &app).err());
            notices.extend(error.map(|error| Notice::DemoApp {
                app: other.name.clone(),
                cause: cause(&error),
                todo: error.hint(),
            }));
            flags.app = Some(other.name);
            chosen
        }
    };
    flags.only = Some(chosen.join(","));
    let mut plan = Plan { notices, ..stampede_plan::read_ready(NAME, PLAN, &flags)? };
    if !args.dry_run {
        peak::choose_rates(&mut plan)?;
    }
    let wanted = compare::Wanted { is_dry: args.dry_run, json: args.json, prices: None, remote };
    compare::measure(plan, catalogue, &machine::facts(), wanted)
}

/// Where no runtime of the plan that keeps the app in memory is installed, makes the first one that can be made
/// with what is here: RoadRunner, with Go. The demo goes on without one that is not made.
fn make_one_in_memory(plan: &Plan, catalogue: &Catalogue, args: &DemoArgs) -> Result<(), Failure> {
    let in_memory: Vec<RuntimeDirectory> = plan
        .stack
        .runtimes
        .iter()
        .filter_map(|runtime| directory(runtime, catalogue))
        .filter(|directory| directory.manifest.mode.keeps_memory())
        .collect();
    let is_here = |one: &RuntimeDirectory| {
        install::is_complete(&stampede_stack::describe_runtime(catalogue, &one.name))
    };
    if in_memory.iter().any(is_here) {
        return Ok(());
    }
    let made = |one| Some((one, install::makeable(catalogue, one)?));
    let Some((runtime, recipes)) = in_memory.iter().find_map(made) else { return Ok(()) };
    let name = &runtime.name;
    if args.dry_run {
        print_message(&format!("note: `{name}` would be built first, which takes some minutes"));
        return Ok(());
    }
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    for recipe in recipes {
        match recipe.run(&catalogue.places) {
            Ok(()) => {}
            Err(error @ GetError::Interrupted { .. }) => return Err(error.into()),
            Err(error) => {
                let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
                print_message(&format!("note: the demo goes on without `{name}`: {error}{hint}"));
                break;
            }
        }
    }
    Ok(())
}

/// The directory of a runtime, if it is one of the catalogue.
fn directory(runtime: &RuntimeChoice, catalogue: &Catalogue) -> Option<RuntimeDirectory> {
    match &runtime.source {
        RuntimeSource::Catalogue(name) => catalogue.runtime(name).ok(),
        _ => None,
    }
}

/// Chooses runtimes that can serve the app here: the first ones of the plan, and among them one that
/// keeps the app in memory. If there is none, the first of the plan is named too: it then comes from
/// its images, or is left out with a notice that says how to get it. With an engine and nothing else, all
/// come from images.
fn choose(
    plan: &Plan,
    app: &App,
    catalogue: &Catalogue,
    has_engine: &dyn Fn() -> bool,
) -> Result<Vec<String>, DemoError> {
    let keeps_memory = |runtime: &&RuntimeChoice| {
        directory(runtime, catalogue)
            .is_some_and(|directory| directory.manifest.mode.keeps_memory())
    };
    let is_here = |runtime: &&RuntimeChoice| catalogue.check(runtime, app).is_ok();
    let runtimes = &plan.stack.runtimes;
    let in_memory = runtimes.iter().filter(keeps_memory).find(is_here);
    let of_plan = runtimes.iter().find(keeps_memory);
    let measured = in_memory.or_else(|| of_plan.filter(|_| has_engine()));
    let per_request = || runtimes.iter().filter(|runtime| !keeps_memory(runtime));
    let room = RUNTIMES - usize::from(measured.is_some());
    let mut chosen: Vec<&RuntimeChoice> = per_request().filter(is_here).take(room).collect();
    let found: Vec<&RuntimeChoice> = chosen.iter().copied().chain(in_memory).collect();
    if found.len() < LEAST {
        if !has_engine() {
            return Err(DemoError::TooFew { found: found.first().map(|one| one.name.clone()) });
        }
        chosen = per_request().take(LEAST).collect();
    }
    chosen.extend(measured.or(of_plan));
    Ok(chosen.into_iter().map(|runtime| runtime.name.clone()).collect())
}
