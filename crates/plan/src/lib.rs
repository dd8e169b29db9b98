//! Reads a plan (what to compare, and how) from YAML and flags, and resolves it fully.
//!
//! ```text
//! text → tree (places, raw texts) → flags applied → values checked → model::Plan, or a part of it
//! ```
//! Every mistake names the file or the flag, the line and column, what was expected, and the
//! nearest known name.

pub mod addresses;
mod app_flags;
pub mod app_settings;
mod apps;
pub mod autostop;
mod budget;
mod client;
mod compose;
mod compose_flags;
mod defaults;
mod edit;
mod error;
mod expect;
mod external;
mod flags;
mod images;
pub mod imported;
mod keys;
mod load_from;
mod loads;
mod locate;
mod login;
pub mod lookup;
pub mod model;
pub mod parts;
pub mod php_version;
mod preset;
mod read;
mod renamed;
mod requests;
mod rows;
mod runtimes;
mod schema;
mod secrets;
pub mod tank;
mod tank_keys;
pub mod target;
mod traffic_file;
mod tree;
mod unknown_keys;
pub mod urls;
mod value;
mod watch;

pub use app_flags::AppFlags;
pub use apps::settings_of_app_yaml;
pub use compose_flags::ComposeFlags;
pub use defaults::{AT_A_TIME, LENGTH, MissingParts, missing_parts};
pub use error::{Help, Mistake, Place, PlanError, RenderStyle, Source, Wrong};
pub use expect::expectation_of;
pub use flags::{Flags, Overrides, TrafficFlags, WithSteady};
pub use images::has_images;
pub use keys::{reference, settings};
pub use locate::{Subject, is_set_for_all, refused, unknown};
pub use read::{apps_of, from_flags, load_from_flags, read, read_ready, search, stack_from_flags};
pub use schema::schema;
pub use unknown_keys::{UnknownKey, unknown_keys};

#[cfg(test)]
mod app_tests;
#[cfg(test)]
mod compose_tests;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod tank_tests;
#[cfg(test)]
mod tests;
