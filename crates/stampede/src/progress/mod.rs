//! Shows the progress of a comparison: a live picture on a terminal, one line per trial in a pipe.
//! Both listen to the same events and write to stderr.

pub mod live;
pub mod plain;
pub mod tally;
pub mod words;

use std::io::IsTerminal as _;

use stampede_mask::MaskingWriter;

use stampede_model::event::EventListener;

/// Returns the listener that fits standard error.
pub fn for_stderr() -> Box<dyn EventListener> {
    let stderr = std::io::stderr();
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    if stderr.is_terminal() && !dumb {
        Box::new(live::TerminalProgress::new(console::Term::stderr()))
    } else {
        Box::new(plain::LineProgress::new(MaskingWriter::new(stderr)))
    }
}
