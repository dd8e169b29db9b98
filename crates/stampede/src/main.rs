//! The `stampede` program.

use std::process::ExitCode;

/// musl's own allocator takes one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The keeper and its init process are this same binary. In those roles the call never returns.
    stampede_keeper::main_if_asked();
    stampede::cli::run()
}
