//! What stampede asks of Linux: what `/proc` and cgroups show, programs with a deadline, signals,
//! when received bytes arrived, names that nobody can guess, and threads whose panic ends nothing
//! else.

pub mod affinity;
pub mod arrival;
pub mod beneath;
pub mod cgroup;
pub mod clock;
pub mod cpu_list;
pub mod fresh;
pub mod guarded_thread;
pub mod handed;
pub mod interrupt;
pub mod mounts;
pub mod proc;
pub mod process;
pub mod reach;
pub mod run;
pub mod sock_diag;
pub mod space;
pub mod transfer;
