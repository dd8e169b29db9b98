//! Defines parts of a runtime's errors: how a script ended, what did not answer, where a program
//! was named.

use serde::Serialize;

/// How a script that prepares an app ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum PrepareEnd {
    /// It ended by itself.
    #[error("ended with exit code {exit_code}")]
    Exited {
        /// Its exit code.
        exit_code: i32,
    },
    /// It was ended by a signal.
    #[error("was killed")]
    Killed,
    /// stampede ended it because the user interrupted.
    #[error("was ended")]
    Interrupted,
    /// stampede ended it after the timeout.
    #[error("did not end within {within_s} s")]
    TimedOut {
        /// The timeout in seconds.
        within_s: u64,
    },
    /// It was not started.
    #[error("was not started: {error}")]
    NotStarted {
        /// The error, in words.
        error: String,
    },
}

/// Why a running runtime could not be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Unverified {
    /// A request got no answer.
    #[error("{asked}: {client_error}")]
    NoAnswer {
        /// The thing that was asked for.
        asked: VerifyRequest,
        /// The client's error, in words.
        client_error: String,
    },
    /// The app's page is wrong.
    #[error("the page: {wrong}")]
    WrongPage {
        /// What is wrong with the page.
        wrong: String,
    },
    /// The probe's answer cannot be read.
    #[error("probe: status {status}, {json_error}: `{body}`")]
    Unreadable {
        /// The HTTP status.
        status: u16,
        /// The error of the JSON parser.
        json_error: String,
        /// The beginning of the body.
        body: String,
    },
}

/// What a runtime is asked for when it is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum VerifyRequest {
    /// The app's page.
    #[error("the page")]
    Page,
    /// stampede's own script.
    #[error("probe")]
    Probe,
    /// The status page of PHP-FPM.
    #[error("status page")]
    StatusPage,
}

/// Where a program's file was named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramSource {
    /// A setting of the plan, with its name.
    Setting(String),
    /// An environment variable, with its name.
    Variable(String),
}

impl std::fmt::Display for ProgramSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProgramSource::Setting(name) => write!(f, "setting `{name}`"),
            ProgramSource::Variable(name) => f.write_str(name),
        }
    }
}
