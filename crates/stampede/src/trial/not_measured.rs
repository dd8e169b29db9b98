//! Why a trial measured nothing, and whether another try could.

use crate::causes::chain;
use crate::fact::{Fact, Reason, Server};
use crate::runtime::RuntimeError;

/// Why nothing was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct NotMeasured {
    /// Why.
    pub reason: Fact<Reason>,
    /// Whether another try could end otherwise.
    pub retry: Retry,
}

/// Whether another try could end otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The machine may have been busy, or a port taken.
    MayHelp,
    /// The same app would give the same answer, the same folder the same error.
    Futile,
}

impl NotMeasured {
    /// Another try could end otherwise.
    pub fn by_chance(reason: impl Into<Fact<Reason>>) -> NotMeasured {
        NotMeasured { reason: reason.into(), retry: Retry::MayHelp }
    }

    /// No other try ends otherwise.
    pub fn for_good(reason: impl Into<Fact<Reason>>) -> NotMeasured {
        NotMeasured { reason: reason.into(), retry: Retry::Futile }
    }
}

impl From<RuntimeError> for NotMeasured {
    fn from(error: RuntimeError) -> NotMeasured {
        let retry = if error.is_lasting() { Retry::Futile } else { Retry::MayHelp };
        NotMeasured { reason: Server::Failed { error: chain(&error) }.into(), retry }
    }
}
