//! The ways in which a command ends: exit codes, and error messages.

use std::error::Error;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use crate::against::AgainstError;
use crate::causes::chain;
use crate::plan::{PlanError, RenderStyle};
use crate::runtime::RuntimeError;
use crate::store::{StoreError, mask_secrets};
use crate::suggest::SuggestError;
use crate::target::TargetError;
use crate::trial::refusal::Refusal;

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

/// Why a command could not do its work. The exit code is 2.
#[derive(Debug)]
pub struct Failure {
    text: Text,
    hint: Option<String>,
}

/// The printed text of a failure.
#[derive(Debug)]
enum Text {
    /// A sentence, which is printed after `error:`.
    Sentence(String),
    /// A whole message, which begins with `error:` itself.
    Message(String),
}

impl Failure {
    /// Makes a failure without a hint. Causes follow the error after colons.
    pub fn new(error: &dyn Error) -> Failure {
        Failure { text: Text::Sentence(chain(error)), hint: None }
    }

    /// Makes a failure from text that is already laid out, such as a plan's error with its source
    /// line.
    pub fn rendered(text: String) -> Failure {
        Failure { text: Text::Sentence(text), hint: None }
    }

    /// Makes a failure from an error in the flags. The text is that of the library that parses
    /// flags, and it begins with `error:`.
    pub fn from_flags(error: &clap::Error) -> Failure {
        Failure { text: Text::Message(error.to_string()), hint: None }
    }

    /// Makes a failure from a plan's error, with the source line.
    pub fn from_plan(error: &PlanError) -> Failure {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Failure::rendered(error.render(if colour {
            RenderStyle::Colour
        } else {
            RenderStyle::Plain
        }))
    }

    /// Makes a failure from the error of a runtime or an app, with its hint.
    pub fn from_runtime(error: &RuntimeError) -> Failure {
        Failure { hint: error.hint(), ..Failure::new(error) }
    }

    /// Does the same, but leaves out a hint that names the command that was just run.
    pub fn from_runtime_alone(error: &RuntimeError) -> Failure {
        let hint = error.hint().filter(|_| !error.suggests_starting_alone());
        Failure { hint, ..Failure::new(error) }
    }

    /// Makes a failure from a plan that cannot run here.
    pub fn from_refusal(refusal: &Refusal) -> Failure {
        match refusal {
            Refusal::Plan(error) => Failure::from_plan(error),
            Refusal::Runtime(error) => Failure::from_runtime(error),
        }
    }

    /// Makes a failure from the reason why nothing can be suggested, with its hint.
    pub fn from_suggest(error: &SuggestError) -> Failure {
        Failure { hint: error.hint(), ..Failure::new(error) }
    }

    /// Makes a failure from a URL's error, with its hint.
    pub fn from_target(error: &TargetError) -> Failure {
        Failure { hint: error.hint().map(str::to_owned), ..Failure::new(error) }
    }

    /// Makes a failure from the reason why another version is not available, with its hint.
    pub fn from_against(error: &AgainstError) -> Failure {
        Failure { hint: error.hint(), ..Failure::new(error) }
    }

    /// Makes a failure from an error of the results, with its hint.
    pub fn from_store(error: &StoreError) -> Failure {
        Failure { hint: error.hint(), ..Failure::new(error) }
    }

    /// Sets the hint, which says what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the failure to stderr, and returns exit code 2.
    pub fn print(&self) -> ExitCode {
        eprint!("{}", self.text());
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
