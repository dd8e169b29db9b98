//! The command `stampede compare`: reads a plan, runs it, prints a table.

mod planned;

use std::path::Path;

use stampede_keeper::KeeperOptions;
use stampede_linux::interrupt;
use stampede_mask::mask_json;
use stampede_model::event::Event;
use stampede_model::fact::{Fact, Notice};
use stampede_model::machine::MachineFacts;
use stampede_model::record::{CustomBuild, RESULTS};
use stampede_model::time::Nanos;
use stampede_monitor::machine;
use stampede_plan::model::{Fairness, Plan};
use stampede_remote_write::{RemoteWriter, WithRemoteWrite};
use stampede_results::report::{self, LoadedRuns};
use stampede_results::store;
use stampede_results::store::{RunDirectory, StoreError, StoredRun, StoredTrial};
use stampede_results::summary::Summary;
use stampede_results::summary::model::{Comparison as Compared, Group, Standing};
use stampede_results::summary::price::Prices;
use stampede_stack::{Catalogue, Mode, SearchPaths};

use super::args::CompareArgs;
use super::fairness::each_at_its_best;
use super::report::{read_prices, write_page};
use super::shell::{print, print_message};
use super::{Failure, Outcome};
use crate::progress;
use crate::progress::words;
use stampede_against::{AgainstRequest, VersionCopies};
use stampede_trial::comparison::Comparison;
use stampede_trial::refusal;

/// Runs a comparison and prints the table.
pub fn run(args: CompareArgs) -> Result<Outcome, Failure> {
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let facts = machine::facts();
    // Mistakes are reported before minutes are spent on tuning, on the peak or on another version.
    let prices = read_prices(args.price.as_deref())?;
    let remote = args.remote.start()?;
    let mut plan = planned::read(&args, &catalogue, &facts)?;
    // Another version has mistakes of its own, which are found when it is added.
    if args.against.is_none() {
        Comparison::new(plan.clone(), catalogue.clone(), &facts)?;
    }
    is_free(plan.out.as_deref())?;
    if plan.fairness == Fairness::EachAtItsBest && !args.dry_run {
        each_at_its_best(&mut plan)?;
    }
    if !args.dry_run {
        super::peak::choose_rates(&mut plan)?;
    }
    plan.working_tree = stampede_against::working_tree(&plan.stack.apps.choices);
    // Kept until the end of the run, because dropping it removes the other version's copy.
    let _copies = other_version(&args, &mut plan, &catalogue)?;
    measure(
        plan,
        catalogue,
        &facts,
        Wanted { is_dry: args.dry_run, json: args.json, prices, remote },
    )
}

/// What is wanted of a comparison besides its figures.
pub struct Wanted {
    /// Only to say what would run.
    pub is_dry: bool,
    /// JSON in place of the table.
    pub json: bool,
    /// What CPUs and memory cost; `None`: nobody asked.
    pub prices: Option<Prices>,
    /// Where live figures go; `None`: nowhere.
    pub remote: Option<RemoteWriter>,
}

/// Runs a plan and prints the table, or only says what would run.
pub fn measure(
    plan: Plan,
    catalogue: Catalogue,
    facts: &MachineFacts,
    Wanted { is_dry, json, prices, mut remote }: Wanted,
) -> Result<Outcome, Failure> {
    let out = plan.out.clone();
    let comparison = Comparison::new(plan, catalogue, facts)?;
    is_free(out.as_deref())?;
    if is_dry {
        return print(dry_run(&comparison, json).as_bytes());
    }
    stampede_keeper::sweep().map_err(|error| Failure::new(&error))?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    comparison.prepare()?;
    let mut directory = RunDirectory::create(out.as_deref(), comparison.record())?;
    let mut progress = progress::for_stderr();
    // `serve` shows the runs of the default directory.
    if progress::is_live() && out.is_none() && comparison.expected() > LONG {
        let text = "to watch it in a browser, run `stampede serve` here in another terminal";
        progress.event(&Event::Notice(text));
    }
    let (listener, writer) = (progress.as_mut(), remote.as_mut());
    let ran = comparison.run(&mut directory, &mut WithRemoteWrite { listener, writer });
    super::remote::finish(remote);
    let path = directory.close();
    match ran {
        Ok(_) => finish(&path, &comparison, json, prices.as_ref()),
        Err(error) => {
            show_kept(&path, json);
            Err(error.into())
        }
    }
}

/// Prints what was measured before a run failed, such as on a full disk. Nothing is written. The error
/// comes last, because it is what the user must act on.
fn show_kept(path: &Path, json: bool) {
    let Ok(loaded) = LoadedRuns::read(Path::new(RESULTS), &[path.display().to_string()]) else {
        return;
    };
    let kept: u32 = loaded.summary().cases.iter().map(|case| case.trials_counted).sum();
    if kept == 0 || json {
        return;
    }
    // A terminal that is gone is no reason to hide the error that follows.
    let _ = print(report::answer(loaded.summary(), &super::report::style()).as_bytes());
    let kept = stampede_model::words::quantity(kept.into(), "trial");
    let shown = path.display();
    print_message(&format!(
        "note: {kept} kept; see them again: stampede report {shown} --details\n"
    ));
}

/// A run of this length is worth a second terminal.
const LONG: Nanos = Nanos::from_secs(60);

/// Whether the results can be written to this directory.
pub fn is_free(out: Option<&Path>) -> Result<(), Failure> {
    match out.filter(|directory| directory.exists()) {
        Some(directory) => Err(StoreError::Exists { directory: directory.into() }.into()),
        None => Ok(()),
    }
}

