//! Says why a trial measured nothing, and whether another try could succeed.

use stampede_load::LoadError;
use stampede_login::LoginError;
use stampede_model::fact::{Cause, Fact, Generator, Machine, Reason, Server, Traffic, pages};
use stampede_model::record::PageRecord;
use stampede_monitor::MonitorError;
use stampede_stack::external::ExternalError;
use stampede_stack::{RuntimeError, StackLoss};
use stampede_traffic::TrafficError;

use super::paths::PagesError;
use crate::causes::{cause, cause_with_hint};

/// Why nothing was measured. The variants are transparent: each error is shown with its own causes,
/// as if it were not wrapped.
#[derive(Debug, thiserror::Error)]
pub enum NotMeasured {
    /// The runtime does not start, does not answer, does not report its state, or did not stop in
    /// order.
    #[error(transparent)]
    Runtime(RuntimeError),
    /// The external runtime is not there, or does not report its state.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// The runtime ended or was replaced during the trial.
    #[error(transparent)]
    Gone(#[from] StackLoss),
    /// The answers to the load's requests are not worth measuring.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// A page that looks correct logged a PHP error.
    #[error("a page of the load ends in a PHP error, already before the load: `{first}`")]
    PhpError {
        /// The first line of the error in the log.
        first: String,
    },
    /// Nobody could log in.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// A cold start may get no request before the load, so nobody can log in.
    #[error(
        "a cold start (`cold: true`) gets no request before the load, so nobody can log in; measure it warm"
    )]
    LoginWhenCold,
    /// A request of the load cannot be built.
    #[error(transparent)]
    Request(#[from] TrafficError),
    /// The processes cannot be monitored.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// The load was not sent.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The user asked stampede to stop.
    #[error("interrupted before the measured load")]
    Interrupted,
}

impl From<RuntimeError> for NotMeasured {
    fn from(error: RuntimeError) -> NotMeasured {
        match error {
            RuntimeError::AlreadyRunning(error) => NotMeasured::External(error),
            error => NotMeasured::Runtime(error),
        }
    }
}

/// Whether another try could end differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Yes: the machine may have been busy, or a port taken.
    MayHelp,
    /// No: the same app would give the same answer, the same directory the same error.
    Futile,
}

impl NotMeasured {
    /// The reasons as the verdict lists them, the cause first.
    pub fn reasons(&self) -> Vec<Fact<Reason>> {
        if let NotMeasured::Runtime(RuntimeError::OutOfMemory { kills, limit_bytes, source }) = self
        {
            let killed = Machine::OutOfMemory { kills: *kills, limit_bytes: *limit_bytes };
            return vec![
                killed.into(),
                Server::Failed { cause: cause_with_hint(source.as_ref()) }.into(),
            ];
        }
        vec![self.reason()]
    }

    fn reason(&self) -> Fact<Reason> {
        match self {
            NotMeasured::Runtime(error) => Server::Failed { cause: cause_with_hint(error) }.into(),
            NotMeasured::External(error) => Server::Failed { cause: cause_with_hint(error) }.into(),
            NotMeasured::Gone(error) => Server::Gone { cause: cause(error) }.into(),
            NotMeasured::Pages(PagesError::Failing { pages, log }) => {
                let (count, pages) = first(pages);
                Server::PageFails { count, pages, log: log.clone() }.into()
            }
            NotMeasured::Pages(PagesError::Redirected { followed, pages }) => {
                let (count, pages) = first(pages);
                let (followed, endless) = (followed.clone(), None);
                Server::PageRedirects { count, pages, followed, endless }.into()
            }
            NotMeasured::Pages(PagesError::Endless(endless)) => {
                let endless = Some(endless.clone());
                Server::PageRedirects { count: 1, pages: Vec::new(), followed: None, endless }
                    .into()
            }
            NotMeasured::Login(LoginError::Interrupted {}) => Traffic::Interrupted {}.into(),
            NotMeasured::Login(error) => Server::Failed { cause: cause_with_hint(error) }.into(),
            NotMeasured::LoginWhenCold => Server::Failed { cause: cause_with_hint(self) }.into(),
            NotMeasured::PhpError { first } => {
                Server::PhpErrorBefore { first: first.clone() }.into()
            }
            NotMeasured::Request(error) => {
                Generator::Failed { cause: cause_with_hint(error) }.into()
            }
            NotMeasured::Monitor(error) => {
                Generator::Failed { cause: cause_with_hint(error) }.into()
            }
            NotMeasured::Load(error) => Generator::Failed { cause: cause_with_hint(error) }.into(),
            NotMeasured::Interrupted => Traffic::Interrupted {}.into(),
        }
    }

    /// The error itself, as data.
    pub fn cause(&self) -> Cause {
        match self {
            NotMeasured::Runtime(error) => cause_with_hint(error),
            NotMeasured::External(error) => cause_with_hint(error),
            NotMeasured::Gone(error) => cause(error),
            NotMeasured::Pages(error) => cause(error),
            NotMeasured::Request(error) => cause(error),
            NotMeasured::Monitor(error) => cause(error),
            NotMeasured::Load(error) => cause(error),
            NotMeasured::Login(error) => cause(error),
            NotMeasured::PhpError { .. }
            | NotMeasured::LoginWhenCold
            | NotMeasured::Interrupted => cause(self),
        }
    }

    /// Whether another try could end differently.
    pub fn retry(&self) -> Retry {
        match self {
            NotMeasured::Runtime(error) if error.is_lasting() => Retry::Futile,
            NotMeasured::Login(error) if !error.may_pass() => Retry::Futile,
            NotMeasured::Pages(_) | NotMeasured::PhpError { .. } | NotMeasured::LoginWhenCold => {
                Retry::Futile
            }
            _ => Retry::MayHelp,
        }
    }
}

/// The number of pages, and the first of them. The others are in the record's observed pages.
fn first(all: &[PageRecord]) -> (u32, Vec<PageRecord>) {
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    (count, all.iter().take(pages::SHOWN).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lack_of_memory_is_the_first_reason_whatever_error_it_caused() {
        let source = Box::new(RuntimeError::Interrupted { runtime: "nginx-fpm".to_owned() });
        let error = RuntimeError::OutOfMemory { kills: 3, limit_bytes: 24 << 20, source };
        let reasons = NotMeasured::from(error).reasons();
        let killed = Machine::OutOfMemory { kills: 3, limit_bytes: 24 << 20 };
        assert_eq!(reasons[0], killed.into());
        assert_eq!(reasons[1].code(), "runtime_failed");
        assert_eq!(NotMeasured::Interrupted.reasons(), [Traffic::Interrupted {}.into()]);
    }
}
