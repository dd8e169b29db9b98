//! What stampede asks of Linux: processes, cgroup hierarchies, signals, and names that nobody can
//! guess.

pub mod clock;
pub mod fresh;
pub mod interrupt;
pub mod mounts;
pub mod process;
