//! Compares a run with what this machine is set up to serve PHP with, and makes the runtime `today`
//! one of the catalogue that is set up alike.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stampede_host_php::{
    Chosen, Difference, HostPhp, LOOKED_FOR, NotTaken, Place, RunSettings, TakenOver, WhyNot,
    differences, read, shown, take_over,
};
use stampede_model::fact::{HostLimit, HostSetting, LimitedSetting, Notice};
use stampede_plan::model::{AsToday, RuntimeChoice, RuntimeSource, Scalar};
use stampede_plan::parts::StackPlan;
use stampede_plan::{Help, Subject};
use stampede_stack::{App, COMMON, Catalogue, SettingKind};

use super::refusal::{Refusal, refuse};

/// The variable that names another root directory than `/`, for tests.
const ROOT: &str = "STAMPEDE_HOST_ROOT";
/// The most settings that a notice keeps.
const SETTINGS_MAX: usize = 100;

/// Nothing here is set up to serve PHP, so there is no `today`.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{runtime}`: nothing on this machine is set up to serve PHP: no PHP-FPM and no Apache with PHP"
)]
struct NothingSetUp {
    runtime: String,
}

/// Makes each `today` of the stack a runtime of the catalogue. Returns what was taken over.
///
/// # Errors
/// Nothing here is set up to serve PHP; the catalogue's files are wrong.
pub fn take_over_today(
    stack: &mut StackPlan,
    catalogue: &Catalogue,
    apps: &[App],
) -> Result<Vec<Notice>, Refusal> {
    let is_today = |choice: &&RuntimeChoice| matches!(choice.source, RuntimeSource::Today { .. });
    let first = stack.runtimes.iter().find(is_today).map(|choice| choice.name.clone());
    let (Some(first), Some(app)) = (first, apps.first()) else { return Ok(Vec::new()) };
    let host = read(root(catalogue));
    let directory = directory(stack);
    let docroot = directory.as_ref().map(|path| docroot(path, app));
    let Some(chosen) = host.choose(docroot.as_deref()) else {
        return Err(nothing_set_up(stack, &host, first));
    };
    let run = run_settings(&chosen, catalogue, app)?;
    let over = take_over(&chosen, &run, directory.as_deref(), &can_read);
    let mut notices = Vec::new();
    for choice in &mut stack.runtimes {
        if let RuntimeSource::Today { settings, php_ini } = &choice.source {
            let (settings, php_ini) = (settings.clone(), php_ini.clone());
            let others =
                settings.get("workers").and_then(|workers| workers.to_string().parse().ok());
            fill(choice, &over, settings, php_ini);
            notices.extend(said(choice, &over, others.unwrap_or(run.workers)));
        }
    }
    Ok(notices)
}

/// The notice that this machine's PHP is set up otherwise than a run of the user's own app; `None`: it
/// is not, a runtime is set up alike, or stampede starts none.
///
/// # Errors
/// The catalogue's files are wrong.
pub(super) fn otherwise_notice(
    stack: &StackPlan,
    catalogue: &Catalogue,
    apps: &[App],
) -> Result<Option<Notice>, Refusal> {
    let has_today = stack.runtimes.iter().any(|choice| choice.as_today.is_some());
    let (Some(directory), Some(app)) = (directory(stack), apps.first()) else { return Ok(None) };
    if has_today || !stack.runtimes.iter().any(RuntimeChoice::has_programs_of_machine) {
        return Ok(None);
    }
    let host = read(root(catalogue));
    let Some(chosen) = host.choose(Some(&docroot(&directory, app))) else { return Ok(None) };
    Ok(otherwise(&chosen, &run_settings(&chosen, catalogue, app)?, stack))
}

fn root(catalogue: &Catalogue) -> &Path {
    Path::new(catalogue.places.named.get(ROOT).map_or("/", String::as_str))
}

/// The directory of the user's own app.
fn directory(stack: &StackPlan) -> Option<PathBuf> {
    stack.apps.choices.first()?.path()?.canonicalize().ok()
}

fn docroot(directory: &Path, app: &App) -> PathBuf {
    match app.manifest.docroot.as_str() {
        "." => directory.to_owned(),
        docroot => directory.join(docroot),
    }
}

fn nothing_set_up(stack: &StackPlan, host: &HostPhp, runtime: String) -> Refusal {
    let mut todo = format!("set up PHP-FPM or mod_php first; looked in {}", LOOKED_FOR.join(", "));
    for file in &host.unreadable {
        todo += &format!("; `{}` could not be read ({})", file.file, file.why);
    }
    let why = NothingSetUp { runtime: runtime.clone() };
    refuse(stack.written(), Subject::Runtime(&runtime), why, Help::Do(todo))
}

/// What the runtime that is built like the chosen server sets by itself.
fn run_settings(
    chosen: &Chosen<'_>,
    catalogue: &Catalogue,
    app: &App,
) -> Result<RunSettings, Refusal> {
    let (ini, extensions) =
        catalogue.run_php(chosen.server.runtime(), app).map_err(Refusal::Runtime)?;
    let workers = COMMON.iter().find_map(|common| match common.kind {
        SettingKind::Number { default, .. } if common.name == "workers" => {
            u32::try_from(default).ok()
        }
        _ => None,
    });
    Ok(RunSettings::of_php_ini(&ini, extensions, workers.unwrap_or(1)))
}

