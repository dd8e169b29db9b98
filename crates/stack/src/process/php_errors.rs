//! Finds fatal errors of PHP in a stack's logs. A page that ends in such an error may still have
//! status 200, since its headers were sent before.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stampede_mask::mask_foreign;

use super::stack::ProcessStack;
use crate::logs::LogMarks;

/// Fatal errors that were logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpErrors {
    /// The number of lines with such an error, in the log that has most of them. The logs are not
    /// added up, since a web server may repeat what PHP logged.
    pub lines: u64,
    /// The first error, from `PHP Fatal error` on, with secrets masked.
    pub first: String,
}

/// The text at which the stack trace begins; Apache writes line feeds as `\n`.
const STACK: [&str; 2] = ["\\nStack trace:", "Stack trace:"];
/// The beginnings of the line that PHP logs for an error that ends a script.
const FATAL: [&str; 5] = [
    "PHP Fatal error:",
    "PHP Parse error:",
    "PHP Compile error:",
    "PHP Core error:",
    "PHP Recoverable fatal error:",
];
/// The most characters of the first line: the message and its place, without a stack trace.
const LINE_MAX: usize = 300;

impl ProcessStack {
    /// The fatal errors in the logs since `marks`; `None`: there are none.
    pub(super) fn fatal_errors(&self, marks: &LogMarks) -> Option<PhpErrors> {
        let mut by_file: BTreeMap<PathBuf, u64> = BTreeMap::new();
        let mut first = None;
        marks.all_lines_since(self.dir(), &self.docroot(), |file, line| {
            let Some(at) = FATAL.iter().find_map(|begin| line.find(begin)) else { return };
            *by_file.entry(file.to_path_buf()).or_default() += 1;
            first.get_or_insert_with(|| self.short_message(&mask_foreign(&line[at..])));
        });
        Some(PhpErrors { lines: *by_file.values().max()?, first: first? })
    }

    /// The message and its place without the stack trace, with paths relative to the app's
    /// directory.
    fn short_message(&self, line: &str) -> String {
        let end = STACK.iter().filter_map(|stack| line.find(stack)).min().unwrap_or(line.len());
        let app = format!("{}/app/", self.dir().display());
        let words: Vec<&str> = line[..end].split_whitespace().collect();
        words.join(" ").replace(&app, "").chars().take(LINE_MAX).collect()
    }
}
