//! Refuses a plan that asks for something which this machine or the catalogue does not have. The
//! error comes before anything starts, at its place in the plan.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stampede_model::fact::{self, Cause, Notice, Server};
use stampede_model::record::CaseRecord;
use stampede_model::words;
use stampede_plan::model::{AppChoice, MissingRuntimes, Plan, RuntimeChoice, RuntimeSource};
use stampede_plan::parts::{AppSelection, StackPlan, Written};
use stampede_plan::{self, Help, PlanError, Subject};
use stampede_published::TablesError;
use stampede_stack::external::External;
use stampede_stack::{
    App, Catalogue, ProgramSource, Provider, RuntimeError, RuntimeTraits, entries_hint,
    learn_secrets, nearest,
};

use super::cases::Case;
use crate::causes::cause;

/// Why a plan cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A name or a value in the plan is wrong; the error has its place.
    #[error(transparent)]
    Plan(PlanError),
    /// A runtime or an app cannot be used.
    #[error(transparent)]
    Runtime(RuntimeError),
    /// The published tables of the plan cannot be read.
    #[error(transparent)]
    Published(#[from] TablesError),
}

/// What a plan names that does not exist, or is not as it must be.
#[derive(Debug, thiserror::Error)]
enum Absence {
    /// The directory of an app does not exist.
    #[error("there is no directory `{}`", directory.display())]
    Directory {
        /// The path as given.
        directory: PathBuf,
    },
    /// The directory exists, but holds no app.
    #[error("directory `{}` holds no app", directory.display())]
    App {
        /// The path as given.
        directory: PathBuf,
    },
    /// The file of a needed program does not exist.
    #[error("there is no `{}`", file.display())]
    File {
        /// The path as given.
        file: PathBuf,
    },
    /// The file exists, but is not a program that can be started.
    #[error("`{}` is not a program that can be started", file.display())]
    Program {
        /// The path as given.
        file: PathBuf,
    },
    /// None of the cases can be measured.
    #[error("no case of this plan can be measured\n{}", reasons.join("\n"))]
    Case {
        /// The reason of each case.
        reasons: Vec<String>,
    },
    /// None of the runtimes is left.
    #[error("every runtime would be skipped\n{}", lines(skipped))]
    Runtime {
        /// What would be skipped, and why.
        skipped: Vec<Notice>,
    },
    /// None of the loads has a runtime that is left.
    #[error("every load would be skipped\n{}", lines(skipped))]
    Load {
        /// What would be skipped, and why.
        skipped: Vec<Notice>,
    },
}

/// Improves the error about an unknown key at the top of the plan. If the key is a setting or a
/// needed program of single runtimes, the error shows in whose map it belongs. Returns any other
/// error unchanged.
pub fn relocate_error(error: PlanError, catalogue: &Catalogue) -> PlanError {
    let PlanError::Wrong(mut wrong) = error else { return error };
    let (unknown_keys, named) = stampede_plan::unknown_keys(&wrong);
    let directories = || {
        // The runtimes that the plan names come first: most likely one of their maps is meant.
        let names = named.iter().map(String::as_str).chain(catalogue.runtime_names());
        names.filter_map(|name| catalogue.runtime(name).ok())
    };
    let of_one = unknown_keys.iter().find_map(|unknown_key| {
        let below = |name: &str| {
            let mut all = directories();
            all.find_map(|directory| {
                Some((directory.setting_example(name, unknown_key.value.as_ref())?, directory))
            })
        };
        if let Some((example, directory)) = below(&unknown_key.name) {
            return Some((unknown_key.name.clone(), None, example, directory.name));
        }
        let near = || {
            directories()
                .find_map(|directory| nearest(&unknown_key.name, directory.own_setting_names()))
        };
        let near = near().filter(|_| wrong.nearest.is_none())?;
        let (example, directory) = below(&near)?;
        Some((near.clone(), Some(near), example, directory.name))
    });
    if let Some((name, near, example, runtime)) = of_one {
        // The example is on a line of its own, so that it can be copied whole.
        wrong.help = Help::Do(format!(
            "write `{name}` in the map of a runtime that has it:\n`runtimes: [{{{runtime}: {{{example}}}}}]`"
        ));
        wrong.nearest = near;
    }
    PlanError::Wrong(wrong)
}

