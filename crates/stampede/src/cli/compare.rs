//! `stampede compare`: plan, run, table.

use std::path::Path;

use stampede_load::time::Nanos;

use super::args::CompareArgs;
use super::fairness::each_at_its_best;
use super::init::PLAN;
use super::plan_flags::overrides;
use super::report::write_page;
use super::shell::print;
use super::{Failure, Outcome};
use crate::against::{self, Asked, Copies};
use crate::fact::Notice;
use crate::keeper::KeeperOptions;
use crate::mask::mask_json;
use crate::plan::Overrides;
use crate::plan::model::{Fairness, Plan};
use crate::progress::words;
use crate::report::{self, Shown};
use crate::runtime::{Catalogue, Places};
use crate::store::{RunDirectory, StoreError, StoredRun, StoredTrial};
use crate::suggest::{fill, fill_load, suggest};
use crate::summary::Summary;
use crate::trial::comparison::Comparison;
use crate::trial::refusal;
use crate::{interrupt, keeper, machine, plan, progress, store};

/// Runs a comparison, prints the table.
pub fn run(args: CompareArgs) -> Result<Outcome, Failure> {
    let catalogue = Catalogue::load(Places::from_env());
    let mut plan = read(&args, &catalogue)?;
    let out = plan.out.clone();
    let facts = machine::facts();
    if plan.fairness == Fairness::EachAtItsBest && !args.dry_run {
        // What is wrong is said before minutes are spent.
        Comparison::new(plan.clone(), catalogue.clone(), &facts)
            .map_err(|refusal| Failure::from_refusal(&refusal))?;
        is_free(out.as_deref())?;
        each_at_its_best(&mut plan)?;
    }
    // Dropped at the end: the other version's copy is there until then.
    let _copies = other_version(&args, &mut plan, &catalogue)?;
    let comparison = Comparison::new(plan, catalogue, &facts)
        .map_err(|refusal| Failure::from_refusal(&refusal))?;
    is_free(out.as_deref())?;
    if args.dry_run {
        return print(dry_run(&comparison, args.json).as_bytes());
    }
    keeper::sweep().map_err(|error| Failure::new(&error))?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    let mut directory = RunDirectory::create(out.as_deref(), comparison.record())
        .map_err(|error| Failure::from_store(&error))?;
    let mut progress = progress::for_stderr();
    comparison
        .run(&mut directory, progress.as_mut())
        .map_err(|error| Failure::from_store(&error))?;
    finish(&directory.close(), &comparison, args.json)
}

fn is_free(out: Option<&Path>) -> Result<(), Failure> {
    match out.filter(|directory| directory.exists()) {
        Some(directory) => {
            Err(Failure::from_store(&StoreError::Exists { directory: directory.into() }))
        }
        None => Ok(()),
    }
}

/// Puts the app's other version into the plan, where one is asked for.
fn other_version(
    args: &CompareArgs,
    plan: &mut Plan,
    catalogue: &Catalogue,
) -> Result<Option<Copies>, Failure> {
    let Some(rev) = &args.against else { return Ok(None) };
    // What is wrong with the directory is said of the directory.
    refusal::apps(plan, catalogue).map_err(|refusal| Failure::from_refusal(&refusal))?;
    let prepare = args.against_prepare.as_deref();
    let options = KeeperOptions::default();
    let asked = Asked { rev, prepare, is_dry: args.dry_run, keeper: &options };
    let copies =
        against::add(plan, catalogue, asked).map_err(|error| Failure::from_against(&error))?;
    Ok(Some(copies))
}

fn read(args: &CompareArgs, catalogue: &Catalogue) -> Result<Plan, Failure> {
    let mut overrides = overrides(args);
    let mut notices = Vec::new();
    if args.against.is_some() && args.plan.is_none() && overrides.rounds.is_none() {
        overrides.rounds = Some(AGAINST_ROUNDS.to_owned());
        notices.push(Notice::Chosen { flags: vec![format!("--rounds {AGAINST_ROUNDS}")] });
    }
    let read = match &args.plan {
        Some(path) => plan::read(path, &overrides),
        None if overrides.app.is_none() && Path::new(PLAN).is_file() => {
            return Err(Failure::rendered("neither a plan nor an app is named".to_owned()).hint(
                format!(
                    "`stampede compare {PLAN}` runs the plan in this directory; `--app DIR` needs none"
                ),
            ));
        }
        None => {
            match (&overrides.app, &overrides.runtimes) {
                (Some(_), None) => notices.extend(suggested(&mut overrides, catalogue)?),
                (Some(_), Some(_)) if names_no_load(&overrides) => {
                    notices.push(Notice::Chosen { flags: fill_load(&mut overrides) });
                }
                _ => {}
            }
            plan::from_flags(&overrides)
        }
    };
    let plan =
        read.map_err(|error| Failure::from_plan(&refusal::relocate_error(error, catalogue)))?;
    Ok(Plan { notices, ..plan })
}

/// Whether no flag says what is sent. A part of a load may be a mistake, which is said.
fn names_no_load(flags: &Overrides) -> bool {
    let Overrides { rate, schedule, concurrency, for_, requests, .. } = flags;
    [rate, schedule, concurrency, for_, requests].iter().all(|flag| flag.is_none())
}

/// The fewest that `rounds: auto` would look at, too: three show a difference only where it is
/// large.
const AGAINST_ROUNDS: &str = "5";

