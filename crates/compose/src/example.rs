//! Examples of files with variables, which projects bring in place of the files: `.env.example`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A file that somebody has to make, and the example of it that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The file that is missing.
    pub file: PathBuf,
    /// What it can be copied from.
    pub example: PathBuf,
}

impl Example {
    /// The example beside a file: its name with a word more, in any order and with any signs between them. `None`: the
    /// file is there, or has no example.
    pub(crate) fn of(file: &Path) -> Option<Example> {
        if file.exists() {
            return None;
        }
        let own = words(file);
        let is_example = |path: &PathBuf| {
            let all = words(path);
            WORDS.iter().any(|word| {
                let mut rest = all.clone();
                let place = rest.iter().position(|one| one == word);
                place.map(|place| rest.remove(place)).is_some() && rest == own
            })
        };
        let entries = fs::read_dir(file.parent()?).ok()?.flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
        found.retain(is_example);
        let example = found.into_iter().min()?;
        Some(Example { file: file.to_owned(), example })
    }

    /// The same for what a compose tool says: of the file that it did not find, else of the project's `.env`.
    pub(crate) fn of_said(said: &str, directory: &Path) -> Option<Example> {
        let file = missing_file(said).map_or_else(|| directory.join(".env"), PathBuf::from);
        Example::of(&file)
    }
}

/// Words in the names of examples.
const WORDS: [&str; 6] = ["default", "dist", "example", "sample", "template", "tpl"];

/// The words of a file's name, sorted.
fn words(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.sort();
    words
}

/// The file with variables that a tool did not find: version 1, and version 2 of Docker's compose.
fn missing_file(said: &str) -> Option<&str> {
    let of_line = |begin: &str| said.split_once(begin)?.1.lines().next().map(str::trim);
    let second = || Some(of_line("env file ")?.split_once(" not found")?.0);
    of_line("find env file: ").or_else(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_the_words_of_its_file_in_any_order() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let found = |name: &str| Example::of(&at(name)).map(|found| found.example);
        assert_eq!(found(".env"), None);
        for name in ["env-example", ".env.sample", "shop.env.dist", ".env.test.example", "env.php"]
        {
            std::fs::write(at(name), "A=1\n").unwrap();
        }
        assert_eq!(found(".env"), Some(at(".env.sample")));
        assert_eq!(found("shop.env"), Some(at("shop.env.dist")));
        assert_eq!(found(".env.docker"), None);
        std::fs::remove_file(at(".env.sample")).unwrap();
        assert_eq!(found(".env"), Some(at("env-example")));
        std::fs::rename(at("env-example"), at("template.env")).unwrap();
        assert_eq!(found(".env"), Some(at("template.env")));
        let said = format!("Couldn't find env file: {}\n", at("shop.env").display());
        assert_eq!(Example::of_said(&said, Path::new("/srv")).unwrap().file, at("shop.env"));
        let second = format!("env file {} not found: stat", at("shop.env").display());
        assert_eq!(Example::of_said(&second, Path::new("/srv")).unwrap().file, at("shop.env"));
        let other = Example::of_said("services.web.ports contains", place.path()).unwrap();
        assert_eq!(other.file, at(".env"));
        std::fs::write(at(".env"), "A=1\n").unwrap();
        assert_eq!(found(".env"), None, "it is there");
    }
}
