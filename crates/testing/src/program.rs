//! Programs that a test writes and runs.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable program; the directory of `path` is there. Another process writes it: a test
/// beside this one may start a program at this moment, which then has all open files of this process
/// for a while, and Linux runs no file that somebody has open for writing (`ETXTBSY`).
///
/// # Panics
/// If it cannot be written.
pub fn write_program(path: &Path, text: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("sh does not start: {error}"));
    if let Some(mut input) = writer.stdin.take() {
        input
            .write_all(text.as_bytes())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let written = writer.wait().is_ok_and(|status| status.success());
    assert!(written, "{} is not written", path.display());
}
