//! What runtimes do in another way is data for the tests, and sentences for people: in the README of
//! the runtime, and in the table of a page.

use std::path::Path;

use super::reference::directory;

/// The names of all runtimes.
pub fn runtimes() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(directory()).expect("runtimes").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "common").collect();
    names.sort();
    names.into_iter()
}

/// Checks that the README of each runtime has its reasons, and that the table under `What differs`
/// of the page is what they make: a row for each runtime that has some.
pub fn assert_told(page: &str, all: impl Iterator<Item = (String, Vec<String>)>) {
    let read = |path: &Path| std::fs::read_to_string(path).expect("a page");
    let mut rows = Vec::new();
    for (name, reasons) in all.filter(|(_, reasons)| !reasons.is_empty()) {
        let readme = one_line(&read(&directory().join(&name).join("README.md")));
        let reasons: Vec<String> = reasons.iter().map(|reason| one_line(reason)).collect();
        for because in &reasons {
            assert!(readme.contains(because), "README.md of {name}: {because}");
        }
        rows.push(format!("| `{name}` | {} |", reasons.join("; ")));
    }
    let path = directory().join("../docs").join(page);
    let text = read(&path);
    let (_, section) = text.split_once("## What differs").expect("a section");
    let there: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(there, rows, "docs/{page} should have:\n{}\n", rows.join("\n"));
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
