//! What can be said of a choice before anything starts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::app::App;
use super::catalogue::{Catalogue, RuntimeDirectory};
use super::deployed::Deployed;
use super::entry;
use super::error::RuntimeError;
use super::front::closes_by_default;
use super::locate::Located;
use super::manifest::{AppKind, HeldBy};
use super::setting::Settings;
use super::{framework, locate, preparation, setting};
use crate::plan::model::RuntimeChoice;
use crate::store::record::CustomBuild;

/// What planning needs to know of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// What keeps a worker busy.
    pub held_by: HeldBy,
    /// Workers it will have.
    pub workers: u32,
    /// Whether it closes every connection after its answer, whatever is asked.
    pub closes: bool,
    /// What it is where it is no upstream release.
    pub custom_build: Option<CustomBuild>,
}

impl Traits {
    /// What its name in tables ends in: nothing, or ` (assembled)`.
    pub fn mark(&self) -> &'static str {
        self.custom_build.map_or("", CustomBuild::mark)
    }
}

/// All that a choice needs to serve an app, found in the catalogue and on this machine. Nothing but
/// the programs' own version print was started for it.
pub(super) struct Found {
    /// With what the settings add to it.
    pub runtime: RuntimeDirectory,
    /// In force.
    pub settings: Settings,
    /// Its programs and libraries.
    pub needs: BTreeMap<String, Located>,
    /// The app's frameworks → version.
    pub frameworks: BTreeMap<String, String>,
    /// What is done to the copy, and how.
    pub deployed: Deployed,
    /// What runs the app's scripts, which prepare it or are asked for; `None`: there are none.
    pub php: Option<PathBuf>,
}

impl Found {
    /// `is_asked`: whether a command of the app's will be run beside those that prepare it.
    ///
    /// # Errors
    /// The first that does not fit: name, kind of app, settings, programs.
    pub fn find(
        catalogue: &Catalogue,
        choice: &RuntimeChoice,
        app: &App,
        is_asked: bool,
    ) -> Result<Found, RuntimeError> {
        let (name, places) = (&choice.name, &catalogue.places);
        let runtime = catalogue.serving(choice, app)?;
        check_app(name, &runtime, app)?;
        let settings = setting::resolve(name, &runtime.manifest, &choice.settings)?;
        check_entry(name, &runtime, app, &settings)?;
        let frameworks = framework::versions(app, places)?;
        let deployed = Deployed::find(name, app, &settings, places)?;
        let php = || preparation::php(app, places, settings.programs.get("php"));
        let php = match app.manifest.prepare {
            Some(_) => Some(php()?),
            // What is asked beside it is no part of what is served.
            None => is_asked.then(|| php().ok()).flatten(),
        };
        let needs = locate::all(places, name, &runtime, &settings.programs)?;
        runtime.can_reach_database(name, places, &needs)?;
        Ok(Found { runtime, settings, needs, frameworks, deployed, php })
    }
}

impl Catalogue {
    /// Whether `choice` could serve `app` here: its name, kind, settings and programs.
    /// Starts nothing but the programs' own version print.
    ///
    /// # Errors
    /// The first that does not fit, as `prepare` would say it.
    pub fn check(&self, choice: &RuntimeChoice, app: &App) -> Result<Traits, RuntimeError> {
        let Found { runtime, settings, needs, .. } = Found::find(self, choice, app, false)?;
        Ok(Traits {
            held_by: runtime.manifest.worker_held_by,
            workers: settings.workers(),
            closes: closes_by_default(&runtime.manifest) && !settings.is_on("keep_alive"),
            custom_build: locate::custom_build(&needs),
        })
    }
}

/// Why no worker mode runs a script.
const BOOTS_ANEW: &str = ": it keeps an app in memory, but stampede can only boot one of this kind anew for each request";

/// Whether the runtime runs an app of this kind that has what it needs.
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

/// Whether a runtime that keeps the app in memory finds what it is entered by.
fn check_entry(
    name: &str,
    runtime: &RuntimeDirectory,
    app: &App,
    settings: &Settings,
) -> Result<(), RuntimeError> {
    let file = entry::lacking(app, settings).filter(|_| runtime.manifest.mode.keeps_memory());
    file.map_or(Ok(()), |file| {
        Err(RuntimeError::NotEntered {
            runtime: name.to_owned(),
            app: app.name.clone(),
            kind: app.manifest.kind.name(),
            file,
        })
    })
}