/// Reads the selected apps.
///
/// # Errors
/// An app does not exist, or cannot be served as it is.
pub fn apps(selection: &AppSelection, catalogue: &Catalogue) -> Result<Vec<App>, Refusal> {
    let written = &selection.written;
    let app = |(number, choice): (usize, &AppChoice)| {
        let subject = Subject::App(number, choice);
        catalogue.app(choice).map_err(|error| match (&error, choice.path()) {
            (RuntimeError::UnknownApp { known, .. }, _) => {
                unknown_name_refusal(written, subject, known)
            }
            (RuntimeError::NoApp { entries, .. }, Some(directory)) => {
                no_app_refusal(written, subject, directory, entries)
            }
            _ => Refusal::Runtime(error),
        })
    };
    let apps = selection.choices.iter().enumerate().map(app);
    let apps = apps.collect::<Result<Vec<App>, Refusal>>()?;
    apps.iter().for_each(learn_secrets);
    Ok(apps)
}

/// What the providers say about the runtimes before anything starts, each once.
///
/// # Errors
/// A runtime cannot be measured.
pub(super) fn provider_notices(
    stack: &StackPlan,
    provider: &dyn Provider,
    apps: &[App],
) -> Result<Vec<Notice>, Refusal> {
    let Some(app) = apps.first() else { return Ok(Vec::new()) };
    let of_runtime = |choice| provider.notices(choice, app).map_err(Refusal::Runtime);
    let all = stack.runtimes.iter().map(of_runtime).collect::<Result<Vec<_>, Refusal>>()?;
    // A development configuration of any project is what matters most.
    let is_development = |notice: &Notice| {
        let Notice::Containers { found, .. } = notice else { return false };
        matches!(found, stampede_model::fact::containers::Containers::Development { .. })
    };
    let (mut first, rest): (Vec<_>, Vec<_>) = all.concat().into_iter().partition(is_development);
    first.extend(rest);
    Ok(first)
}

/// The refusal of a directory without an app. It names the directory as the plan does, not its
/// resolved path.
fn no_app_refusal(
    written: &Written,
    subject: Subject<'_>,
    directory: &Path,
    entries: &[String],
) -> Refusal {
    let (is_there, directory) = (directory.is_dir(), directory.to_owned());
    let (why, expected) = match is_there {
        false => (Absence::Directory { directory }, "the directory of a project".to_owned()),
        true => (Absence::App { directory }, entries_hint(entries)),
    };
    refuse(written, subject, why, &expected)
}

/// The traits of every runtime. Each runtime must serve every app, or at least one app where the
/// plan allows missing runtimes.
pub(super) fn traits(
    stack: &StackPlan,
    provider: &dyn Provider,
    catalogue: &Catalogue,
    apps: &[App],
) -> Result<Vec<RuntimeTraits>, Refusal> {
    let one = |choice: &RuntimeChoice| {
        let checked = apps.iter().map(|app| provider.traits(choice, app));
        let may_lack = stack.missing != MissingRuntimes::Refuse;
        let counts = |found: &Result<RuntimeTraits, RuntimeError>| {
            !(may_lack && found.as_ref().is_err_and(is_missing_requirement))
        };
        let checked: Result<Vec<RuntimeTraits>, _> = checked.filter(counts).collect();
        let first = checked.map(|traits| traits.first().copied().unwrap_or(RuntimeTraits::UNKNOWN));
        first.map_err(|error| place_in_plan(stack, catalogue, choice, error))
    };
    stack.runtimes.iter().map(one).collect()
}

/// Finds the external runtimes of the stack.
pub(super) fn find_external_runtimes(stack: &StackPlan) -> Result<Vec<External>, Refusal> {
    let one = |choice: &RuntimeChoice| match &choice.source {
        RuntimeSource::Catalogue(_) | RuntimeSource::Compose(_) | RuntimeSource::Today { .. } => {
            None
        }
        RuntimeSource::External { url, watch, lookup } => {
            let name = choice.name.as_str();
            Some(External::find(name, url, lookup, watch.as_ref()).map_err(|error| {
                let subject = Subject::Setting { runtime: name, name: error.key() };
                let help = error.help();
                refuse(stack.written(), subject, error, help)
            }))
        }
    };
    stack.runtimes.iter().filter_map(one).collect()
}

