//! Shows the progress of a comparison: a live picture on a terminal, one line per trial in a pipe.
//! Both listen to the same events and write to stderr.

pub mod live;
pub mod plain;
pub mod so_far;
pub mod tally;
pub mod words;

use std::io::{IsTerminal as _, Write as _};

use stampede_compose::news::News;
use stampede_mask::MaskingWriter;

use stampede_model::event::EventListener;

/// Whether progress is drawn: somebody watches a terminal.
pub fn is_live() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    std::io::stderr().is_terminal() && !dumb
}

/// Shows news of a start. The picture of a comparison is drawn again when it goes on.
pub fn tell(news: &News<'_>) {
    let line = words::news(news);
    if is_live() {
        live::print_in_place(&console::Term::stderr(), &line);
    } else {
        let _ = writeln!(MaskingWriter::new(std::io::stderr()), "{line}");
    }
}

/// Returns the listener that fits standard error.
pub fn for_stderr() -> Box<dyn EventListener> {
    let stderr = std::io::stderr();
    if is_live() {
        Box::new(live::TerminalProgress::new(console::Term::stderr()))
    } else {
        Box::new(plain::LineProgress::new(MaskingWriter::new(stderr)))
    }
}
