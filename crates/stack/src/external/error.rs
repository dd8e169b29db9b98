//! Says why an external runtime cannot be measured.

use std::io;
use std::net::SocketAddr;

use serde::Serialize;

use stampede_plan::Help;
use stampede_plan::target::TargetError;

use crate::ClientError;

/// Why an external runtime cannot be measured. Each variant is about one key of the plan.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalError {
    /// No connection to the address could be made.
    #[error("nobody answers at {address}{}", elsewhere.map_or(String::new(), something_at))]
    NobodyThere {
        /// The address that was tried.
        address: String,
        /// The address of this machine where something listens on the same port instead; `None`:
        /// there is none.
        elsewhere: Option<SocketAddr>,
        /// The system's error.
        #[serde(skip)]
        source: io::Error,
    },
    /// There is no process with this pid.
    #[error("there is no process with pid {pid} on this machine")]
    NoProcess {
        /// The pid as given.
        pid: u32,
    },
    /// systemd does not know the unit.
    #[error("unit {unit} is not known to systemd")]
    NoUnit {
        /// The unit's name as given.
        unit: String,
    },
    /// The unit or container exists, but does not run.
    #[error("{thing} does not run: it is {state}")]
    NotRunning {
        /// What does not run: `unit shop.service`.
        thing: String,
        /// Its state: `inactive`, `stopped` …
        state: String,
    },
    /// The programs that were asked do not know the unit or container.
    #[error("{thing} was not found: {said}")]
    Unknown {
        /// What was looked for: `container shop`.
        thing: String,
        /// The programs and their messages.
        said: String,
    },
    /// No program that could be asked is installed.
    #[error("this machine has no {programs} to find {what} with")]
    NoProgram {
        /// The programs that would be asked.
        programs: &'static str,
        /// What was looked for: `a unit`, `a container`, `a project`.
        what: &'static str,
    },
    /// A program is installed but could not be run.
    #[error("`{program}` cannot be asked")]
    Asking {
        /// The program.
        program: &'static str,
        /// The system's error.
        #[serde(skip)]
        source: io::Error,
    },
    /// The processes cannot be seen from here: they are on another machine or in another PID
    /// namespace.
    #[error("{thing} runs as pid {pid}, which cannot be seen from here")]
    Elsewhere {
        /// What was looked for: `container shop`.
        thing: String,
        /// The pid that its manager gives; 0: none.
        pid: u32,
    },
    /// Another machine cannot be asked.
    #[error("machine `{host}` cannot be read: {said}")]
    Unreachable {
        /// The machine, as `ssh` takes it.
        host: String,
        /// The last line that `ssh` or the machine said.
        said: String,
    },
    /// The app does not answer.
    #[error("the page")]
    NoAnswer(
        #[serde(skip)]
        #[source]
        ClientError,
    ),
    /// The app's answer is wrong.
    #[error("the page: {wrong}")]
    WrongPage {
        /// What is wrong with the answer.
        wrong: String,
    },
    /// The URL's host cannot be looked up.
    #[error(transparent)]
    #[serde(untagged)]
    Target(#[from] TargetError),
}

fn something_at(address: SocketAddr) -> String {
    format!("; something listens at {address}")
}

impl ExternalError {
    /// The key of the plan that the error is about.
    pub fn key(&self) -> &'static str {
        match self {
            ExternalError::Target(_)
            | ExternalError::NobodyThere { .. }
            | ExternalError::NoAnswer(_)
            | ExternalError::WrongPage { .. } => "url",
            _ => "watch",
        }
    }

    /// What the plan should say instead, in words.
    pub fn help(&self) -> Help {
        let expected = match self {
            ExternalError::NobodyThere { .. }
            | ExternalError::Target(TargetError::NobodyAccepts { .. }) => {
                return Help::todo("start the server first; stampede does not start it");
            }
            ExternalError::NotRunning { .. } => return Help::todo("start it first"),
            ExternalError::Target(_) => "a host that this machine can look up",
            ExternalError::NoProcess { .. } => {
                "the pid of a process that runs, as `pgrep` prints it"
            }
            ExternalError::NoUnit { .. } => "a unit that `systemctl list-units` shows",
            ExternalError::Unknown { .. } => {
                "a container, project or unit of this machine; or watch a process by its pid"
            }
            ExternalError::NoProgram { .. } | ExternalError::Asking { .. } => {
                "`pid:4711`, which needs no other program"
            }
            ExternalError::Unreachable { .. } => {
                "a machine where `ssh HOST true` works without a question"
            }
            ExternalError::Elsewhere { .. } => {
                "a process that `ps` on this machine shows, or no `watch`"
            }
            ExternalError::NoAnswer(_) | ExternalError::WrongPage { .. } => {
                "the app that the plan names"
            }
        };
        expected.into()
    }
}
