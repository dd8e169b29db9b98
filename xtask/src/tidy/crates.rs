//! Rules about crates: which crate may use which, and that all have the same lints.

use super::Finding;
use crate::tree::{File, Tree};

/// The prefix of our crates' names, and which of them a crate may use outside of tests. A crate
/// that is not listed may use all.
const OURS: &str = "stampede";
const MAY_USE: &[(&str, &[&str])] = &[
    ("crates/stats/Cargo.toml", &[]),
    ("crates/known-server/Cargo.toml", &[]),
    ("crates/load/Cargo.toml", &["stampede-stats"]),
];

/// Code that computes or renders from stored results. It must reach nothing that runs.
const RIGHT_OF_THE_STORE: &[&str] = &[
    "crates/stampede/src/store",
    "crates/stampede/src/summary",
    "crates/stampede/src/report",
    "crates/stampede/src/history",
];
const FORBIDDEN_THERE: &[&str] = &["std::process", "std::net", "std::os::unix::net", "rustix::net"];

/// Every crate takes over the workspace's lints.
pub fn lints(tree: &Tree) -> Vec<Finding> {
    manifests(tree)
        .filter(|file| !entries(file).any(|e| e.section == "lints" && e.is("workspace", "true")))
        .map(|file| Finding::new(&file.path, 0, "lacks `[lints] workspace = true`"))
        .collect()
}

/// `stats` and `known-server` use none of our crates, `load` uses only `stats`, and none uses
/// `stampede`.
pub fn dependencies(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in manifests(tree) {
        let Some((_, allowed)) = MAY_USE.iter().find(|(path, _)| *path == file.path) else {
            continue;
        };
        for entry in entries(file) {
            if let Some(name) = entry.dependency()
                && name.starts_with(OURS)
                && !allowed.contains(&name)
            {
                let what = format!("may not depend on `{name}` (ARCHITECTURE.md, invariant 1)");
                findings.push(Finding::new(&file.path, entry.line, what));
            }
        }
    }
    findings
}

/// No code that works on stored results starts a process or opens a socket.
pub fn right_of_the_store(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| is_right_of_the_store(file)) {
        for (number, path) in used_paths(file.code()) {
            if let Some(bad) = FORBIDDEN_THERE.iter().find(|bad| begins_with(&path, bad)) {
                let what = format!("uses `{bad}` (ARCHITECTURE.md, invariant 2)");
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

fn is_right_of_the_store(file: &File) -> bool {
    file.extension() == "rs"
        && !file.is_test()
        && RIGHT_OF_THE_STORE.iter().any(|directory| {
            file.path.strip_prefix(directory).is_some_and(|rest| rest.starts_with(['/', '.']))
        })
}

fn begins_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Every path that contains `::`, with its line. Groups (`std::{net::X, process}`) are expanded,
/// and comments are skipped.
fn used_paths(text: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    let mut groups: Vec<String> = Vec::new();
    let mut word = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or_default();
        for c in code.chars().chain(['\n']) {
            match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ':' => word.push(c),
                '{' => groups.push(if word.ends_with("::") {
                    join(&groups, &word)
                } else {
                    String::new()
                }),
                _ => {
                    let path = join(&groups, &word);
                    if path.contains("::") {
                        paths.push((number, path.trim_end_matches(':').to_string()));
                    }
                    if c == '}' {
                        groups.pop();
                    }
                }
            }
            if !matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ':') {
                word.clear();
            }
        }
    }
    paths
}

fn join(groups: &[String], word: &str) -> String {
    format!("{}{word}", groups.last().map_or("", String::as_str))
}

/// One `key = value` line of a manifest.
struct Entry<'a> {
    section: &'a str,
    line: usize,
    key: &'a str,
    value: &'a str,
}

impl<'a> Entry<'a> {
    fn is(&self, key: &str, value: &str) -> bool {
        self.key == key && self.value == value
    }

    /// The crate that the entry makes a dependency, without those of tests. `[dependencies.x]`
    /// means the same as `[dependencies] x = …`, and so does `x.workspace = true`.
    fn dependency(&self) -> Option<&'a str> {
        let section = self.section;
        for kind in ["dependencies", "build-dependencies"] {
            let is_kind = |table: &str| table == kind || table.ends_with(&format!(".{kind}"));
            if is_kind(section) {
                return self.key.split('.').next();
            }
            if let Some((table, name)) = section.rsplit_once('.')
                && is_kind(table)
            {
                return Some(name);
            }
        }
        None
    }
}

