//! Reads the project's text files once. The rules of `tidy` see nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// The beginning of a test module. `#[cfg(test)]` on a single item does not make the rest a test.
const TESTS_BEGIN: &str = "\n#[cfg(test)]\nmod tests {\n";

/// One text file.
pub struct File {
    /// The path below the workspace, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl File {
    /// The part of the name after the last dot; empty without a dot.
    pub fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether the directory or the name marks the file as a test.
    pub fn is_test(&self) -> bool {
        let stem = self.name().split('.').next().unwrap_or_default();
        self.path.split('/').any(|part| part == "tests")
            || stem == "tests"
            || stem.ends_with("_tests")
            || self.name().contains(".test.")
            || self.name().contains(".spec.")
    }

    /// The text without the tests at the end of a Rust file.
    pub fn code(&self) -> &str {
        let tests = if self.extension() == "rs" { self.text.find(TESTS_BEGIN) } else { None };
        tests.map_or(&self.text, |at| &self.text[..=at])
    }

    /// The lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All files of the project, and the paths of files that are not text.
#[derive(Default)]
pub struct Tree {
    files: Vec<File>,
    paths: BTreeSet<String>,
}

impl Tree {
    /// Reads all files below a directory that its `.gitignore` does not name.
    ///
    /// # Errors
    /// If a file or directory cannot be read.
    pub fn read(root: &Path) -> io::Result<Tree> {
        let ignored = Ignored::parse(&fs::read_to_string(root.join(".gitignore"))?);
        let mut tree = Tree::default();
        let mut directories = vec![String::new()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(root.join(&directory))? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
                if path == ".git" || ignored.names(&path) {
                    continue;
                }
                // Links are not followed: the target is checked under its own path, or is not ours.
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    directories.push(path);
                } else if kind.is_file() {
                    tree.add(path, fs::read(entry.path())?);
                }
            }
        }
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A tree made of the given files, for tests.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.add((*path).to_string(), text.as_bytes().to_vec());
        }
        tree
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) {
        self.paths.insert(path.clone());
        if let Ok(text) = String::from_utf8(bytes)
            && !text.contains('\0')
        {
            self.files.push(File { path, text });
        }
    }

    /// The text files, sorted by path.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Returns the text file at a path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether the path is a file, or a directory with a file in it.
    pub fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        self.paths.contains(path)
            || self.paths.range(inside.clone()..).next().is_some_and(|p| p.starts_with(&inside))
    }

    /// The names of the directories directly below a directory.
    pub fn directories(&self, below: &str) -> BTreeSet<&str> {
        self.paths
            .iter()
            .filter_map(|path| path.strip_prefix(below)?.strip_prefix('/')?.split_once('/'))
            .map(|(name, _)| name)
            .collect()
    }
}

/// The two forms of `.gitignore` lines that we use: `/directory` at the top, `*.suffix` anywhere.
struct Ignored {
    tops: Vec<String>,
    suffixes: Vec<String>,
}

impl Ignored {
    fn parse(text: &str) -> Ignored {
        let mut ignored = Ignored { tops: Vec::new(), suffixes: Vec::new() };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match (line.strip_prefix('/'), line.strip_prefix('*')) {
                (Some(top), _) => ignored.tops.push(top.trim_end_matches('/').to_string()),
                (_, Some(suffix)) => ignored.suffixes.push(suffix.to_string()),
                // An unknown form ignores nothing: tidy then checks too many files, not too few.
                _ => {}
            }
        }
        ignored
    }

    fn names(&self, path: &str) -> bool {
        self.tops.iter().any(|top| top == path)
            || self.suffixes.iter().any(|suffix| path.ends_with(suffix.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_there_when_a_file_is_in_it() {
        let tree = Tree::of(&[("docs/a.md", ""), ("docs-old/b.md", "")]);
        assert!(tree.has("docs"));
        assert!(tree.has("docs/a.md"));
        assert!(!tree.has("doc"));
        assert!(!tree.has("docs/b.md"));
    }

    #[test]
    fn directories_are_listed_once() {
        let tree = Tree::of(&[("runtimes/a/x", ""), ("runtimes/a/y", ""), ("runtimes/b/x", "")]);
        assert_eq!(tree.directories("runtimes").into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn gitignore_names_tops_and_suffixes() {
        let ignored = Ignored::parse("# made by cargo\n/target\n*.snap.new\n");
        assert!(ignored.names("target"));
        assert!(ignored.names("crates/a/b.snap.new"));
        assert!(!ignored.names("crates/target"));
        assert!(!ignored.names("crates/a/b.snap"));
    }

    #[test]
    fn a_binary_file_is_known_but_not_read_as_text() {
        let mut tree = Tree::default();
        tree.add("logo.png".into(), vec![0x89, 0x50, 0, 1]);
        assert!(tree.has("logo.png"));
        assert!(tree.files().is_empty());
    }

    #[test]
    fn tests_are_recognised_by_directory_or_name() {
        for path in
            ["crates/a/tests/x.rs", "src/plan/tests.rs", "src/plan_tests.rs", "ui/a.test.ts"]
        {
            assert!(Tree::of(&[(path, "")]).files()[0].is_test(), "{path}");
        }
        assert!(!Tree::of(&[("src/contests.rs", "")]).files()[0].is_test());
    }

    #[test]
    fn the_project_itself_can_be_read() {
        let tree = Tree::read(&crate::root()).unwrap();
        assert!(tree.has("xtask/src/tree.rs"));
        assert!(!tree.has("target"));
        assert!(!tree.has(".git"));
    }
}
