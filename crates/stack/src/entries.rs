//! Finds the front controllers of a project, and what of it cannot be read. Where several are
//! possible, they are offered by name.

use std::fs;
use std::path::Path;

/// The usual front controller.
pub(super) const INDEX: &str = "index.php";

/// The public directories of frameworks, hosts and control panels. They win over the directory
/// itself, which often has an `index.php`, too, for hosts that serve the whole directory.
const PUBLIC: [&str; 9] =
    ["public", "web", "webroot", "pub", "public_html", "htdocs", "httpdocs", "docroot", "wwwroot"];
/// Names that other directories have, too. They are public only if the directory itself has no
/// front controller.
const MAYBE_PUBLIC: [&str; 4] = ["www", "html", "p", "app/public"];

/// Where a project's front controller is looked for, in words for messages.
pub const LOOKED_FOR: &str = "`index.php` in a public directory (`public`, `web`, `htdocs`, `public_html`, `www` and others), or in \
     the directory itself";

/// The directories that are looked through for entries, below the project's own.
const DEPTH: usize = 3;
/// The most directories that are looked through, since a project may hold anything.
const DIRECTORIES_MAX: usize = 2_000;
/// Directories that hold no front controller of the project.
const NEVER: [&str; 8] =
    ["vendor", "node_modules", "tests", "test", "cache", "var", "storage", "templates"];

/// The public directories that are tried, in their order; `.` is the project's own.
pub(super) fn docroots() -> impl Iterator<Item = &'static str> {
    PUBLIC.into_iter().chain(["."]).chain(MAYBE_PUBLIC)
}

/// Whether `path` looks like an app: it has a file of Composer, an `app.yaml`, or a front
/// controller.
pub fn looks_like_app(path: &Path) -> bool {
    let has = |file: &str| path.join(file).is_file();
    has("composer.json")
        || has("app.yaml")
        || docroots().any(|docroot| path.join(docroot).join(INDEX).is_file())
}

/// Whether `path` may hold an app: it looks like one, or has PHP files that may be its front controller.
pub fn may_be_app(path: &Path) -> bool {
    looks_like_app(path) || !Entries::of(path).candidates(path).is_empty()
}

/// What a look through a project found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entries {
    /// Files with the usual name of a front controller, relative to the project: the nearest first.
    pub files: Vec<String>,
    /// Files and directories that cannot be read, relative to the project.
    pub unreadable: Vec<String>,
}

impl Entries {
    /// Looks through `path`. Links are not followed.
    pub fn of(path: &Path) -> Entries {
        let mut found = Entries::default();
        let mut level = vec![String::new()];
        let mut looked = 0;
        for _ in 0..=DEPTH {
            let mut next = Vec::new();
            for below in level {
                looked += 1;
                if looked <= DIRECTORIES_MAX {
                    found.look(path, &below, &mut next);
                }
            }
            next.sort();
            level = next;
        }
        found
    }

    /// What may be the front controller of a project `path` without a usual one: those that were
    /// found, then the PHP files of the directory itself.
    pub fn candidates(self, path: &Path) -> Vec<String> {
        let own = fs::read_dir(path).into_iter().flatten().flatten();
        let own = own.filter(|entry| entry.path().is_file());
        let own = own.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut own: Vec<String> =
            own.filter(|name| name.ends_with(".php") && !self.files.contains(name)).collect();
        own.sort();
        [self.files, own].concat()
    }

    fn look(&mut self, path: &Path, below: &str, next: &mut Vec<String>) {
        let directory = path.join(below);
        let Ok(entries) = fs::read_dir(&directory) else {
            self.unreadable.push(below.to_owned());
            return;
        };
        if directory.join(INDEX).is_file() {
            self.files.push(joined(below, INDEX));
        }
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_directory && !name.starts_with('.') && !NEVER.contains(&name.as_str()) {
                next.push(joined(below, &name));
            }
            if is_file && is_refused(&entry.path()) {
                self.unreadable.push(joined(below, &name));
            }
        }
    }
}

fn is_refused(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::READ_OK).is_err()
}

fn joined(below: &str, name: &str) -> String {
    if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[&str]) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("directory");
        for file in files {
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            fs::write(path, "<?php").expect("file");
        }
        place
    }

    #[test]
    fn the_nearest_front_controllers_come_first() {
        let place = project(&[
            "upload/index.php",
            "upload/admin/index.php",
            "docs/readme.php",
            "vendor/a/index.php",
            "a/b/c/d/index.php",
        ]);
        let found = Entries::of(place.path());
        assert_eq!(found.files, ["upload/index.php", "upload/admin/index.php"]);
        assert_eq!(found.unreadable, [] as [&str; 0]);
    }

    #[test]
    fn without_a_usual_front_controller_the_directorys_own_php_files_are_candidates() {
        for (files, expected) in [
            (&["shop.php", "a.php", "read.me", "src/b.php"][..], &["a.php", "shop.php"][..]),
            (&["upload/index.php", "lang.php"], &["upload/index.php", "lang.php"]),
            (&["read.me"], &[]),
        ] {
            let place = project(files);
            assert_eq!(Entries::of(place.path()).candidates(place.path()), expected, "{files:?}");
        }
    }

    #[test]
    fn each_name_that_people_use_is_a_public_directory() {
        for docroot in docroots() {
            let place = project(&[&format!("{docroot}/index.php")]);
            assert!(looks_like_app(place.path()), "{docroot}");
        }
        assert!(!looks_like_app(project(&["other/index.php"]).path()));
        assert!(may_be_app(project(&["other/index.php"]).path()));
        assert!(may_be_app(project(&["page.php"]).path()));
        assert!(!may_be_app(project(&["README.md"]).path()));
    }

    #[test]
    fn what_cannot_be_read_is_found() {
        use std::os::unix::fs::PermissionsExt;
        if rustix::process::getuid().is_root() {
            return;
        }
        let place = project(&["index.php", "secret/key", "closed.php"]);
        for path in ["secret", "closed.php"] {
            let closed = fs::Permissions::from_mode(0o000);
            fs::set_permissions(place.path().join(path), closed).expect("mode");
        }
        assert_eq!(Entries::of(place.path()).unreadable, ["closed.php", "secret"]);
    }
}
