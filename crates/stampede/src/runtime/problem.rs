//! Parts of a runtime's errors: how a script ended, what did not answer, where a program was named.

use serde::Serialize;

/// How a script that prepares an app ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum PrepareEnd {
    /// By itself.
    #[error("ended with exit code {exit_code}")]
    Exited {
        /// Its exit code.
        exit_code: i32,
    },
    /// By a signal.
    #[error("was killed")]
    Killed,
    /// The person asked for an end.
    #[error("was ended")]
    Interrupted,
    /// By stampede, for its time was over.
    #[error("did not end within {within_s} s")]
    TimedOut {
        /// So long it had.
        within_s: u64,
    },
    /// It did not begin.
    #[error("was not started: {error}")]
    NotStarted {
        /// Why.
        error: String,
    },
}

/// Why a running runtime did not show itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Unverified {
    /// What was asked did not answer.
    #[error("{asked}: {client_error}")]
    NoAnswer {
        /// Which.
        asked: AskedOf,
        /// What the client said.
        client_error: String,
    },
    /// The app's page is not right.
    #[error("the page: {wrong}")]
    WrongPage {
        /// What is wrong with it.
        wrong: String,
    },
    /// The probe's answer cannot be read.
    #[error("probe: status {status}, {json_error}: `{body}`")]
    Unreadable {
        /// Its status.
        status: u16,
        /// What the reader of JSON said.
        json_error: String,
        /// The begin of its body.
        body: String,
    },
}

/// What a runtime is asked for to show itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum AskedOf {
    /// The app's page.
    #[error("the page")]
    Page,
    /// stampede's own script.
    #[error("probe")]
    Probe,
    /// PHP-FPM's.
    #[error("status page")]
    StatusPage,
}

/// Where a program's file was named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenBy {
    /// A setting of the plan, of this name.
    Setting(String),
    /// A variable of the environment.
    Variable(String),
}

impl std::fmt::Display for GivenBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GivenBy::Setting(name) => write!(f, "setting `{name}`"),
            GivenBy::Variable(name) => f.write_str(name),
        }
    }
}
