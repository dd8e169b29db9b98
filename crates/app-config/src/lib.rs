//! Reads what the configuration files of an app name: its databases, its secrets, and its own
//! directory by its whole path. No code of the app runs for that: the files are read as text, so
//! what a program computes is not seen.
//!
//! ```text
//! directory ─files─▶ settings ─┬─▶ databases
//!                              └─▶ secrets
//! ```

mod database;
mod files;
mod neighbour;
mod own_paths;
mod setting;

pub use database::{NamedDatabase, databases};
pub use neighbour::is_neighbours;
pub use own_paths::{OwnPaths, own_paths};
pub use setting::{Setting, secrets, settings};
