//! Finds what a runtime needs to serve an app, before anything is written or started.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use stampede_model::app_kind::AppKind;
use stampede_model::record::CustomBuild;
use stampede_plan::model::RuntimeChoice;

use super::app::App;
use super::catalogue::{Catalogue, RuntimeDirectory};
use super::deployed::DeploymentSteps;
use super::entry;
use super::error::RuntimeError;
use super::front::closes_by_default;
use super::images::{ImageRequest, RuntimeImages};
use super::locate::ResolvedNeed;
use super::manifest::{HeldBy, ProcessManifest};
use super::php_constraint::PhpRequirements;
use super::setting::{DirectoryNames, Settings};
use super::{framework, locate, php_constraint, setting};
use crate::process::preparation;

/// The properties of a runtime that planning needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeTraits {
    /// What holds a worker: a request or a connection.
    pub held_by: HeldBy,
    /// The number of workers that the runtime will have.
    pub workers: u32,
    /// Whether the runtime closes every connection after its answer, whatever the request asks for.
    pub closes: bool,
    /// How the runtime was built if it is no upstream release; `None`: it is one.
    pub custom_build: Option<CustomBuild>,
}

impl RuntimeTraits {
    /// Those of a runtime about which nothing is known. What holds its workers is not known either;
    /// starved connections show when they get no answer.
    pub const UNKNOWN: RuntimeTraits =
        RuntimeTraits { held_by: HeldBy::Request, workers: 0, closes: false, custom_build: None };

    /// The suffix of the runtime's name in tables: empty, or ` (custom build)`.
    pub fn mark(&self) -> &'static str {
        self.custom_build.map_or("", |_| CustomBuild::MARK)
    }
}

/// Everything that a runtime needs to serve an app, found in the catalogue and on this machine. To
/// find it, programs were started only to print their version.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedRuntime {
    /// The runtime with what its settings add to it.
    pub runtime: RuntimeDirectory,
    /// The settings in force.
    pub settings: Settings,
    /// The runtime's programs and libraries.
    pub needs: BTreeMap<String, ResolvedNeed>,
    /// The app's frameworks and their versions.
    pub frameworks: BTreeMap<String, String>,
    /// The steps of a deployment for the app's copy.
    pub deployed: DeploymentSteps,
    /// The images that the programs come from; `None`: they are programs of this machine.
    pub images: Option<RuntimeImages>,
    /// The PHP program for the app's scripts, which prepare the app or are run as commands; `None`:
    /// no PHP is needed, or none was found for a command.
    pub php: Option<PathBuf>,
}

impl ResolvedRuntime {
    /// Finds everything. `is_asked`: whether a command of the app will be run besides the scripts
    /// that prepare it.
    ///
    /// # Errors
    /// The first thing that does not fit: name, kind of app, settings, programs.
    pub fn find(
        catalogue: &Catalogue,
        choice: &RuntimeChoice,
        app: &App,
        is_asked: bool,
    ) -> Result<ResolvedRuntime, RuntimeError> {
        let (name, places) = (&choice.name, &catalogue.places);
        let runtime = catalogue.with_database_for(choice, app)?;
        check_app(name, &runtime, app)?;
        let directories = DirectoryNames::of(catalogue);
        let settings = setting::resolve(name, &runtime.manifest, &choice.settings, &directories)?;
        check_entry(name, &runtime, app, &settings)?;
        let frameworks = framework::versions(app, places)?;
        let deployed = DeploymentSteps::find(name, app, &settings, places)?;
        let asked = settings.php.as_deref().map(PhpRequirements::of_plan);
        let required = asked.as_ref().unwrap_or(&app.manifest.php);
        let images = choice.images.as_ref().map(|given| {
            let (runtime, settings) = (&runtime, &settings);
            ImageRequest { name, runtime, given, settings, app, required, places }.find()
        });
        let images = images.transpose()?;
        let php = || match &images {
            Some(images) => {
                let found = images.php.as_ref().map(|(_, program)| program.clone());
                found.ok_or_else(|| RuntimeError::NoPhp { app: app.name.clone() })
            }
            None => preparation::php(app, required, places, settings.programs.get("php")),
        };
        let php = match app.manifest.prepare {
            Some(_) => Some(php()?),
            // A command beside the served app is optional: if no PHP is found for it, that is no
            // error.
            None => is_asked.then(|| php().ok()).flatten(),
        };
        let needs = match &images {
            Some(images) => images.needs().clone(),
            None => locate::all(places, name, &runtime, &settings.programs, required)?,
        };
        check_asked_php(name, &runtime, settings.php.as_deref(), &needs)?;
        runtime.can_reach_database(name, places, &needs)?;
        check_php(name, &runtime, app, &needs)?;
        Ok(ResolvedRuntime { runtime, settings, needs, frameworks, deployed, images, php })
    }
}

impl ResolvedRuntime {
    /// The properties that planning needs.
    pub fn traits(&self) -> RuntimeTraits {
        let manifest = &self.runtime.manifest;
        RuntimeTraits {
            held_by: manifest.worker_held_by,
            workers: self.settings.workers(),
            closes: closes_by_default(manifest) && !self.settings.is_on("keep_alive"),
            custom_build: locate::custom_build(&self.needs),
        }
    }

