//! `stampede report`: an earlier run's page and table again.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use super::args::{Format, ReportArgs};
use super::shell::print;
use super::{Failure, Outcome};
use crate::report::{self, Colour, Letters, Style};
use crate::store::{self, StoredRun};
use crate::summary::{self, RunData, Summary};

/// Prints the run in the format asked for.
pub fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    let read = Read::run(&args.run)?;
    let summary = &read.summary;
    let text = match args.format {
        Format::Text => {
            // The page first: a pipe that is closed early must not cost it.
            let page = read.write_page()?;
            format!("{}\nReport: {}\n", report::text(summary, &style()), page.display())
        }
        Format::Html => read.html()?,
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

    /// Writes `report.html` into the run's folder.
    pub fn write_page(&self) -> Result<PathBuf, Failure> {
        store::write_page(&self.stored.folder, &self.html()?)
            .map_err(|error| Failure::from_store(&error))
    }

    fn html(&self) -> Result<String, Failure> {
        let page = report::page::page(&self.stored, &self.data, &self.summary)
            .map_err(|error| Failure::from_store(&error))?;
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
