//! Why a check cannot begin, and what to do about it.

use std::path::PathBuf;

use stampede_check::model::SkippedRequest;
use stampede_check::requests::RequestError;
use stampede_model::quantity::QuantityError;

use super::fail::CommandError;

/// Why a check cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// `--passes` names an unknown pass.
    #[error("--passes: unknown pass `{pass}`; use {}", hyphenated(.known))]
    UnknownPass {
        /// The name, with spaces in place of hyphens.
        pass: String,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// None of the chosen passes can be sent.
    #[error(
        "--passes: `{}` is not possible with these requests, users and runtimes",
        passes.join(",")
    )]
    NoPass {
        /// The names as typed.
        passes: Vec<String>,
    },
    /// `--worker-memory` is wrong.
    #[error("--worker-memory: `{value}` is not a size of memory; for example 128MiB")]
    NotASize {
        /// The value as typed.
        value: String,
    },
    /// `--timeout` is wrong.
    #[error("--timeout")]
    Timeout {
        /// What is wrong with the length.
        source: QuantityError,
    },
    /// `--env` has no name or no value. It may be a secret, so it is not shown.
    #[error("--env: use NAME=VALUE, for example APP_ENV=prod")]
    NotAVariable,
    /// The directory for the result exists.
    #[error("`{}` is there already", path.display())]
    OutExists {
        /// The directory.
        path: PathBuf,
    },
    /// The reference has to forget, and does not.
    #[error("`{runtime}` keeps the app in memory: the reference has to be one that does not")]
    ReferenceKeeps {
        /// Name of the reference.
        runtime: String,
    },
    /// A checked runtime has to keep the app in memory, and does not.
    #[error("`{runtime}` starts the app anew for each request: there is nothing to check")]
    RuntimeForgets {
        /// Name of the runtime.
        runtime: String,
    },
    /// Every request is skipped.
    #[error("no request is left to send{}", indented(.skipped))]
    NoRequest {
        /// The first skipped requests.
        skipped: Vec<SkippedRequest>,
    },
    /// Every request fails under the reference.
    #[error("the app already fails under {reference}, so there is nothing to compare: {broken}")]
    FailsAlready {
        /// Name of the reference.
        reference: String,
        /// The last failed request and the app's log.
        broken: String,
    },
}

impl CommandError for CheckError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            CheckError::UnknownPass { .. }
            | CheckError::NotASize { .. }
            | CheckError::Timeout { .. }
            | CheckError::NotAVariable => return None,
            CheckError::NoPass { .. } => {
                "`interleaved` needs two users or more, `reversed` needs two requests or more, `overlapping` needs an \
                 event-loop runtime; use other passes, or raise `--users` or `--limit`"
                    .to_owned()
            }
            CheckError::OutExists { .. } => "`--out` names another directory".to_owned(),
            CheckError::ReferenceKeeps { .. } | CheckError::RuntimeForgets { .. } => {
                "`stampede runtimes` shows each runtime's mode: worker runtimes are checked"
                    .to_owned()
            }
            CheckError::NoRequest { .. } => {
                "name requests with `--traffic FILE`, or allow more methods with `--methods`"
                    .to_owned()
            }
            CheckError::FailsAlready { reference, .. } => {
                format!("`stampede up {reference} --app DIR` starts it alone, with its logs")
            }
        })
    }
}

impl CommandError for RequestError {
    fn hint(&self) -> Option<String> {
        Some(self.hint().to_owned())
    }
}

/// Lists the names of passes as people type them.
fn hyphenated(passes: &[&str]) -> String {
    passes.join(", ").replace("in order", "in-order")
}

/// Returns the requests, each on an indented line of its own.
fn indented(requests: &[SkippedRequest]) -> String {
    requests.iter().map(|request| format!("\n  {request}")).collect()
}
