//! What a program or library that is looked for has to fit: the versions of PHP that are allowed, and
//! the shared library to which a module is linked, by the names of libraries in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use super::{Cache, Need, PhpRequirements, cached, name_of, texts_with, version};

/// What a file that is looked for has to fit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fitting<'a> {
    /// The versions of PHP that are allowed; `None`: any.
    pub required: Option<&'a PhpRequirements>,
    /// The PHP that an extension is for.
    pub php: Option<&'a Path>,
    /// Files of which one has to be linked to this one; empty: there are none.
    pub linkers: Vec<PathBuf>,
    /// The library to which it has to be linked.
    pub library: Option<&'a Path>,
}

impl Fitting<'_> {
    /// Whether a PHP is one that is allowed. Nothing is started where any is.
    pub(super) fn has_version(&self, path: &Path, need: &Need) -> bool {
        let Some(required) = self.required.filter(|one| !one.of_packages.is_empty()) else {
            return true;
        };
        version(path, need, None).is_ok_and(|version| required.refused_by(&version).is_none())
    }

    pub(super) fn is_linked(&self, path: &Path) -> bool {
        (self.linkers.is_empty() || self.linkers.iter().any(|file| is_linked(file, path)))
            && self.library.is_none_or(|library| is_linked(path, library))
    }
}

/// Whether `file` is linked to `library`: what it asks for, such as `libphp.so`, leads to this file
/// where the library is. A file that names no such library may have it built in, so it fits.
fn is_linked(file: &Path, library: &Path) -> bool {
    let Ok(real) = library.canonicalize() else { return false };
    let leads_there = |name: &String| {
        library.with_file_name(name).canonicalize().is_ok_and(|wanted| wanted == real)
    };
    let name = name_of(library);
    let wanted = wanted(file, stem(&name));
    wanted.is_empty() || wanted.iter().any(leads_there)
}

/// The name of a library without its version: `libphp` of `libphp8.2.so`.
fn stem(name: &str) -> &str {
    name.split(|c: char| c == '.' || c.is_ascii_digit()).next().unwrap_or(name)
}

/// The names of libraries with this stem that a file asks for.
fn wanted(file: &Path, stem: &str) -> BTreeSet<String> {
    static KNOWN: Cache<BTreeSet<String>> = LazyLock::new(Mutex::default);
    let is_one = |text: &&str| {
        let rest = text.strip_prefix(stem).and_then(|rest| rest.split_once(".so"));
        rest.is_some_and(|(version, _)| {
            version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        })
    };
    cached(&KNOWN, file, || {
        let bytes = std::fs::read(file).unwrap_or_default();
        texts_with(&bytes, stem).filter(is_one).map(str::to_owned).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locate::SearchPaths;

    #[test]
    fn the_library_of_a_module_is_the_one_that_it_is_linked_to() {
        let place = tempfile::tempdir().expect("directory");
        let path = |name: &str| place.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("file");
        for version in ["8.2", "8.4"] {
            write(&format!("libphp{version}.so"), &format!("\0X-Powered-By: PHP/{version}.1\0"));
        }
        std::os::unix::fs::symlink("libphp8.2.so", path("libphp.so")).expect("link");
        write("old.so", "\0libphp.so\0libphpx.so\0");
        write("php8.2.unit.so", "\0libphp8.2.so\0");
        write("php8.4.unit.so", "\0libc.so.6\0libphp8.4.so\0");
        write("static.so", "\0libc.so.6\0");
        let is = |file: &str, library: &str| is_linked(&path(file), &path(library));
        assert!(is("old.so", "libphp8.2.so") && is("old.so", "libphp.so"));
        assert!(!is("old.so", "libphp8.4.so") && is("php8.4.unit.so", "libphp8.4.so"));
        assert!(is("static.so", "libphp8.2.so") && is("static.so", "libphp8.4.so"));

        let library = Need {
            files: vec![path("libphp*.so").display().to_string()],
            version_in_file: Some("X-Powered-By: PHP/".into()),
            ..Need::default()
        };
        let module = |pattern: &str| Need {
            files: vec![path(pattern).display().to_string()],
            links: Some("libphp".into()),
            ..Need::default()
        };
        let found = |pattern: &str, asked: &str| {
            let needs =
                [("libphp".into(), library.clone()), ("php".into(), module(pattern))].into();
            let of_packages = vec![("composer.json".to_owned(), asked.to_owned())];
            let required = PhpRequirements { of_packages, are_checked: false };
            let places = SearchPaths::default();
            let (found, missing) =
                places.find_each(&needs, Some("libphp"), &[].into(), &required).expect("found");
            assert_eq!(missing, [""; 0]);
            [&found["libphp"], &found["php"]].map(|one| name_of(&one.path)).join(" ")
        };
        assert_eq!(found("php*.unit.so", "^8.0"), "libphp8.4.so php8.4.unit.so");
        assert_eq!(found("php*.unit.so", "~8.2.0"), "libphp8.2.so php8.2.unit.so");
        assert_eq!(found("php8.2.unit.so", "^8.4"), "libphp8.2.so php8.2.unit.so");
        let found_old = found("old.so", "^8.4");
        assert!(!found_old.starts_with("libphp8.4"), "not said to serve: {found_old}");
        assert_eq!(found("static.so", "^8.0"), "libphp8.4.so static.so");
    }
}
