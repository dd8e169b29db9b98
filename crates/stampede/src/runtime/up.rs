//! Prepares and starts a runtime under the keeper.

use std::path::Path;

use super::app::App;
use super::catalogue::Catalogue;
use super::cold::start_unasked;
use super::error::RuntimeError;
use super::page::PageRequest;
use super::prepare::{Placement, Prepared, prepare};
use super::ready::{start, start_answering};
use super::start::{Failure, Keep, Running};
use crate::keeper::{Keeper, KeeperOptions};
use crate::plan::model::RuntimeChoice;

/// Prepares and starts a runtime, and waits until `page` shows that the app works. The keeper
/// creates the working directory and guards it from then on, so that nothing is left however
/// stampede ends.
///
/// # Errors
/// Those of `prepare` and `start`.
pub fn up(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<Running, RuntimeError> {
    start(asking(page, warm(catalogue, choice, app, placement)?))
}

/// The same, but accepts whatever the app's page answers.
///
/// # Errors
/// Those of `prepare` and `start_answering`.
pub fn up_answering(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<Running, RuntimeError> {
    start_answering(warm(catalogue, choice, app, placement)?)
}

/// The same as [`up`] with OPcache and the app's caches empty, so that the first answer is that of
/// a cold start.
///
/// # Errors
/// Those of `prepare` and `start`.
pub fn up_cold(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<Running, RuntimeError> {
    start(asking(page, cold(catalogue, choice, app, placement)?))
}

/// The same as [`up_cold`], but sends no request before it returns.
///
/// # Errors
/// Those of `prepare` and `start`.
pub fn up_unasked(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<Running, RuntimeError> {
    start_unasked(asking(page, cold(catalogue, choice, app, placement)?))
}

/// Starts a runtime with the app's caches as prepared, and sends no request before it returns.
///
/// # Errors
/// Those of `prepare` and `start`.
pub fn up_silent(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<Running, RuntimeError> {
    start_unasked(warm(catalogue, choice, app, placement)?)
}

fn asking(page: PageRequest, mut prepared: Prepared) -> Prepared {
    prepared.stack.page = page;
    prepared
}

fn warm(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<Prepared, RuntimeError> {
    // The limit is raised before the first runtime and not between two, so that all inherit the
    // same limit.
    let _ = stampede_load::open_files::raise_to(OPEN_FILES);
    let options = KeeperOptions::default();
    prepare(catalogue, choice, app, placement, under(&options))
}

fn cold(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<Prepared, RuntimeError> {
    warm(catalogue, choice, app, placement)?.with_caches_empty()
}

/// Guards each working directory with a keeper of its own.
pub fn under(
    options: &KeeperOptions,
) -> impl Fn(&str, &Path) -> Result<Box<dyn Keep>, Failure> + use<'_> {
    |id, directory| Ok(Box::new(Keeper::guard(id, directory, options)?))
}

/// The limit of open files: far more than a front with thousands of connections needs, and below
/// the hard limits of all distributions.
const OPEN_FILES: u64 = 65_536;
