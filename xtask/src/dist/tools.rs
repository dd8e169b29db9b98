//! The tools that build for musl: Rust's own linker, and Zig as the C compiler.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{DistError, Target, printed};
use crate::error::ChoreError;

/// The tools, and which versions they have.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Rust's installation.
    pub sysroot: PathBuf,
    /// What `rustc --version` prints.
    pub rustc: String,
    /// The hash of the commit that rustc was built from; it stands in the paths of Rust's library.
    pub rustc_commit: String,
    /// The linker that Rust brings.
    pub linker: PathBuf,
    /// Zig's version.
    pub zig: String,
    /// The Python that has Zig as a package.
    python: PathBuf,
    /// Where the scripts lie that pass their arguments to Zig.
    scripts: PathBuf,
}

impl Tools {
    /// Looks for all tools.
    ///
    /// # Errors
    /// Names the first that is missing, and the script that gets it.
    pub fn find(target: &Path, targets: &[Target]) -> Result<Tools, ChoreError> {
        let rustc = |arguments: &[&str]| printed(Command::new("rustc").args(arguments));
        let sysroot = PathBuf::from(rustc(&["--print", "sysroot"])?.trim());
        let said = rustc(&["--version", "--verbose"])?;
        let field = |name: &str| said.lines().find_map(|line| line.strip_prefix(name));
        let host = field("host: ").unwrap_or_default().to_owned();
        let libraries = sysroot.join("lib/rustlib");
        let linker = libraries.join(host).join("bin/rust-lld");
        let needed = targets.iter().map(|target| libraries.join(target.triple).join("lib"));
        for path in needed.chain([linker.clone()]) {
            if !path.exists() {
                return Err(DistError::NoRust { path }.into());
            }
        }
        let directory = target.join("tools/zig");
        let python = directory.join("bin/python");
        let zig = Command::new(&python)
            .args(["-m", "ziglang", "version"])
            .stderr(Stdio::null())
            .output()
            .ok()
            .filter(|output| output.status.success())
            .ok_or(DistError::NoZig { path: directory })?;
        Ok(Tools {
            rustc: said.lines().next().unwrap_or_default().to_owned(),
            rustc_commit: field("commit-hash: ").unwrap_or_default().to_owned(),
            sysroot,
            linker,
            zig: String::from_utf8_lossy(&zig.stdout).trim().to_owned(),
            python,
            scripts: target.join("tools/cc"),
        })
    }

    /// Writes the scripts that are C compiler and archiver for a target, and returns their paths.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn compilers(&self, target: &Target) -> Result<(PathBuf, PathBuf), ChoreError> {
        fs::create_dir_all(&self.scripts)?;
        let python = self.python.display();
        let compiler = self.scripts.join(target.zig);
        // The crate `cc` tells a Clang the target in Rust's words, which Zig does not know.
        let zig = target.zig;
        let text = format!(
            "#!/bin/sh\nfor one do\n    shift\n    case $one in\n        --target=*) ;;\n        \
             *) set -- \"$@\" \"$one\" ;;\n    esac\ndone\nexec '{python}' -m ziglang cc -target \
             {zig} \"$@\"\n"
        );
        write_script(&compiler, &text)?;
        let archiver = self.scripts.join("ar");
        write_script(&archiver, &format!("#!/bin/sh\nexec '{python}' -m ziglang ar \"$@\"\n"))?;
        Ok((compiler, archiver))
    }
}

fn write_script(path: &Path, text: &str) -> Result<(), ChoreError> {
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Tools that are nowhere.
    pub fn sample() -> Tools {
        Tools {
            sysroot: "/rust".into(),
            rustc: "rustc 1.95.0".to_owned(),
            rustc_commit: "59807".to_owned(),
            linker: "/rust/rust-lld".into(),
            zig: "0.17.1".to_owned(),
            python: "/zig/bin/python".into(),
            scripts: "/scripts".into(),
        }
    }

    #[test]
    fn without_zig_the_error_names_the_script_that_gets_it() {
        let target = std::env::temp_dir().join("stampede-no-such-target");
        let error = Tools::find(&target, &[]).expect_err("no Zig").to_string();
        assert!(error.contains("tools/zig") && error.contains("scripts/dist-tools"), "{error}");
    }
}
