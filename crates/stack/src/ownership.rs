//! Decides who may read and write a copy. The workers of a runtime run as an unprivileged user where
//! stampede itself is root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::copy::{io_error, make_dir};
use super::error::RuntimeError;

/// Gives the app's copy to the user that PHP runs as. What somebody may write in the original, this
/// user may write in its copy, as stampede's own user may where it is not root: both measure the
/// same app. Other users have no access, since an app's directory may hold secrets.
///
/// `writable` are paths that are created as directories if they are missing, and writable in any
/// case.
pub fn give_app_to_user(
    copy: &Path,
    writable: &[String],
    user: u32,
    group: u32,
) -> Result<(), RuntimeError> {
    make_writable(copy, writable)?;
    let owner = Owner { user, group, files: |mode| 0o440 | mode & 0o110 | write_bit(mode) };
    owner.take(copy)
}

/// Creates the paths of `writable` that are missing, and lets their owner write to all of them.
/// Links are left out: they lead to places that have modes of their own.
pub fn make_writable(copy: &Path, writable: &[String]) -> Result<(), RuntimeError> {
    for path in writable.iter().map(|path| copy.join(path)) {
        if !path.exists() {
            make_dir(&path)?;
        }
        each_below(&path, &mut |path, meta| {
            let mode = meta.permissions().mode();
            match meta.is_symlink() || mode & 0o200 != 0 {
                true => Ok(()),
                false => set_mode(path, mode | 0o200),
            }
        })?;
    }
    Ok(())
}

/// Gives a directory that stampede made to a user: only its owner writes there, and its group
/// reads.
pub fn give(path: &Path, user: u32, group: u32) -> Result<(), RuntimeError> {
    // The execute bits of owner and group are kept.
    Owner { user, group, files: |mode| 0o640 | mode & 0o110 }.take(path)
}

/// Lets the user that PHP runs as read what lies in `path`, and write nothing.
pub fn give_to_read(path: &Path, group: u32) -> Result<(), RuntimeError> {
    give(path, 0, group)
}

/// The owner's write bit, if somebody may write.
const fn write_bit(mode: u32) -> u32 {
    if mode & 0o222 == 0 { 0 } else { 0o200 }
}

/// Who gets a directory.
struct Owner {
    user: u32,
    group: u32,
    /// The mode of a file, from the one that it has. Directories get 0750.
    files: fn(u32) -> u32,
}

impl Owner {
    /// Sets owner and mode of a path and everything below it. Links are not followed: their targets
    /// are handled where they lie.
    fn take(&self, path: &Path) -> Result<(), RuntimeError> {
        each_below(path, &mut |path, meta| {
            std::os::unix::fs::lchown(path, Some(self.user), Some(self.group))
                .map_err(io_error("give away", path))?;
            match (meta.is_symlink(), meta.is_dir()) {
                (true, _) => Ok(()),
                (false, true) => set_mode(path, 0o750),
                (false, false) => set_mode(path, (self.files)(meta.permissions().mode())),
            }
        })
    }
}

fn set_mode(path: &Path, mode: u32) -> Result<(), RuntimeError> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(io_error("open", path))
}

/// Calls `change` with `path` and everything below it. Links are not followed.
fn each_below(
    path: &Path,
    change: &mut dyn FnMut(&Path, &fs::Metadata) -> Result<(), RuntimeError>,
) -> Result<(), RuntimeError> {
    let meta = fs::symlink_metadata(path).map_err(io_error("read", path))?;
    change(path, &meta)?;
    if meta.is_dir() {
        for entry in fs::read_dir(path).map_err(io_error("read", path))? {
            each_below(&entry.map_err(io_error("read", path))?.path(), change)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("a path").permissions().mode() & 0o777
    }

    fn ids() -> (u32, u32) {
        (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw())
    }

    proptest! {
        /// As an ordinary user, stampede's own copy keeps the original's modes: PHP may write what
        /// the owner of the copy may.
        #[test]
        fn what_somebody_may_write_in_the_original_stays_writable(original in 0_u32..0o1000) {
            let place = tempfile::tempdir().expect("directory");
            let file = place.path().join("page.html");
            fs::write(&file, "x").expect("file");
            fs::set_permissions(&file, fs::Permissions::from_mode(original)).expect("mode");
            let (user, group) = ids();
            give_app_to_user(place.path(), &[], user, group).expect("given");
            prop_assert_eq!(mode(&file) & 0o200 != 0, original & 0o222 != 0);
            prop_assert_eq!(mode(&file) & 0o440, 0o440);
            prop_assert_eq!(mode(&file) & 0o007, 0, "others have no access");
            prop_assert_eq!(mode(&file) & 0o110, original & 0o110);
            prop_assert_eq!(mode(place.path()), 0o750);
        }
    }

    #[test]
    fn what_is_named_is_made_and_writable() {
        let place = tempfile::tempdir().expect("directory");
        fs::create_dir_all(place.path().join("data/deep")).expect("directory");
        let (own, other) = (place.path().join("data/deep/a"), place.path().join("b"));
        for file in [&own, &other] {
            fs::write(file, "x").expect("file");
            fs::set_permissions(file, fs::Permissions::from_mode(0o444)).expect("mode");
        }
        let (user, group) = ids();
        let writable = ["data".to_owned(), "new/one".to_owned()];
        give_app_to_user(place.path(), &writable, user, group).expect("given");
        assert_eq!((mode(&own), mode(&other)), (0o640, 0o440));
        assert!(place.path().join("new/one").is_dir());
    }

    #[test]
    fn a_link_is_not_followed() {
        let place = tempfile::tempdir().expect("directory");
        let (copy, out) = (place.path().join("copy"), place.path().join("out"));
        for directory in [copy.join("data/storage"), out.clone()] {
            fs::create_dir_all(&directory).expect("directory");
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o500)).expect("mode");
        }
        symlink("data/storage", copy.join("storage")).expect("link");
        symlink(&out, copy.join("var")).expect("link");
        let (user, group) = ids();
        give_app_to_user(&copy, &["storage".into(), "var".into()], user, group).expect("given");
        assert_eq!(mode(&copy.join("data/storage")), 0o750);
        assert_eq!(mode(&out), 0o500);
    }
}
