//! Why a chore failed.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::dist::DistError;
use crate::types::SchemaError;

/// An error of a chore; see the variants.
#[derive(Debug)]
pub enum ChoreError {
    /// A program that a step needs is not installed.
    Missing(Need),
    /// A program exists but does not start.
    NotStarted {
        /// The command as it is printed.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// A command ended with a failure.
    Failed {
        /// The command with its arguments.
        command: String,
        /// The command's exit status.
        status: ExitStatus,
    },
    /// A file of the project cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of the project cannot be written.
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The project's files, or standard input, cannot be read.
    Io(io::Error),
    /// The report's page in the source differs from what its source builds.
    StalePage,
    /// The types of the page's data in the source differ from those of the program.
    StaleTypes,
    /// The reference of a plan's keys in the docs differs from that of the program.
    StaleKeys,
    /// A page has no markers around the part that is generated.
    NoMarkers {
        /// The page.
        path: PathBuf,
    },
    /// No types are made of the schema that the program prints.
    Schema(SchemaError),
    /// No binary was made that can be handed out.
    Dist(DistError),
    /// `stampede install` did not make all runtimes, and said why.
    NotMade,
    /// Tests failed; they were named before.
    TestsFailed,
    /// Files break the rules of STYLE.md.
    Untidy {
        /// The number of findings.
        findings: usize,
        /// The number of files that were checked.
        files: usize,
    },
}

/// A program that a step cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Node.js in this version or newer, and npm.
    Node {
        /// The major version.
        least: u32,
    },
    /// Go, which builds runtimes.
    Go,
    /// PHPUnit.
    PhpUnit,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::Node { least } => write!(f, "Node.js {least} or newer and npm are needed"),
            Need::Go => f.write_str("there is no Go to make RoadRunner and FrankenPHP with"),
            Need::PhpUnit => {
                f.write_str("`phpunit` is not installed (scripts/install-packages test)")
            }
        }
    }
}

impl fmt::Display for ChoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChoreError::Missing(need) => need.fmt(f),
            ChoreError::NotStarted { command, source } => {
                write!(f, "`{command}` does not start: {source}")
            }
            ChoreError::Failed { command, status } => write!(f, "`{command}` failed: {status}"),
            ChoreError::Unreadable { path, source } | ChoreError::Unwritable { path, source } => {
                write!(f, "{}: {source}", path.display())
            }
            ChoreError::Io(source) => source.fmt(f),
            ChoreError::StalePage => f.write_str(
                "report-ui/dist/index.html is not what report-ui/src makes: \
                 `cargo xtask report-ui`, and commit it",
            ),
            ChoreError::StaleTypes => f.write_str(
                "report-ui/src/data.generated.ts is not what the program's types make: \
                 `cargo xtask types`, and commit it",
            ),
            ChoreError::StaleKeys => f.write_str(
                "docs/plans.md has not the keys of the program's table: `cargo xtask keys`, and \
                 commit it",
            ),
            ChoreError::NoMarkers { path } => {
                write!(f, "{}: the markers around the keys of plans are missing", path.display())
            }
            ChoreError::Schema(error) => error.fmt(f),
            ChoreError::Dist(error) => error.fmt(f),
            ChoreError::NotMade => {
                f.write_str("RoadRunner or FrankenPHP could not be made, see above")
            }
            ChoreError::TestsFailed => f.write_str("tests failed, see above"),
            ChoreError::Untidy { findings, files } => {
                write!(f, "tidy found {findings} things in {files} files")
            }
        }
    }
}

impl std::error::Error for ChoreError {}

impl From<io::Error> for ChoreError {
    fn from(source: io::Error) -> ChoreError {
        ChoreError::Io(source)
    }
}

/// Turns the end of a command into a result.
///
/// # Errors
/// If the command did not start, or ended with a failure.
pub fn succeeded(command: &str, run: io::Result<ExitStatus>) -> Result<(), ChoreError> {
    let command = command.to_owned();
    match run {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(ChoreError::Failed { command, status }),
        Err(source) => Err(ChoreError::NotStarted { command, source }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn error_messages() {
        let shown = |run| succeeded("npm ci", run).map_err(|error| error.to_string());
        assert_eq!(shown(Ok(ExitStatus::from_raw(0))), Ok(()));
        let failed = "`npm ci` failed: exit status: 3".to_owned();
        assert_eq!(shown(Ok(ExitStatus::from_raw(3 << 8))), Err(failed));
        let missing = io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(shown(Err(missing)), Err("`npm ci` does not start: entity not found".into()));
        let need = ChoreError::Missing(Need::Node { least: 20 });
        assert_eq!(need.to_string(), "Node.js 20 or newer and npm are needed");
    }
}
