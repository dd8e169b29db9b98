//! Keeps the end of a runtime's log files with the trial, with secrets masked.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use stampede_mask::{Masked, mask_foreign};

use super::name::file_name;
use super::{StoreError, write};

/// Copies the last 1 MiB of `from` into the directory `into`, from the beginning of a line. A
/// missing file is no error, because the process may never have written it.
///
/// # Errors
/// [`StoreError::Read`] and [`StoreError::Write`].
pub fn keep(from: &Path, into: &Path) -> Result<(), StoreError> {
    let tail = match tail(from, BYTES_MAX) {
        Ok(tail) => tail,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(StoreError::Read { path: from.to_owned(), source }),
    };
    let text = Masked::foreign(&String::from_utf8_lossy(&tail));
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    let name = file_name(&name);
    // Logs of two roles may have the same name, and become `error.log` and `2-error.log`.
    let free = |path: &std::path::PathBuf| !path.exists();
    let numbered = (2..1000).map(|number| into.join(format!("{number}-{name}")));
    let path = std::iter::once(into.join(&name)).chain(numbered).find(free);
    write::whole(&path.unwrap_or_else(|| into.join(&name)), &text)
}

/// Returns the last `limit` bytes. If that cuts a line, the rest of the line is left out too. It
/// could contain a secret without the name by which secrets are found.
fn tail(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(limit);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    if skipped > 0 {
        let line = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.drain(..line);
        let mut marked = format!("[{} bytes before this left out]\n", skipped + line as u64);
        marked.push_str(&String::from_utf8_lossy(&bytes));
        bytes = marked.into_bytes();
    }
    Ok(bytes)
}

/// Returns the lines about errors from the files in `directory`, each with its file's name. Of each
/// file only the last such lines are taken. Control characters are left out, and long lines are
/// cut.
pub fn error_lines(directory: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let lines = files.iter().flat_map(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = tail(file, READ_MAX).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let telling: Vec<String> =
            text.lines().filter(|line| reports_error(line)).map(shown).collect();
        let first = telling.len().saturating_sub(LINES_MAX);
        telling.into_iter().skip(first).map(move |line| (name.clone(), line))
    });
    lines.collect()
}

fn reports_error(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    TELLING.iter().any(|word| line.contains(word))
}

fn shown(line: &str) -> String {
    let plain: String = line.chars().filter(|letter| !letter.is_control()).collect();
    let plain = mask_foreign(&plain);
    let mut cut: String = plain.chars().take(LINE_MAX).collect();
    if cut.len() < plain.len() {
        cut.push('…');
    }
    cut
}

/// Words in error lines of nginx, Apache, PHP, uWSGI and Go servers.
const TELLING: [&str; 7] = ["error", "warn", "crit", "alert", "emerg", "fatal", "panic"];
/// Number of lines per file.
const LINES_MAX: usize = 10;
/// Characters per line.
const LINE_MAX: usize = 400;
/// Bytes that are read from the end of each file.
const READ_MAX: u64 = 64 << 10;

/// 1 MiB per file. A runtime that logs every request would fill the disk with one run.
const BYTES_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_kept_end_of_a_log_begins_at_a_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("error.log");
        fs::write(&log, "password=abc\nsecond\nthird\n").expect("written");
        let text =
            |limit| String::from_utf8(tail(&log, limit).expect("it is there")).expect("it is text");
        assert_eq!(text(1000), "password=abc\nsecond\nthird\n");
        assert_eq!(text(15), "[13 bytes before this left out]\nsecond\nthird\n");
        assert_eq!(text(3), "[26 bytes before this left out]\n");
    }

    #[test]
    fn error_lines_are_found_and_masked() {
        let directory = tempfile::tempdir().expect("a directory");
        let long = "x".repeat(500);
        let text = format!("notice: up\n[error] token=hunter2\x1b[31m\nPHP Warning: {long}\n");
        fs::write(directory.path().join("web.log"), text).expect("written");
        let lines = error_lines(directory.path());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0].0, "web.log");
        assert!(lines[0].1.starts_with("[error] token=***"), "{lines:?}");
        assert!(!lines[0].1.contains('\x1b') && lines[1].1.chars().count() == 401, "{lines:?}");
        assert_eq!(error_lines(&directory.path().join("absent")), []);
    }

    #[test]
    fn two_logs_of_the_same_name_are_both_kept_and_a_missing_log_is_no_error() {
        let directory = tempfile::tempdir().expect("a directory");
        for (role, text) in [("a", "one\n"), ("b", "token=hunter2\n")] {
            fs::create_dir(directory.path().join(role)).expect("a directory");
            let log = directory.path().join(role).join("error.log");
            fs::write(&log, text).expect("written");
            keep(&log, directory.path()).expect("kept");
        }
        keep(&directory.path().join("absent.log"), directory.path()).expect("passed over");
        let read = |name| fs::read_to_string(directory.path().join(name)).expect("kept");
        assert_eq!(read("error.log"), "one\n");
        assert_eq!(read("2-error.log"), "token=***\n");
    }
}
