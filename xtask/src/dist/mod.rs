//! Makes what is handed out: one static binary for each architecture, with the sums, the list of
//! parts (SBOM) and the licences of what is in it.

mod build;
mod crates;
mod deb;
mod elf;
mod error;
mod licences;
mod sbom;
mod source;
mod tools;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{ChoreError, succeeded};
use crate::report_ui;

use build::Places;
pub use error::DistError;
use source::Source;
use tools::Tools;

/// What a binary is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The architecture as `uname -m` prints it; a part of the binary's name.
    pub architecture: &'static str,
    /// Rust's name of the target.
    pub triple: &'static str,
    /// Zig's name of the target.
    pub zig: &'static str,
    /// The machine that the binary's ELF header must name.
    pub machine: u16,
}

impl Target {
    /// The name of the binary of a version.
    fn file_name(&self, version: &str) -> String {
        format!("stampede-{version}-{}-linux", self.architecture)
    }
}

/// Static binaries with musl: glibc's own cannot look up names without its shared parts.
const TARGETS: [Target; 2] = [
    Target {
        architecture: "x86_64",
        triple: "x86_64-unknown-linux-musl",
        zig: "x86_64-linux-musl",
        machine: elf::X86_64,
    },
    Target {
        architecture: "aarch64",
        triple: "aarch64-unknown-linux-musl",
        zig: "aarch64-linux-musl",
        machine: elf::AARCH64,
    },
];

/// A binary of this size is copied over a slow line in seconds.
const BYTES_MAX: u64 = 20_000_000;

/// The licences of all parts, beside the binaries.
const LICENCES: &str = "THIRD-PARTY-LICENSES";

/// Makes the binaries of these architectures (all, if none is named) and the files beside them in
/// `target/dist`.
///
/// # Errors
/// A tool is missing, a step fails, or a binary is not what it must be.
pub fn make(root: &Path, architectures: &[&str]) -> Result<(), ChoreError> {
    let targets = chosen(architectures)?;
    let source = Source::read(root)?;
    let tools = Tools::find(&report_ui::target(root), &targets)?;
    if source.is_changed {
        eprintln!(
            "warning: there are changes that are not committed; the sums are those of no commit"
        );
    }
    let directory = report_ui::target(root).join("dist");
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => fs::create_dir_all(&directory)?,
    }
    let places = Places {
        root: root.to_owned(),
        target: report_ui::target(root),
        cargo_home: build::cargo_home(),
    };
    let mut parts = Vec::new();
    for target in &targets {
        let linked = crates::linked(root, target.triple)?;
        let name = target.file_name(linked.version());
        let built = build::binary(&places, target, &tools, &source)?;
        let bytes = fs::read(&built)?;
        elf::check(&bytes, target.machine).map_err(ChoreError::Dist)?;
        if bytes.len() as u64 > BYTES_MAX {
            let bytes = bytes.len() as u64;
            return Err(DistError::TooLarge { path: built, bytes, most: BYTES_MAX }.into());
        }
        fs::copy(&built, directory.join(&name))?;
        let sbom = sbom::cyclone_dx(&linked, &tools, &source);
        fs::write(directory.join(format!("{name}.cdx.json")), sbom)?;
        parts.push(linked);
    }
    fs::write(directory.join(LICENCES), licences::text(root, &parts, &tools)?)?;
    fs::copy(root.join("packaging/install.sh"), directory.join("install.sh"))?;
    write_sums(&directory)?;
    println!("{}", directory.display());
    Ok(())
}

/// Builds the commit again at another path, with another cargo home, and compares each binary with
/// the one in `target/dist`.
///
/// # Errors
/// There is no binary yet, the source has changes, a step fails, or a byte differs.
pub fn verify(root: &Path, architectures: &[&str]) -> Result<(), ChoreError> {
    let targets = chosen(architectures)?;
    let source = Source::read(root)?;
    if source.is_changed {
        return Err(DistError::NotCommitted.into());
    }
    let tools = Tools::find(&report_ui::target(root), &targets)?;
    for target in &targets {
        verify::compare(root, target, &tools, &source)?;
    }
    Ok(())
}

fn chosen(architectures: &[&str]) -> Result<Vec<Target>, ChoreError> {
    let known = |name: &&str| TARGETS.iter().copied().find(|one| one.architecture == *name);
    let named = architectures.iter().map(|name| {
        known(name).ok_or_else(|| DistError::NoSuchTarget { name: (*name).to_owned() }.into())
    });
    match architectures {
        [] => Ok(TARGETS.to_vec()),
        _ => named.collect(),
    }
}

/// Packs each binary in `target/dist` as a Debian package.
///
/// # Errors
/// There is no binary yet, a tool is missing, or a step fails.
pub fn pack(root: &Path, architectures: &[&str]) -> Result<(), ChoreError> {
    deb::make(root, &chosen(architectures)?, &Source::read(root)?)?;
    write_sums(&report_ui::target(root).join("dist"))
}

/// Writes `SHA256SUMS` of all files of a directory; `sha256sum --check` reads it.
fn write_sums(directory: &Path) -> Result<(), ChoreError> {
    let entries = fs::read_dir(directory)?.flatten();
    let names = entries.map(|entry| entry.file_name()).filter(|name| name != "SHA256SUMS");
    let mut names: Vec<_> = names.collect();
    names.sort();
    let sums = printed(Command::new("sha256sum").args(&names).current_dir(directory))?;
    print!("{sums}");
    Ok(fs::write(directory.join("SHA256SUMS"), sums)?)
}

/// The text that a command prints on standard output.
fn printed(command: &mut Command) -> Result<String, ChoreError> {
    let shown = format!("{command:?}");
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|source| ChoreError::NotStarted { command: shown.clone(), source })?;
    succeeded(&shown, Ok(output.status))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A file that must be there.
fn read(path: PathBuf) -> Result<String, ChoreError> {
    fs::read_to_string(&path).map_err(|source| ChoreError::Unreadable { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_chosen_by_their_architecture() {
        assert_eq!(chosen(&[]).expect("all"), TARGETS);
        assert_eq!(chosen(&["aarch64"]).expect("one"), [TARGETS[1]]);
        let error = chosen(&["x86_64", "sparc"]).expect_err("no such target").to_string();
        assert_eq!(error, "no binary is made for `sparc`; there are `x86_64` and `aarch64`");
    }
}
