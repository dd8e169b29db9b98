//! Reads and writes `check.json` and its page, without secrets.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stampede_check::baseline::{Baseline, notice};
use stampede_check::html::html;
use stampede_check::model::{CheckReport, CheckRequest, FORMAT};
use stampede_mask::{MASK, Masked, is_secret_name, mask_json, mask_secrets};
use stampede_results::store;

use super::Failure;
use super::check_again::command;
use super::fail::CommandError;
use super::shell::print_message;

/// Why a check cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CheckFileError {
    /// The file is missing or cannot be read.
    #[error("cannot read the check `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not JSON, or has no format.
    #[error("cannot read the check `{}`: it is not a check", path.display())]
    NotACheck {
        /// The file.
        path: PathBuf,
        /// The mistake and its place.
        source: serde_json::Error,
    },
    /// A newer stampede wrote the file.
    #[error(
        "cannot read the check `{}`: it has format {format}, and this stampede reads up to {newest}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's format.
        format: u32,
        /// The newest format that is read.
        newest: u32,
    },
    /// The file has a known format, but not its fields.
    #[error("cannot read the check `{}`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The mistake and its place.
        source: serde_json::Error,
    },
    /// A results directory has no check.
    #[error("no check was found in `{}`", results.display())]
    NoCheck {
        /// The results directory.
        results: PathBuf,
    },
    /// The check's directory cannot be written.
    #[error("cannot write `{}`", path.display())]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl CommandError for CheckFileError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            CheckFileError::Unreadable { .. }
            | CheckFileError::NotACheck { .. }
            | CheckFileError::Newer { .. }
            | CheckFileError::Malformed { .. } => {
                "`stampede check` writes its result to stampede-results/<check>/check.json"
            }
            CheckFileError::NoCheck { .. } => "name another check's directory with `--of`",
            CheckFileError::Unwritable { .. } => "`--out` names another directory",
        };
        Some(hint.to_owned())
    }
}

/// Reads the findings of an earlier check. Prints a notice if the user should know something about
/// it.
pub fn baseline(path: Option<&Path>) -> Result<Baseline, CheckFileError> {
    let Some(path) = path else { return Ok(Baseline::default()) };
    let report = read(path)?;
    if let Some(notice) = notice(&report) {
        print_message(&format!("note: {notice}"));
    }
    Ok(Baseline::of(&report))
}

/// Reads a check from its directory or its file.
pub fn read(path: &Path) -> Result<CheckReport, CheckFileError> {
    let path = if path.is_dir() { path.join(FILE) } else { path.to_path_buf() };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(CheckFileError::Unreadable { path, source }),
    };
    // A newer check may have other fields, so its version is read first.
    let format = match serde_json::from_str(&text) {
        Ok(Version { format }) => format,
        Err(source) => return Err(CheckFileError::NotACheck { path, source }),
    };
    if format > FORMAT {
        return Err(CheckFileError::Newer { path, format, newest: FORMAT });
    }
    let read = serde_json::from_str(&text).and_then(CheckReport::read);
    read.map_err(|source| CheckFileError::Malformed { path, source })
}

#[derive(serde::Deserialize)]
struct Version {
    format: u32,
}

/// Returns the newest check of a results directory.
pub fn last(results: &Path) -> Result<PathBuf, CheckFileError> {
    let mut directories: Vec<PathBuf> = store::directories(results);
    directories.retain(|directory| directory.join(FILE).is_file());
    directories.sort();
    directories.pop().ok_or_else(|| CheckFileError::NoCheck { results: results.to_path_buf() })
}

/// Writes a check and its page.
pub fn write(out: &Path, report: &CheckReport) -> Result<(), Failure> {
    let text = json(report)?;
    // The page names the check's directory, because later it may not be the newest check.
    let page = html(report, &command(Some(out)));
    let written = std::fs::create_dir_all(out)
        .map_err(|source| CheckFileError::Unwritable { path: out.to_path_buf(), source });
    written?;
    store::write_artefact(&out.join(FILE), &Masked::json(&text))?;
    Ok(store::write_artefact(&out.join(PAGE), &Masked::rendered(&page))?)
}

