//! The command `stampede history`: lists the stored runs.

use std::path::Path;

use super::args::HistoryArgs;
use super::report::style;
use super::shell::{print, print_message};
use super::{Failure, Outcome};
use crate::{history, report, store};

/// Lists the runs, newest first.
pub fn run(args: &HistoryArgs) -> Result<Outcome, Failure> {
    let results = args.results.as_deref().unwrap_or(Path::new(store::RESULTS));
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
pub fn readable(results: &Path) -> Result<(), Failure> {
    let is_usual = results == Path::new(store::RESULTS) && !results.exists();
    match std::fs::read_dir(results) {
        Err(error) if !is_usual => {
            let directory = results.display();
            Err(Failure::rendered(format!(
                "the directory of results `{directory}` cannot be read: {error}"
            ))
            .hint("name the directory that holds the runs, as `--in stampede-results`"))
        }
        _ => Ok(()),
    }
}
