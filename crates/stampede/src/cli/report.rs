//! `stampede report`: an earlier run's table again.

use std::io::IsTerminal as _;

use super::args::{Format, ReportArgs};
use super::shell::print;
use super::{Failure, Outcome};
use crate::report::{self, Colour, Style};
use crate::{store, summary};

/// Prints the run in the format asked for.
pub fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    let stored = store::find(&args.run).map_err(|error| Failure::from_store(&error))?;
    let summary = summary::summarize(&stored).map_err(|error| Failure::from_store(&error))?;
    let text = match args.format {
        Format::Text => report::text(&summary, &style()),
        Format::Markdown => report::markdown(&summary),
        Format::Csv => report::csv(&summary),
        Format::Json => report::json(&summary),
    };
    print(text.as_bytes())
}

/// How standard output can be written: its width, and whether colour and more than ASCII
/// fit.
pub fn style() -> Style {
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal();
    let width = if terminal { console::Term::stdout().size().1 } else { PIPE_WIDTH };
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    Style { width: width.into(), colour: if colour { Colour::Always } else { Colour::Never }, ..Style::default() }
}

/// Wide enough for every column: a pipe has no edge.
const PIPE_WIDTH: u16 = 160;
