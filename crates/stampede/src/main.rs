//! The `stampede` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The keeper and its init process are this same binary. In those roles the call never returns.
    stampede_keeper::main_if_asked();
    stampede::cli::run()
}
