//! Why no binary was made that can be handed out.

use std::fmt;
use std::path::PathBuf;

use crate::error::ChoreError;

/// An error of `dist`; see the variants.
#[derive(Debug)]
pub enum DistError {
    /// No binary is made for this architecture.
    NoSuchTarget {
        /// As it was written.
        name: String,
    },
    /// Rust lacks something for a target.
    NoRust {
        /// The file or directory that is missing.
        path: PathBuf,
    },
    /// Zig is not there.
    NoZig {
        /// Where it is looked for.
        path: PathBuf,
    },
    /// cargo-deb is not there.
    NoCargoDeb {
        /// Where it is looked for.
        path: PathBuf,
    },
    /// No binary that is to be packed runs on this machine, and one must print the man page.
    NoneRunsHere {
        /// This machine's architecture.
        architecture: &'static str,
    },
    /// The source has no commit: it is no git repository, or an empty one.
    NoCommit,
    /// The source has changes, so that it cannot be built again elsewhere.
    NotCommitted,
    /// `cargo metadata` prints something that is not understood.
    Metadata {
        /// What was looked for.
        lacks: &'static str,
    },
    /// A part has no licence, neither as a file nor by name.
    NoLicence {
        /// The part, with its version.
        part: String,
    },
    /// The file is no ELF file of 64 bits and little endian.
    NotElf,
    /// The binary is for another machine.
    OtherMachine {
        /// The number in the file.
        is: u16,
        /// The number that must be there.
        wanted: u16,
    },
    /// The binary asks for a loader or for shared libraries.
    NotStatic,
    /// The binary is too large.
    TooLarge {
        /// The binary.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest size.
        most: u64,
    },
    /// There is no binary to compare with.
    NotMade {
        /// Where it is looked for.
        path: PathBuf,
    },
    /// Two builds differ.
    Differs {
        /// The two binaries.
        paths: [PathBuf; 2],
        /// The first byte that differs; the length of the shorter one if it is the beginning of the
        /// longer one.
        at: usize,
    },
}

impl fmt::Display for DistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DistError::NoSuchTarget { name } => {
                write!(f, "no binary is made for `{name}`; there are `x86_64` and `aarch64`")
            }
            DistError::NoRust { path } => {
                write!(f, "Rust lacks `{}`\n\nhint: scripts/dist-tools", path.display())
            }
            DistError::NoZig { path } => {
                write!(f, "there is no Zig in `{}`\n\nhint: scripts/dist-tools", path.display())
            }
            DistError::NoCargoDeb { path } => {
                write!(f, "there is no `{}`\n\nhint: scripts/dist-tools deb", path.display())
            }
            DistError::NoneRunsHere { architecture } => {
                write!(f, "none of the binaries runs on {architecture}, to print the man page")
            }
            DistError::NoCommit => f.write_str("the source is in no git repository with a commit"),
            DistError::NotCommitted => f.write_str(
                "there are changes that are not committed, and only a commit can be built again",
            ),
            DistError::Metadata { lacks } => write!(f, "`cargo metadata` prints no {lacks}"),
            DistError::NoLicence { part } => write!(f, "`{part}` names no licence"),
            DistError::NotElf => f.write_str("the binary is no ELF file of 64 bits"),
            DistError::OtherMachine { is, wanted } => {
                write!(f, "the binary is for machine {is}, not {wanted}")
            }
            DistError::NotStatic => f.write_str("the binary asks for a loader or a library"),
            DistError::TooLarge { path, bytes, most } => {
                write!(f, "`{}` has {bytes} bytes, {most} at most", path.display())
            }
            DistError::NotMade { path } => {
                write!(f, "there is no `{}`\n\nhint: cargo xtask dist", path.display())
            }
            DistError::Differs { paths: [first, second], at } => {
                let (first, second) = (first.display(), second.display());
                write!(f, "`{first}` and `{second}` differ from byte {at} on")
            }
        }
    }
}

impl std::error::Error for DistError {}

impl From<DistError> for ChoreError {
    fn from(error: DistError) -> ChoreError {
        ChoreError::Dist(error)
    }
}
