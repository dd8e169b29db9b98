//! From a choice to a running runtime, under the keeper.

use super::app::App;
use super::catalogue::Catalogue;
use super::error::RuntimeError;
use super::prepare::{Placement, prepare_kept};
use super::start::{Running, start};
use crate::keeper::KeeperOptions;
use crate::plan::model::RuntimeChoice;

/// Prepares and starts. The work folder is in the keeper's journal from its first moment, so
/// that nothing is left however stampede ends.
///
/// # Errors
/// As `prepare` and `start`.
pub fn up(
    catalogue: &Catalogue,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<Running, RuntimeError> {
    // Before the first runtime and not between two: all inherit the same limit.
    let _ = stampede_load::open_files::raise_to(OPEN_FILES);
    let options = KeeperOptions::default();
    start(prepare_kept(catalogue, choice, app, placement, &options)?, &options)
}

/// Far above what a front with thousands of connections needs, and below every hard limit
/// that distributions set.
const OPEN_FILES: u64 = 65_536;
