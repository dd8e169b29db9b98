//! Renders a summary, for people and for machines. The module is pure: the caller passes the width,
//! the colours and the letters that the terminal supports.

mod answer;
mod columns;
mod compact;
mod csv;
pub mod csv_fields;
mod diff;
pub mod evidence;
pub mod export;
mod history;
mod junit;
mod layout;
mod lines;
mod markdown;
mod notes;
pub mod page;
mod price;
mod shown;
pub mod svg;
mod text;
mod why;

use stampede_model::words;

use crate::summary::Summary;
use crate::summary::model::Figure;

pub use answer::{answer, headlines};
pub use csv::{csv, verdict};
pub use diff::{diff_markdown, diff_text, difference_lines};
pub use history::history;
pub use junit::junit;
pub use layout::Tone;
pub use markdown::markdown;
pub use price::price;
pub use shown::LoadedRuns;
pub use text::text;

/// The abilities of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Width in columns. Less than 32 counts as 32.
    pub width: usize,
    /// Whether escape sequences may be written.
    pub colour: Colour,
    /// Whether characters beyond ASCII may be written.
    pub letters: CharacterSet,
}

/// Whether to use colours. A colour never carries information that the text lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Write escape sequences.
    Always,
    /// Plain text.
    Never,
}

/// The character set of the reader's locale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharacterSet {
    /// UTF-8.
    Unicode,
    /// Only ASCII: `us` for `µs`, `>=` for `≥`.
    Ascii,
}

/// The run's id, when and with which stampede it was measured, and what its order came from.
fn heading(summary: &Summary) -> String {
    let Summary { run, stampede, started_at, rounds, seed, .. } = summary;
    let by = format!("{run} · stampede {stampede}");
    if *rounds == 0 {
        // The summary combines several runs, and each has a line with its own details.
        return by;
    }
    format!("{by} · {started_at} · {}, seed {seed}", words::number_of(*rounds, "round"))
}

/// The content of `summary.json`, indented. Also the output of `--format json`.
pub fn json(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary)
        .expect("a summary has string keys and numbers, nothing that JSON cannot hold");
    text.push('\n');
    text
}

/// A figure as tables print it: `≥` before a lower bound, `failed`, or `—` if there is none.
pub fn figure_text(figure: Figure, words: impl Fn(f64) -> String) -> String {
    columns::figure(figure, words).text
}
