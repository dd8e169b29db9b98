//! Packs the binaries of `dist` as Debian packages with cargo-deb.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::source::Source;
use super::{DistError, LICENCES, Target, build, crates, printed};
use crate::error::ChoreError;
use crate::report_ui;

/// What the program prints about itself: its arguments, and the file for it.
const PRINTED: [(&[&str], &str); 4] = [
    (&["man"], "stampede.1"),
    (&["completions", "bash"], "stampede.bash"),
    (&["completions", "zsh"], "_stampede"),
    (&["completions", "fish"], "stampede.fish"),
];

/// Makes the package of each target in `target/dist`.
///
/// # Errors
/// cargo-deb or a binary is missing, no binary runs here, or a step fails.
pub fn make(root: &Path, targets: &[Target], source: &Source) -> Result<(), ChoreError> {
    let target_directory = report_ui::target(root);
    let tool = target_directory.join("tools/bin/cargo-deb");
    if !tool.is_file() {
        return Err(DistError::NoCargoDeb { path: tool }.into());
    }
    let here = std::env::consts::ARCH;
    let runs_here = targets.iter().find(|target| target.architecture == here);
    let runs_here = runs_here.ok_or(DistError::NoneRunsHere { architecture: here })?;
    let version = crates::linked(root, runs_here.triple)?.version().to_owned();
    let released = target_directory.join("dist");
    let program = released.join(runs_here.file_name(&version));
    let licences = released.join(LICENCES);
    for path in [&program, &licences] {
        if !path.is_file() {
            return Err(DistError::NotMade { path: path.clone() }.into());
        }
    }
    for target in targets {
        let products = build::products(&target_directory, target);
        let directory = products.join("deb");
        fs::create_dir_all(&directory)?;
        for (arguments, name) in PRINTED {
            fs::write(directory.join(name), printed(Command::new(&program).args(arguments))?)?;
        }
        fs::write(directory.join("changelog.Debian"), changelog(&version, &source.mail_date))?;
        fs::copy(&licences, directory.join(LICENCES))?;
        for name in ["stampede.1", "changelog.Debian", LICENCES] {
            // Without the name and the time of the file.
            let arguments = ["--force", "--no-name", "--best", name];
            printed(Command::new("gzip").args(arguments).current_dir(&directory))?;
        }
        let arguments = ["--no-build", "--no-strip", "--locked", "--package", "stampede"];
        let mut command = Command::new(&tool);
        command.args(arguments).args(["--profile", build::PROFILE, "--target", target.triple]);
        command.arg("--output").arg(&released).current_dir(root);
        command.env("SOURCE_DATE_EPOCH", &source.epoch);
        command.env("CARGO_TARGET_DIR", &target_directory);
        print!("{}", printed(&mut command)?);
    }
    Ok(())
}

/// Debian's form of a changelog, with one entry. What changed is in the project's own.
fn changelog(version: &str, mail_date: &str) -> String {
    format!(
        "stampede ({version}-1) unstable; urgency=medium\n\n  * Version {version}. \
         What changed is in CHANGELOG.md of the source.\n\n \
         -- The stampede authors <maintainers@stampede.invalid>  {mail_date}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changelog_has_debians_form() {
        let text = changelog("1.2.0", "Fri, 02 Jan 1970 00:00:00 +0000");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "stampede (1.2.0-1) unstable; urgency=medium");
        assert!(lines[2].starts_with("  * "), "{text}");
        assert!(
            lines[4].starts_with(" -- ")
                && lines[4].ends_with(">  Fri, 02 Jan 1970 00:00:00 +0000")
        );
        assert_eq!((lines.len(), lines[1], lines[3]), (5, "", ""));
    }
}