/// Adds the other version of the app to the plan, if `--against` names one.
fn other_version(
    args: &CompareArgs,
    plan: &mut Plan,
    catalogue: &Catalogue,
) -> Result<Option<VersionCopies>, Failure> {
    let Some(rev) = &args.against else { return Ok(None) };
    // The apps are checked first, so that a mistake in the directory is reported as such.
    refusal::apps(&plan.stack.apps, catalogue)?;
    let prepare = args.against_prepare.as_deref();
    let options = KeeperOptions::default();
    let (is_twice, is_dry) = (args.aa, args.dry_run);
    let asked = AgainstRequest { rev, prepare, is_twice, is_dry, keeper: &options };
    let copies = stampede_against::add(plan, catalogue, asked)?;
    Ok(Some(copies))
}

/// Writes the summary and prints the table from the stored results. `stampede report` prints the
/// same later.
fn finish(
    path: &Path,
    comparison: &Comparison,
    json: bool,
    prices: Option<&Prices>,
) -> Result<Outcome, Failure> {
    let loaded = LoadedRuns::read(Path::new(RESULTS), &[path.display().to_string()])?;
    let (stored, summary) = (loaded.stored(), loaded.summary());
    let written = store::write_summary(path, &report::json(summary));
    let page = write_page(&loaded);
    if json {
        print(super::diff::json_of_run(&loaded)?.as_bytes())?;
    } else {
        let style = super::report::style();
        print(report::answer(summary, &style).as_bytes())?;
        if let Some(prices) = prices {
            print(report::price(summary, prices, &style).as_bytes())?;
        }
        if let Some(versions) = super::diff::text_of_versions(&loaded) {
            print(format!("\n{versions}").as_bytes())?;
        }
        print(next(path, page.as_deref(), comparison, summary).as_bytes())?;
    }
    written?;
    Ok(outcome(stored, summary))
}

/// Returns the text below the table: what the user can do next.
fn next(path: &Path, page: Option<&Path>, comparison: &Comparison, summary: &Summary) -> String {
    let shown = path.display();
    let measured = summary.cases.iter().any(|case| case.trials_counted > 0);
    let mut text = String::new();
    if let Some(runtime) =
        worker_that_leads(summary).filter(|_| comparison.record().against.is_none())
    {
        let app = shell_words::join(comparison.app());
        let runtime = CustomBuild::without_mark(runtime);
        text += &format!(
            "\nWorker mode keeps state between requests. Before you switch, check that your app is safe in \
             it:\n  stampede check {app} --runtime {runtime}\n"
        );
    }
    if measured && comparison.record().against.is_some() {
        text += &format!("\nFor a pull request: stampede diff {shown} --format markdown\n");
    }
    if !measured && has_logs(path) {
        text += &format!("\nWhat the runtimes logged: ls {shown}/trials/*/logs\n");
    }
    let report = page.map_or_else(|| shown.to_string(), |page| page.display().to_string());
    text + &format!("\nReport: {report}\nAll figures: stampede report {shown} --details\n")
}

/// Returns a runtime that keeps the app in memory and is better than a baseline that does not;
/// `None` if there is none.
fn worker_that_leads(summary: &Summary) -> Option<&str> {
    let keeps_state = |name: &str| {
        let case = summary.cases.iter().find(|case| case.runtime == name);
        case.is_some_and(|case| {
            [Mode::Worker, Mode::EventLoop].iter().any(|mode| case.mode == mode.name())
        })
    };
    let starts_anew = |group: &&Group| !group.baseline.as_deref().is_some_and(keeps_state);
    let better = summary.groups.iter().filter(starts_anew).flat_map(|group| {
        let is_better = |one: &&Compared| one.standing(group.primary) == Standing::Better;
        group.comparisons.iter().filter(is_better).map(|one| one.runtime.as_str())
    });
    better.into_iter().find(|name| keeps_state(name))
}

/// Whether a trial kept a log. If a runtime never started, the message has the last lines of its
/// log.
fn has_logs(run: &Path) -> bool {
    let trials = std::fs::read_dir(run.join("trials")).into_iter().flatten().flatten();
    let mut logs = trials.filter_map(|trial| std::fs::read_dir(trial.path().join("logs")).ok());
    logs.any(|mut directory| directory.next().is_some())
}

fn outcome(stored: &StoredRun, summary: &Summary) -> Outcome {
    // A runtime that works with an app that only redirects makes an invalid row, so it counts as
    // working.
    let has_worked =
        |trial: &StoredTrial| trial.record.load.is_some() || trial.record.runtime.before.is_some();
    if !stored.trials.iter().any(has_worked) && !interrupt::is_requested() {
        Outcome::Nothing
    } else if !summary.is_whole() || !stored.record.is_whole(stored.trials.len()) {
        Outcome::Incomplete
    } else if summary.breaks_an_expectation() {
        Outcome::NotMet
    } else {
        Outcome::Fine
    }
}

/// Describes what would run, in order, and how long it would take.
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
    let (first, others): (Vec<_>, Vec<_>) =
        record.notices.iter().partition(|one| one.known().is_some_and(Notice::comes_first));
    let lines = |notices: Vec<&Fact<Notice>>| -> String {
        notices.into_iter().map(|notice| format!("note: {notice}\n")).collect()
    };
    let mut text = format!(
        "{}{}; nothing was started\n\n{}",
        lines(first),
        words::announcement(comparison.trials(), comparison.expected(), comparison.warm_up()),
        lines(others)
    );
    for (round, cases) in (1..).zip(&record.order) {
        text.push_str(&format!("round {round}\n"));
        for &index in cases {
            let case = &record.cases[index];
            let length: Nanos = comparison.expected_trial_length(index);
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
