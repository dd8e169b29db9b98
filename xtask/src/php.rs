//! Checks PHP: syntax, PSR-12, types, and the tests of `php/`.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{ChoreError, Need, succeeded};
use crate::programs::Results;
use crate::tree::Tree;

/// Files whose syntax is checked at the same time.
const TOGETHER: usize = 4;

/// The style of all PHP of the project.
const STYLE: &[&str] = &["-q", "--standard=php/phpcs.xml.dist"];
/// The types of the PHP library. Its analysis takes 340 MB, and PHP by default gives 128 MB.
const TYPES: &[&str] = &["analyse", "--no-progress", "--memory-limit=1G", "-c", "php/phpstan.neon"];
/// The tests of the PHP library.
const TESTS: &[&str] = &["-c", "php"];

/// Checks all PHP of the project with what is installed, and runs PHPUnit. Without PHPUnit that is
/// said; with `CI` set it is an error.
///
/// # Errors
/// Names the step that failed.
pub fn check(root: &Path, results: &mut Results) -> Result<(), ChoreError> {
    syntax(root, results)?;
    if_installed(root, "phpcs", STYLE, results)?;
    if_installed(root, "phpstan", TYPES, results)?;
    match run(root, "phpunit", TESTS)? {
        Ran::Yes => Ok(()),
        Ran::NotInstalled if std::env::var_os("CI").is_some() => {
            Err(ChoreError::Missing(Need::PhpUnit))
        }
        Ran::NotInstalled => {
            eprintln!("SKIPPED: {}", Need::PhpUnit);
            Ok(())
        }
    }
}

/// Whether a tool is there.
enum Ran {
    /// It ran and found nothing.
    Yes,
    /// There is no such program.
    NotInstalled,
}

fn if_installed(
    root: &Path,
    program: &str,
    arguments: &[&str],
    results: &mut Results,
) -> Result<(), ChoreError> {
    if let Ran::NotInstalled = run(root, program, arguments)? {
        not_installed(program, results);
    }
    Ok(())
}

fn not_installed(program: &str, results: &mut Results) {
    let missing = format!("{program} is not installed");
    eprintln!("did not run: {missing}");
    results.did_not_run(missing);
}

fn run(root: &Path, program: &str, arguments: &[&str]) -> Result<Ran, ChoreError> {
    let command = format!("{program} {}", arguments.join(" "));
    eprintln!("== {command}");
    match Command::new(program).args(arguments).current_dir(root).status() {
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(Ran::NotInstalled),
        ran => succeeded(&command, ran).map(|()| Ran::Yes),
    }
}

/// Checks the syntax of each PHP file, by the PHP that is installed.
fn syntax(root: &Path, results: &mut Results) -> Result<(), ChoreError> {
    eprintln!("== php -l");
    let tree = Tree::read(root).map_err(ChoreError::Io)?;
    let files: Vec<_> = tree.files().iter().filter(|file| file.extension() == "php").collect();
    for some in files.chunks(TOGETHER) {
        let started: Vec<_> = some.iter().map(|file| (file, lint(root, &file.path))).collect();
        for (file, child) in started {
            match child {
                Err(why) if why.kind() == ErrorKind::NotFound => {
                    not_installed("php", results);
                    return Ok(());
                }
                child => {
                    let ended = child.and_then(Child::wait_with_output);
                    let status = ended.map(|output| {
                        if !output.status.success() {
                            eprint!("{}", String::from_utf8_lossy(&output.stdout));
                        }
                        output.status
                    });
                    succeeded(&format!("php -l {}", file.path), status)?;
                }
            }
        }
    }
    Ok(())
}

fn lint(root: &Path, path: &str) -> std::io::Result<Child> {
    Command::new("php").args(["-n", "-l", path]).current_dir(root).stdout(Stdio::piped()).spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
    }

    #[test]
    fn a_tool_that_is_not_installed_is_said_and_is_no_error() {
        let mut results = Results::default();
        if_installed(root(), "phpstan-of-nobody", TYPES, &mut results).expect("no error");
        let said = "did not run: 1\n  phpstan-of-nobody is not installed\n";
        assert!(results.summary().contains(said), "{}", results.summary());
    }

    #[test]
    fn a_tool_that_finds_something_is_an_error_with_its_command() {
        let mut results = Results::default();
        let found = if_installed(root(), "false", TYPES, &mut results).expect_err("it fails");
        let text = found.to_string();
        assert!(text.contains("false analyse") && text.contains("php/phpstan.neon"), "{text}");
        assert!(!results.summary().contains("did not run"), "{}", results.summary());
        if_installed(root(), "true", TYPES, &mut results).expect("it finds nothing");
    }

    #[test]
    fn the_types_are_checked_at_the_highest_level_and_no_error_is_ignored() {
        let file = root().join(TYPES.last().expect("a file"));
        let text = std::fs::read_to_string(&file).expect("the file is there");
        let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        assert!(lines.clone().any(|line| line == "level: max"), "{text}");
        assert!(lines.clone().any(|line| line == "- src"), "{text}");
        let ignores = |line: &str| line.starts_with("ignore") || line.starts_with("includes");
        assert_eq!(lines.find(|line| ignores(line)), None, "a baseline or an ignored error");
    }
}