/// Returns the JSON of `check.json`.
pub fn json(report: &CheckReport) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report).map_err(|error| Failure::new(&error))?;
    Ok(mask_json(&text) + "\n")
}

/// Removes secrets from a report's requests. Requests from a file may contain what authorises their
/// sender.
pub fn without_secrets(mut report: CheckReport) -> CheckReport {
    let findings = report.runtimes.iter_mut().flat_map(|one| &mut one.findings);
    for step in findings.flat_map(|one| &mut one.steps) {
        step.request = Arc::new(masked(&step.request));
    }
    report
}

/// Returns a request as a check keeps it, without secrets.
pub fn masked(request: &CheckRequest) -> CheckRequest {
    let header = |(name, value): &(String, String)| match is_secret_name(name) {
        true => (name.clone(), MASK.to_owned()),
        false => (name.clone(), mask_secrets(value)),
    };
    CheckRequest {
        method: request.method.clone(),
        target: mask_secrets(&request.target),
        headers: request.headers.iter().map(header).collect(),
        body: mask_secrets(&request.body),
    }
}

const FILE: &str = "check.json";
/// The page beside it, for people.
pub const PAGE: &str = "check.html";

#[cfg(test)]
mod tests {
    use stampede_check::model::{Finding, RuntimeResult};
    use stampede_check::sample;

    use super::*;

    /// The errors about four files that are no check, and about a directory without one.
    fn refusals(directory: &Path) -> [CheckFileError; 5] {
        let refused = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::write(&path, text).expect("written");
            read(&path).expect_err("no check")
        };
        [
            refused("run.json", "{\"plan\": 1}"),
            refused("newer.json", "{\"format\": 99, \"tried\": 1}"),
            refused("half.json", "{\"format\": 2, \"stampede\""),
            read(&directory.join("nowhere.json")).expect_err("no file"),
            last(directory).expect_err("no directory of a check"),
        ]
    }

    #[test]
    fn what_is_no_check_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let [run, newer, half, nowhere, none] = refusals(directory.path());
        assert!(matches!(run, CheckFileError::NotACheck { .. }), "{run:?}");
        assert!(matches!(newer, CheckFileError::Newer { format: 99, .. }), "{newer:?}");
        assert!(matches!(half, CheckFileError::NotACheck { .. }), "{half:?}");
        assert!(matches!(nowhere, CheckFileError::Unreadable { .. }), "{nowhere:?}");
        assert!(matches!(none, CheckFileError::NoCheck { .. }), "{none:?}");
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn what_is_no_check_is_said() {
        let directory = tempfile::tempdir().expect("a directory");
        let errors = refusals(directory.path()).map(|error| Failure::from(error).text());
        let here = directory.path().display().to_string();
        insta::assert_snapshot!(errors.join("\n").replace(&here, "DIRECTORY"));
    }

    #[test]
    fn no_secret_of_a_request_is_written() {
        let mut step = sample::step(0, "/reset?token=hunter2");
        let request = Arc::make_mut(&mut step.request);
        request.headers = vec![
            ("X-Auth".to_owned(), "hunter2".to_owned()),
            ("Accept".to_owned(), "text/html".to_owned()),
        ];
        request.body = "user=ann&password=hunter2".to_owned();
        let findings = vec![Finding { steps: vec![step], ..sample::finding() }];
        let runtimes = vec![RuntimeResult { findings, ..sample::checked("swoole") }];
        let report = without_secrets(CheckReport { runtimes, ..sample::report() });
        let directory = tempfile::tempdir().expect("a directory");
        let out = directory.path().join("my check");
        write(&out, &report).unwrap_or_else(|failure| panic!("{}", failure.text()));
        for file in [FILE, PAGE] {
            let text = std::fs::read_to_string(out.join(file)).expect("written");
            assert!(!text.contains("hunter2"), "{file}");
            assert!(text.contains("/reset?token=***"), "{file}");
        }
        let read = read(&out).expect("a check");
        assert_eq!(read, report, "what is read is what was written");
    }
}
