//! Copies an app into a working directory. The app's own directory is only read. Nothing in the
//! copy leads back to it, nor to any other place outside the copy.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use stampede_linux::space;

use super::error::RuntimeError;
use super::process::user::{User, unprivileged};
use super::process::working_directory::may_enter;

/// What is never copied: a repository's history, packages of other languages and our own results.
/// PHP does not run them, and they are often the largest part.
const LEFT_OUT: [&str; 4] = [".git", "node_modules", ".hg", stampede_model::record::RESULTS];

/// Directories that are copied without their files. Cache files may contain the path of the
/// directory that they were made for, and would lead back there. Log files are from earlier times.
const EMPTIED: [&str; 8] = [
    "var/cache",
    "var/log",
    "storage/logs",
    "storage/framework/cache",
    "storage/framework/sessions",
    "storage/framework/views",
    "storage/framework/testing",
    "bootstrap/cache",
];

/// What becomes of whole paths into the app's directory in its settings files (`.env`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsPaths<'a> {
    /// They lead to the copy: for its readers it is at the app's own path.
    Kept,
    /// They are rewritten to the copy's path: those into the copied directory, and those into
    /// `home`, of which it is a copy itself.
    Rewritten {
        /// The directory of which the copied one is a copy; `None`: it is none.
        home: Option<&'a Path>,
    },
}

/// How names of settings files begin. They may name a database file by its full path.
const SETTINGS: &str = ".env";

/// Copies an app that is compiled into this program.
pub(super) fn extract(
    dir: &include_dir::Dir<'_>,
    root: &Path,
    to: &Path,
) -> Result<(), RuntimeError> {
    make_dir(&below(dir.path(), root, to))?;
    for file in dir.files() {
        let to = below(file.path(), root, to);
        fs::write(&to, file.contents()).map_err(io_error("write", &to))?;
    }
    dir.dirs().try_for_each(|sub| extract(sub, root, to))
}

fn below(path: &Path, root: &Path, to: &Path) -> PathBuf {
    to.join(path.strip_prefix(root).unwrap_or(path))
}

/// Copies a directory of the user. A link that leads out of the directory is replaced by a copy of
/// its target. A link that PHP's user made to what this user may not read, a link to a directory that contains it, or to nothing, is left out. So is what
/// `exclude` names, relative to `root`.
pub(super) fn all(
    root: &Path,
    to: &Path,
    exclude: &[String],
    settings: SettingsPaths<'_>,
) -> Result<(), RuntimeError> {
    let real = fs::canonicalize(root).map_err(io_error("read", root))?;
    let emptied = EMPTIED.iter().filter_map(|sub| fs::canonicalize(real.join(sub)).ok()).collect();
    let (within, user) = (vec![real.clone()], unprivileged());
    let mut copying = TreeCopy { root: &real, to, emptied, exclude, settings, within, user };
    copying.directory(&real, to)
}

/// Copies these files and directories of `root` to the same places below `to`, in the way of
/// [`all`]. Whatever is never copied is skipped.
pub fn some(
    root: &Path,
    to: &Path,
    places: &[PathBuf],
    settings: SettingsPaths<'_>,
) -> Result<(), RuntimeError> {
    let real = fs::canonicalize(root).map_err(io_error("read", root))?;
    let (emptied, within, user) = (Vec::new(), vec![real.clone()], unprivileged());
    let mut copying = TreeCopy { root: &real, to, emptied, exclude: &[], settings, within, user };
    let copy = to;
    for place in places.iter().filter(|place| !is_left_out(place)) {
        let (from, to) = (real.join(place), to.join(place));
        let kind = fs::symlink_metadata(&from).map_err(io_error("read", &from))?.file_type();
        check_no_link_on_way(place, copy)?;
        make_dir(to.parent().unwrap_or(&to))?;
        if kind.is_symlink() {
            copying.link(&from, &to, false)?;
        } else if kind.is_dir() {
            copying.directory(&from, &to)?;
        } else if kind.is_file() {
            copying.file(&from, &to)?;
        }
    }
    Ok(())
}

