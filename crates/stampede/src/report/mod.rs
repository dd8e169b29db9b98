//! Report: a summary rendered, for people and for machines. Pure; the width, the colours
//! and the letters that the terminal knows are told, not asked for.

mod answer;
mod columns;
mod compact;
mod csv;
mod diff;
pub mod evidence;
mod history;
mod junit;
mod layout;
mod lines;
mod markdown;
mod notes;
pub mod page;
mod shown;
pub mod svg;
mod text;
mod why;

use crate::summary::model::Figure;
use crate::summary::{Summary, words};

pub use answer::{answer, headlines};
pub use csv::csv;
pub use diff::{diff_markdown, diff_text, differ};
pub use history::history;
pub use junit::junit;
pub use markdown::markdown;
pub use shown::Shown;
pub use text::text;

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; below 32 is taken as 32.
    pub width: usize,
    /// Whether escape sequences may be written.
    pub colour: Colour,
    /// Whether letters beyond ASCII may be written.
    pub letters: Letters,
}

/// Whether to colour. Colour never says anything that the text does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Write escape sequences.
    Always,
    /// Plain text.
    Never,
}

/// Which letters the reader's locale has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// UTF-8.
    Unicode,
    /// ASCII alone: `us` for `µs`, `>=` for `≥`.
    Ascii,
}

/// Which run it is, and what its order came from.
fn heading(summary: &Summary) -> String {
    let Summary { run, stampede, started_at, rounds, seed, .. } = summary;
    let by = format!("{run} · stampede {stampede}");
    if *rounds == 0 {
        // Several runs: each says so itself.
        return by;
    }
    format!("{by} · {started_at} · {}, seed {seed}", words::number_of(*rounds, "round"))
}

/// `summary.json`: pretty, for the file and for `--format json`.
pub fn json(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary)
        .expect("a summary has string keys and numbers, nothing that JSON cannot hold");
    text.push('\n');
    text
}

/// A figure as tables print it: `≥` before a lower bound, `failed`, `—` where there is none.
pub fn figure_text(figure: Figure, words: impl Fn(f64) -> String) -> String {
    columns::figure(figure, words).text
}
