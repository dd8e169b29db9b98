//! Reads the code of an app for places that become dangerous if a worker keeps the app in memory.
//!
//! ```text
//! directory → files → syntax trees → rules → suspects, filtered by what all files show about the
//! classes
//! ```
//! It does not run the app, start a process or open a socket. A place that may be harmless is left
//! out, so that a clean app has no suspects. The check's requests find the rest.

mod calls;
mod connection;
mod files;
mod functions;
mod globals;
mod keeps;
mod kind;
mod names;
mod place;
mod reader;
mod statics;
mod summary;
#[cfg(test)]
mod tests;
mod tree;
mod write;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tree_sitter::{Node, Parser, Tree};

use reader::{CandidateSuspect, Facts};
use stampede_model::app_kind::AppKind;

pub use kind::SuspectKind;

/// A place in the app's code that worker runtimes make dangerous.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suspect {
    /// What kind of danger.
    pub kind: SuspectKind,
    /// From the app's directory.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// What is there: `App\Cart::$user`, `exit`.
    pub what: String,
    /// Class and method, or function; empty at the top of a file.
    pub within: String,
}

/// A file that was not read, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadFile {
    /// From the app's directory.
    pub file: String,
    /// Where it was not understood, from 1; none where nothing was read.
    pub line: Option<u32>,
    /// Why, in words.
    pub why: String,
}

/// What the code of an app says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeScan {
    /// Suspects, by file and line.
    pub suspects: Vec<Suspect>,
    /// Suspects beyond the most that are listed.
    pub suspects_left_out: u64,
    /// Files that were looked at.
    pub files: u64,
    /// Files that were not read, or not all of them.
    pub unread: Vec<UnreadFile>,
}

/// Reads an app's own code. It leaves out what Composer installed, tests, migrations, caches and
/// files that only boot the app.
///
/// Files and directories that cannot be read are listed, and the others are read.
pub fn scan(app: &Path, kind: AppKind) -> CodeScan {
    let mut scan = CodeScan::default();
    let mut facts = Facts::default();
    let mut found = Vec::new();
    let mut parser = tree::parser();
    let closed = files::each(app, kind, |file| {
        let source = match source(&app.join(file)) {
            Ok(source) => source,
            Err(why) => return scan.unread.push(UnreadFile::whole(file, why.to_string())),
        };
        scan.files += 1;
        match read(kind, file, &source, &mut parser, &mut facts) {
            Ok((suspects, broken)) => {
                scan.unread.extend(broken);
                let room = MOST_SUSPECTS.saturating_sub(found.len());
                scan.suspects_left_out += suspects.len().saturating_sub(room) as u64;
                found.extend(suspects.into_iter().take(room));
            }
            Err(unread) => scan.unread.push(unread),
        }
    });
    let closed =
        closed.into_iter().map(|(directory, why)| UnreadFile::whole(&directory, why.to_string()));
    scan.unread.extend(closed);
    scan.suspects = keeps::select_suspects(found, kind, &facts);
    scan
}

/// Reads the text of one file, as if the app had no other.
pub fn scan_source(kind: AppKind, file: &str, source: &[u8]) -> CodeScan {
    let mut scan = CodeScan { files: 1, ..CodeScan::default() };
    let mut facts = Facts::default();
    match read(kind, file, source, &mut tree::parser(), &mut facts) {
        Ok((found, broken)) => {
            scan.unread.extend(broken);
            scan.suspects = keeps::select_suspects(found, kind, &facts);
        }
        Err(unread) => scan.unread.push(unread),
    }
    scan
}

/// Returns one file's suspects, and the place where the parser failed.
fn read(
    kind: AppKind,
    file: &str,
    source: &[u8],
    parser: &mut Parser,
    facts: &mut Facts,
) -> Result<(Vec<CandidateSuspect>, Option<UnreadFile>), UnreadFile> {
    let tree = tree::parse(parser, source).ok_or_else(|| {
        UnreadFile::whole(
            file,
            "it is nested too deep, or takes too long, for code that people write".to_owned(),
        )
    })?;
    let broken = first_error(&tree).map(|error| UnreadFile {
        file: file.to_owned(),
        line: Some(tree::line(error)),
        why: "this part was not understood, and is left out".to_owned(),
    });
    Ok((reader::read(kind, file, source, &tree, facts), broken))
}

/// Returns the first place that the parser could not parse.
fn first_error(tree: &Tree) -> Option<Node<'_>> {
    let mut first = None;
    tree::walk(tree.root_node(), &[], |node, _| {
        if first.is_none() && (node.is_error() || node.is_missing()) {
            first = Some(node);
        }
        // A node without errors has none below it.
        if first.is_none() && node.has_error() { tree::Descent::Into } else { tree::Descent::Over }
    });
    first
}

/// Why a file's bytes are not read.
#[derive(Debug, thiserror::Error)]
enum SourceError {
    /// The system's error.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// The file is too large; people do not write such files.
    #[error("it has more than {} MB, and is data rather than code", bytes_max / 1_000_000)]
    TooLarge {
        /// The largest size that is read.
        bytes_max: u64,
    },
}

/// Returns a file's bytes.
fn source(path: &Path) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    let read = |bytes: &mut Vec<u8>| -> io::Result<usize> {
        File::open(path)?.take(MOST_BYTES + 1).read_to_end(bytes)
    };
    read(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(SourceError::TooLarge { bytes_max: MOST_BYTES });
    }
    Ok(bytes)
}

impl UnreadFile {
    fn whole(file: &str, why: String) -> UnreadFile {
        UnreadFile { file: file.to_owned(), line: None, why }
    }
}

/// Largest file in bytes. A tree takes about ten times the memory of its text.
const MOST_BYTES: u64 = 2_000_000;
/// Largest number of suspects: nobody reads more, and generated code may have any number.
const MOST_SUSPECTS: usize = 10_000;
