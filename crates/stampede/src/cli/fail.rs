//! The ways in which a command ends: exit codes, and error messages.

use std::error::Error;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use stampede_compose::ComposeError;
use stampede_mask::{Masked, mask_secrets};
use stampede_model::causes::{chain, message};
use stampede_plan::target::TargetError;
use stampede_plan::{PlanError, RenderStyle};
use stampede_published::TablesError;
use stampede_results::store::StoreError;
use stampede_stack::RuntimeError;

use super::shell::print_error;
use crate::suggest::SuggestError;
use stampede_against::AgainstError;
use stampede_trial::refusal::Refusal;

/// The result of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Fine,
    /// Exit code 1: an expectation was not met.
    NotMet,
    /// Exit code 2: nothing could be measured.
    Nothing,
    /// Exit code 3: measured, but a case is missing or invalid.
    Incomplete,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Fine => 0,
            Outcome::NotMet => 1,
            Outcome::Nothing => 2,
            Outcome::Incomplete => 3,
        })
    }
}

/// An error that ends a command. `Display` says what happened; the hint says what to do next.
pub trait CommandError: Error {
    /// Returns what to do next, as one line without `hint:`.
    fn hint(&self) -> Option<String> {
        None
    }

    /// The system of an engine whose containers cannot be seen from here.
    fn hidden_engine(&self) -> Option<String> {
        None
    }
}

impl CommandError for RuntimeError {
    fn hint(&self) -> Option<String> {
        self.hint()
    }

    fn hidden_engine(&self) -> Option<String> {
        let RuntimeError::Containers { problem, .. } = self else { return None };
        match problem.as_ref() {
            ComposeError::EngineHidden { system } => Some(system.clone()),
            _ => None,
        }
    }
}

impl CommandError for SuggestError {
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

impl CommandError for TargetError {
    fn hint(&self) -> Option<String> {
        self.hint().map(str::to_owned)
    }
}

impl CommandError for TablesError {
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

impl CommandError for AgainstError {
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

impl CommandError for StoreError {
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

/// Why a command could not do its work. The exit code is 2.
#[derive(Debug)]
pub struct Failure {
    text: Text,
    hint: Option<String>,
    hidden_engine: Option<String>,
}

/// The printed text of a failure.
#[derive(Debug)]
enum Text {
    /// A sentence, which is printed after `error:`.
    Sentence(String),
    /// A whole message, which begins with `error:` itself.
    Message(String),
}

/// A build with the feature `codes-for-text` prints the error's code in place of its hint too.
impl<E: CommandError> From<E> for Failure {
    fn from(error: E) -> Failure {
        let worded = |hint| if cfg!(feature = "codes-for-text") { message(&error) } else { hint };
        let (hint, hidden_engine) = (error.hint().map(worded), error.hidden_engine());
        Failure { hint, hidden_engine, ..Failure::new(&error) }
    }
}

/// A plan's error is printed with its source line.
impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let text = error.render(if colour { RenderStyle::Colour } else { RenderStyle::Plain });
        Failure { text: Text::Sentence(text), hint: None, hidden_engine: None }
    }
}

/// A plan that cannot run here.
impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Plan(error) => error.into(),
            Refusal::Runtime(error) => error.into(),
            Refusal::Published(error) => error.into(),
        }
    }
}

/// An error in the flags. The text is that of the library that parses flags, and it begins with
/// `error:`.
impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Failure {
        Failure { text: Text::Message(error.to_string()), hint: None, hidden_engine: None }
    }
}

impl Failure {
    /// Makes a failure without a hint. Causes follow the error after colons.
    pub fn new(error: &dyn Error) -> Failure {
        Failure { text: Text::Sentence(chain(error)), hint: None, hidden_engine: None }
    }

    /// The system of the engine whose containers cannot be seen from here, if that is the failure.
    pub fn hidden_engine(&self) -> Option<&str> {
        self.hidden_engine.as_deref()
    }

    /// Makes a failure from a runtime's error, without the hint that names the command that was
    /// just run.
    pub fn from_runtime_alone(error: RuntimeError) -> Failure {
        match error.suggests_starting_alone() {
            true => Failure::new(&error),
            false => error.into(),
        }
    }

    /// Prints the failure to stderr, and returns exit code 2.
    pub fn print(&self) -> ExitCode {
        print_error(&Masked::text(&self.text()));
        ExitCode::from(2)
    }

    /// Returns the text as it is printed.
    pub fn text(&self) -> String {
        let mut text = match &self.text {
            Text::Sentence(text) => format!("error: {}\n", text.trim_end()),
            Text::Message(text) => format!("{}\n", text.trim_end()),
        };
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\nhint: {hint}\n"));
        }
        mask_secrets(&text)
    }
}
