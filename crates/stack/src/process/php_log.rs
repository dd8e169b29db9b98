//! Finds what PHP logged in a stack's logs: fatal errors and other messages. A page that ends in a
//! fatal error may still have status 200, since its headers were sent before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::bytes::Regex;
use stampede_mask::mask_foreign;

use super::app_path::AppPath;
use crate::logs::LogMarks;

/// What PHP logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhpLog {
    /// Errors that ended a script; `None`: there are none.
    pub fatal: Option<PhpMessages>,
    /// Warnings, notices and deprecations; `None`: there are none.
    pub others: Option<PhpMessages>,
}

/// Messages of PHP in the logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpMessages {
    /// The number of messages, in the log that has most of them. The logs are not added up, since a
    /// web server may repeat what PHP logged. Of a log of more than 1 GiB: the number that the whole
    /// has, if it goes on like its beginning.
    pub count: u64,
    /// The first message, from `PHP` on, with secrets masked.
    pub first: String,
}

/// Messages while they are counted.
#[derive(Debug, Default)]
struct Counted {
    by_file: BTreeMap<PathBuf, u64>,
    first: Option<String>,
}

/// What each message begins with.
static PHP: LazyLock<Regex> = LazyLock::new(|| Regex::new("PHP ").expect("a valid pattern"));
/// The text at which the stack trace begins; Apache writes line feeds as `\n`.
const STACK: [&str; 2] = ["\\nStack trace:", "Stack trace:"];
/// The beginnings of what PHP logs for an error that ends a script.
const FATAL: [&str; 5] = [
    "PHP Fatal error:",
    "PHP Parse error:",
    "PHP Compile error:",
    "PHP Core error:",
    "PHP Recoverable fatal error:",
];
/// The beginnings of its other messages.
const OTHERS: [&str; 6] = [
    "PHP Warning:",
    "PHP Notice:",
    "PHP Deprecated:",
    "PHP Compile warning:",
    "PHP Core warning:",
    "PHP Strict Standards:",
];
/// The most characters of the first line: the message and its place, without a stack trace.
const LINE_MAX: usize = 300;

/// What PHP logged since `marks` in the logs of the working directory `dir`, and of the app whose
/// public files are in `docroot`.
pub(crate) fn php_log(marks: &LogMarks, dir: &Path, docroot: &Path, at: &AppPath) -> PhpLog {
    let (mut fatal, mut others) = (Counted::default(), Counted::default());
    // Nearly all lines of a large log are of something else.
    let is_meant = |line: &[u8]| PHP.is_match(line);
    let read = marks.counted_lines_since(dir, docroot, is_meant, |file, line| {
        let shown = |line: &str| short_message(&mask_foreign(line), at);
        fatal.add(file, line, &FATAL, shown);
        others.add(file, line, &OTHERS, shown);
    });
    let whole = |file: &PathBuf| read.get(file).copied().unwrap_or(1.0);
    PhpLog { fatal: fatal.messages(whole), others: others.messages(whole) }
}

/// The message and its place without the stack trace, with paths relative to the app's directory.
fn short_message(line: &str, at: &AppPath) -> String {
    let end = STACK.iter().filter_map(|stack| line.find(stack)).min().unwrap_or(line.len());
    let words: Vec<&str> = line[..end].split_whitespace().collect();
    at.relative_in(&words.join(" ")).chars().take(LINE_MAX).collect()
}

impl Counted {
    /// Counts the messages in a line: a web server may write several of PHP's into one.
    fn add(
        &mut self,
        file: &Path,
        line: &str,
        begins: &[&str],
        shown: impl FnOnce(&str) -> String,
    ) {
        let Some(at) = begins.iter().filter_map(|begin| line.find(begin)).min() else { return };
        let count: usize = begins.iter().map(|begin| line.matches(begin).count()).sum();
        match self.by_file.get_mut(file) {
            Some(known) => *known += count as u64,
            None => drop(self.by_file.insert(file.to_path_buf(), count as u64)),
        }
        self.first.get_or_insert_with(|| shown(&line[at..]));
    }

    /// `whole`: how many times longer a log is than what was read of it.
    fn messages(self, whole: impl Fn(&PathBuf) -> f64) -> Option<PhpMessages> {
        let counts = self.by_file.iter().map(|(file, count)| (*count as f64 * whole(file)) as u64);
        Some(PhpMessages { count: counts.max()?, first: self.first? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: &[(&str, &str)], begins: &[&str]) -> Option<PhpMessages> {
        let mut counted = Counted::default();
        for (file, line) in lines {
            counted.add(Path::new(file), line, begins, str::to_owned);
        }
        counted.messages(|_| 1.0)
    }

    #[test]
    fn messages_are_counted_in_the_log_that_has_most() {
        let lines = [
            ("php", "[26-Nov-2026 10:00:00 UTC] PHP Warning:  Undefined variable $a in a.php:1"),
            ("php", "[26-Nov-2026 10:00:00 UTC] PHP Deprecated:  strlen(): in a.php:2"),
            ("php", "#0 {main}"),
            (
                "nginx",
                "stderr: \"PHP message: PHP Warning: a; PHP message: PHP Notice: b; PHP message: PHP Warning: c\"",
            ),
            ("php", "PHP Fatal error:  Uncaught Error in a.php:3"),
        ];
        let others = counted(&lines, &OTHERS).unwrap();
        assert_eq!(others.count, 3);
        assert_eq!(others.first, "PHP Warning:  Undefined variable $a in a.php:1");
        assert_eq!(counted(&lines, &FATAL).unwrap().count, 1);
        assert_eq!(counted(&lines[2..3], &OTHERS), None);
    }

    #[test]
    fn of_a_log_that_is_read_in_part_the_rest_is_estimated() {
        let mut counted = Counted::default();
        for _ in 0..10 {
            counted.add(Path::new("php"), "PHP Notice:  x", &OTHERS, str::to_owned);
        }
        assert_eq!(counted.messages(|_| 2.5).unwrap().count, 25);
    }
}
