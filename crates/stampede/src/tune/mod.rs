//! Searches for the settings that suit a runtime best, from few measured points.
//!
//! ```text
//! stats::best picks settings → a search of their capacity, or trials at one rate → … → tune.json
//! ```
//! Every trial is a trial of a capacity search, so the files on disk are the same.

pub mod lines;
pub mod settings;
pub mod text;
pub mod tuning_search;
