//! Guarantees that nothing outlives stampede: a helper process ends everything that was started.
//!
//! ```text
//! stampede → keeper (own session, subreaper, holds stampede's pidfd)
//!          → init (PID 1 of a new PID and IPC namespace; of a user namespace too when not root)
//!          → the runtime's processes
//! ```
//! Which process may die, and what then ends the rest:
//!
//! | gone | ends the processes | removes cgroups, working directory, journal entry |
//! |---|---|---|
//! | stampede | keeper (kills init; the kernel kills all inside) | keeper |
//! | keeper | the kernel: init has a parent-death signal | stampede (it sees the socket close) |
//! | both at once | the kernel, as above | the next start, from the journal |
//! | init | the kernel | keeper |
//!
//! Where namespaces are not allowed, init is an ordinary subreaper. It ends all processes itself
//! when its keeper is gone: by `cgroup.kill`, else by the v1 freezer, else by killing every adopted
//! child.

mod capabilities;
mod cgroup;
mod cpus;
mod error;
mod init;
mod journal;
mod keep;
mod kill;
mod link;
mod private_mounts;
pub mod spec;
mod stack;
mod sweep;
mod sys;
mod wire;
mod work;

pub use capabilities::{
    Capabilities, Controller, PidNamespace, Writable, can_bind, capabilities, cpu_quota_fix,
    reaches_systemd,
};
pub use cpus::{CpuSplit, Sharing, place_self, split_cpus};
pub use error::KeeperError;
pub use stack::{
    CgroupUse, Keeper, KeeperOptions, NamespaceUse, ProcessInfo, ProcessSet, WorkingDirectory,
};
pub use sweep::{SweepReport, sweep, sweep_in};

/// Environment variable of every process of a stack. It finds strays that left every group.
pub const MARKER: &str = "STAMPEDE_STACK";

/// Runs the keeper, init or another hidden role if the command line asks for one, and then never
/// returns. Otherwise does nothing. `main` calls it first, before any thread starts and before
/// anything is printed.
pub fn main_if_asked() {
    let mut args = std::env::args_os().skip(1);
    let Some(role) = args.next() else { return };
    match role.to_str() {
        Some(keep::ROLE) => keep::main(args),
        Some(init::ROLE) => init::main(args),
        Some(capabilities::ROLE) => capabilities::main(args),
        _ => {}
    }
}
