//! Why a trial measured nothing, and whether another try could.

use crate::causes::chain;
use crate::runtime::RuntimeError;

/// Why nothing was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMeasured {
    /// In words.
    pub reason: String,
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
    pub fn by_chance(reason: String) -> NotMeasured {
        NotMeasured { reason, retry: Retry::MayHelp }
    }

    /// No other try ends otherwise.
    pub fn for_good(reason: String) -> NotMeasured {
        NotMeasured { reason, retry: Retry::Futile }
    }
}

impl From<RuntimeError> for NotMeasured {
    fn from(error: RuntimeError) -> NotMeasured {
        let retry = if error.is_lasting() { Retry::Futile } else { Retry::MayHelp };
        NotMeasured { reason: chain(&error), retry }
    }
}

impl From<String> for NotMeasured {
    fn from(reason: String) -> NotMeasured {
        NotMeasured::by_chance(reason)
    }
}
