//! Errors of the bench: why something was not measured.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::{PARTS, SETTINGS};

/// An error of the bench; see the variants.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A word on the command line that names no part.
    #[error("`{word}` is none of {}", PARTS.join(", "))]
    NoPart {
        /// The word as given.
        word: String,
    },
    /// A setting that no part has.
    #[error("`{word}`: the settings are {}", SETTINGS.join(", "))]
    NoSetting {
        /// The setting as given.
        word: String,
    },
    /// The value of a part's number is not a number.
    #[error("{name}={given}?")]
    NotANumber {
        /// The name of the number.
        name: String,
        /// The value as given.
        given: String,
    },
    /// A program does not start.
    #[error("{program}: {source}")]
    NotStarted {
        /// The program.
        program: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A program failed; its message is kept.
    #[error("{program}: {said}")]
    Refused {
        /// The program.
        program: &'static str,
        /// Its exit status.
        status: ExitStatus,
        /// Its message.
        said: String,
    },
    /// This program cannot start itself as a child.
    #[error("no process for {child}: {source}")]
    NoProcess {
        /// The child's task.
        child: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A part failed.
    #[error("{part} ended with {status}")]
    PartFailed {
        /// The part.
        part: &'static str,
        /// The exit status of its process.
        status: ExitStatus,
    },
    /// A peer failed; its row names it.
    #[error("ended with {status}")]
    PeerFailed {
        /// Its exit status.
        status: ExitStatus,
    },
    /// The output of a peer cannot be parsed.
    #[error("prints no count of right answers")]
    NoCount,
    /// A peer got no right answer.
    #[error("no right answer")]
    NoRightAnswer,
    /// The peer cannot send by a schedule.
    #[error("has no schedule")]
    NoSchedule,
    /// The server does not start to listen.
    #[error("nginx does not listen on {address}")]
    NotListening {
        /// The address that it should listen on.
        address: SocketAddr,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is no log of histograms.
    #[error("{}: no log of histograms", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// A file of the kernel has an unexpected format.
    #[error("{}: no number", path.display())]
    NoNumber {
        /// The file.
        path: PathBuf,
    },
    /// The server's stamps cannot be assigned to their requests.
    #[error("a request was lost, failed, was sent twice or waited for a connection")]
    LostRequest,
    /// `stampede fire` prints no summary.
    #[error("`stampede fire` prints no summary")]
    NoSummary {
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// A bug of this program.
    #[error("a load ended in a panic")]
    Panicked,
    /// An error with a pipe, a port or a temporary directory.
    #[error(transparent)]
    Io(#[from] io::Error),
}
