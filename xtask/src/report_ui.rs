//! Builds the report's page from `report-ui/`, and checks that the page in the source is up to
//! date.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{ChoreError, Need, succeeded};

/// The oldest major version of Node.js that Vite runs on.
const NODE_LEAST: u32 = 20;

/// Builds the page into the source.
///
/// # Errors
/// If Node is missing or a step failed.
pub fn build(root: &Path) -> Result<(), ChoreError> {
    let directory = root.join("report-ui");
    if !has_node() {
        return Err(ChoreError::Missing(Need::Node { least: NODE_LEAST }));
    }
    npm(&directory, &["ci"])?;
    npm(&directory, &["run", "build"])
}

/// Builds the page elsewhere, compares it with the one in the source, and runs the page's tests.
/// Without Node it prints that it skips the check.
///
/// # Errors
/// If the page differs or a test fails.
pub fn check(root: &Path) -> Result<(), ChoreError> {
    let directory = root.join("report-ui");
    if !has_node() {
        println!("SKIPPED: no Node.js {NODE_LEAST} or newer here: the page is not built again");
        return Ok(());
    }
    npm(&directory, &["ci"])?;
    let built = target(root).join("report-ui");
    let into = built.display().to_string();
    npm(&directory, &["exec", "--", "tsc", "--noEmit"])?;
    npm(&directory, &["exec", "--", "vite", "build", "--emptyOutDir", "--outDir", &into])?;
    let read =
        |path: PathBuf| fs::read(&path).map_err(|source| ChoreError::Unreadable { path, source });
    if read(built.join("index.html"))? != read(directory.join("dist/index.html"))? {
        return Err(ChoreError::StalePage);
    }
    npm(&directory, &["run", "unit"])?;
    if chromium().is_none() {
        println!("SKIPPED: no Chromium here: the page is not looked at");
        return Ok(());
    }
    let pictures = target(root).join("report-ui-pictures").display().to_string();
    npm(&directory, &["run", "e2e", "--", &pictures])
}

fn npm(directory: &Path, arguments: &[&str]) -> Result<(), ChoreError> {
    eprintln!("== npm {}", arguments.join(" "));
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(directory);
    if let Some(chromium) = chromium() {
        command.env("CHROMIUM", chromium);
    }
    match command.status() {
        Err(source) => Err(ChoreError::NotStarted { command: "npm".to_owned(), source }),
        ran => succeeded(&format!("npm {}", arguments.join(" ")), ran),
    }
}

fn has_node() -> bool {
    let said = |program: &str| {
        let output = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let version = said("node").unwrap_or_default();
    let major = version.trim_start_matches('v').split('.').next().unwrap_or_default().parse();
    major.is_ok_and(|major: u32| major >= NODE_LEAST) && said("npm").is_some()
}

fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    named.into_iter().chain(usual.map(PathBuf::from)).find(|path| path.is_file())
}

/// The directory that cargo builds into.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
