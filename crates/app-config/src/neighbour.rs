//! Tells the files of an app from those of other projects beside it, in a directory of many.

use std::path::{Component, Path};

/// Files that say: this directory is a project of its own.
const MANIFESTS: [&str; 7] = [
    "composer.json",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "Cargo.toml",
    "Gemfile",
    "artisan",
];
/// Files that say that the directory above its subdirectories is an app itself, whose parts these
/// are.
const OF_AN_APP: [&str; 3] = ["composer.json", "index.php", "artisan"];

/// Whether `file` is part of another project than the app that answers from `docroot`: a directory
/// around it has a manifest of its own and is not around the docroot, and `root` is no project. Both
/// paths are relative to `root`.
pub fn is_neighbours(root: &Path, docroot: &Path, file: &Path) -> bool {
    let has = |directory: &Path, names: &[&str]| {
        names.iter().any(|name| root.join(directory).join(name).is_file())
    };
    let is_root = docroot.components().all(|part| part == Component::CurDir);
    let around = file.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    !is_root
        && !has(Path::new(""), &OF_AN_APP)
        && around.into_iter().any(|above| !docroot.starts_with(above) && has(above, &MANIFESTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_many_projects_is_told_from_an_app_with_parts() {
        let place = tempfile::tempdir().expect("directory");
        let write = |name: &str| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            std::fs::write(path, "").expect("file");
        };
        [
            "bun/package.json",
            "bun/src/.env",
            "shop/composer.json",
            "shop/config/db.php",
            "lib/db.php",
        ]
        .into_iter()
        .for_each(write);
        let is = |docroot: &str, file: &str| {
            is_neighbours(place.path(), Path::new(docroot), Path::new(file))
        };
        assert!(is("shop/public", "bun/src/.env"));
        assert!(!is("shop/public", "shop/config/db.php") && !is("shop", "shop/config/db.php"));
        // Nobody says whose it is, so it may be the app's.
        assert!(!is("shop/public", "lib/db.php"));
        assert!(is("blog", "bun/src/.env") && is("blog", "shop/config/db.php"));
        assert!(!is(".", "bun/src/.env") && !is("", "bun/src/.env"));
        write("composer.json");
        assert!(!is("shop/public", "bun/src/.env"), "a part of the app");
    }
}
