//! `stampede report`: an earlier run's table again.

use std::io::IsTerminal as _;

use super::args::{Format, ReportArgs};
use super::shell::print;
use super::{Failure, Outcome};
use crate::report::{self, Colour, Letters, Style};
use crate::store::{self, StoredRun};
use crate::summary::{self, RunData, Summary};

/// Prints the run in the format asked for.
pub fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    let (_, summary) = read(&args.run)?;
    let text = match args.format {
        Format::Text => report::text(&summary, &style()),
        Format::Markdown => report::markdown(&summary),
        Format::Csv => report::csv(&summary),
        Format::Json => report::json(&summary),
    };
    print(text.as_bytes())
}

/// A stored run and its summary, expectations judged.
pub fn read(path_or_name: &str) -> Result<(StoredRun, Summary), Failure> {
    let from_store = |error| Failure::from_store(&error);
    let stored = store::read(path_or_name).map_err(from_store)?;
    let data = RunData::read(&stored).map_err(from_store)?;
    let summary = summary::summarize(&data);
    Ok((stored, summary))
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
