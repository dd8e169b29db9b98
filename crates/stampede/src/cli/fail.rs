//! How a command ends: exit codes, and errors in words.

use std::error::Error;
use std::process::ExitCode;

use crate::report::format;

/// A command that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Fine,
    /// Exit code 1: an expectation was not met.
    NotMet,
    /// Exit code 3: measured, but a cell is missing or invalid.
    Incomplete,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Fine => 0,
            Outcome::NotMet => 1,
            Outcome::Incomplete => 3,
        })
    }
}

/// A command that could not do its work. Exit code 2.
#[derive(Debug)]
pub struct Failure {
    text: String,
    hint: Option<String>,
}

impl Failure {
    /// An error without a hint; causes follow after colons.
    pub fn new(error: &dyn Error) -> Failure {
        Failure { text: chain(error), hint: None }
    }

    /// Text that is already laid out, such as a plan's error with its source line.
    pub fn rendered(text: String) -> Failure {
        Failure { text, hint: None }
    }

    /// Says what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it to stderr; exit code 2.
    pub fn print(&self) -> ExitCode {
        eprint!("{}", self.text());
        ExitCode::from(2)
    }

    /// As printed.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.text.starts_with("error") {
            text.push_str("error: ");
        }
        text.push_str(self.text.trim_end());
        text.push('\n');
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\nhint: {hint}\n"));
        }
        format::mask(&text)
    }
}

/// An error and its causes in one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
