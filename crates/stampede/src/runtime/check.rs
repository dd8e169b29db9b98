//! What can be said of a choice before anything starts.

use super::app::App;
use super::catalogue::Catalogue;
use super::deployed::Deployed;
use super::error::RuntimeError;
use super::front::closes_by_default;
use super::manifest::HeldBy;
use super::prepare::check_app;
use super::{framework, locate, preparation, setting};
use crate::plan::model::RuntimeChoice;

/// What planning needs to know of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// What keeps a worker busy.
    pub held_by: HeldBy,
    /// Workers it will have.
    pub workers: u32,
    /// Whether it closes every connection after its answer, whatever is asked.
    pub closes: bool,
    /// What its name in tables ends in: nothing, or ` (assembled)`.
    pub made_here: &'static str,
}

impl Catalogue {
    /// Whether `choice` could serve `app` here: its name, kind, settings and programs.
    /// Starts nothing but the programs' own version print.
    ///
    /// # Errors
    /// The first that does not fit, as `prepare` would say it.
    pub fn check(&self, choice: &RuntimeChoice, app: &App) -> Result<Traits, RuntimeError> {
        let runtime = self.serving(choice, app)?;
        check_app(&choice.name, &runtime, app)?;
        let settings = setting::resolve(&choice.name, &runtime.manifest, &choice.settings)?;
        framework::versions(app, &self.places)?;
        Deployed::find(&choice.name, app, &settings, &self.places)?;
        preparation::php(app, &self.places, settings.programs.get("php"))?;
        let needs = locate::all(&self.places, &choice.name, &runtime, &settings.programs)?;
        runtime.can_reach_database(&choice.name, &self.places, &needs)?;
        Ok(Traits {
            held_by: runtime.manifest.worker_held_by,
            workers: settings.workers(),
            closes: closes_by_default(&runtime.manifest) && !settings.is_on("keep_alive"),
            made_here: locate::made_here(&needs),
        })
    }
}
