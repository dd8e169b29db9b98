//! Finds files of an app that name the app's own directory by its whole path.

use std::path::Path;

use crate::files;

/// Files that lead to the app's own directory, wherever a copy of them is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPaths {
    /// The first such file, relative to the directory.
    pub file: String,
    /// The number of its line, from 1.
    pub line: u32,
    /// The number of such files.
    pub files: u64,
}

/// How deep directories are looked into.
const DEPTH: usize = 8;
/// Directories of other people's packages and of what programs made.
const NEVER: [&str; 3] = ["node_modules", "vendor", "cache"];

/// The files in `root` that name the directory `home` by its whole path; `None`: there are none.
pub fn own_paths(root: &Path, home: &Path) -> Option<OwnPaths> {
    let home = home.to_str().filter(|home| home.len() > 1)?;
    let mut found: Option<OwnPaths> = None;
    files::each(root, &NEVER, DEPTH, &mut |name, path| {
        let Some(text) = files::text(path) else { return };
        let Some(line) = (1..).zip(text.lines()).find(|(_, line)| names(line, home)) else {
            return;
        };
        let first = OwnPaths { file: name.to_owned(), line: line.0, files: 0 };
        found.get_or_insert(first).files += 1;
    });
    found
}

/// Whether a line has the path `home`, and no longer name of another directory.
fn names(line: &str, home: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "._-~".contains(c);
    line.match_indices(home).any(|(begin, _)| {
        !line[..begin].ends_with(is_part) && !line[begin + home.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_and_their_number_are_found() {
        let place = tempfile::tempdir().expect("directory");
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            std::fs::write(path, text).expect("file");
        };
        write("index.php", "<?php require '/srv/shop-old/a.php'; require 'x/srv/shop/b.php';");
        write("vendor/a.php", "/srv/shop/");
        let home = Path::new("/srv/shop");
        assert_eq!(own_paths(place.path(), home), None);
        write("b/config.php", "<?php\n\nconst DIR = '/srv/shop/';");
        write("b/c/settings.yml", "dir: /srv/shop\n");
        let found = own_paths(place.path(), home);
        assert_eq!(found, Some(OwnPaths { file: "b/config.php".into(), line: 3, files: 2 }));
    }
}
