//! Opens files in directories that another user can change, without following a link on the way.
//!
//! A program that runs as root and reads a log in such a directory would otherwise read whatever
//! the other user's link names. The kernel resolves the whole path below the directory and refuses
//! links (`openat2`, Linux 5.6); where it cannot, each directory is opened relative to the one above
//! it. Either way nothing can be exchanged between a check and the use.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Opens the regular file `path` for reading. Everything of it behind `base` may be another user's.
///
/// # Errors
/// The system's error. `InvalidInput`: `path` is not below `base`, or the file is no regular one.
pub fn open_file(base: &Path, path: &Path) -> io::Result<File> {
    let (directory, name) = (path.parent().unwrap_or(base), path.file_name());
    let name = name.ok_or_else(not_below)?;
    let directory = open_directory(base, directory)?;
    // A pipe without a writer would wait for one.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::openat(directory, name, flags | OFlags::CLOEXEC, Mode::empty())?;
    let file = File::from(file);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// The regular files of a directory, sorted; at most `most` of its entries are looked at. Everything
/// of its path behind `base` may be another user's.
///
/// # Errors
/// The system's error. `InvalidInput`: `directory` is not `base` nor below it.
pub fn files(base: &Path, directory: &Path, most: usize) -> io::Result<Vec<PathBuf>> {
    let opened = open_directory(base, directory)?;
    let mut files = Vec::new();
    for entry in Dir::read_from(&opened)?.take(most.saturating_add(DOTS)) {
        let entry = entry?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => {
                let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
                let stat = rustix::fs::statat(opened.as_fd(), entry.file_name(), flags);
                stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            }
            known => known,
        };
        if kind == FileType::RegularFile {
            files.push(directory.join(name));
        }
    }
    files.sort();
    Ok(files)
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn open_directory(base: &Path, directory: &Path) -> io::Result<OwnedFd> {
    let below = directory.strip_prefix(base).map_err(|_| not_below())?;
    if below.components().any(|one| !matches!(one, Component::Normal(_))) {
        return Err(not_below());
    }
    let base = rustix::fs::open(base, DIRECTORY, Mode::empty())?;
    if below.as_os_str().is_empty() {
        return Ok(base);
    }
    match at_once(&base, below) {
        // An older kernel, and a filter of system calls that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => Ok(by_component(base, below)?),
        opened => Ok(opened?),
    }
}

fn at_once(base: &OwnedFd, below: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(base, below, DIRECTORY, Mode::empty(), resolve)
}

fn by_component(base: OwnedFd, below: &Path) -> Result<OwnedFd, Errno> {
    let flags = DIRECTORY | OFlags::NOFOLLOW;
    below.components().try_fold(base, |opened, name| {
        rustix::fs::openat(opened, name.as_os_str(), flags, Mode::empty())
    })
}

fn not_below() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not below the directory")
}

/// The entries `.` and `..`.
const DOTS: usize = 2;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(base: &Path, path: &str) -> io::Result<String> {
        let mut text = String::new();
        open_file(base, &base.join(path))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn a_file_is_read_and_a_link_on_the_way_to_it_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (base, secret) = (place.path().join("work"), place.path().join("secret"));
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::create_dir(&secret).unwrap();
        fs::write(base.join("a/b/x.log"), "own").unwrap();
        fs::write(secret.join("x.log"), "secret").unwrap();
        symlink(secret.join("x.log"), base.join("a/link.log")).unwrap();
        symlink(&secret, base.join("a/out")).unwrap();
        symlink("b", base.join("a/in")).unwrap();
        assert_eq!(text(&base, "a/b/x.log").unwrap(), "own");
        for path in ["a/link.log", "a/out/x.log", "a/in/x.log", "a/../../secret/x.log", "a/none"] {
            assert!(text(&base, path).is_err(), "{path}");
        }
        assert!(open_file(&base, &secret.join("x.log")).is_err(), "it is elsewhere");
    }

    #[test]
    fn both_ways_of_the_kernel_open_the_same_directories() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("work");
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::write(base.join("a/file"), "").unwrap();
        symlink("b", base.join("a/in")).unwrap();
        symlink("/", base.join("a/out")).unwrap();
        let open = || rustix::fs::open(&base, DIRECTORY, Mode::empty()).unwrap();
        let ways = |below: &str| {
            let below = Path::new(below);
            // An old kernel under the test has one way only.
            let first = at_once(&open(), below).map(drop);
            let second = by_component(open(), below).map(drop);
            match first {
                Err(Errno::NOSYS) => (second, second),
                known => (known, second),
            }
        };
        for there in ["a", "a/b"] {
            assert_eq!(ways(there), (Ok(()), Ok(())), "{there}");
        }
        for refused in ["a/in", "a/out", "a/out/etc", "a/file", "none", "a/none"] {
            let (first, second) = ways(refused);
            assert!(first.is_err() && second.is_err(), "{refused}: {first:?}, {second:?}");
        }
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
        fs::create_dir(place.path().join("directory")).unwrap();
        for name in ["pipe", "directory"] {
            assert!(open_file(place.path(), &place.path().join(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn the_files_of_a_directory_are_listed_without_links() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path();
        fs::create_dir(base.join("logs")).unwrap();
        for name in ["b.log", "a.log"] {
            fs::write(base.join("logs").join(name), "").unwrap();
        }
        symlink("/etc/passwd", base.join("logs/c.log")).unwrap();
        symlink("logs", base.join("link")).unwrap();
        let names = |directory: &str| files(base, &base.join(directory), 9);
        assert_eq!(
            names("logs").unwrap(),
            ["a.log", "b.log"].map(|one| base.join("logs").join(one))
        );
        assert!(names("link").is_err() && names("none").is_err());
        assert!(files(base, &base.join("logs"), 1).unwrap().len() <= 1);
    }
}
