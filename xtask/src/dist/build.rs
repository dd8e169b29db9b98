//! Builds one binary, so that no path of this machine is in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Target;
use super::source::Source;
use super::tools::Tools;
use crate::ci::cargo_program;
use crate::error::{ChoreError, succeeded};

/// The profile in Cargo.toml; also the name of its directory.
pub const PROFILE: &str = "static";

/// What the linker is told: the same code is there once, addresses that are set at the start take a
/// bit each (DT_RELR, which musl knows since 1.2.4), and there are no tables for unwinding. All make
/// the binary smaller only. The path is below the source, where cargo starts the compiler: a whole
/// one would be part of the sum.
const LINKED: [&str; 4] =
    ["--icf=all", "--pack-dyn-relocs=relr", "--no-eh-frame-hdr", "-Tpackaging/no-unwinding.ld"];

/// A panic ends the process (`panic = "abort"`), so nothing reads the tables that unwinding needs.
const NO_TABLES: &str = "-Cforce-unwind-tables=no";

/// Variables that would change the binary, and that people set for their own builds.
const IGNORED: [&str; 8] = [
    "RUSTFLAGS",
    "CFLAGS",
    "TARGET_CFLAGS",
    "TARGET_CC",
    "TARGET_AR",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "RUSTC_WRAPPER",
];

/// The directories of a build, whose paths would get into the binary by panics and asserts.
#[derive(Clone, Debug)]
pub struct Places {
    /// The source.
    pub root: PathBuf,
    /// What cargo builds.
    pub target: PathBuf,
    /// Where cargo keeps the source of dependencies.
    pub cargo_home: PathBuf,
}

/// Builds the source, and returns the binary.
///
/// # Errors
/// The build fails.
pub fn binary(
    places: &Places,
    target: &Target,
    tools: &Tools,
    source: &Source,
) -> Result<PathBuf, ChoreError> {
    let (compiler, archiver) = tools.compilers(target)?;
    let underlined = target.triple.replace('-', "_");
    let linker = format!("CARGO_TARGET_{}_LINKER", underlined.to_uppercase());
    let arguments =
        ["build", "--locked", "--package", "stampede", "--profile", PROFILE, "--target"];
    let renamed = renamed(places, tools);
    let mut command = Command::new(cargo_program());
    command.args(arguments).arg(target.triple).current_dir(&places.root);
    for name in IGNORED {
        command.env_remove(name);
    }
    command
        .env("CARGO_HOME", &places.cargo_home)
        .env("CARGO_TARGET_DIR", &places.target)
        .env("CARGO_INCREMENTAL", "0")
        // Goes before every other variable and setting of flags.
        .env("CARGO_ENCODED_RUSTFLAGS", rust_flags(&renamed).join("\x1f"))
        .env(linker, &tools.linker)
        .env(format!("CC_{underlined}"), compiler)
        .env(format!("AR_{underlined}"), archiver)
        .env(format!("CFLAGS_{underlined}"), c_flags(&renamed).join(" "))
        .env("SOURCE_DATE_EPOCH", &source.epoch);
    eprintln!("== {}: {} (Zig {})", target.triple, tools.rustc, tools.zig);
    succeeded(&format!("cargo {} {}", arguments.join(" "), target.triple), command.status())?;
    Ok(products(&places.target, target).join("stampede"))
}

/// The directory of what was built for a target.
pub fn products(target_directory: &Path, target: &Target) -> PathBuf {
    target_directory.join(target.triple).join(PROFILE)
}

/// Where cargo keeps the source of dependencies.
pub fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// Each directory with the name that it gets. Of several that fit, rustc takes the last.
fn renamed(places: &Places, tools: &Tools) -> [(PathBuf, String); 4] {
    let library = tools.sysroot.join("lib/rustlib/src/rust");
    [
        (places.cargo_home.clone(), "/cargo".to_owned()),
        (library, format!("/rustc/{}", tools.rustc_commit)),
        (places.root.clone(), "/stampede".to_owned()),
        (places.target.clone(), "/target".to_owned()),
    ]
}

fn rust_flags(renamed: &[(PathBuf, String)]) -> Vec<String> {
    let flag =
        |(path, name): &(PathBuf, String)| format!("--remap-path-prefix={}={name}", path.display());
    let linked = LINKED.map(|flag| format!("-Clink-arg={flag}"));
    renamed.iter().map(flag).chain([NO_TABLES.to_owned()]).chain(linked).collect()
}

/// The crate `cc` splits these at spaces, so a path with a space keeps its name.
fn c_flags(renamed: &[(PathBuf, String)]) -> Vec<String> {
    let whole = renamed.iter().filter(|(path, _)| !path.to_string_lossy().contains(' '));
    let flags = whole.map(|(path, name)| format!("-ffile-prefix-map={}={name}", path.display()));
    // Zig checks for undefined behaviour where nobody asked for another optimisation.
    const OTHERS: [&str; 4] =
        ["-fno-sanitize=undefined", "-g0", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"];
    flags.chain(OTHERS.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::tools::tests::sample;

    #[test]
    fn every_directory_gets_a_name_of_its_own() {
        let places = Places {
            root: "/home/a b/source".into(),
            target: "/build".into(),
            cargo_home: "/home/a b/.cargo".into(),
        };
        let renamed = renamed(&places, &sample());
        assert_eq!(
            rust_flags(&renamed),
            [
                "--remap-path-prefix=/home/a b/.cargo=/cargo",
                "--remap-path-prefix=/rust/lib/rustlib/src/rust=/rustc/59807",
                "--remap-path-prefix=/home/a b/source=/stampede",
                "--remap-path-prefix=/build=/target",
                "-Cforce-unwind-tables=no",
                "-Clink-arg=--icf=all",
                "-Clink-arg=--pack-dyn-relocs=relr",
                "-Clink-arg=--no-eh-frame-hdr",
                "-Clink-arg=-Tpackaging/no-unwinding.ld",
            ]
        );
        let flags = c_flags(&renamed);
        assert!(flags.iter().all(|flag| !flag.contains(' ')), "{flags:?}");
        assert!(flags.contains(&"-ffile-prefix-map=/build=/target".to_owned()), "{flags:?}");
    }
}
