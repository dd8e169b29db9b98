//! Why something that already runs cannot be measured.

use std::io;
use std::net::SocketAddr;

use crate::target::TargetError;

/// See the variants; each is about one key of the plan.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The host has no address.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// No connection.
    #[error("nobody answers at {address}{}", elsewhere.map_or(String::new(), something_at))]
    NobodyThere {
        /// Address as connected to, or all of a name's.
        address: String,
        /// Where something of this machine listens instead, on the same port.
        elsewhere: Option<SocketAddr>,
        /// What the system said.
        source: io::Error,
    },
    /// No such process.
    #[error("pid {pid} is no process here")]
    NoProcess {
        /// As given.
        pid: u32,
    },
    /// systemd knows no such unit.
    #[error("unit {unit} is not known to systemd")]
    NoUnit {
        /// As given.
        unit: String,
    },
    /// It is there and does not run.
    #[error("{thing} does not run: it is {state}")]
    NotRunning {
        /// `unit shop.service`.
        thing: String,
        /// `inactive`, `stopped` …
        state: String,
    },
    /// The programs that know did not find it.
    #[error("{thing} was not found: {said}")]
    Unknown {
        /// `container shop`.
        thing: String,
        /// Who said what.
        said: String,
    },
    /// Nobody can be asked.
    #[error("this machine has no {programs} to find {what} with")]
    NoProgram {
        /// Whom we would ask.
        programs: &'static str,
        /// What is looked for.
        what: &'static str,
    },
    /// It could not be asked.
    #[error("`{program}` cannot be asked")]
    Asking {
        /// Who.
        program: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Its processes are not to be seen.
    #[error("{thing} runs as pid {pid}, which cannot be seen from here")]
    Elsewhere {
        /// `container shop`.
        thing: String,
        /// As its manager says; 0: none.
        pid: u32,
    },
    /// The app does not answer.
    #[error("the page")]
    NoAnswer(#[source] ureq::Error),
    /// The app's answer is wrong.
    #[error("the page: {wrong}")]
    WrongPage {
        /// What is wrong with it.
        wrong: String,
    },
}

fn something_at(address: SocketAddr) -> String {
    format!("; something listens at {address}")
}

impl ExternalError {
    /// Key of the plan that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            ExternalError::Target(_)
            | ExternalError::NobodyThere { .. }
            | ExternalError::NoAnswer(_)
            | ExternalError::WrongPage { .. } => "url",
            _ => "watch",
        }
    }

    /// What would do, in words for the plan's errors.
    pub fn expected(&self) -> &'static str {
        match self {
            ExternalError::Target(_) => "a host that this machine can look up",
            ExternalError::NobodyThere { .. } => {
                "the address of something that runs: start it first, stampede does not"
            }
            ExternalError::NoProcess { .. } => {
                "the pid of a process that runs, as `pgrep` prints it"
            }
            ExternalError::NoUnit { .. } => "a unit that `systemctl list-units` shows",
            ExternalError::NotRunning { .. } => "something that runs: start it first",
            ExternalError::Unknown { .. } => {
                "a container or unit of this machine; or watch a process by its pid"
            }
            ExternalError::NoProgram { .. } | ExternalError::Asking { .. } => {
                "`{pid: 4711}`, which needs no other program"
            }
            ExternalError::Elsewhere { .. } => {
                "something in this machine's own PID namespace; or no `watch`"
            }
            ExternalError::NoAnswer(_) | ExternalError::WrongPage { .. } => {
                "the app that the plan names"
            }
        }
    }
}