/// Refuses a plan of which no case can be measured, with the reason of each case.
pub(super) fn nothing_to_measure(plan: &Plan, cases: &[CaseRecord]) -> Result<(), Refusal> {
    let refused_cases = cases.iter().filter_map(|case| case.refused.as_ref());
    let mut reasons: Vec<String> = refused_cases.map(ToString::to_string).collect();
    if reasons.len() < cases.len() {
        return Ok(());
    }
    reasons.dedup();
    let load = plan.loads.first().map_or("", |load| load.name.as_str());
    let (load, why) = (Subject::Load(load), Absence::Case { reasons });
    Err(refuse(plan.stack.written(), load, why, "a load that fits at least one runtime"))
}

/// Leaves out runtimes and loads that the plan allows to be missing. Returns notices for the
/// reader.
///
/// # Errors
/// Nothing would be left.
pub(super) fn skip_missing(
    plan: &mut Plan,
    catalogue: &Catalogue,
    apps: &[App],
) -> Result<Vec<Notice>, Refusal> {
    if plan.stack.missing == MissingRuntimes::Refuse {
        return Ok(Vec::new());
    }
    let mut notices = skip_missing_runtimes(&mut plan.stack, catalogue, apps)?;
    let before: Vec<String> = plan.loads.iter().map(|load| load.name.clone()).collect();
    let kept: Vec<String> = plan.stack.runtimes.iter().map(|kept| kept.name.clone()).collect();
    plan.keep_runtimes(&kept);
    let gone = before.iter().filter(|name| plan.loads.iter().all(|load| load.name != **name));
    notices.extend(gone.map(|load| Notice::LoadSkipped { load: load.clone() }));
    if plan.loads.is_empty() {
        let load = Subject::Load(before.first().map_or("", String::as_str));
        let why = Absence::Load { skipped: notices };
        return Err(refuse(plan.stack.written(), load, why, "a load for an installed runtime"));
    }
    Ok(notices)
}

/// Leaves out runtimes that the plan allows to be missing. Returns notices for the reader.
///
/// # Errors
/// Nothing would be left.
pub(super) fn skip_missing_runtimes(
    stack: &mut StackPlan,
    catalogue: &Catalogue,
    apps: &[App],
) -> Result<Vec<Notice>, Refusal> {
    if stack.missing == MissingRuntimes::Refuse {
        return Ok(Vec::new());
    }
    let (mut kept, mut notices) = (Vec::new(), Vec::new());
    let of_images = stack.missing == MissingRuntimes::Images;
    for choice in &mut stack.runtimes {
        let mut lacks = missing_for_all(catalogue, apps, choice);
        if let Some(why) = lacks.take_if(|_| of_images && !choice.has_containers()) {
            match images_for_missing(choice, catalogue, apps, why) {
                Ok(notice) => notices.push(notice),
                Err(why) => lacks = Some(*why),
            }
        }
        match lacks {
            Some(MissingRequirement { cause, todo }) => {
                let runtime = choice.name.clone();
                notices.push(Notice::RuntimeSkipped { runtime, cause, todo });
            }
            None => kept.push(choice.name.clone()),
        }
    }
    if kept.is_empty() {
        let runtime = stack.runtimes.first().map_or("", |choice| &choice.name);
        let todo = "name at least one runtime that is installed (see `stampede runtimes`)";
        let why = Absence::Runtime { skipped: notices };
        return Err(refuse(stack.written(), Subject::Runtime(runtime), why, Help::todo(todo)));
    }
    stack.keep_runtimes(&kept);
    Ok(notices)
}

/// Lets a runtime that is missing here come from its official images. Returns the notice for the reader.
///
/// # Errors
/// It cannot: why it is missing, or what is wrong with its images.
fn images_for_missing(
    choice: &mut RuntimeChoice,
    catalogue: &Catalogue,
    apps: &[App],
    lacks: MissingRequirement,
) -> Result<Notice, Box<MissingRequirement>> {
    let in_images = RuntimeChoice { images: Some(BTreeMap::new()), ..choice.clone() };
    let mut found = Ok(());
    for app in apps {
        found = catalogue.check(&in_images, app).map(drop);
        // One of the apps is enough.
        if found.is_ok() {
            break;
        }
    }
    match found {
        Ok(()) => {
            let (runtime, cause) = (choice.name.clone(), lacks.cause);
            *choice = in_images;
            Ok(Notice::RuntimeFromImages { runtime, cause })
        }
        Err(error) if error.is_of_images() => Err(Box::new(MissingRequirement::of(&error))),
        Err(_) => Err(Box::new(lacks)),
    }
}

