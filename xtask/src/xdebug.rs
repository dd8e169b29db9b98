//! Gets Xdebug for the one test that loads it: Debian's package, unpacked below the target
//! directory. If it were installed, every PHP of the machine would load it and be slower.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names Xdebug to the tests; `None` if it is already set or no package can be
/// got.
pub fn find_or_fetch(root: &Path) -> Option<(&'static str, PathBuf)> {
    const VARIABLE: &str = "STAMPEDE_TEST_XDEBUG";
    if std::env::var_os(VARIABLE).is_some() {
        return None;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let directory = target.join("data/xdebug");
    let file = find_unpacked(&directory).or_else(|| {
        fetch(&directory)?;
        find_unpacked(&directory)
    });
    if file.is_none() {
        eprintln!("SKIPPED: no package has Xdebug for this PHP; its test is skipped");
    }
    Some((VARIABLE, file?))
}

/// Xdebug for the extension interface of this PHP: `usr/lib/php/20220829/xdebug.so`.
fn find_unpacked(directory: &Path) -> Option<PathBuf> {
    let own = PathBuf::from(php("ini_get('extension_dir')")?);
    let file = directory.join("usr/lib/php").join(own.file_name()?).join("xdebug.so");
    file.is_file().then_some(file)
}

fn fetch(directory: &Path) -> Option<()> {
    let name = format!("php{}-xdebug", php("PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION")?);
    fs::create_dir_all(directory).ok()?;
    succeeds(Command::new("apt-get").args(["download", "--quiet", &name]).current_dir(directory))?;
    let packages = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let package =
        packages.filter(|path| path.extension().is_some_and(|end| end == "deb")).last()?;
    succeeds(Command::new("dpkg-deb").arg("--extract").arg(package).arg(directory))
}

fn succeeds(command: &mut Command) -> Option<()> {
    command.status().ok().filter(|status| status.success()).map(drop)
}

fn php(expression: &str) -> Option<String> {
    let output = Command::new("php").args(["-r", &format!("echo {expression};")]).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|text| !text.is_empty())
}
