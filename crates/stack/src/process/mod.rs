//! Stacks of processes on this machine. Each has a working directory of its own, which a keeper
//! guards.
//!
//! ```text
//! StackSpec ─materialise─▶ PreparedStack ─start─▶ ProcessStack
//! ```
//! The address, the users, the check of the listener, and the paths are known only here.

pub(crate) mod app_path;
pub(crate) mod cold;
pub(crate) mod denied;
pub(crate) mod listen_address;
pub(crate) mod materialise;
pub(crate) mod php_log;
pub(crate) mod port;
pub(crate) mod preparation;
mod reach;
pub(crate) mod ready;
pub(crate) mod stack;
pub(crate) mod user;
pub(crate) mod verify;
pub(crate) mod watched;
pub(crate) mod working_directory;

use std::path::Path;

use stampede_compose::engine::Grouping;
use stampede_keeper::{Keeper, KeeperOptions};
use stampede_model::fact::Notice;
use stampede_model::fact::containers::Containers;
use stampede_plan::model::RuntimeChoice;

use self::materialise::{PreparedStack, materialise};
use self::stack::{Failure, Supervisor};
use crate::app::App;
use crate::catalogue::Catalogue;
use crate::error::RuntimeError;
use crate::images::supervised_by;
use crate::provider::{Provider, Stack, StackRequest};
use crate::resolve::{ResolvedRuntime, RuntimeTraits};
use crate::spec::StackSpec;

/// Creates the working directory of a stack, given the stack's id, and guards it from then on.
pub type Supervise = dyn Fn(&str, &Path) -> Result<Box<dyn Supervisor>, Failure> + Send + Sync;

/// Starts runtimes of the catalogue as processes of this machine.
pub struct ProcessProvider {
    catalogue: Catalogue,
    supervise: Box<Supervise>,
}

impl ProcessProvider {
    /// Each stack has a keeper of its own, so that nothing is left however stampede ends.
    pub fn new(catalogue: Catalogue) -> ProcessProvider {
        ProcessProvider::with_keeper(catalogue, KeeperOptions::default())
    }

    /// The same, with these options of the keeper.
    pub fn with_keeper(catalogue: Catalogue, options: KeeperOptions) -> ProcessProvider {
        ProcessProvider::supervised(catalogue, move |id, directory| {
            Ok(Box::new(Keeper::guard(id, directory, &options)?))
        })
    }

    /// Working directories and processes are guarded by what `supervise` returns.
    pub fn supervised(
        catalogue: Catalogue,
        supervise: impl Fn(&str, &Path) -> Result<Box<dyn Supervisor>, Failure> + Send + Sync + 'static,
    ) -> ProcessProvider {
        ProcessProvider { catalogue, supervise: Box::new(supervise) }
    }

    /// The runtimes and apps that it can start.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Writes everything that the stack needs. Starts no process of the stack itself; what it wrote
    /// is removed when the value is dropped before the start.
    ///
    /// # Errors
    /// A port, directory or file cannot be had, or a program that prepares the app fails.
    pub fn materialise(&self, spec: &StackSpec) -> Result<PreparedStack, RuntimeError> {
        let places = &self.catalogue.places;
        match &spec.resolved()?.images {
            Some(images) => materialise(spec, places, &supervised_by(images.clone())),
            None => materialise(spec, places, &self.supervise),
        }
    }
}

impl Provider for ProcessProvider {
    fn starts(&self, _runtime: &RuntimeChoice) -> bool {
        true
    }

    fn traits(&self, runtime: &RuntimeChoice, app: &App) -> Result<RuntimeTraits, RuntimeError> {
        self.catalogue.check(runtime, app)
    }

    /// Whether the containers of a runtime in images share no budget.
    fn notices(&self, choice: &RuntimeChoice, app: &App) -> Result<Vec<Notice>, RuntimeError> {
        if choice.images.is_none() {
            return Ok(Vec::new());
        }
        // What keeps the runtime from serving this app is said elsewhere.
        let found = ResolvedRuntime::find(&self.catalogue, choice, app, false).ok();
        let images = found.and_then(|found| found.images);
        let is_alone = images.is_some_and(|images| {
            images.engine.grouping == Grouping::PerService && images.by_role.len() > 1
        });
        let notice = || Notice::Containers {
            runtime: choice.name.clone(),
            found: Containers::LimitsPerService {},
        };
        Ok(is_alone.then(notice).into_iter().collect())
    }

    fn resolve(&self, request: &StackRequest<'_>) -> Result<StackSpec, RuntimeError> {
        let StackRequest { runtime, app, placement, .. } = request;
        let mut found =
            ResolvedRuntime::find(&self.catalogue, runtime, app, placement.ask.is_some())?;
        found.runtime.settle_database(&mut found.settings, placement);
        Ok(StackSpec { resolved: Some(found), ..StackSpec::of(request) })
    }

    fn start(&self, spec: &StackSpec) -> Result<Box<dyn Stack>, RuntimeError> {
        // The limit is raised before the first runtime and not between two, so that all inherit the
        // same limit.
        let _ = stampede_load::open_files::raise_to(OPEN_FILES);
        Ok(Box::new(self.materialise(spec)?.start()?))
    }
}

/// The limit of open files: far more than a front with thousands of connections needs, and below
/// the hard limits of all distributions.
pub(crate) const OPEN_FILES: u64 = 65_536;