/// Why a runtime is available for none of the apps: the reason of the first one. `None`: it is for
/// one of them, or has another error.
fn missing_for_all(
    catalogue: &Catalogue,
    apps: &[App],
    choice: &RuntimeChoice,
) -> Option<MissingRequirement> {
    let lacks: Option<Vec<MissingRequirement>> =
        apps.iter().map(|app| missing_requirement(catalogue, app, choice)).collect();
    lacks?.into_iter().next()
}

fn lines(notices: &[Notice]) -> String {
    notices.iter().map(fact::sentence).collect::<Vec<_>>().join("\n")
}

/// Refuses the cases whose runtime cannot serve their app, with the reason, where the plan allows
/// missing ones. The runtime's other apps are measured.
pub(super) fn refuse_unavailable(
    stack: &StackPlan,
    catalogue: &Catalogue,
    apps: &[App],
    cases: &mut [Case],
) {
    if stack.missing == MissingRuntimes::Refuse {
        return;
    }
    let lacks =
        |choice| apps.iter().map(|app| missing_requirement(catalogue, app, choice)).collect();
    let all: Vec<Vec<Option<MissingRequirement>>> = stack.runtimes.iter().map(lacks).collect();
    for case in cases {
        let why = all[case.runtime][case.app].clone();
        case.refused =
            why.map(|MissingRequirement { cause, todo }| Server::Skipped { cause, todo }.into());
    }
}

/// Why a runtime is not available here, or not for this app. `None`: it is available, or has
/// another error.
fn missing_requirement(
    catalogue: &Catalogue,
    app: &App,
    choice: &RuntimeChoice,
) -> Option<MissingRequirement> {
    let error = catalogue.check(choice, app).err().filter(is_missing_requirement)?;
    Some(MissingRequirement::of(&error))
}

/// What keeps a runtime from serving an app, and what the user can do.
#[derive(Clone)]
struct MissingRequirement {
    cause: Cause,
    todo: Option<String>,
}

impl MissingRequirement {
    fn of(error: &RuntimeError) -> MissingRequirement {
        // The source of the error does not fit into one line.
        let cause = Cause { source: None, ..cause(error) };
        MissingRequirement { cause, todo: error.hint() }
    }
}

fn is_missing_requirement(error: &RuntimeError) -> bool {
    matches!(
        error,
        RuntimeError::Missing { .. }
            | RuntimeError::WrongKind { .. }
            | RuntimeError::NotEntered { .. }
            | RuntimeError::AppLacks { .. }
            | RuntimeError::OtherPhp { .. }
    )
}

/// Gives an error about a runtime its place in the plan, if the error is about something that the
/// plan says. Returns any other error unchanged.
fn place_in_plan(
    stack: &StackPlan,
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    error: RuntimeError,
) -> Refusal {
    let written = stack.written();
    let runtime = Subject::Runtime(&choice.name);
    let setting = |name| Subject::Setting { runtime: &choice.name, name };
    match &error {
        RuntimeError::UnknownRuntime { known, .. } => unknown_name_refusal(written, runtime, known),
        RuntimeError::UnknownSetting { setting: of, known, .. } => {
            match runtimes_with_setting(catalogue, choice, of) {
                others if others.is_empty() => unknown_name_refusal(written, setting(of), known),
                others => {
                    let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
                    let expected = format!("{}{others}", words::list(&known));
                    let subject = Subject::Setting { runtime: &choice.name, name: &of.clone() };
                    refuse(written, subject, error, &expected)
                }
            }
        }
        RuntimeError::BadSetting { setting: of, value, allowed, .. } => {
            let own = per_runtime_setting_help(stack, catalogue, choice, of);
            let help = own.unwrap_or_else(|| {
                (allowed.clone() + &runtimes_with_setting(catalogue, choice, of)).into()
            });
            let (of, value, allowed) = (of.clone(), value.clone(), allowed.clone());
            let subject = Subject::Setting { runtime: &choice.name, name: &of };
            with_nearest(refuse(written, subject, error, help), &value, &allowed)
        }
        RuntimeError::NamedProgram { program, given_by } => match given_by {
            ProgramSource::Setting(name) => {
                missing_program_refusal(written, setting(name), name, program)
            }
            ProgramSource::Variable(_) => Refusal::Runtime(error),
        },
        RuntimeError::WrongKind { runs, kind, .. } => {
            let runs = runs.join(" or ");
            let kind_flag = match stack.apps.choices.iter().any(|app| app.path().is_some()) {
                true => "; `--kind`, or `app: {path: …, kind: …}`, sets the kind of your own app",
                false => "",
            };
            let expected = format!("an app of kind {runs}, or a runtime for `{kind}`{kind_flag}");
            refuse(written, runtime, error, &expected)
        }
        RuntimeError::NotEntered { kind, .. } => {
            let adapter = match *kind {
                "symfony" => ", or `adapter: symfony-runtime` where that makes the kernel",
                _ => "",
            };
            let expected = format!("a runtime that boots the app for each request{adapter}");
            refuse(written, runtime, error, &expected)
        }
        RuntimeError::AppLacks { packages, .. } => {
            let todo =
                format!("run `composer require {packages}` in the app, or use another runtime");
            refuse(written, runtime, error, Help::Do(todo))
        }
        _ => Refusal::Runtime(error),
    }
}

