//! Why a compose file, or what a tool made of it, is no project.

use std::path::PathBuf;

use serde::Serialize;

/// Why a text is no compose project.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectProblem {
    /// It cannot be parsed.
    #[error("it is no YAML")]
    NotYaml(
        #[serde(skip)]
        #[source]
        Box<serde_saphyr::Error>,
    ),
    /// It is not a map.
    #[error("it is no map")]
    NoMap {},
    /// It has no map of services.
    #[error("it has no services")]
    NoServices {},
}

/// Why a compose file cannot be read.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileProblem {
    /// There is no such file, or not for this user.
    #[error("it cannot be read")]
    Missing {},
    /// It is not written as YAML is.
    #[error("line {line}: {words}")]
    Syntax {
        /// The line, from 1.
        line: u64,
        /// The parser's words.
        words: String,
    },
    /// It is not a map.
    #[error("it is no map")]
    NoMap {},
    /// It has no map of services.
    #[error("it has no services")]
    NoServices {},
    /// It includes a file that leads back to it.
    #[error("it includes itself, if by other files")]
    Loop {},
    /// A service extends one that leads back to it.
    #[error("service `{service}` extends itself, if by other services")]
    ServiceLoop {
        /// The service.
        service: String,
    },
    /// Too many files or services build on one another.
    #[error("too many files or services build on one another")]
    TooDeep {},
    /// A service extends another one that is not there.
    #[error("service `{service}` extends `{base}`, which is not in `{}`", file.display())]
    NoBase {
        /// The service.
        service: String,
        /// The one that it extends.
        base: String,
        /// Where it should be.
        file: PathBuf,
    },
    /// Two included files declare different things by one name.
    #[error("its {kind} `{name}` is another one than that of `{}`, and both are included", other.display())]
    Conflict {
        /// `config`, `network`, `secret`, `service` or `volume`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The other file.
        other: PathBuf,
    },
    /// It includes a file with variables that is not there.
    #[error("it includes with the env file `{}`, which does not exist", file.display())]
    NoEnvFile {
        /// The file with variables.
        file: PathBuf,
    },
}

impl FileProblem {
    /// From what the parser says.
    pub(crate) fn of(error: &serde_saphyr::Error) -> FileProblem {
        use serde_saphyr::MessageFormatter as _;

        let line = error.location().map_or(1, |location| location.line());
        let words = serde_saphyr::UserMessageFormatter.format_message(error.without_snippet());
        let words = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        FileProblem::Syntax { line, words }
    }
}
