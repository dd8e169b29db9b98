//! Proves which PHP serves a project in containers, whose images and files are not ours.
//!
//! ```text
//! a first start, with ProofDirectory mounted ─▶ PhpAnswer, StartState
//! each measured start, without it            ─▶ StartState ─▶ differences
//! ```
//! PHP is asked on a start that is not measured: a directory is mounted into each container, and
//! PHP reads a php.ini there whose `auto_prepend_file` answers a request with the token of this
//! start. A measured start has nothing of this. What was said holds for it if its images, files of
//! php.ini and programs are the same.
//!
//! A program in the containers to which this is added was rejected: images differ in what they can
//! run, and another PHP of the image (the command line's) is not the one that serves.

mod answer;
mod directory;
mod limits;
mod musl;
mod programs;
mod root;
mod state;

pub use answer::PhpAnswer;
pub use directory::{HEADER, INI_DIRECTORY, ProofDirectory};
pub use limits::{EffectiveLimits, limits_inside};
pub use musl::is_musl;
pub use programs::RunningProgram;
pub use root::{base_system, c_library};
pub use state::{StartState, ini_files};
