//! From a choice to a running runtime, under the keeper.

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

/// Prepares and starts, and waits until `page` shows that the app works. The keeper makes the work
/// directory and looks after it from its first moment, so that nothing is left however stampede
/// ends.
///
/// # Errors
/// As `prepare` and `start`.
pub fn up(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<Running, RuntimeError> {
    start(asking(page, warm(catalogue, choice, app, placement)?))
}

/// The same, whatever the app's page answers.
///
/// # Errors
/// As `prepare` and `start_answering`.
pub fn up_answering(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<Running, RuntimeError> {
    start_answering(warm(catalogue, choice, app, placement)?)
}

/// With OPcache and the app's caches empty: its first answer is that of a cold start.
///
/// # Errors
/// As `prepare` and `start`.
pub fn up_cold(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<Running, RuntimeError> {
    start(asking(page, cold(catalogue, choice, app, placement)?))
}

/// The same, and nothing has been asked of it when it is given.
///
/// # Errors
/// As `prepare` and `start`.
pub fn up_unasked(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
    page: PageRequest,
) -> Result<Running, RuntimeError> {
    start_unasked(asking(page, cold(catalogue, choice, app, placement)?))
}

/// With its caches as the app brought them, and nothing has been asked of it when it is given.
///
/// # Errors
/// As `prepare` and `start`.
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
    // Before the first runtime and not between two: all inherit the same limit.
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

/// Working directories looked after by a keeper of their own.
pub fn under(
    options: &KeeperOptions,
) -> impl Fn(&str, &Path) -> Result<Box<dyn Keep>, Failure> + use<'_> {
    |id, directory| Ok(Box::new(Keeper::guard(id, directory, options)?))
}

/// Far above what a front with thousands of connections needs, and below every hard limit
/// that distributions set.
const OPEN_FILES: u64 = 65_536;
