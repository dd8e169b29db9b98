//! Hands a directory to another user and takes it back, without following a link on the way.
//!
//! What the other user left in it is not trusted: each entry is changed relative to the descriptor of
//! its directory, which belongs to us by then, so nobody can exchange it in between.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};

/// The links in a directory, relative to it, with what each names.
pub type Links = BTreeMap<PathBuf, PathBuf>;

/// Who owns a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user's id.
    pub user: u32,
    /// The group's id.
    pub group: u32,
}

/// Gives `directory` and all below it to `owner`. Returns its links.
///
/// # Errors
/// The system's error; only root may give files away.
pub fn give(directory: &Path, owner: Owner) -> io::Result<Links> {
    walk(directory, &Handing { from: None, to: owner })
}

/// Makes `directory` and all below it our own again, which was given to `from`, closes its directories
/// to other users' writes, and removes pipes, sockets and devices. Returns its links.
///
/// # Errors
/// The system's error. `PermissionDenied`: a file belongs to somebody else.
pub fn take_back(directory: &Path, from: Owner) -> io::Result<Links> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let to = Owner { user: user.as_raw(), group: group.as_raw() };
    walk(directory, &Handing { from: Some(from.user), to })
}

struct Handing {
    /// The user who must own each entry; `None`: anybody may, and nothing is removed.
    from: Option<u32>,
    to: Owner,
}

fn walk(directory: &Path, handing: &Handing) -> io::Result<Links> {
    let opened = rustix::fs::open(directory, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    let mut links = Links::new();
    handing.directory(opened, Path::new(""), &mut links)?;
    Ok(links)
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Write permission of group and others.
const OTHERS_WRITE: Mode = Mode::WGRP.union(Mode::WOTH);

impl Handing {
    /// Changes the directory first, so that its entries stay while they are changed.
    fn directory(&self, opened: OwnedFd, place: &Path, links: &mut Links) -> io::Result<()> {
        let found = rustix::fs::fstat(&opened)?;
        self.check(found.st_uid)?;
        rustix::fs::fchown(&opened, Some(self.user()), Some(self.group()))?;
        if self.from.is_some() {
            let mode = Mode::from_raw_mode(found.st_mode & 0o7777);
            rustix::fs::fchmod(&opened, mode.difference(OTHERS_WRITE))?;
        }
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            self.entry(
                opened.as_fd(),
                name,
                &place.join(OsStr::from_bytes(name.to_bytes())),
                links,
            )?;
        }
        Ok(())
    }

    fn entry(
        &self,
        above: BorrowedFd<'_>,
        name: &CStr,
        place: &Path,
        links: &mut Links,
    ) -> io::Result<()> {
        let found = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        if kind == FileType::Directory {
            let flags = DIRECTORY | OFlags::NOFOLLOW;
            let opened = rustix::fs::openat(above, name, flags, Mode::empty())?;
            return self.directory(opened, place, links);
        }
        self.check(found.st_uid)?;
        match kind {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(above, name, Vec::new())?;
                let target = OsString::from_vec(target.into_bytes());
                links.insert(place.to_owned(), PathBuf::from(target));
            }
            FileType::RegularFile => {}
            // Whoever opens a pipe waits for its other end.
            _ if self.from.is_some() => {
                return Ok(rustix::fs::unlinkat(above, name, AtFlags::empty())?);
            }
            _ => {}
        }
        let (user, group) = (Some(self.user()), Some(self.group()));
        Ok(rustix::fs::chownat(above, name, user, group, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// A file of somebody else is a second name of it, made where the kernel allows that.
    fn check(&self, owner: u32) -> io::Result<()> {
        let is_allowed = self.from.is_none_or(|from| owner == from);
        let denied = || io::Error::new(io::ErrorKind::PermissionDenied, "a file of another user");
        is_allowed.then_some(()).ok_or_else(denied)
    }

    fn user(&self) -> Uid {
        Uid::from_raw(self.to.user)
    }

    fn group(&self) -> Gid {
        Gid::from_raw(self.to.group)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    const OTHER: Owner = Owner { user: 65_534, group: 65_534 };

    fn owner(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("it is there").uid()
    }

    fn is_root() -> bool {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            println!("SKIPPED: only root gives a directory to another user");
        }
        is_root
    }

    #[test]
    fn what_was_given_comes_back_without_what_a_link_names() {
        if !is_root() {
            return;
        }
        let place = tempfile::tempdir().expect("a directory");
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        fs::create_dir_all(tree.join("a/b")).expect("directories");
        fs::write(tree.join("a/b/file"), "x").expect("a file");
        fs::write(&outside, "x").expect("a file");
        assert_eq!(give(&tree, OTHER).expect("given"), Links::new());
        assert_eq!(owner(&tree.join("a/b/file")), OTHER.user);
        for (link, target) in [("a/link", &outside), ("a/b/gone", &place.path().join("gone"))] {
            symlink(target, tree.join(link)).expect("a link");
        }
        let mode = Mode::RUSR | Mode::WUSR;
        let pipe = tree.join("a/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, mode, 0).expect("a pipe");
        for made in ["a/link", "a/b/gone", "a/pipe"] {
            let (user, group) = (Some(OTHER.user), Some(OTHER.group));
            std::os::unix::fs::lchown(tree.join(made), user, group).expect("given");
        }
        fs::set_permissions(tree.join("a"), fs::Permissions::from_mode(0o777)).expect("open");
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o640)).expect("closed");
        std::os::unix::fs::chown(&outside, Some(1), Some(1)).expect("somebody's");
        let links = take_back(&tree, OTHER).expect("taken back");
        let named: Vec<&Path> = links.keys().map(PathBuf::as_path).collect();
        assert_eq!(named, [Path::new("a/b/gone"), Path::new("a/link")]);
        assert_eq!(links[Path::new("a/link")], outside);
        for back in ["", "a", "a/b", "a/b/file", "a/link"] {
            assert_eq!(owner(&tree.join(back)), 0, "{back}");
        }
        let mode = fs::metadata(tree.join("a")).expect("there").mode() & 0o777;
        assert_eq!((mode, pipe.exists()), (0o755, false));
        let meta = fs::metadata(&outside).expect("there");
        assert_eq!((meta.uid(), meta.mode() & 0o777), (1, 0o640), "the link was not followed");
    }

    #[test]
    fn a_file_of_somebody_else_is_not_taken() {
        if !is_root() {
            return;
        }
        let place = tempfile::tempdir().expect("a directory");
        let tree = place.path().join("tree");
        fs::create_dir(&tree).expect("a directory");
        give(&tree, OTHER).expect("given");
        fs::write(place.path().join("shadow"), "x").expect("a file");
        fs::hard_link(place.path().join("shadow"), tree.join("own")).expect("a second name");
        let error = take_back(&tree, OTHER).expect_err("it is root's");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
