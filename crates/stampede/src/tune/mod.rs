//! Which settings give a runtime the most, from few points.
//!
//! ```text
//! stats::best asks for a setting → a search of its capacity, or trials at one rate → … → tune.json
//! ```
//! Every trial is one of a capacity's, so what is on disk is the same.

pub mod lines;
pub mod model;
pub mod settings;
pub mod text;
pub mod tuning_search;

pub use model::TuneReport;
