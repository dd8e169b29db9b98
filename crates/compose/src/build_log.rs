//! Keeps what the builds of images said, in files of the user's own.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use stampede_linux::run::{ProgramOutput, TimedCommand};
use stampede_mask::mask_foreign;

use crate::error::ComposeError;
use crate::news::{LongWork, told};
use crate::said::build_failed;

/// The most bytes of each stream that are kept.
const STREAM_BYTES_MAX: usize = 16 << 20;

/// Runs a build, and keeps its log as `NAME.log`. `said_as`: the command for messages. `of`: what is built.
///
/// # Errors
/// The build fails; the error names the log.
pub fn logged_build(
    command: TimedCommand,
    said_as: &str,
    name: &str,
    of: &[String],
) -> Result<(), ComposeError> {
    let result = told(LongWork::Build { of }, || command.keep(STREAM_BYTES_MAX).run());
    let output = match &result {
        Ok(output) => Some(output),
        Err(error) => error.output(),
    };
    let log = output.and_then(|output| keep(&directory()?, name, output));
    match result {
        Ok(_) => Ok(()),
        Err(error) => Err(build_failed(said_as, &error, log)),
    }
}

/// The directory of the logs: `stampede/builds` in `$XDG_STATE_HOME` (`~/.local/state`).
fn directory() -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = var("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(var("HOME")?).join(".local/state")))?;
    state.is_absolute().then(|| state.join("stampede/builds"))
}

/// Writes the log, with secrets masked, for its owner alone. Returns its path; `None`: a build must not fail
/// because nobody can write there.
fn keep(directory: &Path, name: &str, output: &ProgramOutput) -> Option<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).ok()?;
    let path = directory.join(format!("{name}.log"));
    let _ = fs::remove_file(&path);
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
    // What a step says is on standard output in older tools, and on the other stream in newer ones.
    for bytes in [&output.stdout, &output.stderr] {
        file.write_all(mask_foreign(&String::from_utf8_lossy(bytes)).as_bytes()).ok()?;
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_log_is_kept_for_its_owner_with_secrets_masked() {
        let parent = tempfile::tempdir().expect("a directory");
        let directory = parent.path().join("a/builds");
        let output = |step: &str| ProgramOutput {
            stdout: format!("{step}\ncurl https://ada:lovelace1@example.org/x\n").into_bytes(),
            stderr: b"the rest\n".to_vec(),
        };
        assert!(keep(&directory, "4f1e", &output("Step 1")).is_some());
        let path = keep(&directory, "4f1e", &output("Step 2")).expect("written again");
        let text = fs::read_to_string(&path).expect("the log");
        assert!(text.starts_with("Step 2\n") && text.ends_with("the rest\n"), "{text}");
        assert!(!text.contains("lovelace1"), "{text}");
        assert_eq!(fs::metadata(&path).expect("the log").mode() & 0o777, 0o600);
        fs::write(parent.path().join("file"), "").expect("a file");
        assert_eq!(keep(&parent.path().join("file/builds"), "4f1e", &output("")), None);
    }

    #[test]
    fn a_build_that_fails_is_no_failure_of_the_project_s_tool() {
        let command = TimedCommand::new("sh", Duration::from_secs(9))
            .args(["-c", "echo no >&2; echo step; exit 3"]);
        match logged_build(command, "docker build", "of-a-test", &[]) {
            Err(ComposeError::Build { said, .. }) => assert_eq!(said, "step\nno"),
            other => panic!("{other:?}"),
        }
    }
}
