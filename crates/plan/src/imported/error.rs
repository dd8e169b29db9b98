//! Why a script gives no load, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::{LeftOut, Tool};

/// Why a script gives no load.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: Arc<io::Error>,
    },
    /// The file is larger than any script.
    #[error("`{}` is larger than 16 MiB", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is no text.
    #[error("`{}` is not UTF-8", path.display())]
    NotUtf8 {
        /// Path of the file.
        path: PathBuf,
    },
    /// The script is a program, and only running it would tell what it sends.
    #[error("`{}` is a program for {}, and stampede runs no programs", path.display(), tool.name())]
    IsProgram {
        /// Path of the file.
        path: PathBuf,
        /// The tool.
        tool: Tool,
    },
    /// A test plan is no XML.
    #[error("`{}` is not XML", path.display())]
    Xml {
        /// Path of the file.
        path: PathBuf,
        /// The error of the parser, with line and column.
        source: Box<roxmltree::Error>,
    },
    /// A script is nested too deeply, or takes too long to parse.
    #[error("`{}` is nested too deeply to be read", path.display())]
    TooDeep {
        /// Path of the file.
        path: PathBuf,
    },
    /// No request of the script is taken over.
    #[error("`{}` has no request for {} that can be taken over{}", path.display(), tool.name(), reasons(left_out))]
    NoRequest {
        /// Path of the file.
        path: PathBuf,
        /// The tool.
        tool: Tool,
        /// What was left out: first the requests, then the rest, each by line.
        left_out: Vec<LeftOut>,
    },
}

impl ImportError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ImportError::Unreadable { .. } => "check that the file may be read",
            ImportError::TooLarge { .. } | ImportError::TooDeep { .. } => RECORD,
            ImportError::NotUtf8 { .. } => "save it as UTF-8",
            ImportError::IsProgram { .. } => RECORD,
            ImportError::Xml { .. } => "save the test plan again with JMeter",
            ImportError::NoRequest { .. } => {
                "write the paths into a file, one a line, and name that file instead"
            }
        }
    }
}

/// The first reasons, by line.
fn reasons(left_out: &[LeftOut]) -> String {
    const SHOWN: usize = 3;
    let shown = left_out.iter().take(SHOWN);
    let shown: Vec<String> =
        shown.map(|one| format!("line {}: {} ({})", one.line, one.what, one.what.why())).collect();
    let more = left_out.len().saturating_sub(SHOWN);
    match (shown.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(": {}", shown.join("; ")),
        (false, more) => format!(": {}; and {more} more", shown.join("; ")),
    }
}

const RECORD: &str = "record what it sends: save the requests as HAR, or write their paths into a \
                      file, one a line, and name that file instead";
