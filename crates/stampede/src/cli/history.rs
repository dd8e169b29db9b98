//! The command `stampede history`: lists the stored runs.

use std::io;
use std::path::{Path, PathBuf};

use stampede_model::record::RESULTS;
use stampede_results::{history, report};

use super::args::HistoryArgs;
use super::fail::CommandError;
use super::report::style;
use super::shell::{print, print_message};
use super::{Failure, Outcome};

/// Lists the runs, newest first.
pub fn run(args: &HistoryArgs) -> Result<Outcome, Failure> {
    let results = args.results.as_deref().unwrap_or(Path::new(RESULTS));
    readable(results)?;
    let mut entries = history::of(results);
    entries.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
        let text = serde_json::to_string_pretty(&entries).map_err(|error| Failure::new(&error))?;
        return print(format!("{text}\n").as_bytes());
    }
    if entries.is_empty() {
        print_message(&format!(
            "`{}` holds no run; `stampede compare` makes one",
            results.display()
        ));
    }
    print(report::history(&entries, &style()).as_bytes())
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
