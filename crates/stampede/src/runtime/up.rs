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
    let options = KeeperOptions::default();
    start(prepare_kept(catalogue, choice, app, placement, &options)?, &options)
}
