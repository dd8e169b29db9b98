//! Builds a binary again where every path is another one, and compares.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::build::{Places, binary, cargo_home};
use super::source::Source;
use super::tools::Tools;
use super::{DistError, Target, crates, printed};
use crate::error::ChoreError;
use crate::report_ui;

/// Builds the commit in a directory of another name and length, and compares the binary with the
/// one in `target/dist`. Cargo's packages are unpacked anew too, below another home.
///
/// # Errors
/// A step fails, or a byte differs.
pub fn compare(
    root: &Path,
    target: &Target,
    tools: &Tools,
    source: &Source,
) -> Result<(), ChoreError> {
    let version = crates::linked(root, target.triple)?.version().to_owned();
    let first = report_ui::target(root).join("dist").join(target.file_name(&version));
    if !first.is_file() {
        return Err(DistError::NotMade { path: first }.into());
    }
    let place = report_ui::target(root).join("dist-again-at-another-path");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let places = Places {
        root: place.join("its-source"),
        target: place.join("built"),
        cargo_home: place.join("cargo-home"),
    };
    clone(root, &places.root, &source.commit)?;
    copy_registry(&places.cargo_home)?;
    let second = binary(&places, target, tools, source)?;
    if let Some(at) = first_difference(&fs::read(&first)?, &fs::read(&second)?) {
        return Err(DistError::Differs { paths: [first, second], at }.into());
    }
    println!("the same bytes from two paths: {}", first.display());
    Ok(fs::remove_dir_all(&place)?)
}

fn clone(root: &Path, into: &Path, commit: &str) -> Result<(), ChoreError> {
    let clone = ["clone", "--quiet", "--no-checkout"];
    printed(Command::new("git").args(clone).arg(root).arg(into))?;
    let checkout = ["checkout", "--quiet", "--detach", commit];
    printed(Command::new("git").args(checkout).current_dir(into)).map(drop)
}

/// Packages as they were downloaded, so that the second build asks nobody for them.
fn copy_registry(home: &Path) -> Result<(), ChoreError> {
    let registry = home.join("registry");
    fs::create_dir_all(&registry)?;
    let own = cargo_home();
    for name in ["registry/index", "registry/cache", "config.toml"] {
        let (from, to) = (own.join(name), home.join(name));
        if from.exists() {
            printed(Command::new("cp").arg("-r").arg(from).arg(to))?;
        }
    }
    Ok(())
}

fn first_difference(first: &[u8], second: &[u8]) -> Option<usize> {
    let same = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    (same < first.len().max(second.len())).then_some(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found() {
        let cases: [(&str, &str, Option<usize>); 5] = [
            ("", "", None),
            ("abc", "abc", None),
            ("abc", "abd", Some(2)),
            ("ab", "abc", Some(2)),
            ("abc", "", Some(0)),
        ];
        for (first, second, at) in cases {
            assert_eq!(
                first_difference(first.as_bytes(), second.as_bytes()),
                at,
                "{first} {second}"
            );
        }
    }
}
