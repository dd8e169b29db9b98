//! Reads files of a container's root. The container is not trusted: links in it lead to places of
//! that root, never to those of the machine, and only plain files are read.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags};

/// Opens a path of a root.
fn open_in(root: &Path, path: &str) -> Option<File> {
    let read = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let root = rustix::fs::open(root, read | OFlags::DIRECTORY, Mode::empty()).ok()?;
    let found = rustix::fs::openat2(root, path, read, Mode::empty(), ResolveFlags::IN_ROOT).ok()?;
    Some(File::from(found))
}

/// The first `most` bytes of a file as text; `None`: it is no plain file, or no text.
pub(crate) fn text_in(root: &Path, path: &str, most: u64) -> Option<String> {
    let file = open_in(root, path)?;
    file.metadata().ok().filter(Metadata::is_file)?;
    let mut text = String::new();
    file.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The names in a directory of a root, sorted; of more than [`NAMES_MAX`] only so many. None: it is no
/// directory.
pub(crate) fn names_in(root: &Path, directory: &str) -> Vec<String> {
    let directory = open_in(root, directory).and_then(|found| Dir::read_from(found).ok());
    let entries = directory.into_iter().flatten().flatten().take(NAMES_MAX);
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// No directory that is read has more by itself; a container may make any number.
const NAMES_MAX: usize = 4_096;

/// The name of a root's system, from its os-release(5); empty: it has none, or cannot be read.
pub fn base_system(root: &Path) -> String {
    let text = |path: &&str| text_in(root, path, OS_RELEASE_BYTES);
    let text = ["etc/os-release", "usr/lib/os-release"].iter().find_map(text).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    value.unwrap_or_default().trim_matches('"').to_owned()
}

/// The most bytes of an os-release that are read; they have some hundred.
const OS_RELEASE_BYTES: u64 = 64 << 10;

/// The C library of a root, by its dynamic loader: `glibc`, `musl`, or empty if neither is found.
pub fn c_library(root: &Path) -> &'static str {
    let mut library = "";
    for directory in ["lib", "lib64", "usr/lib", "usr/lib64"] {
        for name in names_in(root, directory) {
            if name.starts_with("ld-linux") {
                return "glibc";
            }
            if name.starts_with("ld-musl-") {
                library = "musl";
            }
        }
    }
    library
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_system_and_the_c_library_of_a_root_are_found() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!((base_system(root.path()), c_library(root.path())), (String::new(), ""));
        put("etc/os-release", "NAME=Alpine\nPRETTY_NAME=\"Alpine Linux v3.20\"\n");
        put("lib/ld-musl-x86_64.so.1", "");
        assert_eq!(base_system(root.path()), "Alpine Linux v3.20");
        assert_eq!(c_library(root.path()), "musl");
        // A link of the image leads into the image.
        std::os::unix::fs::symlink("/etc/os-release", root.path().join("usr")).unwrap();
        assert_eq!(base_system(root.path()), "Alpine Linux v3.20");
        fs::remove_file(root.path().join("etc/os-release")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.path().join("etc/os-release")).unwrap();
        assert_eq!(base_system(root.path()), "");
        // A Debian root may have musl beside its own library.
        put("lib64/ld-linux-x86-64.so.2", "");
        assert_eq!(c_library(root.path()), "glibc");
    }
}