/// The notice that this machine is set up otherwise; `None`: it is not.
fn otherwise(chosen: &Chosen<'_>, run: &RunSettings, stack: &StackPlan) -> Option<Notice> {
    let all = differences(chosen, run);
    let setting = |one: &Difference| of_place(&one.name, shown(&one.name, &one.here), &one.at);
    let first = stack.runtimes.iter().find(|choice| choice.has_programs_of_machine());
    let first = first.map_or("nginx-fpm", |choice| choice.name.as_str());
    (!all.is_empty()).then(|| Notice::HostPhp {
        version: chosen.php.version.clone(),
        count: all.len() as u64,
        settings: all.iter().take(SETTINGS_MAX).map(setting).collect(),
        try_it: format!("today,{first}"),
    })
}

fn of_place(name: &str, value: String, at: &Option<Place>) -> HostSetting {
    let (file, line) = (at.as_ref().map(|at| at.file.clone()), at.as_ref().map(|at| at.line));
    HostSetting { name: name.to_owned(), value, file, line }
}

/// Makes `today` the catalogue's runtime. The plan's settings for all runtimes come first, over them
/// the machine's, over both its own.
fn fill(
    choice: &mut RuntimeChoice,
    over: &TakenOver,
    settings: BTreeMap<String, Scalar>,
    php_ini: BTreeMap<String, String>,
) {
    let own_settings = std::mem::replace(&mut choice.settings, settings);
    let own_ini = std::mem::replace(&mut choice.php_ini, php_ini);
    choice.source = RuntimeSource::Catalogue(over.runtime.to_owned());
    let scalar = |text: &String| match (text.as_str(), text.parse::<i64>()) {
        ("on", _) => Scalar::Bool(true),
        ("off", _) => Scalar::Bool(false),
        (_, Ok(number)) => Scalar::Int(number),
        _ => Scalar::Text(text.clone()),
    };
    for (name, value) in &over.settings {
        // `off` is a word of the JIT, not a switch.
        let value = if name == "jit" { Scalar::Text(value.clone()) } else { scalar(value) };
        choice.settings.insert(name.clone(), value);
    }
    // Limits that belong to the machine's number of workers do not fit another one.
    let has_own_number = ["workers", "pm"].iter().any(|name| own_settings.contains_key(*name));
    for (file, lines) in &over.append {
        let is_kept = |line: &&String| !(has_own_number && is_spare(line));
        let mut lines: Vec<String> = lines.iter().filter(is_kept).cloned().collect();
        let name = format!("append.{file}");
        lines.extend(own_settings.get(&name).map(ToString::to_string));
        choice.settings.insert(name, Scalar::Text(lines.join("\n")));
    }
    let is_appended =
        |name: &String| over.append.keys().any(|file| *name == format!("append.{file}"));
    choice.settings.extend(own_settings.into_iter().filter(|(name, _)| !is_appended(name)));
    choice.php_ini.extend(over.php_ini.clone());
    choice.php_ini.extend(own_ini);
    let env = std::mem::replace(&mut choice.env, over.env.clone());
    choice.env.extend(env);
    choice.as_today =
        Some(AsToday { title: over.title.to_owned(), extensions: over.extensions.clone() });
}

/// Whether a line limits how many workers wait.
fn is_spare(line: &str) -> bool {
    let names = [
        "pm.start_servers",
        "pm.min_spare",
        "pm.max_spare",
        "StartServers",
        "MinSpareS",
        "MaxSpareS",
    ];
    names.iter().any(|name| line.starts_with(name))
}

/// What the reader should know about a `today`.
fn said(choice: &RuntimeChoice, over: &TakenOver, others_workers: u32) -> Vec<Notice> {
    let workers =
        choice.settings.get("workers").and_then(|workers| workers.to_string().parse().ok());
    let taken = over.taken.iter().take(SETTINGS_MAX);
    let settings = taken.map(|one| of_place(&one.name, one.value.clone(), &one.at)).collect();
    let (runtime, title) = (choice.name.clone(), over.title.to_owned());
    let mut all = vec![Notice::AsToday { runtime, title, settings, workers, others_workers }];
    let limited = |one: &NotTaken| LimitedSetting {
        setting: of_place(&one.name, one.value.clone(), &one.at),
        why: match one.why {
            WhyNot::ReachedForReal => HostLimit::ReachedForReal,
            WhyNot::NotReadable => HostLimit::NotReadable,
            WhyNot::NotKnown => HostLimit::NotKnown,
            WhyNot::Ours => HostLimit::Ours,
            WhyNot::NoPlace => HostLimit::NoPlace,
        },
    };
    if !over.not_taken.is_empty() {
        let settings = over.not_taken.iter().map(limited).collect();
        all.push(Notice::NotAsToday { runtime: choice.name.clone(), settings });
    }
    all
}

/// Whether the user of a stack can read a path: as root, stampede runs PHP as a user who has no rights
/// but those of all.
fn can_read(path: &Path) -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return fs::File::open(path).is_ok();
    }
    let is_open =
        |path: &Path, bit: u32| fs::metadata(path).is_ok_and(|meta| meta.mode() & bit != 0);
    is_open(path, 0o004) && path.ancestors().skip(1).all(|directory| is_open(directory, 0o001))
}
