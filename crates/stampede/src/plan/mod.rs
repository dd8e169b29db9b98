//! What to compare: parsed from YAML and flags, fully resolved.

pub mod model;
