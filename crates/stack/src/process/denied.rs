//! Finds "Permission denied" in a stack's logs, with the file that was meant. An app whose cache
//! cannot be written answers all the same, only slower.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stampede_mask::mask_foreign;

use super::app_path::AppPath;
use crate::logs::LogMarks;

/// Log lines that report a file which may not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedFiles {
    /// The number of such lines, in the log that has most of them.
    pub lines: u64,
    /// The first files, those of the app relative to its directory, with secrets masked. Empty: no
    /// line names one.
    pub paths: Vec<String>,
}

/// What libc calls EACCES.
const DENIED: &str = "Permission denied";
/// The most paths that are kept; more would make no sentence.
const PATHS_MAX: usize = 6;

/// The files that could not be used since `marks`, by the logs of the working directory `dir` and
/// of the app whose public files are in `docroot`; `None`: there are none.
pub(crate) fn denied_files(
    marks: &LogMarks,
    dir: &Path,
    docroot: &Path,
    at: &AppPath,
) -> Option<DeniedFiles> {
    let mut by_file: BTreeMap<PathBuf, u64> = BTreeMap::new();
    let mut paths: Vec<String> = Vec::new();
    marks.all_lines_since(dir, docroot, |file, line| {
        if !line.contains(DENIED) {
            return;
        }
        *by_file.entry(file.to_path_buf()).or_default() += 1;
        let path = denied_path(line).map(|path| at.relative(Path::new(path)).display().to_string());
        let path = path.map(|path| mask_foreign(&path));
        if let Some(path) = path.filter(|path| paths.len() < PATHS_MAX && !paths.contains(path)) {
            paths.push(path);
        }
    });
    Some(DeniedFiles { lines: *by_file.values().max()?, paths })
}

/// The path that a line is about; `None`: it names none. PHP writes
/// `fopen(/srv/cache/a): Failed to open stream: Permission denied in /srv/index.php`, web servers
/// `open() "/srv/a" failed (13: Permission denied)`, libraries often `"/srv/a"` before the reason.
fn denied_path(line: &str) -> Option<&str> {
    let before = &line[..line.find(DENIED)?];
    let called = before.rfind("): ").and_then(|end| {
        let begin = before[..end].rfind('(')? + 1;
        // Other arguments follow behind a comma.
        before.get(begin..end)?.split(',').next()
    });
    let quoted = || {
        let end = before.rfind(['"', '\''])?;
        let quote = before[end..].chars().next()?;
        let begin = before[..end].rfind(quote)? + 1;
        before.get(begin..end)
    };
    let is_path = |path: &&str| path.contains('/') && !path.contains(char::is_whitespace);
    called.map(str::trim).filter(is_path).or_else(|| quoted().filter(is_path)).or_else(|| {
        // `mkdir(): Permission denied in /srv/src/Cache.php on line 3` names only the script.
        let after = line[line.find(DENIED)? + DENIED.len()..].trim_start();
        let script = after.strip_prefix("in ")?.split(" on line ").next()?;
        Some(script).filter(is_path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_may_not_be_used_is_found() {
        for (line, path) in [
            (
                "PHP Warning:  file_put_contents(/w/app/cache/a.html): Failed to open stream: \
                 Permission denied in /w/app/index.php on line 3",
                "/w/app/cache/a.html",
            ),
            (
                "PHP Warning:  rename(/w/app/a,/w/app/b): Permission denied in /w/app/i.php on line 1",
                "/w/app/a",
            ),
            (
                "2026/11/26 10:00:00 [crit] 7#7: *1 open() \"/w/app/s.css\" failed (13: \
                 Permission denied), client: 127.0.0.1",
                "/w/app/s.css",
            ),
            (
                "PHP Warning:  mkdir(): Permission denied in /w/app/src/Cache.php on line 9",
                "/w/app/src/Cache.php",
            ),
            (
                "prod.ERROR: The stream or file '/w/app/x.log' could not be opened: Permission denied",
                "/w/app/x.log",
            ),
        ] {
            assert_eq!(denied_path(line), Some(path), "{line}");
        }
        for line in ["Permission denied", "it's: Permission denied", "Permission granted", ""] {
            assert_eq!(denied_path(line), None, "{line}");
        }
    }
}