/// Names the runtimes that have a setting which `choice` does not have. Empty where `choice` has
/// it.
fn runtimes_with_setting(catalogue: &Catalogue, choice: &RuntimeChoice, setting: &str) -> String {
    let has_it = |name: &str| catalogue.runtime(name).is_ok_and(|directory| directory.has(setting));
    let own = matches!(&choice.source, RuntimeSource::Catalogue(name) if has_it(name));
    let others: Vec<String> = match own {
        true => Vec::new(),
        false => catalogue
            .runtime_names()
            .into_iter()
            .filter(|name| has_it(name))
            .map(|name| format!("`{name}`"))
            .collect(),
    };
    match others.is_empty() {
        true => String::new(),
        false => format!("; it is a setting of {}", words::list(&others)),
    }
}

fn missing_program_refusal(
    written: &Written,
    subject: Subject<'_>,
    name: &str,
    program: &Path,
) -> Refusal {
    let (is_there, file) = (program.exists(), program.to_owned());
    let why = if is_there { Absence::Program { file } } else { Absence::File { file } };
    let expected =
        format!("the full path of `{name}`, or one relative to this plan: `./bin/{name}`");
    refuse(written, subject, why, &expected)
}

/// What to write in place of a plan-wide setting that `choice` does not have: the same setting in
/// the maps of the runtimes that have it. `None`: `choice` has the setting, the plan gives it to
/// `choice` alone, or no runtime of the plan has it.
fn per_runtime_setting_help(
    stack: &StackPlan,
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    setting: &str,
) -> Option<Help> {
    let has_it = |choice: &&RuntimeChoice| match &choice.source {
        RuntimeSource::Catalogue(name) => {
            catalogue.runtime(name).is_ok_and(|directory| directory.has(setting))
        }
        RuntimeSource::External { .. }
        | RuntimeSource::Compose(_)
        | RuntimeSource::Today { .. } => false,
    };
    if has_it(&choice) || !stampede_plan::is_set_for_all(stack.written(), &choice.name, setting) {
        return None;
    }
    let value = choice.settings.get(setting)?;
    let mut names: Vec<&str> = stack.runtimes.iter().filter(has_it).map(base_name).collect();
    names.dedup();
    let example = format!("`- {}: {{{setting}: {value}}}`", names.first()?);
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Some(Help::Do(format!(
        "write `{setting}` in the maps of the runtimes that have it, {}: {example}",
        words::list(&quoted)
    )))
}

/// The name without the values of a sweep: the text before the first blank, since names have none.
fn base_name(choice: &RuntimeChoice) -> &str {
    choice.name.split(' ').next().unwrap_or_default()
}

/// Adds the word of `allowed` that is nearest to `value`.
fn with_nearest(refusal: Refusal, value: &str, allowed: &str) -> Refusal {
    match refusal {
        // Words of two letters are near to any other.
        Refusal::Plan(PlanError::Wrong(mut wrong)) if value.len() > 2 => {
            wrong.nearest = nearest(value, allowed.split(", ").filter(|word| word.len() > 2));
            Refusal::Plan(PlanError::Wrong(wrong))
        }
        other => other,
    }
}

pub(super) fn refuse(
    written: &Written,
    subject: Subject<'_>,
    why: impl std::error::Error + Send + Sync + 'static,
    help: impl Into<Help>,
) -> Refusal {
    Refusal::Plan(stampede_plan::refused(written, subject, why, help))
}

fn unknown_name_refusal(written: &Written, subject: Subject<'_>, known: &[String]) -> Refusal {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Refusal::Plan(stampede_plan::unknown(written, subject, &known))
}
