//! Checks PHP: syntax, PSR-12, types, and the tests of `php/`.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{ChoreError, Need, succeeded};
use crate::programs::Results;
use crate::tree::Tree;

/// Files whose syntax is checked at the same time.
const TOGETHER: usize = 4;

/// Checks all PHP of the project with what is installed, and runs PHPUnit. Without PHPUnit that is
/// said; with `CI` set it is an error.
///
/// # Errors
/// Names the step that failed.
pub fn check(root: &Path, results: &mut Results) -> Result<(), ChoreError> {
    syntax(root, results)?;
    let style: &[&str] = &["-q", "--standard=php/phpcs.xml.dist"];
    if_installed(root, "phpcs", style, results)?;
    if root.join("php/phpstan.neon").exists() {
        let types: &[&str] = &["analyse", "--no-progress", "-c", "php/phpstan.neon"];
        if_installed(root, "phpstan", types, results)?;
    }
    match run(root, "phpunit", &["-c", "php"])? {
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
