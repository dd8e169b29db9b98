//! What is left of a trial: the stack's logs, and what its connections show.

use stampede_model::record::LoadRecord;
use stampede_results::store::TrialDirectory;
use stampede_stack::Stack;

/// Keeps the stack's logs.
pub(super) fn save_logs(stack: &dyn Stack, directory: &mut TrialDirectory) {
    let logs = stack.logs();
    for log in logs.files() {
        // It may never have been written.
        if let Ok(file) = logs.open(&log) {
            directory.save_log(&log, file);
        }
    }
}

/// Whether a server that already ran closed all connections that should have been kept. For a
/// stack that stampede started this is known beforehand.
pub(super) fn closes(stack: &dyn Stack, load: &LoadRecord) -> bool {
    let all = load.counts.started > 0 && load.connections.opened >= load.counts.started;
    let many = load.counts.started > u64::from(load.in_flight_max);
    !stack.is_started() && load.keep_alive && all && many
}
