//! The `stampede` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The keeper and its init are this same binary; they never come back from here.
    stampede::keeper::main_if_asked();
    stampede::cli::run()
}
