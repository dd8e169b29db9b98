//! Why a trial measured nothing, and whether another try could.

use stampede_load::LoadError;
use stampede_load::traffic::TrafficError;

use super::paths::PagesError;
use crate::causes::chain;
use crate::external::ExternalError;
use crate::fact::{Fact, Generator, Machine, Reason, Server, Traffic};
use crate::monitor::MonitorError;
use crate::plan::model::Watch;
use crate::runtime::RuntimeError;
use crate::store::record::PageRecord;

/// Why nothing was measured. An error's causes are its own: each is told as if it came alone.
#[derive(Debug, thiserror::Error)]
pub enum NotMeasured {
    /// The runtime does not start, answer or show itself; or it was not ended in order.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// What runs already is not there, or does not show itself.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// What is measured is no longer what it was.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// The answers to the load's requests are not worth measuring.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// A page that looks fine ends in an error of PHP.
    #[error("a page of the load ends in a PHP error, already before the load: `{first}`")]
    PhpError {
        /// The first line of it in the log.
        first: String,
    },
    /// A request of the load cannot be built.
    #[error(transparent)]
    Request(#[from] TrafficError),
    /// Nothing watches the processes.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// The load was not sent.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The person asked for an end.
    #[error("interrupted before the measured load")]
    Interrupted,
}

/// Why what is measured is no longer what it was: its figures are not the runtime's.
#[derive(Debug, thiserror::Error)]
pub enum Gone {
    /// What held a stack of ours is gone, and the stack with it.
    #[error(transparent)]
    Lost(RuntimeError),
    /// What runs already has ended, or is another one now.
    #[error("what is watched, {watch}, ended during the trial")]
    Ended {
        /// As the plan names it.
        watch: Watch,
    },
}

/// Whether another try could end otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The machine may have been busy, or a port taken.
    MayHelp,
    /// The same app would give the same answer, the same directory the same error.
    Futile,
}

impl NotMeasured {
    /// What a verdict says of it, the cause first.
    pub fn reasons(&self) -> Vec<Fact<Reason>> {
        if let NotMeasured::Runtime(RuntimeError::OutOfMemory { kills, limit_bytes, source }) = self
        {
            let killed = Machine::OutOfMemory { kills: *kills, limit_bytes: *limit_bytes };
            return vec![killed.into(), Server::Failed { error: chain(source) }.into()];
        }
        vec![self.reason()]
    }

    fn reason(&self) -> Fact<Reason> {
        let error = chain(self);
        match self {
            NotMeasured::Runtime(_) | NotMeasured::External(_) => Server::Failed { error }.into(),
            NotMeasured::Gone(_) => Server::Gone { detail: error }.into(),
            NotMeasured::Pages(PagesError::Failing { pages, .. }) => {
                let (count, pages) = first(pages);
                Server::PageFails { count, pages, detail: error }.into()
            }
            NotMeasured::Pages(PagesError::Redirected { pages, .. }) => {
                let (count, pages) = first(pages);
                Server::PageRedirects { count, pages, detail: error }.into()
            }
            NotMeasured::Pages(PagesError::Endless(_)) => {
                Server::PageRedirects { count: 1, pages: Vec::new(), detail: error }.into()
            }
            NotMeasured::PhpError { first } => {
                Server::PhpErrorBefore { first: first.clone() }.into()
            }
            NotMeasured::Request(_) | NotMeasured::Monitor(_) | NotMeasured::Load(_) => {
                Generator::Failed { error }.into()
            }
            NotMeasured::Interrupted => Traffic::Interrupted {}.into(),
        }
    }

    /// Whether another try could end otherwise.
    pub fn retry(&self) -> Retry {
        match self {
            NotMeasured::Runtime(error) if error.is_lasting() => Retry::Futile,
            NotMeasured::Pages(_) | NotMeasured::PhpError { .. } => Retry::Futile,
            _ => Retry::MayHelp,
        }
    }
}

/// How many there are, and the first of them: the others are in the observed pages.
fn first(pages: &[PageRecord]) -> (u32, Vec<PageRecord>) {
    let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    (count, pages.iter().take(PAGES_KEPT).cloned().collect())
}

/// Kept in a reason.
const PAGES_KEPT: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_memory_is_the_first_reason_whatever_it_showed_as() {
        let source = Box::new(RuntimeError::Interrupted { runtime: "nginx-fpm".to_owned() });
        let error = RuntimeError::OutOfMemory { kills: 3, limit_bytes: 24 << 20, source };
        let reasons = NotMeasured::from(error).reasons();
        let killed = Machine::OutOfMemory { kills: 3, limit_bytes: 24 << 20 };
        assert_eq!(reasons[0], killed.into());
        assert_eq!(reasons[1].code(), "runtime_failed");
        assert_eq!(NotMeasured::Interrupted.reasons(), [Traffic::Interrupted {}.into()]);
    }
}