    /// All of it as data.
    pub fn facts(&self) -> Value {
        let manifest = &self.runtime.manifest;
        let need = |(name, found): (&String, &ResolvedNeed)| {
            let ResolvedNeed { path, version, custom_build } = found;
            let facts = json!({"path": path, "version": version, "custom_build": custom_build});
            (name.clone(), facts)
        };
        let process =
            |process: &ProcessManifest| json!({"role": process.role, "run": process.run.value});
        json!({
            "directory": self.runtime.name,
            "title": manifest.title,
            "mode": manifest.mode.name(),
            "settings": self.settings.values,
            "append": self.settings.append,
            "needs": self.needs.iter().map(need).collect::<Map<String, Value>>(),
            "frameworks": self.frameworks,
            "preload": self.deployed.preload,
            "writes_autoloader": self.deployed.writes_autoloader(),
            "images": self.images.as_ref().map(RuntimeImages::facts),
            "php_for_scripts": self.php,
            "processes": manifest.processes.iter().map(process).collect::<Vec<_>>(),
        })
    }
}

impl Catalogue {
    /// Checks whether `choice` could serve `app` here: its name, kind, settings and programs.
    /// Programs are started only to print their version.
    ///
    /// # Errors
    /// The first thing that does not fit, as a start would report it.
    pub fn check(&self, choice: &RuntimeChoice, app: &App) -> Result<RuntimeTraits, RuntimeError> {
        Ok(ResolvedRuntime::find(self, choice, app, false)?.traits())
    }
}

/// The part of an error that explains why no worker mode runs a script.
const BOOTS_ANEW: &str = ": it keeps an app in memory, but stampede can only boot one of this kind anew for each request";

/// Checks that the runtime runs apps of this kind, and that the app has the packages that the
/// runtime needs.
fn check_app(name: &str, runtime: &RuntimeDirectory, app: &App) -> Result<(), RuntimeError> {
    let app_needs = &runtime.manifest.app_needs;
    let kinds = &runtime.manifest.app_kinds;
    let mode = runtime.manifest.mode;
    let (runtime, app_name) = (name.to_owned(), app.name.clone());
    if !kinds.contains(&app.manifest.kind) {
        let runs = kinds.iter().map(|kind| kind.name()).collect();
        let kind = app.manifest.kind.name();
        let because = match (app.manifest.kind, mode.keeps_memory()) {
            (AppKind::Script, true) => BOOTS_ANEW,
            _ => "",
        };
        return Err(RuntimeError::WrongKind { runtime, app: app_name, kind, runs, because });
    }
    let lacks = |package: &&String| !app.has_package(package);
    let lacking: Vec<&str> = app_needs.iter().filter(lacks).map(String::as_str).collect();
    match lacking.first() {
        None => Ok(()),
        Some(first) => Err(RuntimeError::AppLacks {
            runtime,
            app: app_name,
            packages: lacking.join(" "),
            package: (*first).to_owned(),
        }),
    }
}

/// Checks that the runtime's PHP is the one that the plan asks for.
fn check_asked_php(
    name: &str,
    runtime: &RuntimeDirectory,
    asked: Option<&str>,
    needs: &BTreeMap<String, ResolvedNeed>,
) -> Result<(), RuntimeError> {
    let php = runtime.manifest.php.as_ref().and_then(|need| needs.get(&need.value));
    let Some((asked, php)) = asked.zip(php) else { return Ok(()) };
    match PhpRequirements::of_plan(asked).refused_by(&php.version) {
        None => Ok(()),
        Some(_) => Err(RuntimeError::OtherPhp {
            runtime: name.to_owned(),
            asked: asked.into(),
            program: php.path.clone(),
            version: php_constraint::number_in(&php.version).into(),
        }),
    }
}

/// Checks that the runtime's PHP is one that the app's packages allow. Otherwise the first request
/// would end in Composer's own check.
fn check_php(
    name: &str,
    runtime: &RuntimeDirectory,
    app: &App,
    needs: &BTreeMap<String, ResolvedNeed>,
) -> Result<(), RuntimeError> {
    let php = runtime.manifest.php.as_ref().and_then(|need| needs.get(&need.value));
    let Some(version) = php.map(|php| php.version.as_str()) else { return Ok(()) };
    let required = &app.manifest.php;
    match required.refused_by(version).filter(|_| required.are_checked) {
        None => Ok(()),
        Some((package, constraint)) => Err(RuntimeError::PhpVersion {
            runtime: name.to_owned(),
            app: app.name.clone(),
            package: package.as_str().into(),
            constraint: constraint.as_str().into(),
            version: php_constraint::number_in(version).to_owned(),
        }),
    }
}

/// Checks that a runtime which keeps the app in memory finds the file through which it enters the
/// app.
fn check_entry(
    name: &str,
    runtime: &RuntimeDirectory,
    app: &App,
    settings: &Settings,
) -> Result<(), RuntimeError> {
    let file =
        entry::missing_entry_file(app, settings).filter(|_| runtime.manifest.mode.keeps_memory());
    file.map_or(Ok(()), |file| {
        Err(RuntimeError::NotEntered {
            runtime: name.to_owned(),
            app: app.name.clone(),
            kind: app.manifest.kind.name(),
            file,
        })
    })
}
