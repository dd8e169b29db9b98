//! What to compare: parsed from YAML and flags, fully resolved.
//!
//! ```text
//! text → tree (places, raw texts) → flags laid over → values within bounds → model::Plan
//! ```
//! Every mistake names file or flag, line, column, what was expected, and the nearest known
//! name.

mod budget;
mod client;
mod error;
mod expect;
mod expectation;
mod external;
mod flags;
mod loads;
mod locate;
pub mod model;
mod preset;
mod read;
mod requests;
mod runtimes;
mod schema;
mod secrets;
pub mod tank;
mod tank_keys;
mod tree;
mod unknown_keys;
pub(crate) mod urls;
mod value;

pub use error::{Look, Mistake, Place, PlanError, Source, Wrong};
pub use flags::{Flags, Overrides};
pub use locate::{Subject, refused, said_for_all, unknown};
pub use read::{
    FlagLoad, SETTINGS, apps_from_flags, from_flags, load_from_flags, read, stack_from_flags,
};
pub use schema::schema;
pub use unknown_keys::{UnknownKey, unknown_keys};
pub use value::parse_size;

#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod tank_tests;
#[cfg(test)]
mod tests;