/// Checks that no directory on the way to `place` below `to` is a link. The other version may have
/// a link there that leads out of the copy.
fn check_no_link_on_way(place: &Path, to: &Path) -> Result<(), RuntimeError> {
    let above = place.ancestors().skip(1).filter(|directory| !directory.as_os_str().is_empty());
    let link = above.into_iter().find(|directory| to.join(directory).is_symlink());
    match link {
        Some(link) => {
            Err(RuntimeError::ThroughLink { place: place.to_owned(), link: link.to_owned() })
        }
        None => Ok(()),
    }
}

/// Whether a file or directory is never copied, by its name.
pub fn is_left_out(place: &Path) -> bool {
    LEFT_OUT.iter().any(|name| place.file_name().is_some_and(|own| own == *name))
}

/// Rewrites full paths below `root` in the settings files of `directory`, which is a part of the
/// copy `to`. They then name the same places of the copy. For copies that git made, whose settings
/// still name the original directory.
pub fn rewrite_settings_paths(
    directory: &Path,
    root: &Path,
    to: &Path,
) -> Result<(), RuntimeError> {
    let real = fs::canonicalize(root).map_err(io_error("read", root))?;
    let entries = fs::read_dir(directory).map_err(io_error("read", directory))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(SETTINGS) && path.is_file() && !path.is_symlink() {
            let text = fs::read_to_string(&path).ok();
            let Some(led) = text.and_then(|text| with_moved_paths(&text, &real, to)) else {
                continue;
            };
            fs::write(&path, led).map_err(io_error("write", &path))?;
        }
    }
    Ok(())
}

struct TreeCopy<'a> {
    /// The app's directory, with links resolved.
    root: &'a Path,
    to: &'a Path,
    /// The real paths of the directories that are copied without their files, also behind links.
    emptied: Vec<PathBuf>,
    /// Paths that are left out, relative to the app's directory.
    exclude: &'a [String],
    settings: SettingsPaths<'a>,
    /// The directories to which links have led on the way here; the app's own directory is the
    /// first.
    within: Vec<PathBuf>,
    /// The user that PHP runs as, where stampede is root.
    user: Option<User>,
}

impl TreeCopy<'_> {
    /// Whether a link may be followed to `real`, out of the app's directory. On many servers PHP's user
    /// may create links in it. Root follows those only to what this user may read anyway.
    fn may_follow(&self, link: &Path, real: &Path) -> bool {
        let Some(user) = &self.user else { return true };
        let is_of_user = fs::symlink_metadata(link).is_ok_and(|meta| meta.uid() == user.uid);
        !is_of_user || may_read(real, user)
    }

    /// Whether the user left out what would be copied to `to`.
    fn is_excluded(&self, to: &Path) -> bool {
        let place = to.strip_prefix(self.to).unwrap_or(to);
        self.exclude.iter().any(|exclude| place == Path::new(exclude))
    }

    fn directory(&mut self, from: &Path, to: &Path) -> Result<(), RuntimeError> {
        make_dir(to)?;
        let place = to.strip_prefix(self.to).unwrap_or(to);
        let without_files = EMPTIED.iter().any(|emptied| place.starts_with(emptied))
            || self.emptied.iter().any(|emptied| from.starts_with(emptied));
        for entry in fs::read_dir(from).map_err(io_error("read", from))? {
            let entry = entry.map_err(io_error("read", from))?;
            let (path, to) = (entry.path(), to.join(entry.file_name()));
            // If TMPDIR is inside the app, the copy itself is among the entries.
            if is_left_out(&path) || is_working_directory(&path, &to) || self.is_excluded(&to) {
                continue;
            }
            let kind = entry.file_type().map_err(io_error("read", &path))?;
            if kind.is_symlink() {
                self.link(&path, &to, without_files)?;
            } else if kind.is_dir() {
                self.directory(&path, &to)?;
            } else if kind.is_file() && !without_files {
                self.file(&path, &to)?;
            }
            // Sockets, pipes and devices are skipped: they are no part of an app.
        }
        Ok(())
    }

    fn file(&self, from: &Path, to: &Path) -> Result<(), RuntimeError> {
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        let text = || name.starts_with(SETTINGS).then(|| fs::read_to_string(from).ok()).flatten();
        let moved = match self.settings {
            SettingsPaths::Kept => None,
            SettingsPaths::Rewritten { home } => text().and_then(|text| {
                let moved = with_moved_paths(&text, self.root, self.to);
                let text = moved.as_deref().unwrap_or(&text);
                let again = home.and_then(|home| with_moved_paths(text, home, self.to));
                again.or(moved)
            }),
        };
        let Some(moved) = moved else {
            return fs::copy(from, to).map(drop).map_err(|source| copy_error(from, to, source));
        };
        fs::write(to, moved).map_err(io_error("write", to))?;
        let meta = fs::metadata(from).map_err(io_error("read", from))?;
        fs::set_permissions(to, meta.permissions()).map_err(io_error("write", to))
    }

    fn link(&mut self, from: &Path, to: &Path, without_files: bool) -> Result<(), RuntimeError> {
        let Ok(real) = fs::canonicalize(from) else { return Ok(()) };
        if let Ok(relative_to_root) = real.strip_prefix(self.root) {
            let place = to.strip_prefix(self.to).unwrap_or(to);
            let up = place.components().count().saturating_sub(1);
            let target: PathBuf = std::iter::repeat_n("..", up).collect();
            return symlink(target.join(relative_to_root), to).map_err(io_error("copy", from));
        }
        if !self.may_follow(from, &real) {
            return Ok(());
        }
        if real.is_file() && !without_files {
            return self.file(&real, to);
        }
        if !real.is_dir() || self.within.iter().any(|directory| directory.starts_with(&real)) {
            return Ok(());
        }
        self.within.push(real.clone());
        self.directory(&real, to)?;
        self.within.pop();
        Ok(())
    }
}

