//! Prints: what shells and editors read (completions, the manual page, JSON Schemas), and all that
//! other commands print, without secrets.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;
use stampede_mask::Masked;

use super::args::SchemaName;
use super::fail::CommandError;
use super::schemas;
use super::{Cli, Failure, Outcome};

/// Prints a JSON Schema to stdout.
pub fn schema(of: SchemaName) -> Result<Outcome, Failure> {
    let schema = match of {
        SchemaName::Plan => stampede_plan::schema(),
        SchemaName::PlanKeys => return print(stampede_plan::reference().as_bytes()),
        _ => return print(&schemas::of_types(of)?),
    };
    let schema = serde_json::to_string_pretty(&schema).map_err(|error| Failure::new(&error))?;
    print(format!("{schema}\n").as_bytes())
}

/// Prints completions for `shell` to stdout.
pub fn completions(shell: Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stampede", &mut script);
    print(&script)
}

/// Prints the manual page in roff to stdout: `stampede man | man -l -`.
pub fn man() -> Result<Outcome, Failure> {
    let mut page = Vec::new();
    let command = Cli::command();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::new(&error))?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let man = clap_mangen::Man::new(sub.clone());
        page.extend_from_slice(
            format!(".SH STAMPEDE {}\n", sub.get_name().to_uppercase()).as_bytes(),
        );
        man.render_synopsis_section(&mut page)
            .and_then(|()| man.render_options_section(&mut page))
            .map_err(|error| Failure::new(&error))?;
    }
    print(&page)
}

/// Prints a message to stderr, with secrets masked.
pub fn print_message(text: &str) {
    print_error(&Masked::text(text).with_line_break());
}

/// Masks what a panic says: it may show a value. Where it happened, and the trace that
/// `RUST_BACKTRACE` asks for, is told as usual.
pub fn mask_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let trace = std::backtrace::Backtrace::capture();
        let trace = match trace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
            _ => String::new(),
        };
        let name = thread.name().unwrap_or("without a name");
        print_message(&format!("thread `{name}` {panic}{trace}"));
    }));
}

/// Writes to stderr. If nobody reads it any more, the work must go on.
pub fn print_error(content: &Masked) {
    let _ = std::io::stderr().write_all(content.bytes());
}

/// Writes to stdout, without the values that are known to be secrets. A closed pipe (`| head`) is
/// no error.
pub fn print(bytes: &[u8]) -> Result<Outcome, Failure> {
    let content = Masked::rendered(&String::from_utf8_lossy(bytes));
    match std::io::stdout().write_all(content.bytes()) {
        Err(source) if source.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(ShellError::StandardOutput { source }.into())
        }
        _ => Ok(Outcome::Fine),
    }
}

/// Why results were not printed.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// Standard output cannot be written to.
    #[error("standard output")]
    StandardOutput {
        /// The system's error.
        source: std::io::Error,
    },
}

impl CommandError for ShellError {}
