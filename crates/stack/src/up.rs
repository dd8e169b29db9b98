//! Prepares and starts a runtime under the keeper.

use std::path::Path;

use stampede_keeper::{Keeper, KeeperOptions};
use stampede_plan::model::RuntimeChoice;

use super::app::App;
use super::catalogue::Catalogue;
use super::cold::start_without_request;
use super::error::RuntimeError;
use super::page::PageRequest;
use super::prepare::{Placement, PreparedStack, prepare};
use super::ready::{start, start_answering};
use super::start::{Failure, RunningStack, Supervisor};

/// Prepares and starts a runtime, and waits until `page` shows that the app works. The keeper
/// creates the working directory and guards it from then on, so that nothing is left however
/// stampede ends.
///
/// # Errors
/// Those of `prepare` and `start`.
pub fn start_runtime(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<RunningStack, RuntimeError> {
    start(with_page(page, prepare_warm(catalogue, choice, app, placement)?))
}

/// The same, but accepts whatever the app's page answers.
///
/// # Errors
/// Those of `prepare` and `start_answering`.
pub fn start_with_any_answer(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<RunningStack, RuntimeError> {
    start_answering(prepare_warm(catalogue, choice, app, placement)?)
}

/// The same as [`start_runtime`] with OPcache and the app's caches empty, so that the first answer is that of
/// a cold start.
///
/// # Errors
/// Those of `prepare` and `start`.
pub fn start_cold(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<RunningStack, RuntimeError> {
    start(with_page(page, prepare_cold(catalogue, choice, app, placement)?))
}

/// The same as [`start_cold`], but sends no request before it returns.
///
/// # Errors
/// Those of `prepare` and `start`.
pub fn start_cold_without_request(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<RunningStack, RuntimeError> {
    start_without_request(with_page(page, prepare_cold(catalogue, choice, app, placement)?))
}

/// Starts a runtime with the app's caches as prepared, and sends no request before it returns.
///
/// # Errors
/// Those of `prepare` and `start`.
pub fn start_without_any_request(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<RunningStack, RuntimeError> {
    start_without_request(prepare_warm(catalogue, choice, app, placement)?)
}

fn with_page(page: PageRequest, mut prepared: PreparedStack) -> PreparedStack {
    prepared.stack.page = page;
    prepared
}

fn prepare_warm(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<PreparedStack, RuntimeError> {
    // The limit is raised before the first runtime and not between two, so that all inherit the
    // same limit.
    let _ = stampede_load::open_files::raise_to(OPEN_FILES);
    let options = KeeperOptions::default();
    prepare(catalogue, choice, app, placement, keeper_per_directory(&options))
}

fn prepare_cold(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<PreparedStack, RuntimeError> {
    prepare_warm(catalogue, choice, app, placement)?.with_caches_empty()
}

/// Guards each working directory with a keeper of its own.
pub fn keeper_per_directory(
    options: &KeeperOptions,
) -> impl Fn(&str, &Path) -> Result<Box<dyn Supervisor>, Failure> + use<'_> {
    |id, directory| Ok(Box::new(Keeper::guard(id, directory, options)?))
}

/// The limit of open files: far more than a front with thousands of connections needs, and below
/// the hard limits of all distributions.
const OPEN_FILES: u64 = 65_536;
