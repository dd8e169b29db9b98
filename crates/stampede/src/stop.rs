//! Connects Ctrl-C with the running load.

use stampede_model::stop::Stop;

use stampede_linux::interrupt;

/// Returns the stop flag for the next load. A signal sets it. It is already set if an end was asked
/// for.
pub fn stop_for_load() -> Stop {
    let stop = Stop::default();
    let asked = stop.clone();
    interrupt::on_request(move || asked.ask());
    stop
}
