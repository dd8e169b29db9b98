//! Finds the files of an app that may be configuration.

use std::fs;
use std::path::Path;

/// How deep directories are looked into: Drupal's settings are in the third, CodeIgniter's in the
/// second.
const DEPTH: usize = 4;
/// The most directories that are looked into.
const DIRECTORIES_MAX: usize = 4_000;
/// The longest file that is read, in bytes.
const BYTES_MAX: u64 = 1 << 20;
/// Directories of other people's code, of data and of texts for readers.
const NEVER: [&str; 20] = [
    "docker",
    "ci",
    "node_modules",
    "vendor",
    "tests",
    "test",
    "cache",
    "docs",
    "doc",
    "lang",
    "language",
    "languages",
    "locale",
    "translations",
    "i18n",
    "examples",
    "themes",
    "uploads",
    "install",
    "setup",
];
/// Parts of the names of files that are only an example.
const EXAMPLES: [&str; 9] =
    ["sample", "example", "default", "dist", "template", "new.", "test", "docker", "compose"];
/// Parts of the names of configuration files.
const CONFIGURATION: [&str; 8] =
    ["config", "conf", "settings", "database", "parameters", "local", "db.", "env"];
/// Endings of files whose text is understood.
const ENDINGS: [&str; 7] = ["php", "inc", "ini", "yml", "yaml", "neon", "env"];

/// A file and its text.
pub(crate) struct TextFile {
    /// The path, relative to the app's directory.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The files of `root` whose names say that they are configuration, in the order of their names.
pub(crate) fn configuration(root: &Path) -> Vec<TextFile> {
    let is_wanted = |name: &str, is_inside: bool| {
        let name = name.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        (has(&CONFIGURATION) || is_inside) && !has(&EXAMPLES)
    };
    let is_named = |path: &str| {
        let mut parts = path.rsplit('/');
        let name = parts.next().unwrap_or(path);
        let directory = parts.next().unwrap_or_default();
        is_wanted(name, ["config", "conf", "settings"].contains(&directory))
    };
    let mut found = Vec::new();
    each(root, &NEVER, DEPTH, &mut |name, path| {
        if is_named(name) {
            found.extend(text(path).map(|text| TextFile { name: name.to_owned(), text }));
        }
    });
    found
}

/// Calls `look` with each file below `root` that may be understood: its relative path and its path.
/// Directories of links are not entered.
pub(crate) fn each(root: &Path, never: &[&str], depth: usize, look: &mut dyn FnMut(&str, &Path)) {
    let mut level = vec![String::new()];
    let mut looked = 0;
    for _ in 0..=depth {
        let mut next = Vec::new();
        for below in level {
            looked += 1;
            if looked > DIRECTORIES_MAX {
                return;
            }
            let entries = fs::read_dir(root.join(&below)).into_iter().flatten().flatten();
            let mut entries: Vec<fs::DirEntry> = entries.collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir()
                    && !name.starts_with('.')
                    && !never.contains(&name.to_ascii_lowercase().as_str())
                {
                    next.push(path);
                } else if !kind.is_dir() && is_text(&name) {
                    look(&path, &entry.path());
                }
            }
        }
        level = next;
    }
}

fn is_text(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ENDINGS.contains(&ending) || name.starts_with(".env")
}

/// The text of a regular file, also behind a link; `None`: it cannot be read, or is too long.
pub(crate) fn text(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    let bytes = (meta.is_file() && meta.len() <= BYTES_MAX).then(|| fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
