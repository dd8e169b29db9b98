//! What the runs of a directory show together: each row over time, and where its figures changed to
//! stay so. Starts no process, opens no socket.
//!
//! ```text
//! directory of results ─▶ runs with their rows ─▶ series ─▶ change points ─▶ text, CSV, JSON, the page's data
//! ```

mod changed;
mod csv;
mod model;
mod page;
mod read;
mod series;
mod text;

pub use csv::csv;
pub use model::{CaseOfRun, Change, FigureOfRun, History, ListedRun, Series};
pub use page::{
    ChangeOverRuns, FigureOverRuns, PointOfRun, RowOverRuns, RowsOverRuns, RunOfRow, rows,
};
pub use read::{Unread, read};
pub use text::{figure_text, series_text};

/// The runs as JSON, newest first, each with its rows.
pub fn json(history: &History) -> String {
    let text = serde_json::to_string_pretty(&history.runs);
    text.expect("runs have string keys and numbers, nothing that JSON cannot hold") + "\n"
}
