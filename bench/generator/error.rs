//! Why something was not measured.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::PARTS;

/// See the variants.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A word that names no part.
    #[error("`{word}` is none of {}", PARTS.join(", "))]
    NoPart {
        /// As given.
        word: String,
    },
    /// A number of a part that is none.
    #[error("{name}={given}?")]
    NotANumber {
        /// Which.
        name: String,
        /// As given.
        given: String,
    },
    /// A program that does not start.
    #[error("{program}: {source}")]
    NotStarted {
        /// Which.
        program: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A program that failed, with what it said.
    #[error("{program}: {said}")]
    Refused {
        /// Which.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// Its words.
        said: String,
    },
    /// This program does not start once more.
    #[error("no process for {child}: {source}")]
    NoProcess {
        /// What it is to do.
        child: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A part that failed.
    #[error("{part} ended with {status}")]
    PartFailed {
        /// Which.
        part: &'static str,
        /// How its process ended.
        status: ExitStatus,
    },
    /// A peer that failed; its row says which.
    #[error("ended with {status}")]
    PeerFailed {
        /// How it ended.
        status: ExitStatus,
    },
    /// What a peer printed is not understood.
    #[error("prints no count of right answers")]
    NoCount,
    /// A peer got none.
    #[error("no right answer")]
    NoRightAnswer,
    /// A peer that sends as fast as it can.
    #[error("has no schedule")]
    NoSchedule,
    /// The server does not come up.
    #[error("nginx does not listen on {address}")]
    NotListening {
        /// Where it should.
        address: SocketAddr,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the kernel's that has another form.
    #[error("{}: no number", path.display())]
    NoNumber {
        /// Which.
        path: PathBuf,
    },
    /// Nobody made so many.
    #[error("a hundred results of today are enough")]
    TooManyResults,
    /// The server's stamps cannot be told to their requests.
    #[error("a request was lost, or came torn or with another: no stamp is its own")]
    LostRequest,
    /// A bug of this program.
    #[error("a load ended in a panic")]
    Panicked,
    /// A pipe, a port or a temporary directory.
    #[error(transparent)]
    Io(#[from] io::Error),
}
