//! Fatal errors of PHP in a stack's logs. A page that ends in one may have status 200: what was
//! sent before it cannot be taken back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::logs::{self, LogMarks};
use super::start::Running;
use crate::mask::mask_foreign;

/// Fatal errors that were logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpErrors {
    /// Lines that tell of one, of the log that has most: a web server may repeat what PHP logged.
    pub lines: u64,
    /// The first, from `PHP Fatal error` on, secrets masked.
    pub first: String,
}

/// Where the call stack begins; Apache writes line feeds as `\n`.
const STACK: [&str; 2] = ["\\nStack trace:", "Stack trace:"];
/// How PHP begins the line of an error that ends a script.
const FATAL: [&str; 5] = [
    "PHP Fatal error:",
    "PHP Parse error:",
    "PHP Compile error:",
    "PHP Core error:",
    "PHP Recoverable fatal error:",
];
/// Of the first line: the message and where it happened, no call stack.
const LINE_MAX: usize = 300;

impl Running {
    /// Fatal errors that its logs have had since; `None`: none.
    pub fn php_errors(&self, marks: &LogMarks) -> Option<PhpErrors> {
        let mut by_file: BTreeMap<PathBuf, u64> = BTreeMap::new();
        let mut first = None;
        marks.all_lines_since(self.dir(), &self.docroot(), |file, line| {
            let Some(at) = FATAL.iter().find_map(|begin| line.find(begin)) else { return };
            *by_file.entry(file.to_path_buf()).or_default() += 1;
            first.get_or_insert_with(|| {
                self.in_short(&mask_foreign(&logs::mask(&line[at..], &self.stack.secrets)))
            });
        });
        Some(PhpErrors { lines: *by_file.values().max()?, first: first? })
    }

    /// The message and the place, from the app's directory on.
    fn in_short(&self, line: &str) -> String {
        let end = STACK.iter().filter_map(|stack| line.find(stack)).min().unwrap_or(line.len());
        let app = format!("{}/app/", self.dir().display());
        let words: Vec<&str> = line[..end].split_whitespace().collect();
        words.join(" ").replace(&app, "").chars().take(LINE_MAX).collect()
    }
}