/// Whether the user may read a file or a directory, and pass all directories above it.
fn may_read(path: &Path, user: &User) -> bool {
    let may_enter = |directory: &Path| may_enter(directory, user).unwrap_or(false);
    let is_readable = fs::metadata(path).is_ok_and(|meta| {
        let bits = match meta.mode() {
            mode if meta.uid() == user.uid => mode >> 6,
            mode if meta.gid() == user.gid => mode >> 3,
            mode => mode,
        };
        bits & 0o4 != 0 && (!meta.is_dir() || may_enter(path))
    });
    is_readable && path.ancestors().skip(1).all(may_enter)
}

/// Whether `path` is the working directory that contains `to`.
fn is_working_directory(path: &Path, to: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("stampede-") && to.starts_with(path)
}

/// Returns `text` with full paths that lie in `root`, also through links, replaced by paths below
/// `to`; `None`: there are none.
fn with_moved_paths(text: &str, root: &Path, to: &Path) -> Option<String> {
    let mut led = String::with_capacity(text.len());
    let (mut rest, mut has_moved) = (text, false);
    while let Some(begin) = rest.find('/') {
        led.push_str(&rest[..begin]);
        let ends = |c: char| c.is_whitespace() || "\"'`?#;,|&<>".contains(c);
        let length = rest[begin..].find(ends).unwrap_or(rest.len() - begin);
        let path = &rest[begin..begin + length];
        // The `/` in `src/x` begins no full path. Further slashes at the start, as in a URL, are
        // kept.
        let is_whole = !led.ends_with(|c: char| c.is_alphanumeric() || "._-~$}".contains(c));
        let slashes = path.len() - path.trim_start_matches('/').len();
        match relative_to_root(path, root).filter(|_| is_whole) {
            Some(place) => {
                led.push_str(&path[..slashes - 1]);
                let place: PathBuf = to.components().chain(place.components()).collect();
                led.push_str(&place.display().to_string());
                has_moved = true;
            }
            None => led.push_str(path),
        }
        rest = &rest[begin + length..];
    }
    led.push_str(rest);
    has_moved.then_some(led)
}

/// The place of `path` below `root`; `None`: it is elsewhere. The path need not exist yet.
fn relative_to_root(path: &str, root: &Path) -> Option<PathBuf> {
    let path = Path::new(path);
    let mut there = path.ancestors();
    let (real, known) = there.find_map(|part| Some((fs::canonicalize(part).ok()?, part)))?;
    let place = real.strip_prefix(root).ok()?;
    // Not `join`: it would turn an empty end into a trailing slash.
    Some(place.components().chain(path.strip_prefix(known).ok()?.components()).collect())
}

pub fn make_dir(path: &Path) -> Result<(), RuntimeError> {
    fs::create_dir_all(path).map_err(io_error("create", path))
}

