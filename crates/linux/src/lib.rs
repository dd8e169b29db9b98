//! What stampede asks of Linux: processes, programs with a deadline, cgroup hierarchies, signals, and
//! names that nobody can guess.

pub mod clock;
pub mod fresh;
pub mod interrupt;
pub mod mounts;
pub mod process;
pub mod run;
