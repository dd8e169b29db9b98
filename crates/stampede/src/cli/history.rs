//! The command `stampede history`: lists the stored runs, and shows each row over them.

use std::io;
use std::path::{Path, PathBuf};

use stampede_history::{History, csv, figure_text, json, series_text};
use stampede_model::causes::chain;
use stampede_model::record::RESULTS;
use stampede_results::report;
use stampede_results::summary::diff::Measure;

use super::args::{HistoryArgs, HistoryFormat};
use super::fail::CommandError;
use super::report::style;
use super::shell::{print, print_message};
use super::{Failure, Outcome};

/// Lists the runs, newest first.
pub fn run(args: &HistoryArgs) -> Result<Outcome, Failure> {
    let results = args.results.as_deref().unwrap_or(Path::new(RESULTS));
    readable(results)?;
    let (history, unread) = stampede_history::read(results, args.limit.unwrap_or(usize::MAX));
    for one in unread {
        print_message(&format!("note: no figures of run `{}`: {}", one.run, chain(&one.error)));
    }
    let format = if args.json { HistoryFormat::Json } else { args.format };
    let figure = args.figure.as_deref().and_then(figure_of);
    let text = match (format, figure) {
        (HistoryFormat::Json, _) => json(&history),
        (HistoryFormat::Csv, _) => csv(&history),
        (HistoryFormat::Text, Some(measure)) => figure_text(&history, measure, &style()),
        (HistoryFormat::Text, None) => list(&history),
    };
    if text.is_empty() {
        print_message(&nothing(&history, results));
    }
    print(text.as_bytes())
}

fn figure_of(name: &str) -> Option<Measure> {
    Measure::SHOWN.into_iter().find(|measure| measure.name() == name)
}

/// The list of runs, then what they show together.
fn list(history: &History) -> String {
    let entries: Vec<_> = history.runs.iter().map(|run| run.entry.clone()).collect();
    let parts = [report::history(&entries, &style()), series_text(history, &style())];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn nothing(history: &History, results: &Path) -> String {
    let results = results.display();
    match history.runs.is_empty() {
        true => format!("`{results}` holds no run; `stampede compare` makes one"),
        false => format!("no two runs of `{results}` have this figure of the same row"),
    }
}

/// Checks the results directory. A directory that was named must exist. The default one may be
/// missing, because the first run creates it.
pub fn readable(results: &Path) -> Result<(), HistoryError> {
    let is_usual = results == Path::new(RESULTS) && !results.exists();
    match std::fs::read_dir(results) {
        Err(source) if !is_usual => {
            Err(HistoryError::Unreadable { directory: results.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Why the stored runs cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The directory of results cannot be read.
    #[error("the directory of results `{}` cannot be read", directory.display())]
    Unreadable {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl CommandError for HistoryError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            HistoryError::Unreadable { .. } => {
                "name the directory that holds the runs, as `--in stampede-results`".to_owned()
            }
        })
    }
}