/// The error of a copy. A full disk is that of the copy, not of what was read.
pub fn copy_error(from: &Path, to: &Path, source: io::Error) -> RuntimeError {
    match space::is_of_disk(source.kind()) {
        true => io_error("write", to)(source),
        false => io_error("copy", from)(source),
    }
}

pub fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RuntimeError {
    let path = path.to_path_buf();
    move |source| RuntimeError::Io { what, path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn copied_links_lead_to_the_same_files_and_never_out_of_the_copy() {
        let place = tempfile::tempdir().unwrap();
        let (app, copied) = (place.path().join("app"), place.path().join("deep/er/copy"));
        for (file, text) in [
            ("shared.txt", "out"),
            ("app/inside.txt", "in"),
            ("app/public/index.php", "<?php"),
            ("common/storage/data.txt", "kept"),
            ("common/storage/logs/laravel.log", "old"),
        ] {
            write(&place.path().join(file), text);
        }
        symlink("../../shared.txt", app.join("public/out")).unwrap();
        symlink("../inside.txt", app.join("public/in")).unwrap();
        symlink(app.join("inside.txt"), app.join("public/absolute")).unwrap();
        symlink("nowhere", app.join("public/dangling")).unwrap();
        symlink("../common/storage", app.join("storage")).unwrap();
        symlink(place.path(), app.join("public/above")).unwrap();
        symlink(place.path().join("common"), place.path().join("common/storage/round")).unwrap();
        all(&app, &copied, &[], SettingsPaths::Rewritten { home: None }).unwrap();
        fs::remove_file(app.join("inside.txt")).unwrap();
        fs::remove_dir_all(place.path().join("common")).unwrap();
        fs::remove_file(place.path().join("shared.txt")).unwrap();
        for (link, text) in [
            ("public/out", "out"),
            ("public/in", "in"),
            ("public/absolute", "in"),
            ("storage/data.txt", "kept"),
        ] {
            assert_eq!(fs::read_to_string(copied.join(link)).unwrap(), text, "{link}");
        }
        for gone in ["public/dangling", "public/above", "storage/logs/laravel.log"] {
            assert!(fs::symlink_metadata(copied.join(gone)).is_err(), "{gone}");
        }
        assert!(copied.join("storage/logs").is_dir());
    }

    /// Root must not read for PHP's user what this user may not read.
    #[test]
    fn a_link_that_the_user_of_php_made_leads_only_to_what_this_user_may_read() {
        let Some(user) = unprivileged() else {
            return println!("SKIPPED: only root runs PHP as another user");
        };
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(place.path(), 0o755);
        let (app, copied) = (place.path().join("app"), place.path().join("copy"));
        write(&app.join("index.php"), "<?php");
        for (name, bits) in [("open", 0o644), ("closed", 0o600), ("shut/in", 0o644)] {
            let file = place.path().join(name);
            write(&file, name);
            mode(&file, bits);
        }
        mode(&place.path().join("shut"), 0o700);
        for name in ["open", "closed", "shut/in", "shut"] {
            let target = place.path().join(name);
            for (whose, owner) in [("own", 0), ("php", user.uid)] {
                let link = app.join(format!("{whose}-{}", name.replace('/', "-")));
                symlink(&target, &link).unwrap();
                std::os::unix::fs::lchown(&link, Some(owner), None).unwrap();
            }
        }
        all(&app, &copied, &[], SettingsPaths::Kept).unwrap();
        let mut names: Vec<String> = fs::read_dir(&copied)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let expected =
            ["index.php", "own-closed", "own-open", "own-shut", "own-shut-in", "php-open"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_full_disk_is_named_and_not_the_file_that_was_read() {
        let place = tempfile::tempdir().unwrap();
        let (app, disk) = (place.path().join("app"), place.path().join("disk"));
        write(&app.join("large"), &"x".repeat(1 << 20));
        fs::create_dir(&disk).unwrap();
        stampede_testing::small_disk::with_small_disk(&disk, 128 << 10, || {
            let error = all(&app, &disk.join("copy"), &[], SettingsPaths::Kept).unwrap_err();
            let named = format!("cannot write `{}`", disk.join("copy/large").display());
            assert_eq!(error.to_string(), named);
            let hint = error.hint().expect("what to do");
            let disk = fs::canonicalize(&disk).unwrap_or(disk.clone());
            assert!(hint.contains(&format!("the file system at `{}`", disk.display())), "{hint}");
        });
    }

    #[test]
    fn nothing_is_copied_through_a_link_of_the_copy() {
        let place = tempfile::tempdir().unwrap();
        let (app, copied, out) =
            (place.path().join("app"), place.path().join("copy"), place.path().join("out"));
        write(&app.join("a/var/x"), "secret");
        write(&app.join("b/y"), "fine");
        fs::create_dir_all(copied.join("a")).unwrap();
        fs::create_dir(&out).unwrap();
        for target in [out.clone(), place.path().join("nowhere"), PathBuf::from(".")] {
            symlink(&target, copied.join("a/var")).unwrap();
            {
                let error =
                    some(&app, &copied, &["b/y".into(), "a/var/x".into()], SettingsPaths::Kept)
                        .unwrap_err();
                assert!(
                    matches!(&error, RuntimeError::ThroughLink { link, .. } if link == Path::new("a/var")),
                    "{error:?}"
                );
            }
            fs::remove_file(copied.join("a/var")).unwrap();
        }
        assert!(
            fs::read_dir(&out).unwrap().next().is_none() && !place.path().join("nowhere").exists()
        );
        assert_eq!(fs::read_to_string(copied.join("b/y")).unwrap(), "fine");
    }

    #[test]
    fn paths_in_settings_are_rewritten_to_the_copy() {
        let place = tempfile::tempdir().unwrap();
        let at = fs::canonicalize(place.path()).unwrap();
        let (app, copied) = (at.join("releases/5"), at.join("copy"));
        write(&app.join("notes.txt"), "");
        write(&at.join("releases/50/x"), "");
        symlink("releases/5", at.join("current")).unwrap();
        let text = |app: &Path| {
            format!(
                "A=sqlite:///{0}/var/data.db?x=1\nB=\"{0}\"\nC={0}/new/one.db\nD={1}0/x\n\
                 E=https://a.example/b/c\nF=src{0}/var\nG=/etc/hosts\n",
                app.display(),
                at.join("releases/5").display(),
            )
        };
        let led = text(&copied).replace(&format!("src{}", copied.display()), "src@");
        for named in ["releases/5", "current"] {
            let named = at.join(named);
            write(&app.join(".env.local"), &text(&named));
            fs::set_permissions(app.join(".env.local"), fs::Permissions::from_mode(0o400)).unwrap();
            all(&app, &copied, &[], SettingsPaths::Rewritten { home: None }).unwrap();
            let seen = fs::read_to_string(copied.join(".env.local")).unwrap();
            assert_eq!(seen.replace(&format!("src{}", named.display()), "src@"), led);
            fs::remove_dir_all(&copied).unwrap();
            fs::remove_file(app.join(".env.local")).unwrap();
        }
    }

    #[test]
    fn caches_behind_a_link_are_copied_without_their_files_too() {
        let place = tempfile::tempdir().unwrap();
        let (app, copied) = (place.path().join("app"), place.path().join("copy"));
        write(&app.join("data/storage/logs/laravel.log"), "old");
        write(&app.join("data/storage/kept.txt"), "kept");
        symlink("data/storage", app.join("storage")).unwrap();
        all(&app, &copied, &[], SettingsPaths::Rewritten { home: None }).unwrap();
        assert!(!copied.join("storage/logs/laravel.log").exists());
        assert!(copied.join("storage/kept.txt").exists());
    }

    #[test]
    fn caches_and_logs_are_copied_without_their_files() {
        let place = tempfile::tempdir().unwrap();
        let (app, copied) = (place.path().join("app"), place.path().join("copy"));
        let left = ["var/cache/prod/App_Kernel.php", "bootstrap/cache/config.php", "var/log/a.log"];
        let kept = ["var/data.db", "bootstrap/app.php", "storage/app/file.txt", "src/var/cache/x"];
        left.iter().chain(&kept).for_each(|file| write(&app.join(file), "text"));
        all(&app, &copied, &[], SettingsPaths::Rewritten { home: None }).unwrap();
        left.iter().for_each(|file| assert!(!copied.join(file).exists(), "{file}"));
        kept.iter().for_each(|file| assert!(copied.join(file).exists(), "{file}"));
        assert!(copied.join("var/cache/prod").is_dir());
    }
}