/// Fills in what is compared where only the app is said. What was chosen, for the reader.
fn suggested(flags: &mut Overrides, catalogue: &Catalogue) -> Result<Vec<Notice>, Failure> {
    let plan = plan::apps_from_flags(flags).map_err(|error| Failure::from_plan(&error))?;
    let apps =
        refusal::apps(&plan, catalogue).map_err(|refusal| Failure::from_refusal(&refusal))?;
    let suggestion = suggest(catalogue, &apps).map_err(|error| Failure::from_suggest(&error))?;
    Ok(fill(flags, &suggestion))
}

/// Summary and table of what is on disk: the same as `stampede report` prints later.
fn finish(path: &Path, comparison: &Comparison, json: bool) -> Result<Outcome, Failure> {
    let shown = Shown::read(Path::new(store::RESULTS), &[path.display().to_string()])
        .map_err(|error| Failure::from_store(&error))?;
    let (stored, summary) = (shown.stored(), shown.summary());
    store::write_summary(path, &report::json(summary))
        .map_err(|error| Failure::from_store(&error))?;
    let page = write_page(&shown);
    if json {
        print(super::diff::json_of_run(&shown)?.as_bytes())?;
    } else {
        print(report::text(summary, &super::report::style()).as_bytes())?;
        if let Some(versions) = super::diff::text_of_versions(&shown) {
            print(format!("\n{versions}").as_bytes())?;
        }
        print(next(path, page.as_deref(), comparison, summary).as_bytes())?;
    }
    Ok(outcome(stored, summary))
}

/// What to try next, under the table.
fn next(path: &Path, page: Option<&Path>, comparison: &Comparison, summary: &Summary) -> String {
    let shown = path.display();
    let app = shell_words::join(comparison.app());
    let ours = comparison.catalogue_names();
    let measured = summary.cases.iter().any(|case| case.trials_counted > 0);
    let mut lines = Vec::new();
    if measured && comparison.record().against.is_some() {
        let table = format!("stampede diff {shown} --format markdown");
        lines.push((table, "the two versions, for a pull request"));
    }
    if measured {
        let table = format!("stampede report {shown} --format markdown");
        lines.push((table, "the table for a pull request"));
    } else if has_logs(path) {
        lines.push((format!("ls {shown}/trials/*/logs"), "what the runtimes wrote"));
    }
    if let Some(first) = ours.first() {
        let up = format!("stampede up {first} {app}");
        lines.push((up, "the runtime alone, with its rendered configuration"));
    }
    if measured && !ours.is_empty() {
        let names = ours.iter().take(2).copied().collect::<Vec<_>>().join(",");
        let other = format!("stampede compare {app} --runtimes {names} --concurrency 20 --for 10s");
        lines.push((other, "another load"));
    }
    let lines: String =
        lines.iter().map(|(command, what)| format!("  {command}   {what}\n")).collect();
    let page = page.map_or(String::new(), |page| format!("Report:  {}\n", page.display()));
    format!("\nResults: {shown}\n{page}\nTry next:\n{lines}")
}

/// Whether a trial kept any: of what never started the message has the last lines.
fn has_logs(run: &Path) -> bool {
    let trials = std::fs::read_dir(run.join("trials")).into_iter().flatten().flatten();
    let mut logs = trials.filter_map(|trial| std::fs::read_dir(trial.path().join("logs")).ok());
    logs.any(|mut directory| directory.next().is_some())
}

fn outcome(stored: &StoredRun, summary: &Summary) -> Outcome {
    // A runtime that works, with an app that only redirects, is a row that is invalid.
    let has_worked =
        |trial: &StoredTrial| trial.record.load.is_some() || trial.record.runtime.before.is_some();
    if !stored.trials.iter().any(has_worked) && !interrupt::asked() {
        Outcome::Nothing
    } else if !summary.is_whole() || !stored.record.is_whole(stored.trials.len()) {
        Outcome::Incomplete
    } else if summary.breaks_an_expectation() {
        Outcome::NotMet
    } else {
        Outcome::Fine
    }
}

/// What would run, in order, and how long it takes.
fn dry_run(comparison: &Comparison, json: bool) -> String {
    let record = comparison.record();
    if json {
        let value = serde_json::json!({
            "run": record,
            "trials": comparison.trials(),
            "expected_ns": comparison.expected().0,
        });
        return mask_json(&format!("{value:#}\n"));
    }
    let mut text = format!(
        "{}; nothing was started\n\n",
        words::announced(comparison.trials(), comparison.expected(), comparison.warm_up())
    );
    for notice in &record.notices {
        text.push_str(&format!("note: {notice}\n"));
    }
    for (round, cases) in (1..).zip(&record.order) {
        text.push_str(&format!("round {round}\n"));
        for &index in cases {
            let case = &record.cases[index];
            let length: Nanos = comparison.trial_expected(index);
            text.push_str(&format!(
                "  {} · {} · {} ({}), {}\n",
                case.runtime,
                case.app,
                case.load,
                case.load_text,
                words::length(length)
            ));
        }
    }
    for case in record.cases.iter().filter(|case| case.refused.is_some()) {
        let why = case.refused.as_ref().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!(
            "not measured: {} · {} · {}: {why}\n",
            case.runtime, case.app, case.load
        ));
    }
    text
}
