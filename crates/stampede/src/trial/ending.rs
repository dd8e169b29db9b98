//! Ends the stack of a trial, and says what its connections show.

use stampede_model::isolation::Exit;
use stampede_model::record::LoadRecord;
use stampede_results::store::TrialDirectory;
use stampede_stack::{RuntimeError, Stack};

/// Keeps the stack's logs, then stops it. Returns how each process ended.
///
/// # Errors
/// The stack was lost before.
pub(super) fn end(
    stack: Box<dyn Stack>,
    directory: &mut TrialDirectory,
) -> Result<Vec<Exit>, RuntimeError> {
    let logs = stack.logs();
    logs.files().iter().for_each(|log| directory.save_log(log));
    stack.stop()
}

/// Whether a server that already ran closed all connections that should have been kept. For a
/// stack that stampede started this is known beforehand.
pub(super) fn closes(stack: &dyn Stack, load: &LoadRecord) -> bool {
    let all = load.counts.started > 0 && load.connections.opened >= load.counts.started;
    let many = load.counts.started > u64::from(load.in_flight_max);
    !stack.is_started() && load.keep_alive && all && many
}
