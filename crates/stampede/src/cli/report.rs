//! `stampede report`: an earlier run's page and table again.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use super::args::{Format, ReportArgs};
use super::shell::print;
use super::{Failure, Outcome};
use crate::causes::chain;
use crate::report::{self, Colour, Letters, Style};
use crate::store::{self, StoreError, StoredRun};
use crate::summary::{self, RunData, Summary};

/// Prints the run in the format asked for.
pub fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    let read = Read::run(&args.run)?;
    let summary = &read.summary;
    let text = match args.format {
        Format::Text => {
            // Beside the table, which a pipe takes as it is.
            if let Some(page) = read.write_page() {
                eprintln!("report: {}", page.display());
            }
            report::text(summary, &style())
        }
        Format::Html => read.html().map_err(|error| Failure::from_store(&error))?,
        Format::Markdown => report::markdown(summary),
        Format::Csv => report::csv(summary),
        Format::Json => report::json(summary),
    };
    print(text.as_bytes())
}

/// A run that was read and summed up.
pub struct Read {
    /// As it is on disk.
    pub stored: StoredRun,
    /// What the summary was made of.
    pub data: RunData,
    /// Expectations judged.
    pub summary: Summary,
}

impl Read {
    /// A run's folder or name.
    pub fn run(path_or_name: &str) -> Result<Read, Failure> {
        let from_store = |error| Failure::from_store(&error);
        let stored = store::read(path_or_name).map_err(from_store)?;
        let data = RunData::read(&stored).map_err(from_store)?;
        let summary = summary::summarize(&data);
        Ok(Read { stored, data, summary })
    }

    /// Writes `report.html` into the run's folder. Where that cannot be it is said, and no more:
    /// a run of a read-only disk has its table all the same.
    pub fn write_page(&self) -> Option<PathBuf> {
        let written = self.html().and_then(|html| store::write_page(&self.stored.folder, &html));
        written.inspect_err(|error| eprintln!("note: no report.html: {}", chain(error))).ok()
    }

    fn html(&self) -> Result<String, StoreError> {
        let page = report::page::page(&self.stored, &self.data, &self.summary)?;
        Ok(report::page::html(&page))
    }
}

/// How standard output can be written: its width, and whether colour and more than ASCII
/// fit.
pub fn style() -> Style {
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal();
    let width = if terminal { console::Term::stdout().size().1 } else { PIPE_WIDTH };
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    Style {
        width: width.into(),
        colour: if colour { Colour::Always } else { Colour::Never },
        letters: if is_utf8() { Letters::Unicode } else { Letters::Ascii },
    }
}

/// What the locale says, in the order that POSIX gives; nothing said is UTF-8, as in every
/// container.
fn is_utf8() -> bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    said.is_none_or(|value| {
        let value = value.to_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

/// Wide enough for every column: a pipe has no edge.
const PIPE_WIDTH: u16 = 160;