fn entries(file: &File) -> impl Iterator<Item = Entry<'_>> {
    let mut section = "";
    file.lines().filter_map(move |(line, text)| {
        let text = text.split(" #").next().unwrap_or_default().trim();
        if let Some(name) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
            return None;
        }
        let (key, value) = text.split_once('=')?;
        Some(Entry { section, line, key: key.trim(), value: value.trim() })
    })
}

fn manifests(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files().iter().filter(|file| file.name() == "Cargo.toml" && file.path != "Cargo.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("crates/b/Cargo.toml", "[package]\nworkspace = true\n"),
        ]);
        let paths: Vec<String> = lints(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/b/Cargo.toml"]);
    }

    fn wrong_dependencies(path: &str, manifest: &str) -> usize {
        dependencies(&Tree::of(&[(path, manifest)])).len()
    }

    #[test]
    fn load_uses_only_stats() {
        let load = "crates/load/Cargo.toml";
        assert_eq!(wrong_dependencies(load, "[dependencies]\nstampede-stats = {}\n"), 0);
        assert_eq!(wrong_dependencies(load, "[dependencies]\nstampede = {}\n"), 1);
        assert_eq!(wrong_dependencies(load, "[dependencies]\nstampede-known-server = {}\n"), 1);
        assert_eq!(wrong_dependencies(load, "[dev-dependencies]\nstampede-known-server = {}\n"), 0);
    }

    #[test]
    fn stats_uses_none_of_our_crates_in_any_notation() {
        let stats = "crates/stats/Cargo.toml";
        assert_eq!(wrong_dependencies(stats, "[dependencies]\nserde = {}\n"), 0);
        assert_eq!(wrong_dependencies(stats, "[dependencies.stampede-load]\npath = \"x\"\n"), 1);
        assert_eq!(
            wrong_dependencies(stats, "[dependencies]\nstampede-load.workspace = true\n"),
            1
        );
        assert_eq!(wrong_dependencies(stats, "[build-dependencies]\nstampede-load = {}\n"), 1);
        let target = "[target.'cfg(unix)'.dependencies]\nstampede-load = {}\n";
        assert_eq!(wrong_dependencies(stats, target), 1);
    }

    #[test]
    fn the_binary_may_use_all() {
        let manifest = "[dependencies]\nstampede-load = {}\n";
        assert_eq!(wrong_dependencies("crates/stampede/Cargo.toml", manifest), 0);
    }

    fn wrong_uses(path: &str, text: &str) -> Vec<usize> {
        right_of_the_store(&Tree::of(&[(path, text)])).iter().map(|f| f.line).collect()
    }

    #[test]
    fn a_report_starts_nothing() {
        let report = "crates/stampede/src/report/table.rs";
        assert_eq!(wrong_uses(report, "use std::fmt;\nuse std::process::Command;\n"), [2]);
        assert_eq!(wrong_uses(report, "let s = std::net::TcpStream::connect(a);\n"), [1]);
        assert_eq!(wrong_uses(report, "use std::{\n    fmt,\n    net::{TcpStream},\n};\n"), [3]);
        assert_eq!(wrong_uses(report, "use std::{fmt, process};\n"), [1]);
        assert_eq!(wrong_uses("crates/stampede/src/store.rs", "use std::net::X;\n"), [1]);
    }

    #[test]
    fn other_crates_tests_and_comments_are_exempt() {
        let code = "use std::process::Command;\n";
        assert_eq!(wrong_uses("crates/stampede/src/runtime/mod.rs", code), [] as [usize; 0]);
        assert_eq!(wrong_uses("crates/stampede/src/storefront.rs", code), [] as [usize; 0]);
        let report = "crates/stampede/src/report/mod.rs";
        assert_eq!(wrong_uses(report, "// std::process is not for us\n"), [] as [usize; 0]);
        let tested = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use std::process::Command;\n}\n";
        assert_eq!(wrong_uses(report, tested), [] as [usize; 0]);
        assert_eq!(
            wrong_uses(report, "fn f() { a::process(); std::network::x(); }\n"),
            [] as [usize; 0]
        );
    }
}
