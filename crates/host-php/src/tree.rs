//! Reads files below a root directory, within bounds, and remembers those that could not be read.
//!
//! Paths are the machine's: `/etc/php.ini` is `ROOT/etc/php.ini`. Links are followed; a link with an
//! absolute target inside a made-up tree is taken as a path below the root.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

/// A file that is there and could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Unreadable {
    /// The path on the machine.
    pub file: String,
    /// The system's reason.
    pub why: String,
}

/// The most bytes of one file. A php.ini with all its comments has 75 KB.
const BYTES_MAX: u64 = 1 << 20;
/// The most files that are read in all. A server with hundreds of sites has about so many.
const FILES_MAX: usize = 2_000;
/// The most steps of links to one file, as Linux allows (`path_resolution(7)`).
const LINKS_MAX: usize = 40;

/// The files below a root directory.
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    unreadable: RefCell<Vec<Unreadable>>,
    read: Cell<usize>,
}

impl Tree {
    pub fn new(root: &Path) -> Tree {
        let (unreadable, read) = (RefCell::default(), Cell::new(0));
        Tree { root: root.to_owned(), unreadable, read }
    }

    /// The files that could not be read so far, each once.
    pub fn into_unreadable(self) -> Vec<Unreadable> {
        let mut all = self.unreadable.into_inner();
        all.sort();
        all.dedup();
        all
    }

    /// Where a path of the machine really is. Links of a made-up tree stay inside it.
    fn real(&self, path: &str) -> PathBuf {
        let mut path = below(&self.root, Path::new(path));
        for _ in 0..LINKS_MAX {
            let Ok(target) = fs::read_link(&path) else { break };
            path = match target.is_absolute() {
                true => below(&self.root, &target),
                false => path.parent().unwrap_or(&self.root).join(target),
            };
        }
        path
    }

    /// The text of a file; `None`: it is not there, or could not be read, which is remembered.
    pub fn text(&self, path: &str) -> Option<String> {
        if self.read.get() >= FILES_MAX {
            return None;
        }
        let real = self.real(path);
        let read = || {
            let file = fs::File::open(&real)?;
            // A pipe or a device could block, or never end.
            if !file.metadata()?.is_file() {
                return Err(ErrorKind::InvalidInput.into());
            }
            let mut bytes = Vec::new();
            file.take(BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        if fs::metadata(&real).is_ok_and(|found| !found.is_file()) {
            return None;
        }
        let result: std::io::Result<Vec<u8>> = read();
        match result {
            Ok(bytes) => {
                self.read.set(self.read.get() + 1);
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            Err(error) => {
                self.remember(path, &error);
                None
            }
        }
    }

    fn remember(&self, path: &str, error: &std::io::Error) {
        if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory {
            let (file, why) = (path.to_owned(), error.kind().to_string());
            self.unreadable.borrow_mut().push(Unreadable { file, why });
        }
    }

    /// The names in a directory, sorted as PHP, nginx and Apache read them.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = match fs::read_dir(self.real(directory)) {
            Ok(entries) => entries,
            Err(error) => {
                self.remember(directory, &error);
                return Vec::new();
            }
        };
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
        names.sort();
        names
    }

    pub fn is_dir(&self, path: &str) -> bool {
        self.real(path).is_dir()
    }

    pub fn is_file(&self, path: &str) -> bool {
        self.real(path).is_file()
    }

    /// The paths that a pattern of the shell names, with `*`, `?` and `[…]` in any part of it.
    pub fn glob(&self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            let is_plain = !part.contains(['*', '?', '[']);
            found = found
                .iter()
                .flat_map(|directory| match is_plain {
                    true => vec![format!("{directory}/{part}")],
                    false => {
                        let shown = if directory.is_empty() { "/" } else { directory };
                        let names = self.names(shown).into_iter();
                        let fits = names.filter(|name| {
                            matches(part.as_bytes(), name.as_bytes())
                                && name.starts_with('.') <= part.starts_with('.')
                        });
                        fits.map(|name| format!("{directory}/{name}")).collect()
                    }
                })
                .take(FILES_MAX)
                .collect();
        }
        found
    }
}

/// `path` below `root`. What leads above the root stays in it.
fn below(root: &Path, path: &Path) -> PathBuf {
    let mut all = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => all.push(name),
            Component::ParentDir => {
                all.pop();
            }
            _ => {}
        }
    }
    all.iter().fold(root.to_owned(), |path, name| path.join(name))
}

/// Whether a name fits a pattern with `*`, `?` and `[…]`.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        (Some((b'?', rest)), Some((_, tail))) => matches(rest, tail),
        (Some((b'[', rest)), Some((first, tail))) => {
            let Some(end) = rest.iter().skip(1).position(|byte| *byte == b']') else {
                return *first == b'[' && matches(rest, tail);
            };
            let (set, rest) = (&rest[..=end], &rest[end + 2..]);
            let (is_not, set) = match set.split_first() {
                Some((b'!' | b'^', set)) => (true, set),
                _ => (false, set),
            };
            let in_range =
                |three: &[u8]| three[1] == b'-' && three[0] <= *first && *first <= three[2];
            let is_in = set.contains(first) || set.windows(3).any(in_range);
            is_in != is_not && matches(rest, tail)
        }
        (Some((byte, rest)), Some((first, tail))) => byte == first && matches(rest, tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_the_shell() {
        for (pattern, name, fits) in [
            ("*.conf", "www.conf", true),
            ("*.conf", "www.conf.bak", false),
            ("[^.]*", "default", true),
            ("[^.]*", ".hidden", false),
            ("20-?bm.ini", "20-gbm.ini", true),
            ("php[78].[0-4]", "php8.3", true),
            ("php[78].[0-4]", "php8.5", false),
            ("[", "[", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn links_of_a_made_up_tree_stay_inside() {
        let root = tempfile::tempdir().unwrap();
        let etc = root.path().join("etc");
        fs::create_dir_all(etc.join("php/conf.d")).unwrap();
        fs::write(etc.join("a.ini"), "a=1").unwrap();
        std::os::unix::fs::symlink("/etc/a.ini", etc.join("php/conf.d/10-a.ini")).unwrap();
        std::os::unix::fs::symlink("../../a.ini", etc.join("php/conf.d/20-a.ini")).unwrap();
        let tree = Tree::new(root.path());
        assert_eq!(
            tree.glob("/etc/php/conf.d/*.ini"),
            ["/etc/php/conf.d/10-a.ini", "/etc/php/conf.d/20-a.ini"]
        );
        for name in ["10-a.ini", "20-a.ini"] {
            assert_eq!(tree.text(&format!("/etc/php/conf.d/{name}")).as_deref(), Some("a=1"));
        }
        assert_eq!(tree.text("/etc/none.ini"), None);
        assert_eq!(tree.text("/etc/php"), None, "a directory");
        assert_eq!(tree.into_unreadable(), []);
    }
}
